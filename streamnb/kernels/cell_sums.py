"""Sums of the cells of a sparse table, each a key and a pair (hi, lo); keys are sorted, and none comes twice.

Where the low parts of a table are all 0 its `lo` is one 0.
"""

from streamnb.kernels.class_sums import weighted_moment
from streamnb.kernels.compiler import kernel
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
    i, j, c = 0, 0, 0
    a_step, b_step = int(len(a_lo) > 1), int(len(b_lo) > 1)
    while i < len(a_keys) and j < len(b_keys):
        # which side comes first is a toss-up: values of both are read, and none chosen by a jump
        a_key, b_key = a_keys[i], b_keys[j]
        from_a, from_b = a_key <= b_key, b_key <= a_key
        a, a_rest, b, b_rest = a_hi[i], a_lo[i * a_step], b_hi[j], b_lo[j * b_step]
        keys[c] = a_key if from_a else b_key
        a, a_rest = a if from_a else 0.0, a_rest if from_a else 0.0
        b, b_rest = b if from_b else 0.0, b_rest if from_b else 0.0
        hi[c], lo[c] = add_pairs(a, a_rest, b, b_rest, sign)
        left |= lo[c] != 0.0
        i += from_a
        j += from_b
        c += 1
    for k in range(i, len(a_keys)):
        keys[c] = a_keys[k]
        hi[c], lo[c] = add_pairs(a_hi[k], a_lo[k * a_step], 0.0, 0.0, sign)
        left |= lo[c] != 0.0
        c += 1
    for k in range(j, len(b_keys)):
        keys[c] = b_keys[k]
        hi[c], lo[c] = add_pairs(0.0, 0.0, b_hi[k], b_lo[k * b_step], sign)
        left |= lo[c] != 0.0
        c += 1
    return left


@kernel
def scale_cells(a_hi, a_lo, factors, hi, lo):
    # (hi, lo)[c] = factors[c] * a[c], renormalised; True if any low part is left
    left, step = False, int(len(a_lo) > 1)
    for c in range(len(hi)):
        hi[c], lo[c] = scale_pair(a_hi[c], a_lo[c * step], factors[c])
        left |= lo[c] != 0.0
    return left
