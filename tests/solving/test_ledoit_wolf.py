"""Shrinkage by Ledoit and Wolf from sums of products of squares: as scikit-learn has it."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import discriminant_analysis as theirs
from sklearn.covariance import ledoit_wolf

import streamnb as snb

rng = np.random.default_rng(0)
Y = rng.integers(0, 3, 90)
X = rng.poisson(3.0, (90, 8)) @ rng.integers(0, 3, (8, 8)) + 2 * Y[:, None] * rng.integers(0, 2, (90, 8))


def test_g_is_scikit_learns(tmp_path):
    for x in (X, X * 0.1 + 50.0):
        model = snb.LinearNB(snb.Gaussian(covariance="full", shrinkage="ledoit_wolf")).fit(sp.csr_array(x), Y)
        pooled = snb.LinearNB(snb.Gaussian(covariance="pooled", shrinkage="ledoit_wolf")).fit(x, Y)
        centred = x - np.stack([x[k == Y].mean(axis=0) for k in range(3)])[Y]
        within, g = ledoit_wolf(centred, assume_centered=True)
        assert 0.001 < g < 0.9
        for k in range(3):
            away = x - x[k == Y].mean(axis=0)
            of_class = np.einsum("ij,jk,ik->i", away, np.linalg.inv(ledoit_wolf(x[k == Y])[0]), away)
            np.testing.assert_allclose(model.mahalanobis(x)[:, k], of_class, rtol=1e-8)
            of_all = np.einsum("ij,jk,ik->i", away, np.linalg.inv(within), away)
            np.testing.assert_allclose(pooled.mahalanobis(x)[:, k], of_all, rtol=1e-8)
    cv = snb.LinearNBCV(snb.Gaussian(covariance="full", shrinkage="ledoit_wolf"), folds=3, scoring="accuracy").fit(X, Y)
    assert eval(repr(cv.family), vars(snb)) == cv.family
    assert cv.best_params_ == {"a": 0.0, "g": "ledoit_wolf"} and np.isfinite(cv.best_score_)
    cv.save(tmp_path / "m.snb")
    np.testing.assert_array_equal(snb.load(tmp_path / "m.snb").mahalanobis(X), cv.mahalanobis(X))


@pytest.mark.parametrize("solver", ["lsqr", "eigen"])
def test_drop_ins_have_scikit_learns_automatic_shrinkage(solver, tmp_path):
    still = np.insert(X, 2, 7, axis=1)
    for x, y, priors in ((X, Y, None), (X, Y == 1, None), (X, Y, [0.2, 0.3, 0.5]), (still, Y, None)):
        kind = "LinearDiscriminantAnalysis"
        options = {"solver": solver, "shrinkage": "auto", "priors": priors}
        ours, other = (getattr(home, kind)(**options).fit(x, y) for home in (snb, theirs))
        for name in ("coef_", "intercept_", "covariance_"):
            np.testing.assert_allclose(getattr(ours, name), getattr(other, name), rtol=1e-8, atol=1e-10)
        if solver == "eigen" and x is X:
            options["store_covariance"] = True
            ours, other = (home.QuadraticDiscriminantAnalysis(**options).fit(x, y) for home in (snb, theirs))
            np.testing.assert_allclose(ours.covariance_, other.covariance_, rtol=1e-8, atol=1e-10)
            np.testing.assert_allclose(ours.decision_function(x), other.decision_function(x), rtol=1e-8, atol=1e-8)
    ours.save(tmp_path / "m.snb")
    parts = (
        getattr(snb, type(ours).__name__)(**ours.get_params()).partial_fit(x[:40], y[:40]).partial_fit(x[40:], y[40:])
    )
    for again in (snb.load(tmp_path / "m.snb"), parts):
        np.testing.assert_array_equal(again.decision_function(x), ours.decision_function(x))


def test_mistakes_are_named():
    with pytest.raises(ValueError, match=r"needs a = 1, or a = 0 of 'full'"):
        snb.Gaussian(covariance="full", shrinkage=(0.5, "ledoit_wolf"))
    with pytest.raises(ValueError, match="shrinkage='some' is unknown"):
        snb.LinearDiscriminantAnalysis("lsqr", "some").fit(X, Y)
    family = snb.Gaussian(covariance="full", shrinkage="ledoit_wolf")
    with pytest.raises(ValueError, match="leave no digits for shrinkage by Ledoit and Wolf; subtract a constant"):
        snb.LinearNB(family).fit(X + 1e7, Y)
    with pytest.raises(ValueError, match="needs products of each class; scan with pooled=False"):
        snb.solve(
            snb.scan(X, Y, moments=["sum", "gram", "gram_sq"], pooled=True),
            snb.Gaussian(covariance="pooled", shrinkage="ledoit_wolf"),
        )[0]
    with pytest.raises(ValueError, match="lack the moment 'gram_sq'"):
        snb.solve(snb.scan(X, Y, moments=["sum", "gram"]), family)
