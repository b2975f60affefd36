"""Logarithm and exponential in plain arithmetic, which the compiler can vectorise.

Both are accurate to two units in the last place, and the same on every machine, as no library is involved.
"""

import numpy as np

from streamnb.kernels.compiler import brick

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
