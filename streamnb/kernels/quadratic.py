"""Quadratic scores of Gaussian features with means and variances of each class.

`halves[j, k]` is 1 / (2 variance), `absent[j, k]` the term of a zero, mean^2 * halves; tables are feature-major.
"""

import numpy as np

from streamnb.kernels.compiler import kernel
from streamnb.kernels.exact import two_sum


@kernel
def score_dense(values, means, halves, out):
    # out[i, k] -= sum over j of (x[i, j] - means[j, k])^2 * halves[j, k]
    for i in range(out.shape[0]):
        for j in range(values.shape[1]):
            x = np.float64(values[i, j])
            for k in range(out.shape[1]):
                d = x - means[j, k]
                out[i, k] -= d * d * halves[j, k]


@kernel
def score_csr(data, indices, indptr, means, halves, absent, hi, lo):
    # the same from stored values: hi + lo is the score of a row of zeros on entry, of row i on return. The term of a
    # zero is removed without error, so that columns far from zero do not cancel.
    start = indptr[0]
    for i in range(hi.shape[0]):
        for p in range(indptr[i] - start, indptr[i + 1] - start):
            j = indices[p]
            x = np.float64(data[p])
            for k in range(hi.shape[1]):
                d = x - means[j, k]
                hi[i, k], e = two_sum(hi[i, k], absent[j, k])
                lo[i, k] += e - d * d * halves[j, k]
