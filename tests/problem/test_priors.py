"""Priors and estimates: the formulas of conjugate posteriors, and their modes by brute maximisation."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as dist
from scipy.optimize import minimize, minimize_scalar

import streamnb as snb
from tests.support.strategies import example

EPS = 1e-12


def scanned(n_classes=3, seed=0, n_rows=60, n=4, low=1.0):
    """Weighted counts; every feature is seen in every class, none of them in all rows of one."""
    rng = np.random.default_rng([seed, n_classes])
    y = np.concatenate([np.repeat(np.arange(n_classes), 3), rng.integers(0, n_classes, n_rows - 3 * n_classes)])
    x = rng.poisson(rng.gamma(2.0, low, (n_classes, n))[y]).astype(float)
    for k in range(n_classes):
        at = np.flatnonzero(y == k)
        x[at[0]], x[at[1]], x[at[2]] = 1.0, 0.0, 2.0
    return snb.scan(x, y, sample_weight=rng.choice([0.5, 1.0, 2.0], n_rows)), x, y


def margins(means, counts_to_score, priors, family, phi=1.0):
    """Weights relative to the first class, and intercepts likewise, of plain naive Bayes with these class means."""
    links = {
        "bernoulli": (lambda m: np.log(m / (1 - m)), lambda m: -np.log(1 - m)),
        "poisson": (np.log, lambda m: m),
        "multinomial": (np.log, np.zeros_like),
        "gaussian": (lambda m: m, lambda m: m * m / 2),
        "binomial": (lambda m: np.log(m / (5 - m)), lambda m: -5 * np.log(1 - m / 5)),
    }
    link, cumulant = links[family]
    theta, c = link(means) / phi, (cumulant(means) / phi).sum(axis=1)
    scores = counts_to_score @ theta.T - c + np.log(priors)
    return scores - scores[:, :1]


def assert_has_means(stats, x, means, family, *, model_family=None, phi=1.0, priors=None, **options):
    """The model is plain naive Bayes with these class means (K, n), whatever the form of its weights."""
    model = snb.solve(stats, model_family or family, **options)[0]
    given = (x > 0).astype(float) if family == "bernoulli" else x
    shares = stats.weight / stats.weight.sum() if priors is None else priors
    expected = margins(means, given, shares, family, phi)
    got = model.predict_log_proba(x)
    np.testing.assert_allclose(got - got[:, :1], expected, rtol=1e-9, atol=1e-9)


def each(scalar, rng, n):
    """A parameter as a number, or with one for each feature."""
    return [scalar, scalar * rng.uniform(0.5, 2.0, n)]


# --------------------------------------------------------------------------------- formulas of math, section 6


def shares(raised):
    return raised / raised.sum(axis=1, keepdims=True)


MEANS = {  # of sums s and counts n: the prior, and each estimate
    snb.Bernoulli(): (
        snb.BetaPrior,
        (2.5, 4.0),
        lambda s, n, a, b: [(s + a) / (n + a + b), (s + a - 1) / (n + a + b - 2), s / n],
    ),
    snb.Poisson(): (snb.GammaPrior, (2.5, 0.5), lambda s, n, a, b: [(s + a) / (n + b), (s + a - 1) / (n + b), s / n]),
    snb.Multinomial(): (
        snb.DirichletPrior,
        (1.7,),
        lambda s, n, alpha: [shares(s + alpha), shares(s + alpha - 1), shares(s)],
    ),
    snb.Binomial(5): (
        snb.BetaPrior,
        (2.0, 3.0),
        lambda s, n, a, b: [5 * (s + a) / (5 * n + a + b), 5 * (s + a - 1) / (5 * n + a + b - 2), s / n],
    ),
}


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("per_feature", [False, True])
@pytest.mark.parametrize("family", MEANS, ids=repr)
def test_class_means_are_those_of_the_posterior(family, n_classes, per_feature):
    stats, x, y = scanned(n_classes)
    if family.name == "binomial":
        x = np.minimum(x, 5)
        stats = snb.scan(x, y)
    prior, numbers, means_of = MEANS[family]
    rng = np.random.default_rng(0)
    parameters = [each(number, rng, 4)[per_feature] for number in numbers]
    sums = stats.above if family.name == "bernoulli" else stats.sum
    estimates = means_of(sums, stats.weight[:, None], *parameters)
    for estimate, means in zip(("posterior_mean", "map", "mle"), estimates, strict=True):
        options = {"model_family": family, "smoothing": prior(*parameters), "estimate": estimate}
        assert_has_means(stats, x, means, family.name, **options)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("per_feature", [False, True])
def test_gaussian_with_normal_inverse_gamma(n_classes, per_feature):
    stats, x, _ = scanned(n_classes)
    rng = np.random.default_rng(3)
    mean, n0, a, b = (each(v, rng, 4)[per_feature] for v in (0.7, 1.5, 2.0, 3.0))
    weight, total = stats.weight[:, None], stats.weight.sum()
    raw = stats.sum / weight
    means = (stats.sum + n0 * mean) / (weight + n0)
    within = stats.sum_sq - weight * raw**2
    rate = b + (within + n0 * weight / (n0 + weight) * (raw - mean) ** 2).sum(axis=0) / 2
    shape = a + total / 2
    prior = snb.NormalInverseGamma(mean, n0, a, b)
    assert_has_means(stats, x, means, "gaussian", phi=rate / (shape - 1), smoothing=prior)
    at_mode = rate / (shape + 1 + n_classes / 2)
    assert_has_means(stats, x, means, "gaussian", phi=at_mode, smoothing=prior, estimate="map")
    pooled = within.sum(axis=0) / total
    family = snb.Gaussian(var_smoothing=0.0)
    assert_has_means(stats, x, raw, "gaussian", phi=pooled, model_family=family, smoothing=prior, estimate="mle")


def test_class_priors_with_dirichlet():
    stats = scanned(3)[0]
    for beta in (1.5, np.array([1.0, 4.0, 2.5])):
        prior = snb.DirichletPrior(beta)
        n, sum_beta = stats.weight, float(np.sum(np.broadcast_to(beta, 3)))
        expected = {
            "posterior_mean": (n + beta) / (n.sum() + sum_beta),
            "map": (n + beta - 1) / (n.sum() + sum_beta - 3),
            "mle": n / n.sum(),
        }
        for estimate, shares in expected.items():
            intercept = snb.solve(stats, "gaussian", priors=prior, estimate=estimate)[0].intercept_
            without = snb.solve(stats, "gaussian", priors=[0.5, 0.25, 0.25], estimate=estimate)[0].intercept_
            np.testing.assert_allclose(intercept - without, np.log(shares / [0.5, 0.25, 0.25]), atol=1e-12)


# ------------------------------------------------------------------------- the mode, by maximising the posterior


def best(log_posterior, low, high):
    found = minimize_scalar(lambda v: -log_posterior(v), bounds=(low, high), method="bounded", options={"xatol": EPS})
    return found.x


@given(st.integers(0, 12), st.integers(0, 12), st.floats(1.1, 5.0), st.floats(1.1, 5.0))
def test_modes_of_one_feature_maximise_the_posterior(successes, failures, a, b):
    n = successes + failures
    ones = np.repeat([1.0, 0.0], [successes, failures])
    stats = snb.scan(np.r_[ones, 1.0, 0.0][:, None], np.r_[np.zeros(n), 1, 1].astype(int), classes=[0, 1])
    if not n:
        return
    model = snb.solve(stats, "bernoulli", smoothing=snb.BetaPrior(a, b), estimate="map")[0]
    mode = best(lambda p: dist.bernoulli.logpmf(ones, p).sum() + dist.beta.logpdf(p, a, b), EPS, 1 - EPS)
    other = (1 + a - 1) / (2 + a + b - 2)
    expected = np.log(other / (1 - other)) - np.log(mode / (1 - mode))
    np.testing.assert_allclose(model.coef_[0, 0], expected, rtol=1e-4, atol=1e-5)
    rate = best(lambda m: dist.poisson.logpmf(ones, m).sum() + dist.gamma.logpdf(m, a, scale=1 / b), EPS, 20)
    model = snb.solve(stats, "poisson", smoothing=snb.GammaPrior(a, b), estimate="map")[0]
    np.testing.assert_allclose(model.coef_[0, 0], np.log((1 + a - 1) / (2 + b)) - np.log(rate), rtol=1e-4, atol=1e-5)


def test_the_mode_of_a_multinomial_row_maximises_the_posterior():
    stats = scanned(2)[0]
    alpha = np.array([1.2, 2.0, 3.0, 1.5])
    means = []
    for sums in stats.sum:

        def loss(logits, sums=sums):
            p = np.exp(logits - np.logaddexp.reduce(logits))
            return -(sums @ np.log(p) + dist.dirichlet.logpdf(p / p.sum(), alpha))

        best_logits = minimize(loss, np.zeros(4), method="BFGS", options={"gtol": 1e-10}).x
        means.append(np.exp(best_logits - np.logaddexp.reduce(best_logits)))
    model = snb.solve(stats, "multinomial", smoothing=snb.DirichletPrior(alpha), estimate="map")[0]
    np.testing.assert_allclose(model.coef_[0], np.log(means[1]) - np.log(means[0]), atol=1e-5)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_joint_mode_of_means_and_variance_maximises_the_posterior(n_classes):
    _, x, y = scanned(n_classes)
    stats = snb.scan(x[:, :1] + 0.1 * np.random.default_rng(0).normal(size=(len(x), 1)), y)
    mean, n0, a, b = 0.5, 2.0, 3.0, 1.0
    model = snb.solve(stats, "gaussian", smoothing=snb.NormalInverseGamma(mean, n0, a, b), estimate="map")[0]
    n, s, q = stats.weight, stats.sum[:, 0], stats.sum_sq[:, 0]

    def loss(v):
        mu, variance = v[:-1], np.exp(v[-1])
        squares = q - 2 * mu * s + n * mu**2
        rows = -(squares.sum() / variance + n.sum() * v[-1]) / 2
        means = dist.norm.logpdf(mu, mean, np.sqrt(variance / n0)).sum()
        return -(rows + means + dist.invgamma.logpdf(variance, a, scale=b))

    found = minimize(loss, np.r_[s / n, 0.0], method="BFGS", options={"gtol": 1e-9}).x
    mu, phi = found[:-1], np.exp(found[-1])
    if n_classes == 2:
        np.testing.assert_allclose(model.coef_[0, 0], (mu[1] - mu[0]) / phi, rtol=1e-5)
    else:
        np.testing.assert_allclose(np.diff(model.coef_[:, 0]), np.diff(mu) / phi, rtol=1e-5)


def test_modes_at_the_edge_are_cut_off_there():
    """(S + a - 1) / (N + a + b - 2) below 0 is 0: the weight is infinite unless a penalty pulls it back."""
    x = np.array([[0.0, 1], [0, 0], [0, 1], [1, 0], [1, 1], [0, 1]])
    stats = snb.scan(x, [0, 0, 0, 1, 1, 1])
    prior = snb.BetaPrior(0.5, 2.0)
    with pytest.raises(ValueError, match="larger parameters"):
        _ = snb.solve(stats, "bernoulli", smoothing=prior, estimate="map")[0]
    for scheme_stats, n_classes in ((stats, 2), (stats + snb.scan(x, [2, 2, 2, 2, 2, 2]), 3)):
        model = snb.solve(scheme_stats, "bernoulli", snb.L1(0.1), smoothing=prior, estimate="map")[0]
        s, n = scheme_stats.above[:, 0], scheme_stats.weight
        cut, count = np.clip(s + prior.a - 1, 0, n + prior.a + prior.b - 2), n + prior.a + prior.b - 2
        assert cut[0] == 0.0 and len(cut) == n_classes

        def logit(sums, counts, t):
            return np.log((sums - t) / (counts - sums + t))

        if n_classes == 2:
            expected = logit(cut[1], count[1], 0.1) - logit(cut[0], count[0], -0.1)
            np.testing.assert_allclose(model.coef_[0, 0], expected, rtol=1e-9)
        else:
            pooled = logit(cut.sum(), count.sum(), 0.0)
            t_star = cut - count * cut.sum() / count.sum()
            expected = logit(cut, count, 0.1 * np.sign(t_star)) - pooled
            np.testing.assert_allclose(model.coef_[:, 0], np.where(np.abs(t_star) > 0.1, expected, 0.0), rtol=1e-9)


# --------------------------------------------------------------------------------------- numbers mean priors


def same(a, b):
    np.testing.assert_allclose(a.coef_, b.coef_, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(a.intercept_, b.intercept_, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    ("estimate", "penalty", "scheme"),
    [("posterior_mean", None, "ovo"), ("map", snb.L1(0.4), "joint"), ("map", snb.L2(0.3), "ovr")],
)
def test_a_number_is_the_default_prior_of_the_family(estimate, penalty, scheme):
    stats, _, _ = scanned(3)
    m = stats.sum.sum(axis=0) / stats.weight.sum()
    meant = {
        "bernoulli": snb.BetaPrior(3.0, 3.0),
        "multinomial": snb.DirichletPrior(3.0),
        "poisson": snb.GammaPrior(3.0 * m, 3.0),
    }
    for family, prior in meant.items():
        options = {"penalty": penalty, "scheme": scheme, "estimate": estimate}
        same(
            snb.solve(stats, family, smoothing=3.0, **options)[0],
            snb.solve(stats, family, smoothing=prior, **options)[0],
        )


def test_without_smoothing_every_estimate_is_maximum_likelihood():
    stats, _, _ = scanned(3)
    for family in ("bernoulli", "poisson", "multinomial", "gaussian"):
        for estimate in ("posterior_mean", "map"):
            same(
                snb.solve(stats, family, smoothing=0.0, estimate=estimate)[0],
                snb.solve(stats, family, estimate="mle")[0],
            )


def test_tau_for_knows_the_prior():
    stats, _, _ = scanned(3, n=4)
    options = {"smoothing": snb.GammaPrior(np.array([1.0, 5.0, 2.0, 9.0]), 2.0), "estimate": "map"}
    tau = snb.tau_for(stats, "poisson", n_features=2, **options)
    assert snb.solve(stats, "poisson", snb.L1(tau), **options).n_features[0] == 2


def test_what_labels_of_an_indicator_cannot_have():
    _, x, y = scanned(3)
    stats = snb.scan(x, np.column_stack([y != 0, y == 1]))
    with pytest.raises(ValueError, match=r"DirichletPrior.* is for one label a row"):
        snb.solve(stats, priors=snb.DirichletPrior(2.0))
    nearly_all = snb.scan(x[:4], np.column_stack([[1, 1, 1, 0], [0, 1, 1, 1]]))
    with pytest.raises(ValueError, match="no mode"):  # the rest of each label is a single row
        snb.solve(nearly_all, "bernoulli", smoothing=snb.BetaPrior(0.3, 0.3), estimate="map")


# ------------------------------------------------------------------------------------------- estimator, errors


def test_the_estimator_takes_priors_and_keeps_them(tmp_path):
    rows = example()
    prior = snb.GammaPrior(np.linspace(0.5, 2.0, 9), 1.5)
    classes = snb.DirichletPrior([1.0, 2.0, 3.0])
    model = snb.LinearNB("poisson", smoothing=prior, priors=classes).fit(rows.x, rows.y)
    solved = snb.solve(model.stats_, "poisson", smoothing=prior, priors=classes)[0]
    assert np.array_equal(model.coef_, solved.coef_) and np.array_equal(model.intercept_, solved.intercept_)
    model.save(tmp_path / "model.snb")
    loaded = snb.load(tmp_path / "model.snb")
    assert loaded.smoothing == prior and loaded.priors == classes and hash(loaded.smoothing) == hash(prior)
    assert str(loaded) == str(model) and "<9 numbers>" in repr(prior)
    assert np.array_equal(
        loaded.refit(estimate="mle", penalty=snb.L1(0.5)).coef_, model.refit(estimate="mle", penalty=snb.L1(0.5)).coef_
    )
    assert prior != snb.GammaPrior(1.0, 1.5) and prior != classes


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: snb.BetaPrior(0.0, 1.0), ValueError, r"a=0\.0 should be greater than 0"),
        (lambda: snb.BetaPrior(1.0, [1.0, -2.0]), ValueError, r"b\[1\]=-2\.0 should be greater than 0"),
        (lambda: snb.GammaPrior("1", 1.0), TypeError, "a='1' should be a number"),
        (lambda: snb.GammaPrior(1.0, [[[1.0]]]), ValueError, r"b has shape \(1, 1, 1\)"),
        (lambda: snb.DirichletPrior([1.0, np.nan]), ValueError, r"alpha\[1\]=nan should be finite"),
        (lambda: snb.DirichletPrior(["a"]), TypeError, "alpha has dtype"),
        (lambda: snb.NormalInverseGamma(np.inf, 1, 1, 1), ValueError, "mean=inf should be finite"),
        (lambda: snb.NormalInverseGamma(0, 0, 1, 1), ValueError, r"n0=0\.0 should be greater than 0"),
    ],
)
def test_wrong_parameters_are_refused(make, error, words):
    with pytest.raises(error, match=words):
        make()


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"smoothing": snb.BetaPrior(1, 1)}, ValueError, "no prior of family='poisson'.*GammaPrior"),
        ({"family": "gamma", "smoothing": snb.BetaPrior(1, 1)}, ValueError, "no conjugate prior"),
        ({"smoothing": snb.GammaPrior([1.0, 2.0], 1)}, ValueError, r"GammaPrior\(a=\) has 2 entries for 4 features"),
        ({"smoothing": "beta"}, TypeError, "smoothing='beta' should be 'auto', a number"),
        ({"family": "multinomial", "smoothing": "empirical_bayes", "estimate": "map"}, ValueError, "there is no mode"),
        ({"estimate": "mode"}, ValueError, "estimate='mode' is unknown"),
        ({"family": "geometric", "estimate": "map"}, ValueError, "conjugate prior .*'bernoulli'.*not 'geometric'"),
        (
            {"priors": snb.DirichletPrior([1.0, 2.0])},
            ValueError,
            r"DirichletPrior\(alpha=\) has 2 entries for 3 classes",
        ),
        ({"priors": snb.BetaPrior(1, 1)}, TypeError, "priors=.*DirichletPrior"),
        ({"priors": [0.0, 0.0, 0.0, 1.0], "classes": [0, 1, 2, 3]}, ValueError, "leave no probability to the classes"),
        ({"priors": snb.DirichletPrior(1e-3), "estimate": "map", "classes": [0, 1, 2, 3]}, ValueError, "no mode"),
        (
            {"family": "multinomial", "smoothing": 0.5, "estimate": "map", "sparse": True},
            ValueError,
            "estimate='map'.*no mode",
        ),
        ({"family": "bernoulli", "smoothing": 0.01, "estimate": "map", "rows": 3}, ValueError, "no mode"),
    ],
)
def test_what_does_not_go_together_is_refused(options, error, words):
    stats, x, y = scanned(3)
    options = dict(options)
    if "classes" in options:
        stats = snb.scan(x, y, classes=options.pop("classes"))
    if options.pop("sparse", False):
        stats = snb.scan(x * (np.arange(4) != y[:, None]), y)
    if n := options.pop("rows", None):
        stats = snb.scan(np.eye(n, 4), np.arange(n))
    family = options.pop("family", "poisson")
    with pytest.raises(error, match=words):
        snb.solve(stats, family, **options)
