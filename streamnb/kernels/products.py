"""Sums of products of feature pairs: the packed upper triangle (i <= j), n (n + 1) / 2 cells for each group.

The cell of (i, j) is i n - i (i + 1) / 2 + j.
"""

import numpy as np

from streamnb.kernels.compiler import kernel
from streamnb.kernels.exact import add_low, two_product, two_sum


@kernel
def weigh(values, weight, hi, lo):
    # hi[i, j] + lo[i, j] = weight[i] * x[i, j], exactly
    for i in range(values.shape[0]):
        for j in range(values.shape[1]):
            hi[i, j], lo[i, j] = two_product(weight[i], np.float64(values[i, j]))


@kernel
def add_csr(data, indices, indptr, rows, codes, weight, n_features, hi):
    # hi[codes[e], (i, j)] += weight[e] * x_i * x_j over the stored values of row rows[e]
    start = indptr[0]
    for e in range(len(codes)):
        k, first, last = codes[e], indptr[rows[e]] - start, indptr[rows[e] + 1] - start
        for p in range(first, last):
            i, wx = np.int64(indices[p]), weight[e] * np.float64(data[p])
            own = i * n_features - i * (i + 1) // 2
            for q in range(p, last):
                hi[k, own + np.int64(indices[q])] += wx * np.float64(data[q])


@kernel
def add_csr_pairs(data, indices, indptr, rows, codes, weight, n_features, hi, lo):
    # the same in parts (hi, lo); True if more than the first low part is in use
    start, spilled = indptr[0], False
    for e in range(len(codes)):
        k, first, last = codes[e], indptr[rows[e]] - start, indptr[rows[e] + 1] - start
        for p in range(first, last):
            i = np.int64(indices[p])
            wx, wx_error = two_product(weight[e], np.float64(data[p]))
            own = i * n_features - i * (i + 1) // 2
            for q in range(p, last):
                x, at = np.float64(data[q]), own + np.int64(indices[q])
                term, error = two_product(wx, x)
                hi[k, at], r = two_sum(hi[k, at], term)
                spilled |= add_low(lo, k, at, r, error)
                if wx_error != 0.0:
                    term, error = two_product(wx_error, x)
                    hi[k, at], r = two_sum(hi[k, at], term)
                    spilled |= add_low(lo, k, at, r, error)
    return spilled


@kernel
def add_groups(values, rows, weight, begins, ends, out):
    # out[g, (i, j)] += sum of weight[e] * x_i * x_j over the rows rows[e] of group g, e from begins[g] to ends[g]; four
    # rows at once, so that each cell is loaded and stored once for all four
    n_features = values.shape[1]
    for g in range(len(begins)):
        cells, last = out[g], ends[g] - 1
        for a in range(begins[g], ends[g], 4):
            b, c, d = min(a + 1, last), min(a + 2, last), min(a + 3, last)
            p, q, r, s = values[rows[a]], values[rows[b]], values[rows[c]], values[rows[d]]
            w_q, w_r, w_s = weight[b] * (a + 1 <= last), weight[c] * (a + 2 <= last), weight[d] * (a + 3 <= last)
            at = 0
            for i in range(n_features):
                f_p, f_q, f_r, f_s = weight[a] * p[i], w_q * q[i], w_r * r[i], w_s * s[i]
                for j in range(i, n_features):
                    cells[at + j - i] += (f_p * p[j] + f_q * q[j]) + (f_r * r[j] + f_s * s[j])
                at += n_features - i


@kernel
def scatter_about_means(sum_hi, sum_lo, product_hi, product_lo, weight_hi, weight_lo, out):
    # out[i, j] = product_ij - sum_i * sum_j / weight, in doubled precision: sums of products about the means
    n_features, at = len(sum_hi), 0
    for i in range(n_features):
        m = sum_hi[i] / weight_hi  # the mean with its error: one Newton correction of the rounded quotient
        p, e = two_product(m, weight_hi)
        m_lo = ((sum_hi[i] - p) - e + sum_lo[i] - m * weight_lo) / weight_hi
        for j in range(i, n_features):
            p, e = two_product(m, sum_hi[j])
            e += m * sum_lo[j] + m_lo * sum_hi[j]
            s, r = two_sum(product_hi[at], -p)
            out[i, j] = out[j, i] = s + (r + product_lo[at] - e)
            at += 1
        out[i, i] = max(out[i, i], 0.0)
