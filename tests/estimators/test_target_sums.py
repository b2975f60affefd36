"""Sums of features and targets: what NumPy sums, and what is left where folds are taken away."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LinearRegression, Ridge

import streamnb as snb
from streamnb.encoding.opening import opened
from streamnb.estimators.target_sums import System, TargetScan
from streamnb.passes.contract import RunOptions
from streamnb.passes.passes import StatisticTask
from streamnb.passes.run import run
from tests.support.strd import SETS, digits

rng = np.random.default_rng(0)
X, Y, W = rng.normal(size=(90, 4)), rng.normal(size=(90, 2)), rng.uniform(0.5, 2.0, 90)


def summed(X=X, y=Y, w=W, **options):
    scan = StatisticTask(TargetScan.asked(**options))
    return run(scan, opened(X, y, w, labelled="targets"), RunOptions(n_threads=2))[0].sums


def test_sums_of_other_targets_do_not_add_up():
    with pytest.raises(ValueError, match="these sums have 2 targets, the others 1"):
        summed() + summed(y=Y[:, 0])
    with pytest.raises(ValueError, match="y has 1 columns, and 2 in the rows before"):
        summed(iter([(X[:50], Y[:50]), (X[50:], Y[50:, 0])]), None, None)


def test_too_many_columns_are_refused_with_the_number_that_fits():
    with pytest.raises(MemoryError, match=r"sums of products of 5,001 columns, y among them, need .* enough for 111"):
        summed(sp.csr_array((90, 5000)), memory_limit=100_000)


def fitted(system, strength):
    coefficients = system.coefficients(system.ridge(strength, "x{}".format))
    return coefficients, system.intercepts(coefficients)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("strength", [0.0, 0.3, 1e6])
def test_weights_are_those_of_scikit_learn(strength, intercept):
    theirs = Ridge(strength, fit_intercept=intercept, solver="svd").fit(X + 5.0, Y, W)
    coefficients, intercepts = fitted(System(summed(X + 5.0), intercept), strength)
    np.testing.assert_allclose(coefficients.T, theirs.coef_, rtol=1e-10)
    np.testing.assert_allclose(intercepts, theirs.intercept_ if intercept else [0.0, 0.0], rtol=1e-10)


@given(st.floats(-1e6, 1e6))
def test_shifts_of_columns_change_the_intercept_alone(shift):
    before, after = (fitted(System(summed(X + s, exact=True)), 0.5) for s in (0.0, shift))
    np.testing.assert_allclose(after[0], before[0], rtol=1e-7, atol=1e-9)


def test_columns_that_do_not_vary_have_no_weight():
    wide = np.hstack([X, np.full((len(X), 1), 3.7), np.zeros((len(X), 1))])
    coefficients, _ = fitted(System(summed(wide)), 0.0)
    assert coefficients[4:].tolist() == [[0.0, 0.0], [0.0, 0.0]]
    np.testing.assert_allclose(coefficients[:4], fitted(System(summed()), 0.0)[0], rtol=1e-10)


@pytest.mark.parametrize("exact", [True, False])
def test_dependent_columns_are_named(exact):
    system = System(summed(np.hstack([X, X[:, :1] + 2.0 * X[:, 1:2]]), exact=exact))
    with pytest.raises(ValueError, match=r"alpha=0 leaves the weights undetermined: \['x[014]'\] depend on other"):
        system.ridge(0.0, "x{}".format)
    assert np.isfinite(system.ridge(0.1, "x{}".format)).all()


def test_nearly_dependent_columns_are_warned_of_unless_sums_are_exact(recwarn):
    near = np.hstack([X, X[:, :1] + 1e-6 * X[:, 1:2] + 1e-6 * X[:, 2:3] ** 2])
    ours, _ = fitted(System(summed(near, exact=True)), 0.0)
    assert not recwarn
    theirs = LinearRegression(tol=1e-15).fit(near, Y, W)  # by singular values of the rows themselves
    np.testing.assert_allclose(ours.T, theirs.coef_, rtol=1e-5)
    with pytest.warns(snb.StreamnbWarning, match="fewer than 6 digits of the weights right: exact=True"):
        System(summed(near)).ridge(0.0, "x{}".format)


def test_condition_number_is_that_of_scaled_columns():
    centred = X - np.average(X, axis=0, weights=W)
    rows = np.sqrt(W)[:, None] * centred
    wanted = np.linalg.cond(rows / np.linalg.norm(rows, axis=0))
    assert System(summed()).condition_number == pytest.approx(wanted, rel=1e-10)


@pytest.mark.parametrize("name", SETS)
def test_certified_weights(name):
    rows, y, certified = SETS[name]
    found, _ = fitted(System(summed(rows, y, None, exact=True)), 0.0)
    assert digits(found[:, 0], certified) > {"longley": 13.5, "filip": 7.0}.get(name, 12.0)
    assert digits(found[:, 0], certified) >= digits(LinearRegression().fit(rows, y).coef_, certified)
