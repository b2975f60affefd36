"""One read: losses and gradients, in the same bits by columns and by rows; tests/laws cut the rows into blocks."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp

import streamnb as snb
from streamnb.passes.contract import RunOptions
from streamnb.passes.run import run
from streamnb.rows.opening import opened
from streamnb.rows.preparing import RowOptions
from streamnb.rows.splits import Folding
from streamnb.solving.cutting_planes import CrammerSinger
from streamnb.solving.objectives import Logistic, Softmax, SquaredHinge
from streamnb.solving.reading import ReadTask, SharedRead, power_above

rng = np.random.default_rng(2)
X = rng.normal(size=(90, 5)) * (rng.random((90, 5)) < 0.6)
CODES = np.arange(90) % 3
WEIGHT = rng.random(90) * (rng.random(90) < 0.9)
POINT, STEP = rng.normal(size=(6, 3)) / 3.0, rng.normal(size=(6, 3))


def task(objective, **more):
    grid = power_above(np.append(np.abs(X).sum(axis=0), 90.0) * 8.0)
    return ReadTask(objective, RowOptions(), np.arange(3), POINT, grid, 4096.0, **more)


def read(a_task, rows, n_threads=1):
    return run(a_task, rows, RunOptions(progress=False, n_threads=n_threads))[0]


def test_weights_that_no_cache_holds_give_the_same_bits_by_columns_and_by_rows():
    n_features, n_classes = 31_000, 13
    x = sp.random_array((900, n_features), density=0.003, format="csr", rng=rng)
    y, w = rng.integers(0, n_classes, 900), rng.random(900)
    weights = rng.normal(size=(n_features + 1, n_classes))
    grid = power_above(np.append(np.abs(x).T @ w, 900.0) * 2.0 + 1e-300)
    a_task = ReadTask(Softmax(), RowOptions(), np.arange(n_classes), weights, grid, 2.0**16)
    bounds = [0, 7, 300, 600, 900]
    chunks = [(x[a:b], y[a:b], w[a:b]) for a, b in pairwise(bounds)]
    (rows,), *few = ([*a_task.batches(block)] for block in (*opened(x, y, w).blocks(), *opened(iter(chunks)).blocks()))
    assert rows.columns(weights) is replace(rows, weight=rows.weight).columns(weights) is not None
    assert all(part.columns(weights) is None for (part,) in few)
    whole, cut = read(a_task, opened(x, y, w)), read(a_task, opened(iter(chunks)), n_threads=2)
    for name, value in whole.arrays().items():
        assert np.array_equal(value, cut.arrays()[name]), name
    residual, _ = Softmax().losses(x @ weights[:-1] + weights[-1], y)
    np.testing.assert_allclose(whole.gradient[:-1], x.T @ (w[:, None] * residual), atol=1e-12)


@pytest.mark.parametrize("objective", [Softmax(), Logistic(), SquaredHinge(), CrammerSinger()], ids=repr)
@pytest.mark.parametrize("lengths", [None, np.array([0.5, 1.0])], ids=["gradient", "line"])
def test_reads_side_by_side_leave_the_bits_of_each_alone(objective, lengths):
    tasks = []
    for m in range(5):
        factors = None if m % 2 else np.array([1.0, 2.0, 0.5 + m])
        one = task(objective, class_weight=factors, step=None if lengths is None else STEP * m, lengths=lengths)
        tasks.append(replace(one, weights=POINT * (m + 1), grid=one.grid * 2.0**m, top=one.top * 2.0**m))
    tasks.append(replace(tasks[0], weights=POINT[:, :3] * 0.0, grid=tasks[0].grid / 8.0))
    folding = Folding(2)
    read_of_folds = SharedRead(tuple(snb.Pass(each, without=m % 2) for m, each in enumerate(tasks)), folding)
    found = read_of_folds.answers(read(read_of_folds, opened(X, CODES, WEIGHT)), None)
    assert len(read_of_folds.templates[0].groups) == 1
    for m, each in enumerate(tasks):
        others = WEIGHT * (folding.splits(0, 90, None)[0] != m % 2)
        alone = read(each, opened(X, CODES, others))
        for name, value in alone.arrays().items():
            assert np.array_equal(value, found[m].arrays()[name]), (m, name)
