"""A portable model beside many rows: steps in the order of a scan, and what a scan has no place for."""

import numpy as np

from streamnb.models.many_rows import answered
from streamnb.models.portable import PortableModel
from streamnb.models.steps import RowStep
from tests.support.exported import X


def test_steps_factors_lengths_and_functions_keep_their_order():
    steps = (
        RowStep("l1", 100.0),
        RowStep("log1p"),
        RowStep("scale", np.array([1.0, 2.0, 0.5, 1.0, 3.0])),
        RowStep("l2", 1.0),
        RowStep("above", 0.25, np.array([0, 3])),
    )
    weights = np.random.default_rng(0).normal(size=(5, 3))
    model = PortableModel(np.array([0, 1, 2]), weights, np.array([0.1, 0.2, 0.3]), 5, steps=steps)
    expected = model.decision_function(X)
    found = answered(model, X, np.asarray, 3, np.dtype(np.float64), None)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
