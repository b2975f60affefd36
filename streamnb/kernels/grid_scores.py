"""Scores of rows under every model of a grid of mostly sparse weights.

A row of scores holds R rows of weights, each with its points, padded to a multiple of LANES. The weights of a feature
are stored in two parts. Those of the first points, which are nonzero for most features, are a row of each table
head[b], with one table for LANES points or one for all; column c of it is added to column spots[b, c] of the scores.
The others are in units of LANES neighbouring points of one row of weights, at least one of them nonzero: feature j has
units[t], for the scores from columns[t] on, with t from begins[j] to begins[j + 1].
"""

import numpy as np

from streamnb.kernels.compiler import brick, kernel, part
from streamnb.kernels.lanes import LANES, prefetch, put, take
from streamnb.kernels.ranks import count_scores
from streamnb.kernels.scores import ROWS_AHEAD, add_table, ask_for

LISTED = 512  # units that are listed before they are added
ROOM = LISTED + 2 * LANES  # size of the list, with spare entries for writing and reading beyond its end
UNITS_AHEAD = 2 * LANES  # units to prefetch ahead
ROWS_AT_ONCE = 16  # few enough that the rows are still in the cache when their units are added
at = np.uintp  # an unsigned index spares the check for negative ones


@kernel
def count_units(indices, indptr, where, latest, ends):
    # ends[g] += number of units of weights in CSR whose last point is g; `where` (4, n_columns) has, for each column,
    # its point, its row of weights, the target of its unit and its position in the unit; latest (2, n_rows), -1 on
    # entry, has the last feature and column of each row of weights
    for j in range(len(indptr) - 1):
        for p in range(indptr[j], indptr[j + 1]):
            c = indices[p]
            r, last = where[1, c], latest[1, where[1, c]]
            if latest[0, r] == j and where[2, last] == where[2, c]:
                ends[where[0, last]] -= 1
            ends[where[0, c]] += 1
            latest[0, r], latest[1, r] = j, c


@kernel
def fill_units(data, indices, indptr, where, places, latest, first, head, begins, columns, units):
    # store the same weights of the features from `first` on: the first columns c in head[places[c, 0], :, places[c,
    # 1]], the others as units; head and units are 0 and latest is -1 on entry
    t = 0
    for j in range(len(indptr) - 1):
        begins[j] = t
        for p in range(indptr[j], indptr[j + 1]):
            c = indices[p]
            if c < len(places):
                head[places[c, 0], first + j, places[c, 1]] = data[p]
                continue
            r = where[1, c]
            if latest[r] < begins[j] or columns[latest[r]] != where[2, c]:
                latest[r], columns[t] = t, where[2, c]
                t += 1
            units[latest[r], where[3, c]] = data[p]
    begins[len(indptr) - 1] = t


@brick
def add_listed(listed, factors, n_listed, columns, units, out, e):
    # out[e, columns[t] + l] += factors[q] * units[t, l] for t = listed[q], q < n_listed
    for q in range(n_listed):
        prefetch(units, listed[at(q + UNITS_AHEAD)], 0)
        t = listed[at(q)]
        c = columns[at(t)]
        put(out, e, c, take(out, e, c, LANES) + factors[at(q)] * take(units, t, 0, LANES))


@part
def add_units(data, indices, indptr, rows, begin, end, begins, columns, units, listed, factors, out):
    # out[e - begin, columns[t] + l] += x[rows[e], j] * units[t, l] for the units t of each stored j, in the order of j,
    # and e from begin to end. Units are listed before they are added, since branch prediction cannot guess their
    # number.
    start = indptr[0]
    for e in range(begin, end):
        coming = rows[min(e + ROWS_AHEAD, len(rows) - 1)]
        ask_for(data, indices, indptr[coming] - start, indptr[coming + 1] - start)
        n_listed = np.intp(0)  # a literal would be compiled separately
        for p in range(indptr[rows[e]] - start, indptr[rows[e] + 1] - start):
            j, x = at(indices[at(p)]), np.float64(data[at(p)])
            t = begins[j]
            n_units = begins[j + at(1)] - t
            if n_units > LANES or n_listed > LISTED - LANES:
                add_listed(listed, factors, n_listed, columns, units, out, e - begin)
                n_listed = np.intp(0)
            if n_units > LANES:
                for u in range(t, t + n_units):
                    c = columns[at(u)]
                    put(out, e - begin, c, take(out, e - begin, c, LANES) + x * take(units, u, 0, LANES))
            else:
                for lane in range(LANES):  # of which n_units count
                    listed[at(n_listed) + at(lane)], factors[at(n_listed) + at(lane)] = t + lane, x
                n_listed += n_units
        add_listed(listed, factors, n_listed, columns, units, out, e - begin)


@kernel
def add_csr(arrays, weights, spare, out):
    # out[e] += scores of row rows[e] of the arrays; few rows at a time, so that they are still in the cache when read
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
def count_csr(arrays, weights, spare, intercepts, groups, weight, bounds, table, room, out):
    # as `add_csr`, then `ranks.count_scores`: as many rows at a time as `out` can hold, so that scores stay in the
    # cache
    data, indices, indptr, rows = arrays
    missing = False
    for begin in range(0, len(rows), len(out)):
        end = min(begin + len(out), len(rows))
        scores = out[: end - begin]
        for e in range(end - begin):
            for g in range(len(intercepts)):
                scores[e, g] = intercepts[g]
        add_csr((data, indices, indptr, rows[begin:end]), weights, spare, scores)
        by_column = scores.reshape(end - begin, 1, scores.shape[1])
        missing |= count_scores(by_column, groups[begin:end], weight[begin:end], bounds, table, room)
    return missing


@kernel
def compress(values, rows, data, indices, indptr):
    # the nonzero values of some rows as CSR, in float64; the output has space for all values and one more
    stored = 0
    for e in range(len(rows)):
        indptr[e] = stored
        for j in range(values.shape[1]):
            data[at(stored)], indices[at(stored)] = values[rows[e], j], j
            stored += values[rows[e], j] != 0.0
    indptr[len(rows)] = stored


@kernel
def pick(data, indices, indptr, rows, picked_data, picked_indices, picked_indptr):
    # copy some rows, contiguously
    start, stored = indptr[0], 0
    for e in range(len(rows)):
        coming = rows[min(e + ROWS_AHEAD, len(rows) - 1)]
        ask_for(data, indices, indptr[coming] - start, indptr[coming + 1] - start)
        picked_indptr[e] = stored
        for p in range(indptr[rows[e]] - start, indptr[rows[e] + 1] - start):
            picked_data[at(stored)], picked_indices[at(stored)] = data[at(p)], indices[at(p)]
            stored += 1
    picked_indptr[len(rows)] = stored
