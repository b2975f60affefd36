"""Models of normal rows, by SciPy."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn.metrics import log_loss

import streamnb as snb
from streamnb.models.quadratic import CovarianceModel

rng = np.random.default_rng(0)
X, Y = rng.normal(size=(80, 3)) @ rng.normal(size=(3, 3)), np.arange(80) % 3


@pytest.mark.parametrize("covariance", ["pooled", "full"])
def test_densities_are_scipys(covariance):
    model = snb.LinearNB(snb.Gaussian(covariance=covariance)).fit(X, Y)
    own = [np.cov(X[k == Y].T, bias=True) for k in range(3)]
    pooled = np.tensordot(np.bincount(Y) / 80, own, 1)
    for k in range(3):
        mean, matrix = X[k == Y].mean(axis=0), own[k] if covariance == "full" else pooled
        expected = multivariate_normal(mean, matrix).logpdf(X)
        np.testing.assert_allclose(model.log_density(X)[:, k], expected, rtol=1e-10)
        distances = np.einsum("ij,ij->i", (X - mean) @ np.linalg.inv(matrix), X - mean)
        np.testing.assert_allclose(model.mahalanobis(X)[:, k], distances, rtol=1e-9)
    joint = model.log_density(X) + np.log(np.bincount(Y) / 80)
    proba = np.exp(joint) / np.exp(joint).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict_proba(X), proba, rtol=1e-8)
    out = np.empty((80, 3))
    assert model.mahalanobis(X, out=out) is out


def test_what_a_file_holds_has_to_fit_together():
    model = snb.solve(snb.scan(X, Y, moments=["sum", "gram"]), snb.Gaussian(covariance="full"))[0]
    state = model._to_state()
    assert CovarianceModel._from_state(state).quadratic
    with pytest.raises(ValueError, match="roots"):
        CovarianceModel._from_state({**state, "roots": state["roots"][:2]})
    with pytest.raises(ValueError, match="means"):
        CovarianceModel._from_state({**state, "means": state["means"][:, :2]})
    with pytest.raises(AttributeError, match="no weights that could be sparse"):
        model.sparsify()
    assert snb.LinearNB(snb.Gaussian(covariance="pooled")).fit(X, Y).calibrate(X, Y).sparsify().score(X, Y) > 0.3
    shifted = model.shifted(np.array([5.0, 0.0, 0.0]))
    np.testing.assert_allclose(shifted.decision_function(X) - model.decision_function(X), [[5.0, 0.0, 0.0]] * 80)


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
def test_quadratic_scores_are_calibrated_on_other_rows(method):
    model = snb.LinearNB(snb.Gaussian(covariance="full")).fit(X[:20] + Y[:20, None], Y[:20])  # too sure of itself
    before = log_loss(Y, model.predict_proba(X + Y[:, None]))
    model.calibrate(X[20:] + Y[20:, None], Y[20:], method=method)
    assert log_loss(Y, model.predict_proba(X + Y[:, None])) < 0.8 * before
