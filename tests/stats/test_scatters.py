"""Scatters of classes: those of their rows, and the same bits from dense and sparse tables."""

import numpy as np
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import streamnb as snb
from streamnb.stats.scatters import by_column, scatters
from streamnb.stats.sparse_tables import SparseTable
from streamnb.training.objectives import spread_of


@settings(max_examples=25)
@given(st.integers(0, 2**32 - 1), st.sampled_from([None, 1.0, 1e12]))
def test_of_each_class_and_of_all_rows_in_either_kind_of_tables(seed, weigh):
    rng = np.random.default_rng(seed)
    X = sp.random_array((60, 9), density=0.2, rng=rng).toarray() - np.repeat([0.0, 0.0, 1e6], 3)
    y, weight = rng.integers(0, 5, 60), None if weigh is None else rng.random(60) * weigh ** rng.random(60)
    stats = snb.scan(X, y, sample_weight=weight, moments=["sum", "sum_sq"])
    w = np.ones(60) if weight is None else weight
    for k, found in zip(stats.classes, scatters(stats), strict=True):
        own = y == k
        mean = np.average(X[own], axis=0, weights=w[own])
        expected = (w[own, None] * (X[own] - mean) ** 2).sum(axis=0)
        np.testing.assert_array_equal(found.columns, np.flatnonzero(X[own].any(axis=0)))
        np.testing.assert_allclose(found.scatter, expected[found.columns], rtol=1e-9, atol=1e-15 * found.weight)
    sums = stats.table("sum").totals()
    spread = spread_of(stats, sums)
    expected = (w[:, None] * (X - np.average(X, axis=0, weights=w)) ** 2).sum(axis=0)
    np.testing.assert_allclose(spread, expected, rtol=1e-7, atol=1e-15 * w.sum())
    few = stats.with_tables(SparseTable.of)
    np.testing.assert_array_equal(spread_of(few, sums), spread)
    np.testing.assert_array_equal(by_column(few.table("sum")), stats.sum.T)
