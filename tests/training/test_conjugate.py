"""Least squares: exact in as few reads as directions allow, by products in none; and components of labels."""

from dataclasses import replace

import numpy as np
import pytest

import streamnb as snb
from streamnb.rows.boundary import as_chunk
from streamnb.solving.least_squares import LabelAxes, LeastSquaresPath
from streamnb.training.conjugate import ConjugateGradients, LeastSquaresMethod, Solved, of_labels
from streamnb.training.descent import Penalties
from streamnb.training.objectives import MOMENTS, LeastSquares
from streamnb.training.reading import FactoredWeights, judged_scores, n_used, scores_of
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


def test_constant_and_repeated_features_have_least_weights():
    found = solved(np.column_stack([X, X[:, 0], np.full(60, 7.0)]), l2=0.0)
    assert found.converged and not found.weights[5].any()
    np.testing.assert_allclose(found.weights[0], found.weights[4], rtol=1e-9)
    assert solved(np.ones((60, 2))).converged


def of_judged(weights, task):
    return weights


def test_by_products_weights_are_judged_once_and_have_come_to_their_end():
    stats = snb.scan(X[:, :2], Y, moments=[*MOMENTS, "gram"])
    factors, method = np.array([2.0, 0.5]), LeastSquaresMethod(products=True)
    data = replace(training.data_of(stats, LeastSquares()), scale=factors)
    data = replace(data, solved=method.solved(data, stats, None, None))
    trainer = method.trainer(data, {"l2": 1.5}, 1e-4, 50)
    trainer.judge, reads = of_judged, trainer.reads()
    (judged,) = next(reads)
    weights, intercepts = LeastSquaresPath(stats, factors).weights(1.5)
    np.testing.assert_array_equal(judged.statistic, np.vstack([weights * factors[:, None], intercepts]))
    with pytest.raises(StopIteration) as end:
        next(reads)
    trained = end.value.value
    np.testing.assert_array_equal(trained.weights[:-1], weights)
    assert trained.converged and not len(trained.history["seconds"])


AXES = LabelAxes(rng.normal(size=(2, 5)), np.ones(2), rng.normal(size=5))
WEIGHTS = np.insert(rng.normal(size=(4, 2)), 1, 0.0, axis=0)  # of 4 features, one of which nobody has


def test_a_product_of_few_columns_scores_as_all_weights_do():
    judged = of_labels(WEIGHTS, AXES)
    assert isinstance(judged, FactoredWeights)
    whole, (chunk, _) = judged.expanded(), as_chunk(rng.normal(size=(7, 4)))
    np.testing.assert_allclose(judged_scores(chunk, judged), scores_of(chunk, whole))
    np.testing.assert_array_equal(judged_scores(chunk, whole), scores_of(chunk, whole))
    np.testing.assert_array_equal(n_used(judged), n_used(whole))
    few = LabelAxes(AXES.axes[:, :2], AXES.scatter, AXES.base[:2])
    assert isinstance(of_labels(WEIGHTS, few), np.ndarray)  # no smaller as a product


def test_what_is_solved_has_one_thing_to_judge_and_nothing_to_read():
    judged = of_labels(2.0 * WEIGHTS, AXES)
    data = training.scanned(X, Y, LeastSquares())
    trainer = Solved(replace(data, outside=1), FactoredWeights(WEIGHTS, AXES.axes, AXES.base), judged)
    trainer.judge, reads = of_judged, trainer.reads()
    (asked,) = next(reads)
    assert asked.statistic is judged and asked.inside == 1
    with pytest.raises(StopIteration) as end:
        next(reads)
    np.testing.assert_allclose(end.value.value.weights[:-1], WEIGHTS[:-1] @ AXES.axes)
    np.testing.assert_allclose(end.value.value.weights[-1], WEIGHTS[-1] @ AXES.axes + AXES.base)
