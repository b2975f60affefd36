"""Tables of sums: frozen pairs that add and subtract."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from streamnb.stats.dense_tables import Table, parts_of

ROWS = np.arange(2)


def table(values):
    return Table(np.array(values, float).reshape(2, 3))


@given(st.lists(st.sampled_from([0.0, -0.0, 1.0, -3.0, 0.5, 2.0**52, 2.0**53]), min_size=12, max_size=12))
def test_counts_are_added_without_a_kernel_to_its_bits(values):
    a, b = table(values[:6]), table(values[6:])
    in_parts = Table(b.hi.copy(), np.zeros((1, 2, 3)))
    for sign, rows in ((1.0, ROWS), (-1.0, ROWS), (1.0, np.array([-1, 1]))):
        found, expected = a.combined(b, rows, ROWS, sign), a.combined(in_parts, rows, ROWS, sign)
        for one, other in zip(parts_of(found), parts_of(expected), strict=True):
            np.testing.assert_array_equal(one, other)


def test_digits_below_float64_are_kept():
    both = table([1e16] * 6).plus(table([1.0] * 6))
    assert both.lo is not None and both.plus(table([1e16] * 6), -1.0).value().tolist() == [[1.0] * 3] * 2
