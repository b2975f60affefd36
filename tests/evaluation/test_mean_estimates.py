"""Intervals of means over rows: accuracy, losses, metrics of label sets, calibration error."""

import numpy as np
import pytest
from scipy.stats import binomtest, norm, t

import streamnb as snb
from streamnb.evaluation.estimates import filled_buckets, spread_of
from streamnb.evaluation.intervals import ESTIMATES
from tests.support.influence import drawn, influences, judged, of_groups

LOSSES = ["log_loss", "brier"]
OF_SETS = ["hamming_loss", "jaccard", "subset_accuracy", "ranking_loss"]


@pytest.mark.parametrize("multilabel", [False, True])
def test_variances_are_those_of_what_rows_add(multilabel):
    problem = made, labels, outputs = drawn(1, multilabel=multilabel, interval=0.9)
    weight, groups = np.arange(60) % 3 + 1.0, np.arange(60) // 7
    names = ["accuracy", *LOSSES] + (OF_SETS if multilabel else [])
    metrics = [(name, {}) for name in names]
    if multilabel:
        metrics += [(name, {"average": "samples"}) for name in ("precision", "recall", "f_score")]
    alone = judged(made, labels, outputs, weight)
    together = judged({**made, "grouped": True}, labels, outputs, weight, groups)
    for (name, options), added in zip(metrics, influences(problem, metrics, weight), strict=True):
        of_rows = ESTIMATES[name](alone, **options)
        unbiased = weight.sum() / (weight.sum() - 1.0) if name in LOSSES else 1.0
        assert of_rows.variance == pytest.approx(unbiased * np.square(added) @ weight, rel=1e-5), name
        expected, n = of_groups(added * weight, groups)
        found = ESTIMATES[name](together, **options)
        assert (found.variance, found.df) == (pytest.approx(expected, rel=1e-5), n - 1), name
        if name in LOSSES:
            assert of_rows.skewness == pytest.approx(skew(np.repeat(added, weight.astype(int))), rel=1e-4)
            sums = np.array([(added * weight)[groups == g].sum() for g in np.unique(groups)])
            assert found.skewness == pytest.approx((sums**3).sum() / np.square(sums).sum() ** 1.5, rel=1e-4)


def skew(added):
    """Skewness of the mean of rows, from what each adds."""
    return (added**3).sum() / np.square(added).sum() ** 1.5


@pytest.mark.parametrize(("multilabel", "grouped"), [(False, False), (True, False), (False, True)])
def test_of_calibration_the_interval_holds_the_errors_that_fit(multilabel, grouped):
    made, labels, outputs = drawn(3, n=400, multilabel=multilabel, interval=0.95, grouped=grouped)
    one = judged(made, labels, outputs, None, np.arange(400) if grouped else None)
    found, (low, high) = ESTIMATES["expected_calibration_error"](one), one.interval("expected_calibration_error")
    assert found.value == pytest.approx(one.expected_calibration_error())
    rng = np.random.default_rng(0)
    for end, side in ((low, 1.0), (high, -1.0)):  # at either end, the error found would be rare
        size = found.distances * end / found.value
        noise = rng.normal(size=(20_000, len(size))) * np.sqrt(np.maximum(found.variances, 0.0))
        drawn_errors = np.abs(size + noise).sum(axis=1)
        beyond = (side * (drawn_errors - found.value) > 0.0).mean()
        assert 0.01 < beyond < 0.05 or (end == 0.0 and beyond > 0.02)


def test_of_calibrated_rows_the_interval_begins_at_0():
    made, _, outputs = drawn(5, n=2000, K=2, interval=0.95)
    proba = np.exp(outputs["log_proba"])
    labels = (np.random.default_rng(1).random(2000) < proba[:, 1]).astype(int)
    one = judged(made, labels, outputs)
    low, high = one.interval("expected_calibration_error")
    assert low == 0.0 < one.expected_calibration_error() / 2.0 < high


def test_predictions_that_are_sure_and_all_right():
    y = np.tile([0, 1], 30)
    for groups, n in ((None, 60), (np.arange(60), filled(np.arange(60)))):
        one = snb.evaluate(y, proba=y.astype(float), interval=0.95, groups=groups)
        few = t(n - 1).ppf(0.975) if groups is not None else norm.ppf(0.975)
        assert one.interval("expected_calibration_error") == pytest.approx((0.0, few**2 / (n + few**2)))
        assert one.interval("log_loss")[0] <= one.log_loss() and one.interval("brier") == (0.0, 0.0)


def filled(groups):
    return filled_buckets(spread_of(snb.evaluate(groups % 2, groups % 2, interval=0.95, groups=groups)))


def test_of_few_rows_losses_stay_in_their_range():
    y, proba, heavy = [0, 1, 0], [0.9, 0.9, 0.1], [1.0, 0.01, 0.01]
    assert snb.evaluate(y, proba=proba, interval=0.95).interval("brier")[1] == 1.0
    assert np.isnan(snb.evaluate(y, proba=proba, sample_weight=heavy, interval=0.95).interval("log_loss")).all()


def test_accuracy_has_wilsons_interval():
    made, labels, outputs = drawn(2, interval=0.95)
    one = judged(made, labels, outputs)
    expected = binomtest(int((labels == outputs["predicted"]).sum()), 60).proportion_ci(0.95, method="wilson")
    assert one.interval("accuracy") == pytest.approx((expected.low, expected.high))
    low, high = one.interval("log_loss")
    assert 0.0 < low < one.log_loss() < high
