"""Metrics of rankings as functions of judged rows, against all pairs of rows looked at one by one."""

import math
from itertools import combinations

import numpy as np
import pytest
from sklearn import metrics as sk

from streamnb.evaluation import metrics as rm
from streamnb.evaluation.tallied import Tallied


def ranked(codes, scores, weight=None, n_classes=2, needs=("ranking", "pairs"), **options):
    judged = Tallied(n_classes, needs, **options)
    judged.add(codes, weight, ranking=scores)
    return judged


def area(own, scores, weight):
    """Share of the pairs (own row, other row) in the right order, ties counted half."""
    own, scores, weight = map(np.asarray, (own, scores, weight))
    right = (scores[own, None] > scores[~own]) + 0.5 * (scores[own, None] == scores[~own])
    pairs = weight[own, None] * weight[~own]
    return (right * pairs).sum() / pairs.sum() if pairs.size else math.nan


def test_averages_over_classes_and_over_pairs():
    rng = np.random.default_rng(0)
    codes, weight = rng.integers(0, 3, 40), rng.choice([0.5, 1.0, 2.0], 40)
    scores = rng.integers(-2, 3, (40, 4)) + 1.0 * (codes[:, None] == np.arange(4))
    judged = ranked(codes, scores, weight, 4)  # class 3 has no rows
    each = [area(codes == k, scores[:, k], weight) for k in range(3)]
    shares = [weight[codes == k].sum() for k in range(3)]
    np.testing.assert_allclose(rm.roc_auc(judged, None), [*each, np.nan])
    assert rm.roc_auc(judged) == pytest.approx(np.mean(each))
    assert rm.roc_auc(judged, "weighted") == pytest.approx(np.average(each, weights=shares))
    pairs = []
    for a, b in combinations(range(3), 2):
        both = (codes == a) | (codes == b)
        two = [area((codes == k)[both], scores[both, k], weight[both]) for k in (a, b)]
        pairs.append((np.mean(two), weight[both].sum()))
    values, of_pairs = zip(*pairs)
    assert rm.roc_auc(judged, multi_class="ovo") == pytest.approx(np.mean(values))
    assert rm.roc_auc(judged, "weighted", "ovo") == pytest.approx(np.average(values, weights=of_pairs))


@pytest.mark.parametrize("multilabel", [False, True])
def test_micro_averages_are_those_of_scikit_learn(multilabel):
    """Of all rows with all classes in one order, exact and within their bounds where scores are in histograms."""
    rng = np.random.default_rng(0)
    codes, weight = rng.integers(0, 3, 300), rng.choice([0.5, 1.0, 2.0], 300)
    on = (rng.random((300, 3)) < 0.4 if multilabel else codes[:, None] == np.arange(3)).astype(int)
    scores = rng.normal(size=(300, 3)) * [1.0, 10.0, 0.1] + on
    metrics = sk.roc_auc_score, sk.average_precision_score
    area, precision = (m(on.ravel(), scores.ravel(), sample_weight=np.repeat(weight, 3)) for m in metrics)
    for needs, options in (("ranking", {}), (("ranking", "pairs"), {"exact_rows": 0, "n_bins": 64})):
        judged = Tallied(3, needs, multilabel=multilabel, **options)
        judged.add(on if multilabel else codes, weight, ranking=scores)
        bounds = [rm.micro_error(judged, metric) + 1e-12 for metric in ("roc_auc", "average_precision")]
        assert rm.roc_auc(judged, "micro") == pytest.approx(area, abs=bounds[0]) and bounds[0] < 0.1
        assert rm.average_precision(judged, "micro") == pytest.approx(precision, abs=bounds[1])
        assert (max(bounds) < 1e-11) == (options == {})
    two = ranked(np.arange(40) % 2, np.linspace(-1.0, 1.0, 40))
    assert rm.roc_auc(two, "micro") == rm.roc_auc(two)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda e: rm.roc_curve(e, "c"), r"label='c' is not a class; it should be one of \['x', 'y', 'z'\]"),
        (lambda e: rm.roc_curve(e), "roc_curve is of one class against the rest, and there are 3 classes; give label="),
        (lambda e: rm.roc_auc(e, "median"), "average='median' is unknown"),
        (lambda e: rm.average_precision(e, "samples"), "average='samples' is unknown"),
        (lambda e: rm.roc_auc(e, multi_class="raise"), "multi_class='raise' is unknown"),
        (lambda e: rm.roc_auc(e, None, "ovo"), "average=None is for multi_class='ovr'"),
        (lambda e: rm.roc_auc(e, multi_class="ovo"), "needs 'pairs', but needs held 'ranking'"),
        (lambda e: rm.roc_auc(Tallied(2, "hits")), "needs 'ranking'"),
        (lambda e: rm.roc_auc(Tallied(3, "ranking", multilabel=True), multi_class="ovo"), "multi_class='ovo' is for"),
    ],
)
def test_what_has_no_value_is_said(wrong, message):
    with pytest.raises(ValueError, match=message):
        wrong(ranked([0, 1, 2], np.eye(3), n_classes=3, needs="ranking", classes=["x", "y", "z"]))
