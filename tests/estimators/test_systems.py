"""Normal equations: plain and ridge weights against scikit-learn, and against certified weights of hard sets."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LinearRegression, Ridge

import streamnb as snb
from streamnb.estimators.target_sums import System
from tests.estimators.test_target_sums import W, X, Y, summed
from tests.support.strd import SETS, digits


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


def test_standardised_columns_have_weights_that_units_do_not_change():
    units = np.array([1.0, 1e3, 1e-4, 7.0])
    ours, theirs = (fitted(System(summed(X * u), standardize=True), 5.0)[0] for u in (1.0, units))
    np.testing.assert_allclose(theirs * units[:, None], ours, rtol=1e-9)
    scaled = (X - np.average(X, axis=0, weights=W)) / np.sqrt(np.cov(X.T, aweights=W, ddof=0).diagonal())
    np.testing.assert_allclose(ours, fitted(System(summed(scaled)), 5.0)[0] / X.std(axis=0)[:, None], rtol=0.2)


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


def test_squared_errors_of_any_weights_are_those_of_the_rows():
    coefficients, intercepts = np.array([[1.0, 0.0], [0.5, -1.0], [0.0, 2.0], [3.0, 0.1]]), np.array([100.0, -3.0])
    wanted = W @ (Y - X @ coefficients - intercepts) ** 2
    np.testing.assert_allclose(System(summed()).squared_errors(coefficients, intercepts), wanted, rtol=1e-12)


@pytest.mark.parametrize("name", SETS)
def test_certified_weights(name):
    rows, y, certified = SETS[name]
    found, _ = fitted(System(summed(rows, y, None, exact=True)), 0.0)
    assert digits(found[:, 0], certified) > {"longley": 13.5, "filip": 7.0}.get(name, 12.0)
    assert digits(found[:, 0], certified) >= digits(LinearRegression().fit(rows, y).coef_, certified)
