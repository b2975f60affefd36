"""Weighted counts of rows by group, feature and bin, in tables (n_groups, n_features * n_bins).

The bin of x, counted over all features, is floor(x * scale[j]) + shift[j]; scales are powers of two, so that products
are exact. Entries put rows into groups, as in `class_sums`, which counts sparse rows and fractional weights. A value
that was changed after the bins were laid out is counted in some valid bin.
"""

import numpy as np

from streamnb.kernels.compiler import kernel


@kernel
def bins_of(x, scale, shift, n, places):
    # the bins of a row, out of n in total, vectorised
    for j in range(len(x)):
        place = np.floor(np.float64(x[j]) * scale[j]) + shift[j]
        places[j] = np.int32(place if 0.0 <= place < n else 0.0)


@kernel
def add_dense(values, rows, codes, weight, scale, shift, hi):
    # hi[codes[e], bin of x[rows[e], j]] += weight[e]
    number, places = hi.dtype.type, np.empty(values.shape[1], np.int32)
    for e in range(len(codes)):
        bins_of(values[rows[e]], scale, shift, hi.shape[1], places)
        k, w = np.uint64(codes[e]), number(weight[e])
        for j in range(len(places)):
            hi[k, np.uint64(places[j])] += w
