"""Weighted histograms of scores, and the order of labels within a row.

A score goes by its key, a whole number that grows with it: the bits of 1 + |x| with the sign of x, which is
log2(1 + |x|) in units of 2^-52 with chords between the powers of two, and so much like asinh. Unlike asinh it is the
same on every machine, cannot swap two scores, and costs a tenth.
"""

import numpy as np

from streamnb.kernels.compiler import brick, kernel
from streamnb.kernels.lanes import prefetch

KEY_OF_ONE = 0x3FF0000000000000  # the bits of 1.0
SCORES_AHEAD = 16  # that are asked for: those of other rows lie far apart
at = np.uintp  # of an index: unsigned, it need not be looked at whether it counts from the end


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
            low[k] = x if (abs(x) < np.inf) & (x < low[k]) else low[k]  # without jumps, so that it takes vectors
            high[k] = x if (abs(x) < np.inf) & (x > high[k]) else high[k]


@brick
def bin_of(x, shift, first, n_bins):
    """The bin of a score: b holds keys with key >> shift equal to first + b - 1, the outermost two the infinities."""
    # key(x) >> shift without a jump at the sign, which nobody foresees: -k >> s is the complement of k - 1 >> s
    sign = np.float64(x).view(np.int64) >> 63
    size = np.float64(1.0 + abs(x)).view(np.int64) - KEY_OF_ONE
    within = (((size + sign) >> shift) ^ sign) - first + 1
    return within if abs(x) < np.inf else np.int64(n_bins - 1 if x > 0.0 else 0)


@kernel
def fill(scores, groups, weight, shift, first, bins, table):
    # table[g, c, bin of scores[i, c, g], groups[i, c]] += weight[i] for model g; column c of it has the grid of bins
    # shift[c, g], first[c, g]. As many neighbouring scores as `bins` has room for are counted at once: their part of
    # the table is close while the rows go by.
    n_models, n_columns, n_bins, n_groups = table.shape
    cells, of_model = table.reshape(-1), n_columns * n_bins * n_groups
    for c in range(n_columns):
        for begin in range(0, n_models, len(bins)):
            width = min(len(bins), n_models - begin)
            start = at(begin * of_model + c * n_bins * n_groups)
            for i in range(len(scores)):
                prefetch(scores[min(i + SCORES_AHEAD, len(scores) - 1)], c, begin)
                for lane in range(width):
                    g = begin + lane
                    bins[at(lane)] = bin_of(
                        scores[at(i), at(c), at(g)], shift[at(c), at(g)], first[at(c), at(g)], n_bins
                    )
                group, w = at(groups[at(i), at(c)]), weight[at(i)]
                for lane in range(width):
                    cells[start + at(lane * of_model) + at(bins[at(lane)] * n_groups) + group] += w


@kernel
def areas(tables, nested, sums, found):
    # found[:, c] = the area of column c and a bound on its error: its bins (n_bins, 2) hold the others and the own
    # rows, or with `nested` how much more than those of the column before it. Areas as in `auc`; what shares a bin
    # other than the outermost, which hold one score each, may stand in any order. `sums` has room for the bins.
    last = tables.shape[1] - 1
    sums[:] = 0.0
    for c in range(len(tables)):
        pairs, tied, n_own, n_rest = 0.0, 0.0, 0.0, 0.0
        for b in range(last, -1, -1):
            rest, own = tables[c, b, 0], tables[c, b, 1]
            if nested:
                rest += sums[b, 0]
                own += sums[b, 1]
                sums[b, 0], sums[b, 1] = rest, own
            pairs += rest * (n_own + 0.5 * own)
            tied += own * rest if 0 < b < last else 0.0
            n_own += own
            n_rest += rest
        some = n_own > 0.0 and n_rest > 0.0
        found[0, c] = pairs / (n_own * n_rest) if some else np.nan
        found[1, c] = 0.5 * tied / (n_own * n_rest) if some else np.nan


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
