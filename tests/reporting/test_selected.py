"""The picture of a search for features: a point for each number of them, the one that was chosen marked."""

import numpy as np
import pandas as pd
import pytest

import streamnb as snb
from tests.support.refusals import refuses

rng = np.random.default_rng(0)
Y = rng.integers(0, 2, 80)
X = pd.DataFrame(rng.poisson(1.0 + Y[:, None] * [0, 2, 1], (80, 3)), columns=["a", "b", "c"])


def test_the_score_stands_against_the_number_of_features():
    selector = snb.FeatureSelector("sfs", "auto").fit(X, Y)
    display = snb.SelectionDisplay.from_estimator(selector, color="black")
    np.testing.assert_allclose(display.line_.get_ydata(), selector.curve_.mean(axis=1))
    np.testing.assert_array_equal(display.line_.get_xdata(), [1, 2, 3])
    assert display.chosen_.get_xdata() == len(selector.chosen_) and display.line_.get_color() == "black"
    names = [label.get_text().split()[0] for label in display.ax_.get_xticklabels()]
    assert names == [X.columns[j] for j in selector.ranking_]
    kept = len(selector.chosen_)
    assert display.ax_.get_title("left").startswith(f"{kept} of 3 features are enough")
    assert display.ax_.get_legend() is None and display.ax_.get_ylim()[1] <= 1.01
    stats = snb.scan(X, Y, folds=3)
    found = snb.rank_features(stats, "exhaustive", sample=snb.sample_rows(X, Y, stats))
    again = snb.SelectionDisplay.from_ranking(found, ax=display.ax_)
    assert again.line_.get_color() != "black" and len(again.ax_.get_legend_handles_labels()[0]) == 4
    assert display.figure_ is again.figure_ and len(again.band_.get_paths()) == 1


def test_what_has_no_curve_is_refused():
    with pytest.raises(ValueError, match="by='relief' judges no models"):
        snb.SelectionDisplay.from_estimator(snb.FeatureSelector("relief", 1).fit(X, Y))
    refuses(TypeError, r"should be a fitted snb\.FeatureSelector", lambda: snb.SelectionDisplay.from_estimator(None))
    refuses(TypeError, "ranking is of type list", lambda: snb.SelectionDisplay.from_ranking([]))
