"""Steps of scores by nested models, and what is counted of them."""

import numpy as np
import scipy.sparse as sp

from streamnb.evaluation.score_order import Histogram
from streamnb.kernels import nested


def test_steps_are_the_scores_of_all_models_and_counted_as_such():
    rng = np.random.default_rng(0)
    n, n_features, n_points, n_bins = 60, 90, 70, 32  # more points than a word has marks
    x = sp.random_array((n, n_features), density=0.1, rng=rng, format="csr")
    enters = rng.integers(0, n_points + 1, n_features).astype(np.int32)  # of the last number: never
    weights, rows = rng.normal(size=n_features), np.array([5, 3, 59, 0, 3, 7])
    added, marks = np.zeros(n_points + 1), np.zeros(n_points // nested.WORD + 1, np.int64)
    ends, points, scores = np.empty(len(rows), np.int64), np.empty(x.nnz, np.int32), np.empty(x.nnz)
    for _ in range(2):  # the second time in the same room
        nested.walk(x.data, x.indices, x.indptr, rows, enters, weights, added, marks, ends, points, scores)
    assert not added[:n_points].any() and not marks.any()
    kept = (enters[:, None] <= np.arange(n_points)) * weights[:, None]
    wanted = x.toarray()[rows] @ kept
    table = np.zeros((n_bins + 2, 2, n_points))
    groups, weight, histogram = np.array([0, 1, 1, 0, 0, 1], np.uint8), np.arange(1.0, 7.0), Histogram(1, 2, n_bins)
    histogram.widen(wanted[None].min(axis=(1, 2)), wanted[None].max(axis=(1, 2)))
    grid = histogram.shift[0], histogram.first[0]
    nested.count(ends, points, scores, groups, weight, *grid, table)
    for e, begin in enumerate([0, *ends[:-1]]):
        steps = slice(begin, ends[e])
        assert points[begin] == 0 and (np.diff(points[steps]) > 0).all()
        lengths = np.diff(np.append(points[steps], n_points))
        np.testing.assert_allclose(np.repeat(scores[steps], lengths), wanted[e], atol=1e-14)
    for g in (0, 31, 32, n_points - 1):
        one = Histogram(1, 2, n_bins)
        one.widen(wanted[None].min(axis=(1, 2)), wanted[None].max(axis=(1, 2)))
        exact = [
            scores[begin:end][points[begin:end] <= g][-1] for begin, end in zip([0, *ends[:-1]], ends, strict=True)
        ]
        one.add(np.array(exact)[:, None, None], groups[:, None], weight)
        assert np.array_equal(table.cumsum(axis=2)[:, :, g], one.table[0])
