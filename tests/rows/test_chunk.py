"""Dense and CSR forms of the same rows: each verb says the same of both, and what NumPy says."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from streamnb.kernels.lanes import LANES
from streamnb.rows import row_blocks
from streamnb.rows.boundary import csr_chunk
from streamnb.rows.row_blocks import CSRChunk, DenseChunk, frozen

FIRST = 5  # the number of the first row


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


def test_rows_of_ones_are_read_only_so_that_kernels_are_compiled_once():
    rows = csr_chunk(None, np.array([0]), np.array([0, 1]), 1)[0]
    assert not any(array.flags.writeable for array in parts_of(rows))


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
