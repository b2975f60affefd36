"""Metrics as functions of judged rows, against scikit-learn and their definitions."""

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics as sk

from streamnb.evaluation import metrics
from streamnb.evaluation.tallied import Tallied

CODES = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 3), st.sampled_from([0.5, 1.0, 3.0])), min_size=1, max_size=12
)


def decided(true, found, weight=None, n_classes=4):
    judged = Tallied(n_classes, "confusion")
    judged.add(true, weight, predicted=found)
    return judged


def sets(true, found, weight=None, **said):
    needs = ["multilabel", *(["ranking"] if "ranking" in said else [])]
    judged = Tallied(np.shape(true)[1], needs, multilabel=True)
    judged.add(true, weight, predicted=found, **said)
    return judged


@given(CODES)
def test_agreement_and_specificity_are_scikit_learns(rows):
    true, found, weight = map(np.array, zip(*rows))
    judged = decided(true, found, weight)
    assert metrics.matthews_corrcoef(judged) == pytest.approx(
        sk.matthews_corrcoef(true, found, sample_weight=weight), abs=1e-9
    )
    if len(set(true) | set(found)) > 1:
        assert metrics.cohen_kappa(judged) == pytest.approx(sk.cohen_kappa_score(true, found, sample_weight=weight))
    else:
        assert math.isnan(metrics.cohen_kappa(judged))
    of_each = [sk.recall_score(true != k, found != k, sample_weight=weight, zero_division=0) for k in range(4)]
    np.testing.assert_allclose(metrics.specificity(judged, None), of_each)
    np.testing.assert_allclose(
        metrics.specificity(judged, "weighted"), np.average(of_each, weights=judged.class_weight)
    )


def test_specificity_of_two_classes_and_of_labels():
    judged = decided([0, 0, 0, 1, 1], [0, 1, 0, 1, 0], n_classes=2)
    assert metrics.specificity(judged) == 2 / 3
    labels = sets([[1, 0], [0, 1], [0, 0]], [[1, 0], [1, 1], [0, 0]])
    np.testing.assert_allclose(metrics.specificity(labels, None), [1 / 2, 1.0])
    assert metrics.specificity(labels, "micro") == 3 / 4
    with pytest.raises(ValueError, match="'samples' is not kept"):
        metrics.specificity(labels, "samples")
    with pytest.raises(ValueError, match="one label each"):
        metrics.cohen_kappa(labels)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda e, s: metrics.precision(e), "average='binary' is for two classes; for these 4 choose 'micro'"),
        (lambda e, s: metrics.precision(s), "choose 'micro', 'macro', 'weighted' or None, or 'samples'"),
        (lambda e, s: metrics.recall(e, "mean"), "average='mean' is unknown"),
        (lambda e, s: metrics.recall(e, "samples"), "average='samples' is for multi-label rows"),
        (lambda e, s: metrics.f_score(s, "samples", 2.0), r"beta=2\.0: the mean over rows is kept for beta=1 alone"),
        (lambda e, s: metrics.f_score(e, "macro", -1.0), r"beta=-1\.0 should be finite and at least 0"),
        (lambda e, s: metrics.confusion_matrix(s), "confusion_matrix is for rows of one label each"),
        (lambda e, s: metrics.jaccard(e), "jaccard is for multi-label rows"),
        (lambda e, s: metrics.ranking_loss(e), "ranking_loss is for multi-label rows"),
        (lambda e, s: metrics.ranking_loss(s), "needs 'ranking'"),
        (lambda e, s: metrics.ranking_loss(Tallied(2, "ranking", multilabel=True)), "needs 'multilabel'"),
        (lambda e, s: metrics.log_loss(e), "needs 'probabilities'"),
    ],
)
def test_what_has_no_value_is_said(wrong, message):
    with pytest.raises(ValueError, match=message):
        wrong(decided([0], [0]), sets([[1, 0]], [[1, 0]]))


def reliable(codes, proba, weight=None, **options):
    judged = Tallied(np.shape(proba)[1], ("probabilities", "reliability"), **options)
    with np.errstate(divide="ignore"):
        judged.add(codes, weight, log_proba=np.log(proba))
    return judged


def test_calibration_error_is_that_of_its_definition():
    rng = np.random.default_rng(0)
    proba, codes, weight = rng.dirichlet(np.ones(3), 200), rng.integers(-1, 3, 200), rng.integers(0, 4, 200)
    judged = reliable(codes, proba, weight)
    weight = weight * (codes >= 0)
    sure, right = proba.max(axis=1), proba.argmax(axis=1) == codes
    expected, curve = 0.0, []
    for b in range(15):
        inside = (sure >= b / 15) & (sure < (b + 1) / 15)
        if (w := weight * inside).any():
            curve.append((np.average(sure, weights=w), np.average(right, weights=w), w.sum() / weight.sum()))
            expected += curve[-1][2] * abs(curve[-1][0] - curve[-1][1])
    assert metrics.expected_calibration_error(judged) == pytest.approx(expected)
    np.testing.assert_allclose(metrics.reliability_curve(judged), np.transpose(curve))

    parts = [reliable(codes[s], proba[s], (weight + (codes < 0))[s]) for s in (slice(70), slice(70, None))]
    merged = parts[1] + parts[0]
    assert metrics.expected_calibration_error(merged) == metrics.expected_calibration_error(judged)


def test_certainty_is_judged_and_labels_one_by_one():
    assert metrics.expected_calibration_error(reliable([0, 1, 1, 1], [[1.0, 0.0]] * 4)) == 0.75
    labels = reliable([[1, 0], [0, 0]], [[1.0, 0.0], [1.0, 0.0]], multilabel=True)
    assert metrics.expected_calibration_error(labels) == 0.25
    assert math.isnan(metrics.expected_calibration_error(reliable(np.zeros(0, int), np.zeros((0, 2)))))
    with pytest.raises(ValueError, match="needs 'reliability'"):
        metrics.reliability_curve(Tallied(2, "probabilities"))


# ---- rankings, against all pairs of rows looked at one by one --------------------------------------------------------


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
    np.testing.assert_allclose(metrics.roc_auc(judged, None), [*each, np.nan])
    assert metrics.roc_auc(judged) == pytest.approx(np.mean(each))
    assert metrics.roc_auc(judged, "weighted") == pytest.approx(np.average(each, weights=shares))
    pairs = []
    for a, b in combinations(range(3), 2):
        both = (codes == a) | (codes == b)
        two = [area((codes == k)[both], scores[both, k], weight[both]) for k in (a, b)]
        pairs.append((np.mean(two), weight[both].sum()))
    values, of_pairs = zip(*pairs)
    assert metrics.roc_auc(judged, multi_class="ovo") == pytest.approx(np.mean(values))
    assert metrics.roc_auc(judged, "weighted", "ovo") == pytest.approx(np.average(values, weights=of_pairs))


@pytest.mark.parametrize("multilabel", [False, True])
def test_micro_averages_are_those_of_scikit_learn(multilabel):
    """Of all rows with all classes in one order, exact and within their bounds where scores are in histograms."""
    rng = np.random.default_rng(0)
    codes, weight = rng.integers(0, 3, 300), rng.choice([0.5, 1.0, 2.0], 300)
    on = (rng.random((300, 3)) < 0.4 if multilabel else codes[:, None] == np.arange(3)).astype(int)
    scores = rng.normal(size=(300, 3)) * [1.0, 10.0, 0.1] + on
    of_sklearn = sk.roc_auc_score, sk.average_precision_score
    area, precision = (m(on.ravel(), scores.ravel(), sample_weight=np.repeat(weight, 3)) for m in of_sklearn)
    for needs, options in (("ranking", {}), (("ranking", "pairs"), {"exact_rows": 0, "n_bins": 64})):
        judged = Tallied(3, needs, multilabel=multilabel, **options)
        judged.add(on if multilabel else codes, weight, ranking=scores)
        bounds = [metrics.micro_error(judged, metric) + 1e-12 for metric in ("roc_auc", "average_precision")]
        assert metrics.roc_auc(judged, "micro") == pytest.approx(area, abs=bounds[0]) and bounds[0] < 0.1
        assert metrics.average_precision(judged, "micro") == pytest.approx(precision, abs=bounds[1])
        assert (max(bounds) < 1e-11) == (options == {})
    two = ranked(np.arange(40) % 2, np.linspace(-1.0, 1.0, 40))
    assert metrics.roc_auc(two, "micro") == metrics.roc_auc(two)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda e: metrics.roc_curve(e, "c"), r"label='c' is not a class; it should be one of \['x', 'y', 'z'\]"),
        (lambda e: metrics.roc_curve(e), "roc_curve compares one class with the rest, and there are 3"),
        (lambda e: metrics.roc_auc(e, "median"), "average='median' is unknown"),
        (lambda e: metrics.average_precision(e, "samples"), "average='samples' is unknown"),
        (lambda e: metrics.roc_auc(e, multi_class="raise"), "multi_class='raise' is unknown"),
        (lambda e: metrics.roc_auc(e, None, "ovo"), "average=None is for multi_class='ovr'"),
        (lambda e: metrics.roc_auc(e, multi_class="ovo"), "needs 'pairs', but needs held 'ranking'"),
        (lambda e: metrics.roc_auc(Tallied(2, "hits")), "needs 'ranking'"),
        (
            lambda e: metrics.roc_auc(Tallied(3, "ranking", multilabel=True), multi_class="ovo"),
            "multi_class='ovo' is for",
        ),
    ],
)
def test_what_has_no_ranking_is_said(wrong, message):
    with pytest.raises(ValueError, match=message):
        wrong(ranked([0, 1, 2], np.eye(3), n_classes=3, needs="ranking", classes=["x", "y", "z"]))
