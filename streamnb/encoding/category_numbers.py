"""Categories of any kind as numbers that tell them apart, the same in every process and on every machine."""

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

import numpy as np

from streamnb.core import messages
from streamnb.kernels.row_values import GOLDEN, scatter_bits
from streamnb.rows.matrices import DATES

MANY = 100  # rows, of which no two should agree by chance


def as_numbers(X: Any) -> Any:
    """Rows in memory, some of whose columns hold no numbers, as float64 (n_rows, n_columns); others as they are.

    Numbers and dates stay, strings become whole numbers below 0 made of 53 bits of a hash, and None, NaN and NaT are
    NaN. Of n values two share a number with a probability of about n^2 / 2^54.
    """
    frame = hasattr(X, "iloc") and hasattr(X, "columns") and not hasattr(X, "dask")
    if frame:
        columns = [_column(X.iloc[:, j], f"column {name!r}") for j, name in enumerate(X.columns)]
        return np.stack(columns, axis=1) if columns else np.zeros((len(X), 0))
    if isinstance(X, list | tuple):
        X = np.array(X, object)  # NumPy would make strings of numbers beside strings
    if isinstance(X, np.ndarray) and X.dtype.kind in "OUSTMm" and X.ndim == 2:
        return np.stack([_column(X[:, j], f"column {j}") for j in range(X.shape[1])], axis=1)
    return X


def _column(column: Any, where: str) -> np.ndarray:
    """One column as float64."""
    categories = getattr(getattr(column, "cat", None), "categories", None)
    if categories is not None:  # of pandas: each is looked at once
        numbers = np.append(_column(np.asarray(categories), where), np.nan)
        return numbers[np.asarray(column.cat.codes)]
    values = np.asarray(column)
    if values.dtype.kind in DATES:
        return np.where(np.isnat(values), np.nan, values.astype(np.int64).astype(np.float64))
    if values.dtype.kind in "buif":
        return values.astype(np.float64)
    values = values.astype(object)
    known: dict[Any, float] = {}
    out = np.empty(len(values))
    for row, value in enumerate(values):
        try:
            number = known.get(value)
        except TypeError:  # a list, a dict or an array
            number = None
        if number is None:
            number = _number(value, where, row)
            known[value] = number
        out[row] = number
    return out


def _number(value: Any, where: str, row: int) -> float:
    if isinstance(value, bytes):
        value = value.decode(errors="backslashreplace")
    if isinstance(value, str):
        return -1.0 - (int.from_bytes(blake2b(value.encode(), digest_size=8).digest(), "little") >> 11)
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return np.nan
    if isinstance(value, bool | int | float | np.number | np.bool_):
        return float(value)
    if hasattr(value, "isoformat"):
        return _number(value.isoformat(), where, row)
    raise TypeError(
        f"X has a {type(value).__name__} at row {row}, {where}; a category should be a string, a number or a date: "
        "make columns of what is nested, or leave it out"
    )


def scattered(*columns: np.ndarray, n_bits: int = 53) -> np.ndarray:
    """A number from 0 to 2^n_bits - 1 for each row of some columns of numbers, which looks random."""
    mixed = np.zeros(len(columns[0]), np.uint64)
    for values in columns:
        bits = np.where(np.isnan(values), np.nan, values + 0.0).view(np.uint64)  # of two zeros one, of all NaN
        state, out = mixed * GOLDEN + bits, np.empty_like(mixed)
        scatter_bits(state, out)
        mixed = out
    return (mixed >> np.uint64(64 - n_bits)).astype(np.float64)


def warn_of_distinct(n_values: Sequence[int], columns: Sequence[int], n_rows: int) -> None:
    """Say so where each of many rows has a value of its own: such a column tells nothing of new rows."""
    alone = [str(column) for column, n in zip(columns, n_values, strict=True) if n == n_rows >= MANY]
    if alone:
        messages.warn(
            f"each of the {n_rows:,} rows has a category of its own in column {', '.join(alone)} of X, which tells "
            "nothing of new rows; leave it out, or put values together (such as numbers into bins)"
        )
