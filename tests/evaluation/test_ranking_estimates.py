"""Intervals of areas and average precision: DeLong's variance, and that of what rows, or groups, add."""

import numpy as np
import pytest

from streamnb.evaluation import ranking_estimates
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


def placements(scores, labels, k):
    """What rows add to the area of a class, with DeLong's factors."""
    own, found = labels == k, np.empty(len(labels))
    above = np.sign(scores[own, k][:, None] - scores[~own, k]) / 2.0 + 0.5
    for side, values in ((own, above.mean(axis=1)), (~own, above.mean(axis=0))):
        found[side] = (values - values.mean()) / np.sqrt(side.sum() * (side.sum() - 1.0))
    return found


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


def test_of_a_mean_over_classes_the_classes_vary_together():
    made, labels, outputs = drawn(3, interval=0.95)
    scores = outputs["ranking"]
    expected = np.square(np.mean([placements(scores, labels, k) for k in range(3)], axis=0)).sum()
    assert ESTIMATES["roc_auc"](judged(made, labels, outputs)).variance == pytest.approx(expected)
    of_class = ESTIMATES["roc_auc"](judged(made, labels, outputs), None)
    np.testing.assert_allclose(of_class.variance, [delong(scores[:, k], labels == k)[1] for k in range(3)])


@pytest.mark.parametrize(("K", "multilabel"), [(3, False), (3, True), (2, False)])
def test_variances_are_those_of_what_rows_add(K, multilabel, monkeypatch):
    monkeypatch.setattr(ranking_estimates, "_unbiased", lambda n: 1.0)  # DeLong divides by n - 1
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
