"""Factors of tridiagonal matrices, by those of NumPy."""

import numpy as np

from streamnb.kernels import tridiagonal

rng = np.random.default_rng(0)


def test_factors_make_up_the_shrunk_matrix():
    diagonals, beside, g = 3.0 + rng.random((2, 4)), rng.random((2, 3)), rng.random((2, 3))
    lower, inverse = np.empty((2, 2, 3, 4))
    tridiagonal.factor(diagonals, beside, g, lower, inverse)
    for k, p in np.ndindex(2, 3):
        whole = np.diag(diagonals[k]) + np.diag(beside[k], 1) + np.diag(beside[k], -1)
        factor = np.eye(4) - np.diag(lower[k, p, 1:], -1)
        shrunk = (1.0 - g[k, p]) * whole + g[k, p] * diagonals[k].mean() * np.eye(4)
        np.testing.assert_allclose(factor / inverse[k, p] @ factor.T, shrunk, rtol=1e-12, atol=1e-12)
    assert (lower[:, :, 0] == 0.0).all()
