"""Scores by quadratic forms, and decisions by them, as NumPy finds them row by row."""

import numpy as np
import pytest

from streamnb.core.memory import aligned
from streamnb.kernels import quadratic_forms as forms
from streamnb.kernels.quadratic_forms import DIRECTIONS, TILE_BYTES

rng = np.random.default_rng(0)
N_ROWS, K, P, N = 37, 3, 2, 4  # rows of more than a tile, the last of which is not full
M = DIRECTIONS
KINDS = {"factors": (P, P), "squares": (0, M), "linear": (0, 0)}  # points of `lower` and of `inverse`


def problem(kind):
    n_lower, n_inverse = KINDS[kind]
    side, lower, inverse = rng.normal(size=(K, M, N)), rng.normal(size=(K, n_lower, M)), rng.random((K, n_inverse, M))
    side[:, 4:] = inverse[:, P:] = inverse[:, :, 4:] = lower[:, :, 4:] = 0.0  # what pads
    return rng.normal(size=(N_ROWS, N)), (side, lower, inverse, rng.normal(size=(K, P)))


def naive(x, side, lower, inverse, offsets):
    out = np.empty((len(x), K, P))
    for i, k, p in np.ndindex(out.shape):
        z, y, total = side[k] @ x[i], 0.0, 0.0
        for j in range(M if len(inverse[k]) else 0):
            y = z[j] + (lower[k, p, j] * y if len(lower[k]) else 0.0)
            total += inverse[k, p, j] * y * y
        out[i, k, p] = offsets[k, p] - (total if len(inverse[k]) else z[p])
    return out


def tiled(x, dtype):
    lanes = TILE_BYTES // np.dtype(dtype).itemsize
    padded = np.zeros((-(-len(x) // lanes) * lanes, x.shape[1]), dtype)
    padded[: len(x)] = x
    return np.ascontiguousarray(padded.reshape(-1, lanes, x.shape[1]).transpose(0, 2, 1))


def room(form, tiles):
    return tuple(aligned(M, tiles.shape[2], tiles.dtype) for _ in range(2))


@pytest.mark.parametrize("kind", KINDS)
def test_scores_are_those_of_each_row_by_itself(kind):
    x, form = problem(kind)
    tiles, out = tiled(x, np.float64), np.empty((N_ROWS, K, P))
    forms.score(tiles, *form, room(form, tiles), out)
    np.testing.assert_allclose(out, naive(x, *form), rtol=1e-12, atol=1e-12)
    turned = np.empty_like(out)
    forms.score(tiled(x[::-1], np.float64), *form, room(form, tiles), turned)
    np.testing.assert_array_equal(turned[::-1], out)  # to the last bit, whichever lane a row is in


@pytest.mark.parametrize("kind", KINDS)
def test_decisions_are_certain_where_no_other_class_comes_near(kind):
    x, form = problem(kind)
    single = tuple(part.astype(np.float32) for part in form)
    tiles, sizes = tiled(x, np.float32), tiled(np.linalg.norm(x, axis=1)[:, None], np.float32)[:, 0]
    bounds = (rng.random((5, K, P)) * 0.02).astype(np.float32)
    decided, certain = np.empty((N_ROWS, P), np.int32), np.empty(N_ROWS, bool)
    forms.decide(tiles, sizes, single, bounds, room(single, tiles), aligned(4 * P, 32, np.float32), decided, certain)
    scores = naive(x, *form)
    h, size = form[3] - scores, np.linalg.norm(x, axis=1)[:, None, None]
    off = size * (bounds[0] + bounds[1] * size + bounds[2] * h) + bounds[3] * h + bounds[4]
    most, k = scores + off, np.arange(K)[:, None]
    top = most.argmax(axis=1)
    others = np.where(k == top[:, None], -np.inf, most).max(axis=1)
    far = np.abs((scores - off).max(axis=1) - others).min(axis=1) > 1e-4
    expected = ((scores - off).max(axis=1) > others).all(axis=1)
    np.testing.assert_array_equal(certain[far], expected[far])
    np.testing.assert_array_equal(decided[certain], scores.argmax(axis=1)[certain])
    assert 0 < certain.sum() < N_ROWS


def test_a_class_that_none_is_in_is_never_decided_for():
    x, form = problem("factors")
    form[3][0] = -np.inf
    single = tuple(part.astype(np.float32) for part in form)
    tiles, sizes = tiled(x, np.float32), np.ones((2, 32), np.float32)
    decided, certain = np.empty((N_ROWS, P), np.int32), np.empty(N_ROWS, bool)
    best = aligned(4 * P, 32, np.float32)
    forms.decide(tiles, sizes, single, np.zeros((5, K, P), np.float32), room(single, tiles), best, decided, certain)
    assert (decided > 0).all() and certain.all()


def test_errors_grow_as_triangular_factors_let_them():
    lower, inverse = rng.normal(size=(1, 2, 5)), rng.random((1, 2, 5))
    inverse[:, :, 4:] = 0.0
    found = np.empty((2, 1, 2))
    forms.growth(lower, inverse, *found)
    for p in range(2):
        factor = np.eye(4) - np.diag(lower[0, p, 1:4], -1)
        roots = np.sqrt(inverse[0, p, :4])
        reach = roots[:, None] * np.abs(np.linalg.inv(factor))
        assert found[0, 0, p] == pytest.approx((reach.sum(axis=1) ** 2).sum())
        assert found[1, 0, p] == pytest.approx(((reach / roots) ** 2).sum())
