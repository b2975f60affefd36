"""Decisions of many models on the same rows, in single precision first, and counts of how often they are right.

Weights are laid out as in `grid_scores`, in float32: SINGLES points, one cache line, are a table or a unit. Each sum of
products comes with the sum of their absolute values. A sum of n products of rounded factors is off by less than
(n + 2) u times the latter, to first order in u = 2^-24 (Higham 2002, section 3.1), whatever the order of additions. So
scores that differ by more have the same order as in float64.
"""

import numpy as np

from streamnb.kernels.compiler import brick, kernel, part
from streamnb.kernels.exact import two_sum
from streamnb.kernels.grid_scores import LISTED, UNITS_AHEAD, at
from streamnb.kernels.lanes import (
    LANES,
    SINGLES,
    absolute,
    any_below,
    chosen,
    plus_product,
    prefetch,
    put,
    spread,
    take,
)
from streamnb.kernels.scores import ROWS_AHEAD, ask_for

SMALLEST, LARGEST = 2.0**-50, 2.0**50  # range of nonzero numbers in which no product underflows and no sum overflows
LONGEST = 1 << 22  # stored values of a row; with more, errors may reach a quarter
OF_START = np.float32(2.0**-22)  # of the size of a start, the error of adding to it
AHEAD = 8  # values of a row to prefetch ahead
STRETCH = 1 << 12  # values checked before an early exit


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
    """The error bound of a sum of n products, relative to the sum of absolute values: twice the first order."""
    return np.float32(2.0**-23 * (n + 4))


@brick
def screen_value(p, data, indices, stop, table, column, sums, sizes):
    # sums + data[p] * table[indices[p], column + lane], and sizes + absolute values, in SINGLES lanes
    prefetch(table, indices[at(min(p + AHEAD, stop - 1))], column)
    x, weights = spread(np.float32(data[at(p)]), SINGLES), take(table, indices[at(p)], column, SINGLES)
    return plus_product(sums, x, weights), plus_product(sizes, absolute(x), absolute(weights))


@brick
def screen_lanes(out, column, data, indices, first, stop, table):
    # out[0, column + lane] = sum over p from first to stop of data[p] * table[indices[p], column + lane] in SINGLES
    # lanes, and out[1, ..] of absolute values. Two sums in turns hide latency. Summing more columns at a time is not
    # faster: several rounds with prefetching load the lines of the table sooner.
    sums, sizes = spread(np.float32(0.0), SINGLES), spread(np.float32(0.0), SINGLES)
    others, other_sizes = sums, sizes
    rest = stop - (stop - first) % 2
    for p in range(first, rest, 2):
        sums, sizes = screen_value(p, data, indices, stop, table, column, sums, sizes)
        others, other_sizes = screen_value(p + 1, data, indices, stop, table, column, others, other_sizes)
    for p in range(rest, stop):
        sums, sizes = screen_value(p, data, indices, stop, table, column, sums, sizes)
    put(out, 0, column, sums + others)
    put(out, 1, column, sizes + other_sizes)


@brick
def screen_unit(out, column, x, table, j):
    # out[0, column + lane] += x * table[j, lane] and out[1, ..] absolute values in SINGLES lanes
    x, weights = spread(x, SINGLES), take(table, j, 0, SINGLES)
    put(out, 0, column, plus_product(take(out, 0, column, SINGLES), x, weights))
    put(out, 1, column, plus_product(take(out, 1, column, SINGLES), absolute(x), absolute(weights)))


@brick
def screen_top(sums, places, column, start, point, share, out, row):
    # out[row, point + lane] = the first k where s = start[k, point + lane] + sums[0, c + lane] is largest, in SINGLES
    # lanes; c is places[k] + column, and sums[1, c + lane] the sum of absolute values. Returns whether some s is so
    # close to the largest that rounding may have changed their order: each is off by at most share * sums[1, c + lane]
    # + 2^-22 * abs(start).
    lowest = spread(np.float32(-np.inf), SINGLES)
    highest, lowest_of_it, most_of_it, most_of_others = lowest, lowest, lowest, lowest
    top, share = spread(np.float32(0.0), SINGLES), spread(share, SINGLES)
    for k in range(len(places)):
        c, begin = places[at(k)] + column, take(start, k, point, SINGLES)
        score = begin + take(sums, 0, c, SINGLES)
        slack = plus_product(OF_START * absolute(begin), share, take(sums, 1, c, SINGLES))
        other = chosen(score, highest, most_of_it, score + slack)
        most_of_others = chosen(other, most_of_others, other, most_of_others)
        most_of_it = chosen(score, highest, score + slack, most_of_it)
        lowest_of_it = chosen(score, highest, score - slack, lowest_of_it)
        top = chosen(score, highest, spread(np.float32(k), SINGLES), top)
        highest = chosen(score, highest, score, highest)
    put(sums, 0, 0, top)
    for lane in range(SINGLES):
        out[row, point + lane] = sums[0, at(lane)]
    return any_below(lowest_of_it, most_of_others)


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
    # the same for the units of each stored j; the j that have any are found first, without branches
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
                for lane in range(LANES):  # of which n_units count
                    listed[at(n_listed) + at(lane)], factors[at(n_listed) + at(lane)] = t + lane, x
                n_listed += n_units
        add_listed(listed, factors, n_listed, columns, units, sums)


@brick
def bring(table):
    """Return the sum of one number of each cache line: reading in order loads a table faster than scattered rows do."""
    total = np.float32(0.0)
    for j in range(table.shape[0]):
        for c in range(0, table.shape[1], SINGLES):
            total += table[j, c]
    return total


@brick
def wants_most(data, indptr, rows, n_features):
    """Return whether some rows of a block store so many values that they may cover most features."""
    return len(rows) * len(data) >= (len(indptr) - 1) * n_features


@part
def screen_block(data, indices, indptr, rows, table, top, start, point, places, out, open_rows):
    # as screen_csr, for SINGLES points from `point` on, with all weights in the table. One table at a time for all
    # rows, so that the table stays in the cache.
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
    # out[e, g] = the class k with the highest score of row rows[e] at point g, the first of several; open_rows[e]
    # becomes True where rounding might have changed it. The score of class k is start[k] plus the sum for the row, in
    # column places[1, k] of `sums`, or places[0, k] for SINGLES points alone, for which the head has one table each up
    # to n_whole; `in_place` says whether the columns of a single table are those of `sums`.
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


FEW = 4  # classes, up to which each is counted in a loop of its own


@kernel
def top_class(scores, top, out):
    # out[i, g] = the first k where scores[i, k, g] is largest; `top` is scratch for each g
    for i in range(scores.shape[0]):
        for g in range(scores.shape[2]):  # to copy an array whole would compile what puts its shape into an error
            top[g], out[i, g] = scores[i, 0, g], 0
        for k in range(1, scores.shape[1]):
            for g in range(scores.shape[2]):
                higher = scores[i, k, g] > top[g]
                out[i, g] = k if higher else out[i, g]
                top[g] = scores[i, k, g] if higher else top[g]


@kernel
def below_top(scores, out):
    # out[i, k] = scores[i, k] minus the largest score of row i, or minus 0 where that is -inf; 0 for scores of inf
    for i in range(scores.shape[0]):
        top = scores[i, 0]
        for k in range(1, scores.shape[1]):
            top = max(top, scores[i, k])
        if top == -np.inf:
            top = 0.0
        for k in range(scores.shape[1]):
            out[i, k] = 0.0 if scores[i, k] == top else scores[i, k] - top


@kernel
def others(mass, top):
    # replace each number of row i by the sum of the others; top[i] is the column of the largest, which is 1 and would
    # cancel if it were subtracted from the sum of all
    for i in range(mass.shape[0]):
        mass[i, top[i]] = 0.0
        beside = 0.0
        for k in range(mass.shape[1]):
            beside += mass[i, k]
        for k in range(mass.shape[1]):
            mass[i, k] = 1.0 + (beside - mass[i, k])
        mass[i, top[i]] = beside


@kernel
def row_sums(values, out):
    # out[i] = sum of row i
    for i in range(values.shape[0]):
        total = 0.0
        for k in range(values.shape[1]):
            total += values[i, k]
        out[i] = total


@kernel
def count_decisions(labels, weight, decided, hit, predicted, table):
    # from decided[i, g] of each model g: hit[0, k, g] += weight[i] for correct decisions of class k, predicted[0, g, k]
    # += weight[i] for all decisions of class k, and table[0, g, true, decided] if there is a table. Their rounding
    # errors are hit[1], ..
    for i in range(decided.shape[0]):
        k, w = labels[i], weight[i]
        for g in range(predicted.shape[1]):
            found = decided[i, g]
            predicted[0, g, found], error = two_sum(predicted[0, g, found], w)
            predicted[1, g, found] += error
            if table.shape[1]:
                table[0, g, k, found], error = two_sum(table[0, g, k, found], w)
                table[1, g, k, found] += error
        for g in range(predicted.shape[1]):  # a separate loop without branches is vectorised
            right = w if decided[i, g] == k else 0.0
            hit[0, k, g], error = two_sum(hit[0, k, g], right)
            hit[1, k, g] += error


@kernel
def count_rows(labels, decided, hit, predicted):
    # the same for unweighted rows, in whole numbers: hit[k, g] and predicted[k, g]
    few = len(predicted) <= FEW
    for i in range(len(labels)):
        k, of_row = np.int32(labels[i]), decided[i]
        hits = hit[labels[i]]
        for g in range(len(hits)):
            hits[g] += np.int32(of_row[g] == k)
        for c in range(len(predicted) if few else 0):  # without branches, so that it is vectorised
            of_class = predicted[c]
            for g in range(len(hits)):
                of_class[g] += np.int32(of_row[g] == np.int32(c))
        for g in range(0 if few else len(hits)):
            predicted[of_row[g], g] += np.int32(1)
