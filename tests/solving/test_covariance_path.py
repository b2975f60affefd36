"""Discriminant analysis from one scan: by hand, by scikit-learn, for rows of any form, and what is refused."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis

import streamnb as snb

rng = np.random.default_rng(1)
Y = rng.integers(0, 3, 150)
X = rng.normal(size=(150, 4)) @ rng.normal(size=(4, 4)) * (1.0 + Y[:, None]) + rng.normal(size=(3, 4))[Y]
W = rng.integers(1, 4, 150)


def fitted(covariance, shrinkage=None, X=X, y=Y, **options):
    return snb.LinearNB(snb.Gaussian(covariance=covariance, shrinkage=shrinkage)).fit(X, y, **options)


def test_by_hand():
    x = np.array([[0, 0], [2, 0], [1, 3], [4, 4], [6, 4], [5, 7]])
    model = fitted("pooled", X=x, y=[0, 0, 0, 1, 1, 1])
    np.testing.assert_allclose(model.coef_, [[6.0, 2.0]], rtol=1e-13)
    np.testing.assert_allclose(model.intercept_, [-24.0], rtol=1e-13)
    np.testing.assert_allclose(model.mahalanobis(x[:1]), [[2.0, 50.0]])
    np.testing.assert_allclose(model.log_density(x[:1]), -np.log(2 * np.pi) - np.log(4 / 3) / 2 - [[1.0, 25.0]])
    far = fitted(
        "pooled", X=np.array([[1e9], [1e9 + 1], [1e9 + 2], [1e9 + 6], [1e9 + 7], [1e9 + 8]]), y=[0, 0, 0, 1, 1, 1]
    )
    assert far.mahalanobis([[1e9]])[0, 0] == pytest.approx(1.5, rel=1e-9)


@pytest.mark.parametrize("y", [Y, Y > 0], ids=["three", "two"])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "csr"])
def test_the_ends_are_scikit_learns_discriminant_analyses(form, y):
    linear, quadratic = fitted("pooled", X=form(X), y=y), fitted("full", X=form(X), y=y)
    lda = LinearDiscriminantAnalysis(solver="lsqr").fit(X, y)
    qda = QuadraticDiscriminantAnalysis().fit(X, y)
    for ours, theirs in ((linear, lda), (quadratic, qda), (fitted("full", (1.0, 0.0), X, y), lda)):
        np.testing.assert_allclose(ours.predict_proba(form(X)), theirs.predict_proba(X), atol=1e-9)
        np.testing.assert_array_equal(ours.predict(form(X)), theirs.predict(X))
    np.testing.assert_allclose(quadratic.decision_function(X), qda.decision_function(X), rtol=1e-8, atol=1e-8)
    assert hasattr(linear, "coef_") and not hasattr(quadratic, "coef_")
    shrunk = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.3).fit(X, y)
    np.testing.assert_allclose(fitted("pooled", 0.3, X, y).predict_proba(X), shrunk.predict_proba(X), atol=1e-9)
    weighted, repeated = fitted("full", X=X, y=y, sample_weight=W), fitted("full", X=X.repeat(W, 0), y=y.repeat(W))
    np.testing.assert_allclose(weighted.decision_function(X), repeated.decision_function(X), rtol=1e-8, atol=1e-8)


def test_scores_do_not_depend_on_the_rows_beside_and_models_are_saved(tmp_path):
    model = fitted("full", (0.2, 0.01))
    whole = model.decision_function(X)
    np.testing.assert_array_equal(np.concatenate([model.decision_function(X[i : i + 1]) for i in range(150)]), whole)
    np.testing.assert_array_equal(np.concatenate(list(map(model.decision_function, np.split(X, [3, 100])))), whole)
    for saved in (model, snb.solve(model.stats_, snb.Gaussian(covariance="full", shrinkage=[(0.2, 0.01), (0, 0)]))):
        saved.save(tmp_path / "m.snb")
        again = snb.load(tmp_path / "m.snb")
        again = again if hasattr(again, "predict") else again[0]
        np.testing.assert_array_equal(again.decision_function(X), whole)
    refitted = fitted("full").refit(family=snb.Gaussian(covariance="full", shrinkage=(0.2, 0.01)))
    np.testing.assert_array_equal(refitted.decision_function(X), whole)


def test_constant_columns_and_classes_of_few_rows():
    still = np.insert(X, 1, 0.1, axis=1)
    for covariance in ("pooled", "full"):
        model = fitted(covariance, X=still)
        np.testing.assert_allclose(model.predict_proba(still), fitted(covariance).predict_proba(X), atol=1e-9)
    assert (fitted("pooled", X=still).coef_[:, 1] == 0.0).all()
    for covariance in ("pooled", "full"):  # priors decide where nothing varies
        assert (fitted(covariance, X=np.ones((150, 2))).predict(np.ones((3, 2))) == np.bincount(Y).argmax()).all()
    rare = np.append(Y[:-1], 9)
    with pytest.raises(ValueError, match=r"of class 9 has no inverse: it has 1 row for 4 features.*\(0, 0.01\)"):
        fitted("full", y=rare)
    assert 9 in fitted("full", (0.5, 0.0), y=rare).classes_ and np.isfinite(fitted("pooled", y=rare).coef_).all()
    with pytest.warns(snb.StreamnbWarning, match="without any weight"):
        absent = fitted("full", classes=[0, 1, 2, 7])
    assert set(absent.predict(X)) <= {0, 1, 2} and not np.isnan(absent.predict_proba(X)).any()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"penalty": snb.L1(0.1)}, "takes no penalty, not penalty=L1"),
        ({"scheme": "ovr"}, "is for scheme='joint' and one label a row, not for scheme='ovr'"),
        ({"idf": True}, "does not go with idf=True"),
        ({"smoothing": snb.NormalInverseGamma(0.0, 1.0, 2.0, 1.0)}, "does not go with smoothing=NormalInverseGamma"),
        ({"estimate": "map"}, "estimate='map'"),
    ],
)
def test_what_does_not_go_with_covariances_is_named(options, message):
    with pytest.raises(ValueError, match=message):
        snb.LinearNB(snb.Gaussian(covariance="full"), **options).fit(X, Y)


def test_other_mistakes_are_named():
    full = snb.Gaussian(covariance="full")
    with pytest.raises(ValueError, match="not for a 2-D y"):
        snb.LinearNB(full).fit(X, np.eye(3, dtype=int)[Y])
    with pytest.raises(ValueError, match=r"2 shrinkages to try, but LinearNB fits one model.*LinearNBCV"):
        snb.LinearNB(snb.Gaussian(covariance="full", shrinkage=[(0, 0), (1, 0)])).fit(X, Y)
    with pytest.raises(ValueError, match="cannot be combined with other families in Mixed"):
        snb.LinearNB(snb.Mixed([(full, [0, 1]), ("poisson", ...)])).fit(abs(X), Y)
    with pytest.raises(ValueError, match="lack the moment 'gram'"):
        snb.solve(snb.scan(X, Y), full)
    with pytest.raises(ValueError, match="predictive=True is for features without covariances"):
        fitted("full").predict(X, predictive=True)
    assert not hasattr(snb.LinearNB("gaussian"), "mahalanobis") and hasattr(snb.LinearNB(full), "log_density")
    with pytest.raises(ValueError, match=r"needs at least 2 classes|one class only"):
        fitted("full", y=np.zeros(150))
