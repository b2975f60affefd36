"""Rows turned into columns: nothing is lost, and sums are those of rows to the last bit."""

import numpy as np
import pytest
import scipy.sparse as sp

from streamnb.kernels import columns, descent, scores
from streamnb.rows.row_blocks import frozen
from tests.support.chunk_arrays import stored

rng = np.random.default_rng(0)
X = sp.random_array((70, 40), density=0.3, format="csr", rng=rng)
X = sp.vstack([X[:30], sp.csr_array((3, 40)), X[30:]], format="csr")  # rows without values, too


def turned(x):
    values, rows = np.empty(x.nnz), np.empty(x.nnz, np.uint16)
    ends = np.empty(x.shape[1], np.int32)
    columns.turn(x.data, x.indices, x.indptr, np.arange(x.shape[0]), ends, values, rows)
    return values, rows, ends


def test_columns_hold_what_rows_held():
    values, rows, ends = turned(X)
    expected = X.tocsc()
    np.testing.assert_array_equal(values, expected.data)
    np.testing.assert_array_equal(rows, expected.indices)
    np.testing.assert_array_equal(ends, expected.indptr[1:])
    indptr = X.indptr[20:51]  # of a part
    part = slice(indptr[0], indptr[-1])
    columns.turn(X.data[part], X.indices[part], indptr, np.arange(len(indptr) - 1), ends, values, rows)
    expected = X[20:50].tocsc()
    np.testing.assert_array_equal(values[: expected.nnz], expected.data)
    np.testing.assert_array_equal(ends, expected.indptr[1:])
    assert not turned(sp.csr_array((5, 4)))[2].any()
    few = np.array([70, 2, 2, 31])  # of some rows, in any order
    columns.turn(X.data, X.indices, X.indptr, few, ends, values, rows)
    expected = X[few].tocsc()
    np.testing.assert_array_equal(values[: expected.nnz], expected.data)
    np.testing.assert_array_equal(rows[: expected.nnz], expected.indices)
    np.testing.assert_array_equal(ends, expected.indptr[1:])


@pytest.mark.parametrize("width", [2, 4, 7, 8, 16, 31, 45])  # some, and all, at once
def test_sums_by_columns_are_those_by_rows(width):
    by_columns, weights, residual = turned(X), rng.normal(size=(40, width)), rng.normal(size=(73, width))
    found, expected = np.zeros((2, 73, width))
    columns.score_columns(*by_columns, weights, found)
    scores.score_csr(*stored(X), frozen(weights), expected)
    np.testing.assert_array_equal(found, expected)
    grid = 3.0 * 2.0 ** rng.integers(5, 9, 40)
    total, again = np.ones((2, 40, width))
    columns.add_products_columns(*by_columns, residual, grid, total)
    descent.add_products_csr(*stored(X), residual, grid, again)
    np.testing.assert_array_equal(total, again)
