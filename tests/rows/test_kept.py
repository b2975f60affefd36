"""Rows that are kept: the same rows as are made anew, made once where they fit, and those that a model takes."""

import numpy as np
import pytest
import scipy.sparse as sp

import streamnb as snb
from streamnb.encoding.opening import opened
from streamnb.rows.boundary import checked
from streamnb.rows.kept import KeptSource, NarrowSource, kept
from streamnb.rows.preparing import FeatureScale, RowOptions

rng = np.random.default_rng(7)
TEXTS = [" ".join(rng.choice(["ash", "birch", "cedar", "larch", "pine"], 6)) for _ in range(40)]


def texts():
    return snb.text(TEXTS, y=np.arange(40) % 3, n_features=64)


def matrix(rows, *asked):
    blocks = [sp.csr_array(checked(block)[0].to_matrix()) for block in rows.blocks(*asked)]
    return sp.vstack(blocks).toarray()


def test_rows_are_made_once_where_they_fit_and_are_the_same():
    made, source = matrix(texts()), texts()
    for room, once in ((1 << 20, True), (100, False)):
        rows = kept(source, room)
        assert isinstance(rows, KeptSource) and (rows.n_rows, rows.n_features) == (40, 64)
        for n_read in range(3):
            before = source.making.seconds
            np.testing.assert_array_equal(matrix(rows), made)
            assert (source.making.seconds == before) == (once and n_read > 0)
        np.testing.assert_array_equal(matrix(rows, 7, 19), made[7:19])
    assert kept(opened(np.ones((3, 2)), None, labelled=False), 1000).in_memory  # which need not be kept


def test_folds_that_come_later_and_parts_sent_elsewhere_are_not_those_kept():
    rows = kept(texts(), 1 << 20)
    list(rows.blocks())
    folds = np.arange(40) % 4
    split = rows.with_split("folds", folds)
    np.testing.assert_array_equal(np.concatenate([block.split for block in split.blocks()]), folds)
    assert next(rows.blocks()).split is None
    np.testing.assert_array_equal(matrix(rows.cut(10, 20), 10, 20), matrix(texts())[10:20])


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
    found = matrix(rows)
    assert rows.n_features == len(columns) == found.shape[1]
    np.testing.assert_allclose(found, expected[:, columns], rtol=1e-15)


def test_zeros_that_are_stored_and_other_columns_in_a_later_read():
    X = sp.csr_array((np.array([1.0, 0.0, 2.0]), np.array([0, 1, 2]), np.array([0, 2, 3])), shape=(2, 3))
    rows = NarrowSource(opened(X, None, labelled=False), RowOptions(), np.array([0, 2]), 3)
    np.testing.assert_array_equal(matrix(rows), [[1.0, 0.0], [0.0, 2.0]])
    wider = NarrowSource(opened(sp.csr_array(np.ones((2, 4))), None, labelled=False), RowOptions(), np.array([0, 2]), 3)
    with pytest.raises(ValueError, match="X has 4 features"):
        list(wider.blocks())
