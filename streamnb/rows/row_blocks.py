"""Blocks of consecutive rows: as they were read, with labels and weights, and validated in the form of kernels."""

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from streamnb.kernels import class_sums, columns, grid_scores, lanes, scores
from streamnb.kernels.row_values import GOLDEN, scattered_bits, weighted_sum

BLOCK_BYTES = 6 << 20  # decoded values of one block: large enough for codecs, small compared with the tables of sums
BLOCK_ROWS = 1 << 17
SEGMENT_BYTES = 256 << 20  # of a range of rows that is one task: much longer than its set-up, much shorter than a scan
COMPRESSED = 1 << 18  # values of dense rows that are compressed to CSR at once
IN_CACHE = 2 << 20  # bytes of a tile of weights that stays in the cache while rows pass through it
WORTH_A_COPY = 16  # values of each feature, on average, for which weights are copied into tiles; fewer do not repay it


class Forms:
    """Other forms of the same rows, made by the first read that needs them.

    Parameters
    ----------
    X : object
        The rows, as their block has them.
    takes : callable
        Whether so many bytes may be held; forms for which there is no memory are made again.
    """

    def __init__(self, X: Any, takes: Callable[[int], bool]):
        self._X, self._takes, self.nbytes = X, takes, 0
        self._held: dict[Hashable, tuple[np.ndarray, ...]] = {}

    def are_of(self, X: Any) -> bool:
        """Whether these are the rows, and not others that were made of them."""
        return self._X is X

    def get(self, name: Hashable, make: Callable[[], tuple[np.ndarray, ...]]) -> Any:
        """The form of this name."""
        if name in self._held:
            return self._held[name]
        form = make()
        n_bytes = sum(array.nbytes for array in form)
        if self._takes(n_bytes):
            self._held[name] = form
            self.nbytes += n_bytes
        return form


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """Consecutive rows as they were read, not validated yet.

    `X` is a matrix, a (data, indices, indptr, n_features) tuple, or a dict of columns.

    `data` is None where every value counts as 1. `y` are labels, or a CSR indicator of labels; `split` the groups or
    fold numbers given beside the rows, or records of several such columns. `kept` is True for rows that an earlier read
    has kept. `by_fold` are the same rows once for each fold, where each has columns of its own.
    """

    X: Any
    y: Any
    weight: np.ndarray | None
    split: np.ndarray | None
    first_row: int
    nbytes: int
    kept: bool = False
    forms: Forms | None = None  # of rows that are kept in memory
    ready: dict[str, Any] | None = None  # these `X`, validated, and as the last of several tasks prepared them
    by_fold: dict[int, "Block"] | None = None

    def outside(self, fold: int | None) -> "Block":
        """The rows with the columns that were learned outside a fold; as they are where all folds have the same."""
        return self.by_fold[fold] if self.by_fold and fold is not None else self

    @property
    def n_rows(self) -> int:
        if isinstance(self.X, dict):
            return next(iter(self.X.values())).shape[0]
        return len(self.X[2]) - 1 if isinstance(self.X, tuple) else self.X.shape[0]

    @property
    def weights(self) -> np.ndarray:
        """The weight of each row: 1 where none is given."""
        return np.ones(self.n_rows) if self.weight is None else np.asarray(self.weight, np.float64)

    @property
    def stop(self) -> int:
        """The number of the row after the last one."""
        return self.first_row + self.n_rows

    def shared(self) -> "Block":
        """The block, which tasks validate once, and prepare once if they prepare it alike, one after the other."""
        return replace(self, ready={"X": self.X})

    def once(self, what: str, key: Any, make: Callable[[], Any]) -> Any:
        """What `make` returns; of shared rows that of the last call, if it had the same key."""
        if self.ready is None or self.ready["X"] is not self.X:
            return make()
        if what not in self.ready or self.ready[what][0] != key:
            self.ready[what] = key, make()
        return self.ready[what][1]

    def cut(self, start: int, stop: int) -> "Block":
        """The rows in [start, stop), numbered among all rows."""
        n_rows, first, last = self.n_rows, start - self.first_row, stop - self.first_row
        if last - first == n_rows:
            return self
        if isinstance(self.X, tuple):
            data, indices, indptr, n_features = self.X
            X: Any = *cut_csr(data, indices, indptr, first, last), n_features
        else:
            X = self.X[first:last]
        parts = {name: getattr(self, name) for name in ("y", "weight", "split")}
        parts = {name: part if part is None else part[first:last] for name, part in parts.items()}
        nbytes = self.nbytes * last // n_rows - self.nbytes * first // n_rows
        return replace(self, X=X, **parts, first_row=start, nbytes=nbytes)


def block_of(X: Any, columns: tuple[Any, Any, Any], first_row: int) -> Block:
    """A block of rows that were read, with labels, weights and splits."""
    if sp.issparse(X):
        nbytes = X.data.nbytes + X.indices.nbytes
    elif isinstance(X, tuple):
        nbytes = X[1].nbytes + (0 if X[0] is None else X[0].nbytes)
    else:
        nbytes = X.nbytes
    return Block(X, *columns, first_row, nbytes)


def cut_csr(data: Any, indices: Any, indptr: Any, first: int, last: int) -> tuple[Any, Any, Any]:
    """The rows in [first, last) of CSR arrays, whose `data` and `indices` start at indptr[0]."""
    ends = indptr[first : last + 1]
    stored = slice(int(ends[0] - indptr[0]), int(ends[-1] - indptr[0]))
    return None if data is None else data[stored], indices[stored], ends


def joined(blocks: list[Block]) -> Iterator[Block]:
    """Join consecutive blocks into one; blocks of different kinds are yielded as they are, and refused later."""
    if len(blocks) < 2 or len({_kind(block) for block in blocks}) > 1:
        yield from blocks
        return
    X: Any = [block.X for block in blocks]
    if isinstance(X[0], tuple):
        data, indices, indptr, n_features = zip(*X, strict=True)
        counts = [np.diff(each) for each in indptr]
        joined: Any = None if data[0] is None else np.concatenate(data)
        X = joined, np.concatenate(indices), np.concatenate([[0], np.cumsum(np.concatenate(counts))]), n_features[0]
    else:
        X = stacked(X)
    parts = {name: stacked([getattr(block, name) for block in blocks]) for name in ("y", "weight", "split")}
    yield replace(blocks[0], X=X, **parts, nbytes=sum(block.nbytes for block in blocks))


def stacked(parts: Sequence[Any]) -> Any:
    """Arrays or CSR arrays of rows in one; None if there are none."""
    if parts[0] is None or len(parts) == 1:
        return parts[0]
    return sp.vstack(parts, format="csr") if sp.issparse(parts[0]) else np.concatenate(parts)


def digest_of(rows: Any, first_row: int) -> int:
    """A digest of rows and their numbers, from `first_row` on; digests of parts add up to that of all, modulo 2^64.

    Another value in one row always makes another digest, as factors are odd.
    """
    numbers = rows.ndim == 1 and rows.dtype.kind != "U"
    hashes = _bits(rows) if numbers else row_hashes(rows)
    with np.errstate(over="ignore"):  # which only interpreted kernels report
        return int(weighted_sum(first_row, frozen(hashes)))


def row_hashes(rows: Any, first_column: int = 0) -> np.ndarray:
    """A hash of each row of an array or CSR, (n_rows,) uint64: values as whole numbers, times factors of columns."""
    if sp.issparse(rows):
        terms = _bits(rows.data) * _factors(rows.indices + np.int64(first_column))
        return np.diff(np.append(np.uint64(0), np.cumsum(terms))[rows.indptr])
    bits = _bits(rows.reshape(len(rows), prod(rows.shape[1:])))
    return np.einsum("ij,j->i", bits, _factors(np.arange(first_column, first_column + bits.shape[1])))


def _bits(values: np.ndarray) -> np.ndarray:
    """The bits of values, uint64; of texts those of each character, whose number is 0 after the end."""
    if values.dtype.kind == "U":
        return np.ascontiguousarray(values).view(np.uint32).astype(np.uint64)
    if values.dtype.kind != "f":
        return values.astype(np.uint64)
    bits = (values + 0.0).astype(np.float64).view(np.uint64)  # -0.0 is 0.0
    return bits ^ (bits >> np.uint64(32))  # few of the low bits of a short number are set


def _factors(numbers: np.ndarray) -> np.ndarray:
    return scattered_bits(numbers.astype(np.uint64) * GOLDEN) | np.uint64(1)


def _kind(block: Block) -> tuple[Any, ...]:
    """What blocks must have in common to be joined."""
    arrays = isinstance(block.X, tuple)
    key = (arrays, sp.issparse(block.X), *((block.X[3], block.X[0] is None) if arrays else (block.X.shape[1],)))
    return key + tuple(
        None if part is None else (sp.issparse(part), part.dtype.kind, *part.shape[1:])
        for part in (block.y, block.weight, block.split)
    )


def rows_of_block(row_bytes: int) -> int:
    """The number of rows in a block, where each has so many bytes."""
    return min(max(BLOCK_BYTES // max(row_bytes, 1), 1), BLOCK_ROWS)


class Entries(NamedTuple):
    """Rows, the group whose sums each enters, and its weight; three arrays of one length."""

    rows: np.ndarray
    codes: np.ndarray
    weight: np.ndarray


class ColumnForm(NamedTuple):
    """Stored values of rows in column order: column j ends at ends[j], and begins where column j - 1 ends."""

    values: np.ndarray  # float64
    rows: np.ndarray
    ends: np.ndarray


class SparseRows(NamedTuple):
    """Selected rows as CSR arrays."""

    data: np.ndarray
    indices: np.ndarray
    indptr: np.ndarray
    rows: np.ndarray

    def columns(self, n_features: int) -> ColumnForm:
        """The stored values in column order; at most 2^16 rows with fewer than 2^31 values."""
        n_stored = int((self.indptr[self.rows + 1] - self.indptr[self.rows]).sum())
        found = ColumnForm(np.empty(n_stored), np.empty(n_stored, np.uint16), np.empty(n_features, np.int32))
        columns.turn(*self, found.ends, found.values, found.rows)
        return found


@dataclass(frozen=True, slots=True, eq=False)
class DenseChunk:
    """Dense rows: `values` (n_rows, n_features), C order. `first_row` numbers them in messages."""

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
        """Offsets of the rows in `stored`, (n_rows + 1,)."""
        return frozen(np.arange(self.shape[0] + 1, dtype=np.int64) * self.shape[1])

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
        """The chunk with a function applied to the stored values of some columns, or of all."""
        if columns is None:
            return self.with_values(function(self.stored))
        values = self.values.astype(np.float64)
        values[:, columns] = function(self.values[:, columns])
        return replace(self, values=frozen(values))

    def with_values(self, stored: np.ndarray) -> "DenseChunk":
        return replace(self, values=frozen(stored.reshape(self.shape)))

    def scaled(self, factors: np.ndarray) -> "DenseChunk":
        """The chunk with each feature multiplied by its factor."""
        return replace(self, values=frozen(self.values * factors))

    def add_moment(self, entries: Entries, moment: int, threshold: float, hi: Any, lo: Any) -> bool:
        """Add the group sums of a moment to the table hi, or to (hi, lo); True if the second low part was used."""
        arrays = self.values, *entries, moment, threshold
        if lo is None:
            class_sums.add_dense(*arrays, hi)
            return False
        return bool(class_sums.add_dense_pairs(*arrays, class_sums.lost_of(self.shape[1]), hi, lo))

    def add_scores(self, weights: np.ndarray, out: np.ndarray) -> None:
        """Add rows @ weights, weights (n_features, n), to out (n_rows, n)."""
        room = scores.room_for(*weights.shape)
        if weights.shape[1] <= scores.FEW:
            scores.score_dense_few(self.values, frozen(weights), room, out)
        else:
            scores.score_dense(self.values, frozen(weights), room, out)

    def sparse(self, rows: np.ndarray) -> Iterator[tuple[slice, SparseRows]]:
        """Yield the given rows in batches as CSR without zeros, each with its slice of `rows`."""
        step = max(COMPRESSED // self.shape[1], 1)
        data, indices = (np.empty(step * self.shape[1] + 1, dtype) for dtype in (np.float64, np.int32))
        indptr = np.empty(step + 1, np.int64)
        for first in range(0, len(rows), step):
            some = slice(first, min(first + step, len(rows)))
            n_rows = some.stop - first
            grid_scores.compress(self.values, rows[some], data, indices, indptr)
            yield some, SparseRows(frozen(data), frozen(indices), frozen(indptr[: n_rows + 1]), np.arange(n_rows))

    def together(self, rows: np.ndarray) -> SparseRows:
        """The given rows as CSR without zeros, in one piece."""
        most = len(rows) * self.shape[1] + 1
        data, indices = np.empty(most), np.empty(most, np.int32)
        indptr = np.empty(len(rows) + 1, np.int64)
        grid_scores.compress(self.values, rows, data, indices, indptr)
        return SparseRows(frozen(data), frozen(indices), frozen(indptr), np.arange(len(rows)))

    def of_rows(self, start: int, stop: int) -> "DenseChunk":
        """The rows in [start, stop), numbered within the block."""
        return self if stop - start >= self.shape[0] else DenseChunk(self.values[start:stop], self.first_row + start)

    def picked(self, rows: np.ndarray) -> "DenseChunk":
        """The rows with these numbers."""
        return replace(self, values=frozen(self.values[rows]))

    def used_columns(self) -> np.ndarray:
        """Features with a stored value."""
        return np.arange(self.shape[1])

    def of_columns(self, columns: np.ndarray) -> "DenseChunk":
        """The block with a subset of the features; `columns` are ascending."""
        if len(columns) == self.shape[1]:
            return self
        return replace(self, values=frozen(np.ascontiguousarray(self.values[:, columns])))

    def to_matrix(self) -> np.ndarray:
        return self.values


@dataclass(frozen=True, slots=True, eq=False)
class CSRChunk:
    """Sparse rows; `indptr` may start anywhere, `data` and `indices` start with the first row."""

    data: np.ndarray
    indices: np.ndarray
    indptr: np.ndarray
    n_features: int
    first_row: int
    ones: bool = False  # every value of `data` is 1

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.indptr) - 1, self.n_features

    @property
    def stored(self) -> np.ndarray:
        """The stored values, flat."""
        return self.data

    @property
    def row_ends(self) -> np.ndarray:
        """Offsets of the rows in `stored`, (n_rows + 1,)."""
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
        """The chunk with a function applied to the stored values of some columns, or of all."""
        if columns is None:
            return self.with_values(function(self.data))
        data, mine = self.data.astype(np.float64), np.isin(self.indices, columns)
        data[mine] = function(self.data[mine])
        return self.with_values(data)

    def with_values(self, stored: np.ndarray) -> "CSRChunk":
        return replace(self, data=frozen(stored), ones=False)

    def scaled(self, factors: np.ndarray) -> "CSRChunk":
        """The chunk with each feature multiplied by its factor."""
        return self.with_values(self.data * factors[self.indices])

    def add_moment(self, entries: Entries, moment: int, threshold: float, hi: Any, lo: Any) -> bool:
        """Add the group sums of a moment to the table hi, or to (hi, lo); True if the second low part was used."""
        arrays, spilled = (self.data, self.indices, self.indptr, *entries, moment, threshold, hi), False
        if lo is None and self.ones and moment == class_sums.NONZERO:
            class_sums.count_csr(*arrays[1:6], hi)
        elif lo is None:
            far = hi.nbytes > class_sums.NEAR
            (class_sums.add_csr_ahead if far else class_sums.add_csr)(*arrays)
        else:
            spilled = bool(class_sums.add_csr_pairs(*arrays, lo))
        undefined = moment in (class_sums.LOG, class_sums.INVERSE)
        if undefined and (np.bincount(self.indices, minlength=self.n_features) < self.shape[0]).any():
            # the sum of a group is NaN where one of its rows has no stored value, hence no logarithm
            each_once = entries._replace(weight=np.ones(len(entries.rows)))
            present = np.zeros(hi.shape)
            self.add_moment(each_once, class_sums.NONZERO, 0.0, present, None)
            hi[present < np.bincount(entries.codes, minlength=len(hi))[:, None]] = np.nan
        return spilled

    def add_scores(self, weights: np.ndarray, out: np.ndarray) -> None:
        """Add rows @ weights, weights (n_features, n), to out (n_rows, n)."""
        arrays = self.data, self.indices, self.indptr
        n_rows, width = out.shape
        few = width >= lanes.LANES and len(self.indices) < WORTH_A_COPY * self.n_features
        if not (few and weights.dtype == np.float64 and weights.strides[1] == weights.itemsize):
            weights = np.ascontiguousarray(weights, np.float64)  # the kernel reads LANES weights at a time
        weights = frozen(weights)
        if width < lanes.LANES:
            scores.score_csr(*arrays, weights, out)
            return
        for first, stop in _tiles(weights, len(self.indices)):
            tile = weights if stop - first == width else frozen(np.ascontiguousarray(weights[:, first:stop]))
            columns, buffer = frozen(np.arange(first, stop)), np.empty((1, stop - first))
            scores.add_table(*arrays, np.arange(n_rows), 0, n_rows, tile, columns, buffer, out)

    def columns(self) -> ColumnForm:
        """The stored values in column order; at most 2^16 rows with fewer than 2^31 values."""
        rows = np.arange(self.shape[0])
        return SparseRows(self.data, self.indices, self.indptr, rows).columns(self.n_features)

    def sparse(self, rows: np.ndarray) -> Iterator[tuple[slice, SparseRows]]:
        """Yield the given rows as `DenseChunk.sparse` does, in a single batch."""
        yield slice(0, len(rows)), SparseRows(self.data, self.indices, self.indptr, rows)

    def together(self, rows: np.ndarray) -> SparseRows:
        """The given rows in one piece."""
        some = self.picked(rows)
        return SparseRows(some.data, some.indices, some.indptr, np.arange(len(rows)))

    def of_rows(self, start: int, stop: int) -> "CSRChunk":
        """The rows in [start, stop), numbered within the block."""
        if stop - start >= self.shape[0]:
            return self
        arrays = cut_csr(self.data, self.indices, self.indptr, start, stop)
        return CSRChunk(*arrays, self.n_features, self.first_row + start)

    def picked(self, rows: np.ndarray) -> "CSRChunk":
        """The rows with these numbers."""
        n_stored = int((self.indptr[rows + 1] - self.indptr[rows]).sum())
        data, indices = (np.empty(n_stored, array.dtype) for array in (self.data, self.indices))
        indptr = np.empty(len(rows) + 1, np.int64)
        grid_scores.pick(self.data, self.indices, self.indptr, rows, data, indices, indptr)
        return CSRChunk(frozen(data), frozen(indices), frozen(indptr), self.n_features, self.first_row)

    def used_columns(self) -> np.ndarray:
        """Features with a stored value."""
        return np.unique(self.indices)

    def of_columns(self, columns: np.ndarray) -> "CSRChunk":
        """The block with a subset of the features; `columns` are ascending."""
        at = np.minimum(np.searchsorted(columns, self.indices), len(columns) - 1)
        kept = columns[at] == self.indices
        indptr = np.concatenate([[0], np.cumsum(kept)])[self.indptr - self.indptr[0]]
        data, at, indptr = map(frozen, (self.data[kept], at[kept], indptr))
        return CSRChunk(data, at, indptr, len(columns), self.first_row)

    def to_matrix(self) -> sp.csr_array:
        return sp.csr_array((self.data, self.indices, self.indptr - self.indptr[0]), shape=self.shape)


Chunk = DenseChunk | CSRChunk


def _tiles(weights: np.ndarray, n_stored: int) -> list[tuple[int, int]]:
    """Ranges of columns of weights that stay in the cache while all rows pass; all where a copy does not pay."""
    n_features, width = weights.shape
    step = IN_CACHE // (weights.itemsize * n_features) // lanes.LANES * lanes.LANES
    if not 0 < step < width or n_stored < WORTH_A_COPY * n_features:
        return [(0, width)]
    starts = range(0, width - lanes.LANES + 1, step)
    return list(zip(starts, [*starts[1:], width], strict=True))


def frozen(array: np.ndarray) -> np.ndarray:
    view = array.view()
    view.flags.writeable = False
    return view
