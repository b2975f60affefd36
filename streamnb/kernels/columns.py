"""Sparse rows stored by column, so that a feature's weights are loaded once for all of its values.

Rows of 100 values out of 10^5 features read weights that do not fit into the cache. By column, only the scores of some
thousand rows are accessed out of order, and these stay in the cache. A row still meets its features in ascending order,
so that its score is the same to the last bit.
"""

import numpy as np

from streamnb.kernels.compiler import brick, kernel
from streamnb.kernels.lanes import LANES, prefetch, put, spread, take

LOOK_AHEAD = 8  # values
WIDE = 2 * LANES  # columns of a table at a time
at = np.uintp  # an unsigned index spares the check for negative ones


def adding_down(n):
    """A loop over the values of a column for n neighbouring numbers of its row of the table."""

    @brick
    def add_down(out, column, values, rows, first, stop, table, j):
        # out[rows[p], column + lane] += values[p] * table[j, column + lane], p from first to stop, in n lanes
        weights = take(table, j, column, n)
        for p in range(first, stop):
            i = rows[at(p)]
            put(out, i, column, take(out, i, column, n) + values[at(p)] * weights)

    return add_down


def summing_down(n):
    """A loop over the values of a column for n neighbouring numbers of all rows of the table."""

    @brick
    def sum_down(out, j, column, values, rows, first, stop, table, grid):
        # out[j, column + lane] += (values[p] * table[rows[p], column + lane] + m) - m, p from first to stop, in n
        # lanes; m is grid[j], or grid[j, column + lane]
        if grid.ndim == 1:
            steps = spread(grid[at(j)], n)
        else:
            steps = take(grid, j, column, n)
        sums = take(out, j, column, n)
        for p in range(first, stop):
            product = values[at(p)] * take(table, rows[at(p)], column, n)
            sums = sums + ((product + steps) - steps)
        put(out, j, column, sums)

    return sum_down


add_16, add_8, add_4, add_2 = adding_down(WIDE), adding_down(LANES), adding_down(4), adding_down(2)
sum_16, sum_8, sum_4, sum_2, sum_1 = (summing_down(n) for n in (WIDE, LANES, 4, 2, 1))


@brick
def sum_products(values, rows, first, stop, residual, grid, total, j):
    # total[j, r] += sum_p values[p] * residual[rows[p], r], p from first to stop, each product rounded on its grid
    column, width = np.intp(0), total.shape[1]  # a literal would be compiled separately
    for _ in range(width // WIDE):
        sum_16(total, j, column, values, rows, first, stop, residual, grid)
        column += WIDE
    if width - column >= LANES:
        sum_8(total, j, column, values, rows, first, stop, residual, grid)
        column += LANES
    if width - column >= 4:
        sum_4(total, j, column, values, rows, first, stop, residual, grid)
        column += 4
    if width - column >= 2:
        sum_2(total, j, column, values, rows, first, stop, residual, grid)
        column += 2
    if width > column:
        sum_1(total, j, column, values, rows, first, stop, residual, grid)


@kernel
def turn(data, indices, indptr, chosen, ends, values, rows):
    # values of the chosen rows and their row numbers, column by column; column j ends at ends[j] and begins where the
    # previous one ends
    start, last = indptr[0], indptr[-1] - indptr[0] - 1
    ends[:] = 0
    for i in chosen:
        for p in range(indptr[i] - start, indptr[i + 1] - start):
            ends[at(indices[at(p)])] += 1
    begin = 0
    for column in range(len(ends)):
        count = int(ends[column])
        ends[column] = begin
        begin += count
    for e in range(len(chosen)):
        for p in range(indptr[chosen[e]] - start, indptr[chosen[e] + 1] - start):
            coming = ends[at(indices[at(min(p + LOOK_AHEAD, last))])]
            prefetch(values, 0, coming)
            prefetch(rows, 0, coming)
            j = at(indices[at(p)])
            spot = at(ends[j])
            values[spot], rows[spot] = data[at(p)], e
            ends[j] += 1


@kernel
def score_columns(values, rows, ends, weights, out):
    # out[rows[p], r] += values[p] * weights[j, r] over the entries p of all columns j
    first, width = 0, out.shape[1]
    for j in range(len(ends)):
        stop, column = int(ends[j]), np.intp(0)
        if stop > first:
            for _ in range(width // WIDE):
                add_16(out, column, values, rows, first, stop, weights, j)
                column += WIDE
            if width - column >= LANES:
                add_8(out, column, values, rows, first, stop, weights, j)
                column += LANES
            if width - column >= 4:
                add_4(out, column, values, rows, first, stop, weights, j)
                column += 4
            if width - column >= 2:
                add_2(out, column, values, rows, first, stop, weights, j)
                column += 2
            for r in range(column, width):
                for p in range(first, stop):
                    out[rows[p], r] += values[p] * weights[j, r]
        first = stop


@kernel
def add_products_columns(values, rows, ends, residual, grid, total):
    # total[j, r] += sum_p values[p] * residual[rows[p], r], each product rounded on the grid of its feature
    first = 0
    for j in range(len(ends)):
        stop = int(ends[j])
        if stop > first:
            sum_products(values, rows, first, stop, residual, grid, total, j)
        first = stop
