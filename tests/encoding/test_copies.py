"""Weights as whole numbers of copies in units: their sums are exact, and those of whole weights are the copies."""

import numpy as np

from streamnb.encoding.learning import OfCopies
from streamnb.fits.passes import StatisticTask
from streamnb.passes.contract import RunOptions
from streamnb.passes.run import run
from streamnb.rows.opening import opened
from streamnb.stats.value_counts import ValueCounts


def test_rows_without_weights_have_the_arrays_of_the_task_alone():
    """So files of older versions are read."""
    rows, options = opened(np.arange(9.0)[:, None], labelled=False), RunOptions(False)
    alone, _ = run(StatisticTask(ValueCounts()), rows, options)
    copies = OfCopies(ValueCounts())
    assert run(StatisticTask(copies), rows, options)[0].arrays().keys() == alone.arrays().keys()
    assert copies.of_arrays(alone.arrays()).whole().features[0].counts.tolist() == [1] * 9
