"""Counts the sorted numbers below a given one, by a lookup table of their leading bits."""

import numpy as np

from streamnb.kernels.compiler import part

ENTRIES = 1 << 11  # size of the table, which stays in the cache
at = np.uintp  # an unsigned index spares the check for negative ones


def scratch():
    """The table of `index_of`."""
    return np.empty(ENTRIES + 2, np.int64)


@part
def index_of(steps, table):
    """The index of `n_below` for ascending, nonnegative numbers: table[b] numbers are below leading bits b.

    The table has space for ENTRIES + 2 numbers, of which those up to `top` are used.
    """
    # loops, where NumPy has a word for each: these words take a second to compile
    first, end = 0, len(steps) - 1
    while first < end and steps[first] < 1e-300:
        first += 1
    origin, last = np.float64(steps[first]).view(np.int64), np.float64(steps[end]).view(np.int64)
    shift = 2  # at least 2, so that differences do not overflow
    while (last >> shift) - (origin >> shift) > ENTRIES:
        shift += 1
    origin >>= shift
    top = (last >> shift) - origin + 1
    for b in range(top + 1):
        table[b] = 0
    for i in range(len(steps)):
        entry = (np.float64(steps[i]).view(np.int64) >> shift) - origin
        table[entry + 1 if entry > 0 else 1] += 1
    for b in range(1, top + 1):
        table[b] += table[b - 1]
    return shift, origin, top, table


@part
def n_below(number, steps, index):
    """The number of `steps` that are less than `number`."""
    shift, origin, top, table = index
    bits = (np.float64(number).view(np.int64) >> shift) - origin
    n = table[at(min(max(bits, 0), top))]
    while n < len(steps) and steps[at(n)] < number:  # among those with the same leading bits
        n += 1
    return n
