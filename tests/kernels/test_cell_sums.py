"""Kernels of sparse tables against dense sums of the same cells."""

import math
from itertools import pairwise

import numpy as np
import pytest

from streamnb.kernels import table_sums
from streamnb.kernels.class_sums import NONZERO, SUM, SUM_SQ
from streamnb.kernels.exact import DEEP_RESIDUE
from tests.support.chunk_arrays import all_frozen

NONE = np.zeros((0, 0))


def table(seed, n=40, low=True):
    """Keys out of range(n), with pairs."""
    rng = np.random.default_rng(seed)
    keys = np.flatnonzero(rng.random(n) < 0.5)
    return keys, rng.normal(size=len(keys)), rng.normal(size=(1, len(keys))) * 2.0**-60 if low else NONE


def dense(keys, hi, lo, n=40):
    out = np.zeros((2, n))
    out[0, keys] = hi
    out[1, keys] = lo[0] if len(lo) else 0.0
    return out


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("low", [(True, True), (True, False), (False, False)])
def test_merging_adds_cell_by_cell(sign, low):
    a, b = table(0, low=low[0]), table(1, low=low[1])
    union = np.union1d(a[0], b[0])
    assert table_sums.count_union(a[0], b[0]) == len(union)
    keys, hi, lo = np.empty(len(union), np.int64), np.empty(len(union)), np.zeros((3, len(union)))
    used = table_sums.merge_cells(*all_frozen((*a, *b)), sign, DEEP_RESIDUE, keys, hi, lo)
    (a_hi, a_lo), (b_hi, b_lo) = dense(*a)[:, union], dense(*b)[:, union]
    exact = [math.fsum([x, y, sign * u, sign * v]) for x, y, u, v in zip(a_hi, a_lo, b_hi, b_lo, strict=True)]
    assert (keys == union).all() and (hi == exact).all() and not lo[used:].any()
    assert used == (3 if lo[1].any() else int(lo[0].any()))


@pytest.mark.parametrize("empty", [0, 1])
def test_merging_with_nothing_keeps_everything(empty):
    a = table(0)
    sides = [a, (np.zeros(0, np.int64), np.zeros(0), NONE)]
    first, second = sides[:: 1 - 2 * empty]
    keys, hi, lo = np.empty_like(a[0]), np.empty_like(a[1]), np.zeros((3, len(a[0])))
    table_sums.merge_cells(*all_frozen((*first, *second)), 1.0, DEEP_RESIDUE, keys, hi, lo)
    assert (keys == a[0]).all() and (hi + lo[0] == a[1] + a[2][0]).all()


def test_cells_of_many_parts_are_taken_away_again():
    keys, hi, lo = table(0)
    deep = np.stack([lo[0], lo[0] * 2.0**-60, np.full(len(keys), 2.0**-190)])
    more = table(1)
    union = np.union1d(keys, more[0])
    both = np.empty(len(union), np.int64), np.empty(len(union)), np.zeros((3, len(union)))
    assert table_sums.merge_cells(*all_frozen((keys, hi, deep, *more)), 1.0, DEEP_RESIDUE, *both) == 3
    left = np.empty(len(union), np.int64), np.empty(len(union)), np.zeros((3, len(union)))
    table_sums.merge_cells(*all_frozen((*both, *more)), -1.0, DEEP_RESIDUE, *left)
    at = np.isin(union, keys)
    assert not left[1][~at].any()
    for i, c in enumerate(np.flatnonzero(at)):
        assert math.fsum([left[1][c], *left[2][:, c], -hi[i], *-deep[:, i]]) == 0.0


@pytest.mark.parametrize("low", [True, False])
def test_scaling_scales_each_cell(low):
    keys, hi, lo = table(2, low=low)
    factors = np.random.default_rng(0).choice([0.25, 0.5, 2.0], len(keys))
    out, out_lo = np.empty(len(keys)), np.zeros((3, len(keys)))
    assert table_sums.scale_cells(hi, lo, factors, out, out_lo) == (low, False)
    assert (out + out_lo[0] == factors * (hi + lo[0] if low else hi)).all()


@pytest.mark.parametrize("moment", [SUM, SUM_SQ, NONZERO])
def test_sums_of_cells(moment):
    rng = np.random.default_rng(0)
    values, weight = rng.integers(-3, 4, 50).astype(float), rng.choice([0.25, 1.0, 2.0], 50)
    starts = np.array([0, 1, 1, 20, 50])
    hi, lo = np.empty(4), np.zeros((3, 4))
    assert not table_sums.sum_cells(values, weight, starts, moment, 0.0, hi, lo)
    of = {SUM: values, SUM_SQ: values**2, NONZERO: values != 0}[moment]
    assert hi.tolist() == [(weight * of)[a:b].sum() for a, b in pairwise(starts)]
