"""Weighted histograms of scores, and the order of labels within a row.

A score goes by its key, a whole number that grows with it: the bits of 1 + |x| with the sign of x, which is
log2(1 + |x|) in units of 2^-52 with chords between the powers of two, and so much like asinh. Unlike asinh it is the
same on every machine, cannot swap two scores, and costs a tenth.
"""

import numpy as np

from streamnb.kernels.compiler import kernel
from streamnb.kernels.lanes import prefetch

KEY_OF_ONE = 0x3FF0000000000000  # the bits of 1.0


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
def fill(scores, groups, weight, shift, first, bins, table):
    # table[k, bin of scores[i, k], groups[i, k]] += weight[i]; bin b holds the keys with key >> shift[k] equal to
    # first[k] + b - 1; the outermost two are for -infinity and +infinity. Groups have fewer columns, taken in turns; a
    # score whose group is none of the table's is not counted. `bins` is room for that many bins of a few rows, so that
    # far memory is asked for well before it is added to.
    top, n_groups = table.shape[1] - 1, table.shape[2]
    n_ahead, n_own = bins.shape
    for start in range(0, scores.shape[1], n_own):
        for begin in range(0, scores.shape[0], n_ahead):
            n_rows = min(n_ahead, scores.shape[0] - begin)
            for i in range(n_rows):
                for own in range(n_own):
                    if groups[begin + i, own] >= n_groups:
                        continue
                    k, x = start + own, scores[begin + i, start + own]
                    if abs(x) < np.inf:
                        bins[i, own] = (key(x) >> shift[k]) - first[k] + 1
                    else:
                        bins[i, own] = top if x > 0.0 else 0
                    prefetch(table[k], bins[i, own], groups[begin + i, own])
            for i in range(n_rows):
                for own in range(n_own):
                    if groups[begin + i, own] >= n_groups:
                        continue
                    table[start + own, bins[i, own], groups[begin + i, own]] += weight[begin + i]


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
def regrid(old, first, wider, new_first, new):
    # the bins of `old` merged into those of `new`: `wider[k]` doublings wider, counted from new_first[k]
    top = old.shape[1] - 1
    for k in range(old.shape[0]):
        for b in range(top + 1):
            into = b
            if 0 < b < top:
                into = ((first[k] + b - 1) >> wider[k]) - new_first[k] + 1
            for g in range(old.shape[2]):
                if old[k, b, g] != 0.0:
                    new[k, into, g] += old[k, b, g]


@kernel
def widen(table, columns, first, wider, new_first, spare):
    # `regrid` of some columns in their own place, one by one through `spare` (1, n_bins + 2, n_groups)
    for k in columns:
        one = slice(k, k + 1)
        spare[:] = table[one]
        table[one] = 0.0
        regrid(spare, first[one], wider[one], new_first[one], table[one])


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
