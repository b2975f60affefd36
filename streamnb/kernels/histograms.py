"""Weights of rows by group, feature and bin, in tables (n_groups, n_features * n_bins).

The bin of x, counted over all features, is floor(x * scale[j]) + shift[j]: scales are powers of two, so that nothing is
rounded. Low parts are those of `class_sums`. Entries put rows into groups, as there. A value that was changed after the
bins were laid out, and has none, is counted in one that is there.
"""

import numpy as np

from streamnb.kernels.compiler import brick, kernel
from streamnb.kernels.exact import add_low, two_sum


@brick
def bin_of(x, scale, shift, n):
    """Return the bin of a value among n in all, as a float64."""
    place = np.floor(np.float64(x) * scale) + shift
    return place if 0.0 <= place < n else 0.0


@kernel
def bins_of(x, scale, shift, n, places):
    # the bins of a row among n in all, in vectors
    for j in range(len(x)):
        places[j] = np.int32(bin_of(x[j], scale[j], shift[j], n))


@kernel
def add_dense(values, rows, codes, weight, scale, shift, hi):
    # hi[codes[e], bin of x[rows[e], j]] += weight[e]
    number, places = hi.dtype.type, np.empty(values.shape[1], np.int32)
    for e in range(len(codes)):
        bins_of(values[rows[e]], scale, shift, hi.shape[1], places)
        k, w = np.uint64(codes[e]), number(weight[e])
        for j in range(len(places)):
            hi[k, np.uint64(places[j])] += w


@kernel
def add_dense_pairs(values, rows, codes, weight, scale, shift, hi, lo):
    # the same, error-free; True if more than the first low part took any
    places, spilled = np.empty(values.shape[1], np.int32), False
    for e in range(len(codes)):
        bins_of(values[rows[e]], scale, shift, hi.shape[1], places)
        k, w = codes[e], weight[e]
        for j in range(len(places)):
            c = places[j]
            hi[k, c], r = two_sum(hi[k, c], w)
            spilled |= add_low(lo, k, c, r, 0.0)
    return spilled


@kernel
def add_csr(data, indices, indptr, rows, codes, weight, scale, shift, hi):
    # hi[codes[e], bin of x[rows[e], j]] += weight[e] over the stored values
    start, number, n = indptr[0], hi.dtype.type, np.float64(hi.shape[1])
    for e in range(len(codes)):
        k, w = np.uint64(codes[e]), number(weight[e])
        for p in range(np.uint64(indptr[rows[e]] - start), np.uint64(indptr[rows[e] + 1] - start)):
            j = np.uint64(indices[p])
            hi[k, np.uint64(np.int64(bin_of(data[p], scale[j], shift[j], n)))] += w


@kernel
def add_csr_pairs(data, indices, indptr, rows, codes, weight, scale, shift, hi, lo):
    # the same, error-free; True if more than the first low part took any
    start, spilled = indptr[0], False
    for e in range(len(codes)):
        k, w = codes[e], weight[e]
        for p in range(np.uint64(indptr[rows[e]] - start), np.uint64(indptr[rows[e] + 1] - start)):
            j = np.uint64(indices[p])
            c = np.int64(bin_of(data[p], scale[j], shift[j], hi.shape[1]))
            hi[k, c], r = two_sum(hi[k, c], w)
            spilled |= add_low(lo, k, c, r, 0.0)
    return spilled


@kernel
def stored_range(data, indices, low, high, count):
    # low and high reach down and up to the stored values of each feature, and count[j] += 1 for each
    for p in range(len(indices)):
        j, x = np.uint64(indices[p]), np.float64(data[p])
        low[j], high[j] = min(low[j], x), max(high[j], x)
        count[j] += 1


@kernel
def move(source, columns, hi):
    # hi[k, columns[c]] += source[k, c]
    for k in range(len(source)):
        for c in range(len(columns)):
            if source[k, c] != 0:
                hi[k, columns[c]] += hi.dtype.type(source[k, c])


@kernel
def move_pairs(source, source_lo, columns, hi, lo):
    # the same of parts (hi, lo), of which the source has at least one low part; True as above
    spilled = False
    for k in range(len(source)):
        for c in range(len(columns)):
            if source[k, c] != 0.0 or source_lo[0, k, c] != 0.0:
                t = columns[c]
                hi[k, t], r = two_sum(hi[k, t], source[k, c])
                spilled |= add_low(lo, k, t, r, source_lo[0, k, c])
                if len(source_lo) > 1:
                    spilled |= add_low(lo, k, t, source_lo[1, k, c], source_lo[2, k, c])
    return spilled
