"""Each kernel against its naive twin, with exact numbers. Run three ways: compiled, interpreted, bounds-checked."""

import math

import numpy as np
import pytest
import scipy.sparse as sp

from streamnb.kernels import class_sums
from streamnb.rows.row_blocks import frozen
from tests.support import naive
from tests.support.chunk_arrays import stored

MOMENTS = {"sum": class_sums.SUM, "sum_sq": class_sums.SUM_SQ, "nonzero": class_sums.NONZERO, "above": class_sums.ABOVE}


def problem(seed, *, real, n_rows=30, n_features=7, n_classes=3):
    rng = np.random.default_rng(seed)
    x = rng.integers(-2, 4, (n_rows, n_features)) * (rng.random((n_rows, n_features)) < 0.5)
    x = x * rng.normal(size=x.shape) if real else x.astype(float)
    weight = rng.random(n_rows) if real else rng.choice([0.25, 0.5, 1.0, 2.0], n_rows)
    return x, rng.integers(0, n_classes, n_rows), weight, n_classes


def csr(x, dtype=np.float64):
    return stored(sp.csr_array(x).astype(dtype))


@pytest.mark.parametrize("name", MOMENTS)
@pytest.mark.parametrize("threshold", [-1.0, 0.0, 1.0])
def test_plain_sums_of_integers_are_exact(name, threshold):
    x, codes, weight, n_classes = problem(1, real=False)
    expected = naive.rounded(naive.class_sums(x, codes, weight, n_classes, name, threshold))
    for dtype in (np.float32, np.float64):
        dense, sparse = np.zeros_like(expected), np.zeros_like(expected)
        class_sums.add_dense(frozen(x.astype(dtype)), np.arange(30), codes, weight, MOMENTS[name], threshold, dense)
        class_sums.add_csr(*csr(x, dtype), np.arange(30), codes, weight, MOMENTS[name], threshold, sparse)
        assert (dense == expected).all()
        if name == "above" and threshold < 0:
            continue  # dense rows store zeros, which cancel: the same sums
        assert (sparse == expected).all()


@pytest.mark.parametrize("name", MOMENTS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("weights", [(), (1.0,), (1.0, 0.3)], ids=["any", "one", "one and less"])
def test_pairs_round_to_the_exact_sum(name, dtype, weights):
    """Rows of weight 1 take a shorter way: their sums are exact, and so are those of the rows beside them."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 5)) * 10.0 ** rng.integers(-6, 7, (60, 5)) * (rng.random((60, 5)) < 0.7)
    x, codes, weight = x.astype(dtype), rng.integers(0, 3, 60), rng.choice(weights or rng.random(60), 60)
    expected = naive.rounded(naive.class_sums(x, codes, weight, 3, name, 0.0))
    for add, rows in ((class_sums.add_dense_pairs, (frozen(x),)), (class_sums.add_csr_pairs, stored(x))):
        scratch = () if len(rows) > 1 else (class_sums.lost_of(5),)
        hi, lo = np.zeros_like(expected), np.zeros((3, *expected.shape))
        spilled = add(*rows, np.arange(60), codes, weight, MOMENTS[name], 0.0, *scratch, hi, lo)
        assert (np.vectorize(lambda *cell: math.fsum(cell))(hi, *lo) == expected).all()
        assert spilled == lo[1:].any()
        assert name not in ("sum", "sum_sq") or lo.any()  # else the low parts were not needed here


def test_csr_kernels_take_slices_of_a_larger_indptr():
    x, codes, weight, n_classes = problem(3, real=False)
    data, indices, indptr = csr(x)
    first = indptr[10]
    part, whole = np.zeros((n_classes, 7)), np.zeros((n_classes, 7))
    entries = np.arange(20), codes[10:], weight[10:]
    class_sums.add_csr(data[first:], indices[first:], indptr[10:], *entries, class_sums.SUM, 0.0, part)
    class_sums.add_csr(*csr(x[10:]), *entries, class_sums.SUM, 0.0, whole)
    assert (part == whole).all()


def test_a_row_may_enter_several_groups_or_none():
    x, codes, weight, n_classes = problem(5, real=False)
    rows = np.concatenate([np.arange(20), np.arange(5, 30)])  # the first five once, fifteen twice
    groups = np.concatenate([codes[:20], codes[5:] + n_classes])
    expected = naive.rounded(naive.class_sums(x[rows], groups, weight[rows], 2 * n_classes, "sum", 0.0))
    for add, arrays_ in ((class_sums.add_dense, (frozen(x),)), (class_sums.add_csr, csr(x))):
        sums = np.zeros_like(expected)
        add(*arrays_, rows, groups, weight[rows], class_sums.SUM, 0.0, sums)
        assert (sums == expected).all()
