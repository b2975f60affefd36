"""Validates blocks and converts them to chunks; kernels trust whatever has passed here.

Indices are copied and then checked, because the caller may change the arrays, or files mapped into memory,
while they are summed. The copy costs a few percent of a scan from memory; a bounds check in each loop would cost as
much, and every kernel would have to remember it. Values may change: no kernel uses them as unchecked indices.
"""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp

from streamnb.core import row_checks
from streamnb.core.csr import as_csr
from streamnb.core.memory import aligned
from streamnb.kernels import row_values
from streamnb.rows.block import Block
from streamnb.rows.chunk import Chunk, CSRChunk, DenseChunk, frozen
from streamnb.rows.matrices import as_matrix

TILE = 1 << 17  # values surveyed together
FEWEST, MOST = 16, 4096  # rows of a dense tile; sums of more rows would lose digits
SIDE_BY_SIDE = 2048  # values of short rows that are surveyed at once
_BITS = {  # the integer that a float is viewed as, and the mask of all its bits but the sign
    np.dtype(np.float32): (np.int32, np.int32(2**31 - 1)),
    np.dtype(np.float64): (np.int64, np.int64(2**63 - 1)),
}


@dataclass(frozen=True, slots=True, eq=False)
class Survey:
    """Facts about a block found in one pass over its values."""

    whole: bool  # every value is a whole number
    negatives: int  # values below zero
    low: float  # no value is smaller
    top: float  # no absolute value is larger; NaN if any value is NaN
    tops: np.ndarray | None = None  # largest absolute values, (n_tiles, n_features); dense floats only
    tile: int = 0


def survey_values(stored: np.ndarray, width: int) -> Survey:
    """Survey a flat array of values; they are dense rows where `width` is more than 1."""
    if stored.dtype.kind != "f":
        low, high = int(stored.min(initial=0)), int(stored.max(initial=0))
        negatives = int(np.count_nonzero(stored < 0)) if low < 0 else 0
        return Survey(True, negatives, float(low), float(max(-low, high)))
    integer, magnitude = _BITS[stored.dtype]
    tile = min(max(TILE // width, FEWEST), MOST) if width > 1 else TILE
    tops = np.empty((-(-len(stored) // (width * tile)), width), integer)
    n_wide = max(SIDE_BY_SIDE // width, 1) * width
    wide = aligned(1, n_wide, integer)[0, :n_wide]
    negatives, whole = row_values.survey(stored, stored.view(integer), magnitude, tile, wide, tops)
    tops = tops.view(stored.dtype)
    top = float(tops.max(initial=0.0))
    of_columns = (tops, tile) if width > 1 else (None, 0)
    return Survey(bool(whole), int(negatives), -top if negatives else 0.0, top, *of_columns)


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
    if len(indptr) == 0 or indptr[0] < 0 or (np.diff(indptr) < 0).any():
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
        return CSRChunk(data, frozen(indices), frozen(indptr), n_features, first_row, True), Survey(True, 0, 0.0, 1.0)
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
    if not survey.top <= row_checks.LARGEST:
        position = int(np.flatnonzero(~(np.abs(stored.astype(np.float64)) <= row_checks.LARGEST))[0])
        row, column = chunk.locate(position)
        row_checks.raise_not_finite(float(stored[position]), row, column)
    return chunk, survey


def checked(block: Block, missing: bool = False) -> tuple[Chunk, Survey]:
    """Validate a block: its chunk and survey; `missing` as in `as_chunk`."""
    if isinstance(block.X, tuple):
        data, indices, indptr, n_features = block.X
        return csr_chunk(data, indices, indptr, n_features, block.first_row)
    return as_chunk(block.X, block.first_row, missing)


def takes_positive(domain: TakesValues, n_features: int) -> bool:
    """Whether a domain accepts all positive values, however small or large."""
    ends = np.array([[np.finfo(np.float64).smallest_subnormal], [row_checks.LARGEST]])
    try:
        domain.check(*as_chunk(np.repeat(ends, n_features, axis=1)))
    except ValueError:
        return False
    return True
