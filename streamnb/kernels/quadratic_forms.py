"""Scores and decisions by the quadratic forms of many classes and grid points.

For class k and point p, the score of a row x is ``offsets[k, p] - sum over j of inverse[k, p, j] y_j^2`` with
``y_j = (side[k] @ x)_j + lower[k, p, j] y_(j-1)``. Where `lower` is empty, y is side[k] @ x, and points are padded to
a multiple of DIRECTIONS, as directions always are. Where `inverse` is empty too, the score is offsets[k, p] - (side[k]
@ x)_p.

Rows are in tiles (n_tiles, n, lanes), with TILE_BYTES for each feature and the last padded with zeros; each row has a
lane, so that rounding is the same in any batch. `room` is scratch: a tile of directions, and one of
points.

A Gaussian feature of each class alone is simpler: ``halves[j, k]`` is 1 / (2 variance), ``absent[j, k]`` the term of a
zero, mean^2 * halves; these tables are feature-major.
"""

import numpy as np

from streamnb.kernels.compiler import brick, kernel
from streamnb.kernels.exact import two_sum
from streamnb.kernels.lanes import LANES, SINGLES, chosen, plus_product, put, spread, take

TILE_BYTES = 128
DIRECTIONS = 5  # at once: with half a tile, as many sums as fit into registers
at = np.uintp  # an unsigned index spares the check for negative ones


def quadratic(half, number):
    """The quadratic forms of tiles of twice `half` numbers of this dtype."""
    n_lanes, zero = 2 * half, number(0.0)

    @brick
    def turn(side, tile, out):
        # out[r, lane] = sum over i of side[r, i] * tile[i, lane], for DIRECTIONS rows r and half a tile at a time
        for block in range(0, 2 * len(side), DIRECTIONS):
            row, column = block // (2 * DIRECTIONS) * DIRECTIONS, block // DIRECTIONS % 2 * half
            a = b = c = d = e = spread(zero, half)
            for i in range(len(tile)):
                values = take(tile, i, column, half)
                a = plus_product(a, side[at(row), at(i)], values)
                b = plus_product(b, side[at(row + 1), at(i)], values)
                c = plus_product(c, side[at(row + 2), at(i)], values)
                d = plus_product(d, side[at(row + 3), at(i)], values)
                e = plus_product(e, side[at(row + 4), at(i)], values)
            put(out, row, column, a)
            put(out, row + 1, column, b)
            put(out, row + 2, column, c)
            put(out, row + 3, column, d)
            put(out, row + 4, column, e)

    @brick
    def square_lanes(z, lower, inverse, p, out):
        # out[p, lane] = sum over j of inverse[p, j] y_j^2, y_j = z[j, lane] + lower[p, j] y_(j-1)
        y = total = spread(zero, n_lanes)
        for j in range(len(z)):
            y = plus_product(take(z, j, 0, n_lanes), lower[at(p), at(j)], y)
            total = plus_product(total, y * inverse[at(p), at(j)], y)
        put(out, p, 0, total)

    @brick
    def sums(side, lower, inverse, tile, z, out):
        # out[p, lane] = the quadratic form of a row at point p, for one class
        if not len(inverse):
            turn(side, tile, out)
            return
        turn(side, tile, z)
        if len(lower):
            for p in range(len(lower)):
                square_lanes(z, lower, inverse, p, out)
            return
        for j in range(z.shape[0]):
            for lane in range(z.shape[1]):
                z[j, lane] *= z[j, lane]
        turn(inverse, z, out)

    return sums


forms, single_forms = quadratic(LANES, np.float64), quadratic(SINGLES, np.float32)
N_LANES = 2 * SINGLES


@brick
def rank_lanes(sums, p, sizes, t, bounds, offset, number, best):
    # Class `number` scores s = offset - h, h = sums[p, lane]; s may be off by x (b0 + b1 x + b2 h) + b3 h + b4, where
    # `bounds` are the b, and x is sizes[t, lane]. Rows of `best` from 4 p on are the highest possible score, its class,
    # the highest possible score of other classes, and the lowest possible score of the best class.
    b0, b1, b2, b3, b4 = bounds
    half, size, first = take(sums, p, 0, N_LANES), take(sizes, t, 0, N_LANES), 4 * p
    of_size = plus_product(plus_product(spread(b0, N_LANES), b1, size), b2, half)
    off = plus_product(plus_product(spread(b4, N_LANES), b3, half), of_size, size)
    score = offset - half
    up, down = score + off, score - off
    most, others = take(best, first, 0, N_LANES), take(best, first + 2, 0, N_LANES)
    least = take(best, first + 3, 0, N_LANES)
    other = chosen(up, most, most, up)
    put(best, first, 0, chosen(up, most, up, most))
    put(best, first + 1, 0, chosen(up, most, spread(number, N_LANES), take(best, first + 1, 0, N_LANES)))
    put(best, first + 2, 0, chosen(other, others, other, others))
    put(best, first + 3, 0, chosen(down, least, down, least))


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


@kernel
def score(tiles, side, lower, inverse, offsets, room, out):
    # out[i, k, p] = the score of row i
    z, halves = room
    lanes = tiles.shape[2]
    for t in range(len(tiles)):
        for k in range(len(side)):
            forms(side[k], lower[k], inverse[k], tiles[t], z, halves)
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
            single_forms(side[k], lower[k], inverse[k], tiles[t], z, halves)
            for p in range(n_points):
                b = bounds[0, k, p], bounds[1, k, p], bounds[2, k, p], bounds[3, k, p], bounds[4, k, p]
                rank_lanes(halves, p, sizes, t, b, offsets[k, p], np.float32(k), best)
        for lane in range(min(lanes, len(decided) - t * lanes)):
            sure = True
            for p in range(n_points):
                decided[t * lanes + lane, p] = max(best[4 * p + 1, lane], np.float32(0.0))
                sure &= best[4 * p + 2, lane] < best[4 * p + 3, lane]
            certain[t * lanes + lane] = sure


@kernel
def score_dense(values, means, halves, out):
    # out[i, k] -= sum over j of (x[i, j] - means[j, k])^2 * halves[j, k]
    for i in range(out.shape[0]):
        for j in range(values.shape[1]):
            x = np.float64(values[i, j])
            for k in range(out.shape[1]):
                d = x - means[j, k]
                out[i, k] -= d * d * halves[j, k]


@kernel
def score_csr(data, indices, indptr, means, halves, absent, hi, lo):
    # the same from stored values: hi + lo is the score of a row of zeros on entry, of row i on return. The term of a
    # zero is removed without error, so that columns far from zero do not cancel.
    start = indptr[0]
    for i in range(hi.shape[0]):
        for p in range(indptr[i] - start, indptr[i + 1] - start):
            j = indices[p]
            x = np.float64(data[p])
            for k in range(hi.shape[1]):
                d = x - means[j, k]
                hi[i, k], e = two_sum(hi[i, k], absent[j, k])
                lo[i, k] += e - d * d * halves[j, k]
