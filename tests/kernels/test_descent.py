"""Losses and their slopes against plain formulas, and sums on grids in any order."""

import numpy as np
import pytest
from scipy.special import log_softmax, softmax

from streamnb.kernels import descent
from streamnb.rows.row_blocks import frozen
from tests.support.chunk_arrays import stored

rng = np.random.default_rng(0)
SCORES = rng.normal(size=(30, 4)) * 3.0
OWN = (rng.random((30, 4)) < 0.5).astype(np.uint8)
SIDE = 2.0 * OWN - 1.0


def both(kernel, scores, targets, width):
    residual, losses = np.empty_like(scores), np.empty((len(scores), width))
    kernel(scores, targets, residual, *[residual.reshape(-1)] * (kernel is descent.softmax_rows), losses)
    return residual, losses


def test_softmax():
    codes = rng.integers(0, 4, 30)
    residual, losses = both(descent.softmax_rows, SCORES, codes, 1)
    np.testing.assert_allclose(residual, softmax(SCORES, axis=1) - np.eye(4)[codes], atol=1e-15)
    np.testing.assert_allclose(losses[:, 0], -log_softmax(SCORES, axis=1)[np.arange(30), codes], atol=1e-14)


def test_squared_hinge():
    residual, losses = both(descent.squared_hinge_rows, SCORES, OWN, 4)
    short = np.maximum(1.0 - SIDE * SCORES, 0.0)
    np.testing.assert_allclose(residual, -2.0 * SIDE * short)
    np.testing.assert_allclose(losses, short**2)


def test_losses_add_up_in_any_order_even_where_there_are_too_many():
    losses, weight = rng.random((500, 2)) * [1.0, 9.0], rng.random(500)
    losses[3], weight[5] = np.nan, 0.0
    found = set()
    for seed in range(5):
        order = np.random.default_rng(seed).permutation(500)
        total, largest = np.zeros((2, 1, 2))
        slopes = np.ones((500, 1, 1))
        descent.add_losses(losses[order, None], slopes, weight[order, None], np.array([512.0]), total, largest)
        assert (slopes[:, 0, 0] == weight[order]).all()
        found.add((*total[0], *largest[0]))
    assert len(found) == 1
    clean, kept = np.delete(losses, 3, axis=0), np.delete(weight, 3)
    total, largest = np.zeros((2, 2, 1))  # of two models, each with a loss and a bound of its own
    weights, tops = np.column_stack([kept, kept]), np.array([512.0, 256.0])
    descent.add_losses(clean[:, :, None], np.ones((499, 2, 1)), weights, tops, total, largest)
    np.testing.assert_allclose(total[0, 0], kept @ clean[:, 0], rtol=1e-12)
    assert total[1, 0] == 512.0 and largest[0, 0] == np.delete(clean, 4, axis=0)[:, 0].max()


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.uint8])
def test_products_add_up_in_any_order_and_any_form(dtype):
    values = (rng.integers(0, 200, (400, 6)) * (rng.random((400, 6)) < 0.4)).astype(dtype)
    if dtype != np.uint8:
        values /= 7
    residual = rng.uniform(-1.0, 1.0, (400, 3))
    residual[::7] = 0.0
    grid = 3.0 * np.ldexp(1.0, np.frexp(np.abs(values.astype(float)).sum(axis=0))[1])
    found = []
    for seed in range(4):
        order = np.random.default_rng(seed).permutation(400)
        total = np.zeros((7, 3))
        scratch = np.empty(32), np.arange(32)
        descent.add_products_dense(frozen(values[order]), residual[order], grid, *scratch, total)
        descent.add_intercepts(residual[order], np.full(3, 3.0 * 512.0), total[6])
        each = np.zeros((7, 3))
        descent.add_products_dense(frozen(values[order]), residual[order], grid[:, None] * np.ones(3), *scratch, each)
        each[6] = total[6]
        again = np.zeros((7, 3))
        descent.add_products_csr(*stored(values[order]), residual[order], grid, again)
        again[6] = total[6]
        few, single = np.zeros((3, 6)), np.zeros((7, 3))
        descent.add_products_few(frozen(values[order]), residual[order], grid, few)
        for r in range(3):
            one = np.zeros((7, 1))
            descent.add_products_csr(*stored(values[order]), np.ascontiguousarray(residual[order][:, [r]]), grid, one)
            single[:, r] = one[:, 0]
        single[6] = total[6]
        found += [total, each, again, np.vstack([few.T, total[6]]), single]
    assert all(np.array_equal(total, found[0]) for total in found)
    np.testing.assert_allclose(found[0][:6], values.astype(float).T @ residual, rtol=1e-11, atol=1e-9)
    np.testing.assert_allclose(found[0][6], residual.sum(axis=0), rtol=1e-11, atol=1e-9)


def test_rows_of_weight_0_have_no_residual():
    residual = np.array([[[1.0, np.inf]], [[2.0, 3.0]]])
    total, largest = np.zeros((2, 1, 1))
    descent.add_losses(np.ones((2, 1, 1)), residual, np.array([[0.0], [0.5]]), np.array([4.0]), total, largest)
    assert residual.tolist() == [[[0.0, 0.0]], [[1.0, 1.5]]]
