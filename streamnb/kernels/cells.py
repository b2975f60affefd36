"""Sums of the cells of a sparse table, each a key and a pair (hi, lo); keys are sorted, and none comes twice.

Where the low parts of a table are all 0 its `lo` has length 0.
"""

from streamnb._jit import kernel
from streamnb.kernels.accumulate import weighted_moment
from streamnb.kernels.exact import add_pairs, scale_pair, two_sum


@kernel
def sum_cells(values, weight, starts, moment, threshold, hi, lo):
    # (hi, lo)[c] = sum of weight * moment(value) from starts[c] to starts[c + 1]; True if any low part is left
    left = False
    for c in range(len(hi)):
        s, rest = 0.0, 0.0
        for q in range(starts[c], starts[c + 1]):
            v, err = weighted_moment(weight[q], values[q], moment, threshold)
            s, r = two_sum(s, v)
            rest += r + err
        hi[c] = s
        lo[c] = rest
        left |= rest != 0.0
    return left


@kernel
def count_union(a_keys, b_keys):
    """Return how many keys either table has."""
    i, j, n = 0, 0, 0
    while i < len(a_keys) and j < len(b_keys):
        a, b = a_keys[i], b_keys[j]
        i += a <= b
        j += b <= a
        n += 1
    return n + len(a_keys) - i + len(b_keys) - j


@kernel
def merge_cells(a_keys, a_hi, a_lo, b_keys, b_hi, b_lo, sign, keys, hi, lo):
    # (keys, hi, lo) = a + sign * b, cell by cell, renormalised; True if any low part is left
    left = False
    i, j = 0, 0
    for c in range(len(keys)):
        from_a = i < len(a_keys) and (j == len(b_keys) or a_keys[i] <= b_keys[j])
        from_b = j < len(b_keys) and (i == len(a_keys) or b_keys[j] <= a_keys[i])
        a, ra, b, rb = 0.0, 0.0, 0.0, 0.0
        if from_a:
            keys[c] = a_keys[i]
            a = a_hi[i]
            ra = a_lo[i] if len(a_lo) else 0.0
            i += 1
        if from_b:
            keys[c] = b_keys[j]
            b = b_hi[j]
            rb = b_lo[j] if len(b_lo) else 0.0
            j += 1
        hi[c], lo[c] = add_pairs(a, ra, b, rb, sign)
        left |= lo[c] != 0.0
    return left


@kernel
def scale_cells(a_hi, a_lo, factors, hi, lo):
    # (hi, lo)[c] = factors[c] * a[c], renormalised; True if any low part is left
    left = False
    for c in range(len(hi)):
        hi[c], lo[c] = scale_pair(a_hi[c], a_lo[c] if len(a_lo) else 0.0, factors[c])
        left |= lo[c] != 0.0
    return left
