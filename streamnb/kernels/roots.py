"""Exact solutions of the scalar equations of a multinomial class under L1."""

import numpy as np

from streamnb.kernels.compiler import kernel, part
from streamnb.kernels.steps import index_of, n_below, scratch


@kernel
def flat_range(excess, share, unit, tau):
    """The lowest and the highest T at which nothing is clipped, so that every T between is a root, if there is any."""
    low, high = -1e308, 1e308
    for j in range(len(excess)):
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
def newton_root(excess, share, unit, tau, sure_slope, sure_level, low, high, start):
    """The root T of sum_j share[j] T = sum_j (+-tau unit[j] - excess[j]) over the features that are clipped at T.

    For further features, which are clipped wherever the root may be, both sums are given. A Newton step solves the
    current linear segment exactly, so it ends at the segment of the root; where steps would cycle, the bracket is
    halved.
    """
    total = min(max(start, low), high)
    for _ in range(200):
        slope, level = sure_slope, sure_level
        for j in range(len(excess)):
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
def clipped_spans(excess, share, unit, taus, centre, reach, table, found, spans, sums):
    """For each feature the first taus at which it is clipped wherever T is in reach, and those at which it may be.

    The features for which these differ are put into `found`, their numbers of taus into `spans`; returns how many.
    sums[:, g] adds up share, +-unit and excess of the features that are clipped for sure at tau g, not before.
    """
    n, index = 0, index_of(taus, table)
    for s in range(len(sums)):
        for g in range(len(taus)):
            sums[s, g] = 0.0
    for j in range(len(excess)):
        moved = excess[j] + centre * share[j]
        size, room, threshold = abs(moved), reach * share[j], unit[j] * (1.0 - 1e-9)
        if size + room < taus[0] * threshold:
            continue
        surely = (size - room) * (1.0 - 1e-9)
        first = n_below(surely / unit[j], taus, index) if unit[j] > 0.0 else len(taus) * (surely > 0.0)
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
def roots_within(excess, share, unit, sums_of_all, taus, centre, reach, room, totals, flat, lows, highs):
    """Roots T for ascending tau, correct if low and high are within `reach` of the centre.

    A feature is evaluated only at those taus at which clipping is uncertain.
    """
    surplus, bound, width = sums_of_all
    (e, q, u), (found, order, last), spans, sums, ends, table = room
    n = clipped_spans(excess, share, unit, taus, centre, reach, table, found, spans, sums)
    sort_spans(spans, n, len(taus), order, ends)
    p, n, total = 0, 0, 0.0
    for g in range(len(taus)):
        for at in range(p, ends[g]):
            i = order[at]
            j = found[i]
            e[n], q[n], u[n], last[n] = excess[j], share[j], unit[j], spans[1, i]
            n += 1
        tau, p, slope, level = taus[g], ends[g], sums[0, g], taus[g] * sums[1, g] - sums[2, g]
        of_excess, of_share, of_unit = e[:n], q[:n], u[:n]
        low, high = flat_range(of_excess, of_share, of_unit, tau) if slope == 0.0 else (0.0, -1.0)
        flat[g] = low <= high
        if low <= high:
            total = flat_root(low, high)
            lows[g], highs[g] = (low, high) if total != 0.0 else (0.0, 0.0)
        else:
            low, high = (-surplus - tau * width) / bound, (-surplus + tau * width) / bound
            total = newton_root(of_excess, of_share, of_unit, tau, slope, level, low, high, total)
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
    room = floats, integers, spans, sums, ends, scratch()
    return room, tuple(np.empty((4, n_taus))), tuple(np.empty((2, n_taus), np.intp))


@kernel
def total_pulls(excess, share, unit, taus, room, of_taus, flags, totals):
    """The roots T of T = sum_j clip(excess[j] + T share[j], -tau unit[j], tau unit[j]) for ascending tau.

    Excess sums to zero and share to one, except for features that are never clipped, which are not given. The roots of
    the segment at T = 0 bound the search for the others. Returns the number of first taus with any clipping. `room`,
    `of_taus` and `flags` are the scratch of `room_for`.
    """
    (asked, some, lows, highs), (todo, flat) = of_taus, flags
    surplus, bound, width = 0.0, 0.0, 0.0
    for j in range(len(excess)):
        surplus, bound, width = surplus + excess[j], bound + share[j], width + unit[j]
    for g in range(len(taus)):
        totals[g], todo[g] = 0.0, g
    n_clipped, n = 0, len(taus) if bound > 0.0 else 0
    sums, centre, reach, wider = (surplus, bound, width), 0.0, 0.0, 1.0
    while n > 0:
        for i in range(n):
            asked[i] = taus[todo[i]]
        roots_within(excess, share, unit, sums, asked[:n], centre, reach, room, some, flat, lows, highs)
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
