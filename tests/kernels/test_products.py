"""Packed sums of products against NumPy and exact fractions."""

from fractions import Fraction

import numpy as np
import scipy.sparse as sp

from streamnb.kernels import dense_sums
from tests.support.chunk_arrays import stored

rng = np.random.default_rng(0)
X, W = rng.normal(size=(30, 4)) * (rng.random((30, 4)) < 0.6), rng.random(30)
CODES, UPPER = rng.integers(0, 2, 30), np.triu_indices(4)


def cells(x, w):
    return [
        sum(Fraction(float(u)) * Fraction(float(r[i])) * Fraction(float(r[j])) for u, r in zip(w, x, strict=True))
        for i, j in zip(*UPPER, strict=True)
    ]


def test_sparse_rows_add_products_of_what_is_stored():
    csr, every = sp.csr_array(X), np.arange(30)
    hi, lo = np.zeros((2, 10)), np.zeros((3, 2, 10))
    dense_sums.add_csr_pairs(*stored(csr), every, CODES, W, 4, hi, lo)
    for k in range(2):
        exact = cells(X[k == CODES], W[k == CODES])
        found = [Fraction(h) + sum(map(Fraction, low)) for h, low in zip(hi[k], lo[:, k].T, strict=True)]
        assert found == exact
    counts = sp.csr_array((X > 0.0).astype(np.uint8))
    plain, whole = np.zeros((2, 10)), (X > 0.0).astype(float)
    dense_sums.add_csr(*stored(counts), every, CODES, np.full(30, 2.0), 4, plain)
    for k in range(2):
        np.testing.assert_array_equal(plain[k], 2.0 * (whole[k == CODES].T @ whole[k == CODES])[UPPER])


def test_weighing_loses_nothing():
    hi, lo = np.empty((2, 30, 4))
    dense_sums.weigh(X, W, hi, lo)
    assert all(
        Fraction(hi[i, j]) + Fraction(lo[i, j]) == Fraction(X[i, j]) * Fraction(W[i])
        for i in range(30)
        for j in range(4)
    )


def test_scatter_about_means_is_free_of_cancellation():
    x = 1e9 + rng.integers(0, 3, (30, 2)).astype(float)
    packed = [float(c) for c in (sum(int(r[i]) * int(r[j]) for r in x) for i, j in ((0, 0), (0, 1), (1, 1)))]
    exact = [sum(int(r[i]) * int(r[j]) for r in x) for i, j in ((0, 0), (0, 1), (1, 1))]
    low = np.array([float(e - int(c)) for e, c in zip(exact, packed, strict=True)])
    out = np.empty((2, 2))
    dense_sums.scatter_about_means(x.sum(axis=0), np.zeros(2), np.array(packed), low, 30.0, 0.0, out)
    np.testing.assert_allclose(out, 30 * np.cov((x - 1e9).T, bias=True), rtol=1e-12)


def test_groups_add_products_of_their_rows():
    rows, begins, ends = rng.permutation(30), np.array([0, 9, 29]), np.array([9, 29, 30])
    out = np.ones((3, 10))
    dense_sums.add_groups(X, rows, W[rows], begins, ends, out)
    for own, of_group in zip(map(slice, begins, ends), out, strict=True):
        x, w = X[rows[own]], W[rows[own]]
        np.testing.assert_allclose(of_group, 1.0 + ((x * w[:, None]).T @ x)[UPPER], rtol=1e-12)
