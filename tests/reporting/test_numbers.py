"""Displays of judged predictions of numbers."""

import numpy as np

import streamnb as snb
from streamnb.reporting.evaluations import weighted_quantiles

rng = np.random.default_rng(0)
X = rng.normal(size=(400, 2))
AMOUNTS = np.exp(3.0 * X[:, 0] + rng.normal(size=400))
MODEL = snb.GammaRegressor(alpha=0.01).fit(X, AMOUNTS)


def test_points_are_the_rows_and_amounts_of_all_sizes_have_log_axes():
    shown = snb.PredictionErrorDisplay.from_estimator(MODEL, X, AMOUNTS, color="k")
    predicted, true = shown.points_.get_data()
    order = np.argsort(predicted)
    np.testing.assert_allclose(predicted[order], np.sort(MODEL.predict(X)), rtol=1e-12)
    np.testing.assert_array_equal(np.sort(true), np.sort(AMOUNTS))
    assert shown.ax_.get_xscale() == shown.ax_.get_yscale() == "log" and shown.points_.get_color() == "k"
    half = np.median(np.abs(AMOUNTS - MODEL.predict(X)))
    assert f"off by {half:.4g} or less" in " ".join(shown.ax_.get_title(loc="left").split())


def test_errors_that_grow_with_the_prediction_are_pointed_out():
    shown = snb.PredictionErrorDisplay.from_evaluation(MODEL.evaluate(X, AMOUNTS), kind="errors")
    assert "third of high predictions" in " ".join(shown.ax_.get_title(loc="left").split())
    np.testing.assert_array_equal(shown.line_.get_ydata(), 0.0)
    y = X[:, 0] + rng.normal(size=400)
    alike = snb.PredictionErrorDisplay.from_estimator(snb.Ridge().fit(X, y), X, y, kind="errors")
    assert "about as large" in " ".join(alike.ax_.get_title(loc="left").split())


def test_rows_that_are_alike_count_as_often_as_they_are():
    x, y = np.repeat([[0.0], [1.0]], [90, 10], axis=0), np.append(np.zeros(90), np.tile([0.0, 20.5], 5))
    judged = snb.Ridge(alpha=0).fit(x, y).evaluate(x, y)
    assert weighted_quantiles(np.abs(np.diff(judged.sample)[:, 0]), judged.sample_weight, [0.5])[0] < 1e-9


def test_deciles_are_those_of_the_evaluation():
    judged = MODEL.evaluate(X, AMOUNTS)
    shown = snb.DecileDisplay.from_evaluation(judged)
    np.testing.assert_array_equal(shown.true_.get_ydata(), judged.deciles["true"])
    np.testing.assert_array_equal(shown.predicted_.get_ydata(), judged.deciles["predicted"])
