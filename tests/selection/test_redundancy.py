"""The fast correlation-based filter beside its definition, from statistics and from a second read."""

from collections import Counter

import numpy as np
import pytest
import scipy.sparse as sp

import streamnb as snb

rng = np.random.default_rng(3)
N = 150
Y = rng.integers(0, 3, N)
X = rng.poisson(0.4 + 0.6 * (Y[:, None] == np.arange(8) % 3)).astype(float)
X[:, 6] = X[:, 1]  # a copy
X[:, 7] = np.where(rng.random(N) < 0.1, 0.0, X[:, 2])  # nearly one
MOMENTS = ["above", "gram_above"]


def uncertainty(a, b):
    """2 I(a; b) / (H(a) + H(b)) = 2 - 2 H(a, b) / (H(a) + H(b)), from columns."""
    total = entropy(a) + entropy(b)
    return 2.0 - 2.0 * entropy(zip(a, b)) / total if total else 0.0


def entropy(values):
    counts = np.array([*Counter(values).values()])
    return -np.sum(counts / counts.sum() * np.log(counts / counts.sum()))


def naive(columns, y, delta):
    """Yu and Liu 2003, pair by pair."""
    columns, y = columns.tolist(), y.tolist()
    scores = [uncertainty(column, y) for column in columns]
    left = sorted(
        (j for j, score in enumerate(scores) if score >= delta and score > 1e-12), key=lambda j: (-scores[j], j)
    )
    kept = []
    for q in left:
        if all(uncertainty(columns[p], columns[q]) < scores[q] - 1e-12 for p in kept):
            kept.append(q)
    return kept


@pytest.mark.parametrize("delta", [0.0, 0.05, 0.9])
def test_it_keeps_what_the_definition_keeps(delta):
    expected = naive((X > 0).T, Y, delta)
    stats = snb.scan(X, Y, moments=MOMENTS)
    assert snb.rank_features(stats, snb.FCBF(delta)).chosen.tolist() == expected
    for rows in (X, sp.csr_array(X), lambda: ((X[i : i + 50], Y[i : i + 50]) for i in range(0, N, 50))):
        fitted = snb.FeatureSelector(snb.FCBF(delta), "auto").fit(rows, None if callable(rows) else Y)
        assert fitted.chosen_.tolist() == expected and fitted.get_support(indices=True).tolist() == sorted(expected)
    once = iter([(X, Y)])
    summed = snb.FeatureSelector(snb.FCBF(delta), "auto").fit(lambda: iter([next(once)]), moments=["gram_above"])
    assert summed.chosen_.tolist() == expected  # the first read has counted the pairs
    assert 6 not in expected and bool(expected) == (delta < 0.9)


@pytest.mark.parametrize("values", ["value", "bins"])
@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_values_tell_more_than_presence(values, make):
    fitted = snb.FeatureSelector("fcbf", "auto", values=values, n_bins=16).fit(make(X), Y)
    assert fitted.chosen_.tolist() == naive(X.T, Y, 0.0)  # whole numbers up to 15: a bin each


def test_presence_by_other_thresholds():
    for options, present in (
        ({"binarize": 1.0}, X > 1.0),
        ({"presence": "nonzero"}, X != 0.0),
        ({"binarize": -0.5}, X - 1.0 > -0.5),
    ):
        given = X - 1.0 if options.get("binarize") == -0.5 else X
        fitted = snb.FeatureSelector("fcbf", "auto", **options).fit(sp.csr_array(given), Y)
        assert fitted.chosen_.tolist() == naive(present.T, Y, 0.0)


def test_few_candidates_and_weights():
    weight = rng.choice([0.0, 1.0, 2.0], N)
    fitted = snb.FeatureSelector(snb.FCBF(candidates=2), "auto").fit(X, Y, sample_weight=weight)
    repeated = np.repeat(np.arange(N), weight.astype(int))
    every = snb.FeatureSelector(snb.FCBF(), "auto").fit(X[repeated], Y[repeated])
    order = np.argsort(-every.scores_, kind="stable")[:2]
    assert fitted.chosen_.tolist() == [j for j in order if j in every.chosen_]
    np.testing.assert_allclose(fitted.scores_, every.scores_)
    assert snb.FeatureSelector(snb.FCBF(), 1).fit(X, Y).get_support().sum() == 1


def test_what_is_wrong_is_named():
    for delta in (-0.1, 1.1):
        with pytest.raises(ValueError, match=f"delta={delta} should be from 0 to 1"):
            snb.FCBF(delta)
    with pytest.raises(ValueError, match="candidates=5000 should be at most 4,096"):
        snb.FCBF(candidates=5000)
    with pytest.raises(ValueError, match=r"scan\(moments=\['above', 'gram_above'\]\).*second read"):
        snb.rank_features(snb.scan(X, Y), "fcbf")
    with pytest.raises(MemoryError, match="memory_limit"):
        snb.FeatureSelector("fcbf", values="bins").fit(X, Y, memory_limit=60_000)
    sizes = iter([N, N - 10])
    with pytest.raises(ValueError, match="140 rows of 8 features in read 2 and 150"):
        snb.FeatureSelector("fcbf").fit(lambda: iter([(X[:n], Y[:n]) for n in [next(sizes)]]), keep="no")


def test_values_that_the_first_scan_has_not_seen_are_refused_before_they_are_counted():
    by = iter([1.0, 1000.0])
    with pytest.raises(ValueError, match=r"in no bin of the first|other features in read 2"):
        snb.FeatureSelector("fcbf", values="bins", n_bins=8).fit(lambda: iter([(next(by) * X, Y)]), keep="no")


@pytest.mark.parametrize("by", ["fcbf", "trees"])
def test_features_that_the_first_scan_has_not_seen_are_refused(by):
    widths = iter([X.shape[1], X.shape[1] - 1])
    with pytest.raises(ValueError, match=f"{X.shape[1] - 1} features( in read 2|, but the second scan)"):
        snb.FeatureSelector(by).fit(lambda: iter([(X[:, : next(widths)], Y)]), keep="no")


def test_no_feature_tells_anything():
    with pytest.warns(snb.StreamnbWarning, match="no feature varies by presence"):
        fitted = snb.FeatureSelector("fcbf", "auto").fit(np.ones((6, 3)), [0, 1] * 3)
    assert not fitted.chosen_.size
