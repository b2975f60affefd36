"""Searches that judge subsets: beside scikit-learn's, which fits every model, and beside all subsets there are."""

from itertools import combinations

import numpy as np
import pytest
from sklearn.feature_selection import SequentialFeatureSelector
from sklearn.model_selection import PredefinedSplit, cross_val_score
from sklearn.naive_bayes import BernoulliNB, MultinomialNB

import streamnb as snb
from streamnb.selection import wrappers

N, FOLDS = 150, 3
rng = np.random.default_rng(2)
Y = np.array(["ash", "b", "c"])[rng.integers(0, 3, N)]
X = rng.poisson(0.5 + 0.8 * (np.unique(Y, return_inverse=True)[1][:, None] == np.arange(6) % 3)).astype(float)
X[:, 4] = X[:, 1]  # a copy
SPLIT = PredefinedSplit(snb.fold_numbers(N, FOLDS))
STATS = snb.scan(X, Y, folds=FOLDS)
SAMPLE = snb.sample_rows(X, Y, STATS, rows=None)
SMALL = {"rows": None, "folds": FOLDS}


@pytest.mark.parametrize("family, model", [("bernoulli", BernoulliNB()), ("multinomial", MultinomialNB())])
@pytest.mark.parametrize("search", [snb.ForwardSelection, snb.BackwardElimination])
def test_it_chooses_what_scikit_learn_chooses(family, model, search):
    direction = "forward" if search is snb.ForwardSelection else "backward"
    peer = SequentialFeatureSelector(model, n_features_to_select=2, direction=direction, cv=SPLIT).fit(X, Y)
    fitted = snb.FeatureSelector(search(**SMALL), 2, family=family).fit(X, Y)
    np.testing.assert_array_equal(fitted.get_support(), peer.get_support())
    scores = cross_val_score(model, X[:, fitted.chosen_], Y, cv=SPLIT)
    np.testing.assert_allclose(fitted.curve_[1], scores)


def test_weights_are_frequencies():
    weight = rng.integers(0, 3, N)
    stats = snb.scan(X, Y, folds=FOLDS, sample_weight=weight)
    sample = snb.sample_rows(X, Y, stats, None, sample_weight=weight)
    ranked = snb.rank_features(stats, snb.ForwardSelection(k=2), family="poisson", sample=sample)
    state = [np.flatnonzero(snb.fold_numbers(N, FOLDS) == fold) for fold in range(FOLDS)]
    for fold, rows in enumerate(state):
        keep = ranked.chosen[0]
        others = np.setdiff1d(np.arange(N), rows)
        model = snb.LinearNB("poisson").fit(X[others][:, [keep]], Y[others], weight[others])
        score = model.score(X[rows][:, [keep]], Y[rows], weight[rows])
        assert ranked.curve[0, fold] == pytest.approx(score)


def test_incremental_selection_keeps_what_raises_the_mean_and_two_folds():
    ranked = snb.rank_features(STATS, snb.IncrementalSelection(first="chi2"), family="bernoulli", sample=SAMPLE)
    kept, best = [], None
    for j in snb.rank_features(STATS, "chi2").ranking.tolist():
        scores = cross_val_score(BernoulliNB(), X[:, [*kept, j]], Y, cv=SPLIT)
        if best is None or (scores.mean() > best.mean() and (scores > best).sum() >= 2):
            kept, best = [*kept, j], scores
    assert ranked.chosen.tolist() == kept and not {1, 4} <= {*kept}
    np.testing.assert_allclose(ranked.curve[-1], best)
    assert sorted(ranked.ranking) == list(range(6)) and ranked.by == "iwss"
    search = snb.IncrementalSelection(k=1)
    assert len(snb.rank_features(STATS, search, family="bernoulli", sample=SAMPLE).chosen) == 1


@pytest.mark.parametrize("family", ["bernoulli", "multinomial"])
def test_exhaustive_search_is_the_best_of_all_subsets(family, monkeypatch):
    monkeypatch.setattr(wrappers, "GROUPED", 2)
    model = {"bernoulli": BernoulliNB(), "multinomial": MultinomialNB()}[family]
    sample = snb.sample_rows(X, Y, STATS, rows=None, columns=[0, 1, 2, 5])
    ranked = snb.rank_features(STATS, "exhaustive", family=family, sample=sample)
    best = {}
    for size in range(1, 5):
        for subset in combinations([0, 1, 2, 5], size):
            score = cross_val_score(model, X[:, subset], Y, cv=SPLIT).mean()
            if size not in best or score > best[size][0] + 1e-12:
                best[size] = score, subset
    np.testing.assert_allclose(ranked.curve.mean(axis=1), [best[size][0] for size in range(1, 5)])
    top = max(score for score, _ in best.values())
    expected = next(subset for score, subset in best.values() if score > top - 1e-12)
    assert tuple(ranked.chosen) == expected


def test_as_many_as_are_judged_best_and_a_copy_once():
    ranked = snb.rank_features(STATS, "sfs", family="bernoulli", sample=SAMPLE)
    mean = ranked.curve.mean(axis=1)
    assert len(mean) == 6 and len(ranked.chosen) == np.argmax(mean) + 1
    assert not {1, 4} <= {*ranked.chosen.tolist()[:3]}
    np.testing.assert_array_equal(ranked.ranking[: len(ranked.chosen)], ranked.chosen)
    backward = snb.rank_features(STATS, "backward", family="bernoulli", sample=SAMPLE)
    np.testing.assert_allclose(backward.curve[-1], ranked.curve[-1])  # all features, either way


def test_candidates_and_a_sample_in_any_blocks():
    options = {"family": "poisson"}
    search = snb.ForwardSelection(first="chi2", candidates=4, rows=20, folds=FOLDS)
    whole = snb.FeatureSelector(search, 2, **options).fit(X, Y)
    cut = snb.FeatureSelector(search, 2, **options).fit(lambda: ((X[i : i + 7], Y[i : i + 7]) for i in range(0, N, 7)))
    np.testing.assert_array_equal(cut.ranking_, whole.ranking_)
    np.testing.assert_array_equal(cut.curve_, whole.curve_)
    assert {*whole.chosen_} < {*snb.rank_features(STATS, "chi2").ranking[:4]}


def test_what_is_wrong_is_named():
    with pytest.raises(ValueError, match="k=7 is more than the 6 features that by='sfs' chooses among"):
        snb.FeatureSelector("sfs", 7).fit(X, Y)
    with pytest.raises(ValueError, match="k=3 is more than the 2 candidates"):
        snb.FeatureSelector(snb.ForwardSelection(candidates=2), 3).fit(X, Y)
    with pytest.raises(ValueError, match="candidates=21 should be at most 20"):
        snb.ExhaustiveSearch(candidates=21)
    wide = np.ones((4, 21))
    stats = snb.scan(wide, [0, 1, 0, 1], folds=2)
    with pytest.raises(ValueError, match="takes 20 features at most; the sample has 21"):
        snb.rank_features(stats, "exhaustive", sample=snb.sample_rows(wide, [0, 1, 0, 1], stats))
    for given in (None, X):
        with pytest.raises(ValueError, match=r"by='sfs' looks at a sample of rows.*snb.sample_rows\(X, y, stats\)"):
            snb.rank_features(STATS, "sfs", sample=given)
    with pytest.raises(ValueError, match="folds"):
        snb.rank_features(snb.scan(X, Y), "sfs", sample=SAMPLE)
    with pytest.raises(ValueError, match=r"under penalty=TopK"):
        snb.FeatureSelector(snb.ForwardSelection(penalty=snb.TopK(2))).fit(X, Y)
    with pytest.raises(ValueError, match=r"under family=Dirichlet"):
        snb.FeatureSelector("backward", family=snb.Dirichlet()).fit(X, Y)
    for wrong in ({"folds": 1}, {"rows": 0}, {"candidates": 0}, {"k": 0}, {"seed": -1}):
        with pytest.raises(ValueError, match=f"{next(iter(wrong))}="):
            snb.IncrementalSelection(**wrong)
    with pytest.raises(ValueError, match="one class only"):
        snb.FeatureSelector("sfs", 1).fit(X, np.full(N, "ash"))
