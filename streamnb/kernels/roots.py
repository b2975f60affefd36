"""The exact scalars of a multinomial class under L1."""

import numpy as np

from streamnb._jit import kernel


@kernel
def flat_root(excess, share, unit, tau):
    """A root where nothing need be clipped, so that every T in a range is one; NaN where there is no such range."""
    low, high = -1e308, 1e308
    for j in range(len(excess)):
        if share[j] > 0.0:
            low = max(low, (-tau * unit[j] - excess[j]) / share[j])
            high = min(high, (tau * unit[j] - excess[j]) / share[j])
            if low > high:
                return np.nan
    # well inside the range, where rounding cannot make a feature count as clipped
    return 0.0 if low <= 0.0 <= high else 0.5 * (low + high)


@kernel
def newton_root(excess, share, unit, tau, low, high, start):
    """The root of sum_j share[j] T = sum_j (+-tau unit[j] - excess[j]) over the features that are clipped at T.

    A Newton step solves the segment it stands in exactly, so the root is found once the segment is; the bracket halves
    where steps would cycle.
    """
    total = min(max(start, low), high)
    for _ in range(200):
        slope = 0.0
        level = 0.0
        for j in range(len(excess)):
            moved = excess[j] + total * share[j]
            threshold = tau * unit[j]
            clipped = abs(moved) > threshold  # no branch: which ones are is a matter of luck
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


@kernel
def total_pulls(excess, share, unit, taus, totals):
    """The roots T of T = sum_j clip(excess[j] + T share[j], -tau unit[j], tau unit[j]) for ascending tau.

    Excess sums to zero and share to one, but for features that are never clipped and are not given. A feature that is
    not clipped for any abs(T) up to some reach stays so for larger tau: the list of the others grows shorter, and only
    where a root lies beyond the reach the search begins again with all.
    """
    e, q, u = excess.copy(), share.copy(), unit.copy()
    n, reach, total = len(excess), np.inf, 0.0
    bound, width = share.sum(), unit.sum()
    middle = -excess.sum()
    for g in range(len(taus)):
        tau = taus[g]
        if bound <= 0.0:
            totals[g] = 0.0
            continue
        low, high = (middle - tau * width) / bound, (middle + tau * width) / bound
        flat = not np.isnan(flat_root(e[:n], q[:n], u[:n], tau))  # perhaps: the others still have their say
        if not flat:
            total = newton_root(e[:n], q[:n], u[:n], tau, low, high, total)
        if flat or abs(total) > reach:
            found = flat_root(excess, share, unit, tau)
            total = newton_root(excess, share, unit, tau, low, high, total) if np.isnan(found) else found
            e[:], q[:], u[:] = excess, share, unit
            n, reach = len(excess), np.inf
        totals[g] = total
        reach = 8.0 * abs(total) if reach == np.inf else reach
        kept = 0
        for j in range(n):
            stays = abs(e[j]) + reach * q[j] >= tau * u[j] * (1.0 - 1e-9)
            e[kept], q[kept], u[kept] = e[j], q[j], u[j]  # if it does not stay the next one takes its place
            kept += 1 if stays else 0
        n = kept
