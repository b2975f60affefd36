"""Priors with a row for each class: smoothed sums by the formulas, whatever the scheme."""

from itertools import cycle

import numpy as np
import pytest

import streamnb as snb
from streamnb.solving.weight_paths import weight_path

RNG = np.random.default_rng(5)
Y = np.r_[np.arange(3), RNG.integers(0, 3, 30)]
X = RNG.poisson(RNG.gamma(2.0, 1.0, (3, 4))[Y]).astype(float)
STATS = snb.scan(X, Y)
A, B = RNG.uniform(1.2, 4.0, (2, 3, 4))


LINKS = {
    "bernoulli": (lambda m: np.log(m / (1 - m)), lambda m: -np.log(1 - m)),
    "poisson": (np.log, lambda m: m),
    "multinomial": (np.log, np.zeros_like),
}


@pytest.mark.parametrize("family", ["bernoulli", "poisson", "multinomial"])
def test_each_class_has_its_prior_and_the_rest_the_mean_of_the_others(family):
    prior = {"bernoulli": snb.BetaPrior(A, B), "poisson": snb.GammaPrior(A, B), "multinomial": snb.DirichletPrior(A)}
    sums, weight = STATS.above if family == "bernoulli" else STATS.sum, STATS.weight[:, None]
    more = {"bernoulli": A + B, "poisson": B, "multinomial": A.sum(axis=1, keepdims=True) + np.zeros((3, 4))}[family]
    counts = sums.sum(axis=1, keepdims=True) if family == "multinomial" else weight
    link, cumulant = LINKS[family]
    for less in (0.0, 1.0):  # the mode takes 1 off each pseudo-sum
        options = {"smoothing": prior[family], "estimate": "map" if less else "posterior_mean"}
        a = A - less
        taken = {"bernoulli": 2.0, "poisson": 0.0, "multinomial": 4.0}[family] * less
        means = (sums + a) / (counts + more - taken)
        scores = X if family != "bernoulli" else X > 0
        joint = scores @ link(means).T - cumulant(means).sum(axis=1) + np.log(STATS.weight / len(Y))
        for scheme in ("joint", "reference"):
            asked = {"reference": 1} if scheme == "reference" else {}
            got = snb.solve(STATS, family, scheme=scheme, **asked, **options)[0].predict_log_proba(X)
            np.testing.assert_allclose(got - got[:, :1], joint - joint[:, :1], atol=1e-9)
        others = np.ones((3, 3)) - np.eye(3)
        rest = (others @ sums + others @ a / 2) / (others @ counts + others @ (more - taken) / 2)
        ovr = snb.solve(STATS, family, scheme="ovr", **options)[0]
        np.testing.assert_allclose(ovr.coef_, link(means) - link(rest), atol=1e-9)


ALIKE = {  # a number for all features, one for each, and a row of these for each class
    "bernoulli": [snb.BetaPrior(2.0, 3.0), snb.BetaPrior(np.full(4, 2.0), 3.0), snb.BetaPrior(np.full((3, 4), 2.0), 3)],
    "multinomial": [snb.DirichletPrior(a) for a in (2.0, np.full(4, 2.0), np.full((3, 4), 2.0))],
    "poisson": [snb.GammaPrior(2.0, b) for b in (3.0, np.full(4, 3.0), np.full((3, 4), 3.0))],
}
VECTOR = np.array([1.5, 2.0, 3.0, 1.2])
TABLES = {
    "bernoulli": [snb.BetaPrior(a, 2.0) for a in (VECTOR, np.tile(VECTOR, (3, 1)))],
    "multinomial": [snb.DirichletPrior(a) for a in (VECTOR, np.tile(VECTOR, (3, 1)))],
    "poisson": [snb.GammaPrior(2.0, b) for b in (VECTOR, np.tile(VECTOR, (3, 1)))],
    "gaussian": [snb.NormalInverseGamma(mean, 2.0, 3.0, 4.0) for mean in (VECTOR, np.tile(VECTOR, (3, 1)))],
}
HEAVY = snb.scan(np.vstack([X, X[[0, 0]]]), np.r_[Y, Y[[0, 0]]]) + snb.scan(X[:1], Y[:1], sample_weight=[1e6])
OF_LABELS = snb.scan(X, np.column_stack([Y > 0, Y == 1, X[:, 0] > 1]))


@pytest.mark.parametrize(
    ("scheme", "family", "priors"),
    [(scheme, *alike) for scheme, alike in zip(cycle(["joint", "ovr", "ovo"]), [*ALIKE.items(), *TABLES.items()] * 2)],
)
def test_priors_that_are_alike_are_the_prior_of_all_classes_and_features(scheme, family, priors):
    """Also where features are solved for block by block: priors go with their columns."""
    grid, scored, shrunk, few = snb.L1([0.0, 0.3, 2.0]), snb.L1(0.3, scale="score"), snb.L2(0.5), snb.TopK(2)
    every = [(STATS, "posterior_mean", [grid, scored]), (HEAVY, "map", [grid, shrunk, few])]
    every += [(OF_LABELS, "map", [grid, scored])] if scheme != "ovo" else []
    for stats, estimate, penalties in every:
        for penalty in penalties:
            options = {"scheme": scheme, "estimate": estimate}
            one, *others = (weight_path(stats, family, penalty, smoothing=prior, **options) for prior in priors)
            for other in others:
                for i, model in enumerate(one):
                    np.testing.assert_allclose(other[i].coef_, model.coef_, rtol=1e-9, atol=1e-9)
                    np.testing.assert_allclose(other[i].intercept_, model.intercept_, rtol=1e-9, atol=1e-9)
                for j in range(4):
                    np.testing.assert_allclose(
                        other.weights(0, slice(j, j + 1)), other[0].coef_[:, j : j + 1], rtol=1e-12, atol=1e-12
                    )


def test_a_table_goes_through_cross_validation_files_and_predictive_distributions(tmp_path):
    prior = snb.GammaPrior(A, B)
    found = snb.LinearNBCV("poisson", snb.L1([0.0, 1.0]), smoothing=prior, folds=3, scoring="accuracy").fit(X, Y)
    assert np.isfinite(found.cv_results_["mean_test_score"]).all()
    model = snb.LinearNB("poisson", smoothing=prior).fit(X, Y)
    model.save(tmp_path / "m.snb")
    again = snb.load(tmp_path / "m.snb")
    assert (again.predict_proba(X, predictive=True) == model.predict_proba(X, predictive=True)).all()
    assert repr(prior) == "GammaPrior(a=<3 x 4 numbers>, b=<3 x 4 numbers>)"


def test_priors_of_the_wrong_shape_are_refused():
    with pytest.raises(ValueError, match=r"BetaPrior\(a=\) has shape \(2, 4\); .* or \(3, 4\) with a row for each"):
        snb.solve(STATS, "bernoulli", smoothing=snb.BetaPrior(A[:2], 1.0))
    with pytest.raises(ValueError, match=r"b has shape \(1, 2, 3\); .*\(n_classes, n_features\)"):
        snb.GammaPrior(1.0, np.ones((1, 2, 3)))
    with pytest.raises(ValueError, match=r"a\[1, 2\]=0.0 should be greater than 0"):
        snb.BetaPrior(np.where(np.arange(12).reshape(3, 4) == 6, 0.0, A), 1.0)
    with pytest.raises(ValueError, match=r"a has shape \(3, 4\); it should be a number, or .* \(n_features,\)$"):
        snb.NormalInverseGamma(0.0, 1.0, A, 1.0)  # classes share the variance
    with pytest.raises(ValueError, match=r"DirichletPrior\(alpha=\) has shape \(3, 4\)"):
        snb.solve(STATS, "poisson", priors=snb.DirichletPrior(A))
