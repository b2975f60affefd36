"""Scores of rows by nested models: each has the features of the one before it with the same weights, and some more.

A row's score changes only at the models where features that it has come in. So rows are taken by columns, in the order
in which features come in, and leave a list of steps, model by model: from that model on, row rows[t] has scores[t].
Histograms of all models are kept as their differences from one model to the next, which a step changes in two places.
"""

import numpy as np

from streamnb.kernels.compiler import kernel
from streamnb.kernels.ranks import bin_of

at = np.uintp  # of an index: unsigned, it need not be looked at whether it counts from the end


@kernel
def walk(values, of_rows, stops, order, n_in, weights, score, latest, ends, rows, scores):
    # Column j of the rows is of_rows[p], values[p] for p from stops[j - 1] to stops[j]. Model g has the features
    # order[:n_in[g]], of weights[j]. Its steps end at ends[g]; those of model 0 are all rows. Of each row, score is 0
    # and latest is 0 before; both are spoilt.
    t = begin = 0
    for g in range(len(n_in)):
        for f in range(begin, n_in[g]):
            j, w = order[f], weights[order[f]]
            for p in range(stops[j - 1] if j > 0 else 0, stops[j]):
                score[at(of_rows[at(p)])] += values[at(p)] * w
        if g == 0:
            for i in range(len(score)):
                rows[at(t)], scores[at(t)] = i, score[at(i)]
                t += 1
        else:
            for f in range(begin, n_in[g]):
                j = order[f]
                for p in range(stops[j - 1] if j > 0 else 0, stops[j]):
                    i = at(of_rows[at(p)])
                    rows[at(t)], scores[at(t)] = i, score[i]
                    t += int(latest[i] != g)  # once, however many of these features it has
                    latest[i] = g
        ends[g], begin = t, n_in[g]


@kernel
def count(ends, rows, scores, groups, weight, shift, first, bins, table):
    # as `ranks.fill`, for the one grid of bins of all models: table[g, bin, group] is how much more lies there by model
    # g than by the one before it; `bins` has room for those of the rows
    n_bins = table.shape[1]
    begin = len(bins)
    for i in range(begin):
        bins[i] = bin_of(scores[at(i)], shift, first, n_bins)
        table[0, at(bins[i]), groups[i]] += weight[i]
    for g in range(len(ends)):
        for t in range(begin, ends[g]):
            i = at(rows[at(t)])
            group, w, b = at(groups[i]), weight[i], bin_of(scores[at(t)], shift, first, n_bins)
            table[at(g), at(b), group] += w
            table[at(g), at(bins[i]), group] -= w
            bins[i] = b
        begin = ends[g]
