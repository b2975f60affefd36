"""Sums of features and targets: what NumPy sums, and what is left where folds are taken away."""

import numpy as np
import pytest
import scipy.sparse as sp

from streamnb.encoding.opening import opened
from streamnb.estimators.target_sums import TargetScan
from streamnb.passes.contract import RunOptions
from streamnb.passes.passes import StatisticTask
from streamnb.passes.run import run

rng = np.random.default_rng(0)
X, Y, W = rng.normal(size=(90, 4)), rng.normal(size=(90, 2)), rng.uniform(0.5, 2.0, 90)


def summed(X=X, y=Y, w=W, **options):
    scan = StatisticTask(TargetScan.asked(**options))
    return run(scan, opened(X, y, w, labelled="targets"), RunOptions(n_threads=2))[0].sums


def test_sums_of_other_targets_do_not_add_up():
    with pytest.raises(ValueError, match="these sums have 2 targets, the others 1"):
        summed() + summed(y=Y[:, 0])
    with pytest.raises(ValueError, match="y has 1 columns, and 2 in the rows before"):
        summed(iter([(X[:50], Y[:50]), (X[50:], Y[50:, 0])]), None, None)


def test_too_many_columns_are_refused_with_the_number_that_fits():
    with pytest.raises(MemoryError, match=r"sums of products of 5,001 columns, y among them, need .* enough for 111"):
        summed(sp.csr_array((90, 5000)), memory_limit=100_000)
