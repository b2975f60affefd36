"""Each kernel against its naive twin, with exact numbers. Run three ways: compiled, interpreted, bounds-checked."""

import math
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from streamnb.kernels import class_sums, exact, judge, roots, row_values, steps
from streamnb.kernels.scores import score_csr, score_dense
from streamnb.models.grid_weights import DOUBLE, GridWeights
from streamnb.rows.boundary import as_chunk
from streamnb.rows.chunk import frozen
from tests.support import naive
from tests.support.chunk_arrays import all_frozen, stored

MOMENTS = {
    "sum": class_sums.SUM,
    "sum_sq": class_sums.SUM_SQ,
    "nonzero": class_sums.NONZERO,
    "above": class_sums.ABOVE,
}
reals = st.floats(-1e6, 1e6).map(lambda v: v if abs(v) > 1e-6 else 0.0)  # products stay far from underflow
lean = settings(max_examples=40)


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
@pytest.mark.parametrize("seed", range(5))
def test_pairs_round_to_the_exact_sum(name, seed):
    x, codes, weight, n_classes = problem(seed, real=True)
    expected = naive.rounded(naive.class_sums(x, codes, weight, n_classes, name, 0.0))
    for add, arrays_ in ((class_sums.add_dense_pairs, (frozen(x),)), (class_sums.add_csr_pairs, csr(x))):
        hi, lo = np.zeros_like(expected), np.zeros((3, *expected.shape))
        spilled = add(*arrays_, np.arange(30), codes, weight, MOMENTS[name], 0.0, hi, lo)
        assert (np.vectorize(lambda *cell: math.fsum(cell))(hi, *lo) == expected).all()
        assert spilled == lo[1:].any()


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


@lean
@given(reals, reals)
def test_error_free_sum_and_product(a, b):
    s, e = exact.two_sum(a, b)
    assert Fraction(s) + Fraction(e) == Fraction(a) + Fraction(b)
    p, e = exact.two_product(a, b)
    assert Fraction(p) + Fraction(e) == Fraction(a) * Fraction(b)


@lean
@given(arrays(np.float64, (2, 2, 5), elements=reals), st.sampled_from([1.0, -1.0]))
def test_pairs_add_and_scale(pairs, sign):
    a, b = pairs
    a[1] *= 2.0**-80
    b[1] *= 2.0**-80
    hi, lo = np.empty(5), np.zeros((1, 5))
    left = exact.add_rows(*all_frozen((a[0], a[1:], b[0], b[1:])), sign, exact.RESIDUE, hi, lo)
    assert left == lo.any()
    assert (hi + lo == hi).all()
    np.testing.assert_allclose(hi, a[0] + sign * b[0], rtol=1e-15, atol=1e-12)
    left, _ = exact.scale_rows(*all_frozen((a[0], a[1:])), 0.7, hi, lo)
    assert left == lo.any()
    np.testing.assert_allclose(hi, 0.7 * a[0], rtol=1e-15, atol=1e-12)


def test_scatter_does_not_cancel():
    rng = np.random.default_rng(0)
    x = 1e8 + rng.integers(0, 3, (100, 4))
    shifted = x - 1e8
    expected = ((shifted - shifted.mean(axis=0)) ** 2).sum(axis=0)
    sums = np.array([naive.class_sums(x, np.zeros(100, int), np.ones(100), 1, m, 0.0)[0] for m in ("sum", "sum_sq")])
    hi = sums.astype(float)
    lo = (sums - np.vectorize(Fraction)(hi)).astype(float)
    out = np.empty(4)
    exact.scatter_about_mean(hi[0], lo[0], hi[1], lo[1], 100.0, 0.0, out)
    np.testing.assert_allclose(out, expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("indices", "expected"),
    [([0, 2, 1, 1], (-1, False)), ([0, 2, 1, 2], (-1, True)), ([0, 3, 1, 2], (0, False)), ([0, 1, -1, 2], (1, False))],
)
def test_indices_are_checked(indices, expected):
    arrays_ = all_frozen((np.array(indices, np.int32), np.array([0, 2, 4])))
    assert row_values.check_indices(*arrays_, 3) == expected


def test_transforms_and_lengths():
    values = np.array([0.0, 1.0, 4.0])
    out = np.empty(3)
    for transform, expected in (
        (row_values.BINARY, [0, 1, 1]),
        (row_values.LOG1P, np.log1p(values)),
        (row_values.SQRT, [0, 1, 2]),
    ):
        row_values.transform_values(values, transform, out)
        np.testing.assert_allclose(out, expected, rtol=1e-15)
    indptr = np.array([2, 4, 4, 6])
    for norm, expected in ((row_values.NORM_L1, [3 / 7, -4 / 7, 0, 0]), (row_values.NORM_L2, [0.6, -0.8, 0, 0])):
        values = np.array([3.0, -4.0, 0.0, 0.0])
        row_values.normalize_rows(values, indptr, norm)
        np.testing.assert_allclose(values, expected, rtol=1e-15)


@pytest.mark.parametrize("width", [1, 2, 3, 7, 8, 9, 16, 20])
def test_scores(width):
    x, *_ = problem(5, real=True)
    weights = np.random.default_rng(0).normal(size=(7, width))
    dense, sparse = np.zeros((30, width)), np.zeros((30, width))
    score_dense(*all_frozen((x, weights)), dense)
    score_csr(*csr(x), frozen(weights), sparse)
    assert (dense == sparse).all()
    np.testing.assert_allclose(dense, x @ weights, rtol=1e-12, atol=1e-12)


@settings(max_examples=60)
@given(st.integers(1, 3), st.integers(1, 90), st.floats(0.0, 4.0), st.integers(0, 2**32 - 1))
def test_scores_of_a_grid(n_rows, n_points, falling, seed):
    rng = np.random.default_rng(seed)
    x = rng.integers(-3, 4, (9, 7)) * (rng.random((9, 7)) < 0.6)
    alive = rng.random((7, n_points, n_rows)) < np.exp(-falling * np.arange(n_points))[:, None]
    weights = rng.integers(-9, 10, alive.shape) * alive / 8.0
    some = rng.permutation(9)[:5]
    flat, cut = sp.csr_array(weights.reshape(7, -1)), rng.integers(0, 8)
    laid_out = GridWeights.within(1 << 20, [flat[:cut], flat[cut:]], n_rows)
    assert [a.tolist() for a in laid_out.arrays] == [a.tolist() for a in GridWeights.of([flat], n_rows).arrays]
    assert GridWeights.within(8 * laid_out.arrays[0].size + laid_out.arrays[4].nbytes - 1, [flat], n_rows) is None
    for given_rows in (x, sp.csr_array(x)):
        out = np.ones((5, n_rows, DOUBLE.room(n_points)))
        laid_out.add_scores(as_chunk(given_rows)[0], some, out.reshape(5, -1))
        assert (out[:, :, :n_points] == 1.0 + np.einsum("ij,jgr->irg", x[some], weights)).all()
        assert (out[:, :, n_points:] == 1.0).all()


@pytest.mark.compiled
def test_scores_of_a_grid_do_not_depend_on_how_rows_are_stored():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(40, 900)) * (rng.random((40, 900)) < 0.9)  # more units than are listed at once
    weights = rng.normal(size=(900, 300)) * (rng.random((900, 300)) < rng.random((900, 1)) / 20.0)
    laid_out, rows = GridWeights.of([sp.csr_array(weights)], 3), np.arange(40)
    stored = sp.csr_array(x)
    zeros = sp.csr_array((x.reshape(-1), np.tile(np.arange(900), 40), np.arange(41) * 900))  # stored, too
    dense, sparse, explicit = np.zeros((3, 40, 3 * DOUBLE.room(100)))
    for given_rows, out in ((x, dense), (stored, sparse), (zeros, explicit)):
        laid_out.add_scores(as_chunk(given_rows)[0], rows, out)
    assert (dense == sparse).all()
    assert (dense == explicit).all()
    one = np.zeros_like(dense[:1])
    laid_out.add_scores(as_chunk(stored)[0], rows[7:8], one)
    assert (one == dense[7]).all()


@pytest.mark.parametrize("n_models", [1, 9])
def test_the_first_of_the_largest_is_on_top(n_models):
    scores = np.random.default_rng(0).integers(0, 4, (50, 5, n_models)).astype(float)
    top = np.empty((50, n_models), np.int64)
    judge.top_class(scores, top)
    assert (top == scores.argmax(axis=1)).all()


@lean
@given(
    st.lists(st.floats(0.0, 1e300) | st.sampled_from([0.0, 1.0, 1.0 + 2**-52, 2.0**600]), min_size=1, max_size=20),
    st.lists(st.floats(allow_nan=False) | st.sampled_from([-0.0, -1e308, 1e-320, np.inf]), max_size=10),
)
def test_numbers_below_another_are_counted(some, others):
    ascending = np.sort(np.array(some))
    index = steps.index_of(ascending)
    assert len(index[2]) <= steps.ENTRIES + 2
    for number in [*others, *some]:
        assert steps.n_below(number, ascending, index) == np.searchsorted(ascending, number, side="left")


@settings(max_examples=60)
@given(st.integers(2, 12), st.floats(0.01, 30), st.integers(0, 2**32 - 1))
def test_total_pulls_are_roots(n, tau, seed):
    rng = np.random.default_rng(seed)
    share = rng.dirichlet(np.ones(n))
    counts = rng.integers(0, 20, n) + 0.5
    excess = counts - counts.sum() * share
    unit = rng.choice([0.5, 1.0, 1.0], n)
    taus, totals = tau * np.array([0.1, 0.5, 0.9, 1.0, 3.0]), np.empty(5)
    roots.total_pulls(excess, share, unit, taus, totals)
    for some, total in zip(taus, totals, strict=True):
        surplus = naive.surplus_of(excess, share, some * unit)  # F rises; where it is flat any root serves
        assert abs(surplus(total)) <= 1e-13 * (np.abs(excess).sum() + some * unit.sum())


@settings(max_examples=60)
@given(st.integers(2, 40), st.integers(0, 2**32 - 1))
def test_total_pulls_do_not_depend_on_the_other_taus(n, seed):
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, 20, n) + 0.5
    share = rng.dirichlet(np.ones(n))
    arrays = counts - counts.sum() * share, share, rng.choice([0.5, 1.0], n)
    taus = np.sort(rng.uniform(0.0, 12.0, 20))
    together, alone = np.empty(20), np.empty(1)
    roots.total_pulls(*arrays, taus, together)
    for i in range(20):
        roots.total_pulls(*arrays, taus[i : i + 1], alone)
        np.testing.assert_allclose(together[i], alone[0], rtol=1e-13, atol=1e-13)


def test_two_sides_that_agree_need_no_pull():
    total = np.ones(1)
    roots.total_pulls(np.array([0.5, -0.5]), np.array([0.5, 0.5]), np.ones(2), np.ones(1), total)
    assert total[0] == 0.0
