"""Draws with replacement from the counted features of rows, and the best classes of each draw.

Weights are in float32 and laid out in tiles of WIDTH classes, (n_tiles, n_features, WIDTH). A tile stays in the cache
while many rows pass. Each feature of a row is read once and added to the draws that it is in, whose scores are the
few numbers that stay closest; as nothing is multiplied, the bits are the same on all processors. Tiles of which no
class can be the best are left out: neighbours in a taxonomy are much alike, and all far from most rows.
"""

import numpy as np

from streamnb.kernels.compiler import brick, kernel
from streamnb.kernels.lanes import SINGLES, put, take
from streamnb.kernels.row_values import scattered

WIDTH = 2 * SINGLES
HALF = np.uint64(32)
at = np.uintp  # an unsigned index spares the check for negative ones


@kernel
def draw(counts, indices, begin, end, row, seed, size, n_draws, units, places, columns, draws):
    # of a row, stored from begin to end, n_draws times `size` units with replacement: columns[q] is the column of a
    # unit, ascending, and draws[q] the number of its draw. What is drawn depends on the seed, the number of the row,
    # the draw and the place in it alone; places (end - begin,) and units are scratch
    n, of_row = 0, scattered(scattered(seed) + np.uint64(row))
    for p in range(begin, end):
        places[p - begin] = 0
        for _ in range(int(counts[p])):
            units[n] = p - begin
            n += 1
    for turn in range(2):  # count the units of each column, then place them
        for d in range(n_draws):
            of_draw = scattered(of_row + np.uint64(d))
            for t in range(size):
                random = scattered(of_draw + np.uint64(t)) >> HALF
                p = units[np.intp((random * np.uint64(n)) >> HALF)]
                if turn == 1:
                    columns[places[p]], draws[places[p]] = indices[begin + p], d
                places[p] += 1
        total = 0
        for p in range(end - begin if turn == 0 else 0):
            total, places[p] = total + places[p], total


@kernel
def best_of_draws(tile, number, start, columns, draws, sums, groups, decided, best, agreeing):
    # the highest score of each draw of a row so far, with the classes of tile `number`, and of the classes that have
    # it, agreeing[d, r] whose first r names, and no more, are those of class `decided`: groups[:, c] has a number for
    # the names of class c down to each rank. Columns ascend, so that the weights of one are at hand for all its draws
    first_class = number * WIDTH
    add_draws(tile, columns, draws, sums)
    for d in range(len(best)):
        for c in range(min(WIDTH, len(start) - first_class)):
            score = sums[d, c] + start[first_class + c]
            if score > best[d]:
                best[d], agreeing[d] = score, 0
            if score == best[d]:
                rank = 0
                while rank < len(groups) and groups[rank, first_class + c] == groups[rank, decided]:
                    rank += 1
                agreeing[d, rank] += 1


@kernel
def find_hopeful(bounds, number, start, columns, draws, sums, best, hopeful):
    # hopeful[k]: whether a class of tile k may have the highest score of a draw. `bounds` has the largest weights of
    # each tile in place of a class, and `start` the largest start; sums of larger numbers in the same order are never
    # rounded to smaller ones, so no class is missed
    first = number * WIDTH
    add_draws(bounds, columns, draws, sums)
    for k in range(min(WIDTH, len(start) - first)):
        for d in range(len(best)):
            hopeful[first + k] |= sums[d, k] + start[first + k] >= best[d]


@brick
def add_draws(tile, columns, draws, sums):
    # sums[d] = the weights of all units of draw d
    sums[:] = np.float32(0.0)
    for q in range(len(draws)):
        d = draws[at(q)]
        put(sums, d, 0, take(sums, d, 0, WIDTH) + take(tile, columns[at(q)], 0, WIDTH))
