"""Dirichlet and beta, whose parameters are fitted: against numerical maximisation, in use, and their errors."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.optimize import minimize
from scipy.special import digamma, gammaln, log_softmax

import streamnb as snb
from streamnb.problem.families import dirichlet_parameters
from streamnb.rows.boundary import as_chunk
from tests.support.problems import compositions


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
    x, y = compositions(n_classes=n_classes)
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
    x, y = compositions(1)
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
    x, y = compositions(2)
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
    x, y = compositions(3)
    for family in (snb.Dirichlet(), snb.Beta()):
        with pytest.warns(snb.StreamnbWarning, match="without any weight"):
            model = snb.LinearNB(family).fit(x, y, classes=range(4))
        assert not model.coef_[3].any() and np.isneginf(model.intercept_[3])
        assert np.isfinite(model.coef_).all() and model.predict(x).max() < 3


@each_fitted
def test_penalties_of_fitted_families_are_refused(family):
    x, y = compositions(4)
    stats_ = snb.scan(x, y, moments=family.moments)
    for one in (family, snb.Mixed({family: [0, 1], "chi_squared": ...})):
        with pytest.raises(ValueError, match=rf"penalty=.*not defined for family='{family.name}'.*None"):
            snb.solve(stats_, one, snb.L1())
    with pytest.raises(ValueError, match="not defined"):
        snb.tau_for(stats_, family, n_features=1)
    with pytest.raises(ValueError, match=r"not defined.*LinearNBCV"):
        snb.LinearNBCV(family, folds=2).fit(x, y)
    with pytest.raises(ValueError, match=r"no breakpoints"):
        snb.rank_features(stats_, by="score", family=family)


@each_fitted
def test_rows_without_a_most_likely_density_are_explained(family):
    x, y = compositions(5)
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
    x, y = compositions(6)
    model = snb.LinearNB("beta").fit(x, y)
    x[13, 2] = 1.0
    for use in (lambda: snb.LinearNB("beta").fit(x, y), lambda: model.predict(x)):
        with pytest.raises(ValueError, match=r"1\.0 at row 13, column 2.*below 1"):
            use()
    with pytest.raises(ValueError, match=r"below 1, but feature 2 has others in class .*log1m_sum is NaN"):
        snb.solve(snb.scan(x, y, moments=["log_sum", "log1m_sum"]), "beta")
