"""What is learned for transform= before the scan, of rows of any kind."""

import dask.array as da
import numpy as np
import pytest

import streamnb as snb
from streamnb.encoding.learning import check_learned, learned, of_values, prepared, to_learn
from streamnb.passes.options import RunOptions
from streamnb.rows.opening import opened

X = np.random.default_rng(0).normal(size=(40, 2))
Y = np.arange(40) % 2


def test_what_is_learned_is_applied_to_rows_of_any_kind():
    bins = snb.Bins(3)
    assert to_learn(bins) is bins and to_learn("sqrt") is None and of_values("sqrt") == "sqrt"
    assert of_values(bins) is None and of_values("quantile_normal") is None
    step = learned(bins, opened(X, labelled=False), RunOptions(), "fit")
    expected = bins.fit(X).transform(X).toarray()
    assert learned("sqrt", opened(X, labelled=False), RunOptions(), "fit") is None
    for rows in (X, da.from_array(X, chunks=(15, 2))):
        sums = snb.scan(prepared(step, opened(rows, Y), Y)).sum
        np.testing.assert_array_equal(sums, [expected[np.equal(Y, k)].sum(axis=0) for k in (0, 1)])
    assert check_learned(bins, step) is step and check_learned("log1p", None) is None
    with pytest.raises(ValueError, match=r"transform='quantile_normal' should come with .* not BinEdges"):
        check_learned("quantile_normal", step)
    with pytest.raises(ValueError, match=r"transform='quantile' is unknown.*'quantile_normal', .* or snb.Bins"):
        of_values("quantile")
