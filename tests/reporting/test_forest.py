"""Values with intervals, one below the other: what is drawn is what was given."""

import numpy as np
import pandas as pd
import pytest

import streamnb as snb
from streamnb.reporting.forest import LONGEST, Forest
from tests.reporting.displays import title
from tests.support.refusals import refuses

COLUMNS = ["column", "slice", "n_rows", "metric", "value", "low", "high", "whole"]


def slices(n=3, metric="accuracy"):
    value = 0.7 + 0.1 * np.arange(n)
    cells = [("ward", f"w{i}", 10 * i, metric, v, v - 0.04, v + 0.04, 0.8) for i, v in enumerate(value)]
    return pd.DataFrame(cells, columns=COLUMNS)


def test_values_stand_one_below_the_other():
    shown = Forest(["a", "b"], [0.1, -0.2], [0.05, -0.5], [0.15, 0.1], line=0.0, axis="x", finding="title").plot()
    assert shown.points_.get_xydata().tolist() == [[0.1, 1.0], [-0.2, 0.0]]
    ends = [segment[:, 0].tolist() for segment in shown.whiskers_.get_segments()]
    assert ends == [[0.05, 0.15], [-0.5, 0.1]] and shown.line_.get_xdata() == [0.0, 0.0]
    one, other = shown.whiskers_.get_colors()
    assert one.tolist() != other.tolist()  # the first does not reach the line
    assert [label.get_text() for label in shown.ax_.get_yticklabels()] == ["a", "b"]
    assert [text.get_text() for text in shown.ax_.texts] == ["0.100 [0.050, 0.150]", "-0.200 [-0.500, 0.100]"]
    assert (
        Forest(["a"], [1.0], [0.9], [1.1], line=0.0, axis="x", finding="t").plot(shown.ax_, marker="s").ax_ is shown.ax_
    )
    refuses(TypeError, "size= is no argument of this display", lambda: shown.plot(size=3))


def test_slices_of_a_frame_the_worst_on_top():
    both = pd.concat([slices(), slices(metric="brier")])
    shown = snb.SlicesDisplay.from_frame(both, metric="accuracy")
    assert shown.names == ["ward = w0 (0 rows)", "ward = w1 (10 rows)", "ward = w2 (20 rows)"] and shown.line == 0.8
    assert title(shown) == "accuracy is worst for ward = w0: 0.700 [0.660, 0.740], against 0.800 for all rows"
    many = snb.SlicesDisplay.from_frame(slices(LONGEST + 2))
    assert len(many.names) == LONGEST and "(2 better slices are not shown)" in " ".join(many.finding.split())
    refuses(ValueError, "metric='recall'", lambda: snb.SlicesDisplay.from_frame(both, metric="recall"))
    with pytest.raises(ValueError, match="metric='accuracy' has no value for any slice"):
        snb.SlicesDisplay.from_frame(slices().assign(value=np.nan))


def test_differences_that_are_sure_are_named():
    columns = ["model", "versus", "metric", "difference", "low", "high", "p_adjusted"]

    def said(*ends):
        cells = [
            (f"m{i}", "base", "accuracy", (low + high) / 2, low, high, 0.01 if low * high > 0 else 0.2)
            for i, (low, high) in enumerate(ends)
        ]
        shown = snb.DifferencesDisplay.from_differences(pd.DataFrame(cells, columns=columns), metric="accuracy")
        return shown.finding

    assert said((-0.1, 0.3), (-0.2, 0.1)) == "accuracy: no model is known to differ from base"
    assert said((0.1, 0.3), (-0.2, 0.1)) == "accuracy: m0 differs from base, by 0.200 [0.100, 0.300] (p < 0.05, Holm)"
    assert said((0.1, 0.3), (-0.5, -0.1)).startswith("accuracy: 2 models differ from base, m1 most, by -0.300")


def test_candidates_are_named_in_words_and_those_left_out_are_counted():
    names = ["A(l2=[1.0, 2.0]), encoding=bins=None", "auto, encoding=as usual", "B(1)", "B(2)"]
    scores = [np.array([0.9, 0.8])] * 4
    shown = snb.SearchDisplay(names, scores, "accuracy", 9).plot()
    assert [label.get_text() for label in shown.ax_.get_yticklabels()] == [
        "A, numbers as they are",
        "auto",
        "B(1)",
        "B(2)",
    ]
    assert "(4 of 9 are shown)" in " ".join(shown.ax_.get_title(loc="left").split())
