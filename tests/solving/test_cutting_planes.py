"""Cutting planes: they lie below the loss, their best shares are those of a general solver, and bounds are bounds."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize

from streamnb.solving.cutting_planes import CrammerSinger, CuttingPlanesMethod, best_shares
from tests.support import training

rng = np.random.default_rng(2)
X = rng.normal(size=(40, 3)).round(1)
Y = (X @ rng.normal(size=(3, 3)) + rng.normal(size=(40, 3))).argmax(axis=1)


def loss_at(weights, X, y):
    scores = np.column_stack([X, np.ones(len(X))]) @ weights
    rows = np.arange(len(X))
    return (scores + (np.arange(scores.shape[1]) != y[:, None])).max(axis=1).sum() - scores[rows, y].sum()


def trained(X, y, C=1.0, tol=1e-6, intercepts=True, max_passes=300):
    data = training.scanned(X, y, CrammerSinger(), n_rows=len(set(y)))
    method = CuttingPlanesMethod(intercepts, max_passes)
    trainer = method.trainer(replace(data, solved={}), {"C": C}, tol, max_passes)
    found = training.trained(trainer, X, y)
    return found, trainer.planes


def test_two_rows_by_hand():
    found, planes = trained(np.array([[1.0], [-1.0]]), np.array([1, 0]), C=1.0, intercepts=False)
    np.testing.assert_allclose(found.weights, [[1.0], [0.0]], atol=1e-6)
    np.testing.assert_allclose(found.history["objective"][-1], 0.25, atol=1e-6)
    assert planes.offsets[0] == 2.0  # the plane of the scan: both rows lose 1 at weights of 0
    np.testing.assert_array_equal(planes.slopes[0], [[2.0, -2.0], [0.0, 0.0]])


def test_planes_touch_the_loss_from_below_and_bounds_hold():
    found, planes = trained(X, Y)
    for _ in range(20):
        weights = rng.normal(size=(4, 3)) * rng.choice([0.1, 1.0, 10.0])
        values = [(slope * weights).sum() + offset for slope, offset in zip(planes.slopes, planes.offsets, strict=True)]
        assert max(values) <= loss_at(weights, X, Y) + 1e-9
        objective = 0.5 * (weights**2).sum() + loss_at(weights, X, Y)
        assert objective >= found.history["objective"].min() - found.left
    least = 0.5 * (found.weights**2).sum() + loss_at(found.weights, X, Y)
    np.testing.assert_allclose(found.history["objective"].min(), least, rtol=1e-12)
    assert found.converged and 0.0 <= found.left <= 1e-6 * least
    assert (np.diff(found.history["gap"]) <= 1e-12).all()


@pytest.mark.parametrize("copied", [False, True])
def test_the_best_shares_are_those_of_a_general_solver(copied):
    slopes, offsets = rng.normal(size=(6, 4)), rng.random(6) * 3
    if copied:
        slopes[3], offsets[3] = slopes[1], offsets[1]
    products = slopes @ slopes.T

    def value(b):
        return 0.5 * b @ products @ b - b @ offsets

    theirs = minimize(
        value,
        np.full(6, 1 / 6),
        method="SLSQP",
        bounds=[(0, None)] * 6,
        constraints={"type": "eq", "fun": lambda b: b.sum() - 1},
        options={"ftol": 1e-13},
    )
    ours = best_shares(products, offsets, np.eye(6)[0])
    assert (ours >= 0.0).all() and np.isclose(ours.sum(), 1.0)
    np.testing.assert_allclose(value(ours), theirs.fun, atol=1e-8)
