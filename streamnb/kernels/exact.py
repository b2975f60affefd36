"""Error-free float64 addition and multiplication (Dekker 1971, Knuth 1969), used by every (hi, lo) sum.

Logarithm and exponential are in plain arithmetic, which the compiler can vectorise. Both are accurate to two units in
the last place, and the same on every machine, as no library is involved.
"""

import math

import numpy as np

from streamnb.kernels.compiler import brick, kernel, part
from streamnb.kernels.lanes import product_error

RESIDUE, DEEP_RESIDUE = 2.0**-85, 2.0**-190  # relative rounding residue of pairs, and of sums with more parts
TINY = 2.0**-960  # smaller numbers have no error-free products, and soon lose digits
SMALL = 2.0**-1000, 2.0**-960, 2.0**-850  # below, a part may underflow: without low parts, with one, with more


@part
def two_sum(a, b):
    """Return the rounded a + b and its rounding error, whose sum is exact."""
    s = a + b
    v = s - a
    return s, (a - (s - v)) + (b - v)


@part
def two_product(a, b):
    """Return the rounded a * b and its rounding error, whose sum is exact."""
    p = a * b
    return p, product_error(a, b, p)


@part
def add_low(lo, k, j, r, error):
    """Add r + error to the low parts of a cell, lo (n_parts, n_classes, n_columns); True if later parts are in use."""
    r, error = two_sum(r, error)
    lo[0, k, j], lost = two_sum(lo[0, k, j], r)
    return spill(lo, k, j, lost, error) if abs(lost) > 0.0 or abs(error) > 0.0 else False  # neither is NaN


@part
def spill(lo, k, j, lost, error):
    """Add the digits beyond the first low part to the others, if there are any."""
    if lo.shape[0] == 1:
        return False
    lo[1, k, j], r = two_sum(lo[1, k, j], lost)
    lo[2, k, j] += r
    lo[1, k, j], r = two_sum(lo[1, k, j], error)
    lo[2, k, j] += r
    return True


@part
def add_shallow(a, a_lo, b, b_lo, sign):
    """Return a + sign * b as a pair, renormalised, and whether the pair is exact."""
    s, e = two_sum(a, sign * b)
    t, f = two_sum(a_lo, sign * b_lo)
    t, g = two_sum(t, e)
    hi, lo = two_sum(s, t)
    return hi, lo, (f == 0.0) & (g == 0.0)


@part
def add_deep(a, b, sign, residue):
    """Return a + sign * b of four parts each, renormalised: the first is the rounded sum.

    Only digits below 2^-212 of the largest part may be lost; a sum of at most `residue` times a becomes 0.
    """
    s, e = two_sum(a[0], sign * b[0])
    t, f = two_sum(a[1], sign * b[1])
    u, g = two_sum(a[2], sign * b[2])
    t, e = two_sum(t, e)
    u, f = two_sum(u, f)
    u, e = two_sum(u, e)
    v = a[3] + sign * b[3] + (g + (e + f))
    for _ in range(3):  # each time the rounded sum of all comes first, followed by its errors
        u, v = two_sum(u, v)
        t, u = two_sum(t, u)
        s, t = two_sum(s, t)
    if not math.isfinite(s):
        return s, 0.0, 0.0, 0.0
    if abs(s) <= residue * abs(a[0]):
        return 0.0, 0.0, 0.0, 0.0
    if u != 0.0:  # where t is half a unit, the remainder decides the direction of rounding
        nearest = s + (t + math.copysign(2.0**-52 * abs(t), u))
        if nearest != s:
            s, t = nearest, t - (nearest - s)
    return s, t, u, v


@kernel
def renormalise(hi, lo):
    """Make each hi the rounded sum of itself and its one low part, in place."""
    for k in range(hi.shape[0]):
        for j in range(hi.shape[1]):
            s, error = two_sum(hi[k, j], lo[k, j])
            hi[k, j], lo[k, j] = s, error if math.isfinite(s) else 0.0


@part
def parts_of(hi, lo, at):
    """Return the four parts of a cell whose low parts are (0, 1 or 3, n)."""
    n = len(lo)
    return hi[at], lo[0, at] if n > 0 else 0.0, lo[1, at] if n > 1 else 0.0, lo[2, at] if n > 1 else 0.0


@part
def keep_parts(parts, hi, lo, c):
    """Store a cell in (hi, lo), with as many low parts as there are; return how many are in use."""
    s, t, u, v = parts
    hi[c], lo[0, c] = s, t
    if lo.shape[0] == 1 or (u == 0.0 and v == 0.0):
        return int(t != 0.0)
    lo[1, c], lo[2, c] = u, v
    return 3


def add_rows(a_hi, a_lo, b_hi, b_lo, sign, residue, hi, lo):
    """Put a + sign * b, renormalised, into (hi, lo); return how many low parts are in use.

    Low parts are (1 or 3, n). With three, nothing is lost; with one, digits below 2^-106 of the sum. The second and
    third part of `lo` should be 0 on entry. Sums of at most `residue` times a become 0.
    """
    if len(a_lo) == len(b_lo) == 1 and (used := add_pairs(a_hi, a_lo[0], b_hi, b_lo[0], sign, residue, hi, lo[0])) >= 0:
        return used
    return add_cells(a_hi, a_lo, b_hi, b_lo, sign, residue, hi, lo)


@kernel
def add_cells(a_hi, a_lo, b_hi, b_lo, sign, residue, hi, lo):
    used = 0
    for j in range(len(hi)):
        parts = add_deep(parts_of(a_hi, a_lo, j), parts_of(b_hi, b_lo, j), sign, residue)
        used = max(used, keep_parts(parts, hi, lo, j))
    return used


@kernel
def add_pairs(a_hi, a_lo, b_hi, b_lo, sign, residue, hi, lo):
    # the same of pairs; -1 if the sums are none
    lost, left = 0, 0
    for j in range(len(hi)):
        hi[j], lo[j], whole = add_shallow(a_hi[j], a_lo[j], b_hi[j], b_lo[j], sign)
        lost += not whole
        if abs(hi[j]) <= residue * abs(a_hi[j]):
            hi[j], lo[j] = 0.0, 0.0
        left |= lo[j] != 0.0
    return -1 if lost else left


@part
def scale_pair(a_hi, a_lo, factor):
    """Return factor * a as a pair, renormalised.

    Very small results become 0, since decaying sums would otherwise stay denormal, which is slow.
    """
    p, e = two_product(factor, a_hi)
    e += factor * a_lo
    hi = 0.0 if abs(p) < TINY else p + e  # NaN is kept
    return hi, e - (hi - p) if abs(e) >= TINY else 0.0


@part
def scale_cell(a_hi, a_lo, at, factor, exactly, hi, lo):
    """Store factor * a[at] in (hi, lo)[at]; return the number of low parts in use, and whether digits were lost.

    A power of two (`exactly`) scales all parts; with other factors a pair remains.
    """
    n_low = len(a_lo)
    scaled = factor * a_hi[at]
    if factor == 1.0 or (exactly and abs(scaled) >= SMALL[(n_low + 1) // 2]):
        used = 0
        hi[at] = scaled
        for p in range(n_low):
            lo[p, at] = factor * a_lo[p, at]
            if lo[p, at] != 0.0:
                used = 1 if p == 0 else 3
        return used, False
    hi[at], lo[0, at] = scale_pair(a_hi[at], a_lo[0, at] if n_low > 0 else 0.0, factor)
    lost = a_hi[at] != 0.0 and factor != 0.0 and (n_low > 0 or abs(scaled) < TINY)
    return int(lo[0, at] != 0.0), lost


@kernel
def scale_rows(a_hi, a_lo, factor, hi, lo):
    # (hi, lo) = factor * a, renormalised; returns the number of low parts in use, and whether digits were lost
    used, lost, exactly = 0, False, is_power_of_two(factor)
    for j in range(len(hi)):
        of_cell, lost_of_cell = scale_cell(a_hi, a_lo, j, factor, exactly, hi, lo)
        used, lost = max(used, of_cell), lost or lost_of_cell
    return used, lost


@part
def is_power_of_two(factor):
    return math.frexp(factor)[0] == 0.5


@kernel
def scatter_about_mean(sum_hi, sum_lo, square_hi, square_lo, weight_hi, weight_lo, out):
    # out[j] = square[j] - sum[j]^2 / weight, in doubled precision, never negative
    for j in range(len(out)):
        # the mean with its error: one Newton correction of the rounded quotient
        m = sum_hi[j] / weight_hi
        p, e = two_product(m, weight_hi)
        m_lo = ((sum_hi[j] - p) - e + sum_lo[j] - m * weight_lo) / weight_hi
        p, e = two_product(m, sum_hi[j])
        e += m * sum_lo[j] + m_lo * sum_hi[j]
        s, r = two_sum(square_hi[j], -p)
        out[j] = max(s + (r + square_lo[j] - e), 0.0)


LN2_HIGH, LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10  # the high part ends with 32 zero bits
LOWEST = int(np.float64(np.sqrt(0.5)).view(np.int64))  # significands are taken from here to twice that
ABOVE = int(np.float64(1.0).view(np.int64)) - LOWEST
FRACTION = (1 << 52) - 1
WHOLE = 2.0**52  # a whole number in its low bits is the difference from it
WHOLE_BITS = int(np.float64(WHOLE).view(np.int64))
ROUNDER = 1.5 * WHOLE  # adding and subtracting it rounds to a whole number


@brick
def logarithm(x):
    """ln x of a normal x > 0, by fdlibm's e_log.c (Sun Microsystems 1993); undefined otherwise."""
    bits = np.float64(x).view(np.int64) + ABOVE
    k = np.int64((bits >> 52) | WHOLE_BITS).view(np.float64) - (WHOLE + 1023.0)
    f = np.int64((bits & FRACTION) + LOWEST).view(np.float64) - 1.0
    s = np.divide(f, 2.0 + f)
    z = s * s
    w = z * z
    odd = w * (3.999999999940941908e-01 + w * (2.222219843214978396e-01 + w * 1.531383769920937332e-01))
    even = 2.857142874366239149e-01 + w * (1.818357216161805012e-01 + w * 1.479819860511658591e-01)
    rest = odd + z * (6.666666666666735130e-01 + w * even)
    half = 0.5 * f * f
    return k * LN2_HIGH - ((half - (s * (half + rest) + k * LN2_LOW)) - f)


@brick
def exponential(x):
    """e^x for -700 < x < 700."""
    power, p = split_exponential(x)
    return power * p + power


@brick
def exp_less_one(x):
    """e^x - 1 to full precision for -700 < x < 700."""
    power, p = split_exponential(x)
    return power * p + (power - 1.0)


@brick
def split_exponential(x):
    """2^k, and e^r - 1 for r = x - k ln 2 by its series."""
    rounded = np.float64(x * (1.0 / (LN2_HIGH + LN2_LOW)) + ROUNDER)
    k = rounded - ROUNDER
    r = (x - k * LN2_HIGH) - k * LN2_LOW
    p = 1.0 / 479001600.0 + r * (1.0 / 6227020800.0)
    p = 1.0 / 3628800.0 + r * (1.0 / 39916800.0 + r * p)
    p = 1.0 / 40320.0 + r * (1.0 / 362880.0 + r * p)
    p = 1.0 / 720.0 + r * (1.0 / 5040.0 + r * p)
    p = 1.0 / 24.0 + r * (1.0 / 120.0 + r * p)
    p = r + r * r * (0.5 + r * (1.0 / 6.0 + r * p))
    return np.int64((rounded.view(np.int64) << 52) + (1023 << 52)).view(np.float64), p
