"""One look at the values of a block, at the sizes of every day; small tiles are in tests/kernels/test_looks.py."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from streamnb.rows import survey
from streamnb.rows.survey import look_at


@given(st.sampled_from([np.int8, np.uint8, np.int16, np.uint16]).flatmap(lambda d: arrays(d, st.integers(0, 9))))
def test_whole_numbers(values):
    seen, wide = look_at(values, 1), values.astype(int)
    assert seen.whole and seen.negatives == (wide < 0).sum() and seen.tops is None
    assert (seen.low, seen.top) == (min(wide.min(initial=0), 0), np.abs(wide).max(initial=0))


@pytest.mark.parametrize(("width", "tile"), [(2, 4096), (50, (1 << 17) // 50), (1 << 14, 16)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_tops_of_tiles(width, tile, dtype):
    x = np.random.default_rng(0).normal(size=(tile + 3, width)).astype(dtype)
    seen = look_at(x.reshape(-1), width)
    assert seen.tile == tile and seen.tops.dtype == dtype
    assert np.array_equal(seen.tops, [np.abs(part).max(axis=0) for part in (x[:tile], x[tile:])])
    assert (seen.whole, seen.negatives, seen.top, seen.low) == (False, (x < 0).sum(), seen.tops.max(), -seen.top)


def test_values_that_lie_flat_have_no_tiles():
    for n in (0, 1, survey.TILE, survey.TILE + 1):
        values = np.arange(n, dtype=np.float64)
        seen = look_at(values, 1)
        assert (seen.tops, seen.tile) == (None, 0) and seen.whole
        assert (seen.negatives, seen.low, seen.top) == (0, 0.0, max(n - 1, 0))


@pytest.mark.parametrize("wrong", [np.nan, -np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("place", [0, 7, -1])
@pytest.mark.parametrize("width", [1, 4])
def test_what_is_not_finite_is_seen_wherever_it_is(wrong, place, width):
    values = np.ones(5000, np.float32)
    values[place] = wrong
    assert not look_at(values, width).top < np.inf
