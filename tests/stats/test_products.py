"""Products of rows by BLAS: exact where they say so."""

from fractions import Fraction

import numpy as np
import pytest

from streamnb.stats import second_moments as products

rng = np.random.default_rng(0)
W = rng.random(60)
WIDE = rng.normal(size=(60, 4)) * [1.0, 1e5, 1e-9, 0.0]


def exact(x, w, i, j):
    rows = zip(w, x[:, i], x[:, j], strict=True)
    return sum(Fraction(float(a)) * Fraction(float(b)) * Fraction(float(c)) for a, b, c in rows)


@pytest.mark.parametrize("weight", [None, W], ids=["ones", "weights"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_slices_lose_nothing(dtype, weight):
    x, w = WIDE.astype(dtype), np.ones(60) if weight is None else weight
    parts = [np.array(part) for part in products.exactly(x, weight)]
    for i in range(4):
        for j in range(i, 4):
            assert sum(Fraction(part[i, j]) for part in parts) == exact(x, w, i, j)
    some = products.slices(x.astype(float))
    assert len(some) <= 4 and all(3 not in part.columns for part in some)


def test_a_full_tile_of_the_largest_slices_is_exact():
    x = np.full((products.TILE, 2), 2.0**21 - 1.0)
    assert [part[0, 1] for part in products.exactly(x, None)] == [products.TILE * (2**21 - 1) ** 2]


def test_small_whole_numbers_are_exact_in_single_precision():
    x = rng.integers(0, 256, (3000, 5)).astype(np.uint8)
    assert products.may_be_small(255.0) and not products.may_be_small(4096.0)
    np.testing.assert_array_equal(products.of_small(x, 255.0), x.astype(np.int64).T @ x.astype(np.int64))


@pytest.mark.parametrize("weight", [None, W], ids=["ones", "weights"])
def test_columns_far_from_zero_keep_what_they_vary_by(weight):
    x = np.column_stack([rng.normal(size=60), 1e9 + rng.random(60), np.full(60, 0.1), np.full(60, 3.0)])
    rows, begins, ends = np.append(np.arange(60), np.arange(7, 20)), np.array([0, 60]), np.array([60, 73])
    found = products.centres(x, rows, begins, ends)
    assert (~np.isnan(found)).tolist() == [[False, True, True, False]] * 2
    assert products.centres(x[:, [0, 3]], rows, begins, ends) is None
    middle = np.nan_to_num(found[0])
    w = np.ones(60) if weight is None else weight
    parts = [np.array(part) for part in products.about(x, weight, middle)]
    for i in range(4):
        for j in range(i, 4):
            total = sum(Fraction(part[i, j]) for part in parts)
            scale = np.prod([np.linalg.norm(x[:, c] - middle[c]) + 1e-8 for c in (i, j)])
            assert abs(float(total - exact(x, w, i, j))) <= 1e-9 * scale
