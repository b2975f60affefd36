"""The picture of a search: a place for each candidate, the best on top."""

import matplotlib as mpl
import numpy as np

import streamnb as snb
from streamnb.selection.split_intervals import split_interval

mpl.use("Agg")


def test_means_and_folds_stand_beside_the_names():
    scores = [np.array([0.8, 0.9]), np.array([0.5, np.nan])]
    display = snb.SearchDisplay(["good", "poor"], scores, "accuracy").plot(color="black")
    np.testing.assert_allclose(display.means_.get_xdata(), [0.85, 0.5])
    np.testing.assert_array_equal(display.means_.get_ydata(), [1, 0])
    assert len(display.folds_.get_xdata()) == 4 and display.means_.get_color() == "black"
    assert [label.get_text() for label in display.ax_.get_yticklabels()] == ["good", "poor"]
    assert display.ax_.get_xlabel() == "accuracy\nmean, 95 % (approximate), and each fold (grey)"
    assert [text.get_text() for text in display.ax_.texts] == ["0.850", "0.500"]
    assert display.ax_.get_title("left").replace("\n", " ") == "The best has 0.850; no other comes up to its worst fold"
    assert display.ax_.get_legend() is None
    np.testing.assert_allclose(display.whiskers_.get_segments()[0][:, 0], split_interval(scores[0], 2))
