"""The files around the code agree with each other and with the code."""

import gzip
import io
import re
import tomllib
from itertools import chain
from pathlib import Path

import anndata
import matplotlib
import numpy as np
import pandas as pd
import pytest
import yaml
from matplotlib import pyplot
from scipy.sparse import csr_matrix
from sklearn.datasets import dump_svmlight_file, load_digits
from sklearn.model_selection import train_test_split

import streamnb

matplotlib.use("Agg")

ROOT = Path(__file__).parents[2]
PAGES = [
    "README.md",
    *(
        f"docs/{page}.md"
        for page in ("guide", "architecture", "several_passes", "thesis", "covariance", "trees_and_labels", "export")
    ),
]
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


def slug(heading):
    """The anchor of a heading, as GitHub makes it."""
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


@pytest.mark.parametrize("page", [*PAGES, "docs/performance.md", "docs/command_line.md"])
def test_links_lead_somewhere(page):
    links = re.findall(r"\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)", (ROOT / page).read_text())
    assert links
    for path, anchor in links:
        target = (ROOT / page).parent / path if path else ROOT / page
        assert target.exists(), path
        if anchor:
            assert anchor in map(slug, re.findall(r"^#+ (.*)$", target.read_text(), re.MULTILINE)), anchor


@pytest.fixture
def what_pages_take_for_granted(tmp_path, monkeypatch):
    """Digits under other names, in the stores, arrays and frames of the pages."""
    monkeypatch.chdir(tmp_path)
    X, digit = load_digits(return_X_y=True)
    X, digit = X[:600, 16:48], digit[:600]
    y, well = np.array(["cat", "dog", "owl"])[digit % 3], np.where(digit % 2, "ill", "well")
    X_train, X_test, y_train, y_test, health, health_test = train_test_split(X, y, well, random_state=0)
    X_val, y_val, health_val = X_test[:60], y_test[:60], health_test[:60]
    for name in ("counts.zarr", "new_counts.zarr"):
        streamnb.write_csr(name, [(X_train[:200], y_train[:200]), (X_train[200:], y_train[200:])], n_features=32)
    kinds = pd.DataFrame({"cell_type": y}, index=[f"cell {i}" for i in range(len(y))])
    genes = pd.DataFrame(index=[f"gene {j}" for j in range(32)])
    anndata.AnnData(csr_matrix(X), kinds, genes, layers={"counts": csr_matrix(X)}).write_h5ad("cells.h5ad")
    for name in ("train.svm.gz", "test.svm"):
        content = io.BytesIO()
        dump_svmlight_file(X, digit, content)
        Path(name).write_bytes(gzip.compress(content.getvalue()) if name.endswith("gz") else content.getvalue())
    frame = pd.DataFrame(X[:, 2:14] // 6, columns=["age", "height", *"abcdefghij"])
    flights = frame.loc[:, frame.nunique() > 1].assign(late=well, carrier=y)
    flights.to_parquet("flights.parquet"), flights[:1].to_parquet("one_flight.parquet")
    news = pd.DataFrame({"body": [f"{animal} news of day {n % 9}" for n, animal in enumerate(y)], "section": y})
    news.to_json("news.jsonl", orient="records", lines=True)
    fever, cough = digit % 3 == 0, digit > 5
    healthy = ~fever & ~cough & (digit != 1)
    names = ["fever", "cough", "healthy"]
    names += ["X", "y", "X_train", "y_train", "health", "X_test", "y_test", "X_val", "y_val", "health_val", "frame"]
    yield {**{name: value for name, value in locals().items() if name in names}, "target": y}
    pyplot.close("all")


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES)
def test_code_of_the_page_runs(page, what_pages_take_for_granted):
    names = what_pages_take_for_granted
    blocks = re.findall(r"^```python\n(.*?)^```$", (ROOT / page).read_text(), re.MULTILINE | re.DOTALL)
    assert blocks
    for k, block in enumerate(blocks):
        exec(compile(block, f"{page}, block {k + 1}", "exec"), names)
