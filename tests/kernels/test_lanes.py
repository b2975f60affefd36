"""Looking ahead changes no sum: rows of any length, empty ones too, before and behind the one at hand."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from streamnb.kernels import class_sums
from tests.support.chunk_arrays import stored


@pytest.mark.parametrize("columns", [9, class_sums.NEAR // 16 + 1])  # of four rows: in the cache, or too many for it
@settings(max_examples=30)
@given(st.lists(st.integers(0, 9), min_size=1, max_size=40), st.integers(0, 2**32 - 1))
def test_sums_of_rows_of_any_length(columns, lengths, seed):
    rng = np.random.default_rng(seed)
    x = np.zeros((len(lengths), 9))
    for row, length in zip(x, lengths):
        row[rng.permutation(9)[:length]] = rng.integers(1, 9, length)
    matrix = sp.csr_array(x)
    rows = rng.integers(0, len(x), 3 * len(x))  # some several times, some never
    codes, weight = rng.integers(0, 4, len(rows)), rng.choice([1.0, 2.0], len(rows))
    expected = np.zeros((4, 9))
    np.add.at(expected, codes, x[rows] * weight[:, None])
    n_stored = np.zeros((4, 9))
    np.add.at(n_stored, codes, (x[rows] != 0) * weight[:, None])
    plain, counted, hi = np.zeros((3, 4, columns))
    lo = np.zeros((3, 4, columns))
    arrays = *stored(matrix), rows, codes, weight, class_sums.SUM, 0.0
    narrow = np.zeros((4, columns), np.int32)
    add = class_sums.add_csr if columns == 9 else class_sums.add_csr_ahead
    add(*arrays, plain)
    add(*arrays, narrow)
    class_sums.add_csr_pairs(*arrays, hi, lo)
    class_sums.count_csr(*arrays[1:6], counted)
    assert (plain[:, :9] == expected).all()
    assert (narrow == plain).all()
    assert (hi[:, :9] == expected).all()
    assert (counted[:, :9] == n_stored).all()
    assert not (plain[:, 9:].any() or hi[:, 9:].any() or lo.any() or counted[:, 9:].any())
