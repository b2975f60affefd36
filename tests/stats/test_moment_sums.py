"""Sums of moments while blocks come: dense and sparse tables hold the same bits, as long as either fits."""

import math

import numpy as np
import pytest
import scipy.sparse as sp

import streamnb as snb
from streamnb.rows.boundary import as_chunk
from streamnb.rows.preparing import RowOptions
from streamnb.rows.row_blocks import Entries
from streamnb.stats import moment_sums
from streamnb.stats.moment_sums import PLAIN_MOMENTS, GrowingTable, MomentSums, may_add_both
from tests.support import naive

N_GROUPS, N_FEATURES = 4, 30
PLAIN = RowOptions()


def rows(n_rows=50, seed=0, real=True):
    rng = np.random.default_rng(seed)
    x = rng.integers(-3, 4, (n_rows, N_FEATURES)) * (rng.random((n_rows, N_FEATURES)) < 0.3)
    x = x * rng.uniform(0.1, 9.0, x.shape) if real else x.astype(float)
    return x, rng.integers(0, N_GROUPS, n_rows), rng.uniform(0.1, 2.0, n_rows) if real else np.ones(n_rows)


def summed(x, codes, weight, make=sp.csr_array, step=9, moments=PLAIN_MOMENTS, limit=None, options=PLAIN, width=None):
    """Sums of the blocks of so many rows, whose groups become more from block to block."""
    sums = MomentSums(moments, options, limit)
    for first in range(0, len(x), step):
        some = slice(first, first + step)
        block = make(x[some])
        if width is not None:
            block = sp.csr_array((block.data, block.indices, block.indptr), shape=(block.shape[0], width))
        entries = Entries(np.arange(len(codes[some])), codes[some], weight[some])
        heaviest = weight[some].sum() if (weight == np.floor(weight)).all() else np.inf
        sums.add(*as_chunk(block), entries, int(codes[: some.stop].max()) + 1, heaviest)
    return sums


def values(sums, n_features=N_FEATURES):
    return {name: sums.take(name, np.arange(N_GROUPS), n_features).value(slice(0, N_FEATURES)) for name in sums.moments}


@pytest.mark.parametrize("threshold", [0.0, 1.0])
@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("real", [True, False])
def test_sums_are_the_exact_sums_rounded(real, make, threshold):
    x, codes, weight = rows(real=real)
    found = values(summed(x, codes, weight, make, options=RowOptions(binarize=threshold)))
    for name in PLAIN_MOMENTS:
        expected = naive.rounded(naive.class_sums(x, codes, weight, N_GROUPS, name, threshold))
        assert (found[name] == expected).all()


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_sizes_of_numbers_that_are_not_negative_are_their_sums(make):
    x, codes, weight = rows(real=False)
    counts = values(summed(abs(x), codes, weight, make, moments=("sum", "deviation")))
    np.testing.assert_array_equal(counts["deviation"], counts["sum"])
    mixed = np.vstack([abs(x), x])  # negative numbers come after a table of whole numbers has begun
    found = values(summed(mixed, np.tile(codes, 2), np.tile(weight, 2), make, moments=("sum", "deviation")))
    np.testing.assert_array_equal(found["deviation"], 2.0 * counts["sum"])


@pytest.mark.parametrize(("width", "limit"), [(1 << 24, None), (1 << 16, 1 << 20)])  # mostly empty, and too large
@pytest.mark.parametrize("real", [True, False])
def test_sparse_tables_hold_the_bits_of_dense_ones(real, width, limit):
    x, codes, weight = rows(real=real)
    dense = values(summed(x, codes, weight))
    for step in (9, 50):
        sparse = summed(x, codes, weight, step=step, width=width, limit=limit)
        assert sparse.nbytes < 100 * np.count_nonzero(x) * len(dense)
        for name, table in values(sparse, width).items():
            assert (table == dense[name]).all()


def test_tables_become_sparse_where_the_limit_is_below_dense_ones_and_it_is_kept():
    x, codes, weight = rows(real=False)
    limit = 8 * len(PLAIN_MOMENTS) * N_GROUPS * N_FEATURES - 1
    sums = summed(x[:4], codes[:4], weight[:4], limit=limit)
    assert sums.nbytes < limit
    assert (values(sums)["sum"] == values(summed(x[:4], codes[:4], weight[:4]))["sum"]).all()
    with pytest.raises(MemoryError, match=r"sums \(sum, sum_sq, nonzero, above\) of 4 classes and 30 features"):
        summed(x, codes, weight, limit=1000)


def test_what_cannot_be_sparse_is_refused_before_the_scan_and_in_it():
    assert moment_sums.may_be_sparse(["sum", "above"], PLAIN)
    assert not moment_sums.may_be_sparse(["log_sum"], PLAIN)
    assert not moment_sums.may_be_sparse(["sum", "above"], RowOptions(binarize=-1.0))  # true of absent values
    moment_sums.check_fits(("sum",), PLAIN, 4, 1 << 40, 1000)  # they may turn out to be mostly empty
    moment_sums.check_fits(("log_sum",), PLAIN, 2, 10, 160)
    with pytest.raises(MemoryError, match=r"the sums \(log_sum\) of 2 classes and 10 features .* memory_limit"):
        moment_sums.check_fits(("log_sum",), PLAIN, 2, 10, 159)
    x, codes, weight = rows()
    with pytest.raises(MemoryError, match=r"\(log_sum\)"):
        summed(np.abs(x) + 1.0, codes, weight, moments=["log_sum"], limit=100)


def test_weights_are_added_without_error():
    codes, weight = np.arange(30) % 4, np.random.default_rng(0).random(30) * 10.0 ** (np.arange(30) % 7)
    table = GrowingTable()
    table.note(np.inf)
    table.grow(4, 1)
    table.add_weights(codes, weight)
    found = table.table(np.arange(4), 1).value()[:, 0]
    assert found.tolist() == [math.fsum(weight[codes == k]) for k in range(4)]


@pytest.mark.parametrize(
    ("dense", "sparse", "limit", "expected"),
    [
        (100, 50, 100, "dense"),
        (101, 50, 100, "sparse"),
        (101, None, 100, "too large"),
        (1 << 40, 1 << 30, 1 << 41, "sparse"),  # both would fit: large and mostly empty
        (1 << 40, 1 << 39, 1 << 41, "dense"),
    ],
)
def test_which_tables_are_likely(dense, sparse, limit, expected):
    assert moment_sums.kind(dense, sparse, limit) == expected


def test_groups_are_taken_in_any_order_and_those_without_rows_are_zero():
    x, codes, weight = rows(real=False)
    for limit in (None, 1000 * N_FEATURES):
        whole = values(summed(x, codes, weight, limit=limit))["sum"]
        sums = summed(x, codes, weight, limit=limit, moments=["sum"])
        order = np.array([2, 0, 5, 4, 3, 1])  # two more than came
        table = sums.take("sum", order, N_FEATURES)
        assert (table.value() == np.concatenate([whole, np.zeros((2, N_FEATURES))])[order]).all()
        assert sums.moments == []


@pytest.mark.parametrize(
    "tops", [[2**30, 2**30, 2**30], [2**31 + 1, 1], [2**52, 2**52, 2**52, 1], [2.0**60, 1.0, 2.0**-50]]
)
def test_growing_tables_hold_whole_sums_of_any_size(tops):
    table, expected = GrowingTable(), 0
    for top in tops:
        table.note(float(top))
        table.grow(2, 3)
        if table.lo is None:
            table.hi[1] += top
        else:
            entries = np.zeros(1, np.int64), np.ones(1, np.int64), np.ones(1)
            as_chunk(np.full((1, 3), float(top)))[0].add_moment(Entries(*entries), 0, 0.0, table.hi, table.lo)
        expected += top
    sums = table.table(np.array([1, 0]), 3)
    assert sums.value().tolist() == [[float(expected)] * 3, [0.0] * 3] and sums.value().dtype == np.float64


# ---- sums and sums of squares from one reading of each value ----


def float_rows(dtype=np.float32, n_rows=200, n_features=11):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n_rows, n_features)).astype(dtype)
    return x, as_chunk(x), Entries(np.arange(n_rows), rng.integers(0, 3, n_rows), np.ones(n_rows))


def test_sums_alone_are_the_same_numbers():
    x, _, entries = float_rows()
    alone, both = (snb.scan(x, entries.codes, moments=moments) for moments in (["sum"], ["sum", "sum_sq"]))
    exact = [[math.fsum(column) for column in x[entries.codes == k].T.tolist()] for k in range(3)]
    np.testing.assert_array_equal(alone.sum, exact)
    np.testing.assert_array_equal(alone.sum, both.sum)
    assert alone.moments == ("sum",)


def test_both_are_summed_at_once_but_not_for_weights_few_rows_or_squares_that_float64_rounds():
    _, (chunk, survey), entries = float_rows()
    assert may_add_both(chunk, survey, entries, 3)
    assert not may_add_both(chunk, survey, entries._replace(weight=np.full(200, 0.5)), 3)
    assert not may_add_both(chunk, survey, entries, 100)
    _, (chunk, survey), entries = float_rows(np.float64)
    assert not may_add_both(chunk, survey, entries, 3)
