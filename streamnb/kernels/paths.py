"""Which weights of a whole grid of L1 taus are not zero. Arrays (n_features, R), feature-major."""

import numpy as np

from streamnb._jit import kernel


@kernel
def live_ends(t_star, pooled, sd, scored, taus, bounds, ends):
    # ends[j, r] = number of first taus, ascending, from which on no total up to bounds[g, r] leaves a weight
    for j in range(t_star.shape[0]):
        for r in range(t_star.shape[1]):
            unit = sd[j, r] if scored else 1.0
            g = 0
            if unit > 0.0:
                least = unit * (1.0 - 1e-9)
                while g < len(taus) and abs(t_star[j, r]) + bounds[g, r] * pooled[j, r] > taus[g] * least:
                    g += 1
            ends[j, r] = g


@kernel
def live_weights(t_star, pooled, sd, scored, taus, totals, ends, indptr, indices):
    # CSR of the weights that are not zero: for feature j those of row r at tau g, in column g * R + r
    n_rows = t_star.shape[1]
    p = 0
    for j in range(t_star.shape[0]):
        last = 0
        for r in range(n_rows):
            last = max(last, ends[j, r])
        for g in range(last):
            for r in range(n_rows):
                if g < ends[j, r]:
                    size = abs(t_star[j, r] + totals[g, r] * pooled[j, r])
                    if (size / sd[j, r] if scored else size) > taus[g]:
                        indices[p] = g * n_rows + r
                        p += 1
        indptr[j + 1] = p


@kernel
def moved_means(
    indptr, indices, t_star, pooled, sd, scored, taus, totals, plus, minus, fixed, side, positive, negative
):
    # for each weight of that CSR the sign of t* and the means of both sides under its pull; plus and minus are the sums
    # and counts of each side, (2, n_features, R); with `fixed` the negative one is not pulled
    n_rows = np.int32(t_star.shape[1])
    for j in range(t_star.shape[0]):
        for p in range(indptr[j], indptr[j + 1]):
            g = indices[p] // n_rows
            r = indices[p] - g * n_rows
            total = totals[g, r]
            side[p] = 1.0 if t_star[j, r] + total * pooled[j, r] > 0.0 else -1.0
            t = side[p] * (taus[g] * sd[j, r] if scored else taus[g])
            n_plus, n_minus = plus[1, j, r] - total, minus[1, j, r] + (0.0 if fixed else total)
            positive[p] = plus[0, j, r] / n_plus - t * (1.0 / n_plus)
            negative[p] = minus[0, j, r] / n_minus + (0.0 if fixed else t * (1.0 / n_minus))
