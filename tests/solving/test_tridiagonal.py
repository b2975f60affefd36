"""Directions in which matrices are tridiagonal, of any size and scale."""

import numpy as np
import pytest

from streamnb.solving.normal_models import factors, ratios, turned

rng = np.random.default_rng(0)


@pytest.mark.parametrize(("n_classes", "n"), [(1, 1), (9, 2), (3, 3), (10, 7), (2, 130)])
def test_axes_turn_each_matrix_into_its_tridiagonal_one(n_classes, n):
    x = rng.normal(size=(n_classes, n, n + 9))
    matrices = x @ x.transpose(0, 2, 1)
    matrices[-1] *= 1e-200  # whose squares are below all numbers
    axes, diagonals, off_diagonals = turned(matrices)
    for k, matrix in enumerate(matrices):
        whole = np.diag(diagonals[k]) + np.diag(off_diagonals[k], 1) + np.diag(off_diagonals[k], -1)
        np.testing.assert_allclose(axes[k].T @ axes[k], np.eye(n), atol=1e-13)
        np.testing.assert_allclose(axes[k].T @ matrix @ axes[k], whole, atol=1e-13 * matrix.trace())
        values = np.linalg.eigvalsh(matrix)
        assert ratios(diagonals, off_diagonals)[k] == pytest.approx(values[0] / values[-1], rel=1e-6)
    alone = turned(matrices[:1])
    np.testing.assert_array_equal(alone[0], axes[:1])  # whichever matrices are beside it


def test_matrices_that_are_nothing_or_diagonal_already():
    axes, diagonals, off_diagonals = turned(np.stack([np.zeros((3, 3)), np.diag([1.0, 2.0, 4.0])]))
    assert (diagonals == [[0.0] * 3, [1.0, 2.0, 4.0]]).all() and (off_diagonals == 0.0).all()
    assert (np.abs(axes) == np.eye(3)).all() and ratios(diagonals, off_diagonals).tolist() == [0.0, 0.25]
    lower, inverse = factors(diagonals[1:], off_diagonals[1:], np.array([[0.0, 1.0]]))
    assert (lower == 0.0).all()
    np.testing.assert_allclose(inverse[0], np.array([[1.0, 0.5, 0.25], [3 / 7] * 3]).T)


def test_factors_make_up_the_shrunk_matrix():
    diagonals, beside, g = 3.0 + rng.random((2, 4)), rng.random((2, 3)), rng.random((2, 3))
    lower, inverse = factors(diagonals, beside, g)
    for k, p in np.ndindex(2, 3):
        whole = np.diag(diagonals[k]) + np.diag(beside[k], 1) + np.diag(beside[k], -1)
        factor = np.eye(4) - np.diag(lower[k, 1:, p], -1)
        shrunk = (1.0 - g[k, p]) * whole + g[k, p] * diagonals[k].mean() * np.eye(4)
        np.testing.assert_allclose(factor / inverse[k, :, p] @ factor.T, shrunk, rtol=1e-12, atol=1e-12)
    assert (lower[:, 0] == 0.0).all()
