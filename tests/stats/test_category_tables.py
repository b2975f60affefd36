"""Tables of categories that grow, against counting by hand, and against the sorted runs of other weights."""

import numpy as np
import pytest

from streamnb.encoding import counters
from streamnb.encoding.counters import CategoryCounts, CountedColumns, CountingCategories, CountTask
from streamnb.passes.contract import RunOptions
from streamnb.passes.run import run
from streamnb.rows.opening import opened
from streamnb.rows.splits import Folding
from streamnb.stats.tables import SparseTable

rng = np.random.default_rng(0)
N = 400
REAL = np.where(rng.random(N) < 0.1, np.nan, rng.normal(size=N).round(1))
X = np.column_stack([rng.integers(0, 9, N) - 4.0, rng.integers(0, 9, N), REAL])
Y = np.sort(rng.integers(0, 3, N))  # classes appear late
W = rng.integers(0, 4, N).astype(float)
FOLDING = Folding(3)
FOLDS = FOLDING.numbers(0, N, None, 0)


def grown(pieces=3, weight=W):
    counts = CountingCategories(None, FOLDING)
    for rows in np.array_split(np.arange(N), pieces):
        counts.add(X[rows], rows[0], Y[rows], None if weight is None else weight[rows], None)
    return counts.finish()


@pytest.mark.parametrize("weight", [None, W])
@pytest.mark.parametrize(("piece", "numbers"), [(7, 1 << 27), (1 << 16, 8 * 9 * 6)])
def test_sums_of_values_classes_and_folds(weight, piece, numbers, monkeypatch):
    monkeypatch.setattr(counters, "PIECE", piece)
    monkeypatch.setattr(counters, "NUMBERS", numbers)
    counts = grown(weight=weight)
    values, sums = counts.values, counts.sums
    w = np.ones(N) if weight is None else weight
    start = 0
    for j, own in enumerate(values):
        np.testing.assert_array_equal(own, np.unique(X[:, j]))
        for k in range(3):
            for u, value in enumerate(own):
                here = ((X[:, j] == value) | (np.isnan(X[:, j]) & np.isnan(value))) & (k == Y)
                assert sums.sum[k, start + u] == w[here].sum()
                of_folds = [w[here & (f == FOLDS)].sum() for f in range(3)]
                assert [fold.sum[k, start + u] for fold in sums.folds] == of_folds
        start += len(own)
    np.testing.assert_array_equal(sums.weight, [w[k == Y].sum() for k in range(3)])
    np.testing.assert_array_equal(sums.rows, np.bincount(Y))


def counted(rows=slice(None), weight=W, **more):
    task = CountTask(CountedColumns([]), None, FOLDING, **more)
    given = opened(X[rows], Y[rows], None if weight is None else weight[rows])
    return run(task, given, RunOptions(progress=False, n_threads=1))[0]


def same(a, b):
    for x, y in zip(a.values, b.values, strict=True):
        np.testing.assert_array_equal(x, y)
    for one, other in ((a.sums, b.sums), *zip(a.sums.folds, b.sums.folds, strict=True)):
        np.testing.assert_array_equal(one.sum, other.sum)
        np.testing.assert_array_equal(one.weight, other.weight)


def test_tables_runs_and_their_sums_are_the_same(monkeypatch):
    halves = counted(weight=W / 2.0)  # whose weights are not whole: sorted runs
    whole = counted()
    assert isinstance(halves.sums.table("sum"), SparseTable) and not isinstance(whole.sums.table("sum"), SparseTable)
    same(halves * 2.0, whole)
    monkeypatch.setattr(counters, "FULL", 1)  # a run after every block
    same(counted(), whole)
    monkeypatch.setattr(counters, "EXACT", 10.0)  # no block fits
    same(counted(), whole)
    monkeypatch.setattr(counters, "FILLED", 0)
    same(halves * 2.0 + whole, whole * 2.0)


def test_memory_limit_is_kept():
    with pytest.raises(MemoryError, match=r"counts of the values of all columns .* hash_bits=20"):
        counted(memory_limit=2000)
    assert counted(memory_limit=1 << 20).sums.n_rows == N


# ---- parts and files -------------------------------------------------------------------------------------------------


GAPS = np.where(rng.random((300, 2)) < 0.1, np.nan, rng.integers(-4, 9, (300, 2)).astype(float))
GROUPS, WEIGHTS = rng.integers(0, 3, 300), rng.random(300)


def counts_of(rows=slice(None)):
    task = CountTask(CountedColumns([]), None, Folding(2))
    return run(task, opened(GAPS[rows], GROUPS[rows], WEIGHTS[rows]), RunOptions(progress=False))[0]


def test_parts_of_other_values_merge_and_files_are_looked_at():
    low, high = GAPS[:, 0] < 2, ~(GAPS[:, 0] < 2)
    parts = counts_of(low) + counts_of(high)
    np.testing.assert_array_equal(parts.sums.sum, counts_of().sums.sum)
    np.testing.assert_array_equal((parts - counts_of(high)).sums.sum.sum(), counts_of(low).sums.sum.sum())
    state = parts.arrays()
    np.testing.assert_array_equal(CategoryCounts._from_state(state).values[1], parts.values[1])
    for wrong in ({"values": state["values"][::-1].copy()}, {"n_values": state["n_values"] + 1}, {"sums": None}):
        with pytest.raises(ValueError, match=r"values|counts|sums"):
            CategoryCounts._from_state({**state, **wrong})
