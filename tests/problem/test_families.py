"""Every family against its natural form: c(theta), brute-force maximisation of (6.1), and its domain."""

import numpy as np
import pytest
import scipy.stats
from scipy.optimize import minimize, minimize_scalar
from scipy.special import gammaln

import streamnb as snb
from tests.support.problems import WaitingTime

K = 6
# c(theta) in the natural parameter, and where theta lives: 0 for all reals, else its sign
NATURAL = {
    "binomial": (snb.Binomial(K), lambda a: K * np.logaddexp(0, a), 0),
    "geometric": (snb.Geometric(), lambda a: -np.log(-np.expm1(a)), -1),
    "negative binomial": (snb.NegativeBinomial(2.5), lambda a: -2.5 * np.log(-np.expm1(a)), -1),
    "gamma": (snb.Gamma(), lambda a: -np.log(-a), -1),
    "gamma ml": (snb.Gamma(dispersion="ml"), lambda a: -np.log(-a), -1),
    "inverse gaussian": (snb.InverseGaussian(), lambda a: -np.sqrt(-2 * a), -1),
    "inverse gaussian ml": (snb.InverseGaussian(dispersion="ml"), lambda a: -np.sqrt(-2 * a), -1),
    "laplace": (snb.Laplace(1.5), lambda a: -np.log(-a), -1),
    "chi-squared": (snb.ChiSquared(), lambda a: gammaln(a) + a * np.log(2), 1),
}
FAMILIES = [pytest.param(*v, id=k) for k, v in NATURAL.items()]


def rows(family, seed, n_classes=2, n=4):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, 60)
    mean = rng.uniform(0.5, 3.0, (n_classes, n))[y]
    if isinstance(family, snb.Binomial):
        return rng.binomial(K, mean / K), y
    if isinstance(family, (snb.Gamma, snb.InverseGaussian, snb.ChiSquared)):
        return rng.gamma(2.0, mean / 2.0), y
    if isinstance(family, snb.Laplace):
        return family.centre + rng.laplace(0.0, mean), y
    return rng.poisson(mean), y


def scanned(family, x, y):
    return snb.scan(x, y, moments=family.moments, centre=family.centre)


def statistic(family, x):
    """T(x), what the family is linear in."""
    return {"deviation": lambda: np.abs(x - family.centre), "log_sum": lambda: np.log(x)}.get(
        family.moment, lambda: x
    )()


def pearson(x, y, power):
    """Pearson's dispersion (math: phi of Gamma and inverse Gaussian), row by row."""
    total = 0.0
    for row, k in zip(x, y):
        m = x[y == k].mean(axis=0)
        total = total + (row - m) ** 2 / m**power
    return total / len(y)


def most_likely_phi(family, x, y):
    """The dispersion of one feature that maximises the density, means of classes being what they are."""
    m = np.array([x[y == k].mean() for k in np.unique(y)])[y]

    def loss(log_phi):
        shape = np.exp(-log_phi)
        if isinstance(family, snb.Gamma):
            return -scipy.stats.gamma.logpdf(x, shape, scale=m / shape).sum()
        return -scipy.stats.invgauss.logpdf(x, m / shape, scale=shape).sum()

    return np.exp(minimize_scalar(loss, bracket=(-1.0, 0.0), tol=1e-12).x)


def phi_of(family, x, y):
    if getattr(family, "by", "") == "ml":
        return np.array([most_likely_phi(family, column, y) for column in x.T])
    power = {"gamma": 2, "inverse_gaussian": 3}.get(family.name)
    return pearson(x, y, power) if power else np.ones(x.shape[1])


def brute_force(c, sign_of_theta, sides, phi, l1, l2):
    """(theta_+, theta_-) that maximise log density + penalty for one feature."""

    def theta(u):
        return sign_of_theta * np.exp(u) if sign_of_theta else u

    def loss(u, sign):
        w = (theta(u[0]) - theta(u[1])) / phi
        density = sum(s * theta(v) - n * c(theta(v)) for (s, n), v in zip(sides, u)) / phi
        return -(density - l1 * sign * w - l2 * w * w / 2)

    options = {"xatol": 1e-11, "fatol": 1e-13, "maxiter": 4000, "maxfev": 4000}
    together = minimize(lambda u: loss([u[0], u[0]], 0), [0.0], method="Nelder-Mead", options=options)
    best, value = theta(np.repeat(together.x, 2)), together.fun
    for sign in (1, -1):
        found = minimize(loss, np.repeat(together.x, 2), sign, method="Nelder-Mead", options=options)
        pair = theta(found.x)
        if sign * (pair[0] - pair[1]) > 0 and found.fun < value - 1e-12:
            best, value = pair, found.fun
    return best


@pytest.mark.parametrize(("family", "c", "sign"), FAMILIES)
def test_cumulants_are_those_of_the_natural_parameter(family, c, sign):
    m = np.linspace(0.3, 4.0, 25)
    theta = family.link(m)
    assert (np.sign(theta) == sign).all() or sign == 0
    np.testing.assert_allclose(family.cumulant(m), c(theta), rtol=1e-12)


@pytest.mark.parametrize("penalty", [{}, {"l1": 0.8, "l2": 0.5}], ids=str)
@pytest.mark.parametrize(("family", "c", "sign"), FAMILIES)
def test_weights_maximise_the_penalised_likelihood(family, c, sign, penalty):
    x, y = rows(family, 3)
    parts = [{"l1": snb.L1, "l2": snb.L2}[kind](tau) for kind, tau in penalty.items()]
    model = snb.solve(scanned(family, x, y), family, sum(parts[1:], parts[0]) if parts else None, smoothing=0.5)[0]
    n = np.bincount(y) + 0.5
    phi, x = phi_of(family, x, y), statistic(family, x)
    sums = np.array([x[y == k].sum(axis=0) + 0.5 * x.mean(axis=0) for k in (0, 1)])
    intercept = np.log(np.mean(y == 1) / np.mean(y == 0))
    for j in range(x.shape[1]):
        sides = [(sums[1, j], n[1]), (sums[0, j], n[0])]
        plus, minus = brute_force(c, sign, sides, phi[j], penalty.get("l1", 0.0), penalty.get("l2", 0.0))
        np.testing.assert_allclose(model.coef_[0, j], (plus - minus) / phi[j], rtol=1e-4, atol=2e-6)
        intercept += (c(minus) - c(plus)) / phi[j]
    np.testing.assert_allclose(model.intercept_[0], intercept, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("family", [family for family, *_ in NATURAL.values() if family.nonnegative], ids=repr)
def test_values_outside_the_domain_are_named(family):
    x, y = rows(family, 4)
    x = x.astype(float)
    x[7, 2] = -1.0
    with pytest.raises(ValueError, match=r"(?s)Negative values.*row 7, column 2"):
        snb.LinearNB(family).fit(x, y)


def test_more_successes_than_trials_are_named():
    x, y = rows(snb.Binomial(K), 4)
    x[11, 1] = K + 1
    with pytest.raises(ValueError, match=r"7\.0 at row 11, column 1.*at most 6"):
        snb.LinearNB(snb.Binomial(K)).fit(x, y)
    for k in (0, -1):
        with pytest.raises(ValueError, match="k="):
            snb.Binomial(k)
    with pytest.raises(TypeError, match="k="):
        snb.Binomial(2.5)
    with pytest.raises(ValueError, match="r="):
        snb.NegativeBinomial(0)


def test_a_family_of_ones_own():
    x, y = rows(snb.Gamma(), 6, n_classes=3)
    own = snb.LinearNB(WaitingTime(), snb.L1(0.3)).fit(x, y)
    assert own.coef_.shape == (3, 4)
    assert own.score(x, y) >= np.bincount(y).max() / len(y)
    gamma = snb.LinearNB(snb.Gamma()).fit(x, y)  # the same weights but for phi
    phi = phi_of(snb.Gamma(), x, y)
    np.testing.assert_allclose(own.refit(penalty=None).coef_ / phi, gamma.coef_, rtol=1e-9)


@pytest.mark.parametrize("penalty", [None, snb.L1(0.3), snb.L2(0.3)], ids=repr)
def test_one_number_may_stand_for_the_same_c_of_every_mean(penalty):
    """Then features add nothing to the intercepts."""
    alone = {"name": "weights alone", "link": snb.Poisson.link, "variance": snb.Poisson.variance}
    family = type("WeightsAlone", (snb.Family,), {**alone, "cumulant": lambda self, m: 0.0})()
    x, y = rows(snb.Poisson(), 7, n_classes=3)
    own, poisson = (snb.LinearNB(f, penalty).fit(x, y) for f in (family, snb.Poisson()))
    assert (own.coef_ == poisson.coef_).all()
    np.testing.assert_allclose(own.intercept_, np.log(np.bincount(y) / len(y)), rtol=1e-12)


def test_two_families_of_one_name_are_not_taken_for_each_other(tmp_path):
    home = {
        "__module__": "a_notebook",
        "name": "twins",
        **{k: vars(snb.Poisson)[k] for k in ("link", "variance", "cumulant")},
    }
    first = type("Twin", (snb.Family,), home)()
    model = snb.LinearNB(first).fit([[1.0], [2.0]], [0, 1])
    type("Twin", (snb.Family,), home)  # the cell is run once more
    model.save(tmp_path / "m.snb")
    assert (snb.load(tmp_path / "m.snb").coef_ == model.coef_).all()
    type("Twin", (snb.Family,), {**home, "__module__": "elsewhere"})
    with pytest.raises(TypeError, match="a class of another module is named Twin too"):
        model.save(tmp_path / "m.snb")
