"""Scores under nested models, each of which adds features to the one before it.

The score of a row changes only at models that add one of its features. So rows are processed by column, in the order in
which features enter, and produce a list of steps, model by model: from that model on, row rows[t] has scores[t].
A step changes two bins of a histogram.
"""

import numpy as np

from streamnb.kernels.compiler import brick, kernel
from streamnb.kernels.ranks import bin_of

at = np.uintp  # an unsigned index spares the check for negative ones


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
