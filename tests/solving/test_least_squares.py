"""Least squares from sums of products, beside scikit-learn's ridge classification and conjugate gradients."""

import numpy as np
import pytest
from sklearn.linear_model import RidgeClassifier

import streamnb as snb
from streamnb.solving.least_squares import LeastSquaresPath

rng = np.random.default_rng(0)
Y, SETS = rng.integers(0, 3, 200), rng.integers(0, 2, (200, 3))
X = rng.normal(size=(200, 6)) @ rng.normal(size=(6, 6)) + 1e3 + rng.normal(size=(3, 6))[Y]
W = rng.random(200)


@pytest.mark.parametrize("pooled", [True, False])
@pytest.mark.parametrize("y", [Y, Y > 0, SETS], ids=["three", "two", "labels"])
def test_every_penalty_and_fold_is_scikit_learns_ridge(y, pooled):
    stats = snb.scan(X, y, sample_weight=W, moments=["sum", "gram"], pooled=pooled, folds=2)
    number = snb.fold_numbers(200, 2)
    for part, rows in ((stats, number >= 0), (stats.without_fold(0), number != 0)):
        path = LeastSquaresPath(part)
        for l2 in (0.0, 0.1, 50.0):
            weights, intercepts = path.weights(l2)
            theirs = RidgeClassifier(l2).fit(X[rows], y[rows], sample_weight=W[rows])
            np.testing.assert_allclose(weights.T, np.atleast_2d(theirs.coef_), rtol=1e-6, atol=1e-9)
            np.testing.assert_allclose(intercepts, np.ravel(theirs.intercept_), rtol=1e-6, atol=1e-6)


def test_it_is_where_conjugate_gradients_end():
    x = X - X.mean(axis=0)
    for options in ({}, {"class_weight": "balanced"}, {"idf": True}):
        slow = snb.LeastSquaresClassifier(2.0, tol=1e-10, max_passes=200, **options).fit(x, Y)
        quick = snb.LeastSquaresClassifier(2.0, solver="products", **options).fit(x, Y)
        np.testing.assert_allclose(quick.coef_, slow.coef_, rtol=1e-6, atol=1e-8)
        np.testing.assert_allclose(quick.intercept_, slow.intercept_, rtol=1e-6, atol=1e-8)
        assert quick.n_passes_ == 0 and quick.converged_ and quick.report_.rows == 200
    with pytest.raises(ValueError, match="solver='qr' is unknown"):
        snb.LeastSquaresClassifier(solver="qr").fit(x, Y)


def test_columns_that_do_not_vary_or_repeat():
    still = np.insert(X, 2, 0.1, axis=1)
    path = LeastSquaresPath(snb.scan(still, Y, moments=["sum", "gram"], pooled=True))
    assert (path.weights(0.0)[0][2] == 0.0).all()
    scaled = LeastSquaresPath(snb.scan(X, Y, moments=["sum", "gram"]), np.full(6, 2.0)).weights(4.0)[0]
    np.testing.assert_allclose(2.0 * scaled, LeastSquaresPath(snb.scan(X, Y, moments=["sum", "gram"])).weights(1.0)[0])
    twice = LeastSquaresPath(snb.scan(np.c_[X, X], Y, moments=["sum", "gram"]))
    assert np.isfinite(twice.weights(1.0)[0]).all()
    with pytest.raises(ValueError, match="l2=0 leaves weights undetermined"):
        twice.weights(0.0)
