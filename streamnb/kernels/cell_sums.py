"""Sums of the cells of a sparse table: sorted, unique keys with (hi, lo) sums.

Low parts are (n_parts, n_cells): none, one or three. Those of results should be 0 on entry.
"""

from streamnb.kernels.class_sums import weighted_moment
from streamnb.kernels.compiler import kernel
from streamnb.kernels.exact import (
    add_deep,
    add_shallow,
    is_power_of_two,
    keep_parts,
    parts_of,
    scale_cell,
    two_sum,
)

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
