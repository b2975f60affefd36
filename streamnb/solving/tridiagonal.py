"""Tridiagonal forms of symmetric matrices, factored for every shrinkage towards the identity."""

import numpy as np
from scipy.linalg.lapack import dorgqr, dsterf, dsytrd

BLOCK = 32  # columns per block of reflections


def turned(matrices: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return Q, diagonals and off-diagonals of T = Q' M Q for matrices M (K, n, n): (K, n, n), (K, n) and (K, n - 1).

    Householder reflections cost a tenth of eigenvectors; a third for large matrices.
    """
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
    n, less, more = diagonals.shape[1], 1.0 - g, g * diagonals.mean(axis=1, keepdims=True)
    lower, inverse = np.zeros((2, n, *g.shape))
    with np.errstate(divide="ignore", invalid="ignore"):
        np.divide(1.0, less * diagonals[:, :1] + more, out=inverse[0])
        for j in range(1, n):
            beside = less * off_diagonals[:, j - 1, None]
            np.multiply(beside, inverse[j - 1], out=lower[j])
            np.divide(1.0, less * diagonals[:, j, None] + more - lower[j] * beside, out=inverse[j])
    return -lower.transpose(1, 0, 2), inverse.transpose(1, 0, 2)
