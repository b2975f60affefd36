"""Rows of a site: those of declared labels, one after the other; and what stands for rows elsewhere."""

import numpy as np
import pytest
import scipy.sparse as sp

from streamnb.rows.opening import opened
from streamnb.rows.splits import Folding
from streamnb.sharing.learned_columns import SiteRows, no_rows

X = np.arange(12.0).reshape(6, 2)
Y = np.array([1, 9, 2, 1, 9, 2])


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_rows_of_declared_labels_follow_each_other(kind):
    rows = SiteRows(opened(kind(X), Y, np.arange(6.0)), np.array([1, 2]), Folding(3, by="given"), 2)
    (block,) = rows.blocks()
    values = sp.csr_array(block.X[:3], shape=(4, 2)).toarray() if isinstance(block.X, tuple) else block.X
    np.testing.assert_array_equal(values, X[[0, 2, 3, 5]])
    assert block.y.tolist() == [1, 2, 1, 2] and block.weight.tolist() == [0.0, 2.0, 3.0, 5.0]
    assert block.split.tolist() == [2, 2, 2, 2] and block.first_row == 0
    with pytest.warns(UserWarning, match="2 rows have labels outside"):
        assert rows.warn_of_outside() == (2, {})
    assert rows.n_rows is None


def test_rows_that_are_elsewhere_have_columns_alone():
    rows = no_rows(3, ["a", "b", "c"], None)
    assert rows.n_features == 3 and rows.feature_names.tolist() == ["a", "b", "c"]
    with pytest.raises(ValueError, match="at the sites"):
        next(rows.blocks())
