"""Scores of rows by nested models: each has the features of the one before it with the same weights, and some more.

A row's score changes only at the models where features that it has come in, so it is a short list of steps: scores[t]
from model points[t] on. Histograms of all models are kept as their differences from one model to the next, which a
step changes in two places.
"""

import numpy as np

from streamnb.kernels.compiler import kernel
from streamnb.kernels.ranks import key
from streamnb.kernels.scores import ROWS_AHEAD, ask_for

WORD = 32  # models whose changes are marked in one number
EXPONENT, BIAS = 52, 1023  # of a power of two: where its exponent stands, and what that of 1 is
at = np.uintp  # of an index: unsigned, it need not be looked at whether it counts from the end


@kernel
def walk(data, indices, indptr, rows, enters, weights, added, marks, ends, points, scores):
    # row rows[e] has the scores that begin where those of the row before end, up to ends[e]; the first is of point 0.
    # Feature j comes in at point enters[j], where len(added) - 1 is none, with weights[j]. What comes in together is
    # added up in the order of j, and scores in the order of points. added and marks (one more than points, a word for
    # each WORD of these) are 0 before and after.
    start, n_points, t = indptr[0], len(added) - 1, 0
    for e in range(len(rows)):
        coming = rows[min(e + ROWS_AHEAD, len(rows) - 1)]
        ask_for(data, indices, indptr[coming] - start, indptr[coming + 1] - start)
        marks[0] = 1
        for p in range(indptr[rows[e]] - start, indptr[rows[e] + 1] - start):
            j = at(indices[at(p)])
            point = np.int64(enters[j])
            added[at(point)] += np.float64(data[at(p)]) * weights[j]
            marks[at(point // WORD)] |= np.int64(1) << (point % WORD)
        score = 0.0
        for word in range(len(marks)):
            left, marks[word] = marks[word], 0
            while left:
                lowest = np.int64(left & -left)
                left ^= lowest
                exponent = np.float64(lowest).view(np.int64) >> EXPONENT
                g = at(WORD * word + exponent - BIAS)
                score += added[g]
                added[g] = 0.0
                points[at(t)], scores[at(t)] = g, score
                t += int(g < at(n_points))
        ends[e] = t


@kernel
def count(ends, points, scores, groups, weight, shift, first, table):
    # as `ranks.fill`, for the one grid of bins of all models: table[bin, group, g] is how much more lies there by model
    # g than by the one before it
    n_bins, begin = table.shape[0], 0
    for e in range(len(ends)):
        group, w, before = groups[e], weight[e], np.int64(-1)
        for t in range(begin, ends[e]):
            x, g = scores[at(t)], at(points[at(t)])
            within = (key(x) >> shift) - first + 1
            b = within if abs(x) < np.inf else np.int64(n_bins - 1 if x > 0.0 else 0)
            if b != before:
                table[at(b), group, g] += w
                if before >= 0:
                    table[at(before), group, g] -= w
                before = b
        begin = ends[e]
