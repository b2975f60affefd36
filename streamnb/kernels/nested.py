"""Scores of rows by nested models: each has the features of the one before it with the same weights, and some more.

A row's score changes only at the models where features that it has come in. So rows are taken by columns, in the order
in which features come in, and leave a list of steps, model by model: from that model on, row rows[t] has scores[t].
A step changes the histogram of a model in two places.
"""

import numpy as np

from streamnb.kernels.compiler import brick, kernel
from streamnb.kernels.ranks import bin_of

at = np.uintp  # of an index: unsigned, it need not be looked at whether it counts from the end


@brick
def n_stored(columns, j):
    """How many rows have feature j."""
    stops = columns[2]
    return stops[j] - (stops[j - 1] if j > 0 else 0)


@brick
def add_feature(columns, j, w, first_row, score):
    # score[first_row + i] += x * w for the rows i of some that have x of feature j, by columns as in `columns.turn`
    values, rows, stops = columns
    for p in range(stops[j - 1] if j > 0 else 0, stops[j]):
        score[at(rows[at(p)]) + at(first_row)] += values[at(p)] * w


@brick
def add_and_list(columns, j, w, first_row, score, rows, scores, t):
    """`add_feature` of the one feature that a model has more than the one before it, and `list_rows` of it at once."""
    values, of_rows, stops = columns
    begin = stops[j - 1] if j > 0 else 0
    for p in range(begin, stops[j]):
        i = at(of_rows[at(p)]) + at(first_row)
        x = score[i] + values[at(p)] * w
        score[i], rows[at(t + p - begin)], scores[at(t + p - begin)] = x, i, x
    return t + n_stored(columns, j)


@brick
def list_rows(columns, j, g, first_row, score, latest, rows, scores, t):
    """List the rows that have feature j with their scores from place t on, those once that have others of model g."""
    _, of_rows, stops = columns
    for p in range(stops[j - 1] if j > 0 else 0, stops[j]):
        i = at(of_rows[at(p)]) + at(first_row)
        rows[at(t)], scores[at(t)] = i, score[i]
        t += int(latest[i] != g)
        latest[i] = g
    return t


@brick
def find_bins(scores, begin, end, shift, first, n_bins, bins):
    # those of some scores, from place 0 on: many at once, which they are not where they are counted
    for t in range(begin, end):
        bins[at(t - begin)] = bin_of(scores[at(t)], shift, first, n_bins)


@kernel
def walk(some, others, n_some, order, n_in, weights, score, latest, ends, rows, scores):
    # Rows come by columns: `some`, of which there are n_some, and others, whose numbers follow. Model g has the
    # features order[:n_in[g]], of weights[j]. Its steps end at ends[g]; those of model 0 are all rows, as are those of
    # one whose features come that often, for then it is the shortest. score and latest of each row are 0 before; both
    # are spoilt.
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
    # as `ranks.fill` for weights that are whole numbers and two groups, by the one grid of bins of all models:
    # table[g, bin, group] gains what lies there by model g. `close`, which is 0, has room for the groups of the bins in
    # use and of the outermost two: what lies there by the model whose steps go by stays in the nearest cache. `bins`
    # (2, n) has room for where the rows lie there, and for the bins of a model's steps.
    n_bins, n_rows, places, coming = table.shape[1], bins.shape[1], bins[0], bins[1]
    top, cells = len(close) // 2 - 1, table.reshape(len(table), -1)
    find_bins(scores, 0, n_rows, shift, first, n_bins, coming)
    for row in range(n_rows):  # each once, in their order
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
