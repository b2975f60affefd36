"""Scores of trees against probabilities row by row, penalties against the model of each context by itself."""

import numpy as np
import pytest
from scipy.special import betaln, gammaln
from scipy.stats import chi2

import streamnb as snb
from streamnb.models.tree import TreeColumns
from streamnb.solving.trees import TreeCounts
from tests.support.naive_tree import NaiveTree

rng = np.random.default_rng(2)
X = rng.integers(0, 3, (80, 4))
X[:, 3] = (X[:, 1] > 0) ^ (rng.random(80) < 0.2)
THREE = np.array(["ash", "birch", "cedar"])[rng.integers(0, 3, 80)]
X[THREE == "ash", 0] = 0
WEIGHT = rng.choice([0.5, 1.0, 3.0], 80)
PRESENT = (rng.random((120, 4)) < 0.5).astype(int)  # both values of each feature in each class
PRESENT[:, 2] ^= PRESENT[:, 0] & PRESENT[:, 1]
GROUPS = np.array(["ash", "birch", "cedar"])[(PRESENT.sum(axis=1) + rng.integers(0, 3, 120)) % 3]


@pytest.mark.parametrize("level", [None, 0.05])
@pytest.mark.parametrize("y", [THREE, THREE == "ash"], ids=["three", "two"])
def test_probabilities_are_those_of_the_definition(y, level):
    given = {"smoothing": 0.5, "strength": 3.0, "significance_level": level}
    known = {"smoothing": 0.5, "strength": 3.0, "bound": None if level is None else chi2.isf(level, np.arange(20))}
    trees = []
    for naive, model in (
        (NaiveTree(X > 0, y, WEIGHT, **known), snb.TreeNB(**given)),
        (NaiveTree(X, y, WEIGHT, [3, 3, 3, 2], **known), snb.TreeNB(family="categorical", **given)),
        (NaiveTree(X, y, WEIGHT, [3, 3, 3, 2], **known), snb.TreeNB(transform=snb.Bins(4), **given)),
    ):
        model.fit(X, y, WEIGHT)
        assert model.parents_.tolist() == naive.parent
        trees.append(naive.parent.count(-1))
        present = X > 0 if model.family == "bernoulli" and model.get_params()["transform"] is None else X
        expected = [naive.probabilities(row) for row in present[:20]]
        np.testing.assert_allclose(model.predict_proba(X[:20]), expected, atol=1e-12)
    assert trees == ([1, 1, 1] if level is None else [3, 1, 1])


@pytest.mark.parametrize("y", [GROUPS, GROUPS == "ash"], ids=["three", "two"])
@pytest.mark.parametrize(
    "penalty", [snb.L1(0.8), snb.L1(0.5, scale="score") + snb.L2(0.3), snb.Separable(lambda w: -w, 0.7)], ids=str
)
def test_a_penalty_acts_on_each_feature_where_its_parent_is_absent_and_where_it_is_present(y, penalty):
    model = snb.TreeNB(penalty, strength=4.0).fit(PRESENT, y)
    present, parents, n = PRESENT, model.parents_, 4
    share = np.exp(snb.BernoulliNB().fit(present, y).feature_log_prob_)
    products = {name: row for name, row in zip(model.column_names_[n:], model.coef_.T[n:], strict=True)}
    added = np.zeros((4, len(model.intercept_)))  # to the weight of a parent
    mains = {}
    for j, q in enumerate(parents):
        if q < 0:
            mains[j] = snb.LinearNB("bernoulli", penalty).fit(present[:, [j]], y).coef_[:, 0]
            continue
        prior = snb.BetaPrior(4.0 * share[:, [j]], 4.0 * (1.0 - share[:, [j]]))
        apart = []
        for value in (0, 1):
            rows = present[:, q] == value
            of_context = snb.LinearNB("bernoulli", penalty, smoothing=prior, priors="uniform")
            of_context.fit(present[rows][:, [j]], y[rows])
            apart.append((of_context.coef_[:, 0], of_context.intercept_))
        mains[j] = apart[0][0]
        np.testing.assert_allclose(products[f"x{j} & x{q}"], apart[1][0] - apart[0][0], atol=1e-9)
        added[q] += apart[1][1] - apart[0][1]
    for j in range(n):
        np.testing.assert_allclose(model.coef_[:, j], mains[j] + added[j], atol=1e-9)


def test_top_k_keeps_so_many_contexts():
    full = snb.TreeNB(significance_level=None).fit(X, THREE)
    np.testing.assert_allclose(full.refit(penalty=snb.TopK(7)).coef_, full.coef_, atol=1e-12)
    nothing = snb.TreeNB(snb.TopK({"ash": 0, "birch": 0, "cedar": 1})).fit(X, THREE)
    assert not nothing.coef_[:2].any() and nothing.coef_[2].any()
    with pytest.raises(ValueError, match="keeps more features than the 7 there are"):
        full.refit(penalty=snb.TopK(8))


def test_evidence_is_that_of_dirichlet_priors():
    stats = snb.scan((X > 0) * 1, THREE, moments=["gram_above"])
    columns = TreeColumns(np.arange(5), np.array([-1, 0, 0, 1]), False)
    counts, expected = TreeCounts.of(stats, columns, 1.0), 0.0
    for label in stats.classes:
        rows = (X > 0)[label == THREE]
        for j, q in ((1, 0), (2, 0), (3, 1)):
            share = (rows[:, j].sum() + 1.0) / (len(rows) + 2.0)
            for value in (False, True):
                some = rows[rows[:, q] == value, j]
                a, b = 7.0 * share, 7.0 * (1.0 - share)
                expected += betaln(a + some.sum(), b + (~some).sum()) - betaln(a, b)
    assert counts.log_evidence(7.0) == pytest.approx(expected)
    one_hot = (X[:, :, None] == np.arange(3)).reshape(80, 12).astype(np.uint8)
    columns = TreeColumns(np.arange(0, 13, 3), np.array([-1, 0, 0, 1]), True)
    counts, expected = TreeCounts.of(snb.scan(one_hot, THREE, moments=["gram_above"]), columns, 1.0), 0.0
    for label in np.unique(THREE):
        rows = X[label == THREE]
        for j, q in ((1, 0), (2, 0), (3, 1)):
            prior = 7.0 * (np.bincount(rows[:, j], minlength=3) + 1.0) / (len(rows) + 3.0)
            for value in range(3):
                cells = np.bincount(rows[rows[:, q] == value, j], minlength=3)
                expected += gammaln(7.0) - gammaln(7.0 + cells.sum()) + (gammaln(prior + cells) - gammaln(prior)).sum()
    assert counts.log_evidence(7.0) == pytest.approx(expected)
    alike = np.column_stack([PRESENT[:, 0], PRESENT[:, 0] ^ (rng.random(120) < 0.1)])
    columns = TreeColumns(np.arange(3), np.array([-1, 0]), False)
    counts = TreeCounts.of(snb.scan(alike, GROUPS, moments=["gram_above"]), columns, 1.0)
    best = counts.strength("evidence")
    assert counts.log_evidence(best) >= max(counts.log_evidence(best * factor) for factor in (0.5, 0.9, 1.1, 2.0))
