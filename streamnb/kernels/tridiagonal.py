"""Householder tridiagonalisation and factorisation of LANES symmetric matrices at once.

Reflections replace A by H A H with H = 1 - h v v', column by column (Golub and Van Loan 2013, section 8.3.1). The
update of one reflection is applied while the product with the next v is summed, so that each number is read once for
each column.
"""

import numpy as np

from streamnb.kernels.compiler import brick, kernel
from streamnb.kernels.lanes import LANES
from streamnb.kernels.matrix_lanes import fold_lanes, mirror_lanes


@kernel
def turn(matrices, scales, room, axes, diagonals, beside):
    # axes[k] @ matrices[k] @ axes[k].T = T_k / scales[k], scales are powers of two; `room` are the scratch arrays a, q,
    # work and h
    a, q, work, h = room
    n = axes.shape[1]
    for first in range(0, len(axes), LANES):
        lanes = min(LANES, len(axes) - first)
        for i in range(n):
            for j in range(i + 1):
                for lane in range(LANES):
                    k = first + min(lane, lanes - 1)
                    a[i, j, lane] = matrices[k, i, j] * scales[k]
        reflect(a, work[0], work[1], work[2], work[3], h)
        for lane in range(lanes):
            k = first + lane
            for i in range(n):
                diagonals[k, i] = a[i, i, lane] / scales[k]
            for i in range(n - 1):
                beside[k, i] = a[i + 1, i, lane] / scales[k]
        for i in range(n):
            q[:] = 0.0
            q[i] = 1.0
            for c in range(min(i - 1, n - 3), -1, -1):
                mirror_lanes(q, a, c, h)
            for lane in range(lanes):
                for j in range(n):
                    axes[first + lane, i, j] = q[j, lane]


@brick
def reflect(a, v, w, new, p, h):
    # a[i, j] with j <= i becomes T; the v of column c is stored in a[c, c + 1:], with h = 1 / (v'v / 2)
    n = a.shape[0]
    v[:], w[:] = 0.0, 0.0  # the pending update of a: v w' + w v'
    for c in range(n):
        for i in range(c, n):
            for lane in range(LANES):
                a[i, c, lane] -= v[i, lane] * w[c, lane] + w[i, lane] * v[c, lane]
        if c >= n - 2:
            continue
        h[c] = 0.0
        for i in range(c + 1, n):
            for lane in range(LANES):
                x = a[i, c, lane]
                new[i, lane] = x
                h[c, lane] += x * x
        for lane in range(LANES):
            x, size = new[c + 1, lane], h[c, lane]
            root = np.copysign(np.sqrt(size), x)
            new[c + 1, lane] = x + root
            a[c + 1, c, lane] = -root
            half = size + abs(x * root)
            h[c, lane] = 1.0 / half if half > 0.0 else 0.0
        p[:] = 0.0
        for i in range(c + 1, n):
            fold_lanes(a, i, c + 1, v, w, new, p)
            for lane in range(LANES):
                a[i, i, lane] -= 2.0 * v[i, lane] * w[i, lane]
                p[i, lane] += a[i, i, lane] * new[i, lane]
        for lane in range(LANES):
            along = 0.0
            for i in range(c + 1, n):
                along += p[i, lane] * new[i, lane]
            along *= 0.5 * h[c, lane]
            for i in range(c + 1, n):
                v[i, lane] = a[c, i, lane] = new[i, lane]
                w[i, lane] = h[c, lane] * (p[i, lane] - along * new[i, lane])


@kernel
def factor(diagonals, beside, g, lower, inverse):
    # T = (1 - g) T_k + g (tr T_k / n) I = L D L' of tridiagonal matrices: lower[k, p, j] = -L[j, j - 1] and
    # inverse[k, p, j] = 1 / D[j, j] of g[k, p]
    n = diagonals.shape[1]
    for k in range(len(diagonals)):
        mean = 0.0
        for j in range(n):
            mean += diagonals[k, j]
        mean /= n
        for p in range(g.shape[1]):
            less, more = 1.0 - g[k, p], g[k, p] * mean
            lower[k, p, 0], inverse[k, p, 0] = 0.0, np.divide(1.0, less * diagonals[k, 0] + more)
            for j in range(1, n):
                e = less * beside[k, j - 1]
                before = e * inverse[k, p, j - 1]
                lower[k, p, j] = -before
                inverse[k, p, j] = np.divide(1.0, less * diagonals[k, j] + more - before * e)
