"""Blocks of rows into class sums: classes of any kind, folds, indicators, and what is refused on the way."""

import numpy as np
import pytest
import scipy.sparse as sp

from streamnb.rows.boundary import as_chunk
from streamnb.rows.preparing import RowOptions
from streamnb.rows.splits import Folding
from streamnb.stats.accumulating import Accumulator
from streamnb.stats.tables import whole
from tests.support.strategies import MOMENTS, example, same_sums, sums_of


def accumulated(parts, classes=None, folding=None, make=np.asarray, moments=MOMENTS, **options):
    part, first = Accumulator(moments, RowOptions(**options), classes, folding), 0
    for rows in parts:
        chunk, survey = as_chunk(make(rows.x), first)
        part.add(chunk, survey, rows.y, rows.w)
        first += len(rows)
    return part.finish()


def test_classes_that_are_listed_come_in_order_also_without_rows():
    rows = example("int")
    stats = accumulated(rows.split([20, 21]), classes=np.array([7, 99, 0, -1]))
    assert stats.closed and stats.classes.tolist() == [-1, 0, 7, 99]
    assert same_sums(stats, sums_of(rows, classes=[-1, 0, 7, 99]))
    with pytest.raises(ValueError, match=r"label 7 at row \d+, not in classes=\[-1, 0\]"):
        accumulated([rows], classes=np.array([0, -1]))


@pytest.mark.parametrize("indicator", [False, True])
def test_moments_of_all_classes_together_are_those_of_each_row_once(indicator):
    rng, folding = np.random.default_rng(0), Folding(3, repeats=2, seed=1)
    x, y = rng.normal(size=(40, 5)) * (rng.random((40, 5)) < 0.5), rng.integers(0, 3, 40)
    y, weight = sp.csr_array(rng.integers(0, 2, (40, 3))) if indicator else y, rng.random(40)
    parts = [
        Accumulator(MOMENTS[:4], RowOptions(), None, folding, together=some) for some in ((), ("sum_sq", "nonzero"))
    ]
    for part, make in zip(parts, (np.asarray, sp.csr_array), strict=True):
        for some in (slice(0, 15), slice(15, 40)):
            part.add(*as_chunk(make(x[some]), some.start), y[some], weight[some])
    own, stats = (part.finish() for part in parts)
    for mine, theirs in zip((own, *own.folds), (stats, *stats.folds), strict=True):
        assert (theirs.sum == mine.sum).all() and (theirs.above == mine.above).all()
        for moment in ("sum_sq", "nonzero"):
            expected = whole((mine.every if indicator else mine).table(moment))
            np.testing.assert_array_equal(theirs.table(moment).value(), expected.value())
    rest = stats.without_fold(1, repeat=1)
    np.testing.assert_array_equal((rest + stats.fold(1, repeat=1)).sum_sq, stats.sum_sq)


def test_what_does_not_go_together_is_refused():
    x = np.ones((3, 2))
    part = Accumulator(MOMENTS, RowOptions(), None)
    part.add(*as_chunk(x), np.array([0, 1, 0]), None)
    with pytest.raises(ValueError, match=r"X has 3 features, .* 2 features"):
        part.add(*as_chunk(np.ones((3, 3))), np.array([0, 1, 0]), None)
    with pytest.raises(ValueError, match=r"inconsistent numbers of samples: \[3, 2\]"):
        part.add(*as_chunk(x), np.array([0, 1]), None)
    with pytest.raises(ValueError, match="two kinds"):
        part.add(*as_chunk(x), np.array(["a", "b", "a"]), None)
    with pytest.raises(ValueError, match="y is an indicator of labels here and was one label a row before"):
        part.add(*as_chunk(x), sp.csr_array(np.ones((3, 1))), None)
    assert part.nbytes > 0


def test_sums_of_all_classes_and_of_each_share_the_limit():
    x, y = np.random.default_rng(0).normal(size=(12, 500)), np.arange(12) % 2
    part = Accumulator(("sum", "sum_sq"), RowOptions(), None, memory_limit=30_000, together=["sum_sq"])
    with pytest.raises(MemoryError, match=r"sums \(sum\) of 2 classes and 500 features"):
        for first in (0, 4, 8):
            part.add(*as_chunk(x[first : first + 4], first), y[first : first + 4], None)
