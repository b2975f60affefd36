"""Sums and sums of squares of dense float32 rows of weight 1, in parts, from one reading of each value."""

import math

import numpy as np

from streamnb.kernels.compiler import kernel
from streamnb.kernels.exact import spill, two_sum
from streamnb.kernels.lanes import LANES, add_both_lanes, prefetch

FEWEST, MANY = 32, 128  # rows of a group, on the average, that are worth sums of their own, and that share them
AHEAD = 16  # rows asked for before they are added
PARTS = 8  # of these: sums, their low parts in three, sums of squares, their low parts in three


@kernel
def add_both(values, codes, tops, tile, top, sums, hi, lo, hi_sq, lo_sq):
    # (hi, lo)[codes[i], j] += x[i, j] and (hi_sq, lo_sq)[codes[i], j] += x[i, j]^2, error-free; True, of either, where
    # more than the first low part took any
    # In rows t * tile to (t + 1) * tile no value of feature j is larger than tops[t, j]. `top` (n_features,) and `sums`
    # (PARTS * n_groups, n_features or more) hold anything.
    n_groups, spilled, spilled_sq = len(sums) // PARTS, False, False
    together = 1 + MANY * n_groups // tile
    for t in range(0, len(tops), together):
        top[:] = 0.0
        for u in range(t, min(t + together, len(tops))):
            raise_to(tops[u], top)
        first, last = t * tile, min((t + together) * tile, len(values))
        n_rows = round_up(top, last - first)
        for k in range(n_groups):
            begin(top, n_rows, False, sums[PARTS * k : PARTS * k + 4])
            begin(top, n_rows, True, sums[PARTS * k + 4 : PARTS * k + 8])
        add_rows(values[first:last], codes[first:last], sums)
        for k in range(n_groups):
            spilled |= end(top, n_rows, False, sums[PARTS * k : PARTS * k + 4], k, hi, lo)
            spilled_sq |= end(top, n_rows, True, sums[PARTS * k + 4 : PARTS * k + 8], k, hi_sq, lo_sq)
    return spilled, spilled_sq


@kernel
def each_once(rows, weight):
    """Return whether the entries are the rows from the first on, each with weight 1."""
    others = 0
    for e in range(len(rows)):
        others += (rows[e] != e) | (weight[e] != 1.0)
    return others == 0


@kernel
def raise_to(other, top):
    # top[j] = the larger of both
    for j in range(len(top)):
        top[j] = max(top[j], np.float64(other[j]))


@kernel
def round_up(top, n_rows):
    """Return the power of two from `n_rows` on; raise each top to one above it."""
    for j in range(len(top)):
        top[j] = math.ldexp(1.0, math.frexp(top[j])[1])
    n = 1.0
    while n < n_rows:
        n *= 2.0
    return n


@kernel
def height(size, n_rows, squared):
    """Where a sum of terms up to `size`, or its square, begins, both powers of two as `n_rows`.

    Whatever their signs, it stays between two powers of two, from 2 n s to 4 n s: it is rounded to multiples of one
    unit, u = 2^-51 n s. Where x is such a multiple, x^2 is one of u^2, and so is what its own sum leaves of it; which
    is what the sum of that is rounded to.
    """
    return 3.0 * n_rows * (size * size if squared else size)


@kernel
def rest_height(size, n_rows, squared):
    """The same of what rounding takes from them, half a unit each."""
    return n_rows * 2.0**-52 * height(size, n_rows, squared)


@kernel
def begin(top, n_rows, squared, sums):
    for j in range(len(top)):
        sums[0, j] = height(top[j], n_rows, squared)
        sums[1, j] = rest_height(top[j], n_rows, squared)
        sums[2, j] = sums[3, j] = 0.0


@kernel
def add_rows(values, codes, sums):
    # add each row to the sums of its group, and ask for a later one, a line of the cache at a time
    n_features = values.shape[1]
    over = n_features % LANES
    for i in range(len(codes)):
        k, coming = codes[i], min(i + AHEAD, len(codes) - 1)
        for column in range(0, n_features - 2 * LANES + 1, 2 * LANES):
            prefetch(values, coming, column)
            add_both_lanes(values, i, column, 0, sums, k)
            add_both_lanes(values, i, column + LANES, 0, sums, k)
        if n_features // LANES % 2:
            add_both_lanes(values, i, n_features - over - LANES, 0, sums, k)
        if over:
            add_both_lanes(values, i, n_features - LANES, LANES - over, sums, k)


@kernel
def end(top, n_rows, squared, sums, k, hi, lo):
    # (hi, lo)[k] += what the sums have grown by, exact for less than half of them (Sterbenz), and what was lost; True
    # if more than the first low part took any. `sums` hold anything afterwards
    high, low, more = hi[k], lo[0, k], 0
    for j in range(len(top)):
        high[j], e = two_sum(high[j], sums[0, j] - height(top[j], n_rows, squared))
        e, sums[0, j] = two_sum(e, sums[1, j] - rest_height(top[j], n_rows, squared))
        low[j], sums[1, j] = two_sum(low[j], e)
        more += (sums[0, j] != 0.0) | (sums[1, j] != 0.0) | (sums[2, j] != 0.0) | (sums[3, j] != 0.0)
    if more == 0:
        return False
    spilled = False
    for j in range(len(top)):
        spilled |= spill(lo, k, j, sums[0, j], sums[1, j])
        spilled |= spill(lo, k, j, sums[2, j], sums[3, j])
    return spilled
