"""Values that somebody does not take are found in dense and sparse rows, the absent ones too, and named."""

import re

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from streamnb.rows.boundary import as_chunk
from streamnb.rows.domain import Domain

VALUES = st.sampled_from([0.0, 0.0, 1.0, 2.0, 0.5, -1.0])
ENDS = st.sampled_from([-np.inf, -1.0, 0.0, np.nextafter(0.0, 1.0), 0.5, 1.0, np.inf])
SHAPES = array_shapes(min_dims=2, max_dims=2, max_side=4)


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@given(arrays(np.float64, SHAPES, elements=VALUES), ENDS, ENDS.filter(lambda end: end >= 0), st.data())
def test_a_value_is_refused_where_there_is_one_outside(storage, dtype, x, lowest, highest, data):
    columns = data.draw(st.none() | st.builds(slice, st.integers(0, 3)) | st.just([0]))
    domain = Domain("Own", lowest, highest, columns, "y")
    mine = np.zeros(x.shape, bool)
    mine[:, slice(None) if columns is None else columns] = True
    outside = mine & ((x < lowest) | (x > highest))
    rows = as_chunk(storage(x.astype(dtype)), 10)
    if not outside.any():
        domain.check(*rows)
        return
    with pytest.raises(ValueError, match=r"Own") as error:
        domain.check(*rows)
    row, column = map(int, re.search(r"row (\d+), column (\d+)", str(error.value)).groups())
    assert outside[row - 10, column]
    stored = outside & (storage is np.asarray or x != 0)  # of these the first, then of those absent
    assert [row - 10, column] == np.argwhere(stored if stored.any() else outside)[0].tolist()


@pytest.mark.parametrize(
    ("domain", "value", "words"),
    [
        (Domain("Own", 0.0), -2.0, r"Negative values in data passed to Own: row 0, column 1 is -2\.0"),
        (Domain("Own", 1.0, what="y"), 0.5, r"^y has 0\.5 at row 0, column 1; Own takes values of at least 1$"),
        (Domain("Own", np.nextafter(1.0, 2.0)), 1.0, r"^X has 1\.0 at .* takes values above 1$"),
        (Domain("Own", -1.0), -2.0, r"Negative values in data passed to Own"),
        (Domain("Own", highest=3.0), 4.0, r"^X has 4\.0 at row 0, column 1; Own takes values of at most 3$"),
        (Domain("Own", highest=np.nextafter(3.0, 2.0)), 3.0, r"takes values below 3$"),
        (Domain("Own", highest=-3.0), 4.0, r"takes values of at most -3$"),
    ],
)
def test_each_end_has_its_words(domain, value, words):
    inside = 2.0 if domain.highest > 0 else -5.0
    with pytest.raises(ValueError, match=words):
        domain.check(*as_chunk(np.array([[inside, value]])))


def test_an_end_that_single_precision_cannot_tell_from_zero():
    above_zero = Domain("Own", np.nextafter(0.0, 1.0))
    above_zero.check(*as_chunk(np.ones((2, 2), np.float32)))
    with pytest.raises(ValueError, match=r"^X has 0\.0 at row 0, column 0; Own takes values above 0$"):
        above_zero.check(*as_chunk(np.zeros((2, 2), np.float32)))
