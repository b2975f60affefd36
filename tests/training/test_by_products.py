"""Least squares by products among models that are trained by reads: it asks for none."""

import numpy as np
import pytest

import streamnb as snb
from streamnb.solving.least_squares import LeastSquaresPath
from streamnb.training.by_products import ByProducts
from streamnb.training.descent import Penalties
from streamnb.training.objectives import MOMENTS, LeastSquares, RowSums
from streamnb.training.reading import ReadTask


def test_it_is_judged_once_and_has_come_to_its_end():
    rng = np.random.default_rng(0)
    stats = snb.scan(rng.normal(size=(50, 2)), np.arange(50) % 3, moments=[*MOMENTS, "gram"])
    factors, zeros = np.array([2.0, 0.5]), np.zeros((3, 3))
    task = ReadTask(LeastSquares(), stats.options, stats.classes, zeros, np.ones(3), 1.0, None)
    path = LeastSquaresPath(stats, factors)
    reads = ByProducts(task, RowSums.of(stats), Penalties(1.5, 0.0), path).reads(1e-4, 50)
    asked, judged = next(reads)
    weights, intercepts = path.weights(1.5)
    assert asked is None
    np.testing.assert_array_equal(judged, np.vstack([weights * factors[:, None], intercepts]))
    with pytest.raises(StopIteration) as end:
        next(reads)
    trained = end.value.value
    np.testing.assert_array_equal(trained.weights[:-1], weights)
    assert trained.converged and not len(trained.history["seconds"])
