"""Regularisers of all weights together, and sums of separable ones, against maxima found by brute force."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit

import streamnb as snb
from tests.support.spread_classes import exactly, scanned, solved, spread

RNG = np.random.default_rng(8)
Y = np.r_[np.arange(3), RNG.integers(0, 3, 40)]
X = RNG.poisson(RNG.gamma(2.0, 0.7, (3, 4))[Y]).astype(float)
STATS = snb.scan(X, Y)
MIX = RNG.normal(size=(4, 4))
MIX = MIX @ MIX.T / 4
COUPLED = snb.Mixed({"multinomial": [0, 1], "poisson": ...})

# c(theta) and its derivative, and theta of a mean
NATURAL = {
    "gaussian": (lambda a: a * a / 2, lambda a: a, lambda m: m),
    "poisson": (np.exp, np.exp, np.log),
    "bernoulli": (lambda a: np.logaddexp(0.0, a), expit, lambda m: np.log(m / (1 - m))),
}


def maximised(family, tau, value, gradient):
    """Weights (3, 4) of the joint scheme: argmax sum (S w - N c(theta_0 + phi w) / phi) + tau R(W)."""
    sums = STATS.above + 1.0 if family == "bernoulli" else STATS.sum
    n = STATS.weight[:, None] + (2.0 if family == "bernoulli" else 1.0 if family == "poisson" else 0.0)
    sums = sums + (X.mean(axis=0) if family == "poisson" else 0.0)
    phi = np.ones(4)
    if family == "gaussian":
        phi = (STATS.sum_sq - STATS.sum**2 / STATS.weight[:, None]).sum(axis=0) / len(Y) + 1e-9 * X.var(axis=0).max()
    c, mean, link = NATURAL[family]
    theta = link(sums.sum(axis=0) / n.sum())

    def loss(w):
        w = w.reshape(3, 4)
        return -(np.sum(sums * w - n * c(theta + phi * w) / phi) + tau * value(w))

    def slope(w):
        w = w.reshape(3, 4)
        return -(sums - n * mean(theta + phi * w) + tau * gradient(w)).ravel()

    start = ((link(sums / n) - theta) / phi).ravel()
    return minimize(loss, start, jac=slope, method="BFGS", options={"gtol": 1e-9, "maxiter": 5000}).x.reshape(3, 4)


def rough(w):
    """Features that belong together, and classes too: not separable."""
    return -0.5 * np.sum((w @ MIX) * w) - 0.1 * np.sum(w.sum(axis=0) ** 4)


def rough_slope(w):
    return -w @ MIX - 0.4 * w.sum(axis=0) ** 3


@pytest.mark.parametrize("family", NATURAL)
@pytest.mark.parametrize("tau", [0.5, 8.0])
def test_weights_under_any_regulariser_are_the_maximum(family, tau):
    path = snb.solve(STATS, family, snb.Custom(rough_slope, [0.0, tau]))
    expected = maximised(family, tau, rough, rough_slope)
    np.testing.assert_allclose(path[1].coef_, expected, rtol=1e-4, atol=1e-5)
    assert path.residuals[0] == 0.0 and 0.0 < path.residuals[1] < 1e-8
    np.testing.assert_array_equal(path[0].coef_, snb.solve(STATS, family)[0].coef_)


@pytest.mark.parametrize("scheme", ["joint", "ovr", "ovo", "reference"])
def test_it_adds_to_other_penalties(scheme):
    """-w is L2, whatever stands beside it: every scheme, L1, TopK and weights that are coupled over classes."""
    asked = {"scheme": scheme, "reference": 0 if scheme == "reference" else None}
    others = [None, snb.L1(0.5), snb.TopK(2)]
    others += [snb.Decorrelation(0.3), snb.Decorrelation(0.3, scale="curvature")] if scheme != "ovo" else []
    for other in others:
        for family in ("poisson", snb.Mixed({"bernoulli": [0, 2], "gaussian": [1, 3]})):
            pair = snb.Custom(np.negative, 0.8), snb.L2(0.8)
            one, two = (snb.solve(STATS, family, p if other is None else p + other, **asked) for p in pair)
            np.testing.assert_allclose(one[0].coef_, two[0].coef_, rtol=1e-7, atol=1e-9)
            np.testing.assert_allclose(one[0].intercept_, two[0].intercept_, rtol=1e-7, atol=1e-8)
            assert one.n_features == two.n_features
    if scheme != "joint":
        return
    found = snb.LinearNBCV("poisson", snb.Custom(np.negative, [0.1, 5.0]), folds=3).fit(X, Y)
    known = snb.LinearNBCV("poisson", snb.L2([0.1, 5.0]), folds=3).fit(X, Y)
    assert (found.cv_results_["mean_test_score"] == known.cv_results_["mean_test_score"]).all()


def test_several_separable_penalties_add():
    def value(w):
        return -0.7 * np.sum(np.log(np.cosh(w))) - 2.0 * np.sum(w * w / 2)

    penalty = snb.Separable(lambda w: -np.tanh(w), [0.0, 0.7]) + snb.Separable(lambda w: -w, [0.0, 2.0])
    path = snb.solve(STATS, "poisson", penalty)
    assert path.grid[3] == {"separable": 0.7, "separable_2": 2.0}
    expected = maximised("poisson", 1.0, value, lambda w: -0.7 * np.tanh(w) - 2.0 * w)
    np.testing.assert_allclose(path[3].coef_, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("penalty", "family", "scheme", "words"),
    [
        (snb.L1(0.5) + snb.Custom(np.negative, 2.0), "multinomial", "joint", r"penalty=Custom\(.*family='multinomial'"),
        (snb.Custom(np.negative, 2.0), COUPLED, "joint", "family='multinomial', whose features are coupled already"),
        (snb.Decorrelation(1.0), COUPLED, "joint", r"penalty=Decorrelation\(.*whose features are coupled already"),
        (snb.Decorrelation(1.0), "poisson", "ovo", "not defined for scheme='ovo', whose rows are pairs"),
    ],
)
def test_penalties_that_are_not_defined(penalty, family, scheme, words):
    with pytest.raises(ValueError, match=words):
        snb.solve(STATS, family, penalty, scheme=scheme)


@pytest.mark.parametrize(
    ("gradient", "words"),
    [
        (lambda w: w[0], r"shape \(4,\) for weights of shape \(3, 4\)"),
        (lambda w: w * np.nan, "no finite number"),
        (lambda w: 10.0 * w, r"does not contract at tau=3: .*\(residual\) stays \d"),
    ],
)
def test_gradients_that_will_not_do(gradient, words, monkeypatch):
    monkeypatch.setattr("streamnb.solving.weight_paths.MOST_STEPS", 50)
    with pytest.raises(ValueError, match=words):
        _ = snb.solve(STATS, "poisson", snb.Custom(gradient, 3.0))[0]
    with pytest.raises(TypeError, match="gradient=3 should be a function"):
        snb.Custom(3)


@pytest.mark.parametrize("tau", [3.0, 1e4])
@pytest.mark.parametrize("family", ["gaussian", "poisson", "bernoulli", "gamma", "laplace"])
def test_weights_and_intercepts_under_any_regulariser(family, tau):
    x, y, weight = spread(family, 3, 1e8, True)
    x[y == 0, :2] = 0.0, 1.0  # never there, and always
    stats = scanned(x, y, weight)
    for scheme in ("joint", "ovr"):
        one, two = (solved(stats, family, scheme, p)[0][0] for p in (snb.Custom(np.negative, tau), snb.L2(tau)))
        np.testing.assert_allclose(one.coef_, two.coef_, rtol=1e-10)
        np.testing.assert_allclose(one.intercept_, two.intercept_, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(("family", "tau"), [("gaussian", 1e5), ("laplace", 1876.0)])
def test_weights_that_a_regulariser_binds_strongly(family, tau):
    def smooth(w):
        rise = np.diff(w, axis=1, prepend=w[:, :1], append=w[:, -1:])
        return np.diff(rise, axis=1)

    x, y, weight = spread(family, 3, 1e4, True)
    x, y, weight = x[y > 0], y[y > 0] - 1, weight[y > 0]
    path, phi = solved(scanned(x, y, weight), family, "joint", snb.Custom(smooth, tau))
    model, ((plus, n_plus, minus, n_minus, _),) = path[0], exactly(family, "joint", x, y, weight)
    t = -tau * smooth(model.coef_)[0]
    plus, minus = (np.array(plus, float) - t) / float(n_plus), (np.array(minus, float) + t) / float(n_minus)
    link, cumulant = (np.positive, lambda m: m * m / 2.0) if family == "gaussian" else (lambda m: -1.0 / m, np.log)
    np.testing.assert_allclose(model.coef_[0], (link(plus) - link(minus)) / phi, rtol=1e-8)
    shift = ((cumulant(minus) - cumulant(plus)) / phi).sum()
    np.testing.assert_allclose(model.intercept_ - path.intercepts, shift, rtol=1e-8)


# ------------------------------------------------------------------------------------------ weights of features


@pytest.mark.parametrize("scheme", ["joint", "ovr", "ovo"])
@pytest.mark.parametrize("penalty", [None, snb.L1([0.2, 1.0]), snb.L2(0.5), snb.Decorrelation(0.3)])
def test_a_feature_of_weight_two_is_a_copied_column(scheme, penalty):
    if scheme == "ovo" and isinstance(penalty, snb.Decorrelation):
        return
    copied = snb.scan(X[:, [1, 2, 2, 3]], Y)
    for family in ("poisson", "bernoulli", "gaussian"):
        family = snb.Gaussian(var_smoothing=0.0) if family == "gaussian" else family
        path = snb.solve(STATS, family, penalty, scheme=scheme, feature_weight=[0, 1, 2, 1])
        other = snb.solve(copied, family, penalty, scheme=scheme)
        for i in range(len(path)):
            np.testing.assert_allclose(path[i].intercept_, other[i].intercept_, rtol=1e-10, atol=1e-12)
            np.testing.assert_allclose(path[i].coef_, other[i].coef_ @ np.eye(4)[[1, 2, 2, 3]], rtol=1e-10, atol=1e-12)
        assert (path.n_features <= 3).all()
        blocks = [weights for _, weights in path.by_columns()]
        np.testing.assert_array_equal(np.vstack([b.toarray() for b in blocks])[:, : path.n_rows], path[0].coef_.T)


def test_weighted_naive_bayes_as_an_estimator(tmp_path):
    a = snb.rank_features(STATS, by="kullback_leibler").scores
    model = snb.LinearNB("multinomial", feature_weight=a).fit(X, Y)
    np.testing.assert_allclose(model.coef_, snb.LinearNB("multinomial").fit(X, Y).coef_ * a)
    model.save(tmp_path / "m.snb")
    assert (snb.load(tmp_path / "m.snb").predict_proba(X) == model.predict_proba(X)).all()
    found = snb.LinearNBCV("poisson", snb.L1([0.0, 1.0]), folds=3, feature_weight=[0, 1, 1, 1]).fit(X, Y)
    assert (found.coef_[:, 0] == 0).all() and (found.cv_results_["n_features"] <= 3).all()
    for wrong, words in (
        ([1, 2], r"shape \(2,\); it should be \(4,\)"),
        (2.0, r"shape \(\)"),
        ([1, -1, 1, 1], r"feature_weight\[1\]=-1"),
    ):
        with pytest.raises(ValueError, match=words):
            snb.LinearNB(feature_weight=wrong).fit(X, Y)
    with pytest.raises(ValueError, match="predictive=True counts all features alike"):
        snb.LinearNB("poisson", feature_weight=a).fit(X, Y).predict(X, predictive=True)
    with pytest.raises(ValueError, match="feature_weight is not defined for family='dirichlet'"):
        snb.solve(snb.scan(X + 1.0, Y, moments=["log_sum"]), snb.Dirichlet(), feature_weight=a)
