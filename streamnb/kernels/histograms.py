"""Weights of rows by group, feature and bin, in tables (n_groups, n_features * n_bins).

The bin of x, counted over all features, is floor(x * scale[j]) + shift[j]: scales are powers of two, so that nothing
is rounded. Entries put rows into groups, as in `class_sums`, which counts what is sparse or weighs no whole number.
"""

import numpy as np

from streamnb.kernels.compiler import kernel


@kernel
def bins_of(x, scale, shift, places):
    # the bins of a row, in vectors
    for j in range(len(x)):
        places[j] = np.int32(np.floor(np.float64(x[j]) * scale[j]) + shift[j])


@kernel
def add_dense(values, rows, codes, weight, scale, shift, hi):
    # hi[codes[e], bin of x[rows[e], j]] += weight[e]
    number, places = hi.dtype.type, np.empty(values.shape[1], np.int32)
    for e in range(len(codes)):
        bins_of(values[rows[e]], scale, shift, places)
        k, w = np.uint64(codes[e]), number(weight[e])
        for j in range(len(places)):
            hi[k, np.uint64(places[j])] += w
