"""Weights of a grid in a head and in units, and the scores from them, against dense weights and plain loops."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from streamnb.kernels import grid_scores
from streamnb.kernels.lanes import LANES
from tests.support.chunk_arrays import all_frozen, stored

N, ROWS, POINTS, ROOM = 5, 3, 11, 16  # features, rows of weights, points and room for them


def weights(seed, density):
    """(n_features, points, rows), whole numbers, so that sums in any order are the same."""
    rng = np.random.default_rng(seed)
    return (rng.integers(1, 9, (N, POINTS, ROWS)) * (rng.random((N, POINTS, ROWS)) < density)).astype(float)


def where():
    """Point, row of weights, first column of the unit and place in it of each column of weights."""
    columns = [(g, r, r * ROOM + g // LANES * LANES, g % LANES) for g in range(POINTS) for r in range(ROWS)]
    return np.array(columns).T.copy()


def csr(some):
    flat = sp.csr_array(some.reshape(len(some), POINTS * ROWS))
    return flat.data, flat.indices.astype(np.int32), flat.indptr.astype(np.int64)


grids = st.builds(weights, st.integers(0, 2**32 - 1), st.sampled_from([0.0, 0.05, 0.3, 1.0]))


@given(grids)
def test_units_are_counted_by_their_last_point(grid):
    _, indices, indptr = csr(grid)
    ends, expected = np.zeros((2, ROOM), np.int64)
    grid_scores.count_units(indices, indptr, where(), np.full((2, ROWS), -1), ends)
    for j, first, r in np.ndindex(N, 2, ROWS):
        points = first * LANES + np.flatnonzero(grid[j, first * LANES : (first + 1) * LANES, r])
        expected[points[-1:]] += 1
    assert ends.tolist() == expected.tolist()


@given(grids, st.integers(0, 3), st.integers(0, N))
def test_head_and_units_hold_all_weights_once(grid, depth, split):
    places = np.array([(0, c) for c in range(depth * ROWS)], np.int64).reshape(-1, 2)
    beside, found = grid.copy(), np.zeros((N, ROWS * ROOM))
    beside[:, :depth] = 0.0
    by_unit = np.pad(beside, ((0, 0), (0, ROOM - POINTS), (0, 0))).transpose(0, 2, 1).reshape(N, -1, LANES)
    n_units = by_unit.any(axis=2).sum(axis=1)
    head = np.zeros((1, N, 3 * ROWS))
    for first, stop in ((0, split), (split, N)):  # one block of features after the other
        n = n_units[first:stop].sum()
        begins, columns, units = np.zeros(stop - first + 1, np.int32), np.empty(n, np.uint16), np.zeros((n, LANES))
        grid_scores.fill_units(
            *csr(grid[first:stop]), where(), places, np.full(ROWS, -1), first, head, begins, columns, units
        )
        assert np.diff(begins).tolist() == n_units[first:stop].tolist()
        assert units.any(axis=1).all() and not (columns % LANES).any()
        of_unit = np.repeat(np.arange(first, stop), np.diff(begins))
        for j, column, unit in zip(of_unit, columns.tolist(), units):
            found[j, column : column + LANES] += unit
    assert (found.reshape(by_unit.shape) == by_unit).all()
    assert (head[0, :, : depth * ROWS] == grid[:, :depth].reshape(N, -1)).all() and not head[0, :, depth * ROWS :].any()


def spare(width):
    top, listed, factors = np.zeros((1, width)), np.zeros(grid_scores.ROOM, np.int32), np.zeros(grid_scores.ROOM)
    return top, listed, factors


def laid_out(seed, n_features, n_units, n_columns):
    """Two tables of a head and so many units for a feature at most, and the same as a dense table."""
    rng = np.random.default_rng(seed)
    head = rng.integers(-4, 5, (2, n_features, LANES)).astype(float)
    spots = rng.permutation(n_columns)[: 2 * LANES].reshape(2, LANES)
    begins = np.append(0, rng.integers(0, n_units + 1, n_features).cumsum())
    units = rng.integers(-4, 5, (begins[-1], LANES)).astype(float)
    columns = rng.integers(0, n_columns - LANES + 1, begins[-1])
    dense = np.zeros((n_features, n_columns))
    for j in range(n_features):
        for b in range(2):
            dense[j, spots[b]] += head[b, j]
        for t in range(begins[j], begins[j + 1]):
            dense[j, columns[t] : columns[t] + LANES] += units[t]
    return (head, spots, begins.astype(np.int32), columns.astype(np.uint16), units), dense


@pytest.mark.parametrize(
    ("n_features", "n_units", "dtype"),
    [(7, 0, np.float64), (7, 3, np.float64), (7, 20, np.float64), (200, 6, np.float64), (7, 20, np.float32)],
)
def test_scores_of_rows(n_features, n_units, dtype):
    """Also of features of more units than are listed one by one, and of rows of more than are listed at once."""
    rng = np.random.default_rng(n_units)
    arrays, dense = laid_out(1, n_features, n_units, 40)
    x = (rng.integers(1, 4, (6, n_features)) * (rng.random((6, n_features)) < 0.9)).astype(dtype)
    x[3] = 0
    some = rng.integers(0, 6, grid_scores.ROWS_AT_ONCE + 2)
    assert n_features < 200 or n_units * n_features > 2 * grid_scores.LISTED
    out = np.ones((len(some), 40))
    grid_scores.add_csr((*stored(x), some), all_frozen(arrays), spare(2 * LANES), out)
    assert (out == 1.0 + x[some].astype(float) @ dense).all()


def test_without_a_head():
    (head, spots, *rest), _ = laid_out(2, 7, 3, 40)
    x, out = np.random.default_rng(0).integers(0, 4, (5, 7)).astype(float), np.zeros((5, 40))
    some = np.arange(5)
    expected = np.zeros((5, 40))
    begins, columns, units = rest
    for i, j in zip(*x.nonzero()):
        for t in range(begins[j], begins[j + 1]):
            expected[i, columns[t] : columns[t] + LANES] += x[i, j] * units[t]
    weights = head[:0], spots[:0], *rest
    grid_scores.add_csr((*stored(x), some), all_frozen(weights), spare(LANES), out)
    assert (out == expected).all()


@given(st.integers(0, 6), st.sampled_from([0.0, 0.4, 1.0]), st.sampled_from([np.float64, np.uint8]))
def test_dense_rows_without_their_zeros(n_some, density, dtype):
    rng = np.random.default_rng(n_some)
    values = (rng.integers(1, 5, (4, 5)) * (rng.random((4, 5)) < density)).astype(dtype)
    some, room = rng.integers(0, 4, n_some), n_some * 5 + 1
    data, indices, indptr = np.empty(room, dtype), np.empty(room, np.int32), np.empty(n_some + 1, np.int64)
    grid_scores.compress(values, some, data, indices, indptr)
    expected = sp.csr_array(values[some])
    assert (indptr == expected.indptr).all()
    assert (indices[: indptr[-1]] == expected.indices).all() and (data[: indptr[-1]] == expected.data).all()
