"""Linear scores of rows against plain loops, to the last bit."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from streamnb.kernels import scores
from streamnb.rows.row_blocks import frozen
from tests.support.chunk_arrays import stored


def rows(seed, n_rows=9, n_features=6, dtype=np.float64):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n_rows, n_features)) * (rng.random((n_rows, n_features)) < 0.6)
    x[2] = 0.0
    return x.astype(dtype)


def added(x, weights, some, start=0.0):
    """The scores of some rows, stored values one after the other."""
    out = np.full((len(some), weights.shape[1]), start)
    for e, i in enumerate(some):
        for j in np.flatnonzero(x[i]):
            out[e] += float(x[i, j]) * weights[j]
    return out


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("width", [1, 2, 3, 7, 8, 20])
def test_few_columns(width, dtype):
    x, weights = rows(width, dtype=dtype), np.random.default_rng(0).normal(size=(6, width))
    for first in (0, 4):
        sparse, dense = np.full((2, 9 - first, width), 0.5)
        scores.score_csr(*stored(x, first), frozen(weights), sparse)
        scores.score_dense(frozen(x[first:]), frozen(weights), scores.room_for(*weights.shape), dense)
        expected = added(x, weights, range(first, 9), 0.5)
        assert (sparse == expected).all() and (dense == expected).all()


@pytest.mark.parametrize(("share", "weight"), [(0.9, 1.0), (0.05, 1.0), (0.9, -np.inf)])
def test_dense_rows_side_by_side(share, weight):
    rng = np.random.default_rng(1)
    x = rng.normal(size=(37, 270)) * (rng.random((37, 270)) < share)  # tiles of rows and of columns, and what is left
    weights = rng.normal(size=(270, 3))
    weights[x.any(axis=0).argmin(), 1] *= weight
    x[:, np.isinf(weights).any(axis=1)] = 0.0  # is left out, where 0 times infinity would be NaN
    x, room, (out, few) = frozen(x.astype(np.float32)), scores.room_for(*weights.shape), np.full((2, 37, 3), 0.5)
    scores.score_dense(x, frozen(weights), room, out)
    scores.score_dense_few(x, frozen(weights), room, few)
    assert (out == added(x, weights, range(37), 0.5)).all() and (few == out).all()


@pytest.mark.parametrize(
    ("width", "index"), [*((width, np.int32) for width in (8, 9, 16, 24, 31, 32, 40, 57)), (57, np.uint16)]
)
def test_tables_of_any_width_are_summed_and_put_where_they_belong(width, index):
    x, rng = rows(width), np.random.default_rng(width)
    table, some = rng.normal(size=(6, width)), rng.integers(0, 5, 7)  # rows in any order, some of them twice
    arrays, sums = (*stored(x, 4, index), some), added(x[4:], table, some[2:6])
    for spots in (rng.permutation(width + 2)[: width - 1], np.arange(1, width)):  # the last column goes nowhere
        expected = np.ones((4, width + 2))
        expected[:, spots] += sums[:, :-1]
        out = np.ones_like(expected)
        scores.add_table(*arrays, 2, 6, frozen(table), frozen(spots), np.empty((1, width)), out)
        assert (out == expected).all()


@given(st.integers(0, 2**32 - 1), st.sampled_from([0, 2]), st.sampled_from([np.float32, np.float64]))
def test_sparse_weights_of_features_from_some_number_on(seed, first, dtype):
    rng, x = np.random.default_rng(seed), rows(seed, dtype=dtype)
    weights = rng.normal(size=(3, 5)) * (rng.random((3, 5)) < 0.5)
    flat, some = sp.csr_array(weights), rng.integers(0, 9, 4)
    out = np.full((4, 5), 0.5)
    scores.score_cells(*stored(x, index=np.uint16), some, flat.data, flat.indices, flat.indptr, first, out)
    assert (out == added(x[:, first : first + 3], weights, some, 0.5)).all()
