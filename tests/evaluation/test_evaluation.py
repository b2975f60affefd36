"""Values of an Evaluation are those of scikit-learn, of one class a row or of several labels."""

import math

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics as sk

import streamnb as snb
from streamnb.evaluation.intervals import ESTIMATES
from streamnb.evaluation.slices import SliceColumn, Slicing
from tests.support.judged import EVERYTHING, WIDE, judged_rows, judged_sets, set_evaluation

close = dict(rtol=1e-12, atol=1e-12)
AVERAGES = [None, "micro", "macro", "weighted"]


def defined(own):
    return own.any() and not own.all()


# ---- any cuts and orders ---------------------------------------------------------------------------------------------

FRACTIONS = st.sampled_from([0.1, 0.3, 0.7, 1.0, 1.1, 1.0 / 3.0, 2.0, 1e-3])
GIVEN = {"precision": "macro", "recall": "weighted", "specificity": "macro", "f_score": "macro"}
SETS_ALONE = {"hamming_loss", "jaccard", "ranking_loss", "subset_accuracy"}


def numbers_of(judged):
    """Each metric with its interval, thresholds, tables and slices, as text of all digits."""
    names = [name for name in ESTIMATES if name not in SETS_ALONE and name != "roc_auc_margin"]
    found = {"errors": (judged.roc_auc_error, judged.average_precision_error, judged.roc_auc("macro", "ovo"))}
    curves = [judged.roc_curve(k, drop_intermediate=False) for k in range(judged.n_classes)]
    found["curves"] = [column.tolist() for curve in curves for column in curve]
    for name in names:
        average = [GIVEN[name]] if name in GIVEN else []
        found[name] = getattr(judged, name)(*average), *map(float, judged.interval(name, *average))
    k = judged.classes[np.argmax(judged.class_weight)]
    found["threshold"] = judged.threshold(k, recall=0.7), [part.tolist() for part in judged.cost_curve(COST, k)]
    found["table"] = judged.confusion_matrix().tolist()
    found["slices"] = judged.slices.to_dict() if hasattr(judged.slices, "to_dict") else None
    return repr(found)


COST = {"false_positive": 1.0, "false_negative": 0.3}


@settings(max_examples=6)
@given(judged_rows(scores=WIDE, weights=FRACTIONS, min_rows=4), st.booleans(), st.sampled_from([0, 5, 100]), st.data())
def test_fractional_weights_give_the_same_bits_for_any_cuts_and_merges(rows, grouped, exact_rows, data):
    """Added to one evaluation in blocks, merged in any order, and from a file."""
    n = len(rows.codes)
    slicing = Slicing((SliceColumn("half", (0, 1)),), 1)
    groups = np.arange(n) // 2

    def judged(some):
        options = dict(interval=0.9, exact_rows=exact_rows, n_bins=8, grouped=grouped, slicing=slicing)
        part = snb.Evaluation(rows.n_classes, [*EVERYTHING, "reliability"], **options)
        for block in np.array_split(some, 2):
            which = {"groups": groups[block] if grouped else None, "slices": (block % 2)[:, None]}
            part.add(rows.codes[block], rows.weight[block], **rows.said(block), **which)
        return part

    order = np.array(data.draw(st.permutations(range(n))))
    parts = [judged(some) for some in np.array_split(order, data.draw(st.integers(1, 5)))]
    while len(parts) > 1:
        at = data.draw(st.integers(0, len(parts) - 2))
        parts[at : at + 2] = [parts[at] + parts[at + 1]]
    again = snb.Evaluation._from_state(parts[0]._to_state())  # as from a file
    assert numbers_of(parts[0]) == numbers_of(again) == numbers_of(judged(np.arange(n)))


# ---- agreement with scikit-learn -------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::UserWarning:sklearn")
@given(judged_rows())
def test_decisions_are_those_of_scikit_learn(rows):
    e = rows.evaluation()
    true, found, w = rows.codes, rows.predicted, rows.weight
    classes = np.arange(rows.n_classes)
    assert e.accuracy() == pytest.approx(sk.accuracy_score(true, found, sample_weight=w), abs=1e-12)
    assert e.balanced_accuracy() == pytest.approx(sk.balanced_accuracy_score(true, found, sample_weight=w), abs=1e-12)
    np.testing.assert_array_equal(
        e.confusion_matrix(), sk.confusion_matrix(true, found, labels=classes, sample_weight=w)
    )
    for average in AVERAGES:
        labels = classes if average is None else None
        for beta in (0.0, 0.5, 1.0, 2.0):
            expected = sk.precision_recall_fscore_support(
                true, found, beta=beta, average=average, labels=labels, sample_weight=w, zero_division=0
            )
            ours = e.precision(average), e.recall(average), e.f_score(average, beta)
            for value, wanted in zip(ours, expected[:3]):
                np.testing.assert_allclose(value, wanted, **close)


@given(judged_rows())
def test_rankings_of_each_class_are_those_of_scikit_learn(rows):
    """NaN where a class has no rows, or all; for two classes, class 0 by minus the score."""
    if rows.n_classes == 2:
        rows.ranking[:, 0] = -rows.ranking[:, 1]
    e = rows.evaluation()
    areas, precisions = e.roc_auc(average=None), e.average_precision(average=None)
    for k in range(rows.n_classes):
        own, scores = rows.sides(k)
        if not defined(own):
            assert math.isnan(areas[k]) and math.isnan(precisions[k])
            continue
        assert areas[k] == pytest.approx(sk.roc_auc_score(own, scores, sample_weight=rows.weight), abs=1e-12)
        precision = sk.average_precision_score(own, scores, sample_weight=rows.weight)
        assert precisions[k] == pytest.approx(precision, abs=1e-12)
        for drop in (True, False):
            expected = sk.roc_curve(own, scores, sample_weight=rows.weight, drop_intermediate=drop)
            for ours, theirs in zip(e.roc_curve(k, drop_intermediate=drop), expected):
                np.testing.assert_allclose(ours, theirs, **close)
    assert e.roc_auc_error == 0.0 or math.isnan(e.roc_auc())
    assert e.average_precision_error == 0.0 or math.isnan(e.roc_auc())


@given(judged_rows())
def test_losses_are_those_of_scikit_learn(rows):
    e = rows.evaluation()
    options = dict(labels=np.arange(rows.n_classes), sample_weight=rows.weight)
    assert e.log_loss() == pytest.approx(sk.log_loss(rows.codes, rows.proba, **options), rel=1e-12)
    assert e.brier() == pytest.approx(sk.brier_score_loss(rows.codes, rows.proba, **options), rel=1e-12)


# ---- several labels a row --------------------------------------------------------------------------------------------


@given(judged_sets())
def test_sets_of_labels_are_judged_as_by_scikit_learn(problem):
    true, found, _ranking, w = problem
    e = set_evaluation(*problem)
    assert e.hamming_loss() == pytest.approx(sk.hamming_loss(true, found, sample_weight=w), abs=1e-12)
    assert e.accuracy() == e.subset_accuracy() == pytest.approx(sk.accuracy_score(true, found, sample_weight=w))
    for average in [*AVERAGES, "samples"]:
        expected = sk.precision_recall_fscore_support(true, found, average=average, sample_weight=w, zero_division=0)
        for value, wanted in zip((e.precision(average), e.recall(average), e.f_score(average)), expected[:3]):
            np.testing.assert_allclose(value, wanted, **close)


@given(judged_sets())
def test_jaccard_counts_two_empty_sets_as_equal(problem):
    true, found, _, w = problem
    expected = sk.jaccard_score(true, found, average="samples", sample_weight=w, zero_division=1)
    assert set_evaluation(*problem).jaccard() == pytest.approx(expected, abs=1e-12)


@given(judged_sets())
def test_rankings_of_labels_are_those_of_scikit_learn(problem):
    true, _, ranking, w = problem
    e = set_evaluation(*problem)
    assert e.ranking_loss() == pytest.approx(sk.label_ranking_loss(true, ranking, sample_weight=w), abs=1e-12)
    for label, (area, precision) in enumerate(zip(e.roc_auc(None), e.average_precision(None))):
        own, scores = true[:, label] == 1, ranking[:, label]
        if defined(own):
            assert area == pytest.approx(sk.roc_auc_score(own, scores, sample_weight=w), abs=1e-12)
            assert precision == pytest.approx(sk.average_precision_score(own, scores, sample_weight=w), abs=1e-12)
        else:
            assert math.isnan(area) and math.isnan(precision)


@given(judged_sets())
def test_losses_of_labels_are_means_of_two_class_losses(problem):
    true, _, ranking, w = problem
    e, proba = set_evaluation(*problem), 1.0 / (1.0 + np.exp(-ranking))
    options = dict(sample_weight=w, labels=[0, 1])
    two = [np.column_stack([1.0 - p, p]) for p in proba.T]
    assert e.log_loss() == pytest.approx(np.mean([sk.log_loss(t, p, **options) for t, p in zip(true.T, two)]))
    assert e.brier() == pytest.approx(np.mean([sk.brier_score_loss(t, p, **options) for t, p in zip(true.T, two)]))


@pytest.mark.parametrize("exact_rows", [1000, 0])
def test_sparse_sets_are_judged_like_dense_ones(exact_rows):
    rng = np.random.default_rng(0)
    true, found = rng.random((2, 30, 5)) < 0.3
    ranking, weight = rng.normal(size=(30, 5)), np.ones(30)
    dense = set_evaluation(true, found, ranking, weight, exact_rows=exact_rows)
    with_zeros = sp.csr_matrix((found.ravel(), np.tile(np.arange(5), 30), np.arange(0, 151, 5)), shape=(30, 5))
    sparse = set_evaluation(sp.csr_array(true), with_zeros, ranking, weight, exact_rows=exact_rows)
    assert repr(sparse) == repr(dense)
    np.testing.assert_array_equal(sparse.roc_auc(None), dense.roc_auc(None))
