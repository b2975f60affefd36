"""Metrics of decisions and probabilities, the methods of an `Evaluation`."""

from __future__ import annotations

from typing import Any

import numpy as np

from streamnb.core import arguments
from streamnb.evaluation.tallied import Tallied, check_multilabel, check_single, decisions, kept, losses
from streamnb.evaluation.tallies import BINS, ratio

_ROUNDED = 1e-12  # relative rounding error of a sum of weights


def accuracy(judged: Tallied) -> float:
    """Share of the weight predicted correctly; multi-label: the whole label set must match (subset accuracy)."""
    return decisions(judged).means.mean("right")


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
        "binary": class 1 of two; "macro": mean over classes that occur, true or predicted (multi-label: over all);
        "weighted": by true weight; "samples": mean over multi-label rows; None: each class, (K,).
    """
    return _rate(judged, "precision", average)


def recall(judged: Tallied, average: str | None = "binary") -> Any:
    """Share of the weight of a class that was predicted as it; 0 where the class has none; see `precision`."""
    return _rate(judged, "recall", average)


def specificity(judged: Tallied, average: str | None = "binary") -> Any:
    """Share of the weight outside a class that was not predicted as it; see `precision`, without "samples"."""
    if average == "samples":
        raise ValueError("average='samples' is not kept for specificity; choose 'micro', 'macro', 'weighted' or None")
    return _rate(judged, "specificity", average)


def matthews_corrcoef(judged: Tallied) -> float:
    """Correlation of true and predicted classes, in [-1, 1] (Gorodkin 2004); 0 where either is one class alone.

    ``(h W - sum t_k p_k) / sqrt((W^2 - sum t_k^2) (W^2 - sum p_k^2))``, h the correctly predicted weight, W all weight.
    """
    right, true, predicted, whole = _shares(judged, "matthews_corrcoef")
    spread = (whole**2 - true @ true) * (whole**2 - predicted @ predicted)
    return float((right * whole - true @ predicted) / np.sqrt(spread)) if spread > 0.0 else 0.0


def cohen_kappa(judged: Tallied) -> float:
    """Cohen's kappa: ``(a - e) / (1 - e)``, with accuracy a and the accuracy e of guesses with the same class shares.

    NaN where all rows belong to one class and are predicted as it.
    """
    right, true, predicted, whole = _shares(judged, "cohen_kappa")
    guessed = true @ predicted
    return float((right * whole - guessed) / (whole**2 - guessed)) if guessed < whole**2 else np.nan


def _shares(judged: Tallied, metric: str) -> tuple[float, np.ndarray, np.ndarray, float]:
    """Weight predicted correctly, by true class, by predicted class, and in total; unknown labels form one class."""
    check_single(judged, metric)
    tally = decisions(judged)
    unknown = judged.weight - tally.true.sum()
    true = np.append(tally.true, unknown if unknown > _ROUNDED * judged.weight else 0.0)
    return float(tally.hit.sum()), true, np.append(tally.predicted, 0.0), float(true.sum())


def f_score(judged: Tallied, average: str | None = "binary", beta: float = 1.0) -> Any:
    """F score, ``(1 + beta^2) hit / (beta^2 true + predicted)``; see `precision`; "samples" only for beta = 1."""
    beta = arguments.finite_number("beta", beta, minimum=0.0)
    if average == "samples" and beta != 1.0:
        raise ValueError(f"beta={beta!r}: the mean over rows is kept for beta=1 alone; choose another average")
    return _rate(judged, "f_score", average, beta)


def _rate(judged: Tallied, kind: str, average: str | None, beta: float = 1.0) -> Any:
    arguments.one_of("average", average, [None, "binary", "micro", "macro", "weighted", "samples"])
    if average == "samples":
        check_multilabel(judged, "average='samples'")
        return decisions(judged).means.mean(kind)
    tally = decisions(judged)
    counts = tally.hit, tally.true, tally.predicted, np.full(judged.n_classes, judged.weight)
    hit, true, predicted, whole = (x.sum(keepdims=True) for x in counts) if average == "micro" else counts
    parts = {
        "precision": (hit, predicted),
        "recall": (hit, true),
        "specificity": (whole - true - predicted + hit, whole - true),
        "f_score": ((1.0 + beta**2) * hit, beta**2 * true + predicted),
    }
    values = ratio(*parts[kind])
    if average is None:
        return values
    if average == "binary":
        if judged.n_classes != 2 or judged.multilabel:
            raise ValueError(
                f"average='binary' is for two classes; for these {judged.n_classes} choose 'micro', 'macro', "
                "'weighted' or None" + (", or 'samples'" if judged.multilabel else "")
            )
        return float(values[1])
    if average == "micro":
        return float(values[0])
    if average == "weighted":
        return mean(values, true)
    occurs = np.full(judged.n_classes, True) if judged.multilabel else (true > 0.0) | (predicted > 0.0)
    return mean(values[occurs])


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
    share, proba, right = _curve(judged)
    return float(np.abs(right - proba).sum()) if share.any() else np.nan


def reliability_curve(judged: Tallied) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean probability, share predicted correctly and share of the weight in each non-empty bin, each (m,).

    The bins are those of `expected_calibration_error`. Where the second is below the first, the model is overconfident.
    """
    share, proba, right = _curve(judged)
    some = share > 0.0
    return proba[some] / share[some], right[some] / share[some], share[some]


def _curve(judged: Tallied) -> np.ndarray:
    """Share of the rows in each bin, and its sums of probabilities and of correct predictions, (3, BINS)."""
    means = kept(judged, "reliability", "reliability")
    hi, lo = means.pairs
    sums = (hi + lo)[:-1].reshape(BINS, 3).T
    return ratio(sums, np.full(sums.shape, means.weight))


def mean(values: np.ndarray, weights: np.ndarray | None = None) -> float:
    """Weighted mean, unweighted where all weights are zero, as in scikit-learn; NaN for no values."""
    if not len(values):
        return np.nan
    return float(np.average(values, weights=weights if weights is not None and weights.any() else None))
