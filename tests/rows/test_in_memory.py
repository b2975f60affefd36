"""Rows in memory come in blocks of a few MB, whatever range of them is asked for."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from streamnb.rows import sizes
from streamnb.rows.boundary import checked
from streamnb.rows.in_memory import ArraySource
from streamnb.rows.labels import open_columns

X = np.random.default_rng(0).integers(0, 3, (23, 4)).astype(float)
Y = np.arange(23) % 3


def source(storage):
    return ArraySource(storage(X), open_columns(Y, Y + 1.0, 23, True))


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array, np.asfortranarray])
@given(start=st.integers(0, 23), stop=st.none() | st.integers(0, 23), n_bytes=st.integers(1, 900))
def test_every_row_once_in_order(storage, start, stop, n_bytes):
    with pytest.MonkeyPatch.context() as few:
        few.setattr(sizes, "BLOCK_BYTES", n_bytes)
        few.setattr(sizes, "BLOCK_ROWS", 7)
        blocks = [*source(storage).blocks(start, stop)]
    stop = 23 if stop is None else stop
    assert [block.first_row for block in blocks] == [start, *np.cumsum([b.n_rows for b in blocks])[:-1] + start][
        : len(blocks)
    ]
    assert sum(block.n_rows for block in blocks) == max(stop - start, 0)
    for block in blocks:
        rows = slice(block.first_row, block.first_row + block.n_rows)
        found = checked(block)[0].to_matrix()
        assert np.array_equal(found.toarray() if sp.issparse(found) else found, X[rows])
        assert np.array_equal(block.y, Y[rows]) and np.array_equal(block.weight, Y[rows] + 1.0)
        assert 1 <= block.n_rows <= 7 and block.split is None


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
def test_blocks_are_of_the_size_wanted(storage, monkeypatch):
    monkeypatch.setattr(sizes, "BLOCK_BYTES", 128)
    rows = source(storage)
    assert sum(block.nbytes for block in rows.blocks()) == rows.nbytes
    fewer = rows.wanted(True, 1 << 20)
    assert rows.n_blocks == -(-rows.nbytes // 128) and len([*fewer.blocks()]) == 1 < len([*rows.blocks()])
    if storage is np.asarray:
        assert {block.n_rows for block in rows.blocks()} == {4, 3} and rows.nbytes == X.nbytes


def test_what_is_known_before_a_row_is_read():
    dense, sparse = source(np.asarray), source(sp.csr_array)
    assert dense.in_memory and (dense.n_rows, dense.n_features, dense.n_values) == (23, 4, 92)
    assert (sparse.n_rows, sparse.n_features, sparse.n_values) == (23, 4, np.count_nonzero(X))
    assert dense.arrays == () and np.shares_memory(next(dense.blocks()).X, dense._X)
