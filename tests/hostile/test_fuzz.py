"""The harnesses of `make fuzz` on a few inputs each, without atheris: they cannot rot, and what once failed is kept."""

from importlib import import_module
from pathlib import Path
from random import Random

import pytest

from fuzz import files
from fuzz.__main__ import HARNESSES
from fuzz.choices import Choices

HERE = Path(__file__).parents[2] / "fuzz"
INPUTS = [b"", *(Random(i).randbytes(8 << i % 5) for i in range(12))]
INPUTS.append(bytes([255, *[0] * 33, 41]))  # a class of probability 0


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", HARNESSES)
def test_inputs_are_refused_or_right(name):
    for content in INPUTS:
        import_module(f"fuzz.{name}").one(Choices(content))


@pytest.mark.filterwarnings("ignore")
def test_saved_files_changed_at_random_are_refused_or_can_be_used():
    chance = Random(0)
    for _ in range(60):
        files.one(Choices(chance.randbytes(64)))


def test_every_harness_is_run():
    modules = {path.stem for path in HERE.glob("*.py")} - {"harness"}  # which imports atheris
    assert {name for name in modules if hasattr(import_module(f"fuzz.{name}"), "one")} == set(HARNESSES)
