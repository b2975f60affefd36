"""Ranking metrics, the methods of an `Evaluation`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import combinations
from typing import Any

import numpy as np

from streamnb.core import arguments, messages
from streamnb.evaluation.decision_metrics import mean
from streamnb.evaluation.levels import Levels
from streamnb.evaluation.score_order import Ranking
from streamnb.evaluation.tallied import Tallied, check_single, is_binary, ranking, ranking_by_margin

AVERAGES = "macro", "weighted", "micro", None


def roc_auc(judged: Tallied, average: str | None = "macro", multi_class: str = "ovr") -> Any:
    """Area under the ROC curve: of class 1 for two classes, otherwise one class against the rest, or pairs.

    Rows are ranked by the log-odds of the class, ln P / (1 - P), in the order of its probability; by raw scores
    (`roc_auc_margin`) where an evaluation was given these alone.

    Parameters
    ----------
    average : "macro", "weighted", "micro" or None
        Mean, plain or weighted, over the classes that have some but not all rows; NaN if there is none.
        "micro": every row with every class in one ranking. None: each class, (K,), NaN where undefined.
    multi_class : "ovr" or "ovo"
        "ovo": mean over pairs of classes that have rows of the two areas of the pair, by the scores of the one and
        of the other (Hand and Till 2001), plain or by the weight of the pair; for K > 2 it needs "pairs".
    """
    arguments.one_of("average", average, AVERAGES)
    if arguments.one_of("multi_class", multi_class, ["ovr", "ovo"]) == "ovr" or is_binary(judged):
        return _auc(judged, ranking(judged), average)
    if average in (None, "micro"):
        raise ValueError(f"average={average!r} is for multi_class='ovr'; one against one has no value of a class")
    pairs = list(_pairs(judged))
    areas = np.array([0.5 * (one.auc() + two.auc()) for one, two in pairs])
    weights = np.array([one.own.sum() + one.rest.sum() for one, _ in pairs])
    return mean(areas, weights if average == "weighted" else None)


def roc_auc_margin(judged: Tallied, average: str | None = "macro") -> Any:
    """ROC AUC of each class against the rest, rows ranked by the raw score of the class (`decision_function`).

    For two classes, and for labels, this is `roc_auc`. For more classes a raw score is not compared with those of the
    other classes, so the two metrics may differ by several hundredths either way.
    """
    arguments.one_of("average", average, AVERAGES)
    return _auc(judged, ranking_by_margin(judged), average)


def average_precision(judged: Tallied, average: str | None = "macro") -> Any:
    """Average precision, of class 1 for two classes; `average` as in `roc_auc`."""
    arguments.one_of("average", average, AVERAGES)
    ranked = ranking(judged)
    if average == "micro":
        return ranked.all_levels().average_precision()
    return _over_classes(judged, ranked, lambda k: ranked.levels(k).average_precision(), average)


def micro_error(judged: Tallied, metric: str) -> float:
    """Bound on the error of `roc_auc` or `average_precision` with average="micro"; 0 while exact."""
    levels = ranking(judged).all_levels()
    return levels.auc_error() if metric == "roc_auc" else levels.average_precision_error()


def roc_auc_error(judged: Tallied) -> float:
    """Bound on the error of `roc_auc`, whatever the average: the largest of any class or pair; 0 while exact.

    ``1/2 sum_b p_b n_b / (P N)`` over bins b with own weight p_b of P and other weight n_b of N.
    """
    errors = list(map(ranking(judged).auc_error, range(judged.n_classes)[is_binary(judged) :]))
    if "pairs" in judged.needs and judged.n_classes > 2 and not judged.multilabel:
        errors += [side.auc_error() for pair in _pairs(judged) for side in pair]
    return _largest(errors)


def margin_error(judged: Tallied) -> float:
    """Bound on the error of `roc_auc_margin`, as `roc_auc_error`."""
    return _largest(map(ranking_by_margin(judged).auc_error, range(judged.n_classes)[is_binary(judged) :]))


def average_precision_error(judged: Tallied) -> float:
    """Bound on the error of `average_precision`, from the best and worst order inside bins; as `roc_auc_error`."""
    return _largest(each.average_precision_error() for each in _levels(judged))


def roc_curve(judged: Tallied, label: Any = None, *, drop_intermediate: bool = True) -> tuple[np.ndarray, ...]:
    """ROC curve of a class against the rest: false positive rate, true positive rate, thresholds, each (m,).

    Parameters
    ----------
    label : one of `classes`
        Class 1 of two unless given. Of two, class 0 is ranked by minus the score.
    drop_intermediate : bool
        Leave out points on straight lines.
    """
    if label is None and is_binary(judged):
        label = judged.classes[1]
    at = np.flatnonzero(judged.classes == label)
    if not at.size:
        raise ValueError(f"label={label!r} is not a class; it should be one of {messages.listed(judged.classes)}")
    return ranking(judged).levels(int(at[0])).roc_curve(drop_intermediate)


def _levels(judged: Tallied) -> Iterable[Levels]:
    """Each class against the rest; for two classes, the second."""
    return map(ranking(judged).levels, range(judged.n_classes)[is_binary(judged) :])


def _pairs(judged: Tallied) -> Iterable[tuple[Levels, Levels]]:
    """For each pair of classes with rows, the first against the second by its scores, and the reverse."""
    check_single(judged, "multi_class='ovo'")
    ranked = ranking(judged, "pairs")
    for one, two in combinations(range(judged.n_classes), 2):
        levels = ranked.levels(one, two)
        if levels.defined:
            yield levels, ranked.levels(two, one)


def _auc(judged: Tallied, ranked: Ranking, average: str | None) -> Any:
    if average == "micro":
        return ranked.all_levels().auc()
    return _over_classes(judged, ranked, ranked.auc, average)


def _over_classes(judged: Tallied, ranked: Ranking, value: Callable[[int], float], average: str | None) -> Any:
    if average is None:
        return np.array([value(k) for k in range(judged.n_classes)])
    values = np.array([value(k) for k in range(judged.n_classes)[is_binary(judged) :]])
    levels = map(ranked.levels, range(judged.n_classes)[is_binary(judged) :])
    own = [each.own.sum() for each in levels if each.defined] if average == "weighted" else []
    return mean(values[~np.isnan(values)], np.array(own))


def _largest(errors: Iterable[float]) -> float:
    """The largest of the errors that are defined; NaN if none is."""
    return max((error for error in errors if not np.isnan(error)), default=np.nan)
