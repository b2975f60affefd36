"""Intervals of areas and average precision: DeLong's variance, and that of what rows, or groups, add."""

import numpy as np
import pytest
from scipy.stats import norm

import streamnb as snb
from streamnb.evaluation import intervals
from streamnb.evaluation.intervals import ESTIMATES
from tests.support.influence import drawn, influences, judged, of_groups

METRICS = [
    (name, {"average": average})
    for name in ("roc_auc", "average_precision")
    for average in ("macro", "weighted", "micro", None)
]
PAIRS = [("roc_auc", {"average": average, "multi_class": "ovo"}) for average in ("macro", "weighted")]


def delong(scores, own):
    """The area and its variance, from all pairs of rows (DeLong, DeLong and Clarke-Pearson 1988)."""
    above = np.sign(scores[own][:, None] - scores[~own]) / 2.0 + 0.5
    of_own, of_rest = above.mean(axis=1), above.mean(axis=0)
    return above.mean(), of_own.var(ddof=1) / own.sum() + of_rest.var(ddof=1) / (~own).sum()


@pytest.mark.parametrize("tied", [False, True])
def test_of_two_classes_it_is_delongs(tied):
    made, labels, outputs = drawn(2, K=2, n=90, tied=tied, interval=0.95)
    area, variance = delong(outputs["ranking"], labels == 1)
    one = judged(made, labels, outputs)
    for options in ({}, {"average": "micro"}, {"multi_class": "ovo"}):
        found = ESTIMATES["roc_auc"](one, **options)
        assert (found.value, found.variance) == (pytest.approx(area), pytest.approx(variance))
    twice = np.repeat(np.arange(90), 2)
    weighted = judged(made, labels, outputs, np.full(90, 2.0))
    repeated = judged(made, labels[twice], {name: part[twice] for name, part in outputs.items()})
    for name in ESTIMATES.keys() - {"hamming_loss", "jaccard", "ranking_loss", "subset_accuracy"}:
        assert weighted.interval(name) == pytest.approx(repeated.interval(name)), name


@pytest.mark.parametrize(("K", "multilabel"), [(3, False), (3, True), (2, False)])
def test_variances_are_those_of_what_rows_add(K, multilabel, monkeypatch):
    monkeypatch.setattr(intervals, "_unbiased", lambda n: 1.0)  # DeLong divides by n - 1
    problem = made, labels, outputs = drawn(4, K=K, multilabel=multilabel, interval=0.9, tied=True, n=48)
    groups = np.arange(len(labels)) // 4
    metrics = METRICS + (PAIRS if K == 3 and not multilabel else [])
    alone, together = judged(made, labels, outputs), judged({**made, "grouped": True}, labels, outputs, None, groups)
    for (name, options), added in zip(metrics, influences(problem, metrics), strict=True):
        of_rows, grouped = (ESTIMATES[name](one, **options) for one in (alone, together))
        np.testing.assert_allclose(of_rows.variance, np.square(added).sum(axis=0), 1e-4, err_msg=f"{name} {options}")
        np.testing.assert_allclose(grouped.variance, of_groups(added, groups)[0], 0.02, err_msg=f"{name} {options}")


@pytest.mark.parametrize("K", [2, 4])
def test_histograms_have_nearly_the_interval_of_rows(K):
    made, labels, outputs = drawn(5, K=K, n=3000, interval=0.95)
    exact, binned = (judged({**made, "exact_rows": n}, labels, outputs) for n in (3000, 100))
    in_groups = judged({**made, "grouped": True, "exact_rows": 100}, labels, outputs, None, np.arange(3000))
    for name, options in METRICS + (PAIRS if K > 2 else []):
        expected = exact.interval(name, **options)
        np.testing.assert_allclose(binned.interval(name, **options), expected, atol=2e-3, err_msg=f"{name} {options}")
        np.testing.assert_allclose(in_groups.interval(name, **options), expected, atol=8e-3, err_msg=name)


def test_without_rows_of_a_class_there_is_no_interval():
    made, labels, outputs = drawn(6, interval=0.95)
    for grouped in (False, True):
        groups = np.arange(60) if grouped else None
        one = judged({**made, "grouped": grouped}, np.minimum(labels, 1), outputs, None, groups)
        low, high = one.interval("roc_auc", None)
        assert np.isnan([low[2], high[2]]).all() and (low[:2] < high[:2]).all()
        assert np.isfinite(one.interval("roc_auc")).all() and np.isfinite(one.interval("roc_auc", "macro", "ovo")).all()
        nothing = judged({**made, "grouped": grouped}, np.zeros(60, int), outputs, None, groups)
        for name, options in METRICS[:2] + PAIRS:
            assert np.isnan(nothing.interval(name, **options)).all()


def test_of_perfect_scores_the_rarer_class_says_how_sure():
    made, labels, _ = drawn(7, K=2, interval=0.95)
    one = judged({**made, "needs": {"ranking"}}, labels, {"ranking": labels.astype(float)})
    n = min((labels == k).sum() for k in (0, 1))
    assert one.interval("roc_auc") == (pytest.approx(n / (n + 1.959964**2)), 1.0)


@pytest.mark.parametrize("grouped", [False, True])
def test_at_1_neither_the_scale_of_weights_nor_the_order_of_rows_matters(grouped):
    labels, rng = np.tile([0, 1], 30), np.random.default_rng(0)
    scores, groups = labels + np.arange(60) / 100.0, np.arange(60) // 4
    expected = None
    for weight in (None, *np.arange(1, 10) / 10.0, 0.7 / 3.0, 1e-9 / 3.0):
        for order in (np.arange(60), rng.permutation(60)):
            weights = None if weight is None else np.full(60, weight)
            options = {"groups": groups[order]} if grouped else {}
            one = snb.evaluate(labels[order], scores=scores[order], sample_weight=weights, interval=0.95, **options)
            found = [*one.interval("roc_auc"), *one.interval("average_precision")]
            expected = found if expected is None else expected
            assert found == pytest.approx(expected, rel=1e-12)
            assert one.roc_auc() <= 1.0 and one.average_precision() <= 1.0
    if not grouped:
        assert expected[:2] == pytest.approx((0.88649, 1.0), abs=1e-5)


@pytest.mark.parametrize(("n_positive", "n_negative"), [(30, 30), (100, 100), (25, 500)])
@pytest.mark.parametrize("metric", ["roc_auc", "average_precision"])
def test_near_1_a_worse_ranking_is_never_surer(metric, n_positive, n_negative):
    """With one wrong pair after the other, both ends stay below those of no wrong pair, and move little by little."""
    labels = np.repeat([0, 1], [n_negative, n_positive])
    normal = [(np.arange(n) + 0.5) / n for n in (n_negative, n_positive)]
    rest, own = (norm.ppf(of) for of in normal)
    ends = []
    for distance in np.linspace(7.0, 3.5, 30):
        one = snb.evaluate(labels, scores=np.append(rest, own + distance), interval=0.95)
        ends.append(one.interval(metric))
    assert (ends <= np.array(ends[0]) + 1e-12).all() and np.abs(np.diff(ends, axis=0)).max() < 0.03
    one_pair = np.append(np.arange(n_negative), n_negative + np.arange(n_positive) - (np.arange(n_positive) == 0) * 1.5)
    low, high = snb.evaluate(labels, scores=one_pair, interval=0.95).interval(metric)
    n = min(n_positive, n_negative)
    assert n / (n + 1.96**2) - 0.004 < low < n / (n + 1.959**2) and 0.9998 < high < 1.0


def test_tiny_grouped_sets_have_an_interval_where_the_area_is_defined():
    for seed in range(60):
        rng = np.random.default_rng(seed)
        K, n = rng.integers(2, 4), rng.integers(2, 12)
        labels, groups = rng.integers(0, K, n), rng.integers(0, 4, n)
        if len({*labels}) > 1 and len({*groups}) > 1:
            scores = rng.normal(size=(n, K))
            one = snb.evaluate(labels, scores=scores, groups=groups, interval=0.95, classes=range(K))
            for name, options in [("roc_auc", {"multi_class": "ovo"}), *METRICS[:3]]:
                low, high = one.interval(name, **options)
                assert np.isnan(getattr(one, name)(**options)) or low < high
