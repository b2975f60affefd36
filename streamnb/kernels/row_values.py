"""Per-row work on a block: checking values and order, transforms, norms."""

import math

import numpy as np

from streamnb.kernels.compiler import brick, kernel, part

BINARY, LOG1P, SQRT = 0, 1, 2
NORM_L1, NORM_L2 = 1, 2
GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # 2^64 divided by the golden ratio
FACTORS = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
SHIFTS = np.uint64(30), np.uint64(27), np.uint64(31)


@kernel
def survey(values, bits, magnitude, tile, wide, tops):
    """Return how many of the flat `values` are negative, and whether all are whole; fill `tops` (n_tiles, n_columns).

    tops[t, j] is the largest absolute value of column j in rows t * tile to (t + 1) * tile, as the integer with the
    same bits. These have the same order, with infinity and NaN last, and integer comparisons are vectorised. `bits` are
    all values as integers, and `magnitude` masks the sign. `wide` is scratch for several rows side by side, as rows may
    be short.
    """
    negatives, whole = 0, True
    size, four = tile * tops.shape[1], 4 * len(wide)
    for t in range(len(tops)):
        last = min((t + 1) * size, len(values))
        wide[:] = 0
        for first in range(t * size, last, four):
            stop = min(first + four, last)
            if stop - first == four:
                negatives += look_at_four(values[first:stop], bits[first:stop], magnitude, wide)
            else:
                for begin in range(first, stop, len(wide)):
                    end = min(begin + len(wide), stop)
                    negatives += look(values[begin:end], bits[begin:end], magnitude, wide)
            whole = whole and are_whole(values[first:stop], bits)  # while they are in the cache
        tops[t] = 0
        for first in range(0, len(wide), tops.shape[1]):
            raise_tops(wide[first : first + tops.shape[1]], tops[t])
    return negatives, whole


@part
def look(values, bits, magnitude, top):
    """Raise top[p] to the absolute value of values[p]; return how many are negative.

    The count has the width of the values, so that the loop is vectorised.
    """
    integer = bits.dtype.type
    negatives = integer(0)
    for p in range(len(bits)):
        top[p] = max(top[p], bits[p] & magnitude)
        negatives = integer(negatives + integer(values[p] < 0.0))
    return np.int64(negatives)


@part
def look_at_four(values, bits, magnitude, top):
    """The same for four times as many values as tops, so that each top is loaded and stored once for four values."""
    integer, n = bits.dtype.type, len(top)
    negatives = integer(0)
    for a in range(n):
        b, c, d = a + n, a + 2 * n, a + 3 * n
        of_two = max(bits[a] & magnitude, bits[b] & magnitude)
        top[a] = max(max(of_two, max(bits[c] & magnitude, bits[d] & magnitude)), top[a])
        below = integer(values[a] < 0.0) + integer(values[b] < 0.0) + integer(values[c] < 0.0)
        negatives = integer(negatives + below + integer(values[d] < 0.0))
    return np.int64(negatives)


@part
def raise_tops(other, top):
    # top[j] = the larger of top[j] and other[j]
    for j in range(len(top)):
        top[j] = max(top[j], other[j])


@part
def are_whole(values, bits):
    """Return whether all values of a flat array are whole numbers; `bits` are integers of equal width, for counting."""
    integer = bits.dtype.type
    broken = integer(0)
    for p in range(len(values)):
        broken = integer(broken + integer(values[p] != np.floor(values[p])))
    return broken == 0


def scattered_bits(keys):
    """The output of splitmix64 for these states, uint64 (Steele, Lea and Flood 2014)."""
    z = keys + GOLDEN
    z = (z ^ (z >> SHIFTS[0])) * FACTORS[0]
    z = (z ^ (z >> SHIFTS[1])) * FACTORS[1]
    return z ^ (z >> SHIFTS[2])


scattered = brick(scattered_bits)  # of one number in a kernel


@kernel
def weighted_sum(first, values):
    """Return the sum of uint64 `values`, modulo 2^64, each times a random odd number that belongs to its row."""
    total = np.uint64(0)
    for i in range(len(values)):
        total += (scattered(np.uint64(first + i) * GOLDEN) | np.uint64(1)) * values[i]
    return total


@kernel
def rank_few(keys, out):
    # out[i, a] = number of keys of row i before keys[i, a]: smaller ones, and equal ones with smaller a
    for i in range(keys.shape[0]):
        for a in range(keys.shape[1]):
            out[i, a] = 0
            for b in range(a):
                first = keys[i, a] < keys[i, b]
                out[i, b] += first
                out[i, a] += not first


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
        if 0 < first < indptr[i + 1] - start:  # a row may begin with a lower index than the previous row ended with
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
    # out[p] = transform(values[p]); zeros stay zero
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
    # divide the values of row i by its norm; rows of zeros stay unchanged
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
