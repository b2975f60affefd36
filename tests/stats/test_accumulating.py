"""Blocks of rows into class sums: classes of any kind, folds, indicators, and what is refused on the way."""

import numpy as np
import pytest
import scipy.sparse as sp

from streamnb.rows.boundary import as_chunk
from streamnb.rows.preparing import RowOptions
from streamnb.rows.splits import Folding
from streamnb.stats.accumulating import Accumulator
from streamnb.stats.tables import whole
from tests.support.strategies import MOMENTS


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


def test_sums_of_all_classes_and_of_each_share_the_limit():
    x, y = np.random.default_rng(0).normal(size=(12, 500)), np.arange(12) % 2
    part = Accumulator(("sum", "sum_sq"), RowOptions(), None, memory_limit=30_000, together=["sum_sq"])
    with pytest.raises(MemoryError, match=r"sums \(sum\) of 2 classes and 500 features"):
        for first in (0, 4, 8):
            part.add(*as_chunk(x[first : first + 4], first), y[first : first + 4], None)
