"""One column's values times vectors: by hand, and nothing beside them is touched."""

import numpy as np

from streamnb.kernels.column_lanes import add_down, sum_down
from streamnb.kernels.compiler import kernel


@kernel
def scored(values, rows, first, stop, table, out):
    add_down(out, 1, values, rows, first, stop, table, 2, 8)


@kernel
def summed(values, rows, first, stop, table, grid, out):
    sum_down(out, 2, 0, values, rows, first, stop, table, grid, 4)


def test_scores_of_the_rows_of_one_column():
    values, rows = np.array([9.0, 2.0, -1.0, 9.0]), np.array([0, 3, 1, 0], np.uint16)
    table, out = np.arange(40.0).reshape(4, 10), np.zeros((4, 10))
    scored(values, rows, 1, 3, table, out)
    expected = np.zeros((4, 10))
    expected[3, 1:9], expected[1, 1:9] = 2.0 * table[2, 1:9], -table[2, 1:9]
    np.testing.assert_array_equal(out, expected)


def test_products_of_one_column_on_their_grid():
    values, rows = np.array([9.0, 2.0, -1.0, 9.0]), np.array([0, 3, 1, 0], np.uint16)
    table, out = np.arange(20.0).reshape(4, 5) / 7.0, np.ones((4, 5))
    summed(values, rows, 1, 3, table, 3.0 * 2.0**40, out)
    product = np.array([2.0 * table[3, :4], -table[1, :4]])
    expected = np.ones((4, 5))
    expected[2, :4] += (np.round(product * 2.0**11) / 2.0**11).sum(axis=0)
    np.testing.assert_array_equal(out, expected)
    assert (expected[2, :4] != 1.0 + product.sum(axis=0)).any()
