"""A block of rows as the kernels want it. The boundary: whatever passes here cannot hurt a kernel.

Values are finite: float32, float64 or integers of one or two bytes. Indices are uint16, int32 or int64 in
[0, n_features), sorted and without repeats inside a row. Every array is read-only, and contiguous but for ones in place
of values that were left out, so that few kernels are compiled.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, NoReturn, Protocol

import numpy as np
import scipy.sparse as sp

from streamnb import _checks
from streamnb._sparse import as_csr
from streamnb.data.survey import Survey, look_at
from streamnb.kernels import accumulate, grid_scores, rows, score

TRANSFORMS = {"binary": rows.BINARY, "log1p": rows.LOG1P, "sqrt": rows.SQRT}
TAKEN = {np.dtype(t) for t in (np.float32, np.float64, np.int8, np.uint8, np.int16, np.uint16)}
COMPRESSED = 1 << 18  # values of dense rows that are compressed at once
NORMS = {"l1": rows.NORM_L1, "l2": rows.NORM_L2}


class Entries(NamedTuple):
    """Which row enters the sums of which group, with which weight; three arrays of one length."""

    rows: np.ndarray
    codes: np.ndarray
    weight: np.ndarray


class SparseRows(NamedTuple):
    """Some rows of CSR arrays."""

    data: np.ndarray
    indices: np.ndarray
    indptr: np.ndarray
    rows: np.ndarray


@dataclass(frozen=True, slots=True, eq=False)
class DenseChunk:
    """Rows stored in full: `values` (n_rows, n_features), C order. `first_row` numbers them in messages."""

    values: np.ndarray
    first_row: int

    @property
    def shape(self) -> tuple[int, int]:
        return self.values.shape

    @property
    def stored(self) -> np.ndarray:
        """The stored values, flat."""
        return self.values.reshape(-1)

    @property
    def row_ends(self) -> np.ndarray:
        """Where each row lies in `stored`, (n_rows + 1,)."""
        return _frozen(np.arange(self.shape[0] + 1, dtype=np.int64) * self.shape[1])

    def locate(self, position: int) -> tuple[int, int]:
        """Row and column of a stored value."""
        row, column = divmod(position, self.shape[1])
        return self.first_row + row, column

    def columns_at(self, positions: np.ndarray) -> np.ndarray:
        """Columns of stored values."""
        return positions % self.shape[1]

    def first_absent(self, columns: np.ndarray) -> tuple[int, int] | None:
        """Row and column of the first value that is not stored, in the columns where the mask is True."""
        return None

    def mapped(self, function: Callable[[np.ndarray], np.ndarray], columns: np.ndarray | None) -> "DenseChunk":
        """With a function of the stored values in place of those of some columns, or of all."""
        if columns is None:
            return self.with_values(function(self.stored))
        values = self.values.astype(np.float64)
        values[:, columns] = function(self.values[:, columns])
        return replace(self, values=_frozen(values))

    def with_values(self, stored: np.ndarray) -> "DenseChunk":
        return replace(self, values=_frozen(stored.reshape(self.shape)))

    def add_moment(self, entries: Entries, moment: int, threshold: float, hi: Any, lo: Any) -> None:
        """Add the group sums of a moment to the table hi, or to the pairs (hi, lo)."""
        arrays = self.values, *entries, moment, threshold, hi
        if lo is None:
            accumulate.add_dense(*arrays)
        else:
            accumulate.add_dense_pairs(*arrays, lo)

    def add_scores(self, weights: np.ndarray, out: np.ndarray) -> None:
        """Add rows @ weights, weights (n_features, n), to out (n_rows, n)."""
        score.score_dense(self.values, weights, out)

    def sparse(self, rows: np.ndarray) -> Iterator[tuple[slice, SparseRows]]:
        """Those rows without their zeros, some at a time, and which these are."""
        step = max(COMPRESSED // self.shape[1], 1)
        data, indices = (np.empty(step * self.shape[1] + 1, dtype) for dtype in (self.values.dtype, np.int32))
        indptr = np.empty(step + 1, np.int64)
        for first in range(0, len(rows), step):
            some = slice(first, min(first + step, len(rows)))
            n_rows = some.stop - first
            grid_scores.compress(self.values, rows[some], data, indices, indptr)
            yield some, SparseRows(data, indices, indptr[: n_rows + 1], np.arange(n_rows))

    def of_rows(self, start: int, stop: int) -> "DenseChunk":
        """Some rows of the block."""
        return self if stop - start >= self.shape[0] else DenseChunk(self.values[start:stop], self.first_row + start)

    def picked(self, rows: np.ndarray) -> "DenseChunk":
        """Rows of these numbers."""
        return replace(self, values=_frozen(self.values[rows]))

    def used_columns(self) -> np.ndarray:
        """Features with a stored value."""
        return np.arange(self.shape[1])

    def of_columns(self, columns: np.ndarray) -> "DenseChunk":
        """The block with some features only, `columns` ascending."""
        return replace(self, values=_frozen(np.ascontiguousarray(self.values[:, columns])))

    def to_matrix(self) -> np.ndarray:
        return self.values


@dataclass(frozen=True, slots=True, eq=False)
class CSRChunk:
    """Rows stored sparse; `indptr` may start anywhere, `data` and `indices` start with its first row."""

    data: np.ndarray
    indices: np.ndarray
    indptr: np.ndarray
    n_features: int
    first_row: int
    ones: bool = False  # `data` is one number over and over, 1

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.indptr) - 1, self.n_features

    @property
    def stored(self) -> np.ndarray:
        """The stored values, flat."""
        return self.data

    @property
    def row_ends(self) -> np.ndarray:
        """Where each row lies in `stored`, (n_rows + 1,)."""
        return self.indptr

    def locate(self, position: int) -> tuple[int, int]:
        """Row and column of a stored value."""
        row = int(np.searchsorted(self.indptr, position + self.indptr[0], side="right")) - 1
        return self.first_row + row, int(self.indices[position])

    def columns_at(self, positions: np.ndarray) -> np.ndarray:
        """Columns of stored values."""
        return self.indices[positions]

    def first_absent(self, columns: np.ndarray) -> tuple[int, int] | None:
        """Row and column of the first value that is not stored, in the columns where the mask is True."""
        ends = self.indptr - self.indptr[0]
        stored = np.concatenate([[0], np.cumsum(columns[self.indices])])[ends]
        short = np.flatnonzero(np.diff(stored) < np.count_nonzero(columns))
        if not short.size:
            return None
        here = self.indices[ends[short[0]] : ends[short[0] + 1]]
        return self.first_row + int(short[0]), int(np.setdiff1d(np.flatnonzero(columns), here)[0])

    def mapped(self, function: Callable[[np.ndarray], np.ndarray], columns: np.ndarray | None) -> "CSRChunk":
        """With a function of the stored values in place of those of some columns, or of all."""
        if columns is None:
            return self.with_values(function(self.data))
        data, mine = self.data.astype(np.float64), np.isin(self.indices, columns)
        data[mine] = function(self.data[mine])
        return self.with_values(data)

    def with_values(self, stored: np.ndarray) -> "CSRChunk":
        return replace(self, data=_frozen(stored), ones=False)

    def add_moment(self, entries: Entries, moment: int, threshold: float, hi: Any, lo: Any) -> None:
        """Add the group sums of a moment to the table hi, or to the pairs (hi, lo)."""
        arrays = self.data, self.indices, self.indptr, *entries, moment, threshold, hi
        if lo is None and self.ones and moment == accumulate.NONZERO:
            accumulate.count_csr(*arrays[1:6], hi)
        elif lo is None:
            accumulate.add_csr(*arrays)
        else:
            accumulate.add_csr_pairs(*arrays, lo)
        if moment in (accumulate.LOG, accumulate.INVERSE):
            self._mark_absent(entries, hi)

    def _mark_absent(self, entries: Entries, hi: np.ndarray) -> None:
        """Put NaN into hi where some row of the group has no value, hence no logarithm."""
        if (np.bincount(self.indices, minlength=self.n_features) < self.shape[0]).any():
            each_once = entries._replace(weight=np.ones(len(entries.rows)))
            present = np.zeros(hi.shape)
            self.add_moment(each_once, accumulate.NONZERO, 0.0, present, None)
            hi[present < np.bincount(entries.codes, minlength=len(hi))[:, None]] = np.nan

    def add_scores(self, weights: np.ndarray, out: np.ndarray) -> None:
        """Add rows @ weights, weights (n_features, n), to out (n_rows, n)."""
        arrays = self.data, self.indices, self.indptr
        weights = np.ascontiguousarray(weights, np.float64)  # the kernel reads LANES of these at a time
        n_rows, width = out.shape
        if width < score.LANES:
            score.score_csr(*arrays, weights, out)
        else:
            room = np.empty((1, width))
            score.add_table(*arrays, np.arange(n_rows), 0, n_rows, weights, np.arange(width), room, out)

    def sparse(self, rows: np.ndarray) -> Iterator[tuple[slice, SparseRows]]:
        """Those rows, as `DenseChunk.sparse` gives them; all at once."""
        yield slice(0, len(rows)), SparseRows(self.data, self.indices, self.indptr, rows)

    def of_rows(self, start: int, stop: int) -> "CSRChunk":
        """Some rows of the block."""
        if stop - start >= self.shape[0]:
            return self
        indptr = self.indptr[start : stop + 1]
        stored = slice(indptr[0] - self.indptr[0], indptr[-1] - self.indptr[0])
        return CSRChunk(self.data[stored], self.indices[stored], indptr, self.n_features, self.first_row + start)

    def picked(self, rows: np.ndarray) -> "CSRChunk":
        """Rows of these numbers."""
        some = self.to_matrix()[rows]
        data, indices, indptr = map(_frozen, (some.data, some.indices, some.indptr))
        return CSRChunk(data, indices, indptr, self.n_features, self.first_row)

    def used_columns(self) -> np.ndarray:
        """Features with a stored value."""
        return np.unique(self.indices)

    def of_columns(self, columns: np.ndarray) -> "CSRChunk":
        """The block with some features only, `columns` ascending."""
        at = np.minimum(np.searchsorted(columns, self.indices), len(columns) - 1)
        kept = columns[at] == self.indices
        indptr = np.concatenate([[0], np.cumsum(kept)])[self.indptr - self.indptr[0]]
        data, at, indptr = map(_frozen, (self.data[kept], at[kept], indptr))
        return CSRChunk(data, at, indptr, len(columns), self.first_row)

    def to_matrix(self) -> sp.csr_array:
        return sp.csr_array((self.data, self.indices, self.indptr - self.indptr[0]), shape=self.shape)


Chunk = DenseChunk | CSRChunk


def as_chunk(X: Any, first_row: int = 0) -> tuple[Chunk, Survey]:
    """Check and normalise one block of rows in memory.

    Parameters
    ----------
    X : array-like or SciPy sparse, (n_rows, n_features)
    first_row : int
        The number of its first row, for messages.

    Returns
    -------
    chunk, survey
        The chunk shares memory with X where X is in order already; X itself is never changed.
    """
    if sp.issparse(X):
        X = as_csr(X, "X")
        stop = X.indptr[-1]  # SciPy allows spare room behind the last value
        return csr_chunk(X.data[:stop], X.indices[:stop], X.indptr, X.shape[1], first_row)
    values = np.ascontiguousarray(_kernel_values(as_matrix(X)))
    _checks.check_min_size(1, values.shape[1])
    return _surveyed(DenseChunk(_frozen(values), first_row))


def csr_chunk(
    data: np.ndarray | None, indices: np.ndarray, indptr: np.ndarray, n_features: int, first_row: int = 0
) -> tuple[CSRChunk, Survey]:
    """Check and normalise rows given as CSR arrays; `data`, None for ones, and `indices` start at indptr[0]."""
    _checks.check_min_size(1, n_features)
    indptr = np.ascontiguousarray(indptr)
    if indptr.dtype not in (np.int32, np.int64):
        indptr = indptr.astype(np.int64)
    if len(indptr) == 0 or indptr[0] < 0 or (np.diff(indptr) < 0).any():
        raise ValueError(f"X.indptr should rise from row to row; in the rows from {first_row} on it does not")
    ones = data is None
    data = np.broadcast_to(np.uint8(1), len(indices)) if data is None else data
    if not indptr[-1] - indptr[0] == len(data) == len(indices):
        raise ValueError(
            f"X.indptr speaks of {indptr[-1] - indptr[0]} values, X.data holds {len(data)} "
            f"and X.indices {len(indices)}; the three should agree"
        )
    indices = _index_values(indices)
    bad_row, canonical = rows.check_indices(_frozen(indices), _frozen(indptr), n_features)
    if bad_row >= 0:
        start, stop = indptr[bad_row : bad_row + 2] - indptr[0]
        wrong = [j for j in indices[start:stop].tolist() if not 0 <= j < n_features]
        raise ValueError(
            f"X.indices has column {wrong[0]} in row {first_row + bad_row}; "
            f"with {n_features} features columns run from 0 to {n_features - 1}"
        )
    if ones and canonical:
        return CSRChunk(data, _frozen(indices), _frozen(indptr), n_features, first_row, True), Survey(True, 0, 0.0, 1.0)
    values = np.ascontiguousarray(_kernel_values(np.asarray(data)))
    if not canonical:
        values, indices, indptr = _canonical(values, indices, indptr, n_features)
    return _surveyed(CSRChunk(_frozen(values), _frozen(indices), _frozen(indptr), n_features, first_row))


def transformed(chunk: Chunk, survey: Survey, transform: str | None, normalize: str | None) -> tuple[Chunk, Survey]:
    """Apply the elementwise transform, then divide each row by its length."""
    if transform is not None:
        lowest = {"sqrt": 0.0, "log1p": np.nextafter(-1.0, 0.0)}.get(transform, -np.inf)
        Domain(f"transform={transform!r}", lowest).check(chunk, survey)
        stored = np.empty(len(chunk.stored))
        rows.transform_values(chunk.stored, TRANSFORMS[transform], stored)
        chunk = chunk.with_values(stored)
    if normalize is not None:
        stored = chunk.stored.astype(np.float64)
        rows.normalize_rows(stored, chunk.row_ends, NORMS[normalize])
        chunk = chunk.with_values(stored)
    if transform is None and normalize is None:
        return chunk, survey
    return _surveyed(chunk)


class TakesValues(Protocol):
    """Somebody who does not take every value of x."""

    def check(self, chunk: Chunk, survey: Survey) -> None:
        """Report the first value that is outside."""


@dataclass(frozen=True)
class Domain:
    """The values of x that somebody takes; an open end is its neighbour among the floats."""

    who: str = ""
    lowest: float = -np.inf
    highest: float = np.inf
    columns: Any = None  # of these alone, a slice or numbers; None for all
    what: str = "X"  # whose values they are

    def check(self, chunk: Chunk, survey: Survey) -> None:
        """Report the first value that is outside, of those stored, then of those absent."""
        if survey.low >= self.lowest and survey.top <= self.highest:
            return
        # as float64: the smallest numbers are 0 in float32
        lowest, highest = np.float64(self.lowest), np.float64(self.highest)
        outside = np.flatnonzero((chunk.stored < lowest) | (chunk.stored > highest))
        mine = self._mine(chunk.shape[1])
        outside = outside[mine[chunk.columns_at(outside)]]
        if outside.size:
            row, column = chunk.locate(int(outside[0]))
            self._refuse(float(chunk.stored[outside[0]]), row, column)
        absent = None if self.lowest <= 0.0 else chunk.first_absent(mine)
        if absent is not None:
            self._refuse(0.0, *absent)

    def _mine(self, n_features: int) -> np.ndarray:
        mine = np.zeros(n_features, bool)
        mine[slice(None) if self.columns is None else self.columns] = True
        return mine

    def _refuse(self, value: float, row: int, column: int) -> NoReturn:
        if value > self.highest:
            _checks.raise_too_large(value, row, column, self.who, self.highest, self.what)
        if value < min(self.lowest, 0.0):
            _checks.raise_negative(value, row, column, self.who)
        _checks.raise_too_small(value, row, column, self.who, self.lowest, self.what)


def as_matrix(X: Any) -> np.ndarray:
    """Return rows in memory as a 2-D NumPy array of numbers; of objects only where they are numbers."""
    if getattr(getattr(X, "dtype", None), "names", None):  # whose masks are records too
        raise TypeError(
            f"X is an array of records (dtype {X.dtype}); give it plain columns, as "
            "numpy.lib.recfunctions.structured_to_unstructured(X) makes them"
        )
    if np.ma.is_masked(X):
        raise ValueError("X is a masked array with masked values; fill them (X.filled(0)) or drop those rows")
    try:
        values = np.asarray(X)
    except ValueError as error:
        raise ValueError(f"X should have rows of one length and shape (n_rows, n_features): {error}") from error
    if values.ndim != 2:
        raise ValueError(
            f"Expected 2D array, got {values.ndim}D array instead: X should have shape (n_rows, n_features). "
            "Reshape your data either using array.reshape(-1, 1) if it has a single feature "
            "or array.reshape(1, -1) if it contains a single sample." + _what_else(X, values)
        )
    if values.dtype.kind == "c":
        raise ValueError("Complex data not supported: X should hold real numbers")
    if values.dtype.kind in "USTM":
        raise ValueError(
            f"X has dtype {values.dtype}: dtype='numeric' is not compatible with arrays of bytes/strings. "
            "Convert your data to numeric values explicitly instead."
        )
    if values.dtype.kind == "O":
        return _numbers_of(values, getattr(X, "columns", None))
    return values


def _what_else(X: Any, values: np.ndarray) -> str:
    """What X was taken for, where it holds no numbers at all."""
    if values.ndim == 0 and values.dtype.kind == "O":
        return f" X is of type {type(X).__name__}"
    if values.ndim != 1 or not values.size or values.dtype.kind not in "OUS":
        return ""
    kind = type(values[0]).__name__.strip("_")
    return f" X holds objects of type {kind}; make numbers of them first, as sklearn.feature_extraction does"


def _numbers_of(values: np.ndarray, names: Any) -> np.ndarray:
    try:
        return values.astype(np.float64)
    except (TypeError, ValueError) as error:
        at = next((j for j in range(values.shape[1]) if not _numeric(values[:, j])), 0)
        column = f"column {at}" if names is None else f"column {names[at]!r}"
        raise TypeError(
            f"X is an object array with entries that are not numbers, in {column} ({error}); argument must be a string "
            "or a real number: give X a numeric dtype, or leave the column out"
        ) from error


def _numeric(column: np.ndarray) -> bool:
    try:
        column.astype(np.float64)
    except (TypeError, ValueError):
        return False
    return True


def _kernel_values(values: np.ndarray) -> np.ndarray:
    """Values in a dtype of the kernels: as they are where these take it, else float64."""
    if values.dtype.kind not in "buif":
        raise TypeError(f"X has dtype {values.dtype}; it should hold numbers")
    if values.dtype == bool:
        return values.astype(np.uint8)
    if values.dtype in TAKEN:
        return values
    if values.dtype.kind in "iu" and values.dtype.itemsize == 8 and values.size:
        top = max(abs(int(values.min())), int(values.max()))
        if top > 2**53:
            raise ValueError(f"X holds the whole number {top}, beyond the 2**53 that float64 keeps exact; scale it")
    with np.errstate(over="ignore"):
        return values.astype(np.float32 if values.dtype == np.float16 else np.float64)


def _index_values(indices: np.ndarray) -> np.ndarray:
    indices = np.ascontiguousarray(indices)
    if indices.dtype.kind not in "iu":
        raise TypeError(f"X.indices has dtype {indices.dtype}; it should hold integers")
    if indices.dtype in (np.uint16, np.int32, np.int64):
        return indices
    # beyond int64 an unsigned index turns negative, and is refused as out of range
    return indices.astype(np.int32 if indices.dtype.itemsize <= 2 else np.int64)


def _canonical(values: Any, indices: Any, indptr: Any, n_features: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    matrix = sp.csr_array(
        (values.astype(np.float64), indices.copy(), indptr - indptr[0]), shape=(len(indptr) - 1, n_features)
    )
    matrix.sum_duplicates()
    return matrix.data, matrix.indices, matrix.indptr


def _surveyed(chunk: Any) -> tuple[Any, Survey]:
    stored = chunk.stored
    survey = look_at(stored, chunk.shape[1] if isinstance(chunk, DenseChunk) else 1)
    if not survey.top <= _checks.LARGEST:
        position = int(np.flatnonzero(~(np.abs(stored.astype(np.float64)) <= _checks.LARGEST))[0])
        row, column = chunk.locate(position)
        _checks.raise_not_finite(float(stored[position]), row, column)
    return chunk, survey


def _frozen(array: np.ndarray) -> np.ndarray:
    view = array.view()
    view.flags.writeable = False
    return view
