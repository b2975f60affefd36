"""Tables of sums: frozen parts that add and subtract; sparse ones have the same bits as dense, which may not fit."""

import math
from functools import cache

import dask
import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import streamnb as snb
from streamnb.rows.preparing import RowOptions
from streamnb.stats import moment_sums
from streamnb.stats.complements import with_and_without
from streamnb.stats.tables import Runs, SparseTable, Table, by_column, parts_of, spread_about_mean, whole
from tests.support.strategies import MOMENTS, Rows, chunkings, example, labelled, same_stats, same_sums, stream, sums_of

WIDTH = 3
PAIRS = st.sampled_from(["int", "str"]).flatmap(lambda kind: st.tuples(*[labelled(kind=kind, n_features=WIDTH)] * 2))


def scan(rows, *, sparse=True, **options):
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(moment_sums, "WIDE", (0, 0) if sparse else (np.inf, np.inf))
        patched.setattr(moment_sums, "EMPTY", 0)  # all that is large is empty
        patched.setattr(moment_sums, "FULL", np.inf)  # and stays so
        return snb.scan(rows.x, rows.y, sample_weight=rows.w, **options)


def is_sparse(stats):
    return {type(stats.tables[moment]) is SparseTable for moment in stats.moments} == {True}


def real_rows(n_rows=400, n_classes=30, n_features=20, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n_rows, n_features)) * 10.0 ** rng.integers(-1, 2, (n_rows, n_features))
    x *= rng.random((n_rows, n_features)) < 0.2
    return Rows(x, rng.integers(0, n_classes, n_rows), rng.random(n_rows))


@given(labelled(), st.data())
def test_the_sums_are_those_of_dense_tables_however_the_rows_are_cut(rows, data):
    sizes = data.draw(chunkings(len(rows)))
    whole, cut = scan(rows), scan(Rows(stream(rows, "x", "y", "w", sizes=sizes), None, None))
    assert is_sparse(whole) and is_sparse(cut)
    assert same_sums(whole, sums_of(rows)) and same_stats(whole, cut)


@pytest.mark.parametrize("options", [{}, {"folds": 3, "repeats": 2}, {"normalize": "l2", "transform": "sqrt"}], ids=str)
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
def test_real_values_round_as_in_dense_tables(storage, options):
    rows = real_rows()
    rows = Rows(storage(np.abs(rows.x) if "transform" in options else rows.x), rows.y, rows.w)
    dense, sparse = (scan(rows, sparse=sparse, **options) for sparse in (False, True))
    assert is_sparse(sparse) and same_stats(dense, sparse)
    for split in range(dense.n_folds):
        assert same_stats(dense.without_fold(split, 1), sparse.without_fold(split, 1))
    assert (dense.scatter() == sparse.scatter()).all()
    for moment in MOMENTS:
        assert (sparse.to_scipy(moment) != dense.to_scipy(moment)).nnz == 0


@given(PAIRS, st.sampled_from([0.25, 0.3, 2.0]), st.booleans(), st.booleans())
def test_adding_subtracting_and_scaling_agree_whatever_the_tables(rows, gamma, first, second):
    a, b = (scan(part, sparse=sparse) for part, sparse in zip(rows, (first, second), strict=True))
    x, y = (scan(part, sparse=False) for part in rows)
    assert same_stats(a + b, x + y) and same_stats(a * gamma, x * gamma)
    assert same_stats((a + b) - b, x)
    if first or second:
        assert is_sparse(a + b)


def test_what_is_subtracted_leaves_no_cell_behind():
    a, b = scan(example(seed=0)), scan(Rows(np.eye(9), np.array(["new"] * 9), np.ones(9)))
    assert (a + b - b).nbytes == a.nbytes < (a + b).nbytes


@cache
def real_sums():
    """Dense and sparse sums of real rows."""
    return [scan(real_rows(), sparse=sparse).table("sum") for sparse in (False, True)]


@pytest.mark.parametrize("columns", [slice(1, 4), slice(None, None, 2), np.array([4, 0, 4]), slice(3, 3)], ids=str)
@pytest.mark.parametrize("classes", [slice(None), slice(5, 9), np.array([7, 2, 7])], ids=str)
def test_parts_of_tables(columns, classes):
    dense, sparse = real_sums()
    assert (sparse.value(columns, classes) == dense.value(columns, classes)).all()
    assert (sparse.select(columns).value() == dense.select(columns).value()).all()
    order = np.random.default_rng(0).permutation(30)[:17]
    assert (sparse.take(order).value() == dense.take(order).value()).all()
    assert (sparse.above(sparse.take(order)).value() == dense.above(dense.take(order)).value()).all()
    for part in (dense.row(3), sparse.dense().row(3)):
        assert (part[0] + part[1] == dense.value()[3]).all()


@pytest.mark.compiled
@pytest.mark.parametrize("scheme", ["joint", "ovr", "reference"])
@pytest.mark.parametrize("penalty", [snb.L1(n_taus=5), snb.TopK(3) + snb.L1(0.5)], ids=str)
def test_weights_are_those_from_dense_tables_however_many_classes_are_read_off_at_once(penalty, scheme, monkeypatch):
    rows, options = real_rows(), {"scheme": scheme, "reference": 4 if scheme == "reference" else None, "n_threads": 3}
    rows = Rows(np.abs(rows.x), rows.y, rows.w)
    monkeypatch.setattr("streamnb.solving.parts.CLASSES_BLOCK", 7 * rows.x.shape[1])
    dense, sparse = (
        snb.solve(scan(rows, sparse=sparse), "multinomial", penalty, **options) for sparse in (False, True)
    )
    assert dense.grid == sparse.grid
    assert all((a.coef_ == b.coef_).all() for a, b in zip(dense, sparse, strict=True))


def test_an_indicator_of_labels():
    rng = np.random.default_rng(0)
    rows = Rows(rng.integers(0, 3, (60, 8)).astype(float), rng.random((60, 5)) < 0.3, np.ones(60))
    dense, sparse = (scan(rows, sparse=sparse) for sparse in (False, True))
    assert same_stats(dense, sparse) and same_stats(dense.every, sparse.every)
    assert same_stats(with_and_without(dense, 2), with_and_without(sparse, 2))


def test_an_indicator_that_gains_labels(monkeypatch):
    rng = np.random.default_rng(0)
    x, y = rng.integers(0, 3, (60, 8)), rng.random((60, 5)) < 0.3
    dense = snb.LinearNB("poisson").partial_fit(x[:30], y[:30, :3]).partial_fit(x[30:], y[30:])
    monkeypatch.setattr(moment_sums, "WIDE", (0, 0))
    monkeypatch.setattr(moment_sums, "EMPTY", 0)
    monkeypatch.setattr(moment_sums, "FULL", np.inf)
    sparse = snb.LinearNB("poisson").partial_fit(x[:30], y[:30, :3]).partial_fit(x[30:], y[30:])
    assert is_sparse(sparse.stats_) and same_sums(sparse.stats_, {"sum": dense.stats_.sum})
    assert (sparse.coef_ == dense.coef_).all()


@pytest.mark.slow
def test_tasks_of_dask_keep_sparse_tables_too():
    x, y = sp.random_array((2000, 2000), density=0.002, format="csr", rng=0), np.arange(2000) % 700
    lazy = da.from_array(x, chunks=(150, -1), asarray=False)
    with dask.config.set(scheduler="threads"):
        stats = snb.scan(lazy, y, moments=["sum", "sum_sq"], memory_limit="1MB")  # dense would be 22 MB
    whole = snb.scan(x, y, moments=["sum", "sum_sq"])
    assert is_sparse(stats) and not is_sparse(whole)
    assert (stats.sum == whole.sum).all() and (stats.sum_sq == whole.sum_sq).all()


@pytest.mark.compiled
def test_folds_are_judged_on_sparse_tables():
    rng = np.random.default_rng(0)
    y = np.arange(600) % 40
    x = sp.csr_array((np.ones(600), (np.arange(600), 3 * y + rng.integers(0, 3, 600))), shape=(600, 400))
    chosen = [
        snb.LinearNBCV("poisson", snb.L1([0.1, 0.5, 1.0]), folds=3, scoring="accuracy").fit(x, y, memory_limit=limit)
        for limit in ("1GB", "300kB")  # dense tables of three folds would be 384 kB
    ]
    assert [is_sparse(model.stats_) for model in chosen] == [False, True]
    assert chosen[0].best_params_ == chosen[1].best_params_
    assert (chosen[0].cv_results_["mean_test_score"] == chosen[1].cv_results_["mean_test_score"]).all()


@pytest.mark.compiled
def test_tables_become_dense_again_when_they_are_full(monkeypatch):
    monkeypatch.setattr(moment_sums, "WIDE", (0, 0))
    rows = real_rows(3000)
    blocks = [(sp.csr_array(rows.x[i : i + 30]), rows.y[i : i + 30]) for i in range(0, 3000, 30)]
    monkeypatch.setattr(moment_sums, "EMPTY", 1)
    stats = snb.scan(iter(blocks), classes=range(30))
    assert not is_sparse(stats)
    assert same_stats(stats, snb.scan(rows.x, rows.y))


@pytest.mark.parametrize(
    "wrong",
    [
        {"keys": np.array([3, 1, 2])},
        {"keys": np.array([-1, 1, 2])},
        {"keys": np.array([0, 1, 7])},
        {"keys": np.array([0, 1, 3 << 61])},
        {"keys": np.array([0.0, 1.0, 2.0])},
        {"hi": np.ones(2)},
        {"lo": np.ones(3, np.float32)},
        {"shape": [4, -3]},
        {"shape": [4, 1 << 70]},
    ],
    ids=str,
)
def test_cells_that_are_no_table_are_refused(wrong):
    state = {"shape": [4, 3], "keys": np.arange(3), "hi": np.ones(3), "lo": None}
    SparseTable._from_state(state)
    with pytest.raises(ValueError, match="should"):
        SparseTable._from_state({**state, **wrong})


# ------------------------------------------------------------------------------------------- what does not fit


def test_moments_of_absent_values_need_dense_tables_and_say_so():
    X, y = np.random.default_rng(0).random((100, 40)) + 0.5, np.arange(100)
    with pytest.raises(MemoryError, match=r"the sums \(log_sum\) of 100 classes and 40 features would take 64.0 kB"):
        snb.scan(X, y, moments=["log_sum"], memory_limit=1000)
    with pytest.raises(MemoryError, match="name fewer moments, give a larger memory_limit"):
        snb.scan(X, y, moments=["above"], binarize=-1.0, memory_limit=1000)


@pytest.mark.compiled
def test_sparse_tables_that_outgrow_the_limit_too_say_so():
    blocks = [(sp.random_array((50, 5000), density=0.01, format="csr"), np.arange(50) + 50 * i) for i in range(20)]
    with pytest.raises(MemoryError, match=r"that the rows so far touch would take .* memory_limit allows 200.0 kB"):
        snb.scan(iter(blocks), memory_limit=200_000)


def test_what_is_too_large_to_be_dense_says_how_it_can_be_read(monkeypatch):
    monkeypatch.setattr("streamnb.stats.tables.LARGE", 0)
    monkeypatch.setattr("streamnb.core.memory.free_memory", lambda: 1000)
    stats = scan(real_rows())
    with pytest.raises(MemoryError, match=r"30 classes and 20 features would take 4.8 kB .* stats.to_scipy\(moment\)"):
        _ = stats.sum
    assert stats.select([2, 7], ("sum",)).sum.shape == (30, 2)


def test_the_size_of_tables_may_be_asked_for_while_they_become_sparse():
    """As the thread does that deals out the blocks."""
    sums = moment_sums.MomentSums(MOMENTS, RowOptions())

    class Meanwhile(Runs):
        @property
        def nbytes(self):
            sums._runs["nonzero"] = Runs()  # what another thread does in this moment
            return super().nbytes

    sums._runs["sum"] = Meanwhile()
    assert sums.nbytes == 0 and len(sums._runs) == 2


# ---- dense tables ----------------------------------------------------------------------------------------------------

ROWS = np.arange(2)


def dense_table(values):
    return Table(np.array(values, float).reshape(2, 3))


@given(st.lists(st.sampled_from([0.0, -0.0, 1.0, -3.0, 0.5, 2.0**52, 2.0**53]), min_size=12, max_size=12))
def test_counts_are_added_without_a_kernel_to_its_bits(values):
    a, b = dense_table(values[:6]), dense_table(values[6:])
    in_parts = Table(b.hi.copy(), np.zeros((1, 2, 3)))
    for sign, rows in ((1.0, ROWS), (-1.0, ROWS), (1.0, np.array([-1, 1]))):
        found, expected = a.combined(b, rows, ROWS, sign), a.combined(in_parts, rows, ROWS, sign)
        for one, other in zip(parts_of(found), parts_of(expected), strict=True):
            np.testing.assert_array_equal(one, other)


def test_digits_below_float64_are_kept():
    both = dense_table([1e16] * 6).plus(dense_table([1.0] * 6))
    assert both.lo is not None and both.plus(dense_table([1e16] * 6), -1.0).value().tolist() == [[1.0] * 3] * 2


# ---- Sums of all classes: of their rows, and the same bits from dense and sparse tables ------------------------------


@settings(max_examples=25)
@given(st.integers(0, 2**32 - 1), st.sampled_from([None, 1.0, 1e12]))
def test_sums_and_spread_of_all_rows_in_either_kind_of_tables(seed, weigh):
    rng = np.random.default_rng(seed)
    X = sp.random_array((60, 9), density=0.2, rng=rng).toarray() - np.repeat([0.0, 0.0, 1e6], 3)
    y, weight = rng.integers(0, 5, 60), None if weigh is None else rng.random(60) * weigh ** rng.random(60)
    stats = snb.scan(X, y, sample_weight=weight, moments=["sum", "sum_sq"])
    one, few = (
        snb.scan(X, np.zeros(60, int), sample_weight=weight, moments=["sum", "sum_sq"]),
        stats.with_tables(SparseTable.of),
    )
    for moment in ("sum", "sum_sq", "weight"):
        np.testing.assert_array_equal(whole(stats.table(moment)).value(), one.table(moment).value())
        np.testing.assert_array_equal(whole(few.table(moment)).value(), one.table(moment).value())
    w = np.ones(60) if weight is None else weight
    expected = (w[:, None] * (X - np.average(X, axis=0, weights=w)) ** 2).sum(axis=0)
    np.testing.assert_allclose(spread_about_mean(stats), expected, rtol=1e-7, atol=1e-15 * w.sum())
    np.testing.assert_array_equal(spread_about_mean(few), spread_about_mean(stats))
    np.testing.assert_array_equal(by_column(few.table("sum")).toarray(), stats.sum.T)


@pytest.mark.parametrize("largest", [3, 2**52, 2**53])
def test_sums_of_counts_are_exact_however_large(largest):
    cells = np.random.default_rng(0).integers(-largest, largest, (9, 4), endpoint=True)
    total = whole(Table(cells.astype(float)))
    assert [sum(map(int, parts)) for parts in zip(*(part[0] for part in parts_of(total)), strict=True)] == [
        sum(map(int, column)) for column in cells.T
    ]


@pytest.mark.parametrize("n", [3, 10, 34])
def test_sums_of_fractions_do_not_depend_on_the_order_of_classes(n):
    cells = np.random.default_rng(n).integers(1, 100, (n, 200)) / n  # whole, multiplied by the number of classes
    expected = [math.fsum(column) for column in cells.T]
    for order in (slice(None), slice(None, None, -1)):
        np.testing.assert_array_equal(whole(Table(cells[order])).value()[0], expected)
