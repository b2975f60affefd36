"""Blocks as bytes: the same bits come back, from fewer bytes."""

import numpy as np
import pytest

from streamnb.rows.keeping import packed, unpacked
from streamnb.rows.row_blocks import Block

rng = np.random.default_rng(0)


def bits(array):
    return array.dtype, array.shape, np.ascontiguousarray(array).tobytes()


def through(X, y=None, weight=None, split=None):
    parts = packed(Block(X, y, weight, split, 5, 99))
    back = unpacked([memoryview(bytes(part)) for part in parts])
    assert (back.first_row, back.nbytes, back.kept) == (5, 99, True)
    return back, sum(map(len, parts[1:]))


VALUES = {  # and the bytes that a value takes
    "ones": (np.ones(1000), 0),
    "counts in float64": (rng.poisson(3.0, 1000).astype(float), 1),
    "counts beyond a byte": (rng.integers(0, 60_000, 1000).astype(float), 2),
    "float32 in float64": (rng.normal(size=1000).astype(np.float32).astype(float), 4),
    "float64": (rng.normal(size=1000), 8),
    "a zero with a sign": (np.array([0.0, -0.0, 1.0] * 100), 4),
    "NaN, inf": (np.array([1.0, np.nan, np.inf, -np.inf] * 100), 4),
    "float32": (rng.normal(size=1000).astype(np.float32), 4),
    "float16": (rng.normal(size=1000).astype(np.float16), 2),
    "columns": (rng.integers(0, 2**18, 1000), 4),
    "few columns": (rng.integers(0, 2**16, 1000, np.int32), 2),
    "far columns": (rng.integers(0, 2**40, 1000), 8),
    "labels": (rng.integers(-3, 3, 1000), 1),
    "other bytes": (np.arange(300, dtype=">i4"), 2),
}


@pytest.mark.parametrize("name", VALUES)
def test_values_keep_their_bits_and_take_few_bytes(name):
    value, n_bytes = VALUES[name]
    back, size = through((None, value, np.arange(3), 7))
    assert bits(back.X[1]) == bits(value) and back.X[0] is None and back.X[3] == 7
    assert size <= n_bytes * len(value) + 8 + 3  # one value of what is repeated, and the ends of rows
