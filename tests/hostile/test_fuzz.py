"""The harnesses of `make fuzz` on a few inputs each, without atheris: they cannot rot, and what once failed is kept."""

from importlib import import_module
from pathlib import Path
from random import Random

import pytest

from fuzz import files
from fuzz.__main__ import HARNESSES
from fuzz.choices import Choices, change_json, change_numbers, move_json

HERE = Path(__file__).parents[2] / "fuzz"
INPUTS = [b"", *(Random(i).randbytes(8 << i % 5) for i in range(12))]
INPUTS.append(bytes([255, *[0] * 33, 41]))  # a class of probability 0


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", HARNESSES)
def test_inputs_are_refused_or_right(name):
    for content in INPUTS:
        import_module(f"fuzz.{name}").one(Choices(content))


@pytest.mark.filterwarnings("ignore")
def test_saved_files_changed_a_few_hundred_times_are_refused_or_can_be_used():
    chance = Random(0)
    for _ in range(200):
        files.one(Choices(chance.randbytes(64)))


def test_every_harness_is_run():
    modules = {path.stem for path in HERE.glob("*.py")} - {"harness"}  # which imports atheris
    assert {name for name in modules if hasattr(import_module(f"fuzz.{name}"), "one")} == set(HARNESSES)


def test_decisions_are_those_of_the_bytes():
    choices = Choices(bytes([5, 1, 2]))
    assert [choices.number(4), choices.number(1000), choices.number(7), choices.pick("abc")] == [1, 513, 0, "a"]


def test_changes_of_documents_and_numbers():
    assert change_json(Choices(b"\1\0"), b'{"a": 1, "b": [2]}') == b'{"a": 1}'
    assert change_numbers(Choices(b"\2\4\1\7\0"), bytes(8)) == bytes([0, 0, 0, 0, 7, 0, 0, 0])
    assert change_numbers(Choices(b"\3\4"), bytes(8)) == bytes(4)
    assert move_json(Choices(b"\0\1\1"), b'{"a": 1, "b": [2]}') == b'{"a": [2], "b": 1}'
    assert move_json(Choices(b"\2\0\2"), b'{"a": 1, "b": [2]}') == b'{"a": 1, "b": [2, 2]}'
    assert move_json(Choices(b"\2\0\3"), b'{"a": 1, "b": [2]}') == b'{"a": 1, "b": []}'
