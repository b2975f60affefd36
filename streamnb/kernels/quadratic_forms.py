"""Scores of rows by quadratic forms of many classes and points, and decisions by them.

Of class k and point p a row x scores ``offsets[k, p] - sum over j of inverse[k, p, j] y_j^2`` with
``y_j = (side[k] @ x)_j + lower[k, p, j] y_(j-1)``. Where `lower` is empty y is side[k] @ x, and points are padded to a
multiple of DIRECTIONS; directions always are. `room` is to work in: a tile of rows, one of directions, and one of points.
"""

import numpy as np

from streamnb.kernels.compiler import brick, kernel
from streamnb.kernels.form_lanes import DIRECTIONS, rank_lanes, square_lanes, turn


@kernel
def factor(diagonals, beside, g, lower, inverse):
    # T = (1 - g) T_k + g (tr T_k / n) I = L D L' of tridiagonal matrices: lower[k, p, j] = -L[j, j - 1] and
    # inverse[k, p, j] = 1 / D[j, j] of g[k, p]
    n = diagonals.shape[1]
    for k in range(len(diagonals)):
        mean = diagonals[k].sum() / n
        for p in range(g.shape[1]):
            less, more = 1.0 - g[k, p], g[k, p] * mean
            lower[k, p, 0], inverse[k, p, 0] = 0.0, 1.0 / (less * diagonals[k, 0] + more)
            for j in range(1, n):
                e = less * beside[k, j - 1]
                before = e * inverse[k, p, j - 1]
                lower[k, p, j] = -before
                inverse[k, p, j] = 1.0 / (less * diagonals[k, j] + more - before * e)


@kernel
def growth(lower, inverse, of_ones, of_own):
    # How errors grow on their way through the factors: of_ones[k, p] is the sum of what errors of 1 in each direction
    # may come to, of_own[k, p] that of errors as large as the square root of D
    for k in range(lower.shape[0]):
        for p in range(lower.shape[1]):
            reached, own, of_ones[k, p], of_own[k, p] = 0.0, 0.0, 0.0, 0.0
            for j in range(lower.shape[2]):
                weight = inverse[k, p, j]
                if weight == 0.0:  # a direction that is none
                    continue
                size = abs(lower[k, p, j])
                reached, own = 1.0 + size * reached, 1.0 / weight + size * size * own
                of_ones[k, p] += reached * reached * weight
                of_own[k, p] += own * weight


@brick
def load(values, first, tile):
    # tile[j, lane] = values[first + lane, j], 0 behind the last row
    for lane in range(tile.shape[1]):
        i = first + lane
        for j in range(tile.shape[0]):
            tile[j, lane] = values[i, j] if i < len(values) else 0.0


@brick
def sums(side, lower, inverse, tile, z, out):
    # out[p, lane] = the sum of squares of point p, of one class
    for row in range(0, len(side), DIRECTIONS):
        turn(side, row, tile, 0, z)
        turn(side, row, tile, tile.shape[1] // 2, z)
    if len(lower):
        for p in range(len(lower)):
            square_lanes(z, lower, inverse, p, out)
        return
    for j in range(z.shape[0]):
        for lane in range(z.shape[1]):
            z[j, lane] *= z[j, lane]
    for row in range(0, len(inverse), DIRECTIONS):
        turn(inverse, row, z, 0, out)
        turn(inverse, row, z, tile.shape[1] // 2, out)


@kernel
def score(values, side, lower, inverse, offsets, room, out):
    # out[i, k, p] = the score of row i
    tile, z, halves = room
    for first in range(0, len(values), tile.shape[1]):
        load(values, first, tile)
        for k in range(len(side)):
            sums(side[k], lower[k], inverse[k], tile, z, halves)
            for lane in range(min(tile.shape[1], len(values) - first)):
                for p in range(offsets.shape[1]):
                    out[first + lane, k, p] = offsets[k, p] - halves[p, lane]


@kernel
def decide(values, sizes, form, bounds, room, best, decided, certain):
    # decided[i, p] = the class of the highest score of row i, and whether those of all p are certain: a score may be
    # off as `rank_lanes` says by bounds[:, k, p], of a row of length sizes[i]; `best` is room, and a line of sizes more
    side, lower, inverse, offsets = form
    tile, z, halves = room
    n_points, lanes = offsets.shape[1], tile.shape[1]
    for first in range(0, len(values), lanes):
        load(values, first, tile)
        best[:] = -np.inf
        for lane in range(lanes):
            best[4 * n_points, lane] = sizes[first + lane] if first + lane < len(values) else 0.0
        for k in range(len(side)):
            sums(side[k], lower[k], inverse[k], tile, z, halves)
            for p in range(n_points):
                of_score = bounds[0, k, p], bounds[1, k, p], bounds[2, k, p]
                rank_lanes(halves, p, best[4 * n_points :], of_score, offsets[k, p], np.float32(k), best)
        for lane in range(min(lanes, len(values) - first)):
            sure = True
            for p in range(n_points):
                decided[first + lane, p] = max(best[4 * p + 1, lane], np.float32(0.0))
                sure &= best[4 * p + 2, lane] < best[4 * p + 3, lane]
            certain[first + lane] = sure
