"""Predictions of a linear model follow from its weights; distances and densities are those of SciPy."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError

import streamnb as snb
from streamnb.estimators.classifier import fitted_model
from tests.support.strategies import example, messy_csr


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


def test_other_families_have_none():
    model = snb.LinearNB("gaussian").fit(X, Y)
    assert not hasattr(model, "mahalanobis") and not hasattr(model, "log_density")
