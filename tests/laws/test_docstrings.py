"""Every public name has an example, and every example in a docstring prints what it says."""

import doctest
import inspect
import re
from importlib import import_module
from pathlib import Path

import matplotlib
import pytest
from matplotlib import pyplot

import streamnb as snb

matplotlib.use("Agg")

PACKAGE = Path(snb.__file__).parent
WITH_EXAMPLES = sorted(
    ".".join(("streamnb", *path.relative_to(PACKAGE).with_suffix("").parts))
    for path in PACKAGE.rglob("*.py")
    if ">>> " in path.read_text()
)
PARSER = doctest.DocTestParser()
SECTION = re.compile(r"^Examples\n-{8}\n(.*)", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("name", sorted(set(snb.__all__) - {"__version__"}))
def test_every_public_name_has_an_example(name):
    section = SECTION.search(inspect.getdoc(getattr(snb, name)) or "")
    assert section, f"the docstring of snb.{name} has no section Examples"
    examples = PARSER.get_examples(section[1])
    assert any(example.want for example in examples)


@pytest.mark.parametrize("module", WITH_EXAMPLES)
def test_examples_print_what_they_say(module, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    options = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    failed, tried = doctest.testmod(import_module(module), optionflags=options)
    pyplot.close("all")
    assert failed == 0 < tried
