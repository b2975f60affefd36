"""Sources that wrap another: what is beside the rows and their order are left to it."""

import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp

from streamnb.rows.opening import opened
from streamnb.rows.preparing import RowOptions
from streamnb.rows.source import FoldRows, NarrowSource, OutsideFolds, in_tiles
from streamnb.rows.splits import Folding
from tests.support.read_rows import matrix_of

X = np.arange(24.0).reshape(12, 2)
Y, W = np.arange(12) % 3, np.arange(1.0, 13.0)


def test_rows_in_dask_are_refused():
    import dask.array as da

    with pytest.raises(ValueError, match="Dask"):
        FoldRows(opened(da.from_array(X), da.from_array(Y)), Folding(3), 0, True)


T, L, V = np.arange(200.0).reshape(50, 4), np.arange(50) % 3, np.arange(50.0)


def test_dask_cuts_its_blocks_anew():
    rows = in_tiles(opened(da.from_array(T, chunks=(11, 4)), L), 8)
    assert all(end % 8 == 0 for end in np.cumsum(rows.X.chunks[0])[:-1]) and rows.X.shape == T.shape
    unknown = da.from_array(T, chunks=(11, 4))
    with pytest.raises(ValueError, match="compute_chunk_sizes"):
        in_tiles(opened(unknown[unknown[:, 0] >= 0.0], L), 8)


@pytest.mark.parametrize("tile", [1, 12])
def test_rows_outside_folds_are_read_side_by_side(tile):
    rows = OutsideFolds({3: in_tiles(opened(T, L), 7), 4: in_tiles(opened(T[:, :2], L), 9)})
    blocks = list(in_tiles(rows, tile).blocks(2, 49))
    for fold, values in ((3, T), (4, T[:, :2])):
        np.testing.assert_array_equal(np.vstack([block.outside(fold).X for block in blocks]), values[2:49])
    assert all(block.outside(4).first_row == block.first_row for block in blocks)
    assert tile == 1 or {block.first_row % tile for block in blocks[1:]} == {0}


def test_zeros_that_are_stored_and_other_columns_in_a_later_read():
    X = sp.csr_array((np.array([1.0, 0.0, 2.0]), np.array([0, 1, 2]), np.array([0, 2, 3])), shape=(2, 3))
    rows = NarrowSource(opened(X, None, labelled=False), RowOptions(), np.array([0, 2]), 3)
    np.testing.assert_array_equal(matrix_of(rows), [[1.0, 0.0], [0.0, 2.0]])
    wider = NarrowSource(opened(sp.csr_array(np.ones((2, 4))), None, labelled=False), RowOptions(), np.array([0, 2]), 3)
    with pytest.raises(ValueError, match="X has 4 features"):
        list(wider.blocks())
