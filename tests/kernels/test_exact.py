"""Sums and products without error against fractions."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamnb.kernels import exact

numbers = st.floats(-1e100, 1e100).map(lambda v: v if abs(v) > 1e-100 else 0.0)
rests = st.floats(-1.0, 1.0)  # of a number, in units of its last digit: half of these is what a pair leaves
pairs = st.tuples(numbers, rests).map(lambda p: (p[0], p[0] * p[1] * 2.0**-54))


def value(pair):
    hi, lo = pair
    return Fraction(float(hi)) + Fraction(float(lo))


@given(numbers, numbers)
def test_what_rounding_takes_is_given_too(a, b):
    for found, expected, rounded in (
        (exact.two_sum(a, b), Fraction(a) + Fraction(b), a + b),
        (exact.two_product(a, b), Fraction(a) * Fraction(b), a * b),
    ):
        assert value(found) == expected and found[0] == rounded


@given(pairs, pairs, st.sampled_from([1.0, -1.0]))
def test_pairs_add_up(a, b, sign):
    hi, lo = exact.add_pairs(*a, *b, sign)
    expected, size = value(a) + Fraction(sign) * value(b), abs(value(a)) + abs(value(b))
    assert hi + lo == hi
    if hi == 0.0:  # no digit of the first is left
        assert abs(expected) <= abs(Fraction(a[0])) * Fraction(2) ** -84
    else:
        assert abs(value((hi, lo)) - expected) <= size * Fraction(2) ** -100


@given(pairs)
def test_a_pair_that_is_taken_away_leaves_nothing(a):
    assert exact.add_pairs(*a, *a, -1.0) == (0.0, 0.0)


@given(pairs, st.floats(1e-6, 1e6))
def test_pairs_are_scaled(a, factor):
    hi, lo = exact.scale_pair(*a, factor)
    assert hi + lo == hi
    assert abs(value((hi, lo)) - value(a) * Fraction(factor)) <= abs(value(a)) * Fraction(factor) * Fraction(2) ** -100


def test_what_fades_away_is_zero_before_it_is_denormal():
    pair, steps = (1.0, 2.0**-60), 0
    while pair != (0.0, 0.0):
        pair, steps = exact.scale_pair(*pair, 0.5), steps + 1
        assert all(part == 0.0 or abs(part) >= exact.TINY for part in pair)
    assert steps == 961


@pytest.mark.parametrize("low", [0.0, 2.0**-60])
def test_rows_are_added_and_scaled_cell_by_cell(low):
    a, b = np.array([[1.0, 0.1, 3.0, -7.0], [2.0, 0.2, -3.0, 0.5]])
    a_lo, b_lo = low * a, low * b
    hi, lo = np.empty((2, 4))
    left = exact.add_rows(a, a_lo, b, b_lo, -1.0, hi, lo)
    cells = [exact.add_pairs(*cell, -1.0) for cell in zip(a, a_lo, b, b_lo)]
    assert list(zip(hi, lo)) == cells and left == lo.any() == any(rest for _, rest in cells)
    left = exact.scale_rows(a, a_lo, 0.5, hi, lo)
    assert (hi == 0.5 * a).all() and (lo == 0.5 * a_lo).all() and left == (low > 0.0)
    assert not exact.scale_rows(a, a_lo, 0.0, hi, lo) and not hi.any()


@given(st.lists(st.tuples(st.integers(-50, 50), st.sampled_from([0.25, 1.0, 3.0])), min_size=1, max_size=12))
def test_scatter_is_that_of_fractions_far_from_zero(rows):
    x, w = [Fraction(10**9 + v, 10) for v, _ in rows], [Fraction(weight) for _, weight in rows]
    sums = sum(w), sum(a * b for a, b in zip(w, x)), sum(a * b * b for a, b in zip(w, x))
    (weight, w_lo), *cells = ((float(s), float(s - Fraction(float(s)))) for s in sums)
    out = np.empty(1)
    exact.scatter_about_mean(*(np.array([part]) for cell in cells for part in cell), weight, w_lo, out)
    expected = float(sums[2] - sums[1] ** 2 / sums[0])
    assert out[0] >= 0.0
    assert out[0] == pytest.approx(expected, rel=1e-11, abs=1e-10)
