"""Ranges of rows: any partition gives the same bits, and a range reads little beyond its own chunks."""

import dask
import dask.array as da
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import zarr
from zarr.storage import MemoryStore

import streamnb as snb
from streamnb.passes.contract import RunOptions
from streamnb.passes.run import run
from streamnb.rows.opening import opened
from streamnb.rows.preparing import RowOptions
from streamnb.rows.source import FoldRows, NarrowSource, OutsideFolds, in_tiles
from streamnb.rows.splits import Folding
from streamnb.scanning.class_scan import ClassScan
from streamnb.stats.moment_sums import PLAIN_MOMENTS
from tests.support.read_rows import matrix_of
from tests.support.strategies import FORMS, example
from tests.support.zarr_stores import write_arrays

PLAN = ClassScan(PLAIN_MOMENTS, RowOptions(), folding=Folding(3))
OF_TYPES = "indices", "indptr", "values", "int16", "big-endian"  # which ranges of rows have nothing to do with
READ_HERE = [name for name in FORMS if name.startswith(("zarr", "anndata", "path", "numpy f8", "csr messy"))]
READ_HERE = [name for name in READ_HERE if not any(word in name for word in OF_TYPES)]


def folded(source, start=0, stop=None, plan=PLAN):
    accumulator = plan.partial()
    for block in source.blocks(start, stop):
        plan.add(accumulator, block)
    return accumulator.finish()


def test_an_error_in_a_range_names_the_row_of_the_table():
    rows = example()
    rows.x[33, 2] = np.nan
    with pytest.raises(ValueError, match="row 33, column 2"):
        folded(opened(write_arrays(zarr.create_group(MemoryStore()), rows, chunk=5), "y"), 20)


@pytest.mark.parametrize("at", [12, 24])
def test_indptr_that_leaves_the_values_is_refused_wherever_a_range_begins(at):
    rows = example()
    group = write_arrays(zarr.create_group(MemoryStore()), rows, chunk=5)
    for wrong in (-5, 10**6):
        group["indptr"][at] = wrong
        with pytest.raises(snb.DataError, match="indptr is wrong near row"):
            folded(opened(group, "y"), 12, 24)


# ---- raw rows -------------------------------------------------------------------------------------------------------


def test_groups_and_folds_may_be_columns():
    frame = pd.DataFrame({"n": range(24), "day": np.arange(24) // 2, "late": np.arange(24) % 2})
    rows, days = snb.table(frame, "late", columns=["n"]), frame["day"].to_numpy()
    assert np.array_equal(rows.whole_column("day", "folds"), days)
    assert [block.split.tolist() for block in rows.with_columns(split={"groups": "day"}).blocks(1, 4)] == [[0, 1, 1]]
    with pytest.raises(ValueError, match="groups='week' is not a column"):
        rows.with_columns(split={"groups": "week"})
    named, given = (snb.scan(rows, folds=2, groups=groups) for groups in ("day", days))
    assert [fold.n_rows for fold in named.folds] == [fold.n_rows for fold in given.folds]


# ---- Sources that wrap another: what is beside the rows and their order are left to it -------------------------------

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


def test_a_dask_array_that_gives_fewer_rows_in_a_later_read_is_refused():
    table, task, n_rows = example().x, ClassScan(PLAIN_MOMENTS, RowOptions()), [20]
    array = da.from_delayed(dask.delayed(lambda: table[: n_rows[0]], pure=False)(), (np.nan, table.shape[1]), float)
    rows = opened(array, da.from_delayed(dask.delayed(lambda: np.arange(n_rows[0]) % 2)(), (np.nan,), int))
    assert [run(task, rows, RunOptions())[1].rows for _ in range(2)] == [20, 20]
    n_rows[0] = 19
    with pytest.raises(ValueError, match="X gave 19 rows in read 3 and 20 in read 1; a Dask array"):
        run(task, rows, RunOptions())
