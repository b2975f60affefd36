"""Features of the first levels of trees: those of scikit-learn's trees on the same rows, united."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.tree import DecisionTreeClassifier

import streamnb as snb

rng = np.random.default_rng(0)
Y = rng.integers(0, 3, 300)
X = rng.poisson(1.0 + 2.0 * (Y[:, None] == np.arange(9) // 2)).astype(float)
SEARCH = snb.TreeFeatures(n_trees=3, depth=2, rows=20)


def test_they_are_those_of_the_trees():
    stats = snb.scan(X, Y)
    sample = snb.sample_rows(X, Y, stats, rows=60)
    ranked = snb.rank_features(stats, SEARCH, sample=sample)
    used, scores, weight = set(), np.zeros(9), sample.shares(stats)
    for number in range(3):
        rows = np.concatenate([np.flatnonzero(sample.codes == k)[number::3] for k in range(3)])
        rows.sort()
        tree = DecisionTreeClassifier(criterion="entropy", max_depth=2, random_state=0)
        tree.fit(sample.X[rows], sample.codes[rows], weight[rows])
        used |= {*tree.tree_.feature[tree.tree_.feature >= 0].tolist()}
        scores += tree.feature_importances_ / 3
    assert {*ranked.chosen.tolist()} == used and 3 <= len(used) < 9
    np.testing.assert_allclose(ranked.scores, scores)
    assert (np.diff(ranked.scores[ranked.chosen]) <= 0.0).all()


def test_any_rows_and_blocks_lead_to_the_same():
    whole = snb.FeatureSelector(SEARCH, "auto").fit(X, Y)
    cut = snb.FeatureSelector(SEARCH, "auto").fit(lambda: ((X[i : i + 7], Y[i : i + 7]) for i in range(0, 300, 7)))
    sparse = snb.FeatureSelector(SEARCH, "auto").fit(sp.csr_array(X), Y)
    for other in (cut, sparse):
        np.testing.assert_array_equal(other.ranking_, whole.ranking_)
    few = snb.FeatureSelector(snb.TreeFeatures(rows=20, candidates=2), "auto").fit(X, Y)
    assert len(few.chosen_) == 2


def test_more_trees_than_rows_and_what_is_wrong():
    assert snb.FeatureSelector(snb.TreeFeatures(n_trees=9), 2).fit(X[:5], [0, 1, 0, 1, 0]).get_support().sum() >= 0
    for wrong in ({"n_trees": 0}, {"depth": 0}, {"rows": 0}, {"candidates": 0}, {"seed": -1}, {"seed": 2**32}):
        with pytest.raises(ValueError, match=f"{next(iter(wrong))}="):
            snb.TreeFeatures(**wrong)
    with pytest.raises(ValueError, match="by='trees' looks at a sample of rows"):
        snb.rank_features(snb.scan(X, Y), "trees")
