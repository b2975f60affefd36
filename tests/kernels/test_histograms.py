"""Kernels of histograms against counting value by value."""

from math import fsum

import numpy as np
import pytest
import scipy.sparse as sp

from streamnb.kernels import histograms
from streamnb.rows.chunk import frozen
from tests.support.chunk_arrays import stored

N, B, K = 3, 4, 2
SCALE, SHIFT = np.array([1.0, 2.0, 0.5]), np.array([0.0, B + 1.0, 2 * B])
X = sp.random_array((50, N), density=0.6, rng=0, data_sampler=lambda size: np.linspace(-0.4, 1.2, size)).tocsr()
X.data[X.indices != 1] = np.abs(X.data[X.indices != 1])  # only the second feature has a bin below 0
ROWS, WEIGHT = np.arange(50)[::-1].copy(), np.random.default_rng(0).random(50)
CODES = ROWS % K


def counted(x, weight, stored):
    out = np.zeros((K, N * B))
    for i, k, w in zip(ROWS, CODES, weight, strict=True):
        for j in range(N):
            if stored[i, j]:
                out[k, int(np.floor(x[i, j] * SCALE[j])) + int(SHIFT[j])] += w
    return out


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("sparse", [True, False])
def test_each_value_is_counted_in_its_bin(dtype, sparse):
    dense = frozen(X.toarray().astype(dtype))
    rows = stored(X.astype(dtype)) if sparse else (dense,)
    plain, pairs = (getattr(histograms, "add_" + ("csr" if sparse else "dense") + end) for end in ("", "_pairs"))
    there = dense != 0 if sparse else np.ones(dense.shape, bool)
    entries, bins = (ROWS, CODES), (SCALE, SHIFT)
    for number in (np.int32, np.float64):
        hi = np.zeros((K, N * B), number)
        plain(*rows, *entries, np.full(50, 2.0), *bins, hi)
        np.testing.assert_array_equal(hi, counted(dense, np.full(50, 2.0), there))
    hi, lo = np.zeros((K, N * B)), np.zeros((3, K, N * B))
    assert not pairs(*rows, *entries, WEIGHT, *bins, hi, lo)
    np.testing.assert_allclose(hi + lo[0], counted(dense, WEIGHT, there), rtol=1e-15)


def test_ranges_reach_to_stored_values():
    low, high, count = np.full(N, np.inf), np.full(N, -np.inf), np.zeros(N, np.int64)
    histograms.stored_range(X.data, X.indices, low, high, count)
    columns = [X.data[X.indices == j] for j in range(N)]
    assert low.tolist() == [c.min() for c in columns] and high.tolist() == [c.max() for c in columns]
    assert count.tolist() == list(map(len, columns))


def test_what_moves_adds_up_without_error():
    rng = np.random.default_rng(1)
    source = rng.normal(size=(K, 6))
    low = rng.normal(size=(3, K, 6)) * np.array([2.0**-60, 2.0**-120, 0.0])[:, None, None]
    columns = np.array([0, 0, 1, 1, 2, 2])
    whole, moved = np.arange(12.0).reshape(K, 6), np.zeros((K, 3), np.int32)
    histograms.move(whole, columns, moved)
    np.testing.assert_array_equal(moved, whole[:, ::2] + whole[:, 1::2])
    hi, lo = np.zeros((K, 3)), np.zeros((3, K, 3))
    histograms.move_pairs(source, low, columns, hi, lo)
    histograms.move_pairs(-source[:, ::-1].copy(), -low[:, :, ::-1].copy(), columns[::-1].copy(), hi, lo)
    left = [fsum([hi[c], *lo[(slice(None), *c)]]) for c in np.ndindex(K, 3)]
    assert np.abs(left).max() < 2.0**-150
