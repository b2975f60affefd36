"""Weights whose pull is t = start + tau w under a logarithmic link, and the sum T of all pulls of a multinomial class.

A weight is the root of w = ln(m_+ - t r_+) - ln(m_- + t r_-); r_- = 0 on a side that is not pulled.
"""

import numpy as np

from streamnb.kernels.compiler import brick, kernel

MOST_STEPS = 400


@brick
def log_root(m_plus, r_plus, m_minus, r_minus, start, tau, t_star, w, near):
    """The root between 0 and (t* - start) / tau, from w on, to a last step of `near` times itself.

    Halley's method inside a shrinking bracket; what is left after a step is about its cube.
    """
    low, high = 0.0, (t_star - start) / tau
    for _ in range(MOST_STEPS):
        inside = low < w < high or high < w < low
        if not inside:
            w = 0.5 * (low + high)
        t = start + tau * w
        plus, minus = m_plus - t * r_plus, m_minus + t * r_minus
        rest = w - np.log(plus / minus)
        if rest == 0.0:
            return w
        if (rest > 0.0) == (high > 0.0):
            high = w
        else:
            low = w
        plus, minus = tau * r_plus / plus, tau * r_minus / minus
        slope = 1.0 + plus + minus
        step = rest / (slope - 0.5 * rest * (plus - minus) * (plus + minus) / slope)
        w -= step
        if abs(step) <= near * abs(w) or high == low:
            return w if low <= w <= high or high <= w <= low else 0.5 * (low + high)
    return w


@kernel
def log_roots(m_plus, r_plus, m_minus, r_minus, start, tau, t_star, w):
    # w[i] = root of the i-th weight, to its last digits
    for i in range(len(w)):
        w[i] = log_root(m_plus[i], r_plus[i], m_minus[i], r_minus[i], start[i], tau, t_star[i], 0.0, 1e-6)


@kernel
def gaps(plus, n_plus, minus, n_minus, pulled, excess, share, threshold, tau, total, w):
    """How far all pulls together stop before t* at T, and the derivative by T; w are the weights there.

    With L the counts less T and plus T, both sums are of t* - t = q L_+ L_- (e^w - 1) / (L_+ e^w + L_-), which has all
    its digits where T - sum of t has none. On entry w are weights at another T, or 0.
    """
    l_plus, l_minus = n_plus - total, n_minus + pulled * total
    r_plus, r_minus = 1.0 / l_plus, pulled / l_minus
    gap, slope = 0.0, 0.0
    for j in range(len(w)):
        t_star = excess[j] + total * share[j]
        if not abs(t_star) > threshold[j]:
            w[j] = 0.0
            continue
        start = threshold[j] if t_star > 0.0 else -threshold[j]
        a, b = plus[j] * r_plus, minus[j] / l_minus
        w[j] = log_root(a, r_plus, b, r_minus, start, tau, t_star, w[j], 1e-5)
        t = start + tau * w[j]
        more = np.expm1(w[j])  # odds less 1
        gap += share[j] * l_plus * more / (1.0 + pulled * l_plus * (1.0 + more) / l_minus)
        steep = r_plus / (a - t * r_plus) + r_minus / (b + t * r_minus)
        slope += share[j] - tau * (r_plus + r_minus) / (1.0 + tau * steep)
    return gap, slope


@kernel
def smooth_total(plus, n_plus, minus, n_minus, pulled, excess, share, threshold, tau, total):
    """The T at which the pulls t = +-threshold + tau w add up to it, from `total` on; 0 of `pulled` holds one side.

    sum (t* - t) rises through its only root between the ends, where it vanishes too: Newton's method, and halves of
    what is left of the bracket where a step leaves it.
    """
    w = np.zeros(len(excess))
    low, high = -n_minus if pulled > 0.0 else -np.inf, n_plus
    size = n_plus
    for i in range(MOST_STEPS):
        if not low < total < high:
            if low == -np.inf:
                total, size = min(total, high) - size, 2.0 * size
            else:
                total = 0.5 * (low + high)
        gap, slope = gaps(plus, n_plus, minus, n_minus, pulled, excess, share, threshold, tau, total, w)
        if gap == 0.0:
            return total
        if gap > 0.0:
            high = total
        else:
            low = total
        step = gap / slope if slope > 0.0 and i % 8 < 7 else np.inf
        total -= step
        smallest = n_plus - total if pulled == 0.0 else min(n_plus - total, n_minus + total)
        if abs(step) <= 1e-8 * smallest or (low > -np.inf and high - low <= 4e-16 * max(abs(low), abs(high))):
            return total if low <= total <= high else 0.5 * (low + high)
    return total
