"""Checks of weights, scores and values given for each row."""

import math
from typing import Any, NoReturn

import numpy as np

from streamnb.core.arguments import as_array

LARGEST = 1e100  # a larger value or weight could take a weighted sum of squares out of float64


def check_weights(weights: Any, first_row: int = 0, name: str = "sample_weight") -> np.ndarray:
    """Return sample weights as a 1-D array of finite, non-negative float64; `first_row` as in `check_labels`."""
    w = as_array(name, weights)
    if w.dtype.kind not in "buif":
        raise TypeError(f"{name} has dtype {w.dtype}; it should hold numbers")
    if np.ma.is_masked(weights):
        raise ValueError(f"{name} has masked entries; fill them, or drop those rows")
    if w.ndim != 1:
        raise ValueError(f"{name} has shape {w.shape}; Sample weights must be 1D array or scalar")
    w = w.astype(np.float64, copy=False)
    bad = np.flatnonzero(~((w >= 0) & (w <= LARGEST)))
    if bad.size:
        raise ValueError(
            f"{name} has {w[bad[0]]} at row {first_row + bad[0]}; weights should be finite and not negative "
            "(to take rows away use `forget` or subtract their statistics)"
        )
    return w


def check_total_weight(total: float) -> None:
    """Refuse weights that are all zero."""
    if not total > 0:
        raise ValueError("sample_weight sums to zero; at least one row should have a positive weight")


def check_lengths(n_rows: int, n_labels: int, name: str = "y", of: str = "X") -> None:
    """Refuse labels or weights of another length than the rows."""
    if n_rows != n_labels:
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: [{n_rows}, {n_labels}]; "
            f"{name} should have one entry for each row of {of}"
        )


def check_scores(scores: Any, n_rows: int, n_columns: int, name: str = "ranking", first_row: int = 0) -> np.ndarray:
    """Return scores as float64 (n_rows, n_columns); one column may be 1-D."""
    given, scores = scores, as_array(name, scores)
    if scores.dtype.kind not in "buif":
        raise TypeError(f"{name} has dtype {scores.dtype}; it should hold numbers")
    if np.ma.is_masked(given):
        raise ValueError(f"{name} has masked entries; a row without a score cannot be judged: drop those rows")
    if scores.ndim == 1 and n_columns == 1:
        scores = scores[:, None]
    if scores.ndim != 2 or scores.shape[1] != n_columns:
        wanted = "(n_rows,)" if n_columns == 1 else f"(n_rows, {n_columns})"
        raise ValueError(f"{name} has shape {scores.shape}; it should have shape {wanted}, one column a class")
    check_lengths(n_rows, len(scores), name, "the labels")
    scores = np.ascontiguousarray(scores, np.float64)
    if scores.size and np.isnan(scores.min()):  # min propagates a NaN, and needs no array of flags
        row, column = np.argwhere(np.isnan(scores))[0]
        raise ValueError(
            f"{name} contains NaN: row {first_row + row}, column {column}; a row without a score cannot be judged"
        )
    return scores


def check_log_proba(log_proba: Any, n_rows: int, n_columns: int) -> np.ndarray:
    """Return natural logs of probabilities as float64 (n_rows, n_columns)."""
    logs = check_scores(log_proba, n_rows, n_columns, "log_proba")
    if logs.size and logs.max() > 1e-6:
        raise ValueError(f"log_proba has {logs.max():g}; natural logs of probabilities should not be above 0")
    return np.minimum(logs, 0.0)


# ---- values of X -----------------------------------------------------------------------------------------------------


def check_min_size(n_rows: int, n_features: int, why: str = "X is empty") -> None:
    """Refuse empty input, in scikit-learn's words."""
    for count, what in ((n_rows, "sample"), (n_features, "feature")):
        if count == 0:
            raise ValueError(
                f"Found array with 0 {what}(s) (shape=({n_rows}, {n_features})) while a minimum of 1 is required. {why}"
            )


def check_n_features(given: int | None, expected: int, who: str = "the data before") -> None:
    """Refuse rows with another number of features; None where it is not known before they are read."""
    if given is not None and given != expected:
        raise ValueError(f"X has {given} features, but {who} is expecting {expected} features as input.")


def raise_not_finite(value: float, row: int, column: int) -> NoReturn:
    """Report a NaN, infinite or enormous value of X."""
    what = "NaN" if math.isnan(value) else "infinity or a value too large for dtype('float64')"
    raise ValueError(
        f"Input X contains {what}: row {row}, column {column} is {value}. "
        "Replace such values or drop the rows before the scan"
    )


def raise_negative(value: float, row: int, column: int, who: str) -> NoReturn:
    """Report a value below the domain of a family or a transform."""
    other = "" if who.startswith("transform") else ", or take family='gaussian'"
    raise ValueError(
        f"Negative values in data passed to {who}: row {row}, column {column} is {value}; "
        f"values should be at least 0 (shift or clip them{other})"
    )


def raise_outside(value: float, row: int, column: int, who: str, end: float, what: str = "X") -> NoReturn:
    """Report a value beyond one end of the domain of a family."""
    inside, beyond, way = ("most", "below", math.inf) if value > end else ("least", "above", -math.inf)
    outside = math.nextafter(end, way)
    is_open = outside.is_integer() and not float(end).is_integer()  # the domain leaves out a whole number beside it
    limit = f"{beyond} {outside:g}" if is_open else f"of at {inside} {end:g}"
    raise ValueError(f"{what} has {value} at row {row}, column {column}; {who} takes values {limit}")


def raise_negatives(n: int, who: str) -> NoReturn:
    """Report that scanned rows held values below the domain of a family."""
    raise ValueError(
        f"Negative values in data passed to {who}: the scanned rows held {n}; "
        "values should be at least 0 (shift or clip them, or take family='gaussian')"
    )


def check_same_rows(n_rows: int, n_before: int) -> None:
    """Refuse more or fewer rows than there were in the first scan."""
    if n_rows != n_before:
        raise ValueError(
            f"X gave {n_rows} rows in the second scan and {n_before} in the first; a callable should return a fresh "
            "iterator of the same rows each time"
        )
