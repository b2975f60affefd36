"""A block knows how many rows it has, whatever holds them."""

from dataclasses import FrozenInstanceError

import numpy as np
import pytest
import scipy.sparse as sp

from streamnb.rows.row_blocks import Block, Forms

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


def test_forms_are_made_once_where_there_is_memory():
    room, made = [10], []

    def takes(n_bytes):
        room[0] -= n_bytes
        return room[0] >= 0

    def make():
        made.append((np.zeros(1), made))
        return made[-1][:1]

    forms = Forms(X, takes)
    assert forms.get("first", make) is forms.get("first", make) and forms.nbytes == 8
    assert forms.get("second", make) is not forms.get("second", make) and len(made) == 3 and forms.nbytes == 8
    assert forms.are_of(X) and not forms.are_of(X.copy())
