"""Predictive log probabilities against naive loops and the identities of the gamma function."""

import math

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from streamnb.kernels import predictive


@given(st.floats(1e-8, 1e12), st.one_of(st.integers(0, 40).map(float), st.floats(0.0, 1e4)))
def test_log_rising_factorials_keep_their_digits(a, x):
    """ln G(a + x) - ln G(a): for whole x the sum of ln(a + i), G(z + 1) = z G(z), and parts add up."""
    got = predictive.log_rising(a, x)
    if x == math.floor(x) and x <= 1000:
        expected = math.fsum(math.log(a + i) for i in range(int(x)))
        assert got == pytest.approx(expected, rel=1e-13, abs=1e-13 * (1 + x))
    step = predictive.log_rising(a, x + 1.0) - got
    assert step == pytest.approx(math.log(a + x), rel=1e-10, abs=1e-13 * (1 + abs(got)))
    half = predictive.log_rising(a, x / 2) + predictive.log_rising(a + x / 2, x / 2)
    assert half == pytest.approx(got, rel=1e-12, abs=1e-12 * (1 + x))


def test_log_rising_table_is_elementwise():
    a, out = np.array([[0.5, 2.0, 30.0], [1e6, 17.0, 3.0]]), np.empty((2, 3))
    predictive.log_rising_table(a, 0.5, out)
    expected = [[math.lgamma(v + 0.5) - math.lgamma(v) for v in row] for row in a]
    np.testing.assert_allclose(out, expected, rtol=1e-9)


def rows(seed=0):
    x = np.random.default_rng(seed).poisson(1.0, (7, 4)).astype(float)
    x[2] = 0.0
    return x, sp.csr_array(x)


@pytest.mark.parametrize("n_slopes", [1, 4])
def test_counts_add_what_they_differ_from_zeros(n_slopes):
    rng = np.random.default_rng(1)
    x, csr = rows()
    sizes, slopes = rng.gamma(2.0, 1.0, (4, 3)), rng.normal(size=(n_slopes, 3))
    sizes[1] = 0.0  # never seen: left out
    out = np.ones((7, 3))
    predictive.score_counts(csr.data, csr.indices, csr.indptr, sizes, slopes, out)
    for i, k in np.ndindex(out.shape):
        terms = [
            math.lgamma(sizes[j, k] + v) - math.lgamma(sizes[j, k]) + v * slopes[j % n_slopes, k] - math.lgamma(v + 1)
            for j, v in enumerate(x[i])
            if j != 1
        ]
        assert out[i, k] == pytest.approx(1.0 + math.fsum(terms), rel=1e-12)


def test_totals_of_rows():
    totals, sizes, out = np.array([[0.0], [3.0], [40.0]]), np.array([0.5, 20.0]), np.zeros((3, 2))
    predictive.score_totals(totals, sizes, out)
    for i, k in np.ndindex(out.shape):
        n, a = totals[i, 0], sizes[k]
        expected = math.lgamma(n + 1) + math.lgamma(a) - math.lgamma(a + n)
        assert out[i, k] == pytest.approx(expected, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("n_powers", [1, 4])
def test_student_scores_from_stored_values_and_from_all(n_powers):
    rng = np.random.default_rng(2)
    x, csr = rows()
    means, inverse, powers = rng.normal(size=(4, 3)), rng.gamma(2.0, 1.0, (4, 3)), rng.gamma(9.0, 1.0, (n_powers, 3))
    dense, hi, lo = np.zeros((7, 3)), np.zeros((7, 3)), np.zeros((7, 3))
    absent = powers * np.log1p(means**2 * inverse)
    hi -= absent.sum(axis=0)
    predictive.score_student_dense(x, means, inverse, powers, dense)
    predictive.score_student_csr(csr.data, csr.indices, csr.indptr, means, inverse, powers, absent, hi, lo)
    expected = -(powers * np.log1p((x[:, :, None] - means) ** 2 * inverse)).sum(axis=1)
    np.testing.assert_allclose(dense, expected, rtol=1e-12)
    np.testing.assert_allclose(hi + lo, expected, rtol=1e-12)
