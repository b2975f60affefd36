"""In the bounds-checked run a bad index raises: the canary that the flag reached the kernels."""

import os

import numpy as np
import pytest

from streamnb.kernels import class_sums

checked = os.environ.get("NUMBA_BOUNDSCHECK") == "1" or os.environ.get("NUMBA_DISABLE_JIT") == "1"


@pytest.mark.skipif(not checked, reason="compiled without bounds checking a bad index corrupts memory")
@pytest.mark.parametrize(("code", "column"), [(0, 5), (9, 0)])
def test_a_bad_index_raises(code, column):
    arrays = np.ones(1), np.array([column]), np.array([0, 1]), np.zeros(1, int), np.array([code]), np.ones(1)
    with pytest.raises(IndexError):
        class_sums.add_csr(*arrays, class_sums.SUM, 0.0, np.zeros((2, 3)))
