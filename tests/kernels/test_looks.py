"""What one look at a block tells is what NumPy tells in several."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from streamnb.kernels import rows


@settings(max_examples=100)
@given(st.sampled_from([np.float32, np.float64]).flatmap(lambda dtype: arrays(dtype, st.integers(0, 40))))
def test_survey(values):
    finite, whole, negatives, low, top = rows.survey(values)
    assert finite == np.isfinite(values).all()
    if finite:
        assert whole == (values == np.floor(values)).all()
        assert (negatives, low) == ((values < 0).sum(), min(values.min(initial=0.0), 0.0))
        assert top == np.abs(values).max(initial=0.0)


@pytest.mark.parametrize("index", [np.int32, np.int64])
@settings(max_examples=100)
@given(st.lists(st.lists(st.integers(-1, 6), max_size=4), min_size=1, max_size=8), st.integers(0, 3))
def test_indices(index, of_rows, start):
    indptr = start + np.concatenate([[0], np.cumsum([len(row) for row in of_rows])]).astype(index)
    indices = np.array([j for row in of_rows for j in row], index)
    outside = [i for i, row in enumerate(of_rows) if any(not 0 <= j < 6 for j in row)]
    canonical = not outside and all(sorted(set(row)) == row for row in of_rows)
    assert rows.check_indices(indices, indptr, 6) == (outside[0] if outside else -1, canonical)
