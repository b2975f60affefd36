"""Tridiagonal forms of symmetric matrices, factored for every shrinkage towards the identity."""

import numpy as np
from scipy.linalg.lapack import dorgqr, dsterf, dsytrd

from streamnb.core.memory import aligned
from streamnb.kernels import tridiagonal as kernels
from streamnb.kernels.lanes import LANES

BLOCK = 32  # columns per block of LAPACK reflections
MOST = 128  # rows up to which LANES matrices stay in the cache


def turned(matrices: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return Q, diagonals and off-diagonals of T = Q' M Q for matrices M (K, n, n): (K, n, n), (K, n) and (K, n - 1).

    Householder reflections cost a tenth of eigenvectors; a third for large matrices.
    """
    n_classes, n, _ = matrices.shape
    if n > MOST:
        return _one_by_one(matrices)
    axes, diagonals, off_diagonals = np.empty_like(matrices), np.empty((n_classes, n)), np.empty((n_classes, n - 1))
    a, q, work, h = (aligned(lines, LANES).reshape(-1, n, LANES) for lines in (n * n, n, 4 * n, n))
    scales = np.ldexp(1.0, -np.frexp(matrices.trace(axis1=1, axis2=2))[1])  # so that squares do not overflow
    kernels.turn(matrices, scales, (a, q[0], work, h[0]), axes, diagonals, off_diagonals)
    return axes.transpose(0, 2, 1), diagonals, off_diagonals


def _one_by_one(matrices: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the same by LAPACK, matrix by matrix."""
    n_classes, n, _ = matrices.shape
    axes, diagonals, off_diagonals = np.zeros_like(matrices), np.empty((n_classes, n)), np.empty((n_classes, n - 1))
    axes[:, 0, 0] = 1.0
    for k, matrix in enumerate(matrices):
        reflections, diagonals[k], off_diagonals[k], scales, _ = dsytrd(matrix.T, lower=1, lwork=BLOCK * n)
        axes[k, 1:, 1:] = dorgqr(reflections[1:, :-1], scales, lwork=BLOCK * n)[0]
    return axes, diagonals, off_diagonals


def ratios(diagonals: np.ndarray, off_diagonals: np.ndarray) -> np.ndarray:
    """Return the ratio of the smallest to the largest eigenvalue, (K,); 0 if none is positive."""
    if diagonals.shape[1] == 1:
        return np.where(diagonals[:, 0] > 0.0, 1.0, 0.0)
    values = [dsterf(*pair)[0] for pair in zip(diagonals, off_diagonals, strict=True)]
    return np.array([own[0] / own[-1] if own[-1] > 0.0 else 0.0 for own in values])


def factors(diagonals: np.ndarray, off_diagonals: np.ndarray, g: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return off-diagonals of -L, and 1 / D, (K, n, P): ``(1 - g) T + g (tr T / n) I = L D L'`` at points g (K, P)."""
    lower, inverse = np.empty((2, *g.shape, diagonals.shape[1]))
    kernels.factor(diagonals, off_diagonals, g, lower, inverse)
    return lower.transpose(0, 2, 1), inverse.transpose(0, 2, 1)
