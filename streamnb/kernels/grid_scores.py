"""Scores of rows under every model of a grid of mostly sparse weights.

A row of scores holds R rows of weights, each with its points, padded to a multiple of LANES. The weights of a feature
are stored in two parts. Those of the first points, which are nonzero for most features, are a row of each table
head[b], with one table for LANES points or one for all; column c of it is added to column spots[b, c] of the scores.
The others are in units of LANES neighbouring points of one row of weights, at least one of them nonzero: feature j has
units[t], for the scores from columns[t] on, with t from begins[j] to begins[j + 1].

Under nested models, each of which adds features to the one before it, the score of a row changes only at models that
add one of its features. So rows are processed by column, in the order in which features enter, and produce a list of
steps, model by model: from that model on, row rows[t] has scores[t]. A step changes two bins of a histogram.
"""

import numpy as np

from streamnb.kernels.compiler import brick, kernel, part
from streamnb.kernels.lanes import LANES, prefetch, put, take
from streamnb.kernels.ranks import bin_of, count_scores
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


@brick
def n_stored(columns, j):
    """The number of rows that have feature j."""
    stops = columns[2]
    return stops[j] - (stops[j - 1] if j > 0 else 0)


@brick
def add_feature(columns, j, w, first_row, score):
    # score[first_row + i] += x * w for the rows i with value x of feature j, by columns as in `columns.turn`
    values, rows, stops = columns
    for p in range(stops[j - 1] if j > 0 else 0, stops[j]):
        score[at(rows[at(p)]) + at(first_row)] += values[at(p)] * w


@brick
def add_and_list(columns, j, w, first_row, score, rows, scores, t):
    """`add_feature` and `list_rows` in one loop, for a model that adds a single feature."""
    values, of_rows, stops = columns
    begin = stops[j - 1] if j > 0 else 0
    for p in range(begin, stops[j]):
        i = at(of_rows[at(p)]) + at(first_row)
        x = score[i] + values[at(p)] * w
        score[i], rows[at(t + p - begin)], scores[at(t + p - begin)] = x, i, x
    return t + n_stored(columns, j)


@brick
def list_rows(columns, j, g, first_row, score, latest, rows, scores, t):
    """List the rows that have feature j, with their scores, from position t on; each row only once for model g."""
    _, of_rows, stops = columns
    for p in range(stops[j - 1] if j > 0 else 0, stops[j]):
        i = at(of_rows[at(p)]) + at(first_row)
        rows[at(t)], scores[at(t)] = i, score[i]
        t += int(latest[i] != g)
        latest[i] = g
    return t


@brick
def find_bins(scores, begin, end, shift, first, n_bins, bins):
    # the bins of scores[begin:end], stored from 0 on: a separate loop is vectorised, unlike counting
    for t in range(begin, end):
        bins[at(t - begin)] = bin_of(scores[at(t)], shift, first, n_bins)


@kernel
def walk(some, others, n_some, order, n_in, weights, score, latest, ends, rows, scores):
    # Rows are given by columns: n_some rows `some`, then others, numbered after them. Model g has the features
    # order[:n_in[g]] with weights[j]. Its steps end at ends[g]; model 0 has a step for every row, as has a model whose
    # new features occur so often that this is shorter. score and latest are 0 on entry, and overwritten.
    t = begin = 0
    for g in range(len(n_in)):
        if g > 0 and n_in[g] == begin + 1:
            j = order[begin]
            t = add_and_list(some, j, weights[j], 0, score, rows, scores, t)
            t = add_and_list(others, j, weights[j], n_some, score, rows, scores, t)
            ends[g], begin = t, n_in[g]
            continue
        n_changes = 0
        for f in range(begin, n_in[g]):
            add_feature(some, order[f], weights[order[f]], 0, score)
            add_feature(others, order[f], weights[order[f]], n_some, score)
            n_changes += n_stored(some, order[f]) + n_stored(others, order[f])
        every = g == 0 or n_changes >= len(score)
        for i in range(len(score) if every else 0):
            rows[at(t + i)], scores[at(t + i)] = i, score[at(i)]
        t += len(score) if every else 0
        for f in range(n_in[g] if every else begin, n_in[g]):
            t = list_rows(some, order[f], g, 0, score, latest, rows, scores, t)
            t = list_rows(others, order[f], g, n_some, score, latest, rows, scores, t)
        ends[g], begin = t, n_in[g]


@kernel
def count(ends, rows, scores, groups, weight, shift, first, bins, close, table):
    # as `ranks.fill` for whole weights and two groups, with one grid of bins for all models: adds the counts of model g
    # to table[g, bin, group]. `close`, 0 on entry, holds the counts of the current model in the bins in use and the
    # outermost two, so that they stay in the L1 cache. `bins` (2, n) is scratch for the bins of the rows, and of the
    # steps of a model.
    n_bins, n_rows, places, coming = table.shape[1], bins.shape[1], bins[0], bins[1]
    top, cells = len(close) // 2 - 1, table.reshape(len(table), -1)
    find_bins(scores, 0, n_rows, shift, first, n_bins, coming)
    for row in range(n_rows):  # each once, in order
        places[row] = 2 * min(coming[row], top) + groups[row]
        close[at(places[row])] += weight[row]
    begin = n_rows
    for g in range(len(ends)):
        find_bins(scores, begin, ends[g], shift, first, n_bins, coming)
        for t in range(begin, ends[g]):
            i = at(rows[at(t)])
            before, w = places[i], weight[i]
            now = 2 * min(coming[at(t - begin)], top) + (before & 1)
            close[at(now)] += w
            close[at(before)] -= w
            places[i] = now
        of_model = cells[g]
        for c in range(2 * top):
            of_model[at(c)] += close[at(c)]
        for group in range(2):
            of_model[2 * (n_bins - 1) + group] += close[2 * top + group]
        begin = ends[g]
