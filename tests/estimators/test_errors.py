"""Errors of predictions against scikit-learn's metrics, the same bits for any blocks."""

import numpy as np
import pytest
from sklearn import metrics

import streamnb as snb

rng = np.random.default_rng(2)
X = rng.normal(size=(150, 3))
Y = X @ [[1.0, 0.0], [-2.0, 1.0], [0.5, 0.5]] + rng.normal(size=(150, 2)) + [100.0, 0.0]
W = rng.uniform(0.1, 3.0, 150)


def test_errors_are_those_of_scikit_learn():
    model = snb.Ridge(5.0).fit(X[:80], Y[:80])
    found, predicted = model.evaluate(X, Y, W), model.predict(X)
    raw = {"multioutput": "raw_values", "sample_weight": W}
    np.testing.assert_allclose(found.r2, metrics.r2_score(Y, predicted, **raw), rtol=1e-12)
    np.testing.assert_allclose(found.rmse, metrics.root_mean_squared_error(Y, predicted, **raw), rtol=1e-12)
    np.testing.assert_allclose(found.mae, metrics.mean_absolute_error(Y, predicted, **raw), rtol=1e-12)
    np.testing.assert_allclose(found.mean_error, np.average(Y - predicted, axis=0, weights=W), rtol=1e-9)
    assert model.score(X, Y, W) == pytest.approx(np.mean(found.r2))


def test_a_target_that_does_not_vary():
    model = snb.Ridge(1.0).fit(X, Y[:, 0])
    assert model.evaluate(X, np.full(150, 3.0)).r2 == 0.0
    with pytest.raises(ValueError, match="y has 2 columns, and the model predicts 1 targets"):
        model.evaluate(X, Y)


def test_the_variance_of_targets_far_from_zero_is_not_lost():
    """Their squares are 1e18 times as large, of which numbers keep 16 digits."""
    model, far = snb.Ridge(0.0).fit(X, Y[:, 1]), Y[:, 1] + 2.0**30
    shifted = snb.Ridge(0.0).fit(X, far)
    y, predicted = far - 2.0**30, shifted.predict(X) - 2.0**30
    assert shifted.evaluate(X, far).r2 == pytest.approx(metrics.r2_score(y, predicted), rel=1e-9)
    assert shifted.score(X, far) == pytest.approx(model.score(X, Y[:, 1]), abs=1e-6)
