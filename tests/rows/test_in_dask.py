"""Rows in Dask: what is known of them here, and what they are not for."""

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from streamnb.rows.in_arrays import DaskSource

X = da.from_array(np.ones((10, 3), np.float32), chunks=(4, 3))


def unknown(x):
    return x.map_blocks(np.copy, chunks=((np.nan,) * x.numblocks[0], x.chunks[1]))


@pytest.mark.parametrize(
    ("given", "shape", "n_values", "nbytes"),
    [
        (X, (10, 3), 30, 120),
        (unknown(X), (None, 3), None, 0),
        (X.map_blocks(sp.csr_array, meta=sp.csr_array((0, 0))), (10, 3), None, 0),  # nobody knows what they store
        (dd.from_pandas(pd.DataFrame(np.ones((10, 3)), columns=[*"abc"]), npartitions=3), (None, 3), None, 0),
    ],
)
def test_what_is_known_before_a_row_is_made(given, shape, n_values, nbytes):
    rows = DaskSource(given, {"y": None})
    assert rows.lazy and rows.n_blocks == 3 and isinstance(rows.X, da.Array) and rows.arrays == ()
    assert ((rows.n_rows, rows.n_features), rows.n_values, rows.nbytes) == (shape, n_values, nbytes)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (X[:, 0], r"Expected 2D array, got 1D array instead: X"),
        (X.rechunk((10, 2)), r"^X has its features in 2 chunks; put them in one with X\.rechunk\(\{1: -1\}\)$"),
        (X[:0], r"0 sample\(s\)"),
        (X[:, :0], r"0 feature\(s\)"),
    ],
)
def test_arrays_that_are_no_rows(given, words):
    with pytest.raises(ValueError, match=words):
        DaskSource(given, {})


def test_splits_stand_beside_the_other_columns():
    rows = DaskSource(X, {"y": "labels"})
    split = rows.with_split("groups", "numbers")
    assert split.columns == {"y": "labels", "groups": "numbers"} and rows.columns == {"y": "labels"}
    assert type(split) is DaskSource and split.X is rows.X


def test_columns_are_computed_whole_and_cut_by_dask():
    rows, column, whole = DaskSource(X, {}), da.arange(10, chunks=5), np.arange(10)
    for given in (column, whole, [*range(10)]):
        assert rows.whole_column(given, "folds").tolist() == [*range(10)]
    assert rows.cut_alike(column, whole) is column and rows.cut_alike([*range(10)], whole) is whole


def test_rows_are_worked_on_where_their_blocks_are():
    rows = DaskSource(X, {})
    with pytest.raises(TypeError, match=r"^Dask processes the blocks of its arrays itself$"):
        rows.blocks()
    with pytest.raises(ValueError, match=r"^checkpoint= needs rows .* X\.to_zarr$"):
        rows.check_resumable()
