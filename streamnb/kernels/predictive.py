"""Predictive log probabilities of rows, averaged over the posterior. Tables are feature-major.

A table with one row applies to all features.
"""

import math

import numpy as np

from streamnb.kernels.compiler import kernel, part
from streamnb.kernels.exact import two_sum

FAR = 16.0  # from here on, five terms of Stirling's series give full precision


@part
def _stirling_rest(z):
    # ln Gamma(z) minus (z - 1/2) ln z - z + ln(2 pi) / 2, for z >= FAR
    s = 1.0 / (z * z)
    return (1.0 / 12.0 - s * (1.0 / 360.0 - s * (1.0 / 1260.0 - s * (1.0 / 1680.0 - s / 1188.0)))) / z


@part
def log_rising(a, x):
    # ln Gamma(a + x) - ln Gamma(a) for a > 0, x >= 0, without cancellation for large a
    if x <= 16.0 and x == math.floor(x):
        total, product = 0.0, 1.0
        for i in range(int(x)):
            product *= a + i
            if product > 1e200 or product < 1e-200:
                total += math.log(product)
                product = 1.0
        return total + math.log(product)
    if a < FAR:
        return math.lgamma(a + x) - math.lgamma(a)
    change = (a - 0.5) * math.log1p(x / a) + x * (math.log(a + x) - 1.0)
    return change + _stirling_rest(a + x) - _stirling_rest(a)


@kernel
def log_rising_table(a, x, out):
    # out = log_rising(a, x), x one number
    for i in range(a.shape[0]):
        for k in range(a.shape[1]):
            out[i, k] = log_rising(a[i, k], x)


@kernel
def score_counts(data, indices, indptr, sizes, slopes, out):
    # out[i, k] += sum over stored j of log_rising(sizes[j, k], x) + x slopes[j, k] - ln x!; features of size 0 are left
    # out
    start = indptr[0]
    for i in range(out.shape[0]):
        for p in range(indptr[i] - start, indptr[i + 1] - start):
            j = indices[p]
            x = np.float64(data[p])
            of_row = math.lgamma(x + 1.0)
            at = j if slopes.shape[0] > 1 else 0
            for k in range(out.shape[1]):
                if sizes[j, k] > 0.0:
                    out[i, k] += log_rising(sizes[j, k], x) + x * slopes[at, k] - of_row


@kernel
def score_totals(totals, sizes, out):
    # out[i, k] += ln n! - log_rising(sizes[k], n), n the total of row i
    for i in range(out.shape[0]):
        n = totals[i, 0]
        for k in range(out.shape[1]):
            out[i, k] += math.lgamma(n + 1.0) - log_rising(sizes[k], n)


@kernel
def score_student_dense(values, means, inverse, powers, out):
    # out[i, k] -= sum over j of powers[j, k] ln(1 + (x[i, j] - means[j, k])^2 inverse[j, k])
    for i in range(out.shape[0]):
        for j in range(values.shape[1]):
            x = np.float64(values[i, j])
            at = j if powers.shape[0] > 1 else 0
            for k in range(out.shape[1]):
                d = x - means[j, k]
                out[i, k] -= powers[at, k] * math.log1p(d * d * inverse[j, k])


@kernel
def score_student_csr(data, indices, indptr, means, inverse, powers, absent, hi, lo):
    # the same from stored values: hi + lo is the score of a row of zeros on entry, of row i on return. The term of a
    # zero is removed without error, so that columns far from zero do not cancel.
    start = indptr[0]
    for i in range(hi.shape[0]):
        for p in range(indptr[i] - start, indptr[i + 1] - start):
            j = indices[p]
            x = np.float64(data[p])
            at = j if powers.shape[0] > 1 else 0
            for k in range(hi.shape[1]):
                d = x - means[j, k]
                hi[i, k], e = two_sum(hi[i, k], absent[j, k])
                lo[i, k] += e - powers[at, k] * math.log1p(d * d * inverse[j, k])
