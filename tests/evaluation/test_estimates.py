"""Intervals from variances: Wilson's of shares, whatever scale they are on, and the normal one of losses."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest, norm, t

import streamnb as snb
from streamnb.evaluation.estimates import Estimate, filled_buckets, per_weight, quantile
from streamnb.evaluation.intervals import ESTIMATES
from tests.support.influence import drawn, influences, judged, of_groups


def share(right, n):
    return Estimate(right / n, right / n * (1.0 - right / n) / n, n)


@pytest.mark.parametrize(("right", "n"), [(37, 50), (0, 20), (20, 20), (1, 400)])
def test_of_a_share_it_is_wilsons(right, n):
    expected = binomtest(right, n).proportion_ci(0.9, method="wilson")
    assert share(right, n).bounds(0.9) == pytest.approx((expected.low, expected.high))
    turned = Estimate(2.0 * right / n - 1.0, 4.0 * share(right, n).variance, n, low=-1.0)  # as of a correlation
    assert turned.bounds(0.9) == pytest.approx((2.0 * expected.low - 1.0, 2.0 * expected.high - 1.0))
    of_classes = Estimate(*(np.array([x, np.nan]) for x in (right / n, share(right, n).variance, float(n))))
    low, high = of_classes.bounds(0.9)
    assert (low[0], high[0]) == pytest.approx((expected.low, expected.high)) and np.isnan([low[1], high[1]]).all()


def test_of_a_mean_loss_it_is_normal_but_for_skewness():
    for df, law in ((np.inf, norm), (4.0, t(4))):
        ends = Estimate(0.5, 0.01, 40.0, high=np.inf, df=df, skewness=0.0).bounds(0.95)
        assert ends == pytest.approx(0.5 + law.ppf([0.025, 0.975]) * 0.1)
        assert quantile(0.95, df) == pytest.approx(law.ppf(0.975))
    skew = 0.4
    ends = Estimate(0.5, 0.01, 40.0, high=np.inf, skewness=skew).bounds(0.95)
    x = (0.5 - np.array(ends)) / 0.1  # Hall's transformation of the Studentised mean is normal
    assert x + skew * x**2 / 3.0 + skew**2 * x**3 / 27.0 + skew / 6.0 == pytest.approx(norm.ppf([0.975, 0.025]))
    assert Estimate(0.01, 0.01, 40.0, high=1.0, skewness=0.0, df=1.0).bounds(0.95) == (0.0, 1.0)


def test_what_is_no_share_has_one_row_that_may_lie_anywhere():
    p, n = 0.7, 20.0
    wider = Estimate(p, 1e-4 + p * (1.0 - p) / (n * (n + 4.0)), n)
    assert Estimate(p, 1e-4, n, is_share=False).bounds(0.95) == wider.bounds(0.95)


def test_what_is_no_share_is_never_surer_than_at_its_ends():
    of_1, of_0 = share(20, 20).bounds(0.95), share(0, 20).bounds(0.95)
    for p in (1.0, 1.0 - 1e-15, 1.0 + 1e-15, 1.0 - 1e-6):
        for v in (0.0, 1e-33, 1e-30):  # whatever rounding left
            assert Estimate(p, v, 20, df=3.0, is_share=False).bounds(0.95) == pytest.approx(of_1, abs=2e-6)
            assert Estimate(1.0 - p, v, 20, df=3.0, is_share=False).bounds(0.95) == pytest.approx(of_0, abs=2e-6)


def test_weights_that_are_no_counts_count_fewer_rows():
    def weighed(weight, **options):
        return snb.evaluate([0, 1, 1, 0], [0, 1, 0, 1], sample_weight=weight, **options)

    assert per_weight(weighed([1.0, 2.0, 3.0, 2.0], interval=0.9)) == 1.0
    assert per_weight(weighed([0.5, 0.5, 1.5, 1.5], interval=0.9)) == 4.0 / 5.0  # 4^2 / 5 rows
    assert filled_buckets(weighed(None, interval=0.9, groups=[1, 1, 2, 3])) == 3
    with pytest.raises(ValueError, match=r"made without intervals; give interval=0.95"):
        per_weight(weighed(None))


# ---- means over rows -------------------------------------------------------------------------------------------------

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
        assert one.interval("brier") == one.interval("expected_calibration_error")
        assert one.interval("log_loss")[1] == pytest.approx(52.0 * np.log(2.0) * one.interval("brier")[1])


def test_rows_that_are_alike_cannot_show_how_much_rows_vary():
    """Beside an accuracy of .342 to 1, losses are as large as those of that share of wrong rows."""
    for p in (0.9, 0.9 + 1e-9):
        one = snb.evaluate([0, 1], proba=[1.0 - p, 0.9], y_pred=[0, 1], interval=0.95)
        wrong = 1.0 - one.interval("accuracy")[0]
        low, high = one.interval("log_loss")
        assert 0.0 < low < 0.01 and high == pytest.approx(wrong * -np.log(0.1), rel=0.1)
        low, high = one.interval("brier")
        assert 0.0 < low < 1e-3 and high == pytest.approx(wrong, rel=0.02)
    for p in (1.0, 1.0 - 1e-9):
        one = snb.evaluate([0, 1], proba=[1.0 - p, p], interval=0.95)
        assert one.interval("expected_calibration_error") == pytest.approx((0.0, wrong), rel=1e-4, abs=1e-8)


@given(st.integers(2, 7), st.integers(0, 10_000), st.booleans(), st.booleans())
def test_of_few_rows_no_interval_has_no_width(n, seed, multilabel, grouped):
    rng = np.random.default_rng(seed)
    right = rng.choice([0.6, 0.9, 1.0 - 1e-12, 1.0], (n, 2))
    labels = rng.integers(0, 2, (n, 2)) if multilabel else rng.integers(0, 2, n)
    on = right if multilabel else right[:, 0]
    proba = np.where(labels == 1, on, 1.0 - on)
    groups = rng.permutation(n) if grouped else None
    one = snb.evaluate(labels, (proba > 0.5).astype(int), proba=proba, interval=0.95, groups=groups, classes=[0, 1])
    for name in ESTIMATES.keys() - (set() if multilabel else {*OF_SETS}):
        if multilabel and name in ("balanced_accuracy", "matthews_corrcoef", "cohen_kappa", "roc_auc_margin"):
            continue
        if grouped and name in LOSSES:  # of groups it is Student's
            continue
        options = {"average": "macro"} if name in ("precision", "recall", "specificity", "f_score") else {}
        low, high = np.broadcast_arrays(*one.interval(name, **options))
        assert (np.isnan(low) | (high - low > 0.05)).all(), name


def filled(groups):
    return filled_buckets(snb.evaluate(groups % 2, groups % 2, interval=0.95, groups=groups))


def test_of_few_rows_losses_stay_in_their_range():
    y, proba, heavy = [0, 1, 0], [0.9, 0.9, 0.1], [1.0, 0.01, 0.01]
    assert snb.evaluate(y, proba=proba, interval=0.95).interval("brier")[1] == 1.0
    assert np.isnan(snb.evaluate(y, proba=proba, sample_weight=heavy, interval=0.95).interval("log_loss")).all()
