"""Tables of sums: frozen pairs that add and subtract."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamnb.stats.dense_tables import Table, parts_of
from streamnb.stats.sparse_tables import extended

numbers = st.lists(st.floats(-1e6, 1e6).map(lambda x: round(x, 3)), min_size=6, max_size=6)
ROWS = np.arange(2)


def table(values):
    return Table(np.array(values, float).reshape(2, 3))


@given(numbers, numbers)
def test_what_was_added_is_taken_away(a, b):
    both = table(a).plus(table(b))
    assert np.array_equal(both.plus(table(b), -1.0).value(), table(a).value())
    assert np.array_equal(both.value(), table(b).plus(table(a)).value())


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


def test_classes_without_a_counterpart():
    found = table(range(6)).combined(table(range(6)), np.array([0, -1]), np.array([-1, 1]), 1.0)
    assert found.value().tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]


def test_tables_are_frozen():
    with pytest.raises(ValueError, match="read-only"):
        table(range(6)).hi[0, 0] = 1.0


def test_parts_of_a_table():
    whole = table(range(6))
    assert whole.select(slice(1, 3)).value().tolist() == [[1.0, 2.0], [4.0, 5.0]]
    assert whole.take(np.array([1])).value().tolist() == [[3.0, 4.0, 5.0]]
    assert extended(whole, 1).value()[2].tolist() == [0.0] * 3 and whole.totals().tolist() == [3.0, 5.0, 7.0]
