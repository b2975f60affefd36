"""What a user sees while and after rows are read: bars of both scans, and tables in notebooks."""

import re
from html.parser import HTMLParser

import dask.array as da
import numpy as np
import pytest
import zarr
from sklearn.datasets import load_digits

import streamnb as snb
from streamnb.report import Report

X, y = load_digits(return_X_y=True)
X, y = X[:600], y[:600]


class Cells(HTMLParser):
    """The texts of a table, and whether every tag that opens is closed in turn."""

    def __init__(self, page):
        super().__init__()
        self.open, self.cells = [], []
        self.feed(page)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.cells.append((self.open[-1], data))

    @property
    def rows(self):
        names = [text for tag, text in self.cells if tag == "th"]
        return dict(zip(names, (text for tag, text in self.cells if tag == "td"), strict=True))


# ---- progress --------------------------------------------------------------------------------------------------------


def stream():
    return ((X[a : a + 100], y[a : a + 100]) for a in range(0, 600, 100))


def in_zarr(folder):
    array = zarr.create_array(folder / "x.zarr", shape=X.shape, chunks=(100, 64), dtype=X.dtype)
    array[:] = X
    return array


@pytest.mark.parametrize("kind", ["array", "zarr", "stream", "dask"])
def test_both_scans_have_a_bar_with_a_total_and_the_time_left(kind, tmp_path, capfd):
    rows = {
        "array": lambda: (X, y),
        "zarr": lambda: (in_zarr(tmp_path), y),
        "stream": lambda: (stream,),
        "dask": lambda: (da.from_array(X, chunks=(100, 64)), y),
    }[kind]()
    snb.LinearNBCV("poisson", folds=3).fit(*rows, progress=True)
    shown = capfd.readouterr().err
    total = r"(\d+)/\1" if kind == "dask" else "600/600"
    for title in ("scan", "scoring"):
        last = [line for line in re.split(r"[\r\n]", shown) if line.startswith(f"{title}:")][-1]
        if kind == "stream" and title == "scan":  # nobody knows how long it will be
            assert "600 rows" in last
        else:
            assert re.search(rf"100%.* {total} \[\d\d:\d\d<\d\d:\d\d", last), last


@pytest.mark.parametrize("lazy", [False, True])
def test_no_bar_unless_asked_for(lazy, capfd):
    rows = da.from_array(X, chunks=(100, 64)) if lazy else X
    snb.LinearNBCV("poisson", folds=3).fit(rows, y)
    assert capfd.readouterr() == ("", "")


# ---- tables ----------------------------------------------------------------------------------------------------------


def test_the_report_is_a_table_in_notebooks():
    report = Report(1_234_567, 2_500_000_000, 300, 2.0, 1.25, 3.5, 0.125)
    assert Cells(report._repr_html_()).rows == {
        "rows": "1,234,567",
        "MB": "2,500.0",
        "blocks": "300",
        "seconds": "2.00",
        "seconds reading, over threads": "1.25",
        "seconds computing, over threads": "3.50",
        "seconds waiting for rows": "0.12",
        "MB/s": "1,250.0",
    }
    assert Cells(Report()._repr_html_()).rows["MB/s"] == "–"


def test_the_report_of_a_fit_counts_its_rows():
    table = Cells(snb.LinearNB().fit(X, y).report_._repr_html_()).rows
    assert table["rows"] == "600" and table["MB"] == f"{X.nbytes / 1e6:.1f}"


def test_an_evaluation_is_a_table_of_what_it_prints():
    scores = np.eye(10)[y] + np.random.default_rng(0).normal(size=(600, 10))
    evaluation = snb.evaluate(y, scores.argmax(axis=1), scores=scores)
    cells = Cells(evaluation._repr_html_())
    assert cells.cells[0] == ("caption", repr(evaluation).splitlines()[0])
    printed = [line.rsplit(maxsplit=1) for line in repr(evaluation).splitlines()[1:]]
    assert {name.strip(): value for name, value in printed} == cells.rows
    assert float(cells.rows["accuracy"]) == pytest.approx(evaluation.accuracy(), abs=1e-6)


def test_tables_escape_what_they_show():
    from streamnb._html import table

    page = table("a < b", [("x & y", "<script>")])
    assert "<script>" not in page and Cells(page).rows == {"x & y": "<script>"}
