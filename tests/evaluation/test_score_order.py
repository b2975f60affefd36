"""Evaluation of rows without class or weight, of what was not kept, and what it refuses."""

import numpy as np
import pytest
from sklearn import metrics as sk

import streamnb as snb
from tests.support.judged import EVERYTHING, random_rows

# ---- rows that have no class, or no weight ---------------------------------------------------------------------------


def test_a_label_that_no_class_has_is_a_wrong_decision_and_nothing_else():
    rows = random_rows(3, 40, 0)
    with_strangers, without = rows.codes.copy(), np.arange(40) >= 5
    with_strangers[:5] = -1
    e = snb.Evaluation(3, EVERYTHING)
    e.add(with_strangers, rows.weight, **rows.said())
    known = rows.evaluation(without)
    np.testing.assert_array_equal(e.confusion_matrix(), known.confusion_matrix())
    assert e.accuracy() == np.average(with_strangers == rows.predicted, weights=rows.weight)
    expected = sk.precision_score(
        with_strangers, rows.predicted, labels=[0, 1, 2], average="macro", sample_weight=rows.weight
    )
    assert e.precision("macro") == pytest.approx(expected)
    assert (e.roc_auc(), e.log_loss(), e.brier()) == (known.roc_auc(), known.log_loss(), known.brier())


@pytest.mark.parametrize("exact_rows", [0, 100])
def test_rows_without_weight_change_nothing(exact_rows):
    rows = random_rows(3, 40, 0)
    rows.weight[:10] = 0.0
    rows.ranking[:10] *= 1e9
    all_rows, weighty = (rows.evaluation(r, exact_rows=exact_rows) for r in (slice(None), slice(10, None)))
    assert repr(all_rows).splitlines()[1:] == repr(weighty).splitlines()[1:]


def test_values_of_nothing_are_nan():
    e = snb.Evaluation(3, EVERYTHING)
    numbers = [e.accuracy(), e.balanced_accuracy(), e.roc_auc(), e.roc_auc("macro", "ovo"), e.average_precision()]
    assert np.isnan([*numbers, e.log_loss(), e.brier(), e.roc_auc_error]).all()
    assert "0 rows" in repr(e)


def test_a_single_class_has_no_ranking():
    e = snb.Evaluation(3, {"ranking"})
    e.add([1, 1], ranking=np.eye(3)[:2])
    assert np.isnan(e.roc_auc()) and np.isnan(e.roc_auc(None)).all()


# ---- what is kept, and what is refused -------------------------------------------------------------------------------


def test_hits_tell_everything_but_the_confusion_matrix():
    rows = random_rows(5, 100, 0)
    few, all_ = snb.Evaluation(5, {"hits"}), rows.evaluation()
    few.add(rows.codes, rows.weight, predicted=rows.predicted)
    for method in ("precision", "recall", "f_score"):
        np.testing.assert_array_equal(getattr(few, method)(None), getattr(all_, method)(None))
    assert few.balanced_accuracy() == all_.balanced_accuracy()


GOOD = dict(predicted=[0, 1], ranking=np.zeros((2, 3)), log_proba=np.full((2, 3), -1.0))


@pytest.mark.parametrize(
    "given, message",
    [
        (dict(codes=[0, 3]), "codes has 3 at row 1"),
        (dict(codes=[0, -2]), "codes has -2 at row 1"),
        (dict(codes=["a", "b"]), "snb.evaluate takes labels"),
        (dict(predicted=[0, -1]), "predicted has -1 at row 1"),
        (dict(predicted=[0, 1, 2]), "predicted should have one entry"),
        (dict(predicted=None), "predicted is missing"),
        (dict(ranking=None), "ranking is missing"),
        (dict(log_proba=None), "log_proba is missing"),
        (dict(ranking=np.zeros((2, 2))), r"ranking has shape \(2, 2\)"),
        (dict(ranking=np.zeros(2)), r"should have shape \(n_rows, 3\)"),
        (dict(ranking=np.zeros((3, 3))), "ranking should have one entry"),
        (dict(ranking=np.array([[0, 0, 0], [0, np.nan, 0]])), "ranking contains NaN: row 1, column 1"),
        (dict(ranking=np.full((2, 3), "a")), "should hold numbers"),
        (dict(log_proba=np.full((2, 3), 0.5)), "should not be above 0"),
        (dict(weight=[1.0, -1.0]), "not negative"),
        (dict(weight=[1.0]), "weight should have one entry"),
        (dict(weight=[1.0, np.nan]), "finite"),
    ],
)
def test_rows_that_do_not_fit_are_refused_and_nothing_is_added(given, message):
    e = snb.Evaluation(3)
    before = repr(e)
    with pytest.raises((ValueError, TypeError), match=message):
        e.add(**(dict(codes=[0, 1]) | GOOD | given))
    assert repr(e) == before


@pytest.mark.parametrize(
    "codes, message", [([0, 1], r"indicator of shape \(n_rows, 2\)"), ([[0, 2]], "0 and 1"), ([[0, 1, 1]], "indicator")]
)
def test_indicators_that_are_none_are_refused(codes, message):
    with pytest.raises(ValueError, match=message):
        snb.Evaluation(2, {"multilabel"}, multilabel=True).add(codes, predicted=[[0, 1]])
