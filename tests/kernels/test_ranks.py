"""Histograms of scores against counts of single rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from streamnb.evaluation.score_order import Histogram
from streamnb.kernels import ranks

finite = st.floats(-1e6, 1e6) | st.sampled_from([0.0, -0.0, 1e-300, 1.0, 1e300, -1e300])
scores_of = st.tuples(st.integers(1, 12), st.just(2)).flatmap(
    lambda s: arrays(float, s, elements=finite | st.sampled_from([np.inf, -np.inf]))
)


@given(st.lists(finite, min_size=2, max_size=10))
def test_keys_rise_with_the_score_and_turn_with_its_sign(scores):
    keys = [ranks.key(score) for score in sorted(scores)]
    assert keys == sorted(keys)
    assert [ranks.key(-score) for score in sorted(scores)] == [-k for k in keys]
    assert ranks.key(1.0) == 1 << 52 and ranks.key(3.0) == 2 << 52  # log2(1 + x), exact at the powers of two


@given(scores_of, st.booleans())
def test_extremes_are_those_of_the_finite_scores(scores, missing):
    scores = np.vstack([scores, [[np.nan, 0.0]]]) if missing else scores
    low, high = np.empty(2), np.empty(2)
    assert ranks.extremes(scores, low, high) == missing
    for k in range(2):
        some = [x for x in scores[:, k] if np.isfinite(x)]
        assert (low[k], high[k]) == (min(some, default=np.inf), max(some, default=-np.inf))


def filled(scores, groups, weight, shift, first, n_bins, room=0):
    """The histograms of scores (n, columns) of one model each, or of as many models as there are times the groups."""
    n, m = groups.shape
    n_models = scores.shape[1] // m
    by_column = np.pad(scores.reshape(n, n_models, m).swapaxes(1, 2), [(0, 0), (0, 0), (0, room)])
    table = np.zeros((n_models, m, n_bins + 2, 6))  # sums and their errors
    grids = (np.ascontiguousarray(of_bins.reshape(n_models, m).T) for of_bins in (shift, first))
    ranks.fill(np.ascontiguousarray(by_column), groups, weight, *grids, np.empty(2, np.int64), table)
    return table.reshape(scores.shape[1], n_bins + 2, 6)


def grid(scores, shift):
    """The first bin of each column, and how many there are."""
    bins = [[ranks.key(x) >> s for x in column if np.isfinite(x)] or [0] for column, s in zip(scores.T, shift)]
    return np.array([min(column) for column in bins]), max(max(column) - min(column) for column in bins) + 1


@given(scores_of, st.sampled_from([1, 2]), st.integers(0, 2**32 - 1))
def test_rows_are_counted_in_the_bins_of_their_scores(scores, n_own, seed):
    rng = np.random.default_rng(seed)
    groups, weight = rng.integers(0, 3, (len(scores), n_own), np.uint8), rng.choice([0.5, 1.0, 2.0], len(scores))
    shift = np.array([58, 59])
    first, n_bins = grid(scores, shift)
    expected = np.zeros((2, n_bins + 2, 3))
    for (i, k), x in np.ndenumerate(scores):
        inside = (ranks.key(x) >> shift[k]) - first[k] + 1 if np.isfinite(x) else 0
        expected[k, {np.inf: n_bins + 1}.get(x, inside), groups[i, k % n_own]] += weight[i]
    found = filled(scores, groups, weight, shift, first, n_bins, room=n_own)
    assert (found == np.concatenate([expected, np.zeros_like(expected)], axis=2)).all()


@given(scores_of, st.integers(0, 2**32 - 1))
def test_bins_that_merge_are_those_of_a_wider_grid(scores, seed):
    rng = np.random.default_rng(seed)
    groups, weight = rng.integers(0, 3, scores.shape, np.uint8), np.ones(len(scores))
    shift, wider = np.array([58, 58]), rng.choice([0, 1, 2], 2)
    first, n_bins = grid(scores, shift)
    new_first, _ = grid(scores, shift + wider)
    narrow = filled(scores, groups, weight, shift, first, n_bins)
    expected = filled(scores, groups, weight, shift + wider, new_first, n_bins)
    merged = np.zeros_like(narrow)
    ranks.merge(narrow, first, shift, new_first, shift + wider, merged)
    assert (merged == expected).all()


@given(scores_of, st.booleans(), st.integers(0, 2**32 - 1))
def test_bins_are_as_wide_as_the_scores_need(scores, whole, seed):
    """Whatever pieces the rows come in: the least doublings with which the finite scores lie in so many bins."""
    rng = np.random.default_rng(seed)
    groups, weight = rng.integers(0, 2, scores.shape), rng.choice([1.0, 2.0] if whole else [0.25, 2.0], len(scores))
    n_bins, cut = 5, rng.integers(0, len(scores) + 1)
    counted, alike, rest = (Histogram(2, 2, n_bins) for _ in range(3))
    head, tail = slice(0, cut), slice(cut, None)
    for one, rows in ((counted, head), (counted, tail), (alike, head), (rest, tail)):
        one.add(np.ascontiguousarray(scores[rows, :, None]), groups[rows], weight[rows])
    shift = np.zeros(2, np.int64)
    for k, column in enumerate(scores.T):
        while grid(column[:, None], shift[[k]])[1] > n_bins:
            shift[k] += 1
    first, _ = grid(scores, shift)
    expected = filled(scores, groups, weight, shift, first, n_bins)[:, :, :2]
    for one in (counted, alike + rest):
        assert (one.shift == shift).all() and np.array_equal(one.counts(), expected)
        assert one.table.dtype == (np.int32 if whole or len(scores) == np.count_nonzero(weight == 2.0) else np.float64)


@given(arrays(float, (3, 4, 2), elements=st.integers(0, 3)))
def test_areas_count_pairs(tables):
    found = np.empty((2, 3))
    ranks.areas(tables, found)
    for area, error, (rest, own) in zip(*found, tables.transpose(0, 2, 1)):
        pairs = own.sum() * rest.sum()
        won = sum(own[a] * rest[b] * (1.0 if a > b else 0.5 * (a == b)) for a, b in np.ndindex(4, 4))
        assert area == pytest.approx(won / pairs if pairs else np.nan, rel=1e-15, nan_ok=True)
        np.testing.assert_equal(error, 0.5 * (own[1:-1] @ rest[1:-1]) / pairs if pairs else np.nan)


@given(st.lists(st.lists(st.tuples(st.integers(0, 3), st.booleans()), min_size=4, max_size=4), min_size=1, max_size=5))
def test_ranking_loss_is_the_share_of_pairs_in_the_wrong_order(rows):
    scores, on = np.array(rows, float).transpose(2, 0, 1)
    out = np.empty(len(rows))
    ranks.ranking_loss(scores, on.astype(np.uint8), out)
    for row, found in zip(rows, out):
        wrong = [a <= b for a, is_on in row if is_on for b, is_on_too in row if not is_on_too]
        assert found == (sum(wrong) / len(wrong) if wrong else 0.0)
