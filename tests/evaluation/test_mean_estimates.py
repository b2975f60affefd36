"""Intervals of means over rows: accuracy, losses, metrics of label sets, calibration error."""

import numpy as np
import pytest
from scipy.stats import binomtest

from streamnb.evaluation.intervals import ESTIMATES
from tests.support.influence import drawn, influences, judged, of_groups

OF_SETS = ["hamming_loss", "jaccard", "subset_accuracy", "ranking_loss"]


@pytest.mark.parametrize("multilabel", [False, True])
def test_variances_are_those_of_what_rows_add(multilabel):
    problem = made, labels, outputs = drawn(1, multilabel=multilabel, interval=0.9)
    weight, groups = np.arange(60) % 3 + 1.0, np.arange(60) // 7
    names = ["accuracy", "log_loss", "brier", "expected_calibration_error"] + (OF_SETS if multilabel else [])
    metrics = [(name, {}) for name in names]
    if multilabel:
        metrics += [(name, {"average": "samples"}) for name in ("precision", "recall", "f_score")]
    alone = judged(made, labels, outputs, weight)
    together = judged({**made, "grouped": True}, labels, outputs, weight, groups)
    for (name, options), added in zip(metrics, influences(problem, metrics, weight), strict=True):
        assert ESTIMATES[name](alone, **options).variance == pytest.approx(np.square(added) @ weight, rel=1e-5), name
        expected, n = of_groups(added * weight, groups)
        found = ESTIMATES[name](together, **options)
        assert (found.variance, found.df) == (pytest.approx(expected, rel=1e-5), n - 1), name


def test_accuracy_has_wilsons_interval():
    made, labels, outputs = drawn(2, interval=0.95)
    one = judged(made, labels, outputs)
    expected = binomtest(int((labels == outputs["predicted"]).sum()), 60).proportion_ci(0.95, method="wilson")
    assert one.interval("accuracy") == pytest.approx((expected.low, expected.high))
    low, high = one.interval("log_loss")
    assert 0.0 < low < one.log_loss() < high
