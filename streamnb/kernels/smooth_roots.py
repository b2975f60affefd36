"""Weights whose pull is t = start + tau w under a logarithmic link, and the sum T of all pulls of a multinomial class.

A weight is the root of w = ln(m_+ - t r_+) - ln(m_- + t r_-); r_- = 0 on a side that is not pulled.
"""

import numpy as np

from streamnb.kernels.compiler import brick, kernel
from streamnb.kernels.elementary import exp_less_one, logarithm

MOST_STEPS = 400
CHUNK = 512  # weights that are worked on at a time: what is kept of them stays in the cache
STEPS = 4  # from a weight of 0 on, after which few weights are left to be found one by one
NEAR = 1e-5  # of the weight, and of its way to where a mean would be 0, is the last step at most: its cube has no digit
ANY = 1e200  # times the end of a step: as long as it may be
FAR = 1e300  # odds beyond which, either way, no step is trusted


@brick
def log_root(m_plus, r_plus, m_minus, r_minus, start, tau, t_star):
    """The root between 0 and (t* - start) / tau.

    Halley's method inside a shrinking bracket; what is left after a step is about its cube.
    """
    w, low, high = 0.0, 0.0, (t_star - start) / tau
    for _ in range(MOST_STEPS):
        inside = low < w < high or high < w < low
        if not inside:
            w = 0.5 * (low + high)
            if w in (low, high):
                return w
        t = start + tau * w
        plus, minus = m_plus - t * r_plus, m_minus + t * r_minus
        if plus <= 0.0 or minus <= 0.0:  # rounded
            w, high = np.nan, w
            continue
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
        if abs(step) <= NEAR * abs(w) and abs(step) * (plus + minus) <= NEAR:
            return w if low <= w <= high or high <= w <= low else 0.5 * (low + high)
    return w


@brick
def stepped(m_plus, r_plus, m_minus, r_minus, start, tau, far, w, near):
    """Halley's step from w, but not beyond 0 or `far`; NaN where it was longer than `near` allows, or lost.

    That is a share of its end, and of the way to where a mean would be 0: near there steps are short however far the
    root is.
    """
    t = start + tau * w
    plus, minus = m_plus - t * r_plus, m_minus + t * r_minus
    odds = np.divide(plus, minus)
    sound = (plus > 0.0) & (odds > 1.0 / FAR) & (odds < FAR)
    rest = w - logarithm(odds if sound else 1.0)
    of_plus, of_minus, both = tau * r_plus * minus, tau * r_minus * plus, plus * minus
    slope = both + of_plus + of_minus
    step = np.divide(rest * both * slope, slope * slope - 0.5 * rest * (of_plus - of_minus) * (of_plus + of_minus))
    found = w - step
    found = min(far, 0.0) if found < min(far, 0.0) else found
    found = max(far, 0.0) if found > max(far, 0.0) else found
    short = (abs(step) <= near * abs(found)) & (abs(step) * (of_plus + of_minus) <= near * both)
    found = found if sound & short else np.nan
    return 0.0 if far == 0.0 else found


@kernel
def log_roots(m_plus, r_plus, m_minus, r_minus, start, tau, t_star, w):
    # w[i] = root of the i-th weight, to its last digits; the steps of all are vectors of the processor
    w[:] = 0.0
    for k in range(STEPS):
        near = NEAR if k == STEPS - 1 else ANY
        for i in range(len(w)):
            far = np.divide(t_star[i] - start[i], tau)
            w[i] = stepped(m_plus[i], r_plus[i], m_minus[i], r_minus[i], start[i], tau, far, w[i], near)
    for i in range(len(w)):
        if w[i] != w[i]:
            w[i] = log_root(m_plus[i], r_plus[i], m_minus[i], r_minus[i], start[i], tau, t_star[i])


@brick
def pulled_from(excess, share, threshold, total):
    """t* at T, and where the pull of the weight begins, which is t* where there is none."""
    t_star = excess + total * share
    return t_star, min(threshold, t_star) if t_star > 0.0 else max(-threshold, t_star)


@kernel
def weights_at(plus, r_plus, minus, r_minus, of_minus, excess, share, threshold, tau, total, w, n_steps):
    # w = the weights at T, from those at another T, or 0, on
    for k in range(n_steps):
        near = NEAR if k == n_steps - 1 else ANY
        for j in range(len(w)):
            t_star, start = pulled_from(excess[j], share[j], threshold[j], total)
            a, b, far = plus[j] * r_plus, minus[j] * of_minus, np.divide(t_star - start, tau)
            w[j] = stepped(a, r_plus, b, r_minus, start, tau, far, w[j], near)
    for j in range(len(w)):
        if w[j] != w[j]:
            t_star, start = pulled_from(excess[j], share[j], threshold[j], total)
            w[j] = log_root(plus[j] * r_plus, r_plus, minus[j] * of_minus, r_minus, start, tau, t_star)


@kernel
def gaps(plus, n_plus, minus, n_minus, pulled, excess, share, threshold, tau, total, w, n_steps):
    """How far all pulls together stop before t* at T, and the derivative by T; w are the weights there.

    With L the counts less T and plus T, both sums are of t* - t = q L_+ L_- (e^w - 1) / (L_+ e^w + L_-), which has all
    its digits where T - sum of t has none. On entry w are weights at another T, or 0.
    """
    l_plus, l_minus = n_plus - total, n_minus + pulled * total
    r_plus, of_minus = 1.0 / l_plus, 1.0 / l_minus
    r_minus, heavier = pulled * of_minus, pulled * l_plus / l_minus
    left, steep = np.empty(CHUNK), np.empty(CHUNK)
    gap, slope = 0.0, 0.0
    for first in range(0, len(w), CHUNK):
        some = slice(first, first + CHUNK)
        p, m, e, q, u, v = plus[some], minus[some], excess[some], share[some], threshold[some], w[some]
        weights_at(p, r_plus, m, r_minus, of_minus, e, q, u, tau, total, v, n_steps)
        for j in range(len(v)):
            more = exp_less_one(min(abs(v[j]), 700.0))  # e^|w| - 1, with all digits of odds below 1, too
            below = v[j] < 0.0
            ends = (1.0 + more) + heavier if below else 1.0 + heavier * (1.0 + more)
            left[j] = np.divide(-q[j] if below else q[j], ends) * more
        for j in range(len(v)):
            t_star, start = pulled_from(e[j], q[j], u[j], total)
            t = start + tau * v[j]
            a, b = (p[j] - t) * r_plus, m[j] * of_minus + t * r_minus
            pull = np.divide(tau * (r_plus + r_minus) * a * b, a * b + tau * (r_plus * b + r_minus * a))
            steep[j] = 0.0 if start == t_star else q[j] - pull
        for j in range(len(v)):
            gap += left[j]
            slope += steep[j]
    return gap * l_plus, slope


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
                total, size = high - size, 2.0 * size
            else:
                total = 0.5 * (low + high)
        n_steps = max(STEPS - i, 2)  # T moves less and less
        gap, slope = gaps(plus, n_plus, minus, n_minus, pulled, excess, share, threshold, tau, total, w, n_steps)
        if gap == 0.0:
            return total
        if gap > 0.0:
            high = total
        else:
            low = total
        step = gap / slope if slope > 0.0 and i % 8 < 7 else np.inf
        smallest = n_plus - total if pulled == 0.0 else min(n_plus - total, n_minus + total)
        total -= step
        if abs(step) <= 1e-12 * smallest or (low > -np.inf and high - low <= 4e-16 * max(abs(low), abs(high))):
            return total if low <= total <= high else 0.5 * (low + high)
    return total
