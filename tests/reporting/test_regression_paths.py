"""The path of a regression: what is drawn is what was chosen from."""

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt

import streamnb as snb

rng = np.random.default_rng(5)
X = pd.DataFrame(rng.normal(size=(90, 4)), columns=["long", "short", "none", "some"])
Y = 3.0 * X["long"] - 0.5 * X["short"] + X["some"] + rng.normal(size=90)


def drawn_errors(display):
    """The points and the half lengths of their bars."""
    line, _, (bars,) = display.errors_.lines
    ends = np.array(bars.get_segments())[:, :, 1]
    return line.get_xydata(), (ends[:, 1] - ends[:, 0]) / 2.0


def test_a_path_by_hand():
    alphas, coefs = np.array([0.1, 1.0, 10.0]), np.array([[2.0, 1.0, 0.0], [-3.0, -0.5, 0.0], [0.0, 0.0, 0.0]])
    mse = np.array([[1.0, 3.0], [0.5, 1.5], [4.0, 6.0]])
    display = snb.RegressionPathDisplay(alphas, coefs, mse, chosen=1.0, feature_names=["a", "b", "c"]).plot(n_named=2)
    assert [line.get_xydata().tolist() for line in display.lines_] == [
        [[10.0, 0.0], [1.0, 1.0], [0.1, 2.0]],
        [[10.0, 0.0], [1.0, -0.5], [0.1, -3.0]],
        [[10.0, 0.0], [1.0, 0.0], [0.1, 0.0]],
    ]
    points, bars = drawn_errors(display)
    assert points.tolist() == [[10.0, 5.0], [1.0, 1.0], [0.1, 2.0]]
    np.testing.assert_allclose(bars, [1.0, 0.5, 1.0])  # standard deviation / sqrt(2)
    assert [line.get_xdata()[0] for line in display.chosen_] == [1.0, 1.0]
    assert [text.get_text() for text in display.ax_.texts] == ["a", "b"]
    assert display.ax_.get_title("left") == "Largest weights: a, b"
    assert display.errors_ax_.get_title("left").replace("\n", " ") == "alpha = 1, the least error: 1"
    low, high = display.ax_.get_xlim()
    assert low > high and display.ax_.get_xscale() == display.errors_ax_.get_xscale() == "log"


@pytest.mark.parametrize("ratio", [1.0, [0.0, 0.5, 1.0]])
def test_what_an_estimator_chose_from_is_drawn(ratio):
    model = snb.ElasticNetCV(ratio, n_alphas=12, folds=4, rule="one_se").fit(X, Y)
    display = snb.RegressionPathDisplay.from_estimator(model)
    table = pd.DataFrame(model.cv_results_).query("l1_ratio == @model.l1_ratio_")
    points, bars = drawn_errors(display)
    np.testing.assert_allclose(points * [1.0, -1.0], table[["alpha", "mean_test_score"]])
    np.testing.assert_allclose(bars, table["standard_error"])
    drawn = [line.get_ydata() for line in display.lines_]
    np.testing.assert_allclose(drawn, model.coefs_path_ * X.to_numpy().std(axis=0)[:, None], rtol=1e-10)
    assert display.ax_.get_ylabel() == "weight per standard deviation"
    assert display.chosen_[0].get_xdata()[0] == pytest.approx(model.alpha_)
    assert display.ax_.get_title("left") == "Largest weights: long, some, short"


def test_one_of_several_targets_on_given_axes():
    model = snb.ElasticNetCV(1.0, n_alphas=6, folds=3).fit(X, np.column_stack([Y, -Y]))
    given = plt.figure().subplots(1, 2)
    display = snb.RegressionPathDisplay.from_estimator(model, 1, ax=given)
    assert [display.ax_, display.errors_ax_] == [*given]
    drawn = [line.get_ydata() for line in display.lines_]
    np.testing.assert_allclose(drawn, model.coefs_path_[1] * X.to_numpy().std(axis=0)[:, None], rtol=1e-10)


def test_no_weight_is_said():
    flat = snb.RegressionPathDisplay(np.array([1.0]), np.zeros((2, 1)), np.ones((1, 1)), chosen=1.0).plot()
    assert flat.ax_.get_title("left") == "No feature has a weight"
