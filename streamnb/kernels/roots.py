"""Exact solutions of the scalar equations of a class: roots of t = start + tau w, and spans of taus under L1.

The link is logarithmic, and T the sum of the pulls of a multinomial class.

A weight is the root of w = ln(m_+ - t r_+) - ln(m_- + t r_-); r_- = 0 on a side that is not pulled.

Over a whole grid of L1 taus, statistics of both sides are (R, n_features), or have one row or column for all. `totals`,
the sums of all pulls of a row at each tau, are (R, G), zero except for coupled families. Lists of weights are sorted by
feature, row, then tau; feature j and row r have `lengths[j, r]` of them, for the first taus unless `points` lists
others.
"""

import numpy as np

from streamnb.kernels.compiler import brick, kernel, part
from streamnb.kernels.exact import exp_less_one, logarithm
from streamnb.kernels.table_sums import n_below

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


@kernel
def flat_range(excess, share, unit, n, tau):
    """The lowest and the highest T at which no feature is clipped: every T between is a root, if there is any."""
    low, high = -1e308, 1e308
    for j in range(n):
        if share[j] > 0.0:
            low = max(low, (-tau * unit[j] - excess[j]) / share[j])
            high = min(high, (tau * unit[j] - excess[j]) / share[j])
            if low > high:
                break
    return low, high


@kernel
def flat_root(low, high):
    """A root well inside that range, where rounding cannot make a feature appear clipped."""
    return 0.0 if low <= 0.0 <= high else 0.5 * (low + high)


@part
def newton_root(excess, share, unit, n, tau, sure_slope, sure_level, low, high, start):
    """The root T of sum_j share[j] T = sum_j (+-tau unit[j] - excess[j]) over those of n features that T clips.

    For further features, which are clipped wherever the root may be, both sums are given. A Newton step solves the
    current linear segment exactly, so it ends at the segment of the root; where steps would cycle, the bracket is
    halved.
    """
    total = min(max(start, low), high)
    for _ in range(200):
        slope, level = sure_slope, sure_level
        for j in range(n):
            moved = excess[j] + total * share[j]
            threshold = tau * unit[j]
            clipped = abs(moved) > threshold  # without a branch, which would be unpredictable
            slope += share[j] if clipped else 0.0
            level += (threshold if moved > 0.0 else -threshold) - excess[j] if clipped else 0.0
        if slope * total < level:
            low = total
        else:
            high = total
        step = level / slope if slope > 0.0 else 0.5 * (low + high)
        if abs(step - total) <= 4e-16 * abs(step):
            return step
        total = step if low < step < high else 0.5 * (low + high)
    return total


@part
def clipped_spans(excess, share, unit, taus, every, index, below, centre, reach, found, spans, sums):
    """For each feature the first taus at which it is clipped wherever T is in reach, and those at which it may be.

    The features for which these differ are put into `found`, their numbers of taus into `spans`; returns how many.
    sums[:, g] adds up share, +-unit and excess of the features that are clipped for sure at tau g, not before. The
    first i taus of `every`, whose `index` is given, have below[i] of these taus.
    """
    n = 0
    for s in range(len(sums)):
        for g in range(len(taus)):
            sums[s, g] = 0.0
    for j in range(len(excess)):
        moved = excess[j] + centre * share[j]
        size, room, threshold = abs(moved), reach * share[j], unit[j] * (1.0 - 1e-9)
        if size + room < taus[0] * threshold:
            continue
        surely = (size - room) * (1.0 - 1e-9)
        first = below[at(n_below(surely / unit[j], every, index))] if unit[j] > 0.0 else len(taus) * (surely > 0.0)
        last = first
        while last < len(taus) and size + room >= taus[last] * threshold:
            last += 1
        if first > 0:
            sums[0, first - 1] += share[j]
            sums[1, first - 1] += unit[j] if moved > 0.0 else -unit[j]
            sums[2, first - 1] += excess[j]
        found[n], spans[0, n], spans[1, n] = j, first, last
        n += first < last
    for g in range(len(taus) - 2, -1, -1):
        for s in range(len(sums)):
            sums[s, g] += sums[s, g + 1]
    return n


@part
def sort_spans(spans, n, n_taus, order, ends):
    # order = the first `n` features in order of their first taus, ends[g] = the end of those that begin at tau g
    begin = 0
    for g in range(n_taus + 1):
        ends[g] = 0
    for i in range(n):
        ends[spans[0, i]] += 1
    for g in range(n_taus + 1):
        ends[g], begin = begin, begin + ends[g]
    for i in range(n):
        order[ends[spans[0, i]]] = i
        ends[spans[0, i]] += 1


@part
def roots_within(
    excess, share, unit, sums_of_all, taus, every, index, below, centre, reach, room, totals, flat, lows, highs
):
    """Roots T for ascending tau, correct if low and high are within `reach` of the centre.

    A feature is evaluated only at those taus at which clipping is uncertain.
    """
    surplus, bound, width = sums_of_all
    (e, q, u), (found, order, last), spans, sums, ends = room
    n = clipped_spans(excess, share, unit, taus, every, index, below, centre, reach, found, spans, sums)
    sort_spans(spans, n, len(taus), order, ends)
    p, n, total = 0, np.intp(0), 0.0  # a literal would be compiled separately
    for g in range(len(taus)):
        for at in range(p, ends[g]):
            i = order[at]
            j = found[i]
            e[n], q[n], u[n], last[n] = excess[j], share[j], unit[j], spans[1, i]
            n += 1
        tau, p, slope, level = taus[g], ends[g], sums[0, g], taus[g] * sums[1, g] - sums[2, g]
        low, high = flat_range(e, q, u, n, tau) if slope == 0.0 else (0.0, -1.0)
        flat[g] = low <= high
        if low <= high:
            total = flat_root(low, high)
            lows[g], highs[g] = (low, high) if total != 0.0 else (0.0, 0.0)
        else:
            low, high = (-surplus - tau * width) / bound, (-surplus + tau * width) / bound
            total = newton_root(e, q, u, n, tau, slope, level, low, high, total)
            lows[g], highs[g] = total, total
        totals[g] = total
        kept = 0
        for i in range(n):
            e[kept], q[kept], u[kept], last[kept] = e[i], q[i], u[i], last[i]
            kept += last[i] > g + 1
        n = kept


def room_for(n, n_taus):
    """Scratch of `total_pulls`."""
    floats, integers = tuple(np.empty((3, n))), tuple(np.empty((3, n), np.intp))
    spans, sums, ends = np.empty((2, n), np.intp), np.empty((3, n_taus)), np.empty(n_taus + 1, np.intp)
    room = floats, integers, spans, sums, ends
    return room, tuple(np.empty((4, n_taus))), tuple(np.empty((3, n_taus + 1), np.intp))


@kernel
def total_pulls(excess, share, unit, taus, index, room, of_taus, flags, totals):
    """The roots T of T = sum_j clip(excess[j] + T share[j], -tau unit[j], tau unit[j]) for ascending tau.

    Excess sums to zero and share to one, except for features that are never clipped, which are not given. The roots of
    the segment at T = 0 bound the search for the others. Returns the number of first taus with any clipping. `index`
    is that of `index_of`; `room`, `of_taus` and `flags` are the scratch of `room_for`.
    """
    (asked, some, lows, highs), (todo, flat, below) = of_taus, flags
    surplus, bound, width = 0.0, 0.0, 0.0
    for j in range(len(excess)):
        surplus, bound, width = surplus + excess[j], bound + share[j], width + unit[j]
    for g in range(len(taus)):
        totals[g], todo[g] = 0.0, g
    n_clipped, n = 0, len(taus) if bound > 0.0 else 0
    sums, centre, reach, wider = (surplus, bound, width), 0.0, 0.0, 1.0
    while n > 0:
        g = 0
        for i in range(n):
            asked[i] = taus[todo[i]]
            while g <= todo[i]:
                below[g] = i
                g += 1
        while g < len(below):
            below[g] = n
            g += 1
        roots_within(
            excess, share, unit, sums, asked[:n], taus, index, below, centre, reach, room, some, flat, lows, highs
        )
        n_left, low, high = 0, 0.0, 0.0
        for i in range(n):
            totals[todo[i]] = some[i]
            if lows[i] < centre - reach or highs[i] > centre + reach:
                low, high = (lows[i], highs[i]) if n_left == 0 else (low, high)
                todo[n_left] = todo[i]
                n_left += 1
            elif not flat[i]:
                n_clipped += 1
        n = n_left
        if n > 0:
            centre, wider = 0.5 * (low + high), 2.0 * wider
            reach = 0.5 * (high - low) + wider * abs(centre)
    return n_clipped


at = np.uintp  # an unsigned index spares the check for negative ones


@kernel
def live_ends(t_star, pooled, sd, scored, taus, bounds, slack, index, ends):
    # ends[j, r] = number of first taus, ascending, beyond which no total up to bounds[r, g] leaves a nonzero weight;
    # bounds do not increase with g; `index` is that of `index_of`
    for j in range(ends.shape[0]):
        for r in range(ends.shape[1]):
            size, share, unit = abs(t_star[r, j]), pooled[min(r, len(pooled) - 1), j], sd[r, j] if scored else 1.0
            if unit == 0.0:  # nothing is significant
                size, share, unit = 0.0, 0.0, 1.0
            end = n_below(size / unit, taus, index)
            while end < len(taus) and (size + bounds[r, at(end)] * share) / unit > taus[at(end)] * slack:
                end += 1
            ends[j, r] = end


@kernel
def last_live(t_star, pooled, unit, taus, totals, index, lasts):
    # lasts[j] = number of first taus up to the last with a nonzero weight of feature j in this row, if that is more;
    # none is after the last total. Returns the largest number that the row adds or shares
    reach, most = 0.0, 0
    for g in range(len(totals)):
        reach = max(reach, abs(totals[g]))
    for j in range(len(t_star)):
        t, share, end = t_star[j], pooled[j], 0
        if unit[j] > 0.0:
            end = min(n_below((abs(t) + reach * share) / unit[j] * (1.0 + 1e-9), taus, index), len(totals))
        while end > 0 and end >= lasts[j] and abs(t + totals[at(end - 1)] * share) / unit[j] <= taus[at(end - 1)]:
            end -= 1
        if end >= lasts[j]:
            lasts[j], most = end, max(most, end)
    return most


@kernel
def count_live(t_star, pooled, sd, scored, taus, totals, ends, found, rows, union):
    # add the number of nonzero weights to rows[r, g], and the number of features that have any to union[g]; `found` is
    # scratch for each g
    for j in range(ends.shape[0]):
        found[:] = 0
        last = 0
        for r in range(ends.shape[1]):
            t, share, unit = t_star[r, j], pooled[min(r, len(pooled) - 1), j], sd[r, j] if scored else 1.0
            for g in range(ends[j, r]):
                live = abs(t + totals[r, g] * share) / unit > taus[g]
                rows[r, g] += live
                found[g] |= live
            last = max(last, ends[j, r])
        for g in range(last):
            union[g] += found[g]


@kernel
def pulled_means(first, stop, t_star, sd, scored, taus, lengths, plus, minus, fixed, positive, negative):
    # the means of both sides under the pull, from means and shares without it; a fixed side does not move
    p = 0
    for j in range(first, stop):
        for r in range(lengths.shape[1]):
            unit = (sd[r, j] if scored else 1.0) * (1.0 if t_star[r, j] > 0.0 else -1.0)
            m_plus, m_minus = plus[0][r, j], minus[0][min(r, len(minus[0]) - 1), j]
            r_plus = plus[1][min(r, len(plus[1]) - 1), min(j, plus[1].shape[1] - 1)]
            r_minus = minus[1][min(r, len(minus[1]) - 1), min(j, minus[1].shape[1] - 1)]
            for g in range(lengths[j, r]):
                positive[at(p + g)] = m_plus - taus[at(g)] * unit * r_plus
            for g in range(lengths[j, r]):
                negative[at(p + g)] = m_minus if fixed else m_minus + taus[at(g)] * unit * r_minus
            p += lengths[j, r]


@kernel
def moved_means(first, stop, t_star, pooled, sd, scored, taus, totals, lengths, sides):
    # the same from sums and counts, which depend on totals, for nonzero weights only: also their points, and the signs
    # of t*. Lists and `lengths` shrink; arrays have space for one more weight
    plus, minus, fixed, points, sign, positive, negative = sides
    p = 0
    for j in range(first, stop):
        for r in range(lengths.shape[1]):
            t, share, unit = t_star[r, j], pooled[min(r, len(pooled) - 1), j], sd[r, j] if scored else 1.0
            s_plus, s_minus = plus[0][r, j], minus[0][min(r, len(minus[0]) - 1), j]
            n_plus = plus[1][min(r, len(plus[1]) - 1), min(j, plus[1].shape[1] - 1)]
            n_minus = minus[1][min(r, len(minus[1]) - 1), min(j, minus[1].shape[1] - 1)]
            start = p
            for g in range(lengths[j, r]):
                total = totals[r, g]
                moved = t + total * share
                side = 1 if moved > 0.0 else -1
                pull, n, m = side * (taus[g] * unit), n_plus - total, n_minus + total
                points[p], sign[p] = g, side
                positive[p] = s_plus / n - pull * (1.0 / n)
                negative[p] = s_minus if fixed else s_minus / m + pull * (1.0 / m)
                p += abs(moved) / unit > taus[g]  # without a branch, which would be unpredictable
            lengths[j, r] = p - start


@part
def find_places(lengths, p, points, coupled, begin, places):
    # places[g] = output position of the weights at tau g of one feature, whose lists begin at p, where it has any; the
    # first is at `begin`. Returns their end
    stop, last = p, np.intp(0)
    for r in range(len(lengths)):
        if coupled:
            stop += lengths[r]
        else:
            last = max(last, np.intp(lengths[r]))
    for q in range(p, stop):
        last = max(last, points[at(q)] + 1)
    places[:last] = 0
    for q in range(p, stop):
        places[at(points[at(q)])] += 1
    for r in range(0 if coupled else len(lengths)):
        for g in range(lengths[r]):
            places[at(g)] += 1
    for g in range(last):
        n = places[at(g)]
        places[at(g)] = begin
        begin += n
    return begin


@kernel
def put_in_order(first, stop, lengths, coupled, points, t_star, sign, links, phi, indptr, places, csr, shifts):
    # CSR of the weights, row r at tau g in column g * R + r: differences of links over phi; NaN and no shift where
    # rounding hides the sign of t*, or both sides are close. Links of a fixed side are given by feature, of the other
    # by weight; shifts may be left out. Returns the number of NaN
    (indices, weights), (positive, negative, fixed, close) = csr, links
    n_rows, p, n_lost = lengths.shape[1], np.intp(0), 0  # a literal would be compiled separately
    for j in range(first, stop):
        if n_rows == 1:  # then weights are in order
            indptr[j + 1] = indptr[j] + lengths[j, 0]
        else:
            indptr[j + 1] = find_places(lengths[j], p, points, coupled, indptr[j], places)
        for r in range(n_rows):
            unit, side = phi[min(r, len(phi) - 1), j], 1.0 if t_star[r, j] > 0.0 else -1.0
            apart = not close[min(r, len(close) - 1), min(j, close.shape[1] - 1)]
            for i in range(lengths[j, r]):
                g = at(points[at(p)]) if coupled else at(i)
                towards = np.float64(sign[at(p)]) if coupled else side
                weight = positive[at(p)] - (negative[at(j)] if fixed else negative[at(p)])
                weight = weight if unit == 1.0 else weight / unit
                found = apart and 0.0 < towards * weight < np.inf
                place = at(indptr[first] + p if n_rows == 1 else places[g])
                places[g] += 1
                weights[place] = weight if found else np.nan
                indices[place] = np.intp(g) * n_rows + r
                if not found:
                    n_lost += 1
                    shifts[p : p + 1] = 0.0
                p += 1
    return n_lost


@kernel
def add_shifts(first, stop, lengths, coupled, points, phi, shifts, added):
    # added[r, g] += the shift of each weight over phi
    p = 0
    for j in range(first, stop):
        for r in range(lengths.shape[1]):
            unit = phi[min(r, len(phi) - 1), j]
            for i in range(lengths[j, r]):
                added[r, at(points[p]) if coupled else at(i)] += shifts[p] / unit
                p += 1
