"""Sums and sums of squares from one reading of each value."""

import math

import numpy as np

import streamnb as snb
from streamnb.rows.boundary import as_chunk
from streamnb.rows.chunk import Entries
from streamnb.stats.both_moments import add_both, may_add_both


def problem(dtype=np.float32, n_rows=200, n_features=11):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n_rows, n_features)).astype(dtype)
    return x, as_chunk(x), Entries(np.arange(n_rows), rng.integers(0, 3, n_rows), np.ones(n_rows))


def test_both_are_the_sums_of_each_group():
    x, (chunk, survey), entries = problem()
    assert may_add_both(chunk, survey, entries, 3)
    sums, squares = ((np.zeros((3, x.shape[1])), np.zeros((3, 3, x.shape[1]))) for _ in range(2))
    add_both(chunk, survey, entries, 3, sums, squares)
    wide = x.astype(float)
    for k in range(3):
        own = wide[entries.codes == k]
        np.testing.assert_allclose((sums[0] + sums[1][0])[k], own.sum(axis=0), rtol=1e-12, atol=1e-13)
        np.testing.assert_allclose((squares[0] + squares[1][0])[k], (own**2).sum(axis=0), rtol=1e-12)


def test_sums_alone_are_the_same_numbers():
    x, _, entries = problem()
    alone, both = (snb.scan(x, entries.codes, moments=moments) for moments in (["sum"], ["sum", "sum_sq"]))
    exact = [[math.fsum(column) for column in x[entries.codes == k].T.tolist()] for k in range(3)]
    np.testing.assert_array_equal(alone.sum, exact)
    np.testing.assert_array_equal(alone.sum, both.sum)
    assert alone.moments == ("sum",)


def test_not_for_weights_few_rows_or_squares_that_float64_rounds():
    _, (chunk, survey), entries = problem()
    assert not may_add_both(chunk, survey, entries._replace(weight=np.full(200, 0.5)), 3)
    assert not may_add_both(chunk, survey, entries, 100)
    _, (chunk, survey), entries = problem(np.float64)
    assert not may_add_both(chunk, survey, entries, 3)
