"""Sums and sums of squares of unweighted dense float32 rows in one pass over the values."""

import math

from streamnb.kernels.compiler import kernel, part
from streamnb.kernels.dense_lanes import add_both_lanes, sum_both_lanes
from streamnb.kernels.exact import spill, two_sum
from streamnb.kernels.lanes import LANES, prefetch
from streamnb.kernels.row_values import raise_tops

FEWEST, MANY = 32, 256  # average rows of a group that justify separate sums, and that share them
CLOSE = 64  # rows of a group whose values are in the cache together
PARTS = 8  # sums with three low parts, and sums of squares with three low parts


@kernel
def add_both(values, codes, tops, tile, top, least, depth, rows, ends, sums, hi, lo, hi_sq, lo_sq):
    # (hi, lo)[codes[i], j] += x[i, j] and (hi_sq, lo_sq)[codes[i], j] += x[i, j]^2, error-free; returns for each
    # whether more than the first low part is in use
    # In rows t * tile to (t + 1) * tile no value of feature j is larger than tops[t, j]. `top` (n_features,), `least`
    # (2, n_features), `depth` (one for LANES features), `rows` (n_rows,), `ends` (n_groups,) and `sums` (PARTS,
    # n_features or more) are scratch arrays.
    n_groups, spilled, spilled_sq = len(ends), False, False
    together = 1 + MANY * n_groups // tile
    for t in range(0, len(tops), together):
        top[:] = 0.0
        for u in range(t, min(t + together, len(tops))):
            raise_tops(tops[u], top)
        round_up(top)
        depth[:] = 0
        first, last = t * tile, min((t + together) * tile, len(values))
        by_group(codes[first:last], first, ends, rows)
        start = 0
        for k in range(n_groups):
            if ends[k] > start:
                n_rows = power_from(ends[k] - start)
                begin(top, n_rows, False, sums[:4])
                begin(top, n_rows, True, sums[4:])
                losing(top, n_rows, least)
                add_rows(values, rows[: last - first], start, ends[k], least, depth, sums)
                spilled |= end(top, n_rows, False, sums[:4], k, hi, lo)
                spilled_sq |= end(top, n_rows, True, sums[4:], k, hi_sq, lo_sq)
                start = ends[k]
    return spilled, spilled_sq


@part
def by_group(codes, first, ends, rows):
    # rows[ends[k - 1] : ends[k]] = the rows of group k, ascending; row numbers start at `first`
    ends[:] = 0
    for i in range(len(codes)):
        ends[codes[i]] += 1
    begin = 0
    for k in range(len(ends)):
        begin, ends[k] = begin + ends[k], begin
    for i in range(len(codes)):
        k = codes[i]
        rows[ends[k]] = first + i
        ends[k] += 1


@kernel
def each_once(rows, weight):
    """Return whether the entries are the rows from the first on, each with weight 1."""
    others = 0
    for e in range(len(rows)):
        others += (rows[e] != e) | (weight[e] != 1.0)
    return others == 0


@part
def round_up(top):
    # round each top up to a power of two above it
    for j in range(len(top)):
        top[j] = math.ldexp(1.0, math.frexp(top[j])[1])


@part
def power_from(n_rows):
    """Return the smallest power of two that is at least `n_rows`."""
    n = 1.0
    while n < n_rows:
        n *= 2.0
    return n


@part
def height(size, n_rows, squared):
    """The start of a sum of terms up to `size`, or up to its square; `size` and `n_rows` are powers of two.

    Whatever the signs, the sum stays between 2 n s and 4 n s, so it is rounded to multiples of one unit, u = 2^-51 n s.
    Where x is a multiple of u, x^2 is a multiple of u^2, and so are the rounding errors of its sum, whose own sum is
    rounded to that unit.
    """
    return 3.0 * n_rows * (size * size if squared else size)


@part
def rest_height(size, n_rows, squared):
    """The same for the sum of rounding errors, half a unit each."""
    return n_rows * 2.0**-52 * height(size, n_rows, squared)


@part
def begin(top, n_rows, squared, sums):
    for j in range(len(top)):
        sums[0, j] = height(top[j], n_rows, squared)
        sums[1, j] = rest_height(top[j], n_rows, squared)
        sums[2, j] = sums[3, j] = 0.0


@part
def losing(top, n_rows, least):
    # least[d, j] = 24 digits of a unit: it is a multiple of this, and so are larger values
    # d = 0: the unit u of the sum of x. d = 1: 2^-27 n u, of which the sum of what x loses holds multiples, and whose
    # square 2^-156 n^4 s^2 is no less than 2^-53 of all that n squares lose twice, 2^-104 n^3 s^2
    for j in range(len(top)):
        unit = 2.0**-51 * n_rows * top[j]
        for d in range(2):
            least[d, j] = 2.0**23 * unit if unit > 2.0**-149 else 0.0  # every float32 is a multiple of the unit
            unit *= 2.0**-27 * n_rows


@part
def add_rows(values, rows, start, end, least, depth, sums):
    # add rows[start:end] to the sums of their group, a few at a time; depth[s] is the number of rounding errors of x in
    # columns s * LANES to (s + 1) * LANES: 0 or 1 in this group, or unknown (2), when each row is added by itself
    n_features = values.shape[1]
    for s in range(len(depth)):
        depth[s] -= depth[s] % 2
    for first in range(start, end, CLOSE):
        stop, n_deep = min(first + CLOSE, end), 0
        for p in range(stop, min(stop + CLOSE, len(rows))):
            prefetch(values, rows[p], 0)
            prefetch(values, rows[p], 2 * LANES)
        for s in range(len(depth)):
            column = min(s * LANES, n_features - LANES)  # the last vector may overlap the one before
            skip = s * LANES - column
            if depth[s] == 0:
                depth[s] += sum_both_lanes(values, rows, first, stop, column, skip, least, sums, 0)
            if depth[s] == 1:
                depth[s] += sum_both_lanes(values, rows, first, stop, column, skip, least, sums, 1)
            n_deep += depth[s] == 2
        if n_deep > 0:
            for p in range(first, stop):
                for s in range(len(depth)):
                    if depth[s] == 2:
                        column = min(s * LANES, n_features - LANES)
                        add_both_lanes(values, rows[p], column, s * LANES - column, sums)


@part
def end(top, n_rows, squared, sums, k, hi, lo):
    # (hi, lo)[k] += the growth of the sums, exact by Sterbenz's lemma, and their errors; True if more than the first
    # low part is in use. Overwrites `sums`
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
