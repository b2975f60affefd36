"""Converts X in memory to 2-D numbers, and validates blocks as chunks; kernels trust whatever has passed here."""

import datetime
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp

from streamnb.core import row_checks
from streamnb.core.csr import as_csr
from streamnb.core.memory import aligned
from streamnb.kernels import row_values
from streamnb.rows.row_blocks import Block, Chunk, CSRChunk, DenseChunk, frozen

DATES = {"M": "dates", "m": "durations"}
_DATED = np.datetime64, np.timedelta64, datetime.date, datetime.timedelta  # pandas' own are subclasses of these
_MORE_DATES = (
    "convert dates and durations to numbers first, such as (x - x.min()) / np.timedelta64(1, 'D'), or pass "
    "snb.table(X, y), which encodes them"
)
TILE = 1 << 17  # values surveyed together
FEW_VALUES = 1 << 17  # which NumPy surveys in less time than a kernel takes to load or to compile
FEWEST, MOST = 16, 4096  # rows of a dense tile; sums of more rows would lose digits
SIDE_BY_SIDE = 2048  # values of short rows that are surveyed at once
_BITS = {  # the integer that a float is viewed as, and the mask of all its bits but the sign
    np.dtype(np.float32): (np.int32, np.int32(2**31 - 1)),
    np.dtype(np.float64): (np.int64, np.int64(2**63 - 1)),
}


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
    if values.ndim != 2 and not values.size:
        raise ValueError("X has no rows: it is empty")
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


def _held(X: Any) -> Any:
    """The array that an array of xarray holds; others as they are."""
    return X.data if made_by(X, "xarray") and hasattr(X, "dtype") else X


def is_dask(X: Any) -> bool:
    """Whether X is a Dask array, data frame or series, or an array of xarray that holds one."""
    kind = type(_held(X))  # a delayed object itself seems to have every attribute
    return hasattr(kind, "__dask_graph__") and (hasattr(kind, "chunks") or hasattr(kind, "to_dask_array"))


def is_stream(X: Any) -> bool:
    """Whether X is a callable or an iterator of chunks."""
    rows = ("__array__", "__len__", "shape")  # attributes of objects that hold rows themselves
    return callable(X) or (isinstance(X, Iterable) and not any(hasattr(X, name) for name in rows))


def holds_texts(X: Any) -> bool:
    """Whether X holds strings in memory: a list, an array, or a column of pandas, Polars or Arrow."""
    if made_by(X, "pyarrow"):
        return "string" in str(getattr(X, "type", ""))
    column = isinstance(X, np.ndarray) or made_by(X, "pandas") or made_by(X, "polars")
    listed = isinstance(X, list | tuple) or made_by(X, "datasets")
    if not listed and not (column and len(getattr(X, "shape", ())) == 1):
        return False
    return any(isinstance(one, str | bytes) for one in islice(X, 100))  # reading names the rows that are not


def columns_in(X: Any) -> list[Any] | None:
    """The column names of a table; None if X is not a table."""
    names = getattr(X, "column_names", None) or getattr(X, "columns", None)
    return None if names is None else list(names)


def check_not_delayed(**given: Any) -> None:
    """Refuse lazy objects that are not arrays, such as `dask.delayed` and bags, whose rows are unknown."""
    for name, value in given.items():
        if made_by(value, "xarray") and not hasattr(value, "dtype"):
            arrays = list(getattr(value, "data_vars", ()))
            raise TypeError(f"{name} is a {type(value).__name__} of xarray; pass one of its arrays, {arrays}")
        if hasattr(type(_held(value)), "__dask_graph__") and not is_dask(value):
            raise TypeError(
                f"{name} is a {type(value).__name__} of Dask, whose shape and dtype are unknown; make it an array "
                f"with dask.array.from_delayed({name}, shape=.., dtype=..), or pass {name}.compute()"
            )


def dask_array(X: Any) -> Any:
    """Convert a Dask array, data frame or series, or an array of xarray that holds one, to a Dask array."""
    X = _held(X)
    if not hasattr(X, "to_dask_array"):
        return X
    if X.ndim == 2:
        check_dtypes(X._meta)
    elif not isinstance(X.dtype, np.dtype):
        X = X.astype(object)  # of strings and the like, as Dask would take them, with a warning
    return X.to_dask_array()


def computed(column: Any) -> Any:
    """Labels or weights, computed if they are lazy; None stays None."""
    return dask_array(column).compute() if is_dask(column) else column


@dataclass(frozen=True, eq=False)
class Survey:
    """Facts about a block found in one pass over its values: about integers, once one of these is asked for."""

    whole: bool  # every value is a whole number
    find: Callable[[], tuple[int, float, float]]  # the number of values below zero, `low` and `top`
    tops: np.ndarray | None = None  # largest absolute values, (n_tiles, n_features); dense floats only
    tile: int = 0

    @cached_property
    def _found(self) -> tuple[int, float, float]:
        return self.find()

    @property
    def negatives(self) -> int:
        """The number of values below zero."""
        return self._found[0]

    @property
    def low(self) -> float:
        """No value is smaller."""
        return self._found[1]

    @property
    def top(self) -> float:
        """No absolute value is larger; NaN if any value is NaN."""
        return self._found[2]


OF_ONES = Survey(True, lambda: (0, 0.0, 1.0))


def survey_values(stored: np.ndarray, width: int) -> Survey:
    """Survey a flat array of values; they are dense rows where `width` is more than 1."""
    if stored.dtype.kind != "f":
        return Survey(True, lambda: _range_of_integers(stored))
    integer, magnitude = _BITS[stored.dtype]
    tile = min(max(TILE // width, FEWEST), MOST) if width > 1 else TILE
    tops = np.empty((-(-len(stored) // (width * tile)), width), integer)
    if len(stored) <= FEW_VALUES:
        negatives, whole = int(np.count_nonzero(stored < 0.0)), bool((stored == np.floor(stored)).all())
        magnitudes = stored.view(integer) & magnitude
        for t in range(len(tops)):
            tops[t] = magnitudes[t * tile * width : (t + 1) * tile * width].reshape(-1, width).max(axis=0)
    else:
        n_wide = max(SIDE_BY_SIDE // width, 1) * width
        wide = aligned(1, n_wide, integer)[0, :n_wide]
        negatives, whole = row_values.survey(stored, stored.view(integer), magnitude, tile, wide, tops)
    tops = tops.view(stored.dtype)
    top = float(tops.max(initial=0.0))
    of_columns = (tops, tile) if width > 1 else (None, 0)
    found = int(negatives), -top if negatives else 0.0, top
    return Survey(bool(whole), lambda: found, *of_columns)


def _range_of_integers(stored: np.ndarray) -> tuple[int, float, float]:
    low, high = int(stored.min(initial=0)), int(stored.max(initial=0))
    negatives = int(np.count_nonzero(stored < 0)) if low < 0 else 0
    return negatives, float(low), float(max(-low, high))


class TakesValues(Protocol):
    """Accepts some values of x and refuses others."""

    def check(self, chunk: Chunk, survey: Survey) -> None:
        """Raise for the first value that is not accepted."""


@dataclass(frozen=True)
class Domain:
    """The range of values of x that a family or transform accepts; an open end is given by the next float inside."""

    who: str = ""
    lowest: float = -np.inf
    highest: float = np.inf
    columns: Any = None  # the columns that it is about, a slice or numbers; None for all
    what: str = "X"  # the name of the values in messages

    def check(self, chunk: Chunk, survey: Survey) -> None:
        """Raise for the first value outside the range: stored values first, then absent zeros."""
        if survey.low >= self.lowest and survey.top <= self.highest:
            return
        # as float64, because the smallest numbers are 0 in float32
        lowest, highest = np.float64(self.lowest), np.float64(self.highest)
        outside = np.flatnonzero((chunk.stored < lowest) | (chunk.stored > highest))
        mask = np.zeros(chunk.shape[1], bool)
        mask[slice(None) if self.columns is None else self.columns] = True
        outside = outside[mask[chunk.columns_at(outside)]]
        if outside.size:
            value, at = float(chunk.stored[outside[0]]), chunk.locate(int(outside[0]))
        elif self.lowest <= 0.0 <= self.highest or (absent := chunk.first_absent(mask)) is None:
            return
        else:
            value, at = 0.0, absent
        row, column = at
        if value > self.highest:
            row_checks.raise_outside(value, row, column, self.who, self.highest, self.what)
        if value < min(self.lowest, 0.0):
            row_checks.raise_negative(value, row, column, self.who)
        row_checks.raise_outside(value, row, column, self.who, self.lowest, self.what)


TAKEN = {np.dtype(t) for t in (np.float32, np.float64, np.int8, np.uint8, np.int16, np.uint16)}


def as_chunk(X: Any, first_row: int = 0, missing: bool = False) -> tuple[Chunk, Survey]:
    """Validate one block of rows in memory and convert it to a chunk.

    Parameters
    ----------
    X : array-like or SciPy sparse, (n_rows, n_features)
    first_row : int
        The number of its first row, for messages.
    missing : bool
        Keep NaN in dense rows, for learned steps that handle missing values; kernels do not.

    Returns
    -------
    chunk, survey
        The chunk shares the values of X where these are in canonical form already; X itself is never changed.
    """
    if sp.issparse(X):
        X = as_csr(X, "X")
        stop = X.indptr[-1]  # SciPy allows unused space after the last value
        return csr_chunk(X.data[:stop], X.indices[:stop], X.indptr, X.shape[1], first_row)
    values = np.ascontiguousarray(_kernel_values(as_matrix(X, first_row)))
    row_checks.check_min_size(1, values.shape[1])
    if missing and values.dtype.kind == "f" and (gaps := np.isnan(values)).any():
        known = surveyed(DenseChunk(frozen(np.where(gaps, values.dtype.type(0), values)), first_row))
        return DenseChunk(frozen(values), first_row), known[1]
    return surveyed(DenseChunk(frozen(values), first_row))


def csr_chunk(
    data: np.ndarray | None, indices: np.ndarray, indptr: np.ndarray, n_features: int, first_row: int = 0
) -> tuple[CSRChunk, Survey]:
    """Validate CSR arrays and convert them to a chunk; `data`, None for all ones, and `indices` start at indptr[0]."""
    row_checks.check_min_size(1, n_features)
    indptr = np.array(indptr, np.int64)
    if len(indptr) == 0 or indptr[0] < 0 or (indptr[1:] < indptr[:-1]).any():
        raise ValueError(f"X.indptr should not decrease; in the rows from {first_row} on it does")
    ones = data is None
    data = np.ones(len(indices), np.uint8) if data is None else data
    if not indptr[-1] - indptr[0] == len(data) == len(indices):
        raise ValueError(
            f"X.indptr counts {indptr[-1] - indptr[0]} values, X.data has {len(data)} and X.indices {len(indices)}; "
            "the three numbers should be equal"
        )
    indices = np.array(indices, order="C")
    if indices.dtype.kind not in "iu":
        raise TypeError(f"X.indices has dtype {indices.dtype}; it should hold integers")
    if indices.dtype not in (np.uint16, np.int32, np.int64):
        # beyond int64 an unsigned index turns negative, and is refused as out of range
        indices = indices.astype(np.int32 if indices.dtype.itemsize <= 2 else np.int64)
    bad_row, canonical = row_values.check_indices(frozen(indices), frozen(indptr), n_features)
    if bad_row >= 0:
        start, stop = indptr[bad_row : bad_row + 2] - indptr[0]
        wrong = [j for j in indices[start:stop].tolist() if not 0 <= j < n_features]
        raise ValueError(
            f"X.indices has column {wrong[0]} in row {first_row + bad_row}; "
            f"with {n_features} features columns run from 0 to {n_features - 1}"
        )
    if indices.dtype == np.int64 and n_features <= 2**31:  # half the memory traffic, and the same kernels
        indices = indices.astype(np.int32)
    if ones and canonical:
        return CSRChunk(frozen(data), frozen(indices), frozen(indptr), n_features, first_row, True), OF_ONES
    values = np.ascontiguousarray(_kernel_values(np.asarray(data)))
    if not canonical:
        arrays = values.astype(np.float64), indices, indptr - indptr[0]
        matrix = sp.csr_array(arrays, shape=(len(indptr) - 1, n_features))
        matrix.sum_duplicates()
        values, indices, indptr = matrix.data, matrix.indices, matrix.indptr.astype(np.int64)
    return surveyed(CSRChunk(frozen(values), frozen(indices), frozen(indptr), n_features, first_row))


def _kernel_values(values: np.ndarray) -> np.ndarray:
    """Values in a dtype that kernels accept: unchanged where possible, else float64."""
    if values.dtype.kind not in "buif":
        raise TypeError(f"X has dtype {values.dtype}; it should hold numbers")
    if values.dtype == bool:
        return values.astype(np.uint8)
    if values.dtype in TAKEN:
        return values
    if values.dtype.kind in "iu" and values.dtype.itemsize == 8 and values.size:
        top = max(abs(int(values.min())), int(values.max()))
        if top > 2**53:
            raise ValueError(f"X holds the whole number {top}, beyond 2**53, up to which float64 is exact; scale it")
    with np.errstate(over="ignore"):
        return values.astype(np.float32 if values.dtype == np.float16 else np.float64)


def surveyed(chunk: Any) -> tuple[Any, Survey]:
    """A chunk and its survey; values that are not finite are refused."""
    stored = chunk.stored
    survey = survey_values(stored, chunk.shape[1] if isinstance(chunk, DenseChunk) else 1)
    if stored.dtype.kind == "f" and not survey.top <= row_checks.LARGEST:
        position = int(np.flatnonzero(~(np.abs(stored.astype(np.float64)) <= row_checks.LARGEST))[0])
        row, column = chunk.locate(position)
        row_checks.raise_not_finite(float(stored[position]), row, column)
    return chunk, survey


def checked(block: Block, missing: bool = False) -> tuple[Chunk, Survey]:
    """Validate a block, once for tasks that share it: its chunk and survey; `missing` as in `as_chunk`."""
    return block.once("checked", missing, lambda: _checked(block, missing))


def _checked(block: Block, missing: bool) -> tuple[Chunk, Survey]:
    if isinstance(block.X, tuple):
        data, indices, indptr, n_features = block.X
        return csr_chunk(data, indices, indptr, n_features, block.first_row)
    return as_chunk(block.X, block.first_row, missing)


def picked(block: Block, rows: np.ndarray) -> Block:
    """The rows of a block with these numbers, whose values may be missing; they keep the number of its first row."""
    X: Any
    if hasattr(block.X, "picked"):
        X = block.X.picked(rows)
    else:
        chunk = checked(block, missing=True)[0].picked(rows)
        X = chunk.to_matrix()
        if isinstance(chunk, CSRChunk):
            X = None if chunk.ones else chunk.data, chunk.indices, chunk.indptr, chunk.n_features
    beside = {name: getattr(block, name) for name in ("y", "weight", "split")}
    beside = {name: None if part is None else part[rows] for name, part in beside.items()}
    nbytes = block.nbytes * len(rows) // max(block.n_rows, 1)
    return replace(block, X=X, **beside, nbytes=nbytes, forms=None, ready=None)


def takes_positive(domain: TakesValues, n_features: int) -> bool:
    """Whether a domain accepts all positive values, however small or large."""
    ends = np.array([[np.finfo(np.float64).smallest_subnormal], [row_checks.LARGEST]])
    try:
        domain.check(*as_chunk(np.repeat(ends, n_features, axis=1)))
    except ValueError:
        return False
    return True
