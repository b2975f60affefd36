"""Decisions of the models of a grid in single precision, and which of them rounding leaves open.

The weights lie as those of `grid_scores`, in float32: SINGLES points are a table or a unit, a line of the cache. Beside
each sum of products lies that of their absolute values. A sum of n products, both factors rounded, is off by less than
(n + 2) u of it, to first order in u = 2^-24 (Higham 2002, section 3.1), whatever the order of additions; so that scores
further apart than that are in the order in which float64 puts them.
"""

import numpy as np

from streamnb.kernels.compiler import brick, kernel
from streamnb.kernels.grid_scores import LISTED, UNITS_AHEAD, at
from streamnb.kernels.lanes import LANES, SINGLES, fill_lanes, prefetch, screen_lanes, screen_top, screen_unit
from streamnb.kernels.scores import ROWS_AHEAD, ask_for

SMALLEST, LARGEST = 2.0**-50, 2.0**50  # of numbers that are not 0: no product underflows, and no sum overflows
LONGEST = 1 << 22  # stored values of a row; of more the errors add up to a quarter
STRETCH = 1 << 12  # values looked at before it is asked whether to go on


@kernel
def within_range(values):
    """Return whether all values of a flat array are 0 or neither too small nor too large."""
    for first in range(0, len(values), STRETCH):
        inside = 0
        some = values[first : min(first + STRETCH, len(values))]
        for p in range(len(some)):
            size = abs(np.float64(some[p]))
            inside += (size <= LARGEST) & ((size >= SMALLEST) | (size == 0.0))
        if inside < len(some):
            return False
    return True


@brick
def share(n):
    """What part of the sum of absolute values a sum of n products may be off: twice the first order, for the others."""
    return np.float32(2.0**-23 * (n + 4))


@brick
def screen_row(data, indices, first, stop, table, top):
    # top[0, c] = sum over p from first to stop of data[p] * table[indices[p], c], and top[1, c] of absolute values
    for column in range(0, table.shape[1], SINGLES):
        screen_lanes(top, column, data, indices, first, stop, table)


@brick
def add_listed(listed, factors, n_listed, columns, units, sums):
    # sums[0, columns[t] + l] += factors[q] * units[t, l] for t = listed[q], q < n_listed, and sums[1, ..]
    for q in range(n_listed):
        prefetch(units, listed[at(q + UNITS_AHEAD)], 0)
        t = listed[at(q)]
        screen_unit(sums, columns[at(t)], factors[at(q)], units, t)


@brick
def screen_units(data, indices, first, stop, has, begins, columns, units, spare, sums):
    # the same of the units of each stored j; which j have any is found out first, without jumps
    listed, factors, found = spare
    for begin in range(first, stop, LISTED):
        n_found, n_listed = 0, 0
        for p in range(begin, min(begin + LISTED, stop)):
            found[at(n_found)] = p
            n_found += has[at(indices[at(p)])]
        for q in range(n_found):
            p = found[at(q)]
            j, x = at(indices[at(p)]), np.float32(data[at(p)])
            t = begins[j]
            n_units = begins[j + at(1)] - t
            if n_units > LANES or n_listed > LISTED - LANES:
                add_listed(listed, factors, n_listed, columns, units, sums)
                n_listed = 0
            if n_units > LANES:
                for u in range(t, t + n_units):
                    screen_unit(sums, columns[at(u)], x, units, u)
            else:
                fill_lanes(listed, n_listed, t, 1)
                fill_lanes(factors, n_listed, x, 0)
                n_listed += n_units
        add_listed(listed, factors, n_listed, columns, units, sums)


@brick
def bring(table):
    """Return the sum of a number of each line: read in their order they come sooner than as rows ask for them."""
    total = np.float32(0.0)
    for j in range(table.shape[0]):
        for c in range(0, table.shape[1], SINGLES):
            total += table[j, c]
    return total


@brick
def wants_most(data, indptr, rows, n_features):
    """Return whether so many values are stored in some rows of a block that most of the features may be among them."""
    return len(rows) * len(data) >= (len(indptr) - 1) * n_features


@kernel
def screen_block(data, indices, indptr, rows, table, top, start, point, places, out, open_rows):
    # the same as screen_csr, of the SINGLES points from `point` on, whose weights all lie in the table. One table after
    # the other for all rows: it is the tables that the cache should hold.
    first_row = indptr[0]
    if wants_most(data, indptr, rows, len(table)):
        top[0, 0] = bring(table)
    for e in range(len(rows)):
        coming = rows[min(e + ROWS_AHEAD, len(rows) - 1)]
        ask_for(data, indices, indptr[coming] - first_row, indptr[coming + 1] - first_row)
        first, stop = indptr[rows[e]] - first_row, indptr[rows[e] + 1] - first_row
        screen_row(data, indices, first, stop, table, top)
        open_rows[e] |= screen_top(top, places, 0, start, point, share(stop - first), out, e)


@kernel
def screen_csr(arrays, weights, spare, n_whole, in_place, start, places, sums, out, open_rows):
    # out[e, g] = the class k of the highest score of row rows[e] at point g, the first of several; open_rows[e] becomes
    # True where rounding might have changed that. The score of class k is start[k] and what the row adds to it, in
    # column places[1, k] of `sums`, and places[0, k] of SINGLES points alone, of which the head has a table each up to
    # n_whole; `in_place` tells whether the columns of one table are those of `sums`.
    data, indices, indptr, rows = arrays
    head, spots, has, begins, columns, units = weights
    top, room = spare[0], spare[1:]
    first_row = indptr[0]
    for e in range(len(rows)):
        open_rows[e] = indptr[rows[e] + 1] - indptr[rows[e]] > LONGEST
    for point in range(0, n_whole, SINGLES):
        screen_block(*arrays, head[point // SINGLES], top, start, point, places[0], out, open_rows)
    if n_whole < out.shape[1] and wants_most(data, indptr, rows, len(has)):
        top[0, 0] = bring(units)
        if n_whole == 0 and len(head):
            top[0, 0] = bring(head[0])
    for e in range(len(rows) if n_whole < out.shape[1] else 0):
        coming = rows[min(e + ROWS_AHEAD, len(rows) - 1)]
        ask_for(data, indices, indptr[coming] - first_row, indptr[coming + 1] - first_row)
        first, stop = indptr[rows[e]] - first_row, indptr[rows[e] + 1] - first_row
        sums[:] = 0.0
        if in_place:
            screen_row(data, indices, first, stop, head[0], sums)
        elif n_whole == 0 and len(head):
            screen_row(data, indices, first, stop, head[0], top)
            for r in range(2):
                for c in range(spots.shape[1]):
                    sums[r, at(spots[0, at(c)])] = top[r, at(c)]
        if len(units):
            screen_units(data, indices, first, stop, has, begins, columns, units, room, sums)
        for point in range(n_whole, out.shape[1], SINGLES):
            open_rows[e] |= screen_top(sums, places[1], point, start, point, share(stop - first), out, e)
