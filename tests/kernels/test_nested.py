"""Steps of scores by nested models, and what is counted of them."""

import numpy as np
import pytest
import scipy.sparse as sp

from streamnb.evaluation.reference import Steps
from streamnb.evaluation.score_order import Histogram
from streamnb.kernels import grid_scores
from streamnb.rows.row_blocks import SparseRows


@pytest.mark.parametrize("n_points", [70, 3])
def test_steps_are_the_scores_of_all_models_and_counted_as_such(n_points):
    rng = np.random.default_rng(0)
    n_features, n_bins = 90, 32
    x = sp.random_array((60, n_features), density=0.1, rng=rng, format="csr")
    enters = rng.integers(0, n_points + 1, n_features)  # of the last number: never
    order, weights = np.argsort(enters, kind="stable"), rng.normal(size=n_features)
    n_in = np.searchsorted(enters[order], np.arange(n_points), side="right")
    some, others = np.array([5, 3, 59, 0]), np.array([3, 7])
    forms = [SparseRows(x.data, x.indices, x.indptr, rows).columns(n_features) for rows in (some, others)]
    n, most = len(some) + len(others), x.nnz + 7
    steps = Steps(np.empty(n_points, np.int64), np.empty(most, np.int32), np.empty(most))
    grid_scores.walk(*forms, len(some), order, n_in, weights, np.zeros(n), np.zeros(n, np.int32), *steps)
    wanted = x.toarray()[[*some, *others]] @ ((enters[:, None] <= np.arange(n_points)) * weights[:, None])
    steps = Steps(steps.ends, *(array[: steps.ends[-1]] for array in steps[1:]))
    scores = steps.of_all()
    np.testing.assert_allclose(scores, wanted, atol=1e-14)
    assert (steps.rows[:n] == np.arange(n)).all()
    for begin, end in zip(steps.ends[:-1], steps.ends[1:], strict=True):  # each row once, if it has a feature that came
        assert len(set(steps.rows[begin:end])) == end - begin
    if n_points == 70:
        assert len(steps.rows) - n == np.count_nonzero(np.diff(wanted)) > 0
    else:  # all rows, where those of a model come that often
        assert np.count_nonzero(np.diff(wanted[:, :2])) <= steps.ends[1] - steps.ends[0] == n
    groups, weight = np.array([0, 1, 1, 0, 0, 1], np.uint8), np.arange(1, 7, dtype=np.int32)
    counted, histograms = Histogram(n_points, 2, n_bins), Histogram(n_points, 2, n_bins)
    for one in (counted, histograms):
        one.widen(np.full(n_points, scores.min()), np.full(n_points, scores.max()))
    bins, close = np.empty((2, n), np.int32), np.zeros(2 * n_bins + 4, np.int32)
    grid_scores.count(*steps, groups, weight, counted.shift[0], counted.first[0], bins, close, counted.table)
    histograms.add(scores[:, None], groups[:, None], weight.astype(float))
    assert np.array_equal(counted.table, histograms.table) and histograms.table.dtype == np.int32
