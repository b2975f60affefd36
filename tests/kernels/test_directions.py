"""Arithmetic of descent beside NumPy's."""

import numpy as np

from streamnb.kernels.directions import (
    about_means,
    add_multiple,
    divide_by_diagonal,
    lengths,
    of_rows,
    scale_balanced,
)

rng = np.random.default_rng(2)


def test_scaled_rows_add_up_to_0_and_differ_from_the_gradient_by_a_number():
    rng = np.random.default_rng(0)
    scale, gradient = rng.random((5, 3)), rng.normal(size=(5, 3))
    scale[1], scale[2, 1] = 0.0, 0.0
    out = np.full((5, 3), np.nan)
    scale_balanced(scale, gradient, out)
    np.testing.assert_allclose(out.sum(axis=1), 0.0, atol=1e-15)
    means = np.divide((scale * gradient).sum(axis=1), scale.sum(axis=1), out=np.zeros(5), where=scale.any(axis=1))
    np.testing.assert_allclose(out, scale * (gradient - means[:, None]), atol=1e-15)


def test_a_multiple_is_added_in_place():
    out, term = np.array([1.0, 2.0, 4.0]), np.array([0.5, 0.25, -1.0])
    add_multiple(out, -2.0, term)
    assert out.tolist() == [0.0, 1.5, 6.0]


def test_weights_of_rows_and_gradients_about_the_means_are_each_others_other_side():
    point, gradient = rng.normal(size=(2, 6, 3))
    factors, means = rng.random((2, 6))
    weights = np.empty((6, 3))
    of_rows(point, factors, means[:5], weights)
    np.testing.assert_array_equal(weights[:5], point[:5] * factors[:5, None])
    np.testing.assert_allclose(weights[5], point[5] - means[:5] @ point[:5], rtol=1e-14)
    about = gradient.copy()
    about_means(about, factors, means[:5])
    np.testing.assert_array_equal(about[:5], gradient[:5] * factors[:5, None] - means[:5, None] * gradient[5])
    np.testing.assert_allclose((about * point).sum(), (gradient * weights).sum(), rtol=1e-12)  # adjoint to each other


def test_lengths_are_bounds_by_the_roots_of_features():
    step, roots, out = rng.normal(size=(6, 3)), rng.random(6), np.full(3, np.nan)
    lengths(step, roots, out)
    np.testing.assert_allclose(out, roots @ np.abs(step), rtol=1e-14)


def test_a_division_by_a_diagonal_leaves_0_where_it_is_not_known():
    spread, curvature, penalty = rng.random(5), rng.random(3), rng.random(5)
    known, gradient, out = rng.random((5, 3)) < 0.8, rng.normal(size=(5, 3)), np.empty((5, 3))
    known[1], spread[2], penalty[2] = False, np.nan, 0.0  # scores of huge weights are NaN
    inverse = np.where(known, 1.0 / (spread[:, None] * curvature + penalty[:, None]), 0.0)
    inverse[2] = 0.0
    divide_by_diagonal(spread, curvature, penalty, known, gradient, False, out)
    np.testing.assert_allclose(out, inverse * gradient, rtol=1e-14)
    divide_by_diagonal(spread, curvature, penalty, known, gradient, True, out)
    expected = np.empty((5, 3))
    scale_balanced(inverse, gradient, expected)
    np.testing.assert_allclose(out, expected, rtol=1e-12, atol=1e-15)
