"""What is done to rows before they are summed or scored: dense and sparse alike, as NumPy does it."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from streamnb.rows.boundary import as_chunk
from streamnb.rows.preparing import FeatureScale, LogColumns, QuantileNormal, RowOptions, transformed

TWINS = {None: lambda x: x, "binary": lambda x: (x != 0) * 1.0, "log1p": np.log1p, "sqrt": np.sqrt}
LENGTHS = {
    None: lambda x: np.ones(len(x)),
    "l1": lambda x: np.abs(x).sum(axis=1),
    "l2": lambda x: np.sqrt((x**2).sum(axis=1)),
}
SHAPES = array_shapes(min_dims=2, max_dims=2, max_side=5)


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("transform", TWINS)
@given(st.sampled_from([*LENGTHS]), arrays(np.float64, SHAPES, elements=st.integers(-2, 3).map(float)))
def test_rows_are_transformed_and_then_divided_by_their_length(storage, transform, norm, x):
    x = np.abs(x) if transform in ("log1p", "sqrt") else x
    chunk, survey = transformed(*as_chunk(storage(x), 7), RowOptions(transform, norm))
    found = chunk.to_matrix()
    found = found.toarray() if sp.issparse(found) else found
    expected = TWINS[transform](x)
    length = LENGTHS[norm](expected)[:, None]
    expected = expected / np.where(length == 0, 1, length)  # a row of zeros stays as it is
    np.testing.assert_allclose(found, expected, rtol=1e-14)
    assert chunk.first_row == 7 and not chunk.stored.flags.writeable
    assert survey.whole == (found == np.floor(found)).all() and survey.negatives == (x < 0).sum() * (transform is None)
    assert survey.top == np.abs(found).max() and survey.low <= found.min()


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
@pytest.mark.parametrize(("transform", "value"), [("sqrt", -0.25), ("log1p", -1.0), ("log1p", -2.0)])
def test_values_that_a_transform_does_not_take(storage, transform, value):
    rows = as_chunk(storage(np.array([[0.0, 1.0], [0.0, value]])), 7)
    with pytest.raises(
        ValueError, match=rf"transform='{transform}'.* row 8, column 1|row 8, column 1; transform='{transform}'"
    ):
        transformed(*rows, RowOptions(transform))
    assert transformed(*rows, RowOptions("binary"))[0].stored[-1] == 1.0


def test_log1p_takes_what_has_a_logarithm():
    x = np.array([[np.nextafter(-1.0, 0.0), -0.5]])
    assert (transformed(*as_chunk(x), RowOptions("log1p"))[0].values == np.log1p(x)).all()


def test_options_are_checked_and_told():
    assert RowOptions() == RowOptions(None, None, 0.0, 0.0)
    assert RowOptions("sqrt", "l2", 1, np.float32(2)) == RowOptions("sqrt", "l2", 1.0, 2.0)
    for options, words in (({}, "X"), ({"normalize": "l1"}, "X after normalize='l1'")):
        assert RowOptions(**options).seen == words
    assert RowOptions("sqrt", "l2").seen == "X after transform='sqrt' and normalize='l2'"
    for options, error in (
        ({"transform": "log"}, ValueError),
        ({"normalize": 2}, ValueError),
        ({"binarize": np.nan}, ValueError),
        ({"centre": "mean"}, TypeError),
    ):
        with pytest.raises(error, match=rf"^{next(iter(options))}="):
            RowOptions(**options)


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
def test_features_are_scaled_between_transform_and_length(storage):
    x = np.array([[0.0, 3.0, 1.0], [8.0, 0.0, 0.0]])
    options = RowOptions("log1p", "l2", scale=FeatureScale(np.array([1.0, 0.5, 2.0])))
    found = transformed(*as_chunk(storage(x)), options)[0].to_matrix()
    expected = np.log1p(x) * [1.0, 0.5, 2.0]
    expected /= np.sqrt((expected**2).sum(axis=1, keepdims=True))
    np.testing.assert_allclose(found.toarray() if sp.issparse(found) else found, expected, rtol=1e-14)
    same, other = (replace(options, scale=FeatureScale(np.array([1.0, 0.5, last]))) for last in (2.0, 3.0))
    assert (
        options == same == RowOptions._from_state(same._to_state()) and hash(options) == hash(same) and options != other
    )
    assert repr(options) == repr(same) != repr(other) and "scale=<FeatureScale: 3 features, " in same.seen
    assert len(RowOptions("log1p")._to_state()) == 4  # as it was written before
    with pytest.raises(ValueError, match="X has 2 features, but the idf of these rows is expecting 3"):
        transformed(*as_chunk(storage(x[:, :2])), options)


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
def test_steps_follow_each_other(storage):
    x = np.array([[3.0, 0.0, 1.0], [0.0, 0.0, 0.0], [5.0, 5.0, 10.0]])
    options = RowOptions(["l1:10000", "log1p"], "l2")
    chunk, survey = transformed(*as_chunk(storage(x)), options)
    found = chunk.to_matrix()
    expected = np.log1p(1e4 * x / np.array([[4.0], [1.0], [20.0]]))
    expected /= np.array([np.linalg.norm(expected[0]), 1.0, np.linalg.norm(expected[2])])[:, None]
    np.testing.assert_allclose(found.toarray() if sp.issparse(found) else found, expected, rtol=1e-14)
    assert options.transform == ("l1:10000", "log1p") and options.by_length and not survey.whole
    assert RowOptions._from_state(options._to_state()) == options and not RowOptions(("binary", "sqrt")).by_length
    for wrong in (["l3"], ["l1:x"], ["l1:-2"], [None], ["l1:inf"], ["log1p", "quantile_normal"]):
        with pytest.raises(ValueError, match=r"transform has the step .* 'l1:10000'"):
            RowOptions(wrong)
    with pytest.raises(ValueError, match="transform='sqrt'"):
        transformed(*as_chunk(storage(-x)), RowOptions(("l1:2", "sqrt")))


X = np.array([[0.0, -1.0], [3.0, 2.0], [1.0, 0.0]])
LOGS = LogColumns(np.array([True, False]))
RANKS = QuantileNormal(np.array([[0.0, 1.0, 3.0], [-1.0, 0.0, 2.0]]))


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_a_column_that_has_no_logarithm_stays_as_it_is(make):
    mapped, survey = transformed(*as_chunk(make(X)), RowOptions(learned=LOGS))
    rows = mapped.to_matrix()
    np.testing.assert_array_equal(
        rows.toarray() if sp.issparse(rows) else rows, [[0, -1], [np.log1p(3), 2], [np.log1p(1), 0]]
    )
    assert survey.top == 2.0
    with pytest.raises(ValueError, match="maps='log1p': row 0, column 0 is -2"):
        transformed(*as_chunk(make(X - [2.0, 0.0])), RowOptions(learned=LOGS))
    with pytest.raises(ValueError, match="features"):
        transformed(*as_chunk(make(X[:, :1])), RowOptions(learned=LOGS))


def test_ranks_of_sparse_rows_are_those_of_dense_ones():
    dense, sparse = (
        transformed(*as_chunk(make(X)), RowOptions(learned=RANKS))[0] for make in (np.asarray, sp.csr_array)
    )
    np.testing.assert_array_equal(dense.values, sparse.values)
    assert (dense.values[2] == 0.0).all()  # the median


def test_maps_are_saved():
    for one in (None, LOGS, RANKS):
        options = RowOptions(learned=one)
        assert RowOptions._from_state(options._to_state()) == options
    assert RowOptions()._to_state() == [None, None, 0.0, 0.0]  # as in older files
    with pytest.raises(ValueError, match="should be what was learned"):
        RowOptions._from_state([None, None, 0.0, 0.0, None, "log1p"])
