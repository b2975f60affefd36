"""Scores of rows by the models of a whole grid, most of whose weights are zero.

A row of scores holds R rows of weights, each with room for its points: a multiple of LANES. The weights of a feature
lie in two parts. Those of the first points, which most features have, are a row of each table head[b], one for LANES
points, or of one for all; spots[b, c] is the column of the scores that column c of it goes to. Of the others, LANES
neighbouring points of one row of weights that are not all zero are a unit: feature j has units[t], for the scores from
columns[t] on, with t from begins[j] to begins[j + 1].
"""

import numpy as np

from streamnb._jit import LANES, add_lanes, fill_lanes, kernel, prefetch, top_lanes
from streamnb.kernels.score import ROWS_AHEAD, add_table, ask_for, sum_row

LISTED = 512  # units that are listed before they are added
ROOM = LISTED + 2 * LANES  # of such a list, for what is written beyond its end or looked at ahead
UNITS_AHEAD = 2 * LANES  # of the list, that they may come from far memory in time
ROWS_AT_ONCE = 16  # which are then still close for their units
at = np.uintp  # of an index: unsigned, it need not be looked at whether it counts from the end


@kernel
def count_units(indices, indptr, n_rows, latest, ends):
    # ends[g] += units of weights in CSR, columns g * n_rows + r, whose last point is g; latest (2, n_rows) is -1: of
    # each row of weights the feature and the point that came last
    for j in range(len(indptr) - 1):
        for p in range(indptr[j], indptr[j + 1]):
            point, r = split(indices[p], n_rows)
            if latest[0, r] == j and latest[1, r] // LANES == point // LANES:
                ends[latest[1, r]] -= 1
            ends[point] += 1
            latest[0, r], latest[1, r] = j, point


@kernel
def split(index, n_rows):
    # point and row of a column; in numbers of 32 bits, which are divided in a third of the time
    point = np.uint32(index) // np.uint32(n_rows)
    return np.intp(point), np.intp(np.uint32(index) - point * np.uint32(n_rows))


@kernel
def fill_units(data, indices, indptr, n_rows, room, places, latest, first, head, begins, columns, units):
    # the same weights of the features from `first` on: the first columns c in head[places[c, 0], :, places[c, 1]], the
    # others as units; head and units are 0, latest is -1
    t = 0
    for j in range(len(indptr) - 1):
        begins[j] = t
        for p in range(indptr[j], indptr[j + 1]):
            point, r = split(indices[p], n_rows)
            if indices[p] < len(places):
                head[places[indices[p], 0], first + j, places[indices[p], 1]] = data[p]
                continue
            column = r * room + point // LANES * LANES
            if latest[r] < begins[j] or columns[latest[r]] != column:
                latest[r], columns[t] = t, column
                t += 1
            units[latest[r], point % LANES] = data[p]
    begins[len(indptr) - 1] = t


@kernel
def add_listed(listed, factors, n_listed, columns, units, out, e):
    # out[e, columns[t] + l] += factors[q] * units[t, l] for t = listed[q], q < n_listed
    for q in range(n_listed):
        prefetch(units, listed[at(q + UNITS_AHEAD)], 0)
        t = listed[at(q)]
        add_lanes(out, e, columns[at(t)], factors[at(q)], units, t)


@kernel
def add_units(data, indices, indptr, rows, begin, end, begins, columns, units, listed, factors, out):
    # out[e - begin, columns[t] + l] += x[rows[e], j] * units[t, l] for the units t of each stored j, in the order of j,
    # and e from begin to end. Units are listed before they are added: how many a feature has is not to be guessed.
    start = indptr[0]
    for e in range(begin, end):
        coming = rows[min(e + ROWS_AHEAD, len(rows) - 1)]
        ask_for(data, indices, indptr[coming] - start, indptr[coming + 1] - start)
        n_listed = 0
        for p in range(indptr[rows[e]] - start, indptr[rows[e] + 1] - start):
            j, x = at(indices[at(p)]), np.float64(data[at(p)])
            t = begins[j]
            n_units = begins[j + at(1)] - t
            if n_units > LANES or n_listed > LISTED - LANES:
                add_listed(listed, factors, n_listed, columns, units, out, e - begin)
                n_listed = 0
            if n_units > LANES:
                for u in range(t, t + n_units):
                    add_lanes(out, e - begin, columns[at(u)], x, units, u)
            else:
                fill_lanes(listed, n_listed, t, 1)
                fill_lanes(factors, n_listed, x, 0)
                n_listed += n_units
        add_listed(listed, factors, n_listed, columns, units, out, e - begin)


@kernel
def add_csr(arrays, weights, spare, out):
    # out[e] += scores of row rows[e] of the arrays; few rows at a time, so that they are still close when they are read
    # again
    head, spots, begins, columns, units = weights
    top, listed, factors = spare
    for begin in range(0, len(out), ROWS_AT_ONCE):
        end = min(begin + ROWS_AT_ONCE, len(out))
        for b in range(len(head)):
            add_table(*arrays, begin, end, head[b], spots[b], top, out[begin:end])
        if len(units):
            add_units(*arrays, begin, end, begins, columns, units, listed, factors, out[begin:end])


@kernel
def decide_block(data, indices, indptr, rows, table, top, start, point, places, out):
    # the same as decide_csr, of the LANES points from `point` on, whose weights all lie in the table. One table after
    # the other for all rows, and no scores but those in `top`: it is the tables that the cache should hold.
    first_row, room = indptr[0], out.shape[1]
    for e in range(len(rows)):
        coming = rows[min(e + ROWS_AHEAD, len(rows) - 1)]
        ask_for(data, indices, indptr[coming] - first_row, indptr[coming + 1] - first_row)
        sum_row(data, indices, indptr[rows[e]] - first_row, indptr[rows[e] + 1] - first_row, table, top)
        for r in range(table.shape[1] // LANES):
            for lane in range(LANES):
                top[0, r * LANES + lane] += start[r * room + point + lane]
        top_lanes(top, 0, places, 0, out, e, point)


@kernel
def decide_csr(arrays, weights, spare, n_whole, start, places, scores, out):
    # out[e, g] = the first class k of the highest score of row rows[e] at point g; that of class k begins in column
    # places[1, k] of `start` and what the row adds to it, and in column places[0, k] of LANES points alone, of which
    # the head has a table each up to n_whole. Few rows at a time, so that their scores are still close.
    head, spots, begins, columns, units = weights
    top, listed, factors = spare
    for point in range(0, n_whole, LANES):
        decide_block(*arrays, head[point // LANES], top, start, point, places[0], out)
    for begin in range(0, len(out) if n_whole < out.shape[1] else 0, len(scores)):
        end = min(begin + len(scores), len(out))
        for e in range(end - begin):
            for c in range(len(start)):
                scores[e, c] = start[c]
        if n_whole == 0 and len(head):
            add_table(*arrays, begin, end, head[0], spots[0], top, scores)
        if len(units):
            add_units(*arrays, begin, end, begins, columns, units, listed, factors, scores)
        for e in range(end - begin):
            for point in range(n_whole, out.shape[1], LANES):
                top_lanes(scores, e, places[1], point, out, begin + e, point)


@kernel
def compress(values, rows, data, indices, indptr):
    # what of some rows is not 0, as CSR; there is room for all of it, and one number more
    stored = 0
    for e in range(len(rows)):
        indptr[e] = stored
        for j in range(values.shape[1]):
            data[at(stored)], indices[at(stored)] = values[rows[e], j], j
            stored += values[rows[e], j] != 0.0
    indptr[len(rows)] = stored
