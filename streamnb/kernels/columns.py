"""Sparse rows stored by column, so that a feature's weights are loaded once for all of its values.

Rows of 100 values out of 10^5 features read weights that do not fit into the cache. By column, only the scores of some
thousand rows are accessed out of order, and these stay in the cache. A row still meets its features in ascending order,
so that its score is the same to the last bit.
"""

import numpy as np

from streamnb.kernels.column_lanes import WIDE, add_down, sum_products
from streamnb.kernels.compiler import kernel
from streamnb.kernels.lanes import LANES, prefetch

LOOK_AHEAD = 8  # values
at = np.uintp  # an unsigned index spares the check for negative ones


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
        stop, column = int(ends[j]), 0
        if stop > first:
            for _ in range(width // WIDE):
                add_down(out, column, values, rows, first, stop, weights, j, WIDE)
                column += WIDE
            if width - column >= LANES:
                add_down(out, column, values, rows, first, stop, weights, j, LANES)
                column += LANES
            if width - column >= 4:
                add_down(out, column, values, rows, first, stop, weights, j, 4)
                column += 4
            if width - column >= 2:
                add_down(out, column, values, rows, first, stop, weights, j, 2)
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
