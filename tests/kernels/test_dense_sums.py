"""Sums and squares of dense rows from one reading: exact, and the same as from two."""

import math

import numpy as np
import pytest

import streamnb as snb
from streamnb.core.memory import aligned
from streamnb.kernels import dense_sums
from streamnb.kernels.lanes import LANES
from streamnb.rows.row_blocks import frozen
from tests.support import naive

N_GROUPS = 3


def uneven(n_rows, n_features, dtype):
    """Columns of very different size, values of either sign, zeros, and groups, the last of which is empty."""
    rng = np.random.default_rng(n_features)
    x = rng.normal(size=(n_rows, n_features)) * 10.0 ** rng.integers(-6, 7, n_features)
    x *= 10.0 ** rng.integers(-4, 5, x.shape) * (rng.random(x.shape) < 0.8)
    return x.astype(dtype), rng.integers(0, N_GROUPS - 1, n_rows)


def room(n_features):
    """Of two tables, hi and lo."""
    return [np.zeros((*n_parts, N_GROUPS, n_features)) for n_parts in ((), (3,), (), (3,))]


def rounded(hi, lo):
    return np.array([math.fsum(cell) for cell in zip(hi.flat, *(part.flat for part in lo))]).reshape(hi.shape)


def summed(x, codes, tile):
    tops = np.array([np.abs(x[t : t + tile]).max(axis=0) for t in range(0, len(x), tile)])
    tables = room(x.shape[1])
    dense_sums.add_both(frozen(x), codes, tops, tile, *spare(*x.shape), *tables)
    return tables


def spare(n_rows, n_features):
    """What the kernel may write to."""
    top, least = np.empty(n_features), np.empty((2, n_features), np.float32)
    depth, rows, ends = (np.empty(n, np.intp) for n in (-(-n_features // LANES), n_rows, N_GROUPS))
    return top, least, depth, rows, ends, aligned(dense_sums.PARTS, n_features)


@pytest.mark.parametrize("n_features", [8, 9, 15, 16, 21, 24])
def test_both_moments_round_to_the_exact_sums(n_features):
    x, codes = uneven(70, n_features, np.float32)
    for tile in (7, 32, 100):  # tiles taken together, and one of a few rows at the end
        tables = summed(x, codes, tile)
        for name, hi, lo in (("sum", *tables[:2]), ("sum_sq", *tables[2:])):
            assert (
                rounded(hi, lo) == naive.rounded(naive.class_sums(x, codes, np.ones(70), N_GROUPS, name, 0.0))
            ).all()
            assert lo.any()  # else the low parts were not needed here


def test_squares_are_exact_wherever_the_last_bits_of_values_lie():
    rng = np.random.default_rng(0)
    for e in range(-34, -10, 3):  # last bits on either side of what the sums of values are rounded to
        x = np.ldexp(rng.integers(1 << 23, 1 << 24, (64, 16)) | 1, e + rng.integers(-9, 9, (64, 16)))
        x[0] = 2.0**20  # the largest
        x = (x * rng.choice([-1.0, 1.0], x.shape)).astype(np.float32)
        codes = rng.integers(0, N_GROUPS, 64)
        tables = summed(x, codes, 64)
        for name, hi, lo in (("sum", *tables[:2]), ("sum_sq", *tables[2:])):
            exact = naive.rounded(naive.class_sums(x, codes, np.ones(64), N_GROUPS, name, 0.0))
            assert (rounded(hi, lo) == exact).all(), e


def test_sums_that_cancel_leave_nothing():
    x, codes = uneven(64, 16, np.float32)
    tables = summed(np.concatenate([x, -x]), np.concatenate([codes, codes]), 32)
    assert not rounded(*tables[:2]).any()


def test_entries_that_are_the_rows_once():
    ones, first = np.ones(4), np.arange(4)
    assert dense_sums.each_once(first, ones)
    for rows, weight in ((first[::-1].copy(), ones), (first, np.array([1.0, 1.0, 0.5, 1.0])), (np.zeros(4, int), ones)):
        assert not dense_sums.each_once(rows, weight)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_scan_has_the_same_bits_with_both_moments_as_with_one(dtype):
    x, y = uneven(600, 12, dtype)
    both = snb.scan(x, y, moments=["sum", "sum_sq"])
    for name in ("sum", "sum_sq"):
        alone = snb.scan(x, y, moments=[name])
        assert np.array_equal(getattr(both, name), getattr(alone, name))
        parts = snb.scan((x[i : i + 140] for i in range(0, 600, 140)), y, moments=["sum", "sum_sq"])
        assert np.array_equal(getattr(both, name), getattr(parts, name))
