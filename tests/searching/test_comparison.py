"""The tables of a comparison: each cell that of its family and penalty, printed, framed and saved."""

import numpy as np
import pytest

import streamnb as snb
from streamnb.passes.contract import Report
from streamnb.searching.comparing import OVERALL
from streamnb.selection.score_table import GridScores

CLASSES = np.array(["<a>", "b"])
GRID = [{"l1": 0.0}, {"l1": 0.5}]


def judged(scores, class_scores=True):
    """Scores (G, S) at two points; those of the second class, where there are any, go the other way."""
    scores = np.array(scores)
    each = np.stack([scores, scores[::-1]], axis=2) if class_scores else None
    return GridScores(GRID, scores, each, np.array([9, 4]), np.array([[8, 7], [3, 2]]), CLASSES)


def made(**changed):
    cells = {
        ("poisson", "L1"): judged([[0.5, 0.7], [0.8, 0.9]]),
        ("poisson", "none"): judged([[0.9, 0.9], [0.1, 0.1]], class_scores=False),
        ("gaussian", "L1"): judged([[0.2, np.nan], [0.1, 0.3]]),
    }
    left_out = {("gaussian", "none"): "it is not <defined>"}
    arguments = dict(judged=cells, left_out=left_out, scoring="accuracy", overall="one_point", report=Report(rows=7))
    rules = {"L1": "best", "none": "best"}
    return snb.Comparison.of(["poisson", "gaussian"], **{"rules": rules, **arguments, **changed})


def test_each_cell_is_that_of_the_point_chosen():
    table = made()
    assert table.scores.shape == table.n_features.shape == table.points.shape == (2, 2, 3)
    np.testing.assert_allclose(table.scores[0, 0], [0.85, 0.85, 0.85])
    assert table.n_features[0, 0].tolist() == [3, 7, 4]  # of the class at its own best point, and of all
    assert table.points[0, 0].tolist() == [GRID[1], GRID[0], GRID[1]]
    np.testing.assert_allclose(table.scores[1, 0], [0.2, 0.2, 0.2])  # means of what is defined
    assert np.isnan(table.scores[0, 1, :2]).all() and table.scores[0, 1, 2] == 0.9  # no values of classes
    assert np.isnan(table.scores[1, 1]).all() and (table.n_features[1, 1] == -1).all()
    assert table.points[1, 1].tolist() == [None] * 3


def test_what_is_printed():
    poisson, gaussian = str(made()).split("\n\ngaussian: ")
    caption, _, *lines = poisson.splitlines()
    assert caption == "poisson: accuracy (features kept), rule 'best'"
    assert [line.split() for line in lines] == [
        ["L1", "none"],
        ["<a>", "0.8500", "(3)", "-"],
        ["b", "0.8500", "(7)", "-"],
        [OVERALL, "0.8500", "(4)", "0.9000", "(9)"],
    ]
    assert gaussian.splitlines()[2].split() == ["L1"] and gaussian.endswith("Left out: none; it is not <defined>")
    assert repr(made()) == "<Comparison: 2 classes, families ['poisson', 'gaussian'], penalties ['L1', 'none']>"


def test_names_are_escaped_in_a_notebook():
    html = made()._repr_html_()
    assert html.count("<table>") == 2 and "&lt;a&gt;" in html and "<a>" not in html
    assert "it is not &lt;defined&gt;" in html and "<td>0.8500 (3)</td>" in html


def test_a_data_frame_has_a_row_for_each_cell_that_is_not_left_out():
    frame = made().to_frame()
    assert list(frame.columns) == ["family", "penalty", "class", "score", "n_features", "point"] and len(frame) == 9
    row = frame[(frame.family == "poisson") & (frame.penalty == "L1") & (frame["class"] == "b")].iloc[0]
    assert (row.score, row.n_features, row.point) == (pytest.approx(0.85), 7, GRID[0])
    assert set(frame["class"]) == {"<a>", "b", OVERALL}


def test_tables_are_saved_and_checked_when_they_are_read(tmp_path):
    table = made()
    table.save(tmp_path / "table.snb")
    again = snb.load(tmp_path / "table.snb")
    assert str(again) == str(table) and again.report_ == table.report_ and again.left_out == table.left_out
    assert again.points.tolist() == table.points.tolist()
    for name, shape in (("scores", r"\(2, 2, 3\)"), ("n_features", r"\(2, 2, 3\)")):
        with pytest.raises(ValueError, match=rf"{name} is .* of shape {shape}"):
            snb.Comparison._from_state({**table._to_state(), name: getattr(table, name)[:, :1]})


def numbered():
    """Two splits, k = 1 or 10: procedure 7.1 says 6 of the first class and 1 of the second."""
    first = np.array([[0.99, 0.90], [0.992, 0.95]])
    each = np.stack([first, np.array([[0.8, 0.8], [0.7, 0.7]]), np.full((2, 2), np.nan)], axis=2)
    grid, k = [{"top_k": 1}, {"top_k": 10}], np.array([1, 10])
    of_classes = np.column_stack([k, k, k])
    return GridScores(grid, np.nanmean(each, axis=2), each, np.array([2, 15]), of_classes, np.array(["a", "b", "c"]))


def test_the_mean_of_the_classes(tmp_path):
    table = made(judged={("poisson", "k"): numbered()}, left_out={}, rules={"k": "best"}, overall="mean_of_classes")
    assert table.scores[0, 0, 3] == pytest.approx((0.971 + 0.8) / 2) and table.points[0, 0, 3] is None
    assert table.n_features[0, 0].tolist() == [10, 1, -1, 6]  # 5.5, halves up
    assert str(table).splitlines()[0].endswith("rule 'best'; last the mean of the classes")
    table.save(tmp_path / "table.snb")
    assert snb.load(tmp_path / "table.snb").overall == "mean_of_classes"
