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
def score_csr_grid(data, indices, indptr, rows, weights, spans, out):
    # out[e, r] += sum over stored j of x[rows[e], j] * weights[j, r], r in spans[j] where weights may not be zero
    start = indptr[0]
    for e in range(len(rows)):
        i = rows[e]
        for p in range(indptr[i] - start, indptr[i + 1] - start):
            j = indices[p]
            x = np.float64(data[p])
            first, last = spans[j, 0], spans[j, 1]
            of_row, of_feature = out[e, first:last], weights[j, first:last]
            for r in range(len(of_row)):  # from 0, so that the compiler sees no index from the end and takes vectors
                of_row[r] += x * of_feature[r]


@kernel
def score_dense_grid(values, rows, weights, spans, out):
    # out[e, r] += sum over j of x[rows[e], j] * weights[j, r], r in spans[j] where weights may not be zero
    for e in range(len(rows)):
        i = rows[e]
        for j in range(values.shape[1]):
            x = np.float64(values[i, j])
            if x != 0.0:
                first, last = spans[j, 0], spans[j, 1]
                of_row, of_feature = out[e, first:last], weights[j, first:last]
                for r in range(len(of_row)):
                    of_row[r] += x * of_feature[r]


@kernel
def score_dense(values, weights, out):
    # out[i, r] += sum over j of x[i, j] * weights[j, r]
    for i in range(out.shape[0]):
        for j in range(values.shape[1]):
            x = np.float64(values[i, j])
            if x != 0.0:
                for r in range(out.shape[1]):
                    out[i, r] += x * weights[j, r]
