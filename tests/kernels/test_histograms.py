"""The kernel of histograms against counting value by value."""

import numpy as np
import pytest

from streamnb.kernels import histograms
from streamnb.rows.chunk import frozen

N, B, K = 3, 4, 2
SCALE, SHIFT = np.array([1.0, 2.0, 0.5]), np.array([0.0, B + 1.0, 2 * B])
X = np.random.default_rng(0).uniform(0.0, 1.2, (50, N)) - np.array([0.0, 0.4, 0.0])
ROWS = np.arange(50)[::-1].copy()
CODES = ROWS % K


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("number", [np.int32, np.float64])
def test_each_value_is_counted_in_its_bin(dtype, number):
    x, hi, expected = X.astype(dtype), np.zeros((K, N * B), number), np.zeros((K, N * B))
    for i, k in zip(ROWS, CODES, strict=True):
        for j in range(N):
            expected[k, int(np.floor(x[i, j] * SCALE[j])) + int(SHIFT[j])] += 2.0
    histograms.add_dense(frozen(x), ROWS, CODES, np.full(50, 2.0), SCALE, SHIFT, hi)
    np.testing.assert_array_equal(hi, expected)
