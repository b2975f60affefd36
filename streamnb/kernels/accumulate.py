"""Class sums of a moment of the feature: CSR and dense, plain (integers, exact) and in (hi, lo) pairs.

Values become float64 by np.float64: numba's float() leaves float32 what it is.
"""

import numpy as np

from streamnb._jit import kernel
from streamnb.kernels.exact import two_product, two_sum

# Moments, as the kernels know them. ABOVE is counted relative to an absent value, so that sparse rows stay sparse.
SUM, SUM_SQ, NONZERO, ABOVE = 0, 1, 2, 3


@kernel
def moment_of(x, moment, threshold):
    """The moment of one value, for values whose square is exact."""
    if moment == SUM:
        return x
    if moment == SUM_SQ:
        return x * x
    if moment == NONZERO:
        return 1.0 if x != 0.0 else 0.0
    return (1.0 if x > threshold else 0.0) - (1.0 if threshold < 0.0 else 0.0)


@kernel
def weighted_moment(w, x, moment, threshold):
    """Return w * moment(x) and what rounding took from it."""
    if moment == SUM_SQ:
        square, square_error = two_product(x, x)
        p, e = two_product(w, square)
        return p, e + w * square_error
    return two_product(w, moment_of(x, moment, threshold))


@kernel
def add_csr(data, indices, indptr, codes, weight, moment, threshold, hi):
    # hi[k, j] += weight[i] * moment(x[i, j]) over the stored values of rows i with code k
    start = indptr[0]
    for i in range(len(codes)):
        k = codes[i]
        w = weight[i]
        for p in range(indptr[i] - start, indptr[i + 1] - start):
            hi[k, indices[p]] += w * moment_of(np.float64(data[p]), moment, threshold)


@kernel
def add_csr_pairs(data, indices, indptr, codes, weight, moment, threshold, hi, lo):
    # the same, error-free: what rounding takes from hi goes to lo
    start = indptr[0]
    for i in range(len(codes)):
        k = codes[i]
        for p in range(indptr[i] - start, indptr[i + 1] - start):
            j = indices[p]
            v, e = weighted_moment(weight[i], np.float64(data[p]), moment, threshold)
            hi[k, j], r = two_sum(hi[k, j], v)
            lo[k, j] += r + e


@kernel
def add_dense(values, codes, weight, moment, threshold, hi):
    # hi[k, j] += weight[i] * moment(x[i, j]) over rows i with code k
    for i in range(len(codes)):
        k = codes[i]
        w = weight[i]
        for j in range(values.shape[1]):
            hi[k, j] += w * moment_of(np.float64(values[i, j]), moment, threshold)


@kernel
def add_dense_pairs(values, codes, weight, moment, threshold, hi, lo):
    # the same, error-free: what rounding takes from hi goes to lo
    for i in range(len(codes)):
        k = codes[i]
        for j in range(values.shape[1]):
            v, e = weighted_moment(weight[i], np.float64(values[i, j]), moment, threshold)
            hi[k, j], r = two_sum(hi[k, j], v)
            lo[k, j] += r + e


@kernel
def add_weights(codes, weight, rows, hi, lo):
    # rows[k] += 1 and (hi, lo)[k] += weight[i] over rows i with code k
    for i in range(len(codes)):
        k = codes[i]
        rows[k] += 1
        hi[k, 0], r = two_sum(hi[k, 0], weight[i])
        lo[k, 0] += r
