"""What a reflection takes from a row, and from directions, as NumPy finds it."""

import numpy as np

from streamnb.kernels.compiler import kernel
from streamnb.kernels.lanes import LANES
from streamnb.kernels.matrix_lanes import fold_lanes, mirror_lanes

rng = np.random.default_rng(0)


@kernel
def fold(a, v, w, new, p):
    fold_lanes(a, 3, 1, v, w, new, p)


@kernel
def mirror(q, a, h):
    mirror_lanes(q, a, 1, h)


def test_a_row_is_folded_and_multiplied():
    a, (v, w, new, p) = rng.normal(size=(5, 5, LANES)), rng.normal(size=(4, 5, LANES))
    expected, sums = a.copy(), p.copy()
    expected[3, 1:3] -= v[3] * w[1:3] + w[3] * v[1:3]
    sums[3] = (expected[3, 1:3] * new[1:3]).sum(axis=0)
    sums[1:3] += expected[3, 1:3] * new[3]
    fold(a, v, w, new, p)
    np.testing.assert_allclose(a, expected, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(p, sums, rtol=1e-12, atol=1e-14)


def test_a_direction_is_mirrored():
    q, a, h = rng.normal(size=(4, LANES)), rng.normal(size=(4, 4, LANES)), rng.random((4, LANES))
    expected, v = q.copy(), a[1, 2:]
    expected[2:] -= h[1] * (q[2:] * v).sum(axis=0) * v
    mirror(q, a, h)
    np.testing.assert_allclose(q, expected, rtol=1e-12, atol=1e-14)
