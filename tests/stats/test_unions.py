"""Sums of sets of classes against a scan of the indicator that they mean."""

import numpy as np
import pytest
import scipy.sparse as sp

import streamnb as snb
from streamnb.stats.unions import unions

rng = np.random.default_rng(0)
X, Y, WEIGHT = rng.normal(size=(60, 3)), rng.integers(0, 4, 60), rng.random(60)
MEMBERS = np.array([[1, 1, 0, 0], [0, 1, 1, 1], [0, 0, 0, 0], [1, 0, 0, 0]], bool)


@pytest.mark.parametrize("rows", [X, sp.csr_array(X * (rng.random(X.shape) < 0.5))], ids=["dense", "sparse"])
def test_sums_are_those_of_the_indicator(rows):
    found = unions(snb.scan(rows, Y, sample_weight=WEIGHT), MEMBERS)
    scanned = snb.scan(rows, MEMBERS[:, Y].T.astype(int), sample_weight=WEIGHT)
    for name in ("sum", "sum_sq", "nonzero", "above", "weight"):
        np.testing.assert_array_equal(getattr(found, name), getattr(scanned, name))
        np.testing.assert_array_equal(getattr(found.every, name), getattr(scanned.every, name))
    assert found.rows.tolist() == scanned.rows.tolist() and found.n_rows == 60 and found.multilabel
