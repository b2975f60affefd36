"""The kernels of histograms against counting value by value."""

import numpy as np
import pytest
import scipy.sparse as sp

from streamnb.kernels import table_sums
from streamnb.rows.row_blocks import frozen
from tests.support.chunk_arrays import stored

N, B, K = 3, 4, 2
SCALE, SHIFT = np.array([1.0, 2.0, 0.5]), np.array([0.0, B + 1.0, 2 * B])
X = np.random.default_rng(0).uniform(0.0, 1.2, (50, N)) - np.array([0.0, 0.4, 0.0])
ROWS = np.arange(50)[::-1].copy()
CODES = ROWS % K


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("number", [np.int32, np.float64])
@pytest.mark.parametrize("sparse", [True, False])
def test_each_stored_value_is_counted_in_its_bin(dtype, number, sparse):
    x = np.where(np.arange(N) == np.arange(50)[:, None] % 4, 0.0, X).astype(dtype)
    hi, expected = np.zeros((K, N * B), number), np.zeros((K, N * B))
    for i, k in zip(ROWS, CODES, strict=True):
        for j in range(N):
            if x[i, j] or not sparse:
                expected[k, int(np.floor(x[i, j] * SCALE[j])) + int(SHIFT[j])] += 2.0
    rows = stored(sp.csr_array(x)) if sparse else (frozen(x),)
    add, scratch = (table_sums.add_csr, ()) if sparse else (table_sums.add_dense, (np.empty(N, np.int32),))
    add(*rows, ROWS, CODES, np.full(50, 2.0), SCALE, SHIFT, *scratch, hi)
    np.testing.assert_array_equal(hi, expected)


@pytest.mark.parametrize("value", [-1e300, 1e300])
def test_changed_values_are_counted_inside_the_table(value):
    hi = np.zeros((1, N * B), np.int32)
    ones = np.zeros(1, np.int64), np.zeros(1, np.int64), np.ones(1), SCALE, SHIFT
    table_sums.add_dense(np.full((1, N), value), *ones, np.empty(N, np.int32), hi)
    table_sums.add_csr(np.full(N, value), np.arange(N, dtype=np.int32), np.array([0, N]), *ones, hi)
    assert hi.tolist() == [[2 * N] + [0] * (N * B - 1)]


def test_ranges_of_stored_values():
    x = sp.random_array((50, N), density=0.6, rng=0, data_sampler=lambda size: np.linspace(-0.4, 1.2, size)).tocsr()
    low, high, count = np.full(N, np.inf), np.full(N, -np.inf), np.zeros(N, np.int64)
    table_sums.stored_range(x.data, x.indices, low, high, count)
    columns = [x.data[x.indices == j] for j in range(N)]
    assert low.tolist() == [min(c) for c in columns] and high.tolist() == [max(c) for c in columns]
    assert count.tolist() == list(map(len, columns))
