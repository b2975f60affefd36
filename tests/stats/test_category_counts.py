import numpy as np
import pytest

from streamnb.encoding.counters import CountedColumns, CountTask
from streamnb.passes.contract import RunOptions
from streamnb.passes.run import run
from streamnb.rows.opening import opened
from streamnb.rows.splits import Folding
from streamnb.stats.category_counts import CategoryCounts

rng = np.random.default_rng(0)
X = np.where(rng.random((300, 2)) < 0.1, np.nan, rng.integers(-4, 9, (300, 2)).astype(float))
Y, W = rng.integers(0, 3, 300), rng.random(300)


def counted(rows=slice(None)):
    task = CountTask(CountedColumns([]), None, Folding(2))
    return run(task, opened(X[rows], Y[rows], W[rows]), RunOptions(progress=False))[0]


def test_parts_of_other_values_merge_and_files_are_looked_at():
    low, high = X[:, 0] < 2, ~(X[:, 0] < 2)
    parts = counted(low) + counted(high)
    np.testing.assert_array_equal(parts.sums.sum, counted().sums.sum)
    np.testing.assert_array_equal((parts - counted(high)).sums.sum.sum(), counted(low).sums.sum.sum())
    state = parts.arrays()
    np.testing.assert_array_equal(CategoryCounts._from_state(state).values[1], parts.values[1])
    for wrong in ({"values": state["values"][::-1].copy()}, {"n_values": state["n_values"] + 1}, {"sums": None}):
        with pytest.raises(ValueError, match=r"values|counts|sums"):
            CategoryCounts._from_state({**state, **wrong})
