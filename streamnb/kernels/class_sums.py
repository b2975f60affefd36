"""Sums of a function of each feature by group: CSR or dense, plain for integers, (hi, lo) pairs otherwise.

Low parts are (n_parts, n_groups, n_features): with one part, digits beyond it are lost; with three, none are.

An entry e puts row rows[e] into group codes[e] with weight[e]; a row may have several entries, or none.
Values are converted by np.float64, since numba's float() leaves float32 unchanged.
"""

import math

import numpy as np

from streamnb.kernels.compiler import brick, kernel, part
from streamnb.kernels.exact import add_low, spill, two_product, two_sum
from streamnb.kernels.lanes import prefetch

# Moments as numbered in kernels. ABOVE and DEVIATION are counted relative to an absent value, so that sparse rows
# stay sparse; LOG and INVERSE have no value there, nor below zero.
SUM, SUM_SQ, NONZERO, ABOVE, LOG, INVERSE, LOG1M, DEVIATION = 0, 1, 2, 3, 4, 5, 6, 7
LOOK_AHEAD = 256  # sums
NEAR = 3 << 20  # bytes of a table that stays in the cache without prefetching, while rows pass through it


@part
def moment_of(x, moment, threshold):
    """The moment of one value, for values whose square is exact."""
    if moment == SUM:
        return x
    if moment == SUM_SQ:
        return x * x
    if moment == NONZERO:
        return 1.0 if x != 0.0 else 0.0
    return (1.0 if x > threshold else 0.0) - (1.0 if threshold < 0.0 else 0.0)


@brick
def counted(x, moment, threshold):
    """NONZERO or ABOVE of one value, as an integer: through float64 it would take half as long again."""
    return np.int64(x != 0) if moment == NONZERO else np.int64(x > threshold) - np.int64(threshold < 0.0)


@brick
def term(w, x, moment, threshold, number):
    """w * moment(x) as a `number`; the compiler hoists this choice out of loops with three alternatives, not four."""
    if w == 1.0 and moment == SUM:
        return number(x)
    if w == 1.0 and moment >= NONZERO:
        return number(counted(np.float64(x), moment, threshold))
    return number(w * moment_of(np.float64(x), moment, threshold))


@part
def function_of(x, moment):
    """LOG, INVERSE or LOG1M of one value: never exact, so always summed in pairs; NaN where undefined."""
    if moment == LOG:
        return math.log(x) if x > 0.0 else math.nan
    if moment == INVERSE:
        return 1.0 / x if x > 0.0 else math.nan
    return math.log1p(-x) if x < 1.0 else math.nan


@part
def weighted_plain(w, x, moment, threshold):
    """Return w * moment(x) and its rounding error, for moments up to ABOVE."""
    if moment == SUM_SQ:
        square, square_error = two_product(x, x)
        p, e = two_product(w, square)
        return p, e + w * square_error
    return two_product(w, moment_of(x, moment, threshold))


@part
def weighted_moment(w, x, moment, threshold):
    """The same, for all moments."""
    if moment <= ABOVE:
        return weighted_plain(w, x, moment, threshold)
    if moment == DEVIATION:  # |x - threshold| - |threshold|
        d, d_error = two_sum(x, -threshold)
        if d < 0.0:
            d, d_error = -d, -d_error
        change, change_error = two_sum(d, -abs(threshold))
        p, e = two_product(w, change)
        return p, e + w * (change_error + d_error)
    return two_product(w, function_of(x, moment))


@part
def plain_moment(x, moment, threshold, single):
    """Return the term of a row of weight 1, moments up to ABOVE; squares of float32 (`single`) are exact in float64."""
    if moment == SUM_SQ and not single:
        return two_product(x, x)
    return moment_of(x, moment, threshold), 0.0


@part
def distance(n_entries, n_sums):
    """How many entries to prefetch ahead, so that about LOOK_AHEAD sums are on their way to the cache."""
    return 1 + LOOK_AHEAD * n_entries // max(n_sums, 1)


@kernel
def add_csr(data, indices, indptr, rows, codes, weight, moment, threshold, hi):
    # hi[codes[e], j] += weight[e] * moment(x[rows[e], j]) over the stored values
    start, number = indptr[0], hi.dtype.type
    for e in range(len(codes)):
        # an unsigned index spares the check for negative ones; a row of hi as an array would be reference-counted
        k, w = np.uint64(codes[e]), weight[e]
        for p in range(np.uint64(indptr[rows[e]] - start), np.uint64(indptr[rows[e] + 1] - start)):
            hi[k, np.uint64(indices[p])] += term(w, data[p], moment, threshold, number)


@kernel
def add_csr_ahead(data, indices, indptr, rows, codes, weight, moment, threshold, hi):
    # the same for a table larger than NEAR; prefetches the sums of later rows
    start, number = indptr[0], hi.dtype.type
    ahead = distance(len(codes), len(data))
    for e in range(len(codes)):
        f = min(e + ahead, len(codes) - 1)
        k, w, later = np.uint64(codes[e]), weight[e], codes[f]
        first, last = np.uint64(indptr[rows[e]] - start), np.uint64(indptr[rows[e] + 1] - start)
        coming, end = np.uint64(indptr[rows[f]] - start), np.uint64(indptr[rows[f] + 1] - start)
        both = min(last - first, end - coming)
        for o in range(both):
            prefetch(hi, later, indices[coming + o])
            hi[k, np.uint64(indices[first + o])] += term(w, data[first + o], moment, threshold, number)
        for p in range(first + both, last):
            hi[k, np.uint64(indices[p])] += term(w, data[p], moment, threshold, number)
        for p in range(coming + both, end):
            prefetch(hi, later, indices[p])


@kernel
def count_csr(indices, indptr, rows, codes, weight, hi):
    # hi[codes[e], j] += weight[e] over the stored values, whatever these are
    start, number = indptr[0], hi.dtype.type
    ahead = distance(len(codes), len(indices))
    far = hi.nbytes > NEAR
    for e in range(len(codes)):
        k, w = np.uint64(codes[e]), number(weight[e])
        if far:
            f = min(e + ahead, len(codes) - 1)
            for p in range(indptr[rows[f]] - start, indptr[rows[f] + 1] - start):
                prefetch(hi, codes[f], indices[p])
        for p in range(np.uint64(indptr[rows[e]] - start), np.uint64(indptr[rows[e] + 1] - start)):
            hi[k, np.uint64(indices[p])] += w


@kernel
def add_csr_pairs(data, indices, indptr, rows, codes, weight, moment, threshold, hi, lo):
    # the same, error-free: rounding errors of hi go to lo; True if more than the first low part is in use
    start, spilled, low = indptr[0], False, lo[0]
    ahead = distance(len(codes), 4 * len(data))
    for e in range(len(codes)):
        k, w = np.uint64(codes[e]), weight[e]
        plain = w == 1.0 and moment <= ABOVE
        if (hi.nbytes + lo.nbytes if spilled else hi.nbytes) > NEAR:
            f = min(e + ahead, len(codes) - 1)
            for p in range(indptr[rows[f]] - start, indptr[rows[f] + 1] - start):
                prefetch(hi, codes[f], indices[p])
                prefetch(low, codes[f], indices[p])
                if spilled:
                    prefetch(lo[1], codes[f], indices[p])
                    prefetch(lo[2], codes[f], indices[p])
        for p in range(np.uint64(indptr[rows[e]] - start), np.uint64(indptr[rows[e] + 1] - start)):
            j = np.uint64(indices[p])
            if plain:
                v, err = plain_moment(np.float64(data[p]), moment, threshold, data.itemsize <= 4)
            else:
                v, err = weighted_moment(w, np.float64(data[p]), moment, threshold)
            hi[k, j], r = two_sum(hi[k, j], v)
            if err != 0.0:  # often the first low part can hold both
                r, err = two_sum(r, err)
            low[k, j], lost = two_sum(low[k, j], r)
            if abs(lost) > 0.0 or abs(err) > 0.0:  # neither is NaN
                spilled |= spill(lo, k, j, lost, err)
    return spilled


@kernel
def add_dense(values, rows, codes, weight, moment, threshold, hi):
    # hi[codes[e], j] += weight[e] * moment(x[rows[e], j])
    for e in range(len(codes)):
        i, k, w = rows[e], codes[e], weight[e]
        for j in range(values.shape[1]):
            hi[k, j] += hi.dtype.type(w * moment_of(np.float64(values[i, j]), moment, threshold))


@kernel
def add_means(values, groups, weight, hi, lo):
    # hi[groups[i], j] += weight[i] * values[i, j], error-free: rounding errors of hi go to lo
    for i in range(len(groups)):
        k, w = groups[i], weight[i]
        for j in range(values.shape[1]):
            v, err = two_product(w, values[i, j])
            hi[k, j], r = two_sum(hi[k, j], v)
            lo[k, j] += r + err


def lost_of(n_features):
    """Scratch of `add_dense_pairs`, which leaves it as it was."""
    return np.zeros((2, n_features))


@kernel
def add_dense_pairs(values, rows, codes, weight, moment, threshold, lost, hi, lo):
    # the same, error-free: rounding errors of hi go to lo, and errors of lo to later parts, if there are any. Loops
    # without branches are vectorised. True if more than the first low part is in use; `lost` is that of `lost_of`
    n_features, squared, spilled = values.shape[1], moment == SUM_SQ, False
    for e in range(len(codes)):
        i, k, w, more = rows[e], codes[e], weight[e], 0  # counts are vectorised
        if w == 1.0 and (moment == SUM or (squared and values.itemsize <= 4)):  # squares of float32 are exact
            for j in range(n_features):
                x = np.float64(values[i, j])
                hi[k, j], r = two_sum(hi[k, j], x * x if squared else x)
                lo[0, k, j], lost[0, j] = two_sum(lo[0, k, j], r)
                more += lost[0, j] != 0.0
        elif moment <= ABOVE:
            for j in range(n_features):
                v, err = weighted_plain(w, np.float64(values[i, j]), moment, threshold)
                hi[k, j], r = two_sum(hi[k, j], v)
                r, lost[1, j] = two_sum(r, err)
                lo[0, k, j], lost[0, j] = two_sum(lo[0, k, j], r)
                more += (lost[0, j] != 0.0) | (lost[1, j] != 0.0)
        else:
            for j in range(n_features):
                v, err = weighted_moment(w, np.float64(values[i, j]), moment, threshold)
                hi[k, j], r = two_sum(hi[k, j], v)
                spilled |= add_low(lo, k, j, r, err)
        if more:
            for j in range(n_features):
                spilled |= spill(lo, k, j, lost[0, j], lost[1, j])
                lost[0, j], lost[1, j] = 0.0, 0.0
    return spilled
