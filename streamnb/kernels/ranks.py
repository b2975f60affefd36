"""Weighted histograms of scores, and the ranking loss of labels within a row.

A score is represented by its key, an increasing whole number: the bits of 1 + |x| with the sign of x. This is
log2(1 + |x|) in units of 2^-52, interpolated linearly between powers of two, and so close to asinh. Unlike asinh it is
the same on every machine, never swaps two scores, and takes a tenth of the time.
"""

import numpy as np

from streamnb.kernels.compiler import brick, kernel, part
from streamnb.kernels.exact import two_sum
from streamnb.kernels.lanes import prefetch

KEY_OF_ONE = 0x3FF0000000000000  # the bits of 1.0
SCORES_AHEAD = 16  # rows to prefetch ahead, since their scores are far apart
at = np.uintp  # an unsigned index spares the check for negative ones


@kernel
def key(x):
    """The key of a score, a whole number that does not decrease with the score."""
    k = np.float64(1.0 + abs(x)).view(np.int64) - KEY_OF_ONE
    return -k if x < 0.0 else k


@kernel
def extremes(scores, low, high):
    # low[k], high[k] = smallest and largest finite score of column k, inf and -inf without any; returns whether any is
    # NaN
    low[:], high[:] = np.inf, -np.inf
    fours, total = len(scores) - len(scores) % 4, 0.0
    for i in range(0, fours, 4):  # four at once, so that the extremes are loaded and stored less often
        for k in range(scores.shape[1]):
            a, b, c, d = scores[i, k], scores[i + 1, k], scores[i + 2, k], scores[i + 3, k]
            total += (abs(a) + abs(b)) + (abs(c) + abs(d))
            low[k] = min(low[k], min(min(a, b), min(c, d)))
            high[k] = max(high[k], max(max(a, b), max(c, d)))
    for i in range(fours, len(scores)):
        for k in range(scores.shape[1]):
            total += abs(scores[i, k])
            low[k], high[k] = min(low[k], scores[i, k]), max(high[k], scores[i, k])
    return not total < np.inf and finite_extremes(scores, low, high)


@part
def finite_extremes(scores, low, high):
    # the same where some scores are infinite or NaN
    low[:], high[:], missing = np.inf, -np.inf, False
    for i in range(scores.shape[0]):
        for k in range(scores.shape[1]):
            x = scores[i, k]
            missing |= x != x
            low[k] = x if (abs(x) < np.inf) & (x < low[k]) else low[k]
            high[k] = x if (abs(x) < np.inf) & (x > high[k]) else high[k]
    return missing


@brick
def bin_of(x, shift, first, n_bins):
    """The bin of a score: bin b holds keys with key >> shift == first + b - 1, the outermost two hold infinities."""
    # key(x) >> shift without an unpredictable branch on the sign: -k >> s is the complement of k - 1 >> s
    sign = np.float64(x).view(np.int64) >> 63
    size = np.float64(1.0 + abs(x)).view(np.int64) - KEY_OF_ONE
    within = (((size + sign) >> shift) ^ sign) - first + 1
    return within if abs(x) < np.inf else np.int64(n_bins - 1 if x > 0.0 else 0)


@part
def fill(scores, groups, weight, shift, first, bins, table):
    # table[g, c, bin of scores[i, c, g], groups[i, c]] += weight[i] for model g; its column c has the grid of bins
    # shift[c, g], first[c, g]. As many neighbouring scores as `bins` can hold are counted at once, so that their part
    # of the table stays in the cache for all rows. A table of float64 holds sums and then their errors, groups of each.
    n_models, n_columns, n_bins, n_groups = table.shape
    cells, of_model = table.reshape(-1), n_columns * n_bins * n_groups
    in_pairs, to_error = table.itemsize == 8, at(n_groups // 2)
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
                    cell = start + at(lane * of_model) + at(bins[at(lane)] * n_groups) + group
                    if in_pairs:
                        cells[cell], error = two_sum(cells[cell], w)
                        cells[cell + to_error] += error
                    else:
                        cells[cell] += w


@kernel
def areas(tables, found):
    # found[:, c] = area under the ROC curve of column c and its error bound; its bins (n_bins, 2) count the other rows
    # and the rows of the class. The area is the probability that a row of the class scores higher, ties counted half,
    # NaN without rows of both kinds. The order within a bin is unknown, except in the outermost, with one score each.
    last = tables.shape[1] - 1
    for c in range(len(tables)):
        pairs, tied, n_own, n_rest = 0.0, 0.0, 0.0, 0.0
        for b in range(last, -1, -1):
            rest, own = tables[c, b, 0], tables[c, b, 1]
            pairs += rest * (n_own + 0.5 * own)
            tied += own * rest if 0 < b < last else 0.0
            n_own += own
            n_rest += rest
        some = n_own > 0.0 and n_rest > 0.0
        found[0, c] = min(pairs / (n_own * n_rest), 1.0) if some else np.nan  # rounding may exceed it
        found[1, c] = 0.5 * tied / (n_own * n_rest) if some else np.nan


@kernel
def areas_of_rows(falling, order, own, weight, found):
    # the same of rows: falling[c] are scores times -1, sorted, those of rows order[c]; own[i, c]: row i is of class c
    for c in range(len(order)):
        pairs, n_own, n_rest, i = 0.0, 0.0, 0.0, 0
        while i < len(weight):
            level, level_own, level_rest = falling[c, i], 0.0, 0.0
            while i < len(weight) and falling[c, i] == level:
                row = order[c, i]
                if own[row, c]:
                    level_own += weight[row]
                else:
                    level_rest += weight[row]
                i += 1
            pairs += level_rest * (n_own + 0.5 * level_own)
            n_own += level_own
            n_rest += level_rest
        found[c] = min(pairs / (n_own * n_rest), 1.0) if n_own > 0.0 and n_rest > 0.0 else np.nan


@brick
def add_bin(source, b, target, to):
    # add a bin to another one
    n_groups = source.shape[1]
    if source.itemsize < 8:
        for g in range(n_groups):
            target[to, g] += source[b, g]
        return
    for g in range(n_groups // 2):
        target[to, g], error = two_sum(target[to, g], source[b, g])
        target[to, g + n_groups // 2] += error
        target[to, g + n_groups // 2] += source[b, g + n_groups // 2]


@part
def move_bins(source, first, wider, new_first, target):
    # add the bins (n_bins, n_groups) of one column to those of another grid, 2^wider times as wide, counted from
    # new_first; in pairs as in `fill`
    top, up = len(source) - 1, first - new_first
    add_bin(source, 0, target, 0)
    add_bin(source, top, target, top)
    if wider == 0 and up >= 0:  # bins beyond are empty
        for b in range(1, top - up):
            add_bin(source, b, target, b + up)
        return
    for b in range(1, top):
        to = ((first + b - 1) >> wider) - new_first + 1
        if 0 < to < top:
            add_bin(source, b, target, to)


@kernel
def merge(tables, first, shift, new_first, new_shift, into):
    # add the bins of each column of `tables` to those of a grid that is at least as wide
    for k in range(len(tables)):
        move_bins(tables[k], first[k], new_shift[k] - shift[k], new_first[k], into[k])


@kernel
def make_room(least, most, low, high, shift, spare, table):
    # Extend the bins of each column k, 2^shift[k] keys wide, from the keys low[k] to high[k] to cover least[k] to
    # most[k] too, and widen them as far as needed; `spare` is scratch for one column.
    n_bins = table.shape[1] - 2
    for k in range(len(table)):
        if least[k] < low[k] or most[k] > high[k]:
            filled, before, first = low[k] <= high[k], shift[k], low[k] >> shift[k]
            low[k], high[k] = min(least[k], low[k]), max(most[k], high[k])
            while (high[k] >> shift[k]) - (low[k] >> shift[k]) >= n_bins:
                shift[k] += 1
            new_first = low[k] >> shift[k]
            if filled and (shift[k] != before or new_first != first):
                for b in range(table.shape[1]):  # to copy an array whole would compile ten times as much
                    for group in range(table.shape[2]):
                        spare[b, group] = table[k, b, group]
                table[k] = 0.0
                move_bins(spare, first, shift[k] - before, new_first, table[k])


@kernel
def count_scores(scores, groups, weight, bounds, table, room):
    # Count rows of scores (n, columns, models or more) in the bins of `table` as `fill` does, after widening them as
    # needed; returns whether a score is NaN. Column c of model g is column g * n_columns + c of the table and of
    # `bounds`, the low, high and shift of `make_room`. `room` is scratch.
    low, high, shift = bounds
    ends, keys, grid, spare, bins = room
    n_columns, n_models = grid.shape[1], grid.shape[2]
    missing = extremes(scores.reshape(len(scores), -1), ends[0], ends[1])
    for c in range(n_columns):
        for g in range(n_models):
            for end in range(2):
                keys[end, g * n_columns + c] = key(ends[end, c * scores.shape[2] + g])
    make_room(keys[0], keys[1], low, high, shift, spare, table)
    for c in range(n_columns):
        for g in range(n_models):
            k = g * n_columns + c
            grid[0, c, g], grid[1, c, g] = shift[k], low[k] >> shift[k]
    fill(scores, groups, weight, grid[0], grid[1], bins, table.reshape(n_models, n_columns, table.shape[1], -1))
    return missing


@kernel
def ranking_loss(scores, on, out):
    # out[i] = share of pairs (label on, label off) of row i with scores in the wrong order or equal
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
