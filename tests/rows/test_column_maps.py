"""Maps of columns: what they make of rows, and that they are values."""

import numpy as np
import pytest
import scipy.sparse as sp

from streamnb.rows.boundary import as_chunk
from streamnb.rows.column_maps import LogColumns, QuantileNormal, map_name
from streamnb.rows.preparing import RowOptions, transformed

X = np.array([[0.0, -1.0], [3.0, 2.0], [1.0, 0.0]])
LOGS = LogColumns(np.array([True, False]))
RANKS = QuantileNormal(np.array([[0.0, 1.0, 3.0], [-1.0, 0.0, 2.0]]))


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_a_column_that_has_no_logarithm_stays_as_it_is(make):
    mapped, survey = transformed(*as_chunk(make(X)), RowOptions(columns=LOGS))
    rows = mapped.to_matrix()
    np.testing.assert_array_equal(
        rows.toarray() if sp.issparse(rows) else rows, [[0, -1], [np.log1p(3), 2], [np.log1p(1), 0]]
    )
    assert survey.top == 2.0
    with pytest.raises(ValueError, match="maps='log1p': row 0, column 0 is -2"):
        transformed(*as_chunk(make(X - [2.0, 0.0])), RowOptions(columns=LOGS))
    with pytest.raises(ValueError, match="features"):
        transformed(*as_chunk(make(X[:, :1])), RowOptions(columns=LOGS))


def test_ranks_of_sparse_rows_are_those_of_dense_ones():
    dense, sparse = (
        transformed(*as_chunk(make(X)), RowOptions(columns=RANKS))[0] for make in (np.asarray, sp.csr_array)
    )
    np.testing.assert_array_equal(dense.values, sparse.values)
    assert (dense.values[2] == 0.0).all()  # the median


def test_maps_are_values_that_are_saved_and_stand_alone():
    same = LogColumns(np.array([True, False]))
    assert same == LOGS and hash(same) == hash(LOGS) and LogColumns(np.array([True, True])) != LOGS != RANKS
    assert [map_name(one) for one in (None, LOGS, RANKS)] == ["none", "log1p", "quantile_normal"]
    for one in (None, LOGS, RANKS):
        options = RowOptions(columns=one)
        assert RowOptions.of_state(options._to_state()) == options
        assert one is None or type(one)._from_state(one._to_state()) == one
    assert RowOptions()._to_state() == [None, None, 0.0, 0.0]  # as in older files
    with pytest.raises(ValueError, match="should stand alone"):
        RowOptions("log1p", columns=LOGS)
    with pytest.raises(ValueError, match="should be a map"):
        RowOptions.of_state([None, None, 0.0, 0.0, None, "log1p"])
