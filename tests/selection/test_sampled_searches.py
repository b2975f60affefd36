"""Relief-F beside its definition, row by row, and where criteria see nothing; features of scikit-learn's trees."""

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

import streamnb as snb
from streamnb.selection import features

rng = np.random.default_rng(1)
BITS = rng.integers(0, 2, (200, 6))
XOR = BITS[:, 0] ^ BITS[:, 1]


def naive(x, codes, prior, n_neighbors):
    """Kononenko 1994, for all rows."""
    near, found = (x - x.min(axis=0)) / np.maximum(np.ptp(x, axis=0), 1e-300), np.zeros(x.shape[1])
    for i, row in enumerate(near):
        for k in range(len(prior)):
            others = [j for j in np.flatnonzero(codes == k) if j != i]
            others.sort(key=lambda j: np.abs(near[j] - row).sum())
            apart = np.mean([np.abs(near[j] - row) for j in others[:n_neighbors]], axis=0)
            found += apart * (-1.0 if k == codes[i] else prior[k] / (1.0 - prior[codes[i]]))
    return found / len(x)


@pytest.mark.parametrize("at_once", [1, 1 << 20])
def test_it_is_what_the_definition_says(at_once, monkeypatch):
    monkeypatch.setattr(features, "AT_ONCE", at_once)
    codes = rng.integers(0, 3, 60)
    x = rng.normal(size=(60, 4)) + codes[:, None] * [0, 1, 0, 0]
    x[:, 3] = 2.0  # constant
    stats = snb.scan(x, codes)
    sample = snb.sample_rows(x, codes, stats, rows=None)
    ranked = snb.rank_features(stats, snb.ReliefF(n_neighbors=4), sample=sample)
    expected = naive(sample.X, sample.codes, stats.weight / 60, 4)
    np.testing.assert_allclose(ranked.scores, expected, atol=1e-12)
    assert ranked.ranking[0] == 1 and ranked.scores[3] == 0.0 and ranked.chosen is None


def test_some_candidates_rare_classes_and_any_blocks():
    y = np.where(np.arange(200) < 3, 2, XOR)
    search = snb.ReliefF(rows=20, candidates=3)
    whole = snb.FeatureSelector(search, 2).fit(BITS, y)
    cut = snb.FeatureSelector(search, 2).fit(lambda: ((BITS[i : i + 9], y[i : i + 9]) for i in range(0, 200, 9)))
    np.testing.assert_array_equal(whole.scores_, cut.scores_)
    assert np.count_nonzero(whole.scores_ == features.UNSEEN) == 3
    alone = snb.FeatureSelector("relief", 1).fit(BITS, np.where(np.arange(200) < 1, 2, XOR))  # a class of one row
    assert np.isfinite(alone.scores_).all()


def test_what_is_wrong_is_named():
    for wrong in ({"rows": 0}, {"n_neighbors": 0}, {"candidates": 0}, {"seed": -1}):
        with pytest.raises(ValueError, match=f"{next(iter(wrong))}="):
            snb.ReliefF(**wrong)
    with pytest.raises(ValueError, match="by='relief' looks at a sample of rows"):
        snb.rank_features(snb.scan(BITS, XOR), "relief")
    with pytest.raises(ValueError, match="k='auto'"):
        snb.FeatureSelector("relief", "auto").fit(BITS, XOR)


# ---- trees -----------------------------------------------------------------------------------------------------------

Y = rng.integers(0, 3, 300)
X = rng.poisson(1.0 + 2.0 * (Y[:, None] == np.arange(9) // 2)).astype(float)
SEARCH = snb.TreeFeatures(n_trees=3, depth=2, rows=20)


def test_features_are_those_of_the_trees():
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


def test_few_rows_and_candidates_are_enough():
    few = snb.FeatureSelector(snb.TreeFeatures(rows=20, candidates=2), "auto").fit(X, Y)
    assert len(few.chosen_) == 2


def test_more_trees_than_rows_and_wrong_parameters():
    assert snb.FeatureSelector(snb.TreeFeatures(n_trees=9), 2).fit(X[:5], [0, 1, 0, 1, 0]).get_support().sum() >= 0
    for wrong in ({"n_trees": 0}, {"depth": 0}, {"rows": 0}, {"candidates": 0}, {"seed": -1}, {"seed": 2**32}):
        with pytest.raises(ValueError, match=f"{next(iter(wrong))}="):
            snb.TreeFeatures(**wrong)
    with pytest.raises(ValueError, match="by='trees' looks at a sample of rows"):
        snb.rank_features(snb.scan(X, Y), "trees")
