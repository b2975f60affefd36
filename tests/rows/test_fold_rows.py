"""Rows of a fold that weigh nothing, and those of all others."""

import numpy as np
import pytest

from streamnb.rows.fold_rows import FoldRows
from streamnb.rows.opening import opened
from streamnb.rows.splits import Folding, fold_numbers

X, Y, W = np.arange(24.0).reshape(12, 2), np.arange(12) % 2, np.arange(1.0, 13.0)


@pytest.mark.parametrize("inside", [True, False])
@pytest.mark.parametrize("weight", [W, None])
def test_either_side_of_a_fold_keeps_its_weight(inside, weight):
    rows = FoldRows(opened(X, Y, weight), Folding(3), 1, inside)
    blocks = [*rows.blocks(0, 5), *rows.blocks(5)]
    found = np.concatenate([block.weight for block in blocks])
    beside = np.concatenate([columns["sample_weight"] for columns in rows.beside(5)])
    np.testing.assert_array_equal(beside, found)
    own = (fold_numbers(12, 3) == 1) == inside
    np.testing.assert_array_equal(found, np.where(own, W if weight is not None else 1.0, 0.0))


def test_rows_in_dask_are_refused():
    import dask.array as da

    with pytest.raises(ValueError, match="Dask"):
        FoldRows(opened(da.from_array(X), da.from_array(Y)), Folding(3), 0, True)
