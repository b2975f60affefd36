"""Directions in which matrices are tridiagonal, of any size and scale."""

import numpy as np
import pytest

from streamnb.solving.normal_models import ratios, turned

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
