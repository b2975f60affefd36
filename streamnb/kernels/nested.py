"""Scores of rows by nested models: each has the features of the one before it with the same weights, and some more.

A row's score changes only at the models where features that it has come in. So rows are taken by columns, in the order
in which features come in, and leave a list of steps, model by model: from that model on, row rows[t] has scores[t].
Histograms of all models are kept as their differences from one model to the next, which a step changes in two places.
"""

import numpy as np

from streamnb.kernels.compiler import brick, kernel
from streamnb.kernels.ranks import bin_of

at = np.uintp  # of an index: unsigned, it need not be looked at whether it counts from the end


@brick
def add_feature(columns, j, w, first_row, score):
    # score[first_row + i] += x * w for the rows i of some that have x of feature j, by columns as in `columns.turn`
    values, rows, stops = columns
    for p in range(stops[j - 1] if j > 0 else 0, stops[j]):
        score[at(rows[at(p)]) + at(first_row)] += values[at(p)] * w


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


@kernel
def walk(some, others, n_some, order, n_in, weights, score, latest, ends, rows, scores):
    # Rows come by columns: `some`, of which there are n_some, and others, whose numbers follow. Model g has the
    # features order[:n_in[g]], of weights[j]. Its steps end at ends[g]; those of model 0 are all rows. score and latest
    # of each row are 0 before; both are spoilt.
    t = begin = 0
    for g in range(len(n_in)):
        for f in range(begin, n_in[g]):
            add_feature(some, order[f], weights[order[f]], 0, score)
            add_feature(others, order[f], weights[order[f]], n_some, score)
        for i in range(len(score) if g == 0 else 0):
            rows[at(i)], scores[at(i)] = i, score[at(i)]
        t += len(score) if g == 0 else 0
        for f in range(begin if g > 0 else n_in[g], n_in[g]):
            t = list_rows(some, order[f], g, 0, score, latest, rows, scores, t)
            t = list_rows(others, order[f], g, n_some, score, latest, rows, scores, t)
        ends[g], begin = t, n_in[g]


@kernel
def count(ends, rows, scores, groups, weight, shift, first, bins, table):
    # as `ranks.fill`, for the one grid of bins of all models: table[g, bin, group] is how much more lies there by model
    # g than by the one before it; `bins` has room for those of the rows
    n_bins = table.shape[1]
    begin = len(bins)
    for row in range(begin):  # each once, in their order
        bins[row] = bin_of(scores[at(row)], shift, first, n_bins)
        table[0, at(bins[row]), groups[row]] += weight[row]
    for g in range(len(ends)):
        for t in range(begin, ends[g]):
            i = at(rows[at(t)])
            group, w, b = at(groups[i]), weight[i], bin_of(scores[at(t)], shift, first, n_bins)
            table[at(g), at(b), group] += w
            table[at(g), at(bins[i]), group] -= w
            bins[i] = b
        begin = ends[g]
