"""What one look at a block tells is what NumPy tells in several."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from streamnb.kernels import row_values
from streamnb.rows import boundary
from streamnb.rows.row_blocks import frozen

FLOATS = st.sampled_from([np.float32, np.float64])


@settings(max_examples=100)
@given(FLOATS.flatmap(lambda dtype: arrays(dtype, st.tuples(st.integers(0, 40), st.integers(1, 9)))))
def test_survey(values):
    with pytest.MonkeyPatch.context() as few:  # tiles of 11 rows, of which 2 are looked at side by side, or 4 times 2
        few.setattr(boundary, "TILE", 1)
        few.setattr(boundary, "FEWEST", 11)
        few.setattr(boundary, "SIDE_BY_SIDE", 2 * values.shape[1])
        seen = boundary.survey_values(frozen(values.reshape(-1)), values.shape[1])
    if not np.isfinite(values).all():
        assert not seen.top < np.inf
        return
    assert seen.whole == (values == np.floor(values)).all()
    assert (seen.negatives, seen.top) == ((values < 0).sum(), np.abs(values).max(initial=0.0))
    assert seen.low == (-seen.top if (values < 0).any() else 0.0)
    tiles = [np.abs(values[t : t + 11]).max(axis=0) for t in range(0, len(values), 11)]
    assert values.shape[1] == 1 or np.array_equal(seen.tops, np.array(tiles).reshape(seen.tops.shape))


@pytest.mark.parametrize("index", [np.int32, np.int64])
@settings(max_examples=100)
@given(st.lists(st.lists(st.integers(-1, 6), max_size=4), min_size=1, max_size=8), st.integers(0, 3))
def test_indices(index, of_rows, start):
    indptr = start + np.concatenate([[0], np.cumsum([len(row) for row in of_rows])]).astype(np.int64)
    indices = np.array([j for row in of_rows for j in row], index)
    outside = [i for i, row in enumerate(of_rows) if any(not 0 <= j < 6 for j in row)]
    canonical = not outside and all(sorted(set(row)) == row for row in of_rows)
    assert row_values.check_indices(frozen(indices), frozen(indptr), 6) == (outside[0] if outside else -1, canonical)


@pytest.mark.parametrize(("transform", "of"), [("BINARY", np.sign), ("LOG1P", np.log1p), ("SQRT", np.sqrt)])
def test_transforms(transform, of):
    values, out = np.array([0.0, 1.0, 4.0]), np.empty(3)
    row_values.transform_values(values, getattr(row_values, transform), out)
    np.testing.assert_allclose(out, of(values), rtol=1e-15)


@pytest.mark.parametrize(("norm", "length"), [("NORM_L1", 7.0), ("NORM_L2", 5.0)])
def test_rows_are_divided_by_their_lengths(norm, length):
    values = np.array([3.0, -4.0, 0.0, 0.0])
    row_values.normalize_rows(values, np.array([2, 4, 4, 6]), getattr(row_values, norm))
    np.testing.assert_allclose(values, np.array([3.0, -4.0, 0.0, 0.0]) / length, rtol=1e-15)
