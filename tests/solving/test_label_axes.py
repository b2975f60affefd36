"""The main directions of labels, beside an eigendecomposition of the rows themselves."""

import numpy as np
import pytest

import streamnb as snb
from streamnb.passes.contract import RunOptions
from streamnb.rows.opening import opened
from streamnb.rows.preparing import RowOptions
from streamnb.rows.splits import Folding
from streamnb.scanning.class_scan import ClassScan, run_scan
from streamnb.solving.least_squares import LabelAxes

rng = np.random.default_rng(0)
SETS, W = rng.integers(0, 2, (60, 4)) | rng.integers(0, 2, (60, 1)), rng.random(60)


def scanned(y, weight=None, folding=None):
    task = ClassScan(("sum",), RowOptions(), folding=folding, labels=True)
    return run_scan(task, opened(rng.random((len(y), 2)), y, weight), RunOptions())[0]


def test_axes_are_those_of_the_rows_outside_a_fold_as_often_as_they_weigh():
    stats, number = scanned(SETS, W, Folding(3)), snb.fold_numbers(60, 3)
    for part, rows in ((stats, number >= 0), (stats.without_fold(1), number != 1)):
        y, weight = SETS[rows], W[rows]
        mean = np.average(y, axis=0, weights=weight)
        _, values, axes = np.linalg.svd(np.sqrt(weight)[:, None] * (y - mean))
        found = LabelAxes.of(part, 3)
        np.testing.assert_allclose(found.scatter, values[:3] ** 2)
        np.testing.assert_allclose(np.abs(found.axes @ axes[:3].T), np.eye(3), atol=1e-9)
        np.testing.assert_allclose(found.base, 2.0 * mean - 1.0)
        np.testing.assert_array_equal(found.first(1).axes, found.axes[:1])


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
