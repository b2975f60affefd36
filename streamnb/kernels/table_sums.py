"""Sums in tables: the cells of a sparse table, bins of features, and values of categorical columns.

Cells have sorted, unique keys and (hi, lo) sums. Low parts are (n_parts, n_cells): none, one or three. Those of results
should be 0 on entry.

Weighted counts of rows by group, feature and bin are tables (n_groups, n_features * n_bins). The bin of x, counted over
all features, is floor(x * scale[j]) + shift[j]; scales are powers of two, so that products are exact. Entries put rows
into groups, as in `class_sums`, which counts fractional weights. A value that was changed after the bins were laid out
is counted in some valid bin.

Values of categorical columns are looked up directly or in a hash table, and sorted numbers by a table of their leading
bits.
"""

import numpy as np

from streamnb.kernels.class_sums import weighted_moment
from streamnb.kernels.compiler import brick, kernel, part
from streamnb.kernels.exact import (
    add_deep,
    add_shallow,
    is_power_of_two,
    keep_parts,
    parts_of,
    scale_cell,
    two_sum,
)
from streamnb.kernels.lanes import prefetch

NOTHING = 0.0, 0.0, 0.0, 0.0


@kernel
def sum_cells(values, weight, starts, moment, threshold, hi, lo):
    # (hi, lo)[c] = sum of weight * moment(value) from starts[c] to starts[c + 1]; returns how many low parts are used
    used = 0
    for c in range(len(hi)):
        s, rest = 0.0, 0.0
        for q in range(starts[c], starts[c + 1]):
            v, err = weighted_moment(weight[q], values[q], moment, threshold)
            s, r = two_sum(s, v)
            r, err = two_sum(r, err)
            rest, lost = two_sum(rest, r)
            if abs(lost) > 0.0 or abs(err) > 0.0:
                lo[1, c], r = two_sum(lo[1, c], lost)
                lo[2, c] += r
                lo[1, c], r = two_sum(lo[1, c], err)
                lo[2, c] += r
                used = 3
        hi[c] = s
        lo[0, c] = rest
        if rest != 0.0:
            used = max(used, 1)
    return used


@kernel
def count_union(a_keys, b_keys):
    """Return the number of keys in either table."""
    i, j, n = 0, 0, 0
    while i < len(a_keys) and j < len(b_keys):
        a, b = a_keys[i], b_keys[j]
        i += a <= b
        j += b <= a
        n += 1
    return n + len(a_keys) - i + len(b_keys) - j


@kernel
def merge_cells(a_keys, a_hi, a_lo, b_keys, b_hi, b_lo, sign, residue, keys, hi, lo):
    # (keys, hi, lo) = a + sign * b, cell by cell, renormalised; returns the number of low parts in use
    used, shallow = 0, max(len(a_lo), len(b_lo)) <= 1
    i, j, c = 0, 0, 0
    a_low, b_low = len(a_lo) > 0, len(b_lo) > 0
    while i < len(a_keys) and j < len(b_keys):
        # which side comes first is unpredictable: both are read, and one is chosen without a branch
        a_key, b_key = a_keys[i], b_keys[j]
        from_a, from_b = a_key <= b_key, b_key <= a_key
        a, b = a_hi[i], b_hi[j]
        a_rest, b_rest = a_lo[0, i] if a_low else 0.0, b_lo[0, j] if b_low else 0.0
        keys[c] = a_key if from_a else b_key
        a, a_rest = a if from_a else 0.0, a_rest if from_a else 0.0
        b, b_rest = b if from_b else 0.0, b_rest if from_b else 0.0
        hi[c], lo[0, c], whole = add_shallow(a, a_rest, b, b_rest, sign)
        if not (whole and shallow):
            left = parts_of(a_hi, a_lo, i) if from_a else NOTHING
            right = parts_of(b_hi, b_lo, j) if from_b else NOTHING
            used = max(used, keep_parts(add_deep(left, right, sign, residue), hi, lo, c))
        if abs(hi[c]) <= residue * abs(a):
            hi[c], lo[0, c] = 0.0, 0.0
        used = max(used, int(lo[0, c] != 0.0))
        i += from_a
        j += from_b
        c += 1
    for k in range(i, len(a_keys)):
        keys[c] = a_keys[k]
        used = max(used, keep_parts(add_deep(parts_of(a_hi, a_lo, k), NOTHING, sign, residue), hi, lo, c))
        c += 1
    for k in range(j, len(b_keys)):
        keys[c] = b_keys[k]
        used = max(used, keep_parts(add_deep(NOTHING, parts_of(b_hi, b_lo, k), sign, residue), hi, lo, c))
        c += 1
    return used


@kernel
def scale_cells(a_hi, a_lo, factors, hi, lo):
    # (hi, lo)[c] = factors[c] * a[c], renormalised; returns how many low parts are used, and whether digits were lost
    used, lost = 0, False
    for c in range(len(hi)):
        of_cell, lost_of_cell = scale_cell(a_hi, a_lo, c, factors[c], is_power_of_two(factors[c]), hi, lo)
        used, lost = max(used, of_cell), lost or lost_of_cell
    return used, lost


@part
def bins_of(x, scale, shift, n, places):
    # the bins of a row, out of n in total, vectorised
    for j in range(len(x)):
        place = np.floor(np.float64(x[j]) * scale[j]) + shift[j]
        places[j] = np.int32(place if 0.0 <= place < n else 0.0)


@kernel
def add_dense(values, rows, codes, weight, scale, shift, places, hi):
    # hi[codes[e], bin of x[rows[e], j]] += weight[e]; `places` are scratch for a row
    number = hi.dtype.type
    for e in range(len(codes)):
        bins_of(values[rows[e]], scale, shift, hi.shape[1], places)
        k, w = np.uint64(codes[e]), number(weight[e])
        for j in range(len(places)):
            hi[k, np.uint64(places[j])] += w


@kernel
def add_csr(data, indices, indptr, rows, codes, weight, scale, shift, hi):
    # the same over the stored values of the rows
    start, number, n = indptr[0], hi.dtype.type, hi.shape[1]
    for e in range(len(codes)):
        k, w = np.uint64(codes[e]), number(weight[e])
        for p in range(np.uint64(indptr[rows[e]] - start), np.uint64(indptr[rows[e] + 1] - start)):
            j = np.uint64(indices[p])
            place = np.floor(np.float64(data[p]) * scale[j]) + shift[j]
            hi[k, np.uint64(place if 0.0 <= place < n else 0.0)] += w


@kernel
def stored_range(data, indices, low, high, count):
    # the smallest and largest stored value of each feature, and their number
    for p in range(len(indices)):
        j, x = np.uint64(indices[p]), np.float64(data[p])
        low[j], high[j] = min(low[j], x), max(high[j], x)
        count[j] += 1


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


ENTRIES = 1 << 11  # size of the table, which stays in the cache
at = np.uintp  # an unsigned index spares the check for negative ones


def index_of(steps):
    """The index of `n_below` for ascending, nonnegative numbers: table[b] numbers are below leading bits b."""
    bits = steps.view(np.int64)
    origin, last = bits[min(np.count_nonzero(steps < 1e-300), len(bits) - 1)], bits[-1]
    shift = 2  # at least 2, so that differences do not overflow
    while (last >> shift) - (origin >> shift) > ENTRIES:
        shift += 1
    origin >>= shift
    entries = np.maximum((bits >> shift) - origin, 0) + 1
    return shift, origin, (last >> shift) - origin + 1, np.bincount(entries).cumsum()


@part
def n_below(number, steps, index):
    """The number of `steps` that are less than `number`."""
    shift, origin, top, table = index
    bits = (np.float64(number).view(np.int64) >> shift) - origin
    n = table[at(min(max(bits, 0), top))]
    while n < len(steps) and steps[at(n)] < number:  # among those with the same leading bits
        n += 1
    return n
