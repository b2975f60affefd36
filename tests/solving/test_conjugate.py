"""Least squares: exact in as few reads as directions allow, by products in none; and components of labels."""

import numpy as np

from streamnb.solving.descent import Penalties
from streamnb.solving.least_squares import ConjugateGradients
from streamnb.solving.objectives import LeastSquares
from tests.support import training

rng = np.random.default_rng(4)
X = rng.normal(size=(60, 4)) * [1.0, 10.0, 0.1, 1.0] + [0.0, 50.0, 0.0, -3.0]
Y = rng.integers(0, 3, 60)


def solved(X, tol=1e-10, max_passes=10, l2=0.5):
    data = training.scanned(X, Y, LeastSquares())
    return training.trained(ConjugateGradients(data, Penalties(l2, 0.0), tol, max_passes), X, Y)


def test_two_directions_a_read_solve_the_system_of_four_features_and_history_is_true():
    target = 2.0 * np.eye(3)[Y] - 1.0
    centred = X - X.mean(axis=0)
    exact = np.linalg.solve(centred.T @ centred + 0.5 * np.eye(4), centred.T @ target)
    found = solved(X)
    assert found.converged and found.left < 1e-10 and len(found.history["seconds"]) <= 3
    np.testing.assert_allclose(found.weights[:-1], exact, rtol=1e-8)
    np.testing.assert_allclose(found.weights[-1], target.mean(axis=0) - X.mean(axis=0) @ exact, rtol=1e-8)
    for max_passes in (1, 2):
        few = solved(X, max_passes=max_passes)
        residual = X @ few.weights[:-1] + few.weights[-1] - target
        objective = 0.5 * (residual**2).sum() + 0.25 * (few.weights[:-1] ** 2).sum()
        np.testing.assert_allclose(few.history["objective"][-1], objective, rtol=1e-9)
        np.testing.assert_array_equal(few.history["objective"], found.history["objective"][:max_passes])
        assert few.converged == (few.left <= 1e-10)
    assert not solved(X, max_passes=1).converged
