"""Rows of weight 1 take a shorter way through the kernels; their sums stay exact, and so do those beside them."""

import math

import numpy as np
import pytest

from streamnb.kernels import class_sums
from streamnb.rows.chunk import frozen
from tests.support import naive
from tests.support.chunk_arrays import stored

MOMENTS = {
    "sum": class_sums.SUM,
    "sum_sq": class_sums.SUM_SQ,
    "nonzero": class_sums.NONZERO,
    "above": class_sums.ABOVE,
}


@pytest.mark.parametrize("name", MOMENTS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("heavier", [1.0, 0.3])
def test_pairs_of_unit_weights_round_to_the_exact_sum(name, dtype, heavier):
    rng = np.random.default_rng(0)
    x = (rng.normal(size=(60, 5)) * 10.0 ** rng.integers(-6, 7, (60, 5)) * (rng.random((60, 5)) < 0.7)).astype(dtype)
    codes, weight = rng.integers(0, 3, 60), np.where(rng.random(60) < 0.5, 1.0, heavier)
    expected = naive.rounded(naive.class_sums(x, codes, weight, 3, name, 0.0))
    for add, rows in (
        (class_sums.add_dense_pairs, (frozen(x),)),
        (class_sums.add_csr_pairs, stored(x)),
    ):
        hi, lo = np.zeros_like(expected), np.zeros((3, *expected.shape))
        add(*rows, np.arange(60), codes, weight, MOMENTS[name], 0.0, hi, lo)
        assert (np.vectorize(lambda *cell: math.fsum(cell))(hi, *lo) == expected).all()
        assert name not in ("sum", "sum_sq") or lo.any()  # else the low parts were not needed here
