"""Arithmetic of pairs against exact fractions."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamnb.estimators.target_sums import Doubled, about_means, exactly, solved

NUMBERS = st.floats(-1e6, 1e6).filter(lambda x: abs(x) > 1e-6)


def value(pair):
    return Fraction(float(pair.hi)) + Fraction(float(pair.lo))


@given(NUMBERS, NUMBERS, NUMBERS)
def test_results_have_thirty_digits(a, b, c):
    x, y = exactly(a).times(exactly(b)), exactly(c)
    wanted = Fraction(a) * Fraction(b)
    assert value(x) == wanted
    for found, exact in (
        (x.plus(y), wanted + Fraction(c)),
        (x.over(y), wanted / Fraction(c)),
        (x.times(x), wanted * wanted),
    ):
        largest = max(abs(exact), abs(wanted), abs(Fraction(c)))
        assert abs(value(found) - exact) <= largest * Fraction(2) ** -100


def hilbert(n):
    """Whole numbers, as 1 / (i + j + 1) would be rounded."""
    at = np.arange(n)
    return np.round(2.0**50 / (at[:, None] + at + 1.0)) / 2.0**50


def by_fractions(matrix, right):
    rows = [[Fraction(v) for v in (*row, r)] for row, r in zip(matrix.tolist(), right.tolist())]
    for j in range(len(rows)):
        rows[j] = [v / rows[j][j] for v in rows[j]]
        for i in range(len(rows)):
            if i != j:
                rows[i] = [a - rows[i][j] * b for a, b in zip(rows[i], rows[j])]
    return [float(row[-1]) for row in rows]


def test_a_hilbert_matrix_is_solved():
    matrix, right = hilbert(11), np.arange(1.0, 12.0)
    scale = 1.0 / np.exp2(np.round(0.5 * np.log2(np.diagonal(matrix))))
    found, dependent = solved(exactly(matrix * np.outer(scale, scale)), exactly((right * scale)[:, None]))
    assert dependent is None
    assert found[:, 0] * scale == pytest.approx(by_fractions(matrix, right), rel=1e-14)
    rough = np.linalg.solve(matrix, right)
    assert np.abs(rough / (found[:, 0] * scale) - 1.0).max() > 1e-4  # float64 cannot


def test_the_first_dependent_row_is_named():
    matrix = np.array([[1.0, 0.5, 0.5], [0.5, 1.0, 1.0], [0.5, 1.0, 1.0]])
    assert solved(exactly(matrix), exactly(np.ones((3, 1))))[1] == 2


def test_large_means_do_not_cancel():
    x = 1e9 + np.arange(5.0)
    sums = exactly([x.sum()])
    exact = sum(Fraction(v) ** 2 for v in x)
    squares = Doubled(np.array([[float(exact)]]), np.array([[float(exact - Fraction(float(exact)))]]))
    assert about_means(squares, sums, exactly([5.0])).hi.tolist() == [[10.0]]
