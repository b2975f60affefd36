"""Weighted counts of rows by group, feature and bin, in tables (n_groups, n_features * n_bins).

The bin of x, counted over all features, is floor(x * scale[j]) + shift[j]; scales are powers of two, so that products
are exact. Entries put rows into groups, as in `class_sums`, which counts fractional weights. A value that was changed
after the bins were laid out is counted in some valid bin.
"""

import numpy as np

from streamnb.kernels.compiler import kernel, part


@part
def bins_of(x, scale, shift, n, places):
    # the bins of a row, out of n in total, vectorised
    for j in range(len(x)):
        place = np.floor(np.float64(x[j]) * scale[j]) + shift[j]
        places[j] = np.int32(place if 0.0 <= place < n else 0.0)


@kernel
def add_dense(values, rows, codes, weight, scale, shift, places, hi):
    # hi[codes[e], bin of x[rows[e], j]] += weight[e]; `places` are scratch for a row
    number = hi.dtype.type
    for e in range(len(codes)):
        bins_of(values[rows[e]], scale, shift, hi.shape[1], places)
        k, w = np.uint64(codes[e]), number(weight[e])
        for j in range(len(places)):
            hi[k, np.uint64(places[j])] += w


@kernel
def add_csr(data, indices, indptr, rows, codes, weight, scale, shift, hi):
    # the same over the stored values of the rows
    start, number, n = indptr[0], hi.dtype.type, hi.shape[1]
    for e in range(len(codes)):
        k, w = np.uint64(codes[e]), number(weight[e])
        for p in range(np.uint64(indptr[rows[e]] - start), np.uint64(indptr[rows[e] + 1] - start)):
            j = np.uint64(indices[p])
            place = np.floor(np.float64(data[p]) * scale[j]) + shift[j]
            hi[k, np.uint64(place if 0.0 <= place < n else 0.0)] += w


@kernel
def stored_range(data, indices, low, high, count):
    # the smallest and largest stored value of each feature, and their number
    for p in range(len(indices)):
        j, x = np.uint64(indices[p]), np.float64(data[p])
        low[j], high[j] = min(low[j], x), max(high[j], x)
        count[j] += 1
