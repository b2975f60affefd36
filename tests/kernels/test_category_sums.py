"""Kernels of categories, each beside a naive twin of it."""

import numpy as np
import pytest

from streamnb.kernels import table_sums

rng = np.random.default_rng(0)
ODD_ONES = [0.0, -0.0, np.nan, -np.nan, np.inf, -np.inf, 5e-324, -1.5, 2.0**60]


def bits_of(values):
    return np.asarray(values, np.float64).view(np.uint64)


def empty(n_places, room, n_groups):
    homes = np.empty(table_sums.BATCH, np.int64)
    return np.zeros((n_places, 2), np.uint64), np.empty(room, np.uint64), np.zeros((room, n_groups)), homes


@pytest.mark.parametrize("weighted", [False, True])
def test_values_are_numbered_as_they_come_and_their_weights_add_up(weighted):
    pool = np.concatenate([ODD_ONES, rng.integers(-9, 9, 20), rng.normal(size=20)])
    values, codes = pool[rng.integers(0, len(pool), 400)], rng.integers(0, 3, 400)
    weight = rng.integers(0, 5, 400).astype(float) if weighted else np.zeros(0)
    table, bits, sums, homes = empty(128, 100, 3)
    n = 0
    with np.errstate(over="ignore"):
        for rows in (slice(0, 130), slice(130, 131), slice(131, 400)):
            tables = table, np.uint64(57), n, bits, sums, homes
            n = table_sums.count_values(bits_of(values[rows]), codes[rows], weight[rows], *tables)
    found = bits[:n].view(np.float64)
    distinct = np.unique(values + 0.0)
    np.testing.assert_array_equal(np.sort(found), distinct)
    assert not np.signbit(found[found == 0.0]).any()
    first = [np.flatnonzero((values == u) | (np.isnan(values) & np.isnan(u)))[0] for u in found]
    assert (np.diff(first) > 0).all()
    for u, own in zip(found, sums):
        here = (values == u) | (np.isnan(values) & np.isnan(u))
        assert own.tolist() == [(weight if weighted else np.ones(400))[here & (codes == g)].sum() for g in range(3)]
    moved = np.zeros((256, 2), np.uint64)
    with np.errstate(over="ignore"):
        table_sums.place_values(bits[:n], moved, np.uint64(56), homes)
        same = table_sums.count_values(bits_of(values), codes, weight, moved, np.uint64(56), n, bits, sums, homes)
    assert same == n  # every value is found again


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("odd", [-1.0, 0.5, 9.0, np.nan, np.inf])
def test_whole_numbers_are_places_up_to_the_first_value_that_is_none(weighted, odd):
    values, codes = rng.integers(0, 9, 60).astype(float), rng.integers(0, 2, 60)
    weight = rng.integers(0, 3, 60).astype(float) if weighted else np.zeros(0)
    values[3], values[40] = -0.0, odd
    sums, seen = np.zeros((9, 2)), np.zeros(9, np.uint8)
    assert table_sums.count_numbers(values, codes, weight, 10, sums, seen) == 40
    expected = np.zeros((9, 2))
    np.add.at(expected, (values[10:40].astype(int), codes[10:40]), weight[10:40] if weighted else 1.0)
    np.testing.assert_array_equal(sums, expected)
    np.testing.assert_array_equal(np.flatnonzero(seen), np.unique(values[10:40]))
    assert table_sums.count_numbers(values[:4], codes[:4], weight[:4], 0, sums, seen) == 4


def test_sums_in_the_order_of_values():
    sums, order, groups = rng.normal(size=(50, 4)), rng.permutation(50)[:40], np.array([3, 0, 2])
    out = np.zeros((3, 60))
    table_sums.lay_out(sums, order, groups, out, 15)
    np.testing.assert_array_equal(out[:, 15:55], sums[order][:, groups].T)
    assert not out[:, :15].any() and not out[:, 55:].any()
