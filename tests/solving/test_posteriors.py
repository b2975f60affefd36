"""Posteriors and evidence against SciPy's distributions: row by row, each predicted from those before it."""

import numpy as np
import pytest
from scipy import stats as dist
from scipy.special import gammaln

import streamnb as snb
from streamnb.problem.families import as_family
from streamnb.solving.posteriors import STRENGTHS, log_evidence, posterior_table, strength

RNG = np.random.default_rng(3)
Y = np.r_[0, 1, 2, RNG.integers(0, 3, 25)]
X = np.minimum(RNG.poisson(RNG.gamma(1.5, 1.0, (3, 4))[Y]), 6).astype(float)
X[:, 3] = 0.0  # never seen
STATS = snb.scan(X, Y)
A, B = RNG.uniform(0.5, 3.0, (2, 3, 4))


def evidence(family, smoothing, priors=None, stats=STATS):
    return log_evidence(stats, as_family(family), smoothing, "posterior_mean", priors)


def one_after_the_other(family):
    """ln p(X | y) by the predictive distribution of each row given the rows before."""
    a, b, total = A.copy(), B.copy(), 0.0
    for x, y in zip(X, Y, strict=True):
        if family == "bernoulli":
            total += dist.bernoulli.logpmf(x > 0, a[y] / (a[y] + b[y])).sum()
            a[y] += x > 0
            b[y] += x == 0
        elif family == "poisson":
            total += (dist.nbinom.logpmf(x, a[y], b[y] / (b[y] + 1)) + gammaln(x + 1)).sum()
            a[y] += x
            b[y] += 1
        elif family == "binomial":
            ways = gammaln(7) - gammaln(x + 1) - gammaln(7 - x)
            total += (dist.betabinom.logpmf(x, 6, a[y], b[y]) - ways).sum()
            a[y] += x
            b[y] += 6 - x
        else:
            ways = gammaln(x.sum() + 1) - gammaln(x + 1).sum()
            total += dist.dirichlet_multinomial.logpmf(x.astype(int), a[y], int(x.sum())) - ways
            a[y] += x
    return total


FAMILIES = {
    "bernoulli": ("bernoulli", snb.BetaPrior(A, B)),
    "binomial": (snb.Binomial(6), snb.BetaPrior(A, B)),
    "poisson": ("poisson", snb.GammaPrior(A, B)),
    "multinomial": ("multinomial", snb.DirichletPrior(A)),
}


@pytest.mark.parametrize("name", FAMILIES)
def test_the_evidence_is_the_product_of_predictive_probabilities(name):
    np.testing.assert_allclose(evidence(*FAMILIES[name]), one_after_the_other(name), rtol=1e-10)


def test_the_evidence_of_gaussian_features_is_a_t_density_of_all_rows():
    prior, x = snb.NormalInverseGamma(A, 1.5, 2.0, 3.0), X + 0.1 * RNG.normal(size=X.shape)
    together = np.equal.outer(Y, Y) / 1.5
    of_features = (
        dist.multivariate_t.logpdf(x[:, j], A[Y, j], (np.eye(len(Y)) + together) * 3.0 / 2.0, df=4.0) for j in range(4)
    )
    np.testing.assert_allclose(evidence("gaussian", prior, stats=snb.scan(x, Y)), sum(of_features), rtol=1e-10)


def test_the_evidence_by_hand_and_of_the_classes():
    stats = snb.scan([[1], [1], [0]], [0, 0, 0])
    assert round(evidence("bernoulli", 1.0, stats=stats), 5) == -2.48491
    alone = evidence("bernoulli", 1.0)
    n = STATS.weight
    np.testing.assert_allclose(evidence("bernoulli", 1.0, "uniform") - alone, -n.sum() * np.log(3.0))
    chain = dist.dirichlet_multinomial.logpmf(n.astype(int), [2.0] * 3, int(n.sum()))
    ways = gammaln(n.sum() + 1) - gammaln(n + 1).sum()
    np.testing.assert_allclose(evidence("bernoulli", 1.0, snb.DirichletPrior(2.0)) - alone, chain - ways)


@pytest.mark.parametrize("name", FAMILIES)
def test_posteriors_are_those_of_scipy(name):
    family, prior = FAMILIES[name]
    table = posterior_table(STATS, as_family(family), prior, "map", 0.8)
    s = STATS.above if name == "bernoulli" else STATS.sum
    n = STATS.weight[:, None] * (6 if name == "binomial" else 1)
    if name == "poisson":
        expected = dist.gamma(A + s, scale=1.0 / (B + n))
    elif name == "multinomial":
        whole = (A + s).sum(axis=1, keepdims=True)
        expected = dist.beta(A + s, whole - A - s)
    else:
        expected = dist.beta(A + s, B + n - s)
    assert table["class"].tolist() == [0, 1, 2] * 4 and table["feature"].tolist() == np.repeat(range(4), 3).tolist()
    for column, values in zip(
        ("mean", "variance", "lower", "upper"), (expected.mean(), expected.var(), *expected.interval(0.8)), strict=True
    ):
        np.testing.assert_allclose(table[column], values.T.ravel(), rtol=1e-9)


def test_posteriors_of_means_and_of_the_variance():
    """Of all rows of a feature: b' by brute sums of squares (Murphy 2007, section 3)."""
    mean, n0, a, b = 0.5, 2.0, 1.5, 3.0
    table = posterior_table(STATS, as_family("gaussian"), snb.NormalInverseGamma(mean, n0, a, b), "posterior_mean")
    x, n = X[:, 0], STATS.weight
    raw = np.array([x[k == Y].mean() for k in range(3)])
    rate = b + ((x - raw[Y]) ** 2).sum() / 2 + (n0 * n * (raw - mean) ** 2 / (n0 + n)).sum() / 2
    shape, first = a + len(x) / 2, table["feature"] == 0
    student = dist.t(2 * shape, (n * raw + n0 * mean) / (n + n0), np.sqrt(rate / shape / (n + n0)))
    shared = dist.invgamma(shape, scale=rate)
    assert table["class"][first].tolist() == [0, 1, 2, None]
    np.testing.assert_allclose(table["mean"][first], [*student.mean(), shared.mean()])
    np.testing.assert_allclose(table["variance"][first], [*student.var(), shared.var()])
    np.testing.assert_allclose(table["upper"][first], [*student.interval(0.95)[1], shared.interval(0.95)[1]])


@pytest.mark.parametrize("family", ["bernoulli", "poisson", "multinomial"])
def test_the_strength_by_evidence_is_its_maximum(family):
    found = strength(STATS, as_family(family), "posterior_mean")
    best = evidence(family, found)
    assert STRENGTHS[0] < found < STRENGTHS[-1]
    assert best >= max(evidence(family, s) for s in (*STRENGTHS, 0.99 * found, 1.01 * found))
    asked, told = (snb.solve(STATS, family, snb.L1(0.2), smoothing=s)[0] for s in ("evidence", found))
    np.testing.assert_array_equal(asked.coef_, told.coef_)


def test_one_strength_for_all_families_of_a_mixture():
    family = snb.Mixed({"poisson": [0, 1], "bernoulli": [2], "gaussian": [3]})
    counts, presence = STATS.select(np.array([0, 1]), ("sum",)), STATS.select(np.array([2]), ("above",))
    found = strength(STATS, family, "posterior_mean")
    both = [
        evidence("poisson", s, stats=counts) + evidence("bernoulli", s, stats=presence) for s in (found, 1.1 * found)
    ]
    assert both[0] > both[1] and found != strength(counts, as_family("poisson"), "posterior_mean")


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: evidence("gaussian", 1.0), r"log_evidence\(\) needs a conjugate prior .*'gaussian' has none"),
        (lambda: evidence("poisson", 0.0), r"none under smoothing=0\.0"),
        (lambda: evidence(snb.Geometric(), 1.0), "'geometric' has none"),
        (lambda: strength(STATS, as_family("gaussian"), "map"), "means nothing for family='gaussian'"),
        (lambda: strength(STATS, as_family("poisson"), "mle"), "none under estimate='mle'"),
        (lambda: snb.solve(STATS, snb.Geometric(), smoothing="evidence"), "smoothing='evidence' needs a family"),
        (lambda: evidence("poisson", 1.0, stats=snb.scan(X, np.eye(3)[Y])), "is for one label a row"),
        (lambda: posterior_table(STATS, as_family("poisson"), 1.0, "map", 1.5), "interval=1.5 should be a probability"),
    ],
)
def test_what_has_no_evidence(call, words):
    with pytest.raises(ValueError, match=words):
        call()
