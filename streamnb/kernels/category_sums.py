"""Looks up the values of categorical columns, directly or in a hash table, and sums their weights by group."""

import numpy as np

from streamnb.kernels.compiler import brick, kernel
from streamnb.kernels.lanes import prefetch

BATCH = 128  # values looked up together: all are prefetched before the first lookup
AHEAD = 16  # rows prefetched before they are read
NAN = np.uint64(0x7FF8000000000000)
INFINITY_TWICE = np.uint64(0xFFE0000000000000)  # bits of infinity without the sign; those of NaN are larger
ODD = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9)
ONE, HALF, MOST = np.uint64(1), np.uint64(32), np.uint64(29)


@brick
def plain_bits(bits):
    """Return the bits of a float64, the same for both zeros and for all NaN."""
    twice = bits << ONE
    if twice == np.uint64(0):
        return np.uint64(0)
    return NAN if twice > INFINITY_TWICE else bits


@brick
def home_of(bits, shift):
    """Return where the search for a value begins in a table of 2^(64 - shift) slots."""
    mixed = (bits ^ (bits >> HALF)) * ODD[0]
    mixed = (mixed ^ (mixed >> MOST)) * ODD[1]
    return np.int64(mixed >> shift)


@kernel
def count_numbers(values, codes, weight, first, sums, seen):
    """Add weight[i] to sums[values[i], codes[i]] from row `first` on; return the first row whose value is out of range.

    The table is for whole numbers from 0; `seen` is set to 1 for those that occur. Without weights each row counts 1.
    """
    for i in range(first, len(values)):
        if i + AHEAD < len(values) and 0.0 <= values[i + AHEAD] < len(sums):
            prefetch(sums, int(values[i + AHEAD]), codes[i + AHEAD])
        x = values[i]  # read once: other threads may change it
        if not 0.0 <= x < len(sums):
            return i
        k = np.int64(x)
        if k != x:
            return i
        seen[k] = 1
        sums[k, codes[i]] += weight[i] if len(weight) else 1.0
    return len(values)


@kernel
def count_values(bits, codes, weight, table, shift, n_values, values, sums, homes):
    """Add weight[i] to sums[number of value i, codes[i]]; return the new number of values.

    `table` (2^(64 - shift), 2) has the bits of each earlier value and its number + 1, 0 in empty slots; `values` has
    the bits by number. Both have space for one more value for each row. Without weights each row counts 1.
    """
    mask = len(table) - 1
    for first in range(0, len(bits), BATCH):
        n = min(BATCH, len(bits) - first)
        for k in range(n):
            homes[k] = home_of(plain_bits(bits[first + k]), shift)
            prefetch(table, homes[k], 0)
        for k in range(n):
            b, at = plain_bits(bits[first + k]), homes[k]
            while table[at, 1] != np.uint64(0) and table[at, 0] != b:
                at = (at + 1) & mask
            if table[at, 1] == np.uint64(0):
                values[n_values] = b
                n_values += 1
                table[at, 0] = b
                table[at, 1] = np.uint64(n_values)
            homes[k] = np.int64(table[at, 1]) - 1
            prefetch(sums, homes[k], codes[first + k])
        for k in range(n):
            sums[homes[k], codes[first + k]] += weight[first + k] if len(weight) else 1.0
    return n_values


@kernel
def place_values(values, table, shift, homes):
    # insert (values[i], i + 1) into an empty table
    mask = len(table) - 1
    for first in range(0, len(values), BATCH):
        n = min(BATCH, len(values) - first)
        for k in range(n):
            homes[k] = home_of(values[first + k], shift)
            prefetch(table, homes[k], 0)
        for k in range(n):
            at = homes[k]
            while table[at, 1] != np.uint64(0):
                at = (at + 1) & mask
            table[at, 0] = values[first + k]
            table[at, 1] = np.uint64(first + k + 1)


@kernel
def lay_out(sums, order, groups, out, start):
    # out[g, start + j] = sums[order[j], groups[g]]
    for j in range(len(order)):
        if j + AHEAD < len(order):
            prefetch(sums, order[j + AHEAD], 0)
            prefetch(sums, order[j + AHEAD], len(groups) - 1)
        for g in range(len(groups)):
            out[g, start + j] = sums[order[j], groups[g]]
