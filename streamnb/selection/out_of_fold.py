"""Calibrates a model by sampled rows, each scored by the model of the rows outside its fold."""

from collections.abc import Callable

import numpy as np

from streamnb.models.calibrating import Scored, fitted_to
from streamnb.models.linear import LinearModel
from streamnb.rows.boundary import as_chunk
from streamnb.selection.row_sample import SampledRows

LEAST_FOLDS = 5


def check_calibration(method: str | None, scheme: str, n_folds: int) -> None:
    """Raise, before any row is read, where held-out rows cannot calibrate."""
    if method is None:
        return
    if n_folds < LEAST_FOLDS:
        raise ValueError(
            f"calibration={method!r} needs at least {LEAST_FOLDS} folds, not {n_folds}: models of fewer rows "
            "score otherwise than the one of all rows; take folds=5, or calibrate(X, y) by rows held back"
        )
    if scheme == "ovo":
        raise ValueError(f"calibration={method!r} needs probabilities, which scheme='ovo' has not; take another scheme")


def calibrated_out_of_fold(
    model: LinearModel, rows: SampledRows, of_rest: Callable[[int], LinearModel], method: str
) -> LinearModel:
    """The model of all rows, calibrated by out-of-fold scores; `of_rest` returns the model without a fold."""
    margins = np.empty((len(rows.key), model.scheme.n_rows(len(model.classes_))))
    for fold in np.unique(rows.fold).tolist():
        some = np.flatnonzero(rows.fold == fold)
        margins[some] = of_rest(fold).margins(*as_chunk(rows.X[some], missing=True))
    return fitted_to(model, Scored(margins, rows.labels.toarray().astype(np.float64), rows.weight), method)
