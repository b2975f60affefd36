"""Distances and densities of rows beside SciPy's, and where there are none."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn.covariance import EmpiricalCovariance

import streamnb as snb

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(40, 3)) @ RNG.normal(size=(3, 3)), np.arange(40) % 2


@pytest.mark.parametrize("covariance", ["pooled", "full"])
def test_log_density_is_that_of_normal_rows(covariance):
    model = snb.LinearNB(snb.Gaussian(covariance=covariance)).fit(X, Y)
    own = [np.cov(X[k == Y].T, bias=True) for k in (0, 1)]
    sigma = own if covariance == "full" else [sum(own) / 2] * 2
    for k in (0, 1):
        known = multivariate_normal(X[k == Y].mean(axis=0), sigma[k])
        np.testing.assert_allclose(model.log_density(X)[:, k], known.logpdf(X), rtol=1e-9)
    if covariance == "full":  # scikit-learn's distances are squares, too
        theirs = EmpiricalCovariance().fit(X[Y == 0]).mahalanobis(X)
        np.testing.assert_allclose(model.mahalanobis(X)[:, 0], theirs, rtol=1e-9)
    apart = model.mahalanobis(X)[:, 0] - model.mahalanobis(X)[:, 1]
    assert (apart < 0).any() and (apart > 0).any()


def test_other_families_have_none():
    model = snb.LinearNB("gaussian").fit(X, Y)
    assert not hasattr(model, "mahalanobis") and not hasattr(model, "log_density")
