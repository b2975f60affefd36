"""Scores by name, and of one's own."""

import math

import numpy as np
import pytest
from sklearn import metrics as sk

import streamnb as snb
from streamnb.evaluation.reference import ReferenceGroups
from streamnb.evaluation.scorers import SCORERS, Scorer, as_scorer
from tests.support.judged import random_rows, set_evaluation

SETS = {"neg_hamming_loss", "neg_ranking_loss", "jaccard", "subset_accuracy"} | {n for n in SCORERS if "samples" in n}

OWN = {
    "cohen_kappa",
    "roc_auc_margin",
    "roc_auc_micro",
    "average_precision_micro",
    "accuracy_and_roc_auc",
    "overall",
}  # scikit-learn has no names for
OWN |= {n for n in SCORERS if "specificity" in n}
AGAINST = {"roc_auc_reference"}  # judged against a reference


@pytest.mark.parametrize("name", sorted(set(SCORERS) - AGAINST))
def test_a_scorer_needs_no_more_than_it_says_and_greater_is_better(name):
    """A model that knows the answer scores better than one that guesses, with the needs of the scorer alone."""
    scorer, rng = as_scorer(name), np.random.default_rng(0)
    multilabel, n_classes = name in SETS, 2 if name in ("precision", "recall", "specificity", "f1") else 3
    codes = rng.integers(0, 2, (60, 3)) if multilabel else rng.integers(0, n_classes, 60)
    on = codes if multilabel else codes[:, None] == np.arange(n_classes)
    found = []
    for strength in (4.0, 0.5):
        ranking = strength * on + rng.normal(scale=0.5, size=on.shape)
        logs = ranking - np.log(np.exp(ranking).sum(axis=1, keepdims=True))
        e = snb.Evaluation(n_classes, scorer.needs, multilabel=multilabel)
        predicted = ranking > 0.7 if multilabel else ranking.argmax(axis=1)
        e.add(codes, predicted=predicted, ranking=ranking, margin=ranking, log_proba=logs)
        found.append(scorer.value(e))
        if scorer.per_class is not None:
            assert scorer.per_class(e).shape == (n_classes,)
    assert found[0] > found[1]


def test_scorers_of_classes_judge_sets_too():
    rng = np.random.default_rng(0)
    true, found = rng.random((2, 40, 3)) < 0.5
    for name in ("accuracy", "f1_macro", "roc_auc", "average_precision", "neg_brier_score"):
        scorer = as_scorer(name)
        e = set_evaluation(true, found, rng.normal(size=(40, 3)), np.ones(40), needs=scorer.needs)
        assert math.isfinite(scorer.value(e))


def test_names_are_scikit_learns():
    known = set(sk.get_scorer_names())
    assert set(SCORERS) - SETS - AGAINST - OWN - known == set()


def test_the_first_of_a_list_has_the_others_beside_it_and_needs_what_all_need():
    first = as_scorer(["accuracy", "roc_auc", "neg_log_loss"])
    assert first.name == "accuracy" and [one.name for one in first.others] == ["roc_auc", "neg_log_loss"]
    assert first.needs == {"hits", "ranking", "probabilities"}
    for scoring, message in (
        ([], "is empty"),
        (["accuracy", "accuracy"], "has 'accuracy' twice"),
        (["accuracy", "roc_auc_reference"], "should stand alone"),
        (["accuracy", "nothing"], "scoring='nothing' is unknown"),
    ):
        with pytest.raises(ValueError, match=message):
            as_scorer(scoring)


def test_functions_and_scorers_of_ones_own():
    def informedness(evaluation):
        return evaluation.recall("macro") - 0.5

    scorer = as_scorer(informedness)
    e = snb.Evaluation(3, scorer.needs)
    rows = random_rows(3, 30, 0)
    e.add(rows.codes, **rows.said())
    assert scorer.name == "informedness"
    assert scorer.value(e) == e.recall("macro") - 0.5
    own = Scorer("own", frozenset({"hits"}), informedness)
    assert as_scorer(own) is own


@pytest.mark.parametrize("scoring, message", [("auc", "'roc_auc'"), (3, "function of an snb.Evaluation")])
def test_unknown_scores_are_refused(scoring, message):
    with pytest.raises((ValueError, TypeError), match=message):
        as_scorer(scoring)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", [name for name, scorer in SCORERS.items() if scorer.of_models is not None])
def test_models_of_a_grid_score_at_once_what_each_scores_by_itself(name, weighted):
    """Also where a class has no rows, and where no row has any weight."""
    scorer, rng = SCORERS[name], np.random.default_rng(0)
    for n_rows, weights in ((50, rng.random(50)), (3, np.zeros(3))):
        labels, decided = rng.integers(0, 3, n_rows), rng.integers(0, 4, (n_rows, 8)).astype(np.int32)
        if "reference" in scorer.needs:
            groups = ReferenceGroups((0, 1, 2), (3,), either=False)
            judged = snb.Evaluation(4, n_models=6, exact_rows=10, n_bins=8, reference=groups)
            margins = rng.normal(size=(n_rows, 3, 8))
            judged.add_margins(None, margins, (labels + 1) % 4, weights if weighted else np.ones(n_rows))
        else:
            judged = snb.Evaluation(4, scorer.needs, n_models=6)
            judged.add_decided(decided, labels, weights if weighted else None)
        for found, one in zip(scorer.of_models(judged), (scorer.value, scorer.per_class, scorer.error), strict=True):
            expected = None if one is None else np.array([one(e) for e in judged.models])
            np.testing.assert_equal(found, expected)
