"""Directions of half a tile, and squares behind factors, as NumPy finds them."""

import numpy as np

from streamnb.core.memory import aligned
from streamnb.kernels.compiler import kernel
from streamnb.kernels.form_lanes import DIRECTIONS, TILE_BYTES, square_lanes, turn

rng = np.random.default_rng(0)


@kernel
def right_half(side, tile, out):
    turn(side, DIRECTIONS, tile, tile.shape[1] // 2, out)


@kernel
def squares(z, lower, inverse, out):
    square_lanes(z, lower, inverse, 1, out)


def test_only_what_was_asked_for_is_written():
    lanes = TILE_BYTES // 8
    side, tile = rng.normal(size=(2 * DIRECTIONS, 3)), rng.normal(size=(3, lanes))
    out = aligned(2 * DIRECTIONS, lanes)
    out[:] = 7.0
    right_half(side, tile, out)
    np.testing.assert_allclose(out[DIRECTIONS:, lanes // 2 :], (side @ tile)[DIRECTIONS:, lanes // 2 :], rtol=1e-12)
    assert (out[:DIRECTIONS] == 7.0).all() and (out[:, : lanes // 2] == 7.0).all()
    lower, inverse, found = (
        rng.normal(size=(2, 3)),
        rng.random((2, 3)),
        aligned(2, lanes),
    )
    found[:] = 7.0
    squares(tile, lower, inverse, found)
    y = [tile[0]]
    for j in (1, 2):
        y.append(tile[j] + lower[1, j] * y[-1])
    np.testing.assert_allclose(found[1], (inverse[1][:, None] * np.array(y) ** 2).sum(axis=0), rtol=1e-12)
    assert (found[0] == 7.0).all()
