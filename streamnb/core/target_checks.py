"""Checks targets: the numbers that a regression predicts."""

import numbers
from decimal import Decimal
from typing import Any

import numpy as np
import scipy.sparse as sp

from streamnb.core import messages
from streamnb.core.arguments import as_array
from streamnb.core.label_checks import NO_LABELS
from streamnb.core.row_checks import LARGEST

FEW_VALUES, MANY_ROWS = 5, 50  # so few distinct whole numbers in so many rows look like classes


def check_targets(y: Any, first_row: int = 0) -> np.ndarray:
    """Return targets as finite float64, (n_rows,) or (n_rows, n_targets); `first_row` numbers rows in messages."""
    if y is None:
        raise ValueError(
            f"{NO_LABELS}: give the number to predict for each row, the name of a "
            "column beside X, or an iterator of (X, y) chunks"
        )
    if np.ma.is_masked(y):
        raise ValueError("y has masked entries; drop those rows")
    if sp.issparse(y):
        raise TypeError("y is sparse; give an array of the numbers to predict, (n_rows,) or (n_rows, n_targets)")
    values = as_array("y", y)
    if values.ndim not in (1, 2) or 0 in values.shape[1:]:
        raise ValueError(f"y has shape {values.shape}; it should be (n_rows,), or (n_rows, n_targets) for several")
    if values.dtype.kind == "O":
        values = _of_objects(values, first_row)
    if values.dtype.kind == "c":
        raise ValueError("Complex data not supported: y should hold real numbers")
    if values.dtype.kind not in "iuf":
        raise TypeError(
            f"Unknown label type: y has dtype {values.dtype}; a regression predicts numbers: for classes take "
            "snb.search, or a classifier such as snb.LinearNB"
        )
    values = values.astype(np.float64, copy=False)
    table = values if values.ndim == 2 else values[:, None]
    wrong = np.flatnonzero(~(np.abs(table) <= LARGEST).all(axis=1))
    if wrong.size:
        row = int(wrong[0])
        raise ValueError(
            f"Input y contains NaN or infinity: y is {values[row]} at row {first_row + row}; drop rows without a target"
        )
    return values


def _of_objects(values: np.ndarray, first_row: int) -> np.ndarray:
    flat = values.reshape(-1)
    for at, one in enumerate(flat):
        if one is None or str(one) in ("nan", "<NA>", "NaT"):
            row = first_row + at // max(flat.size // len(values), 1)
            raise ValueError(f"Input y contains NaN at row {row}; drop rows without a target")
    kinds = {type(one) for one in flat}
    if not all(issubclass(kind, (numbers.Real, Decimal)) and not issubclass(kind, bool) for kind in kinds):
        return values.astype(str)
    return values.astype(np.float64)


def hint_at_classes(y: Any) -> None:
    """Warn where targets in memory are one number, or few whole ones, as classes are."""
    y = np.asarray(y) if isinstance(y, list | tuple) or hasattr(y, "to_numpy") else y
    if not isinstance(y, np.ndarray) or y.ndim != 1 or len(y) < MANY_ROWS or y.dtype.kind not in "iuf":
        return
    values = np.unique(y)
    if len(values) == 1:
        messages.warn(f"y is {values[0]} in every row, so that there is nothing to predict")
    elif len(values) <= FEW_VALUES and (values == np.floor(values)).all():
        messages.warn(
            f"y holds the whole numbers {messages.listed(values)} alone; if these are classes, take snb.search or a "
            "classifier such as snb.LinearNB"
        )
