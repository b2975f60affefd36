"""What a user sees while and after rows are read: bars of both scans, and tables in notebooks."""

import contextlib
import fcntl
import pty
import re
import struct
import sys
import termios
import types
from html.parser import HTMLParser

import dask.array as da
import numpy as np
import pytest
import zarr
from sklearn.datasets import load_digits

import streamnb as snb
from streamnb.passes.contract import Report

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
    printed = [re.split("  +", line.strip()) for line in repr(evaluation).splitlines()[1:]]
    assert dict(printed) == cells.rows
    assert float(cells.rows["accuracy"]) == pytest.approx(evaluation.accuracy(), abs=1e-6)


PRESENCE = ["mutual_info", "gain_ratio", "symmetrical_uncertainty", "kullback_leibler", "one_r"]


@pytest.mark.parametrize("by", ["chi2", "f_classif", "score", *PRESENCE])
def test_a_ranking_is_a_line_and_a_table_of_the_best_features(by):
    ranking = snb.rank_features(snb.scan(X, y), by=by)
    assert len(repr(ranking)) < 160 and "\n" not in repr(ranking)
    assert repr(ranking).startswith(f"<FeatureRanking by {by!r}")
    assert ", ".join(map(str, ranking.ranking[:5])) in repr(ranking) and "64 features" in repr(ranking)
    page = ranking._repr_html_()
    cells = Cells(page)
    best = ranking.ranking[:10].tolist()
    assert [int(text) for tag, text in cells.cells if tag == "th"] == best
    values = [text for tag, text in cells.cells if tag == "td"]
    assert all(value.startswith(f"{ranking.scores[j]:.6g}") for value, j in zip(values, best))
    assert all("p = " in value for value in values) == (ranking.pvalues is not None)
    # until values are counted, whoever reads the numbers is told
    for text in (repr(ranking), cells.cells[0][1]):
        assert ("presence" in text) == (by in PRESENCE)


def test_a_ranking_by_presence_does_not_tell_values_apart():
    """What captions and documents warn of."""
    x, label = np.array([[1.0], [2.0], [1.0], [3.0], [4.0], [5.0]]), [0, 0, 0, 1, 1, 1]
    for by in PRESENCE:
        ranking = snb.rank_features(snb.scan(x, label), by=by)
        assert ranking.scores[0] == (0.5 if by == "one_r" else 0.0)
    for text in (snb.rank_features.__doc__, snb.FeatureRanking.__doc__, snb.FeatureSelector.__doc__):
        assert "{1, 2}" in text and "{3, 4, 5}" in text


def test_short_rankings_and_pipelines_of_selectors_are_shown():
    ranking = snb.rank_features(snb.scan(X[:, 20:22], y))
    assert repr(ranking) == f"<FeatureRanking by 'chi2': 2 features, best {ranking.ranking[0]}, {ranking.ranking[1]}>"
    assert len(Cells(ranking._repr_html_()).rows) == 2


class Kernel(types.ModuleType):
    """IPython as it is in the kernel of a notebook, as far as a program sees."""

    def __init__(self, shell):
        super().__init__("IPython")
        self.get_ipython = lambda: shell


@pytest.mark.parametrize("where", ["script", "terminal of IPython", "notebook"])
def test_a_comparison_is_shown_once(where, monkeypatch, capsys):
    if where != "script":
        shell = types.SimpleNamespace(**({"kernel": object()} if where == "notebook" else {}))
        monkeypatch.setitem(sys.modules, "IPython", Kernel(shell))
    options = {"families": "poisson", "penalties": ["plain"], "folds": 2}
    table = snb.compare(X, y, **options)
    assert capsys.readouterr().out == ("" if where == "notebook" else f"{table}\n")  # a notebook shows what is returned
    assert "<table>" in table._repr_html_() and "\n" not in repr(table)
    snb.compare(X, y, show=True, **options)
    assert capsys.readouterr().out == f"{table}\n"
    snb.compare(X, y, show=False, **options)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("columns", [0, 1, 60])
@pytest.mark.parametrize("lazy", [False, True])
def test_bars_show_in_a_terminal_that_does_not_know_its_width(lazy, columns, monkeypatch):
    ours, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", columns and 24, columns, 0, 0))
    monkeypatch.setenv("COLUMNS", "70")
    with open(its, "w") as terminal:
        monkeypatch.setattr(sys, "stderr", terminal)
        snb.scan(da.from_array(X, chunks=(100, 64)) if lazy else X, y, progress=True)
        monkeypatch.undo()
    shown = b""
    with contextlib.suppress(OSError), open(ours, "rb", buffering=0) as reader:  # the error is its end
        while read := reader.read(1000):
            shown += read
    last = [line for line in re.split(r"[\r\n]+", shown.decode()) if line.startswith("scan:")][-1]
    assert "100%" in last and "#" in last.replace("█", "#")
    assert len(last) <= (60 if columns == 60 else 70)
