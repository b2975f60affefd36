"""How many numbers of an ascending list lie below another one: looked up by its leading bits, which rise with it."""

import numpy as np

from streamnb.kernels.compiler import kernel

ENTRIES = 1 << 11  # of a table, which stays in the cache
at = np.uintp  # of an index: unsigned, it need not be looked at whether it counts from the end


@kernel
def index_of(steps):
    """What `n_below` needs to know of a list of ascending numbers of at least 0: table[b] lie below those of bits b."""
    bits = steps.view(np.int64)
    origin, last = bits[np.searchsorted(steps, 1e-300)] if steps[-1] > 1e-300 else bits[-1], bits[-1]
    shift = 2  # at least: differences stay in the integers
    while (last >> shift) - (origin >> shift) > ENTRIES:
        shift += 1
    origin >>= shift
    table = np.zeros((last >> shift) - origin + 2, np.int64)
    for b in bits:
        table[max((b >> shift) - origin, 0) + 1] += 1
    return shift, origin, table.cumsum()


@kernel
def n_below(number, steps, index):
    """How many of `steps` are less than `number`."""
    shift, origin, table = index
    bits = (np.float64(number).view(np.int64) >> shift) - origin
    n = table[at(min(max(bits, 0), len(table) - 1))]
    while n < len(steps) and steps[at(n)] < number:  # of those that share the leading bits
        n += 1
    return n
