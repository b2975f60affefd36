"""Nonzero weights over a whole grid of L1 taus, and the means that they depend on.

Statistics of both sides are (R, n_features), or have one row or column for all. `totals`, the sums of all pulls of a
row at each tau, are (R, G), zero except for coupled families. Lists of weights are sorted by feature, row, then tau;
feature j and row r have `lengths[j, r]` of them, for the first taus unless `points` lists others.
"""

import numpy as np

from streamnb.kernels.compiler import kernel, part
from streamnb.kernels.steps import index_of, n_below

at = np.uintp  # an unsigned index spares the check for negative ones


@kernel
def live_ends(t_star, pooled, sd, scored, taus, bounds, slack, table, ends):
    # ends[j, r] = number of first taus, ascending, beyond which no total up to bounds[r, g] leaves a nonzero weight;
    # bounds do not increase with g; `table` is scratch of `steps.index_of`
    index = index_of(taus, table)
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
def last_live(t_star, pooled, unit, taus, totals, table, lasts):
    # lasts[j] = number of first taus up to the last with a nonzero weight of feature j in this row, if that is more;
    # returns the largest number that the row adds or shares
    if len(taus) == 0:
        return 0
    index, reach, most = index_of(taus, table), 0.0, 0
    for g in range(len(taus)):
        reach = max(reach, abs(totals[g]))
    for j in range(len(t_star)):
        t, share, end = t_star[j], pooled[j], 0
        if unit[j] > 0.0:
            end = n_below((abs(t) + reach * share) / unit[j] * (1.0 + 1e-9), taus, index)
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
