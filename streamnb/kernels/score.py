"""Linear scores of rows. Weights lie feature-major, so that the inner loop runs over neighbouring memory."""

import numpy as np

from streamnb._jit import LANES, add_lanes, kernel

FEW = 3  # columns; fewer are summed one by one
at = np.uintp  # of an index: unsigned, it need not be looked at whether it counts from the end


@kernel
def score_csr(data, indices, indptr, weights, out):
    # out[i, r] += sum over stored j of x[i, j] * weights[j, r]
    start, width = indptr[0], out.shape[1]
    for i in range(out.shape[0]):
        first, stop = indptr[i] - start, indptr[i + 1] - start
        for begin in range(0, width if width >= LANES else 0, LANES):
            column = min(begin, width - LANES)  # the last lanes may be among those before
            for p in range(first, stop):
                add_lanes(out, i, column, begin - column, np.float64(data[at(p)]), weights, indices[at(p)], column)
        for r in range(width if width < FEW else 0):
            total = out[i, r]
            for p in range(first, stop):
                total += np.float64(data[p]) * weights[indices[p], r]
            out[i, r] = total
        if FEW <= width < LANES:
            for p in range(first, stop):
                j, x = indices[p], np.float64(data[p])
                for r in range(width):
                    out[i, r] += x * weights[j, r]


@kernel
def score_dense(values, weights, out):
    # out[i, r] += sum over j of x[i, j] * weights[j, r]
    for i in range(out.shape[0]):
        for j in range(values.shape[1]):
            x = np.float64(values[i, j])
            if x != 0.0:
                for r in range(out.shape[1]):
                    out[i, r] += x * weights[j, r]


@kernel
def score_cells(data, indices, indptr, weights, rows, starts, out):
    # out[i, rows[q]] += sum over stored j of x[i, j] * weights[q], q from starts[j] to starts[j + 1]
    for i in range(out.shape[0]):
        of_row = out[i]
        for p in range(indptr[i], indptr[i + 1]):
            j = indices[p]
            x = np.float64(data[p])
            for q in range(starts[j], starts[j + 1]):
                of_row[rows[q]] += x * weights[q]
