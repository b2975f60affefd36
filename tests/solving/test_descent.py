"""Descent on functions whose least value is known."""

import numpy as np
import pytest

from streamnb.solving.descent import Descent, Diagonal, Memory, Penalties, Visit

rng = np.random.default_rng(3)
A = rng.normal(size=(40, 7))
B = rng.normal(size=(40, 2))


def least_squares(penalties, asked):
    """Reads half the squared residual of A W = B, the last column of A being that of the intercepts."""

    def read(point, most):
        asked.append(point)
        residual = A @ point - B
        gradient = penalties.smooth_gradient(point, A.T @ residual)
        value = 0.5 * float((residual**2).sum()) + float(penalties.value(point).sum())
        return Visit(point, value, gradient, penalties.steepest(point, gradient))
        yield  # nothing: it asks no one

    return read


def ended(reads):
    """What a generator that requests nothing returns."""
    with pytest.raises(StopIteration) as end:
        next(reads)
    return end.value.value


def descended(penalties, target, allowed, curvature=40.0):
    """The start and the descent from it, and the points that were read; `target` is relative to the start."""
    asked, memory = [], Memory(Diagonal(np.full(7, curvature), np.ones(2), np.zeros(7)))
    read = least_squares(penalties, asked)
    start = ended(read(np.zeros((7, 2)), np.inf))
    descent = Descent(memory, penalties, target * memory.length(start.steepest), start)
    ended(descent.run(read, lambda: len(asked) < allowed))
    return start, descent, asked


@pytest.mark.parametrize(("l2", "l1"), [(0.0, 0.0), (3.0, 0.0), (0.5, 2.0), (0.0, 6.0)])
def test_the_optimum_is_found_and_what_l1_leaves_out_is_0(l2, l1):
    _, descent, asked = descended(Penalties(l2, l1), 1e-8, 200)
    visit = descent.visit
    assert descent.arrived and len(asked) < 80
    if l1 == 0.0:
        hessian = A.T @ A + l2 * np.diag([1.0] * 6 + [0.0])
        np.testing.assert_allclose(visit.point, np.linalg.solve(hessian, A.T @ B), atol=1e-6)
    else:
        assert 0 < np.count_nonzero(visit.point[:-1] == 0.0) < 12
        slopes = visit.gradient[:-1]  # the conditions of an optimum under l1
        zero = visit.point[:-1] == 0.0
        assert (np.abs(slopes[zero]) <= l1).all()
        np.testing.assert_allclose(slopes[~zero], -l1 * np.sign(visit.point[:-1][~zero]), atol=1e-5)
