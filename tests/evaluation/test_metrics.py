"""Metrics of decisions and probabilities as functions of judged rows, against scikit-learn and their definitions."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics as sk

from streamnb.evaluation import metrics as dm
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
    assert dm.matthews_corrcoef(judged) == pytest.approx(
        sk.matthews_corrcoef(true, found, sample_weight=weight), abs=1e-9
    )
    if len(set(true) | set(found)) > 1:
        assert dm.cohen_kappa(judged) == pytest.approx(sk.cohen_kappa_score(true, found, sample_weight=weight))
    else:
        assert math.isnan(dm.cohen_kappa(judged))
    of_each = [sk.recall_score(true != k, found != k, sample_weight=weight, zero_division=0) for k in range(4)]
    np.testing.assert_allclose(dm.specificity(judged, None), of_each)
    np.testing.assert_allclose(dm.specificity(judged, "weighted"), np.average(of_each, weights=judged.class_weight))


def test_rows_of_no_class_agree_with_no_prediction():
    judged, known = decided([0, 1, -1], [0, 1, 1]), ([0, 1, 9], [0, 1, 1])
    assert dm.matthews_corrcoef(judged) == pytest.approx(sk.matthews_corrcoef(*known))
    assert dm.cohen_kappa(judged) == pytest.approx(sk.cohen_kappa_score(*known))
    np.testing.assert_allclose(dm.specificity(judged, None)[:2], [1.0, 1 / 2])


def test_specificity_of_two_classes_and_of_labels():
    judged = decided([0, 0, 0, 1, 1], [0, 1, 0, 1, 0], n_classes=2)
    assert dm.specificity(judged) == 2 / 3
    labels = sets([[1, 0], [0, 1], [0, 0]], [[1, 0], [1, 1], [0, 0]])
    np.testing.assert_allclose(dm.specificity(labels, None), [1 / 2, 1.0])
    assert dm.specificity(labels, "micro") == 3 / 4
    with pytest.raises(ValueError, match="'samples' is not kept"):
        dm.specificity(labels, "samples")
    with pytest.raises(ValueError, match="one label each"):
        dm.cohen_kappa(labels)


def test_the_confusion_matrix_is_a_copy():
    judged = decided([0], [1])
    dm.confusion_matrix(judged)[0, 1] = 7.0
    assert dm.confusion_matrix(judged)[0, 1] == 1.0


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda e, s: dm.precision(e), "average='binary' is for two classes; for these 4 choose 'micro'"),
        (lambda e, s: dm.precision(s), "choose 'micro', 'macro', 'weighted' or None, or 'samples'"),
        (lambda e, s: dm.recall(e, "mean"), "average='mean' is unknown"),
        (lambda e, s: dm.recall(e, "samples"), "average='samples' is for multi-label rows"),
        (lambda e, s: dm.f_score(s, "samples", 2.0), r"beta=2\.0: the mean over rows is kept for beta=1 alone"),
        (lambda e, s: dm.f_score(e, "macro", -1.0), r"beta=-1\.0 should be finite and at least 0"),
        (lambda e, s: dm.confusion_matrix(s), "confusion_matrix is for rows of one label each"),
        (lambda e, s: dm.jaccard(e), "jaccard is for multi-label rows"),
        (lambda e, s: dm.ranking_loss(e), "ranking_loss is for multi-label rows"),
        (lambda e, s: dm.ranking_loss(s), "needs 'ranking'"),
        (lambda e, s: dm.ranking_loss(Tallied(2, "ranking", multilabel=True)), "needs 'multilabel'"),
        (lambda e, s: dm.log_loss(e), "needs 'probabilities'"),
    ],
)
def test_what_has_no_value_is_said(wrong, message):
    with pytest.raises(ValueError, match=message):
        wrong(decided([0], [0]), sets([[1, 0]], [[1, 0]]))


def test_means():
    assert math.isnan(dm.mean(np.array([])))
    assert dm.mean(np.array([1.0, 3.0])) == dm.mean(np.array([1.0, 3.0]), np.zeros(2)) == 2.0
    assert dm.mean(np.array([1.0, 3.0]), np.array([3.0, 1.0])) == 1.5


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
    assert dm.expected_calibration_error(judged) == pytest.approx(expected)
    np.testing.assert_allclose(dm.reliability_curve(judged), np.transpose(curve))

    parts = [reliable(codes[s], proba[s], (weight + (codes < 0))[s]) for s in (slice(70), slice(70, None))]
    merged = parts[1] + parts[0]
    assert dm.expected_calibration_error(merged) == dm.expected_calibration_error(judged)


def test_certainty_is_judged_and_labels_one_by_one():
    assert dm.expected_calibration_error(reliable([0, 1, 1, 1], [[1.0, 0.0]] * 4)) == 0.75
    labels = reliable([[1, 0], [0, 0]], [[1.0, 0.0], [1.0, 0.0]], multilabel=True)
    assert dm.expected_calibration_error(labels) == 0.25
    assert math.isnan(dm.expected_calibration_error(reliable(np.zeros(0, int), np.zeros((0, 2)))))
    with pytest.raises(ValueError, match="needs 'reliability'"):
        dm.reliability_curve(Tallied(2, "probabilities"))
