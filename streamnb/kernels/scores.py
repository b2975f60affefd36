"""Linear scores of rows. Weights are feature-major, so that the inner loop reads neighbouring memory."""

import numpy as np

from streamnb.kernels.compiler import brick, kernel, part
from streamnb.kernels.lanes import LANES, prefetch, put, spread, take, turned, widened

FEW = 3  # columns; fewer are summed one by one
TILE = 4  # dense rows that are scored together
TILED = 256  # columns of these at once, so that their weights stay in the L1 cache
SKIPPED = 40  # one nonzero value in so many, for each LANES columns of weights, below which others are skipped
ROWS_AHEAD = 4  # rows to prefetch ahead, since scattered rows are not prefetched by hardware
WIDE = 2 * LANES  # columns in one vector
at = np.uintp  # an unsigned index spares the check for negative ones


@brick
def ask_for(data, indices, first, stop):
    # prefetch the stored values from first to stop
    for p in range(first, stop, 64 // data.itemsize):
        prefetch(indices, 0, p)
        prefetch(data, 0, p)


def summing(others):
    """A loop over the values of a row for so many columns and LANES others, which may be anywhere."""

    @brick
    def sum_lanes(out, column, last, data, indices, first, stop, table):
        # out[0, c] = sum of data[p] * table[indices[p], c], p from first to stop, for the columns c from `column` on
        # and, in the last lanes, from `last` on; sums stay in registers
        sums, sums_of_last = spread(0.0, others), spread(0.0, LANES)
        for p in range(first, stop):
            x, j = np.float64(data[at(p)]), indices[at(p)]
            sums = sums + x * take(table, j, column, others)
            sums_of_last = sums_of_last + x * take(table, j, last, LANES)
        put(out, 0, column, sums)
        put(out, 0, last, sums_of_last)

    return sum_lanes


sum_2, sum_3 = summing(LANES), summing(2 * LANES)


@brick
def sum_4(out, column, last, data, indices, first, stop, table):
    # the same for 3 * LANES columns and the last, in vectors of sizes that are powers of two
    wide, sums, sums_of_last = spread(0.0, WIDE), spread(0.0, LANES), spread(0.0, LANES)
    for p in range(first, stop):
        x, j = np.float64(data[at(p)]), indices[at(p)]
        wide = wide + x * take(table, j, column, WIDE)
        sums = sums + x * take(table, j, column + WIDE, LANES)
        sums_of_last = sums_of_last + x * take(table, j, last, LANES)
    put(out, 0, column, wide)
    put(out, 0, column + WIDE, sums)
    put(out, 0, last, sums_of_last)


@brick
def sum_1(out, column, data, indices, first, stop, table):
    # the same for LANES columns
    sums = spread(0.0, LANES)
    for p in range(first, stop):
        sums = sums + np.float64(data[at(p)]) * take(table, indices[at(p)], column, LANES)
    put(out, 0, column, sums)


@brick
def sum_row(data, indices, first, stop, table, out):
    # out[0, c] = sum over p from first to stop of data[p] * table[indices[p], c], in their order; the table is LANES
    # wide or wider, and its last lanes may be among those before
    last, column = table.shape[1] - LANES, np.intp(0)
    while last - column > 2 * LANES:
        sum_4(out, column, min(column + 3 * LANES, last), data, indices, first, stop, table)
        column += 4 * LANES
    if last - column > LANES:
        sum_3(out, column, last, data, indices, first, stop, table)
    elif last - column > 0:
        sum_2(out, column, last, data, indices, first, stop, table)
    elif last - column > -LANES:
        sum_1(out, last, data, indices, first, stop, table)


@kernel
def add_table(data, indices, indptr, rows, begin, end, table, spots, top, out):
    # out[e - begin, spots[c]] += sum over stored j of x[rows[e], j] * table[j, c] for e from begin to end, each in the
    # order of j; top (1, width) is scratch for a row of the table
    start, neighbours = indptr[0], True
    for c in range(len(spots)):
        neighbours &= spots[at(c)] == spots[0] + c
    for e in range(begin, end):
        coming = rows[min(e + ROWS_AHEAD, len(rows) - 1)]
        ask_for(data, indices, indptr[coming] - start, indptr[coming + 1] - start)
        sum_row(data, indices, indptr[rows[e]] - start, indptr[rows[e] + 1] - start, table, top)
        if neighbours:  # vectorised
            for c in range(len(spots)):
                out[at(e - begin), at(spots[0]) + at(c)] += top[0, at(c)]
        else:
            for c in range(len(spots)):
                out[at(e - begin), at(spots[at(c)])] += top[0, at(c)]


@kernel
def score_csr(data, indices, indptr, weights, out):
    # out[i, r] += sum over stored j of x[i, j] * weights[j, r], for fewer than LANES columns
    start, width = indptr[0], out.shape[1]
    for i in range(out.shape[0]):
        first, stop = indptr[i] - start, indptr[i + 1] - start
        for r in range(width if width < FEW else 0):
            total = out[i, r]
            for p in range(first, stop):
                total += np.float64(data[p]) * weights[indices[p], r]
            out[i, r] = total
        for p in range(first, stop if width >= FEW else first):
            j, x = indices[p], np.float64(data[p])
            for r in range(width):
                out[i, r] += x * weights[j, r]


def room_for(n_features, n_columns):
    """Scratch of `score_dense` and `score_dense_few`."""
    n, n_groups = min(n_features, TILED), -(-n_columns // LANES)
    return np.empty((min(n_columns, FEW), n + 1)), np.zeros((n_groups, n, LANES)), np.empty((TILE, LANES))


@kernel
def score_dense(values, weights, room, out):
    # out[i, r] += sum over j of x[i, j] * weights[j, r], in the order of j, without x = 0; `room` is that of `room_for`
    (n_rows, n_features), width = values.shape, out.shape[1]
    _, groups, sums = room
    tiled = n_rows - n_rows % TILE if can_be_tiled(n_rows, weights) else 0
    for first in range(0, n_features if tiled else 0, TILED):
        stop = min(first + TILED, n_features)
        for r in range(width):
            for j in range(first, stop):
                groups[r // LANES, j - first, r % LANES] = weights[j, r]
        for begin in range(0, tiled, TILE):
            if width > LANES and is_sparse(values, begin, first, stop, width):
                add_rows(values, weights, begin, begin + TILE, first, stop, out)
                continue
            for r in range(0, width, LANES):
                last = min(r + LANES, width)
                whole = last - r == LANES
                for i in range(0 if whole else TILE):
                    for k in range(r, last):
                        sums[i, k - r] = out[begin + i, k]
                target, row, column = (out, begin, r) if whole else (sums, 0, 0)
                score_tile(values, begin, first, stop, groups[r // LANES], target, row, column)
                for i in range(0 if whole else TILE):
                    for k in range(r, last):
                        out[begin + i, k] = sums[i, k - r]
    add_rows(values, weights, tiled, n_rows, np.intp(0), n_features, out)  # a literal would be compiled separately


@brick
def is_sparse(values, begin, first, stop, width):
    # whether so few values of TILE rows are not 0 that it pays to skip the others
    stored = 0
    for i in range(begin, begin + TILE):
        for j in range(first, stop):
            stored += values[i, j] != 0
    return SKIPPED * LANES * stored < width * TILE * (stop - first)


@brick
def score_tile(values, begin, first, stop, table, sums, row, column):
    # sums[row + i, column + k] += sum of values[begin + i, j] * table[j - first, k], j from first to stop, of TILE rows
    # and LANES columns
    a, b = take(sums, row, column, LANES), take(sums, row + 1, column, LANES)
    c, d = take(sums, row + 2, column, LANES), take(sums, row + 3, column, LANES)
    for j in range(first, stop):
        w = take(table, j - first, 0, LANES)
        a = a + np.float64(values[begin, j]) * w
        b = b + np.float64(values[begin + 1, j]) * w
        c = c + np.float64(values[begin + 2, j]) * w
        d = d + np.float64(values[begin + 3, j]) * w
    put(sums, row, column, a)
    put(sums, row + 1, column, b)
    put(sums, row + 2, column, c)
    put(sums, row + 3, column, d)


@kernel
def score_dense_few(values, weights, room, out):
    # the same to the same bits, for up to FEW columns
    n_rows, n_features = values.shape
    columns, _, sums = room
    tiled = n_rows - n_rows % LANES if can_be_tiled(n_rows, weights) else 0
    for first in range(0, n_features if tiled else 0, TILED):
        stop = min(first + TILED, n_features)
        turn_weights(weights, first, stop, columns)
        for begin in range(0, tiled, LANES):
            for r in range(out.shape[1]):
                score_rows(values, begin, first, stop, columns[r], sums, out, r)
    add_rows(values, weights, tiled, n_rows, np.intp(0), n_features, out)


@brick
def score_rows(values, begin, first, stop, column, room, out, r):
    # out[begin + i, r] += sum of values[begin + i, j] * column[1 + j - first], j from first to stop, in LANES rows, in
    # the order of j. Four columns at a time: products along each row, which are turned.
    for row in range(begin, begin + LANES, 4):
        for i in range(4):
            room[0, i] = out[row + i, r]
        sums = take(room, 0, 0, 4)
        rest = stop - (stop - first) % 4
        for j in range(first, rest, 4):
            w = take(column, 0, 1 + j - first, 4)
            a, b = widened(take(values, row, j, 4)) * w, widened(take(values, row + 1, j, 4)) * w
            c, d = widened(take(values, row + 2, j, 4)) * w, widened(take(values, row + 3, j, 4)) * w
            a, b, c, d = turned(a, b, c, d)
            sums = sums + a + b + c + d
        put(room, 0, 0, sums)
        for i in range(4):
            total = room[0, i]
            for j in range(rest, stop):
                total += np.float64(values[row + i, j]) * column[1 + j - first]
            out[row + i, r] = total


@brick
def turn_weights(weights, first, stop, columns):
    for r in range(weights.shape[1]):
        columns[r, 0] = 1.0  # starts from the present scores, so that all terms are added in order
        for j in range(first, stop):
            columns[r, 1 + j - first] = weights[j, r]


@brick
def can_be_tiled(n_rows, weights):
    # whether there are enough rows to justify checking each weight, and all are finite, so that 0 times each is 0
    finite = n_rows >= 8 * TILE
    for j in range(weights.shape[0] if finite else 0):
        for r in range(weights.shape[1]):
            finite &= abs(weights[j, r]) < np.inf
    return finite


@part
def add_rows(values, weights, begin, end, first, stop, out):
    # out[i, r] += sum over j from first to stop of x[i, j] * weights[j, r], where x is not zero
    for i in range(begin, end):
        for j in range(first, stop):
            x = np.float64(values[i, j])
            if x != 0.0:
                for r in range(out.shape[1]):
                    out[i, r] += x * weights[j, r]


@kernel
def score_cells(data, indices, indptr, rows, weights, columns, starts, first, out):
    # out[e, columns[q]] += sum over stored j of x[rows[e], j] * weights[q], q from starts[j - first] to the next, where
    # there are such
    start, n_features = indptr[0], len(starts) - 1
    for e in range(len(rows)):
        of_row = out[e]
        for p in range(indptr[rows[e]] - start, indptr[rows[e] + 1] - start):
            j = np.intp(indices[p]) - first
            if 0 <= j < n_features:
                x = np.float64(data[p])
                for q in range(starts[j], starts[j + 1]):
                    of_row[columns[q]] += x * weights[q]
