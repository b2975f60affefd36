"""Weighted histograms of scores, and the order of labels within a row.

A score goes by its key, a whole number that grows with it: the bits of 1 + |x| with the sign of x, which is
log2(1 + |x|) in units of 2^-52 with chords between the powers of two, and so much like asinh. Unlike asinh it is the
same on every machine, cannot swap two scores, and costs a tenth.
"""

import numpy as np

from streamnb.kernels.compiler import kernel
from streamnb.kernels.lanes import LANES, prefetch

KEY_OF_ONE = 0x3FF0000000000000  # the bits of 1.0
SCORES_AHEAD = 16  # that are asked for: those of other rows lie far apart


@kernel
def key(x):
    """The whole number that stands for a score; never less for a larger score."""
    k = np.float64(1.0 + abs(x)).view(np.int64) - KEY_OF_ONE
    return -k if x < 0.0 else k


@kernel
def extremes(scores, low, high):
    # low[k], high[k] = least and largest finite score of column k, those given included
    for i in range(scores.shape[0]):
        for k in range(scores.shape[1]):
            x = scores[i, k]
            if abs(x) < np.inf:
                low[k] = min(low[k], x)
                high[k] = max(high[k], x)


@kernel
def fill(scores, groups, weight, shift, first, spare, table):
    # table[g, c, bin of scores[i, c, g], groups[i, c]] += weight[i] for model g; bin b holds the keys with
    # key >> shift[c, g] equal to first[c, g] + b - 1; the outermost two are for -infinity and +infinity. A score whose
    # group is none of the table's is not counted. `spare` is room for the numbers of all rows and for LANES bins: so
    # many neighbouring scores are counted at once, and their part of the table is close while the rows go by.
    rows, bins = spare
    n_models, n_columns, n_bins, n_groups = table.shape
    for c in range(n_columns):
        n_counted = 0
        for i in range(len(scores)):
            rows[n_counted] = i
            n_counted += groups[i, c] < n_groups
        for begin in range(0, n_models, LANES):
            width = min(LANES, n_models - begin)
            for e in range(n_counted):
                i = rows[e]
                prefetch(scores[rows[min(e + SCORES_AHEAD, n_counted - 1)]], c, begin)
                for lane in range(width):
                    g, x = begin + lane, scores[i, c, begin + lane]
                    within = (key(x) >> shift[c, g]) - first[c, g] + 1
                    bins[lane] = within if abs(x) < np.inf else (n_bins - 1 if x > 0.0 else 0)
                for lane in range(width):
                    table[begin + lane, c, bins[lane], groups[i, c]] += weight[i]


@kernel
def auc(own, rest):
    # probability that an own row stands above another, ties counted half; NaN unless there are both
    pairs, n_own, n_rest = 0.0, 0.0, 0.0
    for b in range(len(own)):
        pairs += rest[b] * (n_own + 0.5 * own[b])
        n_own += own[b]
        n_rest += rest[b]
    return pairs / (n_own * n_rest) if n_own > 0.0 and n_rest > 0.0 else np.nan


@kernel
def regrid(old, first, wider, new_first, n_groups, new):
    # the bins of `old` added to those of `new`: `wider[k]` doublings wider, counted from new_first[k]; a bin is
    # n_groups neighbouring numbers of a row
    top = old.shape[1] - n_groups
    for k in range(old.shape[0]):
        source, target, up = old[k], new[k], n_groups * (first[k] - new_first[k])
        for c in range(n_groups):
            target[c] += source[c]
            target[top + c] += source[top + c]
        if wider[k] == 0 and up >= 0:  # bins that stay as they are move all at once
            for c in range(n_groups, top - up):
                target[c + up] += source[c]
            continue
        for begin in range(n_groups, top, n_groups):
            to = n_groups * (((first[k] + begin // n_groups - 1) >> wider[k]) - new_first[k] + 1)
            for g in range(n_groups):
                if source[begin + g] != 0.0:
                    target[to + g] += source[begin + g]


@kernel
def widen(table, columns, first, wider, new_first, n_groups, spare):
    # `regrid` of some columns in their own place, one by one through `spare` (1, numbers of a column)
    for k in columns:
        one = slice(k, k + 1)
        spare[:] = table[one]
        table[one] = 0.0
        regrid(spare, first[one], wider[one], new_first[one], n_groups, table[one])


@kernel
def ranking_loss(scores, on, out):
    # out[i] = share of pairs (label on, label off) of row i whose scores stand in the wrong order or are equal
    n_labels = scores.shape[1]
    for i in range(scores.shape[0]):
        wrong = 0
        n_on = 0
        for j in range(n_labels):
            if on[i, j]:
                n_on += 1
                for k in range(n_labels):
                    if not on[i, k] and scores[i, j] <= scores[i, k]:
                        wrong += 1
        n_pairs = n_on * (n_labels - n_on)
        out[i] = wrong / n_pairs if n_pairs else 0.0
