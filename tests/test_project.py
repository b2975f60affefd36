"""The files around the code agree with each other and with the code."""

import re
import tomllib
from itertools import chain
from pathlib import Path

import pytest
import yaml

import streamnb

ROOT = Path(__file__).parent.parent
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


@pytest.fixture
def readme():
    return (ROOT / "README.md").read_text()


def test_one_version_everywhere():
    version = PYPROJECT["project"]["version"]
    assert streamnb.__version__ == version
    assert yaml.safe_load((ROOT / "CITATION.cff").read_text())["version"] == version
    headings = re.findall(r"^## \[(.+?)\]", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert headings[0] == "Unreleased" or headings[0] == version
    assert len(headings) == len(set(headings))


def test_requirements_have_no_upper_caps():
    project = PYPROJECT["project"]
    for requirement in chain(project["dependencies"], *project["optional-dependencies"].values()):
        assert not re.search(r"<|==|~=|!=", requirement), requirement


def test_the_package_is_typed():
    assert (ROOT / "streamnb" / "py.typed").exists()


@pytest.mark.parametrize("command", ["make demo", "make test"])
def test_readme_shows_the_command(command, readme):
    assert command in readme


def test_every_file_readme_names_exists(readme):
    named = set(re.findall(r"\b(?:streamnb|examples|tests|benchmarks)/[\w/]*\w(?:\.\w+)?", readme))
    assert named
    assert [name for name in sorted(named) if not (ROOT / name).exists()] == []
