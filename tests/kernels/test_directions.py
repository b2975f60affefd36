"""Arithmetic of descent beside NumPy's."""

import numpy as np

from streamnb.kernels.descent import add_multiple, divide_by_diagonal

rng = np.random.default_rng(2)


def test_a_multiple_is_added_in_place():
    out, term = np.array([1.0, 2.0, 4.0]), np.array([0.5, 0.25, -1.0])
    add_multiple(out, -2.0, term)
    assert out.tolist() == [0.0, 1.5, 6.0]


def test_a_division_by_a_diagonal_leaves_0_where_that_is_infinite_or_not_known():
    spread, curvature, penalty = rng.random(5), rng.random(4), rng.random(5)
    gradient, out = rng.normal(size=(5, 4)), np.empty((5, 4))
    spread[1], curvature[2] = np.inf, np.inf
    spread[3], penalty[3] = np.nan, 0.0  # scores of huge weights are NaN
    spread[4] = 0.0
    inverse = 1.0 / (spread[:, None] * np.where(np.isinf(curvature), 1.0, curvature) + penalty[:, None])
    inverse[3], inverse[:, 2] = 0.0, 0.0
    with np.errstate(invalid="ignore"):  # which only interpreted code tells
        divide_by_diagonal(spread, curvature, penalty, gradient, False, out)
        np.testing.assert_allclose(out, inverse * gradient, rtol=1e-14)
        divide_by_diagonal(spread, curvature, penalty, gradient, True, out)
    np.testing.assert_allclose(out.sum(axis=1), 0.0, atol=1e-12)
    whole = inverse.sum(axis=1)
    means = np.divide((inverse * gradient).sum(axis=1), whole, out=np.zeros(5), where=whole > 0.0)
    np.testing.assert_allclose(out, inverse * (gradient - means[:, None]), rtol=1e-12, atol=1e-15)
