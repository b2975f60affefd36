"""How many numbers of a list lie below another one, counted one by one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamnb.kernels import table_sums

LISTS = {
    "one": [2.0],
    "nothing but zeros": [0.0, 0.0],
    "zeros first": [0.0, 0.0, 0.5, 4.0],
    "all equal": [3.0] * 9,
    "neighbours": [1.0 + i * 2.0**-52 for i in range(40)],  # all in one entry of the table
    "far apart": [0.0, 5e-324, 1e-300, 1e-10, 1.0, 1e300],
    "a grid": np.geomspace(1e-4, 1e3, 300).tolist(),
}


@pytest.mark.parametrize("numbers", LISTS.values(), ids=LISTS)
def test_each_number_and_its_neighbours_are_told_apart(numbers):
    ascending = np.array(numbers)
    index = table_sums.index_of(ascending)
    asked = [*numbers, *np.nextafter(ascending, np.inf), *np.nextafter(ascending, -np.inf), -1.0, np.inf, -np.inf]
    for number in asked:
        assert table_sums.n_below(number, ascending, index) == sum(step < number for step in numbers)


few = st.integers(0, 40).map(float)  # equal ones among them
any_size = st.floats(0.0, 1e300) | st.sampled_from([0.0, 1.0, 1.0 + 2**-52, 2.0**600])
others = few | st.floats(allow_nan=False) | st.sampled_from([-0.0, -1e308, 1e-320, np.inf])


@given(st.lists(few, min_size=1, max_size=30) | st.lists(any_size, min_size=1, max_size=20), others)
def test_numbers_below_are_counted_and_equal_ones_are_not_below(numbers, other):
    ascending = np.array(sorted(numbers))
    index = table_sums.index_of(ascending)
    assert index[2] <= table_sums.ENTRIES + 1
    for number in (other, *numbers):
        assert table_sums.n_below(number, ascending, index) == sum(step < number for step in numbers)
