"""Rows in, rows out: in kind, in order, wherever they come from."""

import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp
import zarr

from streamnb.passes.answering import answer
from streamnb.rows import row_blocks
from streamnb.rows.opening import opened

X = np.arange(24.0).reshape(12, 2)


def sums(chunk, survey):
    return np.asarray(chunk.to_matrix().sum(axis=1)).reshape(-1)


def doubled(chunk, survey):
    return chunk.to_matrix() * 2


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array, lambda X: iter([X[:5], X[5:]])])
def test_in_the_order_of_the_rows(kind, monkeypatch):
    monkeypatch.setattr(row_blocks, "BLOCK_ROWS", 5)
    rows = opened(kind(X), labelled=False)
    assert np.array_equal(answer(sums, rows, None, np.dtype(float)), X.sum(axis=1))


def test_lazy_for_dask():
    rows = opened(da.from_array(X, chunks=(5, 2)), labelled=False)
    lazy = answer(sums, rows, None, np.dtype(float))
    assert isinstance(lazy, da.Array) and np.array_equal(lazy.compute(), X.sum(axis=1))
    with pytest.raises(ValueError, match="out: X is a Dask array"):
        answer(sums, rows, None, np.dtype(float), out=np.empty(12))


def test_written_where_it_is_asked_for():
    out = zarr.create_array(zarr.storage.MemoryStore(), shape=(12, 2), chunks=(4, 2), dtype="f8")
    assert answer(doubled, opened(X, labelled=False), 2, np.dtype(float), out=out) is out
    assert np.array_equal(out[:], 2 * X)


def test_of_the_kind_of_the_rows():
    found = answer(doubled, opened(sp.csr_array(X), labelled=False), 2, None, join=sp.vstack)
    assert sp.issparse(found) and np.array_equal(found.toarray(), 2 * X)
    lazy = answer(doubled, opened(da.from_array(X, chunks=(5, 2)), labelled=False), 2, None)
    assert np.array_equal(lazy.compute(), 2 * X)


def test_rows_there_should_be():
    with pytest.raises(ValueError, match="0 sample"):
        answer(sums, opened(iter([]), labelled=False), None, np.dtype(float))
