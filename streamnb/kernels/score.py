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
def leading_runs(indptr, indices, heads):
    # heads[j] = how many of the first entries of row j stand side by side
    for j in range(len(heads)):
        p = indptr[j]
        while p < indptr[j + 1] and indices[p] - indices[indptr[j]] == p - indptr[j]:
            p += 1
        heads[j] = p - indptr[j]


@kernel
def add_scaled(x, data, indices, start, head, stop, of_row):
    # of_row[indices[q]] += x * data[q], start <= q < stop, where the first `head` indices stand side by side
    if head > 0:
        first = indices[start]
        beside, of_feature = of_row[first : first + head], data[start : start + head]
        for r in range(head):  # from 0, so that the compiler sees no index from the end and takes vectors
            beside[r] += x * of_feature[r]
    for q in range(start + head, stop):
        of_row[indices[q]] += x * data[q]


@kernel
def score_csr_grid(data, indices, indptr, rows, w_data, w_indices, w_indptr, heads, out):
    # out[e, r] += sum over stored j of x[rows[e], j] * w[j, r], w in CSR
    start = indptr[0]
    for e in range(len(rows)):
        i = rows[e]
        for p in range(indptr[i] - start, indptr[i + 1] - start):
            j = indices[p]
            add_scaled(np.float64(data[p]), w_data, w_indices, w_indptr[j], heads[j], w_indptr[j + 1], out[e])


@kernel
def score_dense_grid(values, rows, w_data, w_indices, w_indptr, heads, out):
    # out[e, r] += sum over j of x[rows[e], j] * w[j, r], w in CSR
    for e in range(len(rows)):
        i = rows[e]
        for j in range(values.shape[1]):
            x = np.float64(values[i, j])
            if x != 0.0:
                add_scaled(x, w_data, w_indices, w_indptr[j], heads[j], w_indptr[j + 1], out[e])


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
