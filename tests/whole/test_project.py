"""The files around the code agree with each other and with the code."""

import contextlib
import inspect
import io
import json
import re
import runpy
import subprocess
import sys
import tomllib
from itertools import chain
from pathlib import Path

import matplotlib
import numpy as np
import pandas as pd
import pytest
import yaml
from matplotlib import pyplot
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import streamnb
import streamnb as snb
from streamnb.selection.feature_ranking import FeatureSearch
from tests.support import command_line, uses_of_extras

matplotlib.use("Agg")

ROOT = Path(__file__).parents[2]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
REPOSITORY = PYPROJECT["project"]["urls"]["Repository"]
PAGES = [
    "README.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    *(f"docs/{page.name}" for page in sorted(ROOT.glob("docs/*.md"))),
]
WITH_CODE = [page for page in PAGES if "```python\n" in (ROOT / page).read_text()]
BLOCK = re.compile(r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```$)?", re.MULTILINE | re.DOTALL)


def test_one_version_everywhere():
    version = PYPROJECT["project"]["version"]
    assert streamnb.__version__ == version
    assert yaml.safe_load((ROOT / "CITATION.cff").read_text())["version"] == version
    headings = re.findall(r"^## \[(.+?)\](.*)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert headings[0] == ("Unreleased", "")
    released = yaml.safe_load((ROOT / "CITATION.cff").read_text())["date-released"]
    assert headings[1] == (version, f" - {released}")
    assert len(headings) == len(set(headings))


def test_requirements_have_no_upper_caps():
    project = PYPROJECT["project"]
    for requirement in chain(project["dependencies"], *project["optional-dependencies"].values()):
        assert not re.search(r"<|==|~=|!=", requirement), requirement


def test_the_conda_recipe_has_the_version_and_the_requirements():
    recipe = yaml.safe_load((ROOT / "conda" / "recipe.yaml").read_text())
    assert recipe["context"]["version"] == PYPROJECT["project"]["version"]
    assert recipe["about"]["summary"] == PYPROJECT["project"]["description"]
    named = [
        re.sub(r"\[.*?\]", "-core", wanted).replace(">=", " >=") for wanted in PYPROJECT["project"]["dependencies"]
    ]
    assert recipe["requirements"]["run"] == [f"python {PYPROJECT['project']['requires-python']}", *named]


def test_every_extra_of_users_is_tried_before_a_release():
    of_developers = {"test", "bench", "docs", "release", "fuzz", "dev"}
    tried = {extra for extras in uses_of_extras.USES for extra in extras.split(",")}
    assert tried == PYPROJECT["project"]["optional-dependencies"].keys() - of_developers


@pytest.mark.filterwarnings("ignore:X. its columns are numbers alone")
@pytest.mark.slow
@pytest.mark.parametrize("extra", sorted(uses_of_extras.USES.keys() - {"ecg", "s3"}))  # these need more
def test_what_an_extra_is_for(extra, tmp_path, monkeypatch, capsys):
    def command(*arguments):  # in this process, which takes a tenth of the time
        ended, _, told = command_line.ran(capsys, *arguments)
        assert ended == 0, told

    monkeypatch.setattr(uses_of_extras, "command", command)
    monkeypatch.chdir(tmp_path)
    uses_of_extras.USES[extra]()


def test_the_image_and_the_workflow_name_extras_and_pythons_that_exist():
    extras = re.search(r"\.whl\)\[(.*?)\]", (ROOT / "Dockerfile").read_text())[1].split(",")
    assert set(extras) <= set(PYPROJECT["project"]["optional-dependencies"])
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text())["jobs"]
    versions = re.findall(r"Python :: (3\.\d+)", " ".join(PYPROJECT["project"]["classifiers"]))
    assert jobs["test"]["strategy"]["matrix"]["python"] == versions


def test_type_checkers_know_every_public_name():
    assert (ROOT / "streamnb" / "py.typed").exists()
    told = re.findall(
        r"^from streamnb\.(\S+) import (\w+) as \2$", (ROOT / "streamnb/__init__.pyi").read_text(), re.MULTILINE
    )
    assert {name: home for home, name in told} == streamnb._HOMES


def test_files_that_the_makefile_names_are_there():
    asked = subprocess.run(["make", "-n", "test"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    named = {word.rpartition("=")[2] for word in asked.split() if re.search(r"(^|=)tests/", word)}
    assert len(named) > 10 and [name for name in sorted(named) if not (ROOT / name).exists()] == []


def slug(heading):
    """The anchor of a heading, as GitHub makes it."""
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page):
    text = (ROOT / page).read_text()
    if page == "README.md":  # is shown in other places, too
        assert not re.search(rf"\]\((?!{re.escape(REPOSITORY)}/blob/main/)", text)
        text = text.replace(f"]({REPOSITORY}/blob/main/", "](")
    for path, anchor in re.findall(r"\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)", text):
        target = (ROOT / page).parent / path if path else ROOT / page
        assert target.exists(), path
        if anchor:
            assert anchor in map(slug, re.findall(r"^#+ (.*)$", target.read_text(), re.MULTILINE)), anchor


@pytest.fixture
def what_pages_take_for_granted(tmp_path, monkeypatch):
    """Digits under other names, in the store, arrays and frame of the pages."""
    monkeypatch.chdir(tmp_path)
    X, digit = load_digits(return_X_y=True)
    X, digit = X[:600, 16:48], digit[:600]
    y, well = np.array(["cat", "dog", "owl"])[digit % 3], np.where(digit % 2, "ill", "well")
    X_train, X_test, y_train, y_test, health, health_test = train_test_split(X, y, well, random_state=0)
    X_val, y_val, health_val = X_test[:60], y_test[:60], health_test[:60]
    frame = pd.DataFrame(X[:, 2:14] // 6, columns=["age", "height", *"abcdefghij"])
    fever, cough = digit % 3 == 0, digit > 5
    healthy = ~fever & ~cough & (digit != 1)
    names = ["fever", "cough", "healthy"]
    names += ["X", "y", "X_train", "y_train", "health", "X_test", "y_test", "X_val", "y_val", "health_val", "frame"]
    yield {**{name: value for name, value in locals().items() if name in names}, "target": y}
    pyplot.close("all")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*of those tried")
@pytest.mark.parametrize("page", WITH_CODE)
def test_code_of_the_page_runs_and_prints_what_stands_below_it(page, what_pages_take_for_granted):
    names = what_pages_take_for_granted
    if page == "README.md":
        runpy.run_path(str(ROOT / "examples" / "readme_data.py"), run_name="__main__")
    for k, (block, shown) in enumerate(BLOCK.findall((ROOT / page).read_text())):
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            try:
                exec(compile(block, f"{page}, block {k + 1}", "exec"), names)
            except ModuleNotFoundError as missing:  # of an extra
                if (missing.name or "streamnb").startswith("streamnb"):
                    raise
                pytest.skip(f"{page} needs {missing.name}")
        assert not shown or printed.getvalue() == shown


# ---- the site --------------------------------------------------------------------------------------------------------


def test_every_public_name_stands_in_the_reference_once():
    listed = re.findall(r"^   (\w+)$", (ROOT / "docs" / "reference.md").read_text(), re.MULTILINE)
    assert sorted(listed) == sorted(set(streamnb.__all__) - {"__version__"})


def test_every_page_of_the_navigation_exists():
    navigation = (ROOT / "docs" / "index.md").read_text()
    pages = [
        line
        for block in re.findall(r"^```{toctree}\n(.*?)^```$", navigation, re.MULTILINE | re.DOTALL)
        for line in block.splitlines()
    ]
    named = [page for page in pages if re.fullmatch(r"\w+", page) and page != "module_map"]  # which the site writes
    assert len(named) > 20 and [page for page in named if not (ROOT / "docs" / f"{page}.md").exists()] == []


def test_headings_that_answer_questions_of_the_search_box_exist():
    answers = json.loads((ROOT / "docs" / "search_answers.json").read_text())
    for page, headings in answers.items():
        assert set(headings) <= set(re.findall(r"^#+ .*$", (ROOT / "docs" / f"{page}.md").read_text(), re.MULTILINE))


DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def pictures():
    sys.path.insert(0, str(DOCS))
    yield pytest.importorskip("pictures")
    sys.path.remove(str(DOCS))


def public_classes():
    found = {name: getattr(snb, name) for name in snb.__all__}
    return {name: one for name, one in found.items() if inspect.isclass(one)}


def test_every_estimator_every_search_and_every_display_has_a_picture(pictures):
    wanted = {
        name
        for name, one in public_classes().items()
        if (hasattr(one, "fit") and (hasattr(one, "predict") or hasattr(one, "get_support")))
        or issubclass(one, FeatureSearch)
        or name.endswith("Display")
    }
    assert len(wanted) > 45 and sorted((wanted | {"Search"}) - pictures.CODE.keys()) == []
    assert pictures.CODE.keys() <= public_classes().keys()


def test_the_code_uses_what_the_page_is_about(pictures):
    by_another = {"Ridge", "Lasso", "ElasticNet"}  # the path of each is drawn by ElasticNetCV
    uses = {"Search": "search", "Evaluation": "evaluate", "ModelComparison": "compare_models"}
    uses |= {"FeatureRanking": "rank_features", "SearchDisplay": "plot", "DifferencesDisplay": "plot"}
    for name, code in pictures.CODE.items():
        assert re.search(rf"\b{uses.get(name, name)}\b", code) or name in by_another


@pytest.mark.slow
def test_pictures_are_small_and_have_the_colours_of_the_page(pictures):
    pictures.matplotlib.use("agg")
    for name in pictures.CODE.keys() - pictures.OF_DISPLAYS.keys():
        drawn = pictures.picture(name)
        assert len(drawn) < 44_000, name  # paths of regressions have some hundred points
        assert drawn.count("<figure") == 1 and '<svg role="img" aria-label="' in drawn
        assert "var(--" in drawn or "currentColor" in drawn
