import numpy as np
import pytest
from scipy.stats import binomtest
from sklearn.metrics import precision_recall_curve

import streamnb as snb

RNG = np.random.default_rng(0)
TRUTH = RNG.integers(0, 2, 400)
SCORES = np.round(RNG.normal(size=400) + TRUTH, 1)  # with ties
WEIGHT = RNG.integers(0, 4, 400)
COST = {"false_positive": 1.0, "false_negative": 5.0}


def judged(**options):
    return snb.evaluate(TRUTH, scores=SCORES, **options)


def binned(n_bins=256):
    """The same rows, whose scores are in a histogram."""
    evaluation = snb.Evaluation(2, "ranking", exact_rows=0, n_bins=n_bins)
    evaluation.add(TRUTH, ranking=SCORES)
    return evaluation


@pytest.mark.parametrize("weight", [None, WEIGHT])
def test_curve_equals_sklearn(weight):
    theirs = precision_recall_curve(TRUTH, SCORES, sample_weight=weight)
    if weight is not None:  # scikit-learn has a threshold for each score of a row with weight 0, too
        theirs = precision_recall_curve(TRUTH[weight > 0], SCORES[weight > 0], sample_weight=weight[weight > 0])
    for ours, their in zip(judged(sample_weight=weight).precision_recall_curve(), theirs, strict=True):
        np.testing.assert_allclose(ours, their, rtol=1e-14)
    rest = precision_recall_curve(TRUTH == 0, -SCORES)
    for ours, their in zip(judged().precision_recall_curve(0), rest, strict=True):
        np.testing.assert_allclose(ours, their, rtol=1e-14)


def rates_at(value, truth=TRUTH, scores=SCORES):
    found = scores >= value
    hits = (found & truth).sum()
    rates = {"precision": hits / max(found.sum(), 1), "recall": hits / truth.sum(), "share": found.mean()}
    cost = ((found & (1 - truth)).sum() + 5.0 * (~found & truth).sum()) / len(truth)
    return rates | {"specificity": 1.0 - (found & (1 - truth)).sum() / (1 - truth).sum(), "cost": cost}


BRUTE = [rates_at(value) for value in [np.inf, *np.unique(SCORES)]]


@pytest.mark.parametrize(
    ("demand", "best"),
    [
        ({"precision": 0.8}, "recall"),
        ({"recall": 0.8}, "precision"),
        ({"specificity": 0.7}, "recall"),
        ({"share": 0.3}, "share"),
        ({"cost": COST}, "cost"),
    ],
)
def test_threshold_is_the_best_by_brute_force(demand, best):
    (name, wanted), found = *demand.items(), judged().threshold(**demand)
    there = rates_at(float(found))
    for rate in ("precision", "recall", "specificity", "share"):
        assert getattr(found, rate) == pytest.approx(there[rate])
    if name == "cost":
        assert found.cost == pytest.approx(min(one["cost"] for one in BRUTE)) == pytest.approx(there["cost"])
        return
    fits = [one for one in BRUTE if (one[name] <= wanted if name == "share" else one[name] >= wanted)]
    assert there[best] == pytest.approx(max(one[best] for one in fits)) and any(one == there for one in fits)
    assert not np.isin(float(found), SCORES)  # between scores, so that rounding decides no row


@pytest.mark.parametrize("rate", ["precision", "recall", "specificity"])
def test_confidence_demands_it_of_the_lower_bound(rate):
    found = judged().threshold(**{rate: 0.75}, confidence=0.9)
    chosen, truth = float(found) <= SCORES, TRUTH == 1
    right, all_rows = {
        "precision": (chosen & truth, chosen),
        "recall": (chosen & truth, truth),
        "specificity": (~chosen & ~truth, ~truth),
    }[rate]
    test = binomtest(int(right.sum()), int(all_rows.sum()), alternative="greater")
    assert test.proportion_ci(0.9).low >= 0.75
    assert getattr(found, rate) > getattr(judged().threshold(**{rate: 0.75}), rate)


def test_histograms_have_exact_counts_at_their_thresholds():
    found = binned().threshold(precision=0.8)
    assert rates_at(float(found))["precision"] == pytest.approx(found.precision)
    assert found.recall == pytest.approx(judged().threshold(precision=0.8).recall, abs=0.05)
    precision, recall, thresholds = binned().precision_recall_curve()
    for p, r, value in zip(precision, recall, thresholds, strict=False):
        assert (p, r) == pytest.approx(tuple(rates_at(value)[name] for name in ("precision", "recall")))


def test_rows_at_the_edges_of_bins_of_either_class():
    y, scores = np.tile([0, 1], 256), np.arange(512) // 2 / 256.0  # bins begin at each score
    found = snb.Evaluation(2, "ranking", exact_rows=0, n_bins=2048)
    found.add(y, ranking=scores)
    lower = found.threshold(0, share=0.5)
    assert lower.share == (-scores >= lower.value).mean()


def test_cost_curve_by_brute_force():
    costs, thresholds = judged().cost_curve(COST)
    np.testing.assert_allclose(costs, [rates_at(value)["cost"] for value in thresholds])


def test_infinite_scores_and_one_against_the_rest():
    few = snb.evaluate([0, 1, 0, 1], scores=[-np.inf, 1.0, 2.0, np.inf])
    assert few.threshold(recall=1.0).value == 1.0 and few.threshold(precision=1.0).value == np.inf
    proba = RNG.dirichlet(np.ones(3), 100)
    many = snb.evaluate(RNG.integers(0, 3, 100), proba=proba)
    found = many.threshold(2, recall=0.9)
    assert found.class_ == 2 and found.share == pytest.approx((proba[:, 2] >= found.value).mean())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "nothing is demanded"),
        ({"precision": 0.5, "recall": 0.5}, "precision= and recall= exclude each other"),
        ({"precision": 1.5}, "precision=1.5 should be above 0"),
        ({"precision": 0.99, "confidence": 0.99}, "not reached at any threshold, with confidence 0.99: the highest is"),
        ({"share": 0.5, "confidence": 0.9}, "confidence=0.9 needs precision="),
        ({"recall": 0.5, "confidence": 1.0}, "confidence=1.0 should be between"),
        ({"cost": {"fp": 1}}, "false_negative"),
        ({"cost": {"false_positive": -1, "false_negative": 1}}, "false_positive"),
        ({"label": 7, "recall": 0.5}, "label=7 is not a class"),
    ],
)
def test_wrong_demands(options, message):
    with pytest.raises(ValueError, match=message):
        judged().threshold(**options)


def test_classes_without_rows_and_without_a_name():
    with pytest.raises(ValueError, match="no row of 1 was judged"):
        snb.evaluate([0, 0], scores=[0.0, 1.0], classes=[0, 1]).threshold(recall=0.5)
    with pytest.raises(ValueError, match="all rows are of the class"):
        snb.evaluate([1, 1], scores=[0.0, 1.0], classes=[0, 1]).threshold(specificity=0.5)
    many = snb.evaluate([0, 1, 2], proba=np.eye(3))
    for ask in (many.precision_recall_curve, lambda: many.threshold(recall=0.5), lambda: many.cost_curve(COST)):
        with pytest.raises(ValueError, match=r"one class with the rest, and there are 3 classes; give label="):
            ask()
