"""What is looked at or done once for each row of a block: its values, its order, transforms and length."""

import math
from typing import Any

import numpy as np

from streamnb._jit import kernel

BINARY, LOG1P, SQRT = 0, 1, 2
NORM_L1, NORM_L2 = 1, 2
MAGNITUDE = 0x7FFFFFFFFFFFFFFF  # the bits of a float64 without its sign: integers in the order of the absolute values


@kernel
def survey(values):
    """Return (all finite, all whole numbers, how many below zero, smallest, largest absolute) of a flat array."""
    # Integers are compared, not floats: their largest does not depend on the order, so that several go at once.
    broken = 0
    negatives = 0
    top: Any = 0
    below: Any = 0
    for p in range(len(values)):
        v = np.float64(values[p])
        size = v.view(np.int64) & MAGNITUDE
        broken += 1 if v != np.floor(v) else 0
        negatives += 1 if v < 0.0 else 0
        top = max(top, size)
        below = max(below, size if v < 0.0 else 0)
    largest = np.int64(top).view(np.float64)
    return math.isfinite(largest), broken == 0, negatives, 0.0 - np.int64(below).view(np.float64), largest


@kernel
def check_indices(indices, indptr, n_features):
    """Return (first row with an index out of range or -1, True if every row is sorted without repeats)."""
    start = indptr[0]
    lowest = indices[0] if len(indices) else 0
    highest = lowest
    falls = 0
    for p in range(1, len(indices)):
        lowest = min(lowest, indices[p])
        highest = max(highest, indices[p])
        falls += indices[p] <= indices[p - 1]
    for i in range(len(indptr) - 1):
        first = indptr[i] - start
        if 0 < first < indptr[i + 1] - start:  # a row may begin below the end of the last
            falls -= indices[first] <= indices[first - 1]
    if lowest >= 0 and highest < n_features:
        return -1, falls == 0
    for i in range(len(indptr) - 1):
        for p in range(indptr[i] - start, indptr[i + 1] - start):
            if indices[p] < 0 or indices[p] >= n_features:
                return i, False
    return -1, False


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
