"""A task of one's own: what it is given, and what is refused."""

import operator
import threading
from dataclasses import dataclass, field, replace
from typing import Annotated, Any

import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp

import streamnb as snb
from streamnb.passes.passes import StatisticTask
from tests.support.clusters import cluster_of
from tests.support.of_users import Extremes

X = np.array([[1.0, 0.0], [0.0, 2.0], [3.0, 4.0]])


class Rows:
    """Rows and weight, and what the blocks were like."""

    def __init__(self, n=0, weight=0.0, seen=()):
        self.n, self.weight, self.seen, self.nbytes = n, weight, list(seen), 16

    def __add__(self, other):
        return Rows(self.n + other.n, self.weight + other.weight, self.seen + other.seen)

    def arrays(self):
        return {"n": self.n, "weight": self.weight}

    def finish(self):
        return self


class Count(snb.PassTask):
    def partial(self):
        return Rows()

    def add(self, partial, block):
        partial.n += block.X.shape[0]
        partial.weight += block.X.shape[0] if block.weight is None else block.weight.sum()
        partial.seen.append((type(block.X), block.X.dtype, block.first_row, block.y))


@pytest.mark.parametrize("y", [None, ["a", "b", "a"]])
def test_blocks_are_checked_rows(y):
    for given, kind in ((X, np.ndarray), (X.astype(np.int64).tolist(), np.ndarray), (sp.coo_array(X), sp.csr_array)):
        total = snb.accumulate(given, y, Count(), sample_weight=[0.5, 1.0, 2.0])
        assert (total.n, total.weight) == (3, 3.5)
        ((found, dtype, first_row, labels),) = total.seen
        assert found is kind and dtype.kind in "fi" and first_row == 0
        assert (labels is None) == (y is None)


def test_blocks_cannot_be_written_to():
    class Write(Count):
        def add(self, partial, block):
            block.X[0, 0] = 7.0

    with pytest.raises(ValueError, match="read-only"):
        snb.accumulate(X, task=Write())


def test_blocks_of_streams_and_dask_are_numbered():
    streamed = snb.accumulate(iter([X, X]), task=Count())
    assert sorted(first_row for _, _, first_row, _ in streamed.seen) == [0, 3]
    lazy = snb.accumulate(da.from_array(X, chunks=(2, 2)), task=Count())
    assert lazy.n == 3 and sorted(first_row for _, _, first_row, _ in lazy.seen) == [0, 2]


def test_what_a_task_refuses_and_makes_of_the_end():
    class Narrow(Count):
        def wants(self, n_rows, n_features):
            if n_features is not None and n_features > 1:
                raise ValueError(f"X has {n_features} columns; take one")
            return super().wants(n_rows, n_features)

        def ended(self, total, report):
            return total.n, report.rows

    with pytest.raises(ValueError, match="X has 2 columns; take one"):
        snb.accumulate(X, task=Narrow())
    assert snb.accumulate(X[:, :1], task=Narrow()) == (3, 3)


def test_a_task_knows_how_many_rows_a_stream_has(capsys):
    class Known(Count):
        n_rows = 6

    assert snb.accumulate(iter([X, X]), task=Known(), progress=True).n == 6
    assert "6.00/6.00" in capsys.readouterr().err


class NoSum:
    nbytes = 0

    def arrays(self):
        return {}

    def finish(self):
        return self


class NoArrays:
    nbytes = 0

    def __add__(self, other):
        return self

    def finish(self):
        return self


def of(part):
    class Task(Count):
        def partial(self):
            return part()

        def add(self, partial, block):
            pass

    return Task()


@pytest.mark.parametrize(
    ("task", "message"),
    [
        (None, "task is of type NoneType; it should be a snb.Statistic, or an object of a subclass of"),
        (Count, "task is of type type"),
        (of(dict), r"task: Task.partial\(\) returned dict, which lacks finish"),
        (of(NoSum), "returned NoSum, which lacks __add__"),
        (of(NoArrays), r"returned NoArrays, which lacks arrays; a total adds up \(\+\)"),
    ],
)
def test_what_is_no_task(task, message):
    with pytest.raises(TypeError, match=message):
        snb.accumulate(X, task=task)


@pytest.mark.parametrize("empty", [np.zeros((0, 2)), iter([]), iter([np.zeros((0, 2))]), sp.csr_array((0, 2))])
def test_rows_there_should_be(empty):
    with pytest.raises(ValueError, match="Found array with 0 sample"):
        snb.accumulate(empty, task=Count())


def test_values_are_checked():
    with pytest.raises(ValueError, match="contains NaN"):
        snb.accumulate([[np.nan, 1.0]], task=Count())


@pytest.mark.cluster
def test_a_task_that_cannot_be_sent(tmp_path):
    class Locked(Count):
        def __init__(self):
            self.lock = threading.Lock()

    store = tmp_path / "rows.zarr"
    snb.write_csr(store, [sp.csr_array(X)], n_features=2)
    with cluster_of(1, tmp_path):
        with pytest.raises(TypeError, match="the task Locked cannot be sent to workers"):
            snb.accumulate(store, task=Locked())
        with pytest.raises(TypeError, match="the task Locked cannot be sent to workers"):
            snb.accumulate(da.from_array(X), task=Locked())
        assert snb.accumulate(store, task=Count()).n == 3


@dataclass(eq=False)
class BySign(snb.Statistic):
    """The extremes of the values from a bound on, and of the others."""

    bound: float
    above: Annotated[Any, operator.add] = field(default_factory=Extremes)
    below: Annotated[Any, operator.add] = field(default_factory=Extremes)

    def add(self, rows):
        large = rows.X[:, 0] >= self.bound
        self.above.add(replace(rows, X=rows.X[large]))
        self.below.add(replace(rows, X=rows.X[~large]))


def test_a_statistic_may_hold_others(tmp_path):
    signs = BySign(1.0)
    for rows in (X, da.from_array(X, chunks=(1, 2))):
        found = snb.accumulate(rows, task=signs)
        assert (found.above.n_rows, found.above.most.tolist()) == (2, [3.0, 4.0])
        assert (found.below.n_rows, found.below.most.tolist()) == (1, [0.0, 2.0])
    assert signs.above.n_rows == 0  # what asks for rows stays as it is
    kept = snb.accumulate(X, task=signs, checkpoint=tmp_path / "c.snb")
    again = StatisticTask(signs).total(snb.load(tmp_path / "c.snb").stats)
    assert again.bound == 1.0 and again.above.least.tolist() == kept.above.least.tolist() == [1.0, 0.0]
    assert again.nbytes == again.above.nbytes + again.below.nbytes > 0
