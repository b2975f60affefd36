"""Sums and products without error against fractions."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamnb.kernels import exact
from tests.support.chunk_arrays import all_frozen

EXACT = exact.DEEP_RESIDUE


def add_rows(a_hi, a_lo, b_hi, b_lo, *rest):
    return exact.add_rows(*all_frozen((a_hi, a_lo, b_hi, b_lo)), *rest)


def scale_rows(hi, lo, *rest):
    return exact.scale_rows(*all_frozen((hi, lo)), *rest)


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
    hi, lo, whole = exact.add_shallow(*a, *b, sign)
    assert hi + lo == hi
    if whole:
        assert value((hi, lo)) == value(a) + Fraction(sign) * value(b)


wide = st.tuples(st.floats(1.0, 2.0), st.integers(-40, 0), st.sampled_from([1.0, -1.0])).map(
    lambda parts: parts[0] * 2.0 ** parts[1] * parts[2]
)


def summed(terms, n_parts=3):
    """Terms one by one in a cell, as the kernels of class sums add them."""
    hi, lo = np.zeros(1), np.zeros((n_parts, 1, 1))
    for x in terms:
        p, error = exact.two_product(x, x)
        hi[0], r = exact.two_sum(hi[0], p)
        exact.add_low(lo, 0, 0, r, error)
    return hi, lo[:, 0]


def fraction(hi, lo):
    return sum(map(Fraction, [float(hi[0]), *map(float, lo[:, 0])]), Fraction(0))


@given(st.lists(wide, max_size=12))
def test_squares_of_any_size_are_summed_without_error(terms):
    assert fraction(*summed(terms)) == sum((Fraction(x) ** 2 for x in terms), Fraction(0))


@given(st.lists(wide, max_size=8), st.lists(wide, max_size=8), st.sampled_from([1.0, -1.0]))
def test_sums_of_squares_are_merged_without_error(a, b, sign):
    first, second = summed(a), summed(b)
    hi, lo = np.empty(1), np.zeros((3, 1))
    used = add_rows(*first, *second, sign, EXACT, hi, lo)
    expected = fraction(*first) + Fraction(sign) * fraction(*second)
    assert fraction(hi, lo) == expected and hi[0] == float(expected)  # the rounded sum
    assert not lo[used:].any()


@given(st.lists(wide, max_size=8), st.lists(wide, max_size=8))
def test_what_was_merged_is_taken_away(a, b):
    hi, lo, first = np.empty(1), np.zeros((3, 1)), summed(a)
    add_rows(*first, *summed(b), 1.0, EXACT, hi, lo)
    left, low = np.empty(1), np.zeros((3, 1))
    add_rows(hi, lo, *summed(b), -1.0, EXACT, left, low)
    assert fraction(left, low) == fraction(*first)


@given(pairs)
def test_of_pairs_a_residue_is_left_out(a):
    hi, lo = np.empty(1), np.zeros((3, 1))
    first = np.array([a[0]]), np.array([[a[1]]])
    nearly = np.array([a[0]]), np.array([[a[1] * (1.0 + 2.0**-40)]])
    assert add_rows(*first, *nearly, -1.0, exact.RESIDUE, hi, lo) == 0
    assert hi[0] == lo[0, 0] == 0.0


def test_what_lies_beside_a_tie_is_rounded_to_its_side():
    """2^53 + 1 is a tie, and what is below it goes down, not to the even neighbour."""
    hi, lo, none = np.empty(2), np.zeros((3, 2)), np.zeros((1, 2))
    first = np.array([2.0**53 + 2.0, 2.0**53]), np.array([[-1.0, 1.0]])
    add_rows(*first, np.array([-(2.0**-60), 2.0**-60]), none, 1.0, EXACT, hi, lo)
    assert hi.tolist() == [2.0**53, 2.0**53 + 2.0]
    for j, sign in enumerate((-1, 1)):
        assert fraction(hi[j : j + 1], lo[:, j : j + 1]) == 2**53 + 1 + sign * Fraction(1, 2**60)


def test_sums_that_are_no_numbers_stay_so():
    hi, lo, none = np.empty(2), np.zeros((3, 2)), np.zeros((1, 2))
    with np.errstate(invalid="ignore"):
        used = add_rows(
            np.array([np.nan, 1.0]), none, np.array([1.0, np.inf]), np.full((1, 2), 1e-40), 1.0, EXACT, hi, lo
        )
    assert not np.isfinite(hi).any() and used == 0 and not lo.any()
    assert scale_rows(np.array([np.nan]), none[:0], 0.3, hi[:1], lo[:, :1])[0] == 0 and np.isnan(hi[0])


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
    a_lo, b_lo = low * a[None], low * b[None]
    hi, lo = np.empty(4), np.zeros((3, 4))
    used = add_rows(a, a_lo, b, b_lo, -1.0, EXACT, hi, lo)
    cells = [exact.add_shallow(*cell, -1.0) for cell in zip(a, a_lo[0], b, b_lo[0])]
    assert list(zip(hi, lo[0])) == [cell[:2] for cell in cells] and used == lo.any()
    assert scale_rows(a, a_lo, 0.5, hi, lo) == (low > 0.0, False)
    assert (hi == 0.5 * a).all() and (lo[0] == 0.5 * a_lo).all()
    assert scale_rows(a, a_lo, 0.0, hi, lo) == (0, False) and not hi.any()


def test_powers_of_two_scale_all_parts_and_other_numbers_leave_a_pair():
    a, a_lo = np.array([1.0]), np.array([[2.0**-60], [2.0**-120], [2.0**-180]])
    hi, lo = np.empty(1), np.zeros((3, 1))
    assert scale_rows(a, a_lo, 0.25, hi, lo) == (3, False)
    assert hi[0] == 0.25 and (lo == 0.25 * a_lo).all()
    lo[:] = 0.0
    assert scale_rows(a, a_lo, 3.0, hi, lo) == (1, True)
    assert hi[0] == 3.0 and lo[0, 0] == 3.0 * 2.0**-60


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


def test_pairs_are_renormalised_in_place_as_by_adding_nothing():
    hi = np.array([[1.0, -3.0, 1e300, 2.0, np.nan]])
    lo = np.array([[2.0**-52, 3.0, 1e280, 2.0**-80, 0.0]])
    expected, low = np.empty(5), np.zeros((1, 5))
    nothing = np.zeros(5), np.zeros((1, 5))
    exact.add_rows(*all_frozen([hi[0].copy(), lo.copy(), *nothing]), 1.0, exact.DEEP_RESIDUE, expected, low)
    exact.renormalise(hi, lo)
    np.testing.assert_array_equal(hi[0, :4], expected[:4])
    np.testing.assert_array_equal(lo[0, :4], low[0, :4])
    assert np.isnan(hi[0, 4]) and lo[0, 4] == 0.0
