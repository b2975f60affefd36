"""Distances of rows to classes, in scikit-learn's convention: squared."""

import numpy as np
from sklearn.covariance import EmpiricalCovariance

import streamnb as snb


def test_distances_are_the_squares_that_scikit_learn_gives():
    X, y = np.random.default_rng(0).normal(size=(60, 3)) * [1.0, 2.0, 0.5], np.arange(60) % 2
    model = snb.LinearNB(snb.Gaussian(covariance="full")).fit(X, y)
    for k in range(2):
        theirs = EmpiricalCovariance().fit(X[y == k]).mahalanobis(X)
        np.testing.assert_allclose(model.mahalanobis(X)[:, k], theirs, rtol=1e-9)
    assert not hasattr(snb.LinearNB("gaussian"), "mahalanobis") and not hasattr(snb.LinearNB("none"), "log_density")
