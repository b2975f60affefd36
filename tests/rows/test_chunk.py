"""Dense and CSR forms of the same rows: each verb says the same of both, and what NumPy says."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from streamnb.kernels import class_sums
from streamnb.kernels.lanes import LANES
from streamnb.rows import row_blocks
from streamnb.rows.row_blocks import CSRChunk, DenseChunk, Entries, frozen

FIRST = 5  # the number of the first row
MOMENTS = {  # of values x at a threshold t, relative to an absent value
    class_sums.SUM: lambda x, t: x,
    class_sums.SUM_SQ: lambda x, t: x * x,
    class_sums.NONZERO: lambda x, t: x != 0,
    class_sums.ABOVE: lambda x, t: (x > t) * 1.0 - (t < 0),
}
IN_PAIRS = {
    **MOMENTS,
    class_sums.LOG: lambda x, t: np.where(x > 0, np.log(np.abs(x) + (x == 0)), np.nan),
    class_sums.INVERSE: lambda x, t: np.where(x > 0, 1 / (x + (x == 0)), np.nan),
    class_sums.DEVIATION: lambda x, t: np.abs(x - t) - abs(t),
}


@st.composite
def tables(draw):
    """Small whole numbers, and where a zero is stored in the CSR form all the same."""
    shape = draw(st.tuples(st.integers(1, 6), st.integers(1, 5)))
    x = draw(arrays(np.float64, shape, elements=st.sampled_from([0.0, 0.0, -2.0, 1.0, 3.0])))
    return x, draw(arrays(bool, shape, elements=st.sampled_from([False, False, True]))), draw(st.integers(0, 3))


def both(table):
    x, kept, start = table
    kept = kept | (x != 0)
    indptr = start + np.concatenate([[0], np.cumsum(kept.sum(axis=1))])
    parts = x[kept], np.nonzero(kept)[1].astype(np.int32), indptr
    return DenseChunk(frozen(x), FIRST), CSRChunk(*map(frozen, parts), x.shape[1], FIRST)


def dense(rows):
    matrix = rows.to_matrix()
    return matrix.toarray() if sp.issparse(matrix) else matrix


def parts_of(rows):
    return (rows.values,) if isinstance(rows, DenseChunk) else (rows.data, rows.indices, rows.indptr)


@given(tables(), st.data())
def test_parts_of_the_rows(table, data):
    x, numbers = table[0], data.draw(st.lists(st.integers(0, len(table[0]) - 1)))
    start, stop = sorted(data.draw(st.tuples(*[st.integers(0, len(x))] * 2)))
    columns = np.array(sorted(data.draw(st.sets(st.integers(0, x.shape[1] - 1), min_size=1))))
    for rows in both(table):
        assert rows.shape == x.shape and rows.of_rows(0, len(x)) is rows
        for part, expected, first in (
            (rows, x, FIRST),
            (rows.of_rows(start, stop), x[start:stop], FIRST + start),
            (rows.of_rows(start, stop).of_columns(columns), x[start:stop, columns], FIRST + start),
            (rows.picked(np.array(numbers, int)), x[numbers], FIRST),
            (rows.mapped(np.square, None), x**2, FIRST),
            (rows.mapped(np.negative, columns), np.where(np.isin(np.arange(x.shape[1]), columns), -x, x), FIRST),
            (rows.with_values(np.sign(rows.stored)), np.sign(x), FIRST),
        ):
            assert type(part) is type(rows) and part.first_row == first and part.shape == expected.shape
            assert np.array_equal(dense(part), expected)
            assert not any(array.flags.writeable for array in parts_of(part))


@given(tables())
def test_stored_values_are_located(table):
    x, (whole, sparse) = table[0], both(table)
    for rows in (whole, sparse):
        ends = rows.row_ends - rows.row_ends[0]
        assert len(ends) == len(x) + 1 and ends[-1] == len(rows.stored)
        columns = rows.columns_at(np.arange(len(rows.stored)))
        for position, value in enumerate(rows.stored):
            row, column = rows.locate(position)
            assert x[row - FIRST, column] == value and column == columns[position]
            assert ends[row - FIRST] <= position < ends[row - FIRST + 1]
    assert whole.used_columns().tolist() == [*range(x.shape[1])]
    assert sparse.used_columns().tolist() == np.flatnonzero((table[1] | (x != 0)).any(axis=0)).tolist()


@given(tables(), st.data())
def test_the_first_value_that_is_not_stored(table, data):
    x, kept, _ = table
    mine = data.draw(arrays(bool, x.shape[1]))
    whole, sparse = both(table)
    absent = np.argwhere((x == 0) & ~kept & mine)
    assert whole.first_absent(mine) is None
    assert sparse.first_absent(mine) == ((FIRST + absent[0, 0], absent[0, 1]) if len(absent) else None)


def entries(data, n_rows):
    rows = np.array(data.draw(st.lists(st.integers(0, n_rows - 1), max_size=8)), np.int64)
    pairs = data.draw(st.lists(st.tuples(st.integers(0, 2), st.sampled_from([0.25, 1.0, 2.0])), min_size=8))
    codes, weight = zip(*pairs)
    return Entries(rows, np.array(codes[: len(rows)], np.int64), np.array(weight[: len(rows)]))


@pytest.mark.parametrize("paired", [False, True])
@given(tables(), st.data(), st.sampled_from([-0.5, 0.0, 1.0]))
def test_moments_of_groups(paired, table, data, threshold):
    x, entered = table[0], entries(data, len(table[0]))
    for moment, function in (IN_PAIRS if paired else MOMENTS).items():
        expected = np.zeros((3, x.shape[1]))
        np.add.at(expected, entered.codes, entered.weight[:, None] * function(x, threshold)[entered.rows])
        for rows in both(table):
            hi, lo = np.zeros(expected.shape), np.zeros((3, *expected.shape))
            rows.add_moment(entered, moment, threshold, hi, lo if paired else None)
            np.testing.assert_allclose(hi + lo[0], expected, rtol=1e-14, atol=1e-14)


def test_ones_are_counted_without_being_read():
    indices, indptr = frozen(np.array([0, 2, 2], np.int32)), frozen(np.array([0, 2, 3]))
    ones = CSRChunk(np.broadcast_to(np.uint8(1), 3), indices, indptr, 3, 0, ones=True)
    hi = np.zeros((2, 3))
    entered = Entries(np.arange(2), np.array([1, 1]), np.ones(2))
    ones.add_moment(entered, class_sums.NONZERO, 0.0, hi, None)
    assert hi.tolist() == [[0, 0, 0], [1, 0, 2]]
    doubled = ones.mapped(lambda data: data * 2.0, None)
    doubled.add_moment(entered, class_sums.SUM, 0.0, hi, None)
    assert hi.tolist() == [[0, 0, 0], [3, 0, 6]] and not doubled.ones


@pytest.mark.parametrize("width", [1, 4, LANES + 3])
@settings(max_examples=10)
@given(tables())
def test_scores_are_added(width, table):
    x = table[0]
    weights = np.asfortranarray(np.random.default_rng(0).integers(-4, 5, (x.shape[1], width)) / 4)
    for rows in both(table):
        out = np.ones((len(x), width))
        rows.add_scores(weights, out)
        assert (out == 1 + x @ weights).all()


@given(tables(), st.data(), st.sampled_from([1, 7, 1 << 18]))
def test_rows_without_their_zeros(table, data, at_once):
    x, numbers = table[0], data.draw(st.lists(st.integers(0, len(table[0]) - 1), min_size=1))
    with pytest.MonkeyPatch.context() as few:
        few.setattr(row_blocks, "COMPRESSED", at_once)
        for rows in both(table):
            found = np.zeros((len(numbers), x.shape[1]))
            for where, part in rows.sparse(np.array(numbers)):
                for i, row in zip(range(len(numbers))[where], part.rows, strict=True):
                    stored = slice(*part.indptr[[row, row + 1]] - part.indptr[0])
                    found[i, part.indices[stored]] += part.data[stored]
                    assert isinstance(rows, CSRChunk) or (part.data[stored] != 0).all()
            assert (found == x[numbers]).all()


def test_a_frozen_view_leaves_the_array_as_it_was():
    array = np.zeros(3)
    view = frozen(array)
    array[0] = 1
    with pytest.raises(ValueError, match="read-only"):
        view[0] = 2
    assert view[0] == 1


@pytest.mark.parametrize("width", [LANES, 2 * LANES, 3 * LANES + 1, 5 * LANES - 1])
def test_scores_are_the_same_bits_whether_weights_are_cut_into_tiles(width, monkeypatch):
    rng = np.random.default_rng(width)
    x = sp.random_array((60, 30), density=0.3, format="csr", rng=rng)
    rows = CSRChunk(*map(frozen, (x.data, x.indices, x.indptr.astype(np.int64))), 30, 0)
    weights, found = rng.normal(size=(30, width)), []
    for in_cache in (1 << 30, 30 * 8 * LANES, 30 * 8 * 2 * LANES):
        monkeypatch.setattr(row_blocks, "IN_CACHE", in_cache)
        found.append(np.ones((60, width)))
        rows.add_scores(weights, found[-1])
    assert (found[0] == found[1]).all() and (found[0] == found[2]).all()
    np.testing.assert_allclose(found[0], 1.0 + x @ weights)
