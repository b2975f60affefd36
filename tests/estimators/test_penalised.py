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
