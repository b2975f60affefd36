"""Moments of a function of the feature, and the families that are linear in one: their sums, laws and errors."""

import subprocess
import sys
from fractions import Fraction
from functools import reduce
from operator import add

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.integrate import quad
from scipy.optimize import minimize, minimize_scalar
from scipy.special import digamma, gammaln, log_softmax, polygamma

import streamnb as snb
from streamnb.data.chunk import as_chunk
from streamnb.dirichlet import dirichlet_parameters
from streamnb.families import inverse_digamma
from streamnb.stats.class_stats import MOMENTS, PLAIN_MOMENTS
from tests.strategies import chunkings

FUNCTIONS = {
    "log_sum": np.log,
    "inv_sum": np.reciprocal,
    "log1m_sum": lambda x: np.log1p(-x),
    "deviation": lambda x: np.abs(x - 0.25),
}
SPARSE = ["log1m_sum", "deviation"]  # those that have a value at 0


def shares(seed=0, n_rows=40, n_features=5, n_classes=3, zeros=False):
    """Values inside (0, 1), labels and weights that round."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(0.01, 0.99, (n_rows, n_features))
    if zeros:
        x[rng.random(x.shape) < 0.6] = 0.0
    return x, rng.integers(0, n_classes, n_rows), rng.random(n_rows)


def sums_of(function, x, y, w):
    return np.array([(w[y == k, None] * function(x[y == k])).sum(axis=0) for k in np.unique(y)])


def scan(x, y, w=None, **options):
    return snb.scan(x, y, sample_weight=w, moments=list(FUNCTIONS), centre=0.25, **options)


def same(a, b):
    return all(np.array_equal(getattr(a, name), getattr(b, name), equal_nan=True) for name in FUNCTIONS)


# ---------------------------------------------------------------------------------------------- moments


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_moment_is_the_class_sum_of_its_function(name):
    x, y, w = shares()
    np.testing.assert_allclose(getattr(scan(x, y, w), name), sums_of(FUNCTIONS[name], x, y, w), rtol=1e-13)
    np.testing.assert_allclose(getattr(scan(x, y), name), sums_of(FUNCTIONS[name], x, y, np.ones(40)), rtol=1e-13)


@pytest.mark.parametrize("name", SPARSE)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_absent_values_count_as_zeros(name, dtype):
    x, y, w = shares(1, zeros=True)
    x = x.astype(dtype)
    dense, sparse = (getattr(scan(rows, y, w), name) for rows in (x, sp.csr_array(x)))
    assert np.array_equal(dense, sparse)
    np.testing.assert_allclose(dense, sums_of(FUNCTIONS[name], x.astype(float), y, w), rtol=1e-13)


@pytest.mark.parametrize("centre", [-2.5, 0.0, 1e8])
def test_deviations_are_exact_before_they_are_rounded(centre):
    """Also around a centre far from 0, though they are counted relative to a value that is absent."""
    rng = np.random.default_rng(2)
    x = centre + rng.normal(size=(60, 3)) * (rng.random((60, 3)) < 0.7)
    y, w = rng.integers(0, 2, 60), rng.random(60)
    ours = snb.scan(x, y, sample_weight=w, moments="deviation", centre=centre).deviation
    for k in (0, 1):
        for j in range(3):
            terms = (Fraction(w[i]) * abs(Fraction(x[i, j]) - Fraction(centre)) for i in np.flatnonzero(y == k))
            assert abs(ours[k, j] - float(sum(terms))) <= 2e-16 * abs(ours[k, j])


@given(st.data())
def test_moments_do_not_depend_on_chunks_or_threads(data):
    x, y, w = shares(data.draw(st.integers(0, 30)))
    whole, stops = scan(x, y, w), np.cumsum(data.draw(chunkings(len(y))))[:-1]
    make = data.draw(st.sampled_from([np.asarray, sp.csr_array]))
    parts = [tuple(part) for part in zip(*(np.split(values, stops) for values in (x, y, w)))]
    chunks = ((make(rows), *others) for rows, *others in parts)
    assert same(scan(chunks, None, n_threads=data.draw(st.integers(1, 3))), whole)
    merged = reduce(add, [scan(*part) for part in parts if len(part[0])])
    assert same(merged, whole)


def test_forgotten_rows_leave_no_trace():
    (x, y, w), (x2, y2, w2) = shares(3), shares(4)
    assert same(scan(x, y, w) + scan(x2, y2, w2) - scan(x2, y2, w2), scan(x, y, w))


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("name, bad", [("log_sum", 0.0), ("log_sum", -1.0), ("inv_sum", 0.0), ("log1m_sum", 1.0)])
def test_a_value_outside_the_domain_makes_its_own_sum_nan(name, bad, make):
    """Of that feature and class alone, whether a zero is stored or absent."""
    x, y, w = shares(5)
    x[7, 2] = bad
    expected = np.zeros((3, 5), bool)
    expected[y[7], 2] = True
    assert np.array_equal(np.isnan(getattr(scan(make(x), y, w), name)), expected)
    stored = sp.csr_array(np.where(x == 0, 1.0, x))
    stored.data[7 * 5 + 2] = bad
    assert np.array_equal(np.isnan(getattr(scan(stored, y, w), name)), expected)


def test_the_plain_moments_are_what_is_summed_unless_told():
    x, y, _ = shares()
    stats = snb.scan(x, y)
    assert set(stats.tables) == {"weight", *PLAIN_MOMENTS}
    for name in set(MOMENTS) - set(PLAIN_MOMENTS):
        with pytest.raises(ValueError, match=f"{name}.*moments"):
            getattr(stats, name)
    with pytest.raises(ValueError, match=r"'logsum' is unknown.*'log_sum'"):
        snb.scan(x, y, moments=["logsum"])


def test_the_centre_belongs_to_the_statistics(tmp_path):
    x, y, _ = shares()
    stats = scan(x, y)
    with pytest.raises(ValueError, match=r"centre=0\.25, the others with 0\.0"):
        stats + snb.scan(x, y, moments=list(FUNCTIONS))
    with pytest.raises(ValueError, match="centre=nan"):
        snb.scan(x, y, centre=np.nan)
    stats.save(tmp_path / "stats.snb")
    loaded = snb.ClassStats.load(tmp_path / "stats.snb")
    assert loaded.options == stats.options and same(loaded, stats)


# --------------------------------------------------------------------------------------------- families


FAMILIES = {
    "gamma": snb.Gamma(dispersion="ml"),
    "inverse gaussian": snb.InverseGaussian(dispersion="ml"),
    "laplace": snb.Laplace(-0.5),
    "chi-squared": snb.ChiSquared(),
}
each_family = pytest.mark.parametrize("family", [pytest.param(v, id=k) for k, v in FAMILIES.items()])


def draw(family, seed=0, n_rows=60, n_classes=3):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n_rows)
    size = rng.uniform(0.5, 4.0, (n_classes, 4))[y]
    if isinstance(family, snb.Laplace):
        x = family.centre + rng.laplace(0.0, size)
        return np.where(rng.random(x.shape) < 0.5, x, 0.0), y
    return rng.gamma(size), y


def log_density(family, x):
    """The log density of one feature under its most likely parameter, found numerically; Laplace and chi-squared."""

    def of(v):
        if isinstance(family, snb.Laplace):
            return stats.laplace(family.centre, np.exp(v))
        return stats.chi2(2.0 * np.exp(v))

    best = minimize_scalar(lambda v: -of(v).logpdf(x).sum(), bracket=(-0.5, 0.5), tol=1e-12).x
    return of(best).logpdf


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("family", [snb.Laplace(-0.5), snb.Laplace(2.0), snb.ChiSquared()], ids=repr)
def test_posterior_odds_are_those_of_the_densities(family, make):
    x, y = draw(family)
    model = snb.LinearNB(family, smoothing=0.0).fit(make(x), y)
    densities = [[log_density(family, x[y == k, j]) for j in range(4)] for k in range(3)]
    joint = [np.log(np.mean(y == k)) + sum(f(x[:, j]) for j, f in enumerate(densities[k])) for k in range(3)]
    np.testing.assert_allclose(model.predict_log_proba(make(x)), log_softmax(np.array(joint).T, axis=1), atol=1e-6)


@pytest.mark.parametrize("family", [snb.Gamma(dispersion="ml"), snb.InverseGaussian(dispersion="ml")], ids=repr)
def test_the_most_likely_dispersion_maximises_the_density(family):
    """Over all rows, with one dispersion a feature; posterior odds are those of the densities then."""
    x, y = draw(family)
    model = snb.LinearNB(family, smoothing=0.0).fit(x, y)
    means = np.array([x[y == k].mean(axis=0) for k in range(3)])
    joint = np.log(np.bincount(y) / len(y)) + np.zeros((len(y), 3))
    for j, column in enumerate(x.T):

        def logpdf(v, m, column=column):
            shape = np.exp(v)
            if isinstance(family, snb.Gamma):
                return stats.gamma.logpdf(column, shape, scale=m / shape)
            return stats.invgauss.logpdf(column, m / shape, scale=shape)

        best = minimize_scalar(lambda v, j=j: -logpdf(v, means[y, j]).sum(), bracket=(-0.5, 0.5), tol=1e-12).x
        joint += np.array([logpdf(best, m) for m in means[:, j]]).T
    np.testing.assert_allclose(model.predict_log_proba(x), log_softmax(joint, axis=1), atol=1e-6)


@given(st.floats(-12.0, 3.0))
def test_the_shape_of_gamma_solves_its_equation(exponent):
    """ln k - psi(k) = s, the left side by Binet's integral, for shapes from 1e-3 to 1e12."""
    s = 10.0**exponent
    k = 1.0 / float(snb.Gamma().most_likely(np.array([s]))[0])
    rest = quad(lambda t: 2.0 * t / ((t * t + k * k) * np.expm1(2.0 * np.pi * t)), 0.0, 6.0, points=[min(k, 1.0)])[0]
    np.testing.assert_allclose(0.5 / k + rest, s, rtol=1e-8)


@given(st.floats(-1e6, 200.0))
def test_inverse_digamma(value):
    """psi(x) = value to the rounding of x."""
    x = float(inverse_digamma(np.array([value]))[0])
    assert abs(digamma(x) - value) <= 1e-15 * (x * polygamma(1, x) + abs(value))


@each_family
def test_features_without_spread_get_the_floor_not_infinity(family):
    x, y = draw(family)
    x[:, 1] = 1.0 + (y == 2)
    model = snb.LinearNB(family).fit(x, y)
    assert np.isfinite(model.coef_).all() and np.isfinite(model.predict_proba(x)).all()


@pytest.mark.parametrize("family", [snb.Gamma(dispersion="ml"), snb.InverseGaussian(dispersion="ml")], ids=repr)
def test_dispersion_of_scaled_columns(family):
    """idf multiplies columns: the same model as of columns that were multiplied before."""
    x, y = draw(family)
    ours = family.dispersion(snb.scan(x, y, moments=family.moments), np.full(4, 3.0))
    theirs = family.dispersion(snb.scan(3.0 * x, y, moments=family.moments), None)
    np.testing.assert_allclose(ours, theirs, rtol=1e-10)


@pytest.mark.parametrize("scheme", ["joint", "ovr", "ovo", "reference"])
@pytest.mark.parametrize("penalty", [None, snb.L1(0.8, "score") + snb.L2(0.2), snb.TopK(2, "likelihood")], ids=repr)
@each_family
def test_saved_models_predict_as_before(family, penalty, scheme, tmp_path):
    x, y = draw(family)
    reference = 0 if scheme == "reference" else None
    model = snb.LinearNB(family, penalty, scheme=scheme, reference=reference).fit(x, y)
    margins = model.decision_function(x)
    for value, name in ((model, "estimator"), (model._model, "model")):
        value.save(tmp_path / name)
        assert np.array_equal(snb.load(tmp_path / name).decision_function(x), margins)
    assert np.array_equal(model.refit(penalty=penalty).decision_function(x), margins)
    assert np.isfinite(model.coef_).all()


def test_statistics_from_before_there_was_a_centre_load(tmp_path):
    """And models from when presence was the only function of x."""
    x, y = draw(snb.Laplace(0.0))
    stats_ = snb.scan(x, y, binarize=0.5)
    state = stats_.to_state()
    assert snb.ClassStats.from_state(state | {"options": state["options"][:3]}).options == stats_.options
    for family, binarize in (("bernoulli", 0.5), ("gaussian", None)):
        model = snb.solve(stats_, family)[0]
        state = model.to_state()
        del state["moments"]
        old = snb.LinearModel.from_state(state | {"binarize": binarize, "options": state["options"][:3]})
        assert np.array_equal(old.decision_function(x), model.decision_function(x))


def test_tau_for_and_paths_know_these_families():
    x, y = draw(snb.ChiSquared())
    stats_ = snb.scan(x, y, moments=["log_sum"])
    tau = snb.tau_for(stats_, "chi_squared", n_features=2)
    path = snb.solve(stats_, "chi_squared", snb.L1([tau, 1.001 * stats_.weight.max() * 10]))
    assert path.n_features.tolist() == [2, 0]


# ----------------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize("bad", [0.0, -2.0])
@pytest.mark.parametrize("family", [f for f in FAMILIES.values() if not isinstance(f, snb.Laplace)], ids=repr)
def test_values_without_a_logarithm_are_named(family, bad):
    """By row and column in a fit, also where they are absent; by feature and class from statistics."""
    x, y = draw(family)
    x[11, 2] = bad
    for rows in (x, sp.csr_array(x)):
        with pytest.raises(ValueError, match=r"(?s)row 11, column 2" if bad else r"0\.0 at row 11, column 2.*above 0"):
            snb.LinearNB(family).fit(rows, y)
    if not bad:
        with pytest.raises(ValueError, match=rf"above 0, but feature 2 has others in class {y[11]}.*NaN"):
            snb.solve(snb.scan(x, y, moments=family.moments), family)


def test_an_absent_value_among_later_rows_is_named():
    x, y = draw(snb.ChiSquared())
    model = snb.LinearNB("chi_squared").fit(x, y)
    x[30, 3] = x[41, 0] = 0.0
    for rows in (x, sp.csr_array(x)):
        with pytest.raises(ValueError, match=r"0\.0 at row 30, column 3.*above 0"):
            model.predict(rows)


def test_zeros_are_told_of_pearson():
    x, y = draw(snb.Gamma())
    x[3, 1] = 0.0
    with pytest.raises(ValueError, match="dispersion='pearson'"):
        snb.solve(snb.scan(x, y, moments=["sum", "log_sum"]), snb.Gamma(dispersion="ml"))
    with pytest.raises(ValueError, match=r"'moment' is unknown.*'ml'"):
        snb.Gamma(dispersion="moment")
    assert snb.LinearNB("gamma").fit(x, y).score(x, y) > 0.3


def test_the_centre_of_the_family_is_that_of_the_scan():
    x, y = draw(snb.Laplace())
    with pytest.raises(ValueError, match=r"centre=0; use scan\(\.\.\., centre=2\)"):
        snb.solve(snb.scan(x, y, moments="deviation"), snb.Laplace(2.0))
    model = snb.LinearNB(snb.Laplace(1.0)).fit(x, y)
    with pytest.raises(ValueError, match=r"centre=2\.0 is applied in the scan, which had 1\.0"):
        model.refit(family=snb.Laplace(2.0))
    ranking = snb.FeatureSelector("score", 2, family=snb.Laplace(1.0)).fit(x, y)
    assert ranking.get_support().sum() == 2


@pytest.mark.parametrize("family", ["laplace", "chi_squared"])
def test_idf_is_refused_where_x_itself_is_not_weighted(family):
    x, y = draw(snb.ChiSquared())
    with pytest.raises(ValueError, match="idf=True means nothing"):
        snb.LinearNB(family, idf=True).fit(x, y)


# ------------------------------------------------------------------------------- Dirichlet and beta


def shares_of_one(seed=0, n_rows=90, n_classes=3, size=4):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n_rows)
    alpha = rng.uniform(0.4, 6.0, (n_classes, size))
    return np.array([rng.dirichlet(alpha[k]) for k in y]), y


def most_likely(logs):
    """Parameters that maximise the Dirichlet density of rows with these means of ln x, numerically."""

    def loss(u):
        a = np.exp(u)
        return gammaln(a).sum() - gammaln(a.sum()) - ((a - 1.0) * logs).sum()

    def slope(u):
        a = np.exp(u)
        return a * (digamma(a) - digamma(a.sum()) - logs)

    return np.exp(minimize(loss, np.zeros(len(logs)), jac=slope, method="BFGS", options={"gtol": 1e-11}).x)


def group_means(family, x):
    """Means of each group of logs, (groups, size)."""
    if isinstance(family, snb.Beta):
        return np.stack([np.log(x).mean(axis=0), np.log1p(-x).mean(axis=0)], axis=1)
    return np.log(x).mean(axis=0)[None]


def log_densities(family, x, parameters):
    """Up to what depends on x alone."""
    if isinstance(family, snb.Beta):
        return sum(stats.beta.logpdf(x[:, j], *parameters[j]) for j in range(x.shape[1]))
    return np.array([stats.dirichlet.logpdf(row / row.sum(), parameters[0]) for row in x])


each_fitted = pytest.mark.parametrize("family", [snb.Dirichlet(), snb.Beta()], ids=repr)


@each_fitted
@pytest.mark.parametrize("smoothing", [0.0, 2.0])
@pytest.mark.parametrize(
    ("scheme", "n_classes"), [("joint", 3), ("joint", 2), ("ovr", 3), ("reference", 3), ("ovo", 3)]
)
def test_margins_are_those_of_the_most_likely_densities(family, smoothing, scheme, n_classes):
    x, y = shares_of_one(n_classes=n_classes)
    model = snb.LinearNB(family, scheme=scheme, reference=1 if scheme == "reference" else None, smoothing=smoothing)
    model.fit(x, y)
    everybody = group_means(family, x)

    def of(rows):
        n = len(rows)
        means = (n * group_means(family, rows) + smoothing * everybody) / (n + smoothing)
        density = log_densities(family, x, [most_likely(group) for group in means])
        return density + np.log(n / len(x))

    own = np.array([of(x[y == k]) for k in range(n_classes)]).T
    if n_classes == 2:
        np.testing.assert_allclose(model.decision_function(x), own[:, 1] - own[:, 0], atol=1e-5)
    elif scheme == "joint":
        np.testing.assert_allclose(model.predict_log_proba(x), log_softmax(own, axis=1), atol=1e-5)
    elif scheme == "ovr":
        rest = np.array([of(x[y != k]) for k in range(3)]).T
        np.testing.assert_allclose(model.decision_function(x), own - rest, atol=1e-5)
    elif scheme == "reference":
        np.testing.assert_allclose(model.decision_function(x), own - own[:, [1]], atol=1e-5)
    else:
        pairs = np.array([own[:, v] - own[:, u] for u, v in ((0, 1), (0, 2), (1, 2))]).T
        np.testing.assert_allclose(model._model.margins(*as_chunk(x)), pairs, atol=1e-5)


@given(st.integers(2, 40), st.integers(0, 1000), st.floats(-6.0, 6.0))
def test_dirichlet_parameters_solve_their_equations(size, seed, level):
    alpha = np.exp(np.random.default_rng(seed).normal(level, 1.5, (5, size)))
    means = digamma(alpha) - digamma(alpha.sum(axis=1, keepdims=True))
    found = dirichlet_parameters(means)
    again = digamma(found) - digamma(found.sum(axis=1, keepdims=True))
    np.testing.assert_allclose(again, means, rtol=1e-13, atol=1e-13)


@each_fitted
def test_fitted_families_save_slice_count_and_read_sparse_rows(family, tmp_path):
    x, y = shares_of_one(1)
    model = snb.LinearNB(family).fit(x, y)
    scores = model.decision_function(x)
    for value, name in ((model, "estimator"), (model._model, "model"), (model._model.sparsify(), "sparse")):
        value.save(tmp_path / name)
        np.testing.assert_allclose(snb.load(tmp_path / name).decision_function(x), scores, rtol=1e-12)
    np.testing.assert_allclose(model.predict_log_proba(sp.csr_array(x)), model.predict_log_proba(x), rtol=1e-10)
    assert (model._model.second is not None) == isinstance(family, snb.Beta)
    stats_ = snb.scan(x, y, moments=family.moments)
    path = snb.solve(stats_, family)
    assert path.n_features.tolist() == [4] and len(path) == 1
    for columns in (slice(None), slice(1, 3)):
        assert np.array_equal(path.weights(0, columns), model.coef_[:, columns])
    halves = snb.LinearNB(family).partial_fit(x[:40], y[:40]).partial_fit(x[40:], y[40:])
    assert np.array_equal(halves.coef_, model.coef_)


def test_fitted_families_stand_beside_others():
    """In a Mixed with a Gaussian column: scores are the sum, class priors once."""
    x, y = shares_of_one(2)
    x = np.column_stack([x[:, :2], np.random.default_rng(0).normal(y, 1.0), x[:, 2:], x[:, 0] * 0.9 + 0.05])
    columns = {snb.Dirichlet(): [0, 1, 3, 4], snb.Gaussian(): [2], snb.Beta(): [5]}
    model = snb.LinearNB(snb.Mixed(columns)).fit(x, y)
    parts = sum(snb.LinearNB(f).fit(x[:, c], y).decision_function(x[:, c]) for f, c in columns.items())
    priors = np.log(np.bincount(y) / len(y))
    np.testing.assert_allclose(model.decision_function(x), parts - 2.0 * priors, rtol=1e-10, atol=1e-10)
    listed = model._model.weights, model._model.second
    assert [np.flatnonzero(w.any(axis=1)).tolist() for w in listed] == [[0, 1, 2, 3, 4, 5], [5]]
    with pytest.raises(ValueError, match=r"Dirichlet\(\) are column 3 alone; a composition has two"):
        snb.LinearNB(snb.Mixed({"dirichlet": [3], "gaussian": ...})).fit(x, y)


def test_a_class_that_was_listed_but_never_seen():
    x, y = shares_of_one(3)
    for family in (snb.Dirichlet(), snb.Beta()):
        with pytest.warns(snb.StreamnbWarning, match="without any weight"):
            model = snb.LinearNB(family).fit(x, y, classes=range(4))
        assert not model.coef_[3].any() and np.isneginf(model.intercept_[3])
        assert np.isfinite(model.coef_).all() and model.predict(x).max() < 3


@each_fitted
def test_penalties_of_fitted_families_are_refused(family):
    x, y = shares_of_one(4)
    stats_ = snb.scan(x, y, moments=family.moments)
    mixed = snb.Mixed({family: [0, 1], "chi_squared": ...})
    for penalty in (snb.L1(1.0), snb.L2(1.0), snb.TopK(1), snb.L1()):
        for one in (family, mixed):
            with pytest.raises(ValueError, match=rf"penalty=.*not defined for family='{family.name}'.*None"):
                snb.solve(stats_, one, penalty)
    with pytest.raises(ValueError, match="not defined"):
        snb.tau_for(stats_, family, n_features=1)
    with pytest.raises(ValueError, match=r"not defined.*LinearNBCV"):
        snb.LinearNBCV(family, folds=2).fit(x, y)
    with pytest.raises(ValueError, match=r"no breakpoints"):
        snb.rank_features(stats_, by="score", family=family)


@each_fitted
def test_rows_without_a_most_likely_density_are_explained(family):
    x, y = shares_of_one(5)
    alone = np.where(np.arange(90) == 7, 3, y)
    with pytest.raises(ValueError, match=r"no most likely parameters.*smoothing > 0"):
        snb.LinearNB(family, smoothing=0.0).fit(x, alone)
    assert np.isfinite(snb.LinearNB(family, smoothing=0.5).fit(x, alone).coef_).all()
    with pytest.raises(ValueError, match=r"0\.0 at row 3, column 1.*above 0"):
        x0 = x.copy()
        x0[3, 1] = 0.0
        snb.LinearNB(family).fit(sp.csr_array(x0), y)
    if isinstance(family, snb.Dirichlet):
        with pytest.raises(ValueError, match=r"its columns of a row should sum to 1"):
            snb.LinearNB(family).fit(3.0 * x, y)
        scaled = snb.LinearNB(family, normalize="l1").fit(3.0 * x, y)
        np.testing.assert_allclose(scaled.coef_, snb.LinearNB(family).fit(x, y).coef_, rtol=1e-8)


def test_beta_takes_values_below_one():
    x, y = shares_of_one(6)
    model = snb.LinearNB("beta").fit(x, y)
    x[13, 2] = 1.0
    for use in (lambda: snb.LinearNB("beta").fit(x, y), lambda: model.predict(x)):
        with pytest.raises(ValueError, match=r"1\.0 at row 13, column 2.*below 1"):
            use()
    with pytest.raises(ValueError, match=r"below 1, but feature 2 has others in class .*log1m_sum is NaN"):
        snb.solve(snb.scan(x, y, moments=["log_sum", "log1m_sum"]), "beta")


@pytest.mark.process
def test_a_fresh_process_loads_every_family(tmp_path):
    x, y = shares_of_one(7)
    families = [*FAMILIES.values(), snb.Beta(), snb.Dirichlet(), snb.Mixed({"beta": [0], "gamma": ...})]
    for i, family in enumerate(families):
        snb.LinearNB(family).fit(x, y).save(tmp_path / str(i))
    code = "import sys, streamnb as snb\nfor path in sys.argv[1:]: print(snb.load(path).family)"
    paths = [str(tmp_path / str(i)) for i in range(len(families))]
    out = subprocess.run([sys.executable, "-c", code, *paths], capture_output=True, text=True, check=True).stdout
    assert out.splitlines() == [repr(family) for family in families]
