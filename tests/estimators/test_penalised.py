"""Ridge, Lasso and ElasticNet beside scikit-learn's."""

import numpy as np
import pytest
from sklearn import linear_model

import streamnb as snb
from tests.estimators.test_regressor import W, X, Y

PAIRS = {
    "ridge": (snb.Ridge(2.0), linear_model.Ridge(2.0)),
    "plain": (snb.Ridge(0.0), linear_model.LinearRegression()),
    "lasso": (snb.Lasso(0.2), linear_model.Lasso(0.2, tol=1e-14)),
    "elastic net": (snb.ElasticNet(0.3, l1_ratio=0.4), linear_model.ElasticNet(0.3, l1_ratio=0.4, tol=1e-14)),
    "no share of L1": (snb.ElasticNet(0.3, l1_ratio=0.0), linear_model.Ridge(0.3 * W.sum())),
}


@pytest.mark.parametrize("name", PAIRS)
def test_objectives_are_those_of_scikit_learn(name):
    ours, theirs = (model.fit(X, Y, W) for model in PAIRS[name])
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-9)
    assert ours.intercept_ == pytest.approx(theirs.intercept_, rel=1e-9)


def test_each_target_has_its_own_lasso():
    both = snb.Lasso(0.2).fit(X, np.column_stack([Y, X[:, 0] - Y]))
    assert both.coef_[0].tolist() == snb.Lasso(0.2).fit(X, Y).coef_.tolist()
    assert both.n_iter_.shape == (2,)


def test_weights_at_zero_alpha_are_plain_ones():
    np.testing.assert_allclose(snb.Lasso(0.0).fit(X, Y).coef_, snb.Ridge(0.0).fit(X, Y).coef_, rtol=1e-12)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (snb.Ridge("strong"), "alpha='strong' should be a number of at least 0, or 'evidence'"),
        (snb.Ridge(np.nan), "alpha=nan should be finite"),
        (snb.Ridge(solver="svd"), "solver='svd'"),
        (snb.Ridge(exact="yes"), "exact='yes'"),
        (snb.Lasso(-0.1), "alpha=-0.1 should be finite and at least 0"),
        (snb.ElasticNet(l1_ratio=[0.1, 0.9]), "l1_ratio=.* should be one number; ElasticNetCV chooses"),
        (snb.ElasticNet(l1_ratio=2.0), "l1_ratio=2.0 should be from 0"),
        (snb.Ridge(standardize="yes"), "standardize='yes'"),
    ],
)
def test_wrong_parameters_are_named(model, message):
    with pytest.raises((ValueError, TypeError), match=message):
        model.fit(X, Y)


def test_without_an_intercept_columns_are_divided_by_their_standard_deviations_too():
    rng = np.random.default_rng(0)
    columns = np.column_stack([5.0 + rng.choice([-1.0, 1.0], 200), 3.0 * rng.normal(size=200), np.full(200, 2.0)])
    target = columns @ [1.0, 1.0, 3.0] + rng.normal(size=200)
    scale = np.append(columns[:, :2].std(axis=0), 1.0)  # a column that does not vary is left as it is
    for ours, theirs in (
        (snb.Ridge(10.0, fit_intercept=False, standardize=True), linear_model.Ridge(10.0, fit_intercept=False)),
        (
            snb.ElasticNet(0.1, fit_intercept=False, standardize=True),
            linear_model.ElasticNet(0.1, fit_intercept=False, tol=1e-13, max_iter=100_000),
        ),
    ):
        expected = theirs.fit(columns / scale, target).coef_ / scale
        np.testing.assert_allclose(ours.fit(columns, target).coef_, expected, rtol=1e-6)
