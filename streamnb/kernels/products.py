"""Sums of products of feature pairs: the packed upper triangle (i <= j), n (n + 1) / 2 cells for each group.

The cell of (i, j) is i n - i (i + 1) / 2 + j.
"""

import numpy as np

from streamnb.kernels.compiler import brick, flags, kernel
from streamnb.kernels.exact import add_low, two_product, two_sum

_PAIRS, _FOURS, _EIGHTS = (np.uint64(mask) for mask in (0x5555555555555555, 0x3333333333333333, 0x0F0F0F0F0F0F0F0F))
_BYTES = np.uint64(0x0101010101010101)
_ONE, _TWO, _FOUR, _LAST = (np.uint64(shift) for shift in (1, 2, 4, 56))
WORD = 64  # rows


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


# ---- presence as bits, 64 rows of a column in one word, so that co-occurrences are counted word by word ----


def _summed(word):
    # population count: sums of two, four and eight bits, then of all bytes; a single instruction where available
    word = word - ((word >> _ONE) & _PAIRS)
    word = (word & _FOURS) + ((word >> _TWO) & _FOURS)
    word = (word + (word >> _FOUR)) & _EIGHTS
    return (word * _BYTES) >> _LAST


def _counted(word):
    return int(word).bit_count()  # for interpreted kernels, where products would overflow


n_ones = _counted if flags.DISABLE_JIT else brick(_summed)


@kernel
def pack(values, rows, threshold, words):
    # bit r of words[w, j] = [x[rows[64 w + r], j] > threshold]
    for w in range(words.shape[0]):
        word, first = words[w], w * WORD
        word[:] = 0
        for r in range(first, min(first + WORD, len(rows))):
            x, shift = values[rows[r]], np.uint64(r - first)
            for j in range(len(word)):
                word[j] |= np.uint64(x[j] > threshold) << shift


@kernel
def count_pairs(bits, out):
    # out[(i, j)] += number of rows with both columns i <= j; bits are (n_features, n_words), cells as in products
    at = 0
    for i in range(bits.shape[0]):
        for j in range(i, bits.shape[0]):
            total = np.uint64(0)
            for w in range(bits.shape[1]):
                total += np.uint64(n_ones(bits[i, w] & bits[j, w]))
            out[at] += total
            at += 1
