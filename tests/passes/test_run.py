"""One pass, any task, any rows: the total of all of them, whoever read them."""

import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp

from streamnb.passes.contract import PassTask, RunOptions, Wants
from streamnb.passes.run import run
from streamnb.rows import row_blocks
from streamnb.rows.boundary import checked
from streamnb.rows.opening import opened

X = np.arange(60.0).reshape(20, 3)
Y = np.arange(20) % 2


class Sum:
    def __init__(self, value=0.0, blocks=0):
        self.value, self.blocks, self.nbytes = value, blocks, 8

    def __add__(self, other):
        return Sum(self.value + other.value, self.blocks + other.blocks)

    def arrays(self):
        return {"value": self.value, "blocks": self.blocks}

    def finish(self):
        return self


class Adding(PassTask):
    def __init__(self):
        self.asked = []

    def wants(self, n_rows, n_features):
        self.asked.append((n_rows, n_features))
        return Wants()

    def partial(self):
        return Sum()

    def add(self, partial, block):
        partial.value += checked(block)[0].to_matrix().sum()
        partial.blocks += 1

    def ended(self, total, report):
        return total.value, total.blocks, report.rows


@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array, lambda X: iter([(X[:7], Y[:7]), (X[7:], Y[7:])])])
def test_every_row_is_added_once(kind, n_threads, monkeypatch):
    monkeypatch.setattr(row_blocks, "BLOCK_ROWS", 6)
    given = kind(X)
    rows = opened(given, None if hasattr(given, "__next__") else Y)
    (value, blocks, n_rows), report = run(Adding(), rows, RunOptions(n_threads=n_threads))
    assert (value, n_rows) == (X.sum(), 20) and blocks == report.blocks >= 2


def test_dask_adds_where_its_blocks_are():
    task = Adding()
    (value, blocks, _), report = run(task, opened(da.from_array(X, chunks=(5, 3)), Y), RunOptions())
    assert (value, blocks, report.rows) == (X.sum(), 4, 20) and task.asked == [(20, 3)]


def test_a_task_is_asked_before_rows_are_read():
    class Refusing(Adding):
        def wants(self, n_rows, n_features):
            raise ValueError(f"{n_rows} x {n_features} are too many")

    with pytest.raises(ValueError, match="20 x 3 are too many"):
        run(Refusing(), opened(X, Y), RunOptions())


def test_a_checkpoint_needs_rows_that_can_be_read_again(tmp_path):
    with pytest.raises(ValueError, match="a stream of chunks"):
        run(Adding(), opened(iter([(X, Y)])), RunOptions(checkpoint=tmp_path / "kept"))
