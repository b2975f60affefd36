"""Calibrates a model by sampled rows, each scored by the model of the rows outside its fold."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from streamnb.models.calibrating import (
    AUTO,
    Scored,
    can_mix,
    factors_and_biases,
    fitted_to,
    matrix_and_biases,
    row_losses,
    scaled_scores,
)
from streamnb.models.linear import LinearModel
from streamnb.problem.schemes import Joint, Scheme
from streamnb.rows.boundary import as_chunk
from streamnb.stats.class_stats import ClassStats
from streamnb.stats.row_sample import SampledRows

LEAST_FOLDS = 5
ENOUGH_ROWS = 500  # of some folds, to choose and to calibrate by
MOST_MIXED = 64  # classes, as the time to fit a matrix grows with their square
Calibrated = Callable[[Scheme, Scored, np.ndarray], np.ndarray]  # margins, calibrated by other rows
PARTS = 5  # of the rows of one fold: calibrated by the others, each tells whether that helps


def check_calibration(method: str | None, scheme: str, n_folds: int) -> None:
    """Raise, before any row is read, where held-out rows cannot calibrate; "auto" then leaves the model as it is."""
    if method is None or method == AUTO:
        return
    if n_folds < LEAST_FOLDS:
        raise ValueError(
            f"calibration={method!r} needs at least {LEAST_FOLDS} folds, not {n_folds}: models of fewer rows "
            "score otherwise than the one of all rows; take folds=5, or calibrate(X, y) by rows held back"
        )
    if scheme == "ovo":
        raise ValueError(f"calibration={method!r} needs probabilities, which scheme='ovo' has not; take another scheme")


def check_enough_classes(method: str | None, stats: ClassStats) -> None:
    """Raise, once the classes are known, where there are too few of them for a method."""
    if method == "matrix" and (stats.multilabel or len(stats.classes) < 3):
        what = "rows have several labels" if stats.multilabel else f"there are {len(stats.classes)}"
        raise ValueError(f"calibration='matrix' is for three classes or more, and {what}; take 'sigmoid'")


def calibrated_out_of_fold(
    model: LinearModel, rows: SampledRows, of_rest: Callable[[int], LinearModel], method: str, proper: bool = True
) -> LinearModel:
    """The model of all rows, calibrated by out-of-fold scores; `of_rest` returns the model without a fold.

    "auto" takes what has the lowest log loss of rows calibrated by those of the other folds: "sigmoid", "matrix", or no
    calibration, where scores are `proper` log-odds. Where the rows without some fold have one class only, the same
    model is returned.
    """
    margins = np.empty((len(rows.key), model.scheme.n_rows(len(model.classes_))))
    for fold in np.unique(rows.fold).tolist():
        some = np.flatnonzero(rows.fold == fold)
        margins[some] = of_rest(fold).margins(*as_chunk(rows.X[some], missing=True))
    scored = Scored(margins, rows.labels.toarray().astype(np.float64), rows.weight)
    if method != AUTO:
        return fitted_to(model, scored, method)
    parts = rows.fold if np.ptp(rows.fold) else np.arange(len(rows.fold)) % PARTS
    if not _in_all_folds(model.scheme, scored, parts):
        return model
    best = _least_loss(model, scored, parts, proper)
    return model if best is None else fitted_to(model, scored, best)


def _least_loss(model: LinearModel, scored: Scored, folds: np.ndarray, proper: bool) -> str | None:
    """The method with the lowest log loss of held-out rows; None where it does not help scores that are `proper`."""
    losses = {"sigmoid": _held_out_losses(model.scheme, scored, folds, _by_factors)}
    if can_mix(model) and len(model.classes_) <= MOST_MIXED and np.isfinite(scored.margins).all():
        losses["matrix"] = _held_out_losses(Joint(), scored, folds, _by_matrix)
    best = min(losses, key=lambda method: float(scored.weight @ losses[method]))
    return best if not proper or _helps(model.scheme, scored, losses[best]) else None


def _by_factors(scheme: Scheme, scored: Scored, margins: np.ndarray) -> np.ndarray:
    factors, biases = factors_and_biases(scheme, scored)
    return scaled_scores(margins, factors, biases)


def _by_matrix(_: Scheme, scored: Scored, margins: np.ndarray) -> np.ndarray:
    matrix, biases = matrix_and_biases(scored)
    return margins @ matrix + biases


def _held_out_losses(scheme: Scheme, scored: Scored, folds: np.ndarray, calibrated: Calibrated) -> np.ndarray:
    """The log loss of each row, its margins calibrated by the rows of the other folds."""
    margins = np.empty_like(scored.margins)
    for fold in np.unique(folds).tolist():
        held = folds == fold
        others = Scored(scored.margins[~held], scored.targets[~held], scored.weight[~held])
        margins[held] = calibrated(scheme, others, scored.margins[held])
    return row_losses(scheme, replace(scored, margins=margins))


def _helps(scheme: Scheme, scored: Scored, after: np.ndarray) -> bool:
    """Whether log loss falls, to these losses, by more than the standard error of the difference."""
    before = row_losses(scheme, scored)
    if not np.isfinite(before).all():
        return bool(np.isfinite(after).all())
    gains, weight = before - after, scored.weight / scored.weight.sum()
    mean = weight @ gains
    return bool(mean > np.sqrt(weight**2 @ (gains - mean) ** 2))


def _in_all_folds(scheme: Scheme, scored: Scored, folds: np.ndarray) -> bool:
    """Whether the rows without each of several folds are of two classes, or with and without some label."""
    own = scored.targets > 0.0
    rests = [scored.weight * (folds != fold) for fold in np.unique(folds).tolist()]
    if scheme.multilabel:  # others get one probability for all rows
        both = np.all([(rest @ own > 0.0) & (rest @ ~own > 0.0) for rest in rests], axis=0)
        return len(rests) > 1 and bool(both.any())
    return len(rests) > 1 and all(np.count_nonzero(rest @ own) > 1 for rest in rests)
