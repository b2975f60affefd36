"""Counts the sorted numbers below a given one, by a lookup table of their leading bits."""

import numpy as np

from streamnb.kernels.compiler import kernel

ENTRIES = 1 << 11  # size of the table, which stays in the cache
at = np.uintp  # an unsigned index spares the check for negative ones


@kernel
def index_of(steps):
    """The index of `n_below` for ascending, nonnegative numbers: table[b] numbers are below leading bits b."""
    bits = steps.view(np.int64)
    origin, last = bits[np.searchsorted(steps, 1e-300)] if steps[-1] > 1e-300 else bits[-1], bits[-1]
    shift = 2  # at least 2, so that differences do not overflow
    while (last >> shift) - (origin >> shift) > ENTRIES:
        shift += 1
    origin >>= shift
    table = np.zeros((last >> shift) - origin + 2, np.int64)
    for b in bits:
        table[max((b >> shift) - origin, 0) + 1] += 1
    return shift, origin, table.cumsum()


@kernel
def n_below(number, steps, index):
    """The number of `steps` that are less than `number`."""
    shift, origin, table = index
    bits = (np.float64(number).view(np.int64) >> shift) - origin
    n = table[at(min(max(bits, 0), len(table) - 1))]
    while n < len(steps) and steps[at(n)] < number:  # among those with the same leading bits
        n += 1
    return n
