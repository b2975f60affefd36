"""Converts in-memory X to a 2-D numeric array, with a helpful error for everything else."""

import datetime
from collections.abc import Iterable
from typing import Any

import numpy as np

DATES = {"M": "dates", "m": "durations"}
_DATED = np.datetime64, np.timedelta64, datetime.date, datetime.timedelta  # pandas' own are subclasses of these
_MORE_DATES = (
    "convert dates and durations to numbers first, such as (x - x.min()) / np.timedelta64(1, 'D'), or pass "
    "snb.table(X, y), which encodes them"
)


def as_matrix(X: Any, first_row: int = 0) -> np.ndarray:
    """Return rows in memory as a 2-D NumPy array of numbers; objects are accepted if all are numbers.

    `first_row` is the number of the first row, for messages.
    """
    if type(X) is np.ndarray and X.ndim == 2 and X.dtype.kind in "buif":
        return X
    if getattr(getattr(X, "dtype", None), "names", None):  # whose masks are records too
        raise TypeError(
            f"X is an array of records (dtype {X.dtype}); convert it to a plain array with "
            "numpy.lib.recfunctions.structured_to_unstructured(X)"
        )
    if np.ma.is_masked(X):
        raise ValueError("X is a masked array with masked values; fill them (X.filled(0)) or drop those rows")
    _check_kind(X, first_row)
    try:
        values = np.asarray(X)
    except ValueError as error:
        raise ValueError(f"X should have rows of one length and shape (n_rows, n_features): {error}") from error
    if values.ndim != 2:
        raise ValueError(
            f"Expected 2D array, got {values.ndim}D array instead: X should have shape (n_rows, n_features). "
            "Reshape your data either using array.reshape(-1, 1) if it has a single feature "
            "or array.reshape(1, -1) if it contains a single sample." + _hint(X, values)
        )
    if values.dtype.kind == "c":
        raise ValueError("Complex data not supported: X should hold real numbers")
    if values.dtype.kind in DATES:
        raise TypeError(f"X holds {DATES[values.dtype.kind]} (dtype {values.dtype}); {_MORE_DATES}")
    if values.dtype.kind in "UST":
        raise ValueError(
            f"X has dtype {values.dtype}: dtype='numeric' is not compatible with arrays of bytes/strings. "
            "Convert your data to numeric values explicitly instead."
        )
    if values.dtype.kind == "O":
        return _numbers_of(values, getattr(X, "column_names", getattr(X, "columns", None)))
    return values


def made_by(X: Any, package: str) -> bool:
    """Whether X is of a class from this package, which need not be installed."""
    return any(cls.__module__.partition(".")[0] == package for cls in type(X).__mro__)


def check_dtypes(frame: Any) -> None:
    """Refuse a pandas data frame with columns of dates, or the empty frame that stands for a lazy one."""
    for name, dtype in zip(frame.columns, frame.dtypes, strict=True):
        if getattr(dtype, "kind", "") in DATES:
            raise TypeError(f"X has {DATES[dtype.kind]} in column {name!r} (dtype {dtype}); {_MORE_DATES}")


def _check_kind(X: Any, first_row: int) -> None:
    """Refuse objects that NumPy converts slowly, wrongly or not at all."""
    if made_by(X, "sparse"):
        cure = next((f"X.{name}()" for name in ("tocsr", "to_scipy_sparse") if hasattr(X, name)), "X.to_coo().tocsr()")
        raise TypeError(f"X is a {type(X).__name__} array of the package sparse; give a SciPy matrix: {cure}")
    if made_by(X, "anndata") and hasattr(X, "to_memory"):
        raise TypeError(
            f"X is a {type(X).__name__} of AnnData, whose rows stay in their file; read them with X.to_memory(), or "
            "pass the AnnData object itself, or its path: these are read block by block (Zarr is faster)"
        )
    if not (hasattr(X, "iloc") and hasattr(X, "columns")):
        return
    check_dtypes(X)
    for j, dtype in enumerate(X.dtypes):
        if isinstance(dtype, np.dtype):
            continue
        missing = np.flatnonzero(np.asarray(X.iloc[:, j].isna()))  # NumPy would convert the whole frame to objects
        if missing.size:
            raise ValueError(
                f"X has a missing value (NA) in column {X.columns[j]!r}, at row {first_row + missing[0]} (dtype "
                f"{dtype}); fill such values (X.fillna(0)), drop those rows, or leave the column out"
            )


def _hint(X: Any, values: np.ndarray) -> str:
    """A hint about what X seems to be, for the error message."""
    if values.ndim == 0 and values.dtype.kind == "O":
        cursor = "; sql(..) of a connection is a table, in place of execute(..)" if hasattr(X, "execute") else ""
        return f" X is of type {type(X).__name__}{cursor}"
    if values.ndim != 1 or not values.size or values.dtype.kind not in "OUS":
        return ""
    kind = type(values[0]).__name__.strip("_")
    if kind == "str":
        return (
            " X holds texts: fit the model on snb.text(X), or put snb.HashedText() before it in a pipeline; a model "
            "that was fitted on a table takes rows with the same columns, such as a data frame"
        )
    return f" X holds objects of type {kind}; convert them to numbers first, as sklearn.feature_extraction does"


def _numbers_of(values: np.ndarray, names: Any) -> np.ndarray:
    if any(issubclass(kind, _DATED) for kind in {*map(type, values.flat)}):  # NumPy converts its own dates to numbers
        at, value = next((j, v) for j, column in enumerate(values.T) for v in column if isinstance(v, _DATED))
        raise TypeError(f"X holds a {type(value).__name__} in {_column(at, names)}; {_MORE_DATES}")
    try:
        return values.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        at = next((j for j in range(values.shape[1]) if not _numeric(values[:, j])), 0)
        if isinstance(error, OverflowError):
            raise ValueError(
                f"X has a whole number too large for float64 in {_column(at, names)}; scale it, or take its logarithm"
            ) from error
        raise TypeError(
            f"X is an object array with entries that are not numbers, in {_column(at, names)} ({error}); argument must "
            "be a string or a real number: give X a numeric dtype, leave the column out, or pass a data frame as "
            "snb.table(X, y), which encodes strings"
        ) from error


def _column(at: int, names: Any) -> str:
    return f"column {at}" if names is None else f"column {names[at]!r}"


def _numeric(column: np.ndarray) -> bool:
    try:
        column.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        return False
    return True


def is_dask(X: Any) -> bool:
    """Whether X is a Dask array, data frame or series."""
    kind = type(X)  # a delayed object itself seems to have every attribute
    return hasattr(kind, "__dask_graph__") and (hasattr(kind, "chunks") or hasattr(kind, "to_dask_array"))


def is_stream(X: Any) -> bool:
    """Whether X is a callable or an iterator of chunks."""
    rows = ("__array__", "__len__", "shape")  # attributes of objects that hold rows themselves
    return callable(X) or (isinstance(X, Iterable) and not any(hasattr(X, name) for name in rows))


def check_not_delayed(**given: Any) -> None:
    """Refuse lazy objects that are not arrays, such as `dask.delayed` and bags, whose rows are unknown."""
    for name, value in given.items():
        if hasattr(type(value), "__dask_graph__") and not is_dask(value):
            raise TypeError(
                f"{name} is a {type(value).__name__} of Dask, whose shape and dtype are unknown; make it an array "
                f"with dask.array.from_delayed({name}, shape=.., dtype=..), or pass {name}.compute()"
            )


def dask_array(X: Any) -> Any:
    """Convert a Dask array, data frame or series to a Dask array."""
    if not hasattr(X, "to_dask_array"):
        return X
    if X.ndim == 2:
        check_dtypes(X._meta)
    return X.to_dask_array()


def computed(column: Any) -> Any:
    """Labels or weights, computed if they are lazy; None stays None."""
    return dask_array(column).compute() if is_dask(column) else column
