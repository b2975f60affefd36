"""The main directions of labels, beside an eigendecomposition of the rows themselves."""

import numpy as np
import pytest

from streamnb.passes.contract import RunOptions
from streamnb.passes.run import run_reads
from streamnb.rows.opening import opened
from streamnb.rows.preparing import RowOptions
from streamnb.scanning.class_scan import ClassScan, run_scan
from streamnb.solving.least_squares import LabelAxes

rng = np.random.default_rng(0)


def scanned(y, weight=None, folding=None):
    task = ClassScan(("sum",), RowOptions(), folding=folding, labels=True)
    return run_reads(run_scan(task, opened(rng.random((len(y), 2)), y, weight), RunOptions()))[0]


@pytest.mark.parametrize("y", [np.ones((5, 3), int), np.zeros((5, 3), int), np.tile([0, 1], (5, 1))])
def test_labels_that_no_row_differs_in_are_refused(y):
    with pytest.raises(ValueError, match=r"each of its \d labels is in all of them or in none"):
        LabelAxes.of(scanned(y, np.full(5, 0.1)), 2)


def test_few_axes_of_many_labels_are_the_same_without_all_pairs():
    y = (rng.random((80, 45)) < rng.random(45) ** 3).astype(int)
    stats = scanned(y, rng.random(80))
    few, all_ = LabelAxes.of(stats, 4, limit=1000), LabelAxes.of(stats, 45)
    np.testing.assert_allclose(few.scatter, all_.scatter[:4])
    np.testing.assert_allclose(np.abs(few.axes @ all_.axes[:4].T), np.eye(4), atol=1e-9)
    with pytest.raises(MemoryError, match=r"main components of 45 labels.*n_components below 5"):
        LabelAxes.of(stats, 5, limit=1000)
