"""Scores and decisions by the quadratic forms of many classes and grid points.

For class k and point p, the score of a row x is ``offsets[k, p] - sum over j of inverse[k, p, j] y_j^2`` with
``y_j = (side[k] @ x)_j + lower[k, p, j] y_(j-1)``. Where `lower` is empty, y is side[k] @ x, and points are padded to
a multiple of DIRECTIONS, as directions always are. Where `inverse` is empty too, the score is offsets[k, p] - (side[k]
@ x)_p.

Rows are in tiles (n_tiles, n, lanes), the last padded with zeros. `room` is scratch: a tile of directions, and one of
points.
"""

import numpy as np

from streamnb.kernels.compiler import brick, kernel
from streamnb.kernels.form_lanes import DIRECTIONS, rank_lanes, square_lanes, turn


@kernel
def growth(lower, inverse, of_ones, of_own):
    # The growth of errors through the factors: of_ones[k, p] sums the possible effects of errors of 1 in each
    # direction, of_own[k, p] those of errors of the size of the square root of D
    for k in range(lower.shape[0]):
        for p in range(lower.shape[1]):
            reached, own, of_ones[k, p], of_own[k, p] = 0.0, 0.0, 0.0, 0.0
            for j in range(lower.shape[2]):
                weight = inverse[k, p, j]
                if weight == 0.0:  # padding
                    continue
                size = abs(lower[k, p, j])
                reached, own = 1.0 + size * reached, 1.0 / weight + size * size * own
                of_ones[k, p] += reached * reached * weight
                of_own[k, p] += own * weight


@brick
def turn_tile(side, tile, out):
    for row in range(0, len(side), DIRECTIONS):
        turn(side, row, tile, 0, out)
        turn(side, row, tile, tile.shape[1] // 2, out)


@brick
def sums(side, lower, inverse, tile, z, out):
    # out[p, lane] = the quadratic form of a row at point p, for one class
    if not len(inverse):
        turn_tile(side, tile, out)
        return
    turn_tile(side, tile, z)
    if len(lower):
        for p in range(len(lower)):
            square_lanes(z, lower, inverse, p, out)
        return
    for j in range(z.shape[0]):
        for lane in range(z.shape[1]):
            z[j, lane] *= z[j, lane]
    turn_tile(inverse, z, out)


@kernel
def score(tiles, side, lower, inverse, offsets, room, out):
    # out[i, k, p] = the score of row i
    z, halves = room
    lanes = tiles.shape[2]
    for t in range(len(tiles)):
        for k in range(len(side)):
            sums(side[k], lower[k], inverse[k], tiles[t], z, halves)
            for lane in range(min(lanes, len(out) - t * lanes)):
                for p in range(offsets.shape[1]):
                    out[t * lanes + lane, k, p] = offsets[k, p] - halves[p, lane]


@kernel
def decide(tiles, sizes, form, bounds, room, best, decided, certain):
    # decided[i, p] = the class with the highest score of row i; certain[i] = whether all p are certain, with the error
    # bounds of `rank_lanes`, bounds[:, k, p], and lengths of rows sizes[tile, lane]; `room` and `best` are scratch
    side, lower, inverse, offsets = form
    z, halves = room
    n_points, lanes = offsets.shape[1], tiles.shape[2]
    for t in range(len(tiles)):
        best[:] = -np.inf
        for k in range(len(side)):
            sums(side[k], lower[k], inverse[k], tiles[t], z, halves)
            for p in range(n_points):
                b = bounds[0, k, p], bounds[1, k, p], bounds[2, k, p], bounds[3, k, p], bounds[4, k, p]
                rank_lanes(halves, p, sizes, t, b, offsets[k, p], np.float32(k), best)
        for lane in range(min(lanes, len(decided) - t * lanes)):
            sure = True
            for p in range(n_points):
                decided[t * lanes + lane, p] = max(best[4 * p + 1, lane], np.float32(0.0))
                sure &= best[4 * p + 2, lane] < best[4 * p + 3, lane]
            certain[t * lanes + lane] = sure
