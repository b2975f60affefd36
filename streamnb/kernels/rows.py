"""What is looked at or done once for each row of a block: its values, its order, transforms and length."""

import math

import numpy as np

from streamnb._jit import kernel

BINARY, LOG1P, SQRT = 0, 1, 2
NORM_L1, NORM_L2 = 1, 2


@kernel
def survey(values):
    """Return (all finite, all whole numbers, how many below zero, smallest, largest absolute) of a flat array."""
    finite = True
    whole = True
    negatives = 0
    low = 0.0
    top = 0.0
    for p in range(len(values)):
        v = np.float64(values[p])
        finite &= math.isfinite(v)
        whole &= v == np.floor(v)
        negatives += 1 if v < 0.0 else 0
        low = min(low, v)
        top = max(top, abs(v))
    return finite, whole, negatives, low, top


@kernel
def check_indices(indices, indptr, n_features):
    """Return (first row with an index out of range or -1, True if every row is sorted without repeats)."""
    start = indptr[0]
    canonical = True
    for i in range(len(indptr) - 1):
        last = -1
        for p in range(indptr[i] - start, indptr[i + 1] - start):
            j = indices[p]
            if j < 0 or j >= n_features:
                return i, False
            canonical &= j > last
            last = j
    return -1, canonical


@kernel
def transform_values(values, transform, out):
    # out[p] = transform(values[p]); zero stays zero
    for p in range(len(values)):
        v = np.float64(values[p])
        if transform == BINARY:
            out[p] = 1.0 if v != 0.0 else 0.0
        elif transform == LOG1P:
            out[p] = math.log1p(v)
        else:
            out[p] = math.sqrt(v)


@kernel
def normalize_rows(values, indptr, norm):
    # values of row i are divided by the row's length; a row of zeros stays as it is
    start = indptr[0]
    for i in range(len(indptr) - 1):
        first, last = indptr[i] - start, indptr[i + 1] - start
        length = 0.0
        for p in range(first, last):
            length += abs(values[p]) if norm == NORM_L1 else values[p] * values[p]
        if norm == NORM_L2:
            length = math.sqrt(length)
        if length > 0.0:
            for p in range(first, last):
                values[p] /= length
