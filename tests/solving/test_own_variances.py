"""Gaussian(covariance="own"): scikit-learn's GaussianNB wherever a family may stand."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import expit
from sklearn.metrics import log_loss
from sklearn.model_selection import cross_val_score
from sklearn.naive_bayes import GaussianNB

import streamnb as snb
from streamnb.models.calibrating import fit_isotonic, fit_platt

RNG = np.random.default_rng(4)
Y = np.r_[np.arange(3), RNG.integers(0, 3, 87)]
X = RNG.normal(RNG.normal(size=(3, 4))[Y], RNG.uniform(0.3, 2.0, (3, 4))[Y])
X[:, 3] = np.where(X[:, 3] > 0, X[:, 3], 0.0)
OWN = snb.Gaussian(covariance="own")


@pytest.mark.parametrize("n_classes", [2, 3])
def test_it_decides_as_scikit_learn_does(n_classes):
    x, y = X[n_classes > Y], np.array(["a", "b", "c"])[Y[n_classes > Y]]
    theirs, model = GaussianNB().fit(x, y), snb.LinearNB(OWN).fit(x, y)
    np.testing.assert_allclose(model.predict_proba(x), theirs.predict_proba(x), rtol=1e-8, atol=1e-12)
    assert (model.predict(x) == theirs.predict(x)).all() and model.score(x, y) == theirs.score(x, y)
    assert model.decision_function(x).shape == ((len(x),) if n_classes == 2 else (len(x), 3))
    np.testing.assert_allclose(model.predict_proba(sp.csr_array(x)), theirs.predict_proba(x), rtol=1e-8, atol=1e-12)
    assert not hasattr(model, "coef_")
    priors = np.full(n_classes, 1.0 / n_classes)
    again = model.refit(priors="uniform").predict_proba(x)
    np.testing.assert_allclose(again, GaussianNB(priors=priors).fit(x, y).predict_proba(x), rtol=1e-8, atol=1e-12)
    logged = snb.LinearNB(OWN, transform="log1p").fit(np.abs(x), y).predict_proba(np.abs(x))
    known = GaussianNB().fit(np.log1p(np.abs(x)), y).predict_proba(np.log1p(np.abs(x)))
    np.testing.assert_allclose(logged, known, rtol=1e-7, atol=1e-12)


@pytest.mark.parametrize("scoring, theirs", [("accuracy", "accuracy"), ("neg_log_loss", "neg_log_loss")])
def test_it_is_a_candidate_of_cross_validation_and_of_comparisons(scoring, theirs):
    folds = snb.fold_numbers(len(Y), 4)
    splits = [(np.flatnonzero(folds != f), np.flatnonzero(folds == f)) for f in range(4)]
    expected = cross_val_score(GaussianNB(), X, Y, cv=splits, scoring=theirs)
    found = snb.LinearNBCV(OWN, folds=4, scoring=scoring).fit(X, Y)
    assert found.best_ == {} and found.cv_results_["n_features"].tolist() == [4]
    np.testing.assert_allclose([found.cv_results_[f"split{s}_test_score"][0] for s in range(4)], expected, rtol=1e-7)
    assert (found.predict(X) == GaussianNB().fit(X, Y).predict(X)).all()
    asked = {"families": [OWN, "gaussian"], "penalties": ["plain", "TopK"], "folds": 4, "scoring": scoring}
    table = snb.compare(X, Y, scheme="joint", **asked)
    np.testing.assert_allclose(table.scores[0, 0, -1], expected.mean(), rtol=1e-7)
    assert (repr(OWN), "TopK") in table.left_out and ("gaussian", "TopK") not in table.left_out


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
def test_its_probabilities_are_calibrated_kept_and_undone(method, tmp_path):
    """Two classes as scikit-learn calibrates these scores; three fit the rows better than before."""
    two = Y < 2
    model = snb.LinearNB(OWN).fit(X[two][:30], Y[two][:30])
    margin, before = model.decision_function(X[two]), model.predict_proba(X[two])
    fit = fit_platt if method == "sigmoid" else fit_isotonic
    found = fit(margin[30:], (Y[two][30:] == 1).astype(float), np.ones(two.sum() - 30))
    p = expit(found[0] * margin + found[1]) if method == "sigmoid" else np.interp(margin, *found)
    model.calibrate(X[two][30:], Y[two][30:], method=method)
    np.testing.assert_allclose(model.predict_proba(X[two])[:, 1], p, rtol=1e-9)
    model.save(tmp_path / "m.snb")
    np.testing.assert_array_equal(snb.load(tmp_path / "m.snb").predict_proba(X), model.predict_proba(X))
    np.testing.assert_array_equal(model.refit().predict_proba(X[two]), before)
    np.testing.assert_allclose(model.refit(intercept_shift=0.5).decision_function(X[two]), margin + 0.5)
    same = np.tile(X, 9)  # said nine times, which is nine times too sure
    three = snb.LinearNBCV(OWN, calibration=method).fit(same, Y)
    calibrated = log_loss(Y, three.predict_proba(same))
    assert calibrated < 0.8 * log_loss(Y, three.refit().predict_proba(same)) and calibrated < np.log(3.0)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: snb.Gaussian(covariance="mine"), "covariance='mine'"),
        (lambda: snb.LinearNB(OWN, snb.L1(1.0)).fit(X, Y), r"'own'.* takes no penalty, not penalty=L1"),
        (lambda: snb.LinearNBCV(OWN, snb.L2([1.0])).fit(X, Y), r"takes no penalty, not penalty=L2"),
        (lambda: snb.LinearNB(OWN, scheme="ovr").fit(X, Y), "is for scheme='joint' .* not for scheme='ovr'"),
        (lambda: snb.LinearNB(OWN).fit(X, np.eye(3)[Y]), "not for a 2-D y"),
        (lambda: snb.LinearNB(OWN, feature_weight=np.ones(4)).fit(X, Y), r"does not go with feature_weight=\[..\]"),
        (lambda: snb.LinearNB(OWN, idf=True).fit(np.abs(X), Y), "does not go with idf=True"),
        (lambda: snb.LinearNB(OWN, smoothing=snb.NormalInverseGamma(0, 1, 1, 1)).fit(X, Y), "not go with smoothing="),
        (lambda: snb.solve(snb.scan(X, Y), snb.Mixed({OWN: [0], "gaussian": [1, 2, 3]})), "stands alone"),
        (lambda: snb.tau_for(snb.scan(X, Y), OWN, n_features=2), "takes no penalty"),
        (lambda: snb.LinearNB(OWN).fit(X, Y).sparsify(), "is of linear scores"),
    ],
)
def test_what_quadratic_scores_cannot_have(call, words):
    with pytest.raises(ValueError, match=words):
        call()
