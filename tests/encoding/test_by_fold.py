"""Totals of folds: those of the rows outside a fold are what a pass over these leaves."""

import numpy as np
import pytest
import scipy.sparse as sp

from streamnb.encoding.bins import ValueScan
from streamnb.encoding.by_fold import OfFolds
from streamnb.passes.options import RunOptions
from streamnb.passes.run import run
from streamnb.rows.opening import opened
from streamnb.rows.splits import Folding, fold_numbers

X = np.random.default_rng(0).poisson(1.0, (50, 4)).astype(float)
OPTIONS = RunOptions(progress=False)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_totals_without_a_fold_are_those_of_the_other_rows(form):
    totals, _ = run(OfFolds(ValueScan(), Folding(3, seed=1)), opened(form(X), labelled=False), OPTIONS)
    folds = fold_numbers(50, 3, seed=1)
    for fold in (0, 1, 2, None):
        alone, _ = run(ValueScan(), opened(form(X[folds != fold]), labelled=False), OPTIONS)
        for mine, own in zip(totals.without(fold).features, alone.features, strict=True):
            np.testing.assert_array_equal(mine.keys, own.keys)
            np.testing.assert_array_equal(mine.counts, own.counts)
