"""Sums and sums of squares from one reading of each value."""

import numpy as np
import pytest

from streamnb.rows.boundary import as_chunk
from streamnb.rows.chunk import Entries
from streamnb.stats.both_moments import add_both, may_add_both


def problem(dtype, n_rows=200, n_features=11):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n_rows, n_features)).astype(dtype)
    return x, as_chunk(x), Entries(np.arange(n_rows), rng.integers(0, 3, n_rows), np.ones(n_rows))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_both_are_the_sums_of_each_group(dtype):
    x, (chunk, survey), entries = problem(dtype)
    assert may_add_both(survey, entries, 3)
    sums, squares = np.zeros((2, 3, x.shape[1])), np.zeros((2, 3, x.shape[1]))
    add_both(chunk, survey, entries, 3, tuple(sums), tuple(squares))
    wide = x.astype(float)
    for k in range(3):
        own = wide[entries.codes == k]
        np.testing.assert_allclose(sums.sum(axis=0)[k], own.sum(axis=0), rtol=1e-12, atol=1e-13)
        np.testing.assert_allclose(squares.sum(axis=0)[k], (own**2).sum(axis=0), rtol=1e-12)


def test_not_for_weights_or_few_rows():
    _, (_, survey), entries = problem(np.float64)
    assert not may_add_both(survey, entries._replace(weight=np.full(200, 0.5)), 3)
    assert not may_add_both(survey, entries, 100)
