"""Metrics of decisions, probabilities and rankings, the methods of an `Evaluation`."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from itertools import combinations
from typing import Any

import numpy as np

from streamnb.core import arguments, messages
from streamnb.evaluation.score_order import Levels, Ranking
from streamnb.evaluation.tallied import (
    Tallied,
    check_multilabel,
    check_single,
    decisions,
    is_binary,
    kept,
    losses,
    ranked_classes,
    ranking,
    ranking_by_margin,
)
from streamnb.evaluation.tallies import BINS, ratio


def accuracy(judged: Tallied) -> float:
    """Share of the weight predicted correctly; multi-label: the whole label set must match (subset accuracy)."""
    return decisions(judged).means.mean("right")


def accuracies_and_recalls(judged: Tallied) -> tuple[np.ndarray, np.ndarray, None]:
    """Accuracy of all models (models,), and recall of each class (models, K), NaN without rows; both exact."""
    tally = decisions(judged)
    hit, true = tally.by_bucket("hit"), tally.by_bucket("true")
    recalls = ratio(hit, np.broadcast_to(true, hit.shape), np.nan)
    if tally.of_sets is not None:
        right, weight = tally.of_sets.sums[:, [0, -1]].T
    else:
        pairs = tally.counts["hit"].pairs.reshape(2, *hit.shape)
        right = np.array([math.fsum(pairs[:, model].flat) for model in range(judged.n_models)])
        weight = np.full(len(right), math.fsum(tally.counts["true"].pairs.flat))
    return ratio(right, weight, np.nan), recalls, None


def areas_against_reference(judged: Tallied) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """`roc_auc` of all models, (models,), of each class (models, K), and `roc_auc_error` (models,).

    The area of a class is the probability that one of its rows has a higher margin than one of the reference, ties
    counted half; NaN without rows of either, and for the reference. Two classes share one value.
    """
    groups, rankings = judged.reference, kept(judged, "reference", "ranking")
    assert groups is not None
    areas, errors = np.stack([ranking.areas() for ranking in rankings], axis=1)  # each (rows of weights, models)
    if all(ranking.is_exact for ranking in rankings):
        errors[:] = 0.0
    of_classes = np.full((areas.shape[1], judged.n_classes), np.nan)
    of_classes[:, slice(None) if groups.either else list(groups.own)] = areas.T
    n_defined = (~np.isnan(areas)).sum(axis=0)
    return ratio(np.nansum(areas, axis=0), n_defined, np.nan), of_classes, np.fmax.reduce(errors, axis=0)


def balanced_accuracy(judged: Tallied) -> float:
    """Mean recall over the classes that have rows."""
    tally = decisions(judged)
    return mean(ratio(tally.hit, tally.true)[tally.true > 0.0])


def confusion_matrix(judged: Tallied) -> np.ndarray:
    """Weight by true class (rows) and predicted class (columns), (K, K)."""
    check_single(judged, "confusion_matrix")
    table = decisions(judged, "confusion").table
    assert table is not None
    return table.copy()


def precision(judged: Tallied, average: str | None = "binary") -> Any:
    """Share of the weight predicted as a class that truly belongs to it; 0 where nothing was predicted as it.

    Parameters
    ----------
    average : "binary", "micro", "macro", "weighted", "samples" or None
        "binary": the class `positive` of two, by default the second; "macro": mean over classes that occur, true or
        predicted (multi-label: over all);
        "weighted": by true weight; "samples": mean over multi-label rows; None: each class, (K,).
    """
    return rate(judged, "precision", average)


def recall(judged: Tallied, average: str | None = "binary") -> Any:
    """Share of the weight of a class that was predicted as it; 0 where the class has none; see `precision`."""
    return rate(judged, "recall", average)


def specificity(judged: Tallied, average: str | None = "binary") -> Any:
    """Share of the weight outside a class that was not predicted as it; see `precision`, without "samples"."""
    if average == "samples":
        raise ValueError("average='samples' is not kept for specificity; choose 'micro', 'macro', 'weighted' or None")
    return rate(judged, "specificity", average)


def matthews_corrcoef(judged: Tallied) -> float:
    """Correlation of true and predicted classes, in [-1, 1] (Gorodkin 2004); 0 where either is one class alone.

    ``(h W - sum t_k p_k) / sqrt((W^2 - sum t_k^2) (W^2 - sum p_k^2))``, h the correctly predicted weight, W all weight.
    """
    right, true, predicted, whole = shares(judged, "matthews_corrcoef")
    spread = (whole**2 - true @ true) * (whole**2 - predicted @ predicted)
    if spread > 0.0:
        return float((right * whole - true @ predicted) / np.sqrt(spread))
    return 0.0


def cohen_kappa(judged: Tallied) -> float:
    """Cohen's kappa: ``(a - e) / (1 - e)``, with accuracy a and the accuracy e of guesses with the same class shares.

    NaN where all rows belong to one class and are predicted as it.
    """
    right, true, predicted, whole = shares(judged, "cohen_kappa")
    guessed = true @ predicted
    if guessed < whole**2:
        return float((right * whole - guessed) / (whole**2 - guessed))
    return np.nan


def shares(judged: Tallied, metric: str) -> tuple[float, np.ndarray, np.ndarray, float]:
    """Weight predicted correctly, by true class, by predicted class, and in total."""
    check_single(judged, metric)
    tally = decisions(judged)
    return float(tally.hit.sum()), tally.true, tally.predicted, float(tally.true.sum())


def f_score(judged: Tallied, average: str | None = "binary", beta: float = 1.0) -> Any:
    """F score, ``(1 + beta^2) hit / (beta^2 true + predicted)``; see `precision`; "samples" only for beta = 1."""
    beta = arguments.finite_number("beta", beta, minimum=0.0)
    if average == "samples" and beta != 1.0:
        raise ValueError(f"beta={beta!r}: the mean over rows is kept for beta=1 alone; choose another average")
    return rate(judged, "f_score", average, beta)


def rate(judged: Tallied, kind: str, average: str | None, beta: float = 1.0) -> Any:
    """A ratio of counts of decisions by name, averaged over classes."""
    arguments.one_of("average", average, [None, "binary", "micro", "macro", "weighted", "samples"])
    if average == "samples":
        check_multilabel(judged, "average='samples'")
        return decisions(judged).means.mean(kind)
    tally = decisions(judged)
    counts = tally.hit, tally.true, tally.predicted, np.full(judged.n_classes, judged.weight)
    hit, true, predicted, whole = (x.sum(keepdims=True) for x in counts) if average == "micro" else counts
    values = ratio(*parts_of_rate(kind, beta, hit, true, predicted, whole))
    if average is None:
        return values
    if average == "binary":
        if judged.n_classes != 2 or judged.multilabel:
            raise ValueError(
                f"average='binary' is for two classes; for these {judged.n_classes} choose 'micro', 'macro', "
                "'weighted' or None" + (", or 'samples'" if judged.multilabel else "")
            )
        return float(values[judged.positive])
    if average == "micro":
        return float(values[0])
    if average == "weighted":
        return mean(values, true)
    return mean(values[occurring(judged)])


def parts_of_rate(kind: str, beta: float, hit: Any, true: Any, predicted: Any, whole: Any) -> tuple[Any, Any]:
    """The numerator and the denominator of a rate, both linear in the counts of decisions and in the whole weight."""
    if kind == "precision":
        return hit, predicted
    if kind == "recall":
        return hit, true
    if kind == "specificity":
        return whole - true - predicted + hit, whole - true
    return (1.0 + beta**2) * hit, beta**2 * true + predicted  # f_score


def occurring(judged: Tallied) -> np.ndarray:
    """Which classes occur, true or predicted, (K,) bool; of multi-label rows all."""
    tally = decisions(judged)
    if judged.multilabel:
        return np.full(judged.n_classes, True)
    return (tally.true > 0.0) | (tally.predicted > 0.0)


def hamming_loss(judged: Tallied) -> float:
    """Share of wrong labels over all rows, on instead of off or the reverse; multi-label."""
    return _set_mean(judged, "hamming", "hamming_loss")


def jaccard(judged: Tallied) -> float:
    """Mean over rows of ``labels right / labels true or predicted``; multi-label.

    A row without labels that is predicted to have none counts 1: the two sets are equal. scikit-learn's
    `jaccard_score(average="samples")` counts it 0 unless `zero_division=1`.
    """
    return _set_mean(judged, "jaccard", "jaccard")


def subset_accuracy(judged: Tallied) -> float:
    """Share of the weight whose whole set of labels was predicted correctly; multi-label."""
    return _set_mean(judged, "right", "subset_accuracy")


def ranking_loss(judged: Tallied) -> float:
    """Mean over rows of the share of pairs (label on, label off) in the wrong order or tied; multi-label."""
    check_multilabel(judged, "ranking_loss")
    return kept(judged, "ranking_loss", "multilabel" if "ranking" in judged.needs else "ranking").mean("ranking_loss")


def _set_mean(judged: Tallied, name: str, metric: str) -> float:
    check_multilabel(judged, metric)
    return kept(judged, "decisions", "multilabel").means.mean(name)


def log_loss(judged: Tallied) -> float:
    """Mean of -ln P(true class), P clipped to [eps, 1 - eps], eps = 2^-52; multi-label: mean over labels too."""
    return losses(judged).mean("log_loss")


def brier(judged: Tallied) -> float:
    """Mean over rows of the squared error of the probabilities, summed over classes; half of it for two classes.

    Multi-label: the mean over labels of the score of each two-class problem.
    """
    return losses(judged).mean("brier")


def expected_calibration_error(judged: Tallied) -> float:
    """Mean distance between predicted probability and observed accuracy, over 15 bins of equal width.

    ``sum_b w_b / W |right_b - proba_b|`` (Guo et al. 2017), by the probability of the likeliest class of each row;
    multi-label, by the probabilities of all labels.
    """
    share, proba, right = reliability_sums(judged)
    if share.any():
        return float(np.abs(right - proba).sum())
    return np.nan


def reliability_curve(judged: Tallied) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean probability, share predicted correctly and share of the weight in each non-empty bin, each (m,).

    The bins are those of `expected_calibration_error`. Where the second is below the first, the model is overconfident.
    """
    share, proba, right = reliability_sums(judged)
    filled = share > 0.0
    return proba[filled] / share[filled], right[filled] / share[filled], share[filled]


def reliability_sums(judged: Tallied) -> np.ndarray:
    """Share of the rows in each bin, and its sums of probabilities and of correct predictions, (3, BINS)."""
    means = kept(judged, "reliability", "reliability")
    by_bin = means.sums.reshape(-1, BINS, len(means.names) + 1).sum(axis=0)
    sums = by_bin[:, [-1, means.place("proba"), means.place("right")]].T
    return ratio(sums, np.full(sums.shape, sums[0].sum()))


def mean(values: np.ndarray, weights: np.ndarray | None = None) -> float:
    """Weighted mean, unweighted where all weights are zero, as in scikit-learn; NaN for no values."""
    if not len(values):
        return np.nan
    return float(np.average(values, weights=weights if weights is not None and weights.any() else None))


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
    if judged.reference is not None:
        means, of_classes, _ = areas_against_reference(judged)
        if average is not None:
            return float(means[0])
        return of_classes[0]
    if not compares_pairs(judged, average, multi_class):
        return _auc(judged, ranking(judged), average)
    pairs = list(_pairs(judged))
    areas = np.array([0.5 * (one.auc() + two.auc()) for one, two in pairs])
    weights = np.array([one.positive.sum() + one.negative.sum() for one, _ in pairs])
    return mean(areas, weights if average == "weighted" else None)


def compares_pairs(judged: Tallied, average: str | None, multi_class: str) -> bool:
    """Whether `roc_auc` compares classes one against one; refuse arguments that it does not take."""
    arguments.one_of("average", average, AVERAGES)
    if arguments.one_of("multi_class", multi_class, ["ovr", "ovo"]) == "ovr" or is_binary(judged):
        return False
    if average in (None, "micro"):
        raise ValueError(f"average={average!r} is for multi_class='ovr'; one against one has no value of a class")
    check_single(judged, "multi_class='ovo'")
    return True


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
    if metric == "roc_auc":
        return levels.auc_error()
    return levels.average_precision_error()


def roc_auc_error(judged: Tallied) -> float:
    """Bound on the error of `roc_auc`, whatever the average: the largest of any class or pair; 0 while exact.

    ``1/2 sum_b p_b n_b / (P N)`` over bins b with positive weight p_b of P and negative weight n_b of N.
    """
    if judged.reference is not None:
        return float(areas_against_reference(judged)[2][0])
    errors = list(map(ranking(judged).auc_error, ranked_classes(judged)))
    if "pairs" in judged.needs and judged.n_classes > 2 and not judged.multilabel:
        errors += [side.auc_error() for pair in _pairs(judged) for side in pair]
    return _largest(errors)


def margin_error(judged: Tallied) -> float:
    """Bound on the error of `roc_auc_margin`, as `roc_auc_error`."""
    return _largest(map(ranking_by_margin(judged).auc_error, ranked_classes(judged)))


def average_precision_error(judged: Tallied) -> float:
    """Bound on the error of `average_precision`, from the best and worst order inside bins; as `roc_auc_error`."""
    return _largest(each.average_precision_error() for each in _levels(judged))


ERRORS = {"roc_auc": roc_auc_error, "roc_auc_margin": margin_error, "average_precision": average_precision_error}


def roc_curve(judged: Tallied, label: Any = None, *, drop_intermediate: bool = True) -> tuple[np.ndarray, ...]:
    """ROC curve of a class against the rest: false positive rate, true positive rate, thresholds, each (m,).

    Parameters
    ----------
    label : one of `classes`
        Class 1 of two unless given. Of two, class 0 is ranked by minus the score.
    drop_intermediate : bool
        Leave out points on straight lines.
    """
    return ranking(judged).levels(class_number(judged, label, "roc_curve")).roc_curve(drop_intermediate)


def class_number(judged: Tallied, label: Any, what: str) -> int:
    """The number of the class with this label; of two the positive one unless given."""
    if label is None and is_binary(judged):
        return judged.positive
    known = messages.listed(judged.classes)
    if label is None:
        kind = "classes"
        if judged.multilabel:
            kind = "labels"
        raise ValueError(
            f"{what} compares one class with the rest, and there are {judged.n_classes} {kind}; give label=, "
            f"one of {known}"
        )
    at = np.flatnonzero(judged.classes == label)
    if not at.size:
        raise ValueError(f"label={label!r} is not a class; it should be one of {known}")
    return int(at[0])


def _levels(judged: Tallied) -> Iterable[Levels]:
    """Each class against the rest; for two classes, the positive one."""
    return map(ranking(judged).levels, ranked_classes(judged))


def _pairs(judged: Tallied) -> Iterable[tuple[Levels, Levels]]:
    """For each pair of classes with rows, the first against the second by its scores, and the reverse."""
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
    values = np.array([value(k) for k in ranked_classes(judged)])
    levels = map(ranked.levels, ranked_classes(judged))
    weights = [each.positive.sum() for each in levels if each.defined] if average == "weighted" else []
    return mean(values[~np.isnan(values)], np.array(weights))


def _largest(errors: Iterable[float]) -> float:
    """The largest of the errors that are defined; NaN if none is."""
    return max((error for error in errors if not np.isnan(error)), default=np.nan)
