"""Blocks that cut no tile, of rows of any kind."""

from itertools import pairwise

import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp
import zarr

from streamnb.rows import sizes
from streamnb.rows.opening import opened
from streamnb.rows.tiles import in_tiles

X, Y, W = np.arange(200.0).reshape(50, 4), np.arange(50) % 3, np.arange(50.0)


def test_blocks_end_where_tiles_do(tmp_path, monkeypatch):
    monkeypatch.setattr(sizes, "BLOCK_ROWS", 7)
    store = zarr.create_array(tmp_path / "x.zarr", data=X, chunks=(11, 4))
    cuts = [0, 0, 1, 2, 20, 37, 50]
    stream = opened(lambda: ((X[a:b], Y[a:b], W[a:b]) for a, b in pairwise(cuts)))
    for rows in (opened(X, Y, W), opened(store, Y, W), opened(sp.csr_array(X), Y, W), stream):
        blocks = list(in_tiles(rows, 8).blocks())
        assert all(block.first_row % 8 == 0 for block in blocks if block.n_rows)
        np.testing.assert_array_equal(np.concatenate([b.y for b in blocks]), Y)
        np.testing.assert_array_equal(np.concatenate([b.weight for b in blocks]), W)
        assert sum(block.nbytes for block in blocks) == sum(block.nbytes for block in rows.blocks())
    assert in_tiles(stream, 1) is stream


def test_parts_of_several_kinds_stay_apart_for_others_to_refuse():
    rows = opened(lambda: iter([(X[:3], Y[:3]), (X[3:6], Y[3:6].astype(str)), (X[6:9, :2], Y[6:9])]))
    assert [block.X.shape for block in in_tiles(rows, 16).blocks()] == [(3, 4), (3, 4), (3, 2)]


def test_dask_cuts_its_blocks_anew():
    rows = in_tiles(opened(da.from_array(X, chunks=(11, 4)), Y), 8)
    assert all(end % 8 == 0 for end in np.cumsum(rows.X.chunks[0])[:-1]) and rows.X.shape == X.shape
    unknown = da.from_array(X, chunks=(11, 4))
    with pytest.raises(ValueError, match="compute_chunk_sizes"):
        in_tiles(opened(unknown[unknown[:, 0] >= 0.0], Y), 8)
