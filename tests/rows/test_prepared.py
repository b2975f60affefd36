"""Rows that a step is applied to as they are read."""

import numpy as np
import pytest
import scipy.sparse as sp
import zarr

import streamnb as snb
from streamnb.rows.opening import opened
from streamnb.rows.prepared import PreparedSource

X = np.random.default_rng(0).poisson(1.0, (60, 4)).astype(float)
Y = np.arange(60) % 3


def twice(chunk):
    return sp.hstack([sp.csr_array(chunk.to_matrix())] * 2, format="csr")


def prepared(rows):
    return PreparedSource(rows, twice, 8, "twice")


@pytest.mark.parametrize("folds", [None, 3, Y])
def test_a_scan_sees_the_columns_that_are_made(folds, tmp_path):
    store = zarr.create_array(tmp_path / "x.zarr", data=X, chunks=(7, 4))
    expected = snb.scan(np.hstack([X, X]), Y, folds=folds)
    for rows in (opened(X, Y), opened(store, Y), opened(lambda: [(X[:9], Y[:9]), (X[9:], Y[9:])])):
        if folds is not Y or rows.n_rows:
            found = snb.scan(prepared(rows), folds=folds)
            np.testing.assert_array_equal(found.sum, expected.sum)
            if folds is not None:
                np.testing.assert_array_equal(found.fold(1).sum, expected.fold(1).sum)


def test_another_step_is_other_data_to_a_checkpoint(tmp_path):
    snb.scan(prepared(opened(X, Y)), checkpoint=tmp_path / "c.snb")
    other = PreparedSource(opened(X, Y), twice, 8, "twice, but otherwise")
    with pytest.raises(ValueError, match="the step"):
        snb.scan(other, checkpoint=tmp_path / "c.snb")


def test_groups_and_limits_are_those_of_the_rows_beneath():
    groups = np.arange(60) // 5
    found, expected = (snb.scan(rows, folds=3, groups=groups) for rows in (prepared(opened(X, Y)), opened(X, Y)))
    np.testing.assert_array_equal(found.fold(2).sum[:, :4], expected.fold(2).sum)
    once = prepared(opened(iter([(X, Y)])))
    with pytest.raises(ValueError, match="checkpoint= goes with rows"):
        once.check_resumable()
    with pytest.raises(ValueError, match="reads the rows twice"):
        once.check_read_again("this")
