"""Error-free float64 addition and multiplication (Dekker 1971, Knuth 1969), the bricks of (hi, lo) sums."""

from streamnb.kernels.compiler import kernel
from streamnb.kernels.lanes import product_error

RESIDUE = 2.0**-85
TINY = 2.0**-960  # less has no error-free products, and soon no full digits


@kernel
def two_sum(a, b):
    """Return the rounded a + b and the rounding error, both exact together."""
    s = a + b
    v = s - a
    return s, (a - (s - v)) + (b - v)


@kernel
def two_product(a, b):
    """Return the rounded a * b and the rounding error, both exact together."""
    p = a * b
    return p, product_error(a, b, p)


@kernel
def add_pairs(a_hi, a_lo, b_hi, b_lo, sign):
    """Return a + sign * b as a pair, renormalised."""
    s, e = two_sum(a_hi, sign * b_hi)
    e += a_lo + sign * b_lo
    if abs(s + e) <= RESIDUE * abs(a_hi):
        return 0.0, 0.0  # what was added is taken away again; no digit of a pair reaches further down
    hi = s + e
    return hi, e - (hi - s)


@kernel
def scale_pair(a_hi, a_lo, factor):
    """Return factor * a as a pair, renormalised.

    What fades away is 0 in the end: it would stay among the denormal numbers for ever, and these are slow.
    """
    p, e = two_product(factor, a_hi)
    e += factor * a_lo
    hi = p + e if abs(p) >= TINY else 0.0
    return hi, e - (hi - p) if abs(e) >= TINY else 0.0


@kernel
def add_rows(a_hi, a_lo, b_hi, b_lo, sign, hi, lo):
    # (hi, lo) = a + sign * b, renormalised; True if any low part is left
    left = False
    for j in range(len(hi)):
        hi[j], lo[j] = add_pairs(a_hi[j], a_lo[j], b_hi[j], b_lo[j], sign)
        left |= lo[j] != 0.0
    return left


@kernel
def scale_rows(a_hi, a_lo, factor, hi, lo):
    # (hi, lo) = factor * a, renormalised; True if any low part is left
    left = False
    for j in range(len(hi)):
        hi[j], lo[j] = scale_pair(a_hi[j], a_lo[j], factor)
        left |= lo[j] != 0.0
    return left


@kernel
def scatter_about_mean(sum_hi, sum_lo, square_hi, square_lo, weight_hi, weight_lo, out):
    # out[j] = square[j] - sum[j]^2 / weight, in doubled precision, never below zero
    for j in range(len(out)):
        # the mean with its error: one Newton correction of the rounded quotient
        m = sum_hi[j] / weight_hi
        p, e = two_product(m, weight_hi)
        m_lo = ((sum_hi[j] - p) - e + sum_lo[j] - m * weight_lo) / weight_hi
        p, e = two_product(m, sum_hi[j])
        e += m * sum_lo[j] + m_lo * sum_hi[j]
        s, r = two_sum(square_hi[j], -p)
        out[j] = max(s + (r + square_lo[j] - e), 0.0)
