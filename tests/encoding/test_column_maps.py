"""Maps that a family tries, learned in one pass."""

import numpy as np
import pytest

import streamnb as snb
from streamnb.encoding.by_fold import StepsOfFolds
from streamnb.encoding.column_maps import check_applied, check_maps, learned_maps, loaded_maps
from streamnb.passes.options import RunOptions
from streamnb.rows.opening import opened

X = np.array([[0.0, -1.0], [3.0, 2.0], [1.0, 0.0]])


def test_columns_are_learned_once_and_only_where_there_is_something_to_learn():
    found = learned_maps(["none", "log1p", "quantile_normal"], opened(X, labelled=False), RunOptions(), "a test", None)
    assert list(found) == ["none", "log1p", "quantile_normal"] and found["none"].whole is None
    np.testing.assert_array_equal(found["log1p"].whole.taken, [True, False])
    np.testing.assert_array_equal(found["quantile_normal"].whole.quantiles[:, [0, -1]], [[0, 3], [-1, 2]])
    once = opened(iter([X]), labelled=False)
    assert learned_maps(["none"], once, RunOptions(), "a test", None) == {"none": StepsOfFolds()}
    with pytest.raises(ValueError, match="a test with maps= reads the rows twice"):
        learned_maps(["log1p"], once, RunOptions(), "a test", None)


def test_what_does_not_go_together_is_named():
    maps = learned_maps(["log1p"], opened(X, labelled=False), RunOptions(), "a test", None)
    with pytest.raises(ValueError, match="normalize='l1' does not go with maps"):
        check_maps(["log1p"], None, "l1")
    with pytest.raises(ValueError, match="maps='none' is applied in the scan, which had 'log1p'"):
        check_applied([], maps["log1p"].whole)
    stats = snb.scan(X, [0, 1, 1])
    with pytest.raises(ValueError, match="statistics with maps='log1p' should be of the rows"):
        loaded_maps({"log1p": stats}, stats)
