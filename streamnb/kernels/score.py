"""Linear scores of rows. Weights lie feature-major, so that the inner loop runs over neighbouring memory."""

import numpy as np

from streamnb._jit import kernel


@kernel
def score_csr(data, indices, indptr, weights, out):
    # out[i, r] += sum over stored j of x[i, j] * weights[j, r]
    start = indptr[0]
    for i in range(out.shape[0]):
        for p in range(indptr[i] - start, indptr[i + 1] - start):
            j = indices[p]
            x = np.float64(data[p])
            for r in range(out.shape[1]):
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
