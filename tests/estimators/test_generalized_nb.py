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
SETS = np.column_stack([Y == "ash", X[:, 0] > 0.5]).astype(int)


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


def test_of_a_column_that_stands_twice_half_is_taken_from_each():
    y = X[:, 0] + rng.normal(size=N) > 0.5
    twice = snb.GeneralizedNB(1e-6, 4, smoothing=1e-9, tol=1e-8, max_passes=300).fit(X[:, [0, 0]], y)
    bayes = snb.GeneralizedNB(1e12, 4, smoothing=1e-9).fit(X[:, [0, 0]], y)
    g, corrections = bayes.coef_[0], (twice.coef_ - bayes.coef_)[0]
    np.testing.assert_allclose(corrections, -(g - g.reshape(2, 4).mean(axis=1).repeat(4)) / 2, atol=1e-4)


def test_labels_and_weights():
    weight = np.arange(N) % 3
    labels = snb.GeneralizedNB(1e12, snb.Bins(4)).fit(X, SETS, weight)
    for k in range(2):
        alone = CategoricalNB().fit(bins_of(labels), SETS[:, k], weight)
        np.testing.assert_allclose(labels.predict_proba(X)[:, k], alone.predict_proba(bins_of(labels))[:, 1], atol=1e-9)
    model = snb.GeneralizedNB(0.1, 4, max_passes=200).fit(X, Y, weight)
    assert model.column_names_[0].startswith("x0 in (-inf, ") and len(model.column_names_) == 8


@pytest.mark.parametrize(
    ("options", "words"),
    [({"bins": 1}, "bins=1"), ({"smoothing": 0.0}, r"smoothing=0\.0 should be above 0: at 0 a bin without rows")],
)
def test_what_is_wrong_is_said(options, words):
    with pytest.raises(ValueError, match=words):
        snb.GeneralizedNB(**options).fit(X, Y)


def test_reads_that_are_spent_are_said():
    with pytest.warns(snb.StreamnbWarning, match="max_passes=2 reads were not enough"):
        snb.GeneralizedNB(0.01, 4, max_passes=2, tol=1e-9).fit(X, Y)
