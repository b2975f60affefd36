"""A block knows how many rows it has, whatever holds them."""

from dataclasses import FrozenInstanceError

import numpy as np
import pytest
import scipy.sparse as sp

from streamnb.rows.block import Block

X = np.ones((3, 2))
HELD = {
    "matrix": X,
    "sparse": sp.csr_array(X),
    "CSR arrays": (np.ones(3), np.zeros(3, np.int32), np.array([5, 6, 8, 8]), 2),
    "CSR arrays of ones": (None, np.zeros(3, np.int32), np.array([5, 6, 8, 8]), 2),
    "columns": {"y_true": np.zeros(3), "scores": X},
}


@pytest.mark.parametrize("held", HELD.values(), ids=HELD)
def test_rows_are_counted(held):
    block = Block(held, None, None, None, 7, 0)
    assert block.n_rows == 3
    with pytest.raises(FrozenInstanceError):
        block.first_row = 8
