"""Predictions of a linear model follow from its weights; distances and densities are those of SciPy."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import multivariate_normal
from sklearn.base import clone
from sklearn.covariance import EmpiricalCovariance
from sklearn.exceptions import NotFittedError

import streamnb as snb
from streamnb.estimators.classifier import fitted_model
from tests.estimators.test_linear_nb import MODELS
from tests.support.strategies import LABELS, example, messy_csr


@pytest.mark.parametrize("model", MODELS[:6] + MODELS[8:], ids=str)  # whose weights are for rows as they are
def test_predictions_follow_from_weights_and_intercepts(model):
    for kind in LABELS:
        rows = example(kind)
        fitted = clone(model).fit(rows.x, rows.y)
        x = (rows.x > model.binarize).astype(float) if model.family == "bernoulli" else rows.x
        scores = x @ fitted.coef_.T + fitted.intercept_
        decision = fitted.decision_function(rows.x)
        np.testing.assert_allclose(decision, scores[:, 0] if kind == "bool" else scores, rtol=1e-9, atol=1e-9)
        chosen = (decision > 0).astype(int) if kind == "bool" else decision.argmax(axis=1)
        assert fitted.predict(rows.x).tolist() == fitted.classes_[chosen].tolist()
        probabilities = fitted.predict_proba(rows.x)
        np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
        np.testing.assert_allclose(np.log(probabilities), fitted.predict_log_proba(rows.x), rtol=1e-8, atol=1e-12)
        assert fitted.score(rows.x, rows.y) == (fitted.predict(rows.x) == rows.y).mean()


def test_score_takes_weights():
    rows = example()
    model = snb.LinearNB().fit(rows.x, rows.y)
    right = model.predict(rows.x) == rows.y
    assert model.score(rows.x, rows.y, sample_weight=rows.w) == pytest.approx(np.average(right, weights=rows.w))


def test_sparsify_changes_the_storage_only():
    rows = example()
    model = snb.LinearNB("poisson", snb.L1(2.0)).fit(rows.x, rows.y)
    dense, expected = model.coef_.copy(), model.predict_proba(rows.x)
    assert model.sparsify() is model
    assert sp.issparse(model.coef_) and (model.coef_.toarray() == dense).all()
    for x in (rows.x, messy_csr(rows.x)):
        np.testing.assert_allclose(model.predict_proba(x), expected, rtol=1e-12)


def test_weights_and_methods_are_there_where_they_mean_something():
    rows = example("str")
    model = snb.LinearNB(scheme="ovo")
    assert not hasattr(model, "coef_") and not hasattr(model, "decision_function")  # counts take no negative values
    assert hasattr(snb.LinearNB("gaussian"), "decision_function") and hasattr(snb.LinearNB("none"), "sparsify")
    model.partial_fit(rows.x[rows.y == "ash"], rows.y[rows.y == "ash"])
    with pytest.raises(AttributeError, match="LinearNB has no 'intercept_' before it has seen two classes"):
        _ = model.intercept_
    with pytest.raises(NotFittedError, match="has seen one class only"):
        model.predict(rows.x)
    model.fit(rows.x, rows.y)
    assert hasattr(model, "decision_function") and not hasattr(model, "predict_proba")
    assert (fitted_model(model).coef_ == model.coef_).all()
    assert model.fit(rows.x, rows.y == "ash").predict_proba(rows.x).shape == (41, 2)


def test_rows_may_be_predicted_by_the_posterior_in_place_of_an_estimate():
    rows = example("bool", n_rows=12)
    model = snb.LinearNB("poisson").fit(rows.x, rows.y)
    plain, averaged = (model.predict_proba(rows.x, predictive=by) for by in (False, True))
    assert (plain != averaged).any() and np.allclose(averaged.sum(axis=1), 1.0)
    with pytest.raises(ValueError, match=r"^predictive='yes' is unknown"):
        model.predict(rows.x, predictive="yes")


# ---- distances and densities, beside SciPy's -------------------------------------------------------------------------

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
