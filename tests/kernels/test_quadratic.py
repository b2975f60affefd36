"""Quadratic scores against their naive twin, which adds fractions."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp

from streamnb.kernels import quadratic_forms
from streamnb.stats.tables import Table, whole
from tests.support.chunk_arrays import stored


def naive_scores(x, means, halves):
    """-sum over j of (x - mean)^2 * half, exactly, then rounded."""
    exact = np.vectorize(Fraction, otypes=[object])
    x, means, halves = exact(x), exact(means), exact(halves)
    scores = [[-sum((row - means[:, k]) ** 2 * halves[:, k]) for k in range(means.shape[1])] for row in x]
    return np.array(scores, float)


def problem(seed, *, offset=0.0, n_rows=20, n_features=6, n_classes=3):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n_rows, n_features)) * (rng.random((n_rows, n_features)) < 0.5)
    x[:, 0] = offset + rng.normal(size=n_rows)
    means = rng.normal(size=(n_features, n_classes))
    means[0] += offset
    return x, means, rng.gamma(2.0, 1.0, means.shape)


def from_sparse(x, means, halves, index=np.int32):
    matrix = sp.csr_array(x)
    absent = means**2 * halves
    hi, lo = (np.tile(part, (len(x), 1)) for part in whole(Table(-absent)).row(0))
    quadratic_forms.score_csr(*stored(matrix, index=index), means, halves, absent, hi, lo)
    return hi + lo


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_scores(seed, index):
    x, means, halves = problem(seed)
    expected = naive_scores(x, means, halves)
    dense = np.zeros_like(expected)
    quadratic_forms.score_dense(x, means, halves, dense)
    np.testing.assert_allclose(dense, expected, rtol=1e-14)
    np.testing.assert_allclose(from_sparse(x, means, halves, index), expected, rtol=1e-14)


def test_a_column_far_from_zero_does_not_cancel():
    x, means, halves = problem(0, offset=1e9)
    np.testing.assert_allclose(from_sparse(x, means, halves), naive_scores(x, means, halves), rtol=1e-12)


def test_single_precision_values_and_slices_of_a_larger_indptr():
    x, means, halves = problem(1)
    x = x.astype(np.float32)
    expected, dense = naive_scores(x.astype(float), means, halves), np.zeros((len(x), means.shape[1]))
    quadratic_forms.score_dense(x, means, halves, dense)
    np.testing.assert_allclose(dense, expected, rtol=1e-14)
    absent = means**2 * halves
    hi, lo = -np.tile(absent.sum(axis=0), (12, 1)), np.zeros((12, means.shape[1]))
    quadratic_forms.score_csr(*stored(x, first=8), means, halves, absent, hi, lo)
    np.testing.assert_allclose(hi + lo, expected[8:], rtol=1e-12)
