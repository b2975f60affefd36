"""Sources that wrap another: what is beside the rows and their order are left to it."""

from itertools import pairwise

import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp
import zarr

import streamnb as snb
from streamnb.passes.dask_workers import reachable
from streamnb.rows import row_blocks
from streamnb.rows.opening import opened
from streamnb.rows.preparing import FeatureScale, RowOptions
from streamnb.rows.source import FoldRows, NarrowSource, PreparedSource, in_tiles
from streamnb.rows.splits import Folding, fold_numbers
from tests.support.read_rows import matrix_of

X = np.arange(24.0).reshape(12, 2)
Y, W = np.arange(12) % 3, np.arange(1.0, 13.0)


def test_files_beneath_are_those_that_workers_open(tmp_path):
    (tmp_path / "x.svm").write_text("0 1:1\n1 1:2\n")
    rows = opened(tmp_path / "x.svm")
    for wrapped in (in_tiles(rows, 5), prepared(rows), FoldRows(rows, Folding(2), 0, True)):
        assert wrapped.files == rows.files and reachable(wrapped)


C = np.random.default_rng(0).poisson(1.0, (60, 4)).astype(float)
K = np.arange(60) % 3


def twice(chunk):
    return sp.hstack([sp.csr_array(chunk.to_matrix())] * 2, format="csr")


def prepared(rows):
    return PreparedSource(rows, twice, 8, "twice")


@pytest.mark.parametrize("folds", [None, 3, K])
def test_a_scan_sees_the_columns_that_are_made(folds, tmp_path):
    store = zarr.create_array(tmp_path / "x.zarr", data=C, chunks=(7, 4))
    expected = snb.scan(np.hstack([C, C]), K, folds=folds)
    for rows in (
        opened(C, K),
        opened(store, K),
        opened(lambda: [(C[:9], K[:9]), (C[9:], K[9:])]),
    ):
        if folds is not K or rows.n_rows:
            found = snb.scan(prepared(rows), folds=folds)
            np.testing.assert_array_equal(found.sum, expected.sum)
            if folds is not None:
                np.testing.assert_array_equal(found.fold(1).sum, expected.fold(1).sum)


def test_another_step_is_other_data_to_a_checkpoint(tmp_path):
    snb.scan(prepared(opened(C, K)), checkpoint=tmp_path / "c.snb")
    other = PreparedSource(opened(C, K), twice, 8, "twice, but otherwise")
    with pytest.raises(ValueError, match="the step"):
        snb.scan(other, checkpoint=tmp_path / "c.snb")


def test_groups_and_limits_are_those_of_the_rows_beneath():
    groups = np.arange(60) // 5
    found, expected = (snb.scan(rows, folds=3, groups=groups) for rows in (prepared(opened(C, K)), opened(C, K)))
    np.testing.assert_array_equal(found.fold(2).sum[:, :4], expected.fold(2).sum)
    once = prepared(opened(iter([(C, K)])))
    with pytest.raises(ValueError, match="checkpoint= needs rows"):
        once.check_resumable()
    with pytest.raises(ValueError, match="reads the rows more than once"):
        once.check_read_again("this")


@pytest.mark.parametrize("inside", [True, False])
@pytest.mark.parametrize("weight", [W, None])
def test_either_side_of_a_fold_keeps_its_weight(inside, weight):
    rows = FoldRows(opened(X, Y, weight), Folding(3), 1, inside)
    blocks = [*rows.blocks(0, 5), *rows.blocks(5)]
    found = np.concatenate([block.weight for block in blocks])
    beside = np.concatenate([columns["sample_weight"] for columns in rows.row_columns(5)])
    np.testing.assert_array_equal(beside, found)
    own = (fold_numbers(12, 3) == 1) == inside
    np.testing.assert_array_equal(found, np.where(own, W if weight is not None else 1.0, 0.0))


def test_rows_in_dask_are_refused():
    import dask.array as da

    with pytest.raises(ValueError, match="Dask"):
        FoldRows(opened(da.from_array(X), da.from_array(Y)), Folding(3), 0, True)


T, L, V = np.arange(200.0).reshape(50, 4), np.arange(50) % 3, np.arange(50.0)


def test_blocks_end_where_tiles_do(tmp_path, monkeypatch):
    monkeypatch.setattr(row_blocks, "BLOCK_ROWS", 7)
    store = zarr.create_array(tmp_path / "x.zarr", data=T, chunks=(11, 4))
    cuts = [0, 0, 1, 2, 20, 37, 50]
    stream = opened(lambda: ((T[a:b], L[a:b], V[a:b]) for a, b in pairwise(cuts)))
    for rows in (
        opened(T, L, V),
        opened(store, L, V),
        opened(sp.csr_array(T), L, V),
        stream,
    ):
        blocks = list(in_tiles(rows, 8).blocks())
        assert all(block.first_row % 8 == 0 for block in blocks if block.n_rows)
        np.testing.assert_array_equal(np.concatenate([b.y for b in blocks]), L)
        np.testing.assert_array_equal(np.concatenate([b.weight for b in blocks]), V)
        assert sum(block.nbytes for block in blocks) == sum(block.nbytes for block in rows.blocks())
    assert in_tiles(stream, 1) is stream


def test_parts_of_several_kinds_stay_apart_for_others_to_refuse():
    rows = opened(lambda: iter([(T[:3], L[:3]), (T[3:6], L[3:6].astype(str)), (T[6:9, :2], L[6:9])]))
    assert [block.X.shape for block in in_tiles(rows, 16).blocks()] == [(3, 4), (3, 4), (3, 2)]


def test_dask_cuts_its_blocks_anew():
    rows = in_tiles(opened(da.from_array(T, chunks=(11, 4)), L), 8)
    assert all(end % 8 == 0 for end in np.cumsum(rows.X.chunks[0])[:-1]) and rows.X.shape == T.shape
    unknown = da.from_array(T, chunks=(11, 4))
    with pytest.raises(ValueError, match="compute_chunk_sizes"):
        in_tiles(opened(unknown[unknown[:, 0] >= 0.0], L), 8)


rng = np.random.default_rng(7)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_narrow_rows_are_prepared_and_lack_columns_that_are_0(form):
    X = rng.poisson(0.3, (30, 12)).astype(float)
    X[:, [2, 5, 11]] = 0.0
    columns = np.flatnonzero(X.any(axis=0))
    options = RowOptions("log1p", "l2", scale=FeatureScale(np.arange(1.0, 13.0)))
    rows = NarrowSource(opened(form(X), None, labelled=False), options, columns, 12)
    expected = np.log1p(X) * np.arange(1.0, 13.0)
    lengths = np.sqrt((expected**2).sum(axis=1, keepdims=True))
    expected /= np.where(lengths > 0.0, lengths, 1.0)
    found = matrix_of(rows)
    assert rows.n_features == len(columns) == found.shape[1]
    np.testing.assert_allclose(found, expected[:, columns], rtol=1e-15)


def test_zeros_that_are_stored_and_other_columns_in_a_later_read():
    X = sp.csr_array((np.array([1.0, 0.0, 2.0]), np.array([0, 1, 2]), np.array([0, 2, 3])), shape=(2, 3))
    rows = NarrowSource(opened(X, None, labelled=False), RowOptions(), np.array([0, 2]), 3)
    np.testing.assert_array_equal(matrix_of(rows), [[1.0, 0.0], [0.0, 2.0]])
    wider = NarrowSource(opened(sp.csr_array(np.ones((2, 4))), None, labelled=False), RowOptions(), np.array([0, 2]), 3)
    with pytest.raises(ValueError, match="X has 4 features"):
        list(wider.blocks())
