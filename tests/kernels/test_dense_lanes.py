"""Sums of several rows at once, in as many parts as their smallest value needs, are the exact ones."""

from fractions import Fraction

import numpy as np
import pytest

from streamnb.kernels import dense_sums
from streamnb.kernels.lanes import LANES

N_ROWS = 100  # some of them more than are added at once


def begun(n_features):
    """Sums of up to 128 rows of values below 1, as `add_both` begins them."""
    top, sums = np.ones(n_features), np.empty((dense_sums.PARTS, n_features))
    dense_sums.begin(top, 128.0, False, sums[:4])
    dense_sums.begin(top, 128.0, True, sums[4:])
    least = np.empty((2, n_features), np.float32)
    dense_sums.losing(top, 128.0, least)
    return sums, least


def grown(sums):
    """By how much sums of x, and of x^2, have grown, exactly."""
    start, _ = begun(sums.shape[1])
    parts = [[Fraction(now) - Fraction(then) for now, then in zip(*both)] for both in zip(sums, start)]
    return [[sum(column) for column in zip(*some)] for some in (parts[:4], parts[4:])]


def exact(x):
    columns = [[Fraction(float(value)) for value in column] for column in x.T]
    return [[sum(v**power for v in column) for column in columns] for power in (1, 2)]


@pytest.mark.parametrize("n_features", [8, 13])
@pytest.mark.parametrize(("small", "depth"), [(0.0, 0), (2.0**-30, 1), (2.0**-70, 2)])
def test_in_as_many_parts_as_the_smallest_value_needs(n_features, small, depth):
    rng = np.random.default_rng(n_features)
    x = (rng.uniform(0.1, 1.0, (N_ROWS, n_features)) * rng.choice([-1, 0, 1], (N_ROWS, n_features))).astype(np.float32)
    x[7] = small * (1.0 + 2.0**-20)
    rows, found = rng.permutation(N_ROWS)[:90], np.zeros(-(-n_features // LANES), np.intp)
    rows[-1] = 7
    sums, least = begun(n_features)
    dense_sums.add_rows(x, rows, 0, 90, least, found, sums)
    assert (found == depth).all()
    assert grown(sums) == exact(x[rows])


@pytest.mark.parametrize("depth", [0, 1])
def test_values_just_above_a_limit_lose_no_more_than_it_says(depth):
    sums, least = begun(LANES)
    assert (least[0] == 2.0**-21).all() and (least[1] == 2.0**-41).all()
    x, found = np.ones((128, LANES), np.float32), np.zeros(1, np.intp)
    x[64:] = np.nextafter(least[depth], np.float32(1.0))  # whose last bit counts
    dense_sums.add_rows(x, np.arange(128), 0, 128, least, found, sums)
    assert found == depth
    assert grown(sums) == exact(x)
