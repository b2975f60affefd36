"""Symmetric matrices in directions in which they are tridiagonal, and their factors with multiples of the unit matrix."""

import numpy as np
from scipy.linalg.lapack import dorgqr, dsytrd

from streamnb.kernels import quadratic_forms


def turned(matrices: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Q, diagonals and what is beside them of T = Q' M Q of matrices M (K, n, n): (K, n, n), (K, n) and (K, n - 1).

    By Householder's reflections (LAPACK's sytrd), a tenth of what eigenvectors cost.
    """
    n_classes, n, _ = matrices.shape
    axes, diagonals, beside = np.zeros_like(matrices), np.empty((n_classes, n)), np.empty((n_classes, max(n - 1, 0)))
    axes[:, 0, 0] = 1.0
    for k, matrix in enumerate(matrices):
        reflections, diagonals[k], beside[k], scales, _ = dsytrd(matrix.T, lower=1)
        if n > 1:
            axes[k, 1:, 1:] = dorgqr(reflections[1:, :-1], scales)[0]
    return axes, diagonals, beside


def factors(diagonals: np.ndarray, beside: np.ndarray, g: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """-L below the diagonal and 1 / D, (K, n, P) each, of ``(1 - g) T + g (tr T / n) I = L D L'`` at points g (K, P)."""
    lower, inverse = np.empty((2, *g.shape, diagonals.shape[1]))
    quadratic_forms.factor(diagonals, beside, g, lower, inverse)
    return lower.transpose(0, 2, 1), inverse.transpose(0, 2, 1)
