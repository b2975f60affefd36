"""GeneralizedNB by its limits: naive Bayes, additive logistic regression, and a column that stands twice."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import CategoricalNB

import streamnb as snb

rng = np.random.default_rng(0)
N = 120
Y = np.array(["ash", "birch", "cedar"])[np.arange(N) % 3]
X = rng.normal(size=(N, 2)) + np.column_stack([Y == "birch", Y == "cedar"]) * 1.5


def bins_of(model):
    return np.column_stack([np.searchsorted(edges, x) for edges, x in zip(model._step.edges, X.T, strict=True)])


@pytest.mark.parametrize("two", [False, True])
def test_with_a_large_l2_it_is_naive_bayes(two):
    y = Y == "ash" if two else Y
    model = snb.GeneralizedNB(1e12, 4, smoothing=0.5).fit(X, y)
    bayes = CategoricalNB(alpha=0.5).fit(bins_of(model), y)
    np.testing.assert_allclose(model.predict_proba(X), bayes.predict_proba(bins_of(model)), atol=1e-9)


@pytest.mark.parametrize("two", [False, True])
def test_with_a_small_l2_it_is_additive_logistic_regression(two):
    y = Y == "ash" if two else Y
    model = snb.GeneralizedNB(1e-5, 3, tol=1e-7, max_passes=300).fit(X, y)
    indicators = np.concatenate([bins[:, None] == np.arange(3) for bins in bins_of(model).T], axis=1)
    theirs = LogisticRegression(C=1e5, tol=1e-9, max_iter=10_000).fit(indicators, y)
    np.testing.assert_allclose(model.predict_proba(X), theirs.predict_proba(indicators), atol=1e-3)
