"""Roots of t = start + tau w under a logarithmic link, and the sum T of the pulls of a multinomial class.

A weight is the root of w = ln(m_+ - t r_+) - ln(m_- + t r_-); r_- = 0 on a side that is not pulled.
"""

import numpy as np

from streamnb.kernels.compiler import brick, kernel, part
from streamnb.kernels.elementary import exp_less_one, logarithm

MOST_STEPS = 400
CHUNK = 512  # weights at a time, whose intermediate results stay in the cache
STEPS = 4  # vectorised steps from 0, after which few weights remain to be solved one by one
NEAR = 1e-5  # relative size of a last step; the error after it, about its cube, is below rounding
ANY = 1e200  # the same without a limit
FAR = 1e300  # odds beyond which, or below the inverse, steps are not trusted


@brick
def log_root(m_plus, r_plus, m_minus, r_minus, start, tau, t_star):
    """The root between 0 and (t* - start) / tau.

    Halley's method inside a shrinking bracket; the error after a step is about its cube.
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
        if plus <= 0.0 or minus <= 0.0:  # only by rounding
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
    """Halley's step from w, but not beyond 0 or `far`; NaN if it is longer than `near` allows, or undefined.

    `near` is relative to the end of the step, and to the distance at which a mean would be 0: close to that, steps are
    short however far the root is.
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
    # w[i] = root of the i-th weight, to full precision; the steps of all weights are vectorised
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
    """t* at T, and the start of the pull of the weight, which is t* where the weight is zero."""
    t_star = excess + total * share
    return t_star, min(threshold, t_star) if t_star > 0.0 else max(-threshold, t_star)


@part
def weights_at(plus, r_plus, minus, r_minus, of_minus, excess, share, threshold, tau, total, w, n_steps):
    # w = the weights at T, starting from those at another T, or from 0
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


@part
def gaps(plus, n_plus, minus, n_minus, pulled, excess, share, threshold, tau, total, terms, w, n_steps):
    """The sum of t* - t over all weights at T, and its derivative in T; w are the weights there.

    With L the counts minus T and plus T, t* - t = q L_+ L_- (e^w - 1) / (L_+ e^w + L_-), which keeps its precision
    where T minus the sum of t has none. On entry w are weights at another T, or 0; `terms` (2, CHUNK) is scratch.
    """
    l_plus, l_minus = n_plus - total, n_minus + pulled * total
    r_plus, of_minus = 1.0 / l_plus, 1.0 / l_minus
    r_minus, heavier = pulled * of_minus, pulled * l_plus / l_minus
    left, steep = terms[0], terms[1]
    gap, slope = 0.0, 0.0
    for first in range(0, len(w), CHUNK):
        some = slice(first, first + CHUNK)
        p, m, e, q, u, v = plus[some], minus[some], excess[some], share[some], threshold[some], w[some]
        weights_at(p, r_plus, m, r_minus, of_minus, e, q, u, tau, total, v, n_steps)
        for j in range(len(v)):
            more = exp_less_one(min(abs(v[j]), 700.0))  # e^|w| - 1, also to full precision for odds below 1
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
def smooth_total(plus, n_plus, minus, n_minus, pulled, excess, share, threshold, tau, total, terms, w):
    """The T that equals the sum of the pulls t = +-threshold + tau w, found from `total`; 0 in `pulled` fixes a side.

    sum (t* - t) increases through its only root between the ends, where it vanishes too: Newton's method, with
    bisection where a step leaves the bracket. `terms` is scratch, as is w, which is 0 on entry.
    """
    low, high = -n_minus if pulled > 0.0 else -np.inf, n_plus
    size = n_plus
    for i in range(MOST_STEPS):
        if not low < total < high:
            if low == -np.inf:
                total, size = high - size, 2.0 * size
            else:
                total = 0.5 * (low + high)
        n_steps = max(STEPS - i, 2)  # the changes of T become small
        arrays = plus, n_plus, minus, n_minus, pulled, excess, share, threshold
        gap, slope = gaps(*arrays, tau, total, terms, w, n_steps)
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
