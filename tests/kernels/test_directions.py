"""Arithmetic of descent beside NumPy's."""

import numpy as np

from streamnb.kernels.directions import add_multiple, scale_balanced


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
