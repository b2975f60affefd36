"""Scores of rows by the models of a whole grid, most of whose weights are zero.

Weights (n_features, width) lie feature by feature as blocks of LANES neighbours, zeros among them, from the first that
is not zero on, and behind these one by one. `begins` (n_features + 1, 3) holds for each feature where its blocks and
its single weights begin, and the column of its first block.
"""

import numpy as np

from streamnb._jit import LANES, add_lanes, kernel, prefetch

FEWEST = 2  # weights that a block is worth
META_AHEAD = 12  # entries of a row, that what is known of their features may come from far memory in time
BLOCK_AHEAD = 6
at = np.uintp  # of an index: unsigned, it need not be looked at whether it counts from the end


@kernel
def count_blocks(indices, indptr, width, begins):
    # begins of weights in CSR
    for j in range(len(indptr) - 1):
        p, stop = indptr[j], indptr[j + 1]
        first = indices[p] if p < stop else 0
        n_blocks = 0
        while first + LANES * (n_blocks + 1) <= width:
            q = p
            while q < stop and indices[q] < first + LANES * (n_blocks + 1):
                q += 1
            if q - p < FEWEST:
                break
            n_blocks += 1
            p = q
        begins[j + 1, 0] = begins[j, 0] + n_blocks
        begins[j + 1, 1] = begins[j, 1] + stop - p
        begins[j, 2] = first


@kernel
def fill_blocks(data, indices, indptr, begins, blocks, singles, columns):
    # blocks (n_blocks, LANES), zero before, and single weights with their columns
    for j in range(len(indptr) - 1):
        first, t = begins[j, 2], begins[j, 1]
        end = first + LANES * (begins[j + 1, 0] - begins[j, 0])
        for p in range(indptr[j], indptr[j + 1]):
            if indices[p] < end:
                lane = indices[p] - first
                blocks[begins[j, 0] + lane // LANES, lane % LANES] = data[p]
            else:
                singles[t], columns[t] = data[p], indices[p]
                t += 1


@kernel
def add_csr(data, indices, indptr, rows, begins, blocks, singles, columns, out):
    # out[e, r] += sum over stored j of x[rows[e], j] * weights[j, r]
    start = indptr[0]
    for e in range(len(rows)):
        row, i = at(e), rows[e]
        last = indptr[i + 1] - start - 1
        for p in range(indptr[i] - start, indptr[i + 1] - start):
            prefetch(begins, indices[at(min(p + META_AHEAD, last))], 0)
            soon = begins[at(indices[at(min(p + BLOCK_AHEAD, last))]), 0]
            prefetch(blocks, soon, 0)
            prefetch(blocks, soon + 1, 0)
            prefetch(blocks, soon + 2, 0)
            j, x = at(indices[at(p)]), np.float64(data[at(p)])
            column = begins[j, 2]
            for b in range(begins[j, 0], begins[j + at(1), 0]):
                add_lanes(out, e, column, 0, x, blocks, b, 0)
                column += LANES
            for t in range(at(begins[j, 1]), at(begins[j + at(1), 1])):
                out[row, at(columns[at(t)])] += x * singles[at(t)]


@kernel
def add_dense(values, rows, begins, blocks, singles, columns, out):
    # out[e, r] += sum over j of x[rows[e], j] * weights[j, r]
    for e in range(len(rows)):
        row, i = at(e), at(rows[e])
        for f in range(values.shape[1]):
            j, x = at(f), np.float64(values[i, at(f)])
            if x == 0.0:
                continue
            column = begins[j, 2]
            for b in range(begins[j, 0], begins[j + at(1), 0]):
                add_lanes(out, e, column, 0, x, blocks, b, 0)
                column += LANES
            for t in range(at(begins[j, 1]), at(begins[j + at(1), 1])):
                out[row, at(columns[at(t)])] += x * singles[at(t)]
