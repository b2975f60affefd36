"""Sums of all classes: of their rows, and the same bits from dense and sparse tables."""

import math

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import streamnb as snb
from streamnb.stats.tables import SparseTable, Table, parts_of
from streamnb.stats.totals import by_column, spread_about_mean, whole


@settings(max_examples=25)
@given(st.integers(0, 2**32 - 1), st.sampled_from([None, 1.0, 1e12]))
def test_sums_and_spread_of_all_rows_in_either_kind_of_tables(seed, weigh):
    rng = np.random.default_rng(seed)
    X = sp.random_array((60, 9), density=0.2, rng=rng).toarray() - np.repeat([0.0, 0.0, 1e6], 3)
    y, weight = rng.integers(0, 5, 60), None if weigh is None else rng.random(60) * weigh ** rng.random(60)
    stats = snb.scan(X, y, sample_weight=weight, moments=["sum", "sum_sq"])
    one, few = (
        snb.scan(X, np.zeros(60, int), sample_weight=weight, moments=["sum", "sum_sq"]),
        stats.with_tables(SparseTable.of),
    )
    for moment in ("sum", "sum_sq", "weight"):
        np.testing.assert_array_equal(whole(stats.table(moment)).value(), one.table(moment).value())
        np.testing.assert_array_equal(whole(few.table(moment)).value(), one.table(moment).value())
    w = np.ones(60) if weight is None else weight
    expected = (w[:, None] * (X - np.average(X, axis=0, weights=w)) ** 2).sum(axis=0)
    np.testing.assert_allclose(spread_about_mean(stats), expected, rtol=1e-7, atol=1e-15 * w.sum())
    np.testing.assert_array_equal(spread_about_mean(few), spread_about_mean(stats))
    np.testing.assert_array_equal(by_column(few.table("sum")), stats.sum.T)


@pytest.mark.parametrize("largest", [3, 2**52, 2**53])
def test_sums_of_counts_are_exact_however_large(largest):
    cells = np.random.default_rng(0).integers(-largest, largest, (9, 4), endpoint=True)
    total = whole(Table(cells.astype(float)))
    assert [sum(map(int, parts)) for parts in zip(*(part[0] for part in parts_of(total)), strict=True)] == [
        sum(map(int, column)) for column in cells.T
    ]


@pytest.mark.parametrize("n", [3, 10, 34])
def test_sums_of_fractions_do_not_depend_on_the_order_of_classes(n):
    cells = np.random.default_rng(n).integers(1, 100, (n, 200)) / n  # whole, multiplied by the number of classes
    expected = [math.fsum(column) for column in cells.T]
    for order in (slice(None), slice(None, None, -1)):
        np.testing.assert_array_equal(whole(Table(cells[order])).value()[0], expected)
