"""Rows in arrays: NumPy, SciPy, Zarr and Dask, streams of chunks, and several columns read side by side."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import copy
from functools import partial
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
import zarr

from streamnb.core import row_checks
from streamnb.core.arguments import as_array
from streamnb.core.csr import as_csr
from streamnb.core.messages import DataError, warn
from streamnb.core.row_checks import check_y
from streamnb.rows import row_blocks
from streamnb.rows.boundary import as_matrix, check_not_delayed, computed, dask_array, is_dask
from streamnb.rows.labels import (
    ColumnsByName,
    InMemory,
    Pending,
    RequestColumns,
    RowColumns,
    in_array,
    in_zarr,
    y_check,
)
from streamnb.rows.row_blocks import Block, block_of, cut_csr, digest_of
from streamnb.rows.source import Source, multiple
from streamnb.rows.zarr_reading import Clock, CSRCursor, CSRStore, Cursor, Readers, check_complete, timed

MANY_CHUNKS, SMALL_CHUNK = 1000, 1 << 18  # of a Dask array: from how many on bytes count, and those that repay a task


class ArraySource(Source):
    """Rows in a NumPy array or a SciPy CSR matrix."""

    in_memory = True

    def __init__(self, X: Any, columns: RowColumns):
        super().__init__(columns)
        self._X = X
        self.n_rows, self.n_features = X.shape
        self.nbytes = X.data.nbytes + X.indices.nbytes if sp.issparse(X) else X.nbytes
        self.n_values, self.dtype = X.size, X.dtype

    def pieces(self, start: int, stop: int) -> Iterator[tuple[int, int, Any]]:
        step = max(row_blocks.BLOCK_BYTES, self.longer_blocks) * (self.n_rows or 0) // max(self.nbytes, 1)
        step = min(max(step, 1), row_blocks.BLOCK_ROWS)
        for row in range(start, stop, step):
            until = min(row + step, stop)
            if sp.issparse(self._X):
                arrays = cut_csr(self._X.data, self._X.indices, self._X.indptr, row, until)
                yield row, until, (*arrays, self.n_features)
            else:
                yield row, until, self._X[row:until]


class StreamSource(Source):
    """An iterable of chunks, or a callable that returns one: X, (X, y) or (X, y, w)."""

    costly_features = True  # as a guess: nobody knows

    def __init__(self, chunks: Any, columns: RowColumns):
        super().__init__(columns)
        self._chunks, self.read_once = chunks, not callable(chunks)
        self._reads: list[Trace] | None = None  # of this stream and its copies, where there are to be several

    def check_resumable(self) -> None:
        raise ValueError(
            "checkpoint= needs rows that can be read again from any row on, and X is a stream of chunks; write it to a "
            "store with snb.write_csr, or scan it in parts, and add up and save their statistics yourself"
        )

    def check_read_again(self, who: str) -> None:
        if self.read_once:
            raise ValueError(
                f"X is an iterator, which can be read once, but {who} reads the rows more than once; pass a callable "
                "that returns a fresh iterator, or fit with keep='auto', which keeps its rows (see snb.set_scratch)"
            )
        self._reads = [] if self._reads is None else self._reads

    def blocks(self, start: int = 0, stop: int | None = None) -> Iterator[Block]:
        assert start == 0 and stop is None, "a stream is read from its first row to its last"
        chunks = self._chunks() if callable(self._chunks) else self._chunks
        if not isinstance(chunks, Iterable):
            raise TypeError(f"X: the callable returned {type(chunks).__name__}; it should return an iterator of chunks")
        ask, trace = self._columns.reader(), None if self._reads is None else Trace()
        for chunk in timed(chunks, self.reading):
            block = self._block(chunk, start, ask)
            if trace is not None:
                trace.add(block)
            yield block
            start += block.X.shape[0]
        self._columns.check_exhausted(start)
        if trace is not None and self._reads is not None:
            self._reads.append(trace)
            check_same_rows(self._reads)
        why = "X gave no rows: a generator can be read once only; pass a callable that returns a fresh one"
        row_checks.check_min_size(start, 1, why)

    def _block(self, chunk: Any, row: int, ask: RequestColumns) -> Block:
        parts = chunk if isinstance(chunk, tuple) else (chunk,)
        if not 1 <= len(parts) <= 3:
            raise ValueError(f"X: a chunk is a tuple of {len(parts)}; it should be X, (X, y) or (X, y, sample_weight)")
        rows, y, weight = (*parts, None, None)[:3]
        # copies, because the stream may reuse its buffers while these rows are still being summed
        X: Any = as_csr(rows, "X", copy=True) if sp.issparse(rows) else np.array(as_matrix(rows, row))
        y = None if y is None else y_check(self._columns.labelled)(y, first_row=row).copy()
        weight = None if weight is None else np.array(row_checks.check_weights(weight, row))
        columns = ask(row, row + X.shape[0], y, weight)()
        for name, column in zip(("y", "sample_weight", self._columns.split_name), columns, strict=True):
            if column is not None:
                row_checks.check_lengths(X.shape[0], column.shape[0], name)
        return block_of(X, columns, row)


class Trace:
    """Digests of some rows of a read: the first ones, and one in `EVERY` after that, whatever chunks they come in."""

    FIRST, EVERY = 64, 256

    def __init__(self) -> None:
        self.n_rows = self.n_features = self._n_picked = 0
        self._digests = Counter[str]()

    def add(self, block: Block) -> None:
        """Add the rows of the next block."""
        numbers = np.arange(self.n_rows, self.n_rows + block.n_rows)
        picked = np.flatnonzero((numbers < self.FIRST) | (numbers % self.EVERY == 0))
        for what, part in (("features", block.X), ("labels", block.y), ("weights", block.weight)):
            if part is not None:
                self._digests[what] += digest_of(_as_floats(part[picked]), self._n_picked)
        self.n_rows, self.n_features = self.n_rows + block.n_rows, block.X.shape[1]
        self._n_picked += len(picked)

    def unlike(self, other: "Trace") -> list[str]:
        """What differs from that of another read."""
        keys = self._digests | other._digests
        return [what for what in keys if (self._digests[what] - other._digests[what]) % 2**64]


def check_same_rows(reads: list[Trace]) -> None:
    """Refuse the last read of a stream if its rows differ from those of the first one."""
    first, last = reads[0], reads[-1]
    before, now = (f"{one.n_rows} rows of {one.n_features} features" for one in (first, last))
    if now != before:
        what = f"{now} in read {len(reads)} and {before}"
    elif unlike := first.unlike(last):
        what = f"other {' and '.join(unlike)} in read {len(reads)} than"
    else:
        return
    raise ValueError(
        f"X gave {what} in read 1; a callable should return a fresh iterator of the same rows, in the same order, each "
        "time"
    )


def _as_floats(rows: Any) -> Any:
    """Numbers as floats: a list of whole numbers is int64, of others float64."""
    return rows.astype(np.float64) if rows.dtype.kind in "biuf" else rows


class ZarrSource(Source):
    """Rows of a dense Zarr array."""

    def __init__(self, X: zarr.Array, columns: RowColumns):
        super().__init__(columns)
        self._X = X
        self.n_rows, self.n_features = X.shape
        self.n_values, self.nbytes, self.stored = X.size, X.nbytes, (X,)

    def layout(self) -> dict[str, str]:
        return {"X": _layout(self._X)}

    def rows_near(self, n_rows: int) -> int:
        return multiple((self._X.shards or self._X.chunks)[0], n_rows)

    def blocks(self, start: int = 0, stop: int | None = None) -> Iterator[Block]:
        end = (self.n_rows or 0) if stop is None else stop
        with Readers(self.reading, self.stored) as readers:
            ask, pending = self._columns.reader(start, readers), self._pending_rows(readers, start, end)
            yield from readers.ahead(partial(self._block, rows, ask(row, until), row) for row, until, rows in pending)

    def _pending_rows(self, readers: Readers, start: int, stop: int) -> Iterator[tuple[int, int, Callable[[], Any]]]:
        """Yield the first row, the end row and a function that waits for the rows, for all in [start, stop)."""
        rows = Cursor(self._X, start, readers)
        step = row_blocks.rows_of_block(self._X.dtype.itemsize * self._X.shape[1])
        while start < stop:
            until = min(rows.aligned(start + step), stop)
            yield start, until, rows.ask(until)
            start = until

    def _block(self, rows: Callable[[], Any], columns: Pending, first_row: int) -> Block:
        X = rows()
        return block_of((*X, self.n_features) if isinstance(X, tuple) else X, columns(), first_row)


class ZarrCSRSource(ZarrSource):
    """Rows of a CSR matrix in a Zarr group, in AnnData's layout."""

    def __init__(self, store: CSRStore, columns: RowColumns):
        Source.__init__(self, columns)
        self._store = store = check_complete(store)
        self.n_rows, self.n_features = store.shape
        self.n_values, self.stored = store.data.shape[0], store.arrays
        self.nbytes = sum(array.nbytes for array in store.arrays)

    def layout(self) -> dict[str, str]:
        return {"data of X": _layout(self._store.data), "indices of X": _layout(self._store.indices)}

    def rows_near(self, n_rows: int) -> int:
        # which rows end with a chunk of values would take a read of indptr; its chunks, often those of labels, must do
        unit = (self._store.indptr.shards or self._store.indptr.chunks)[0]
        return multiple(unit, n_rows) if n_rows >= unit else n_rows

    def _pending_rows(self, readers: Readers, start: int, stop: int) -> Iterator[tuple[int, int, Callable[[], Any]]]:
        """As for a dense array: a block ends with the last row that lies entirely within the chunks read for it.

        A row cut by a chunk boundary goes to the next block. Each chunk of each array is read once; values are None,
        and not read, if the caller does not need them and all are positive.
        """
        store = self._store
        rows = CSRCursor(store, start, self.values_matter or not store.positive, readers)
        target = max(row_blocks.BLOCK_BYTES // (store.data.dtype.itemsize + store.indices.dtype.itemsize), 1)
        while rows.row < stop:
            first, last = rows.row, rows.row_near(target, min(rows.row + row_blocks.BLOCK_ROWS, stop))
            yield first, last, rows.ask(last)
        if stop == store.shape[0] and rows.position != store.data.shape[0]:
            n_values = store.data.shape[0]
            raise DataError(f"X: {store.where}: indptr ends at {rows.position}, but data has {n_values} entries")


def _layout(array: zarr.Array) -> str:
    return f"{array.dtype} {array.shape} in chunks of {array.shards or array.chunks}"


class DaskSource(Source):
    """A 2-D Dask array or data frame with its features in one chunk; `X` is the array.

    `columns` holds labels, weights and splits by name, as they were given; `check_y` checks labels or targets.
    """

    lazy = True

    def __init__(self, X: Any, columns: dict[str, Any], check_y: Callable[..., Any] = check_y):
        X = dask_array(X)
        if X.ndim != 2:
            raise ValueError(
                f"Expected 2D array, got {X.ndim}D array instead: X should have shape (n_rows, n_features)"
            )
        if X.numblocks[1] > 1:
            warn(
                "X has its features in several chunks, which each read puts together, on a cluster by sending "
                "them from worker to worker; make X with all features of a row in one chunk, or persist "
                "X.rechunk({1: -1})"
            )
            X = X.rechunk({1: -1})
        self.X, self.columns, self.check_y = X, columns, check_y
        self._given: list[int] = []  # rows of each read of this source and its copies
        self.n_rows, self.n_features = (None if np.isnan(n) else int(n) for n in X.shape)
        if self.n_rows is not None:
            row_checks.check_min_size(*X.shape)
        if isinstance(X._meta, np.ndarray) and not np.isnan(X.size):
            self.n_values, self.nbytes = int(X.size), int(X.nbytes)
            if self.n_blocks > max(MANY_CHUNKS, self.nbytes // SMALL_CHUNK):
                warn(
                    f"X has {self.n_blocks:,} chunks of less than 256 KiB on average, each of which takes about a "
                    "millisecond of Dask's time in each read; make X in chunks of some MB"
                )

    @property
    def n_blocks(self) -> int:
        return self.X.numblocks[0]

    def blocks(self, start: int = 0, stop: int | None = None) -> Iterator[Block]:
        raise TypeError("Dask processes the blocks of its arrays itself")

    def in_tiles(self, tile: int) -> Self:
        """The same rows in blocks that do not cut any tile of `tile` rows."""
        ends = np.cumsum(self.X.chunks[0])
        if np.isnan(ends).any():
            raise ValueError(
                "X has unknown row-chunk sizes, and sums of products need the numbers of rows: call "
                "X.compute_chunk_sizes() first, or scan with exact=True"
            )
        cuts = np.unique([0, *np.minimum((ends[:-1] + tile // 2) // tile * tile, ends[-1]), ends[-1]]).astype(int)
        return type(self)(self.X.rechunk({0: tuple(np.diff(cuts).tolist())}), self.columns, self.check_y)

    def with_columns(
        self, y: Any = None, sample_weight: Any = None, *, offset: Any = None, split: Any = None, targets: bool = False
    ) -> Self:
        part, given = copy(self), {"y": y, "sample_weight": sample_weight, "offset": self.named(offset, "offset")}
        given = {name: column for name, column in given.items() if column is not None}
        part.columns = {**self.columns, **given, **(split or {})}
        part.check_y = row_checks.check_targets if targets else self.check_y
        return part

    def whole_column(self, column: Any, name: str) -> np.ndarray:
        return np.asarray(computed(self.named(column, name)))

    def cut_alike(self, column: Any, whole: np.ndarray) -> Any:
        return column if is_dask(column) else whole

    def check_given(self, n_rows: int) -> None:
        self._given.append(n_rows)
        if n_rows != self._given[0]:
            raise ValueError(
                f"X gave {n_rows} rows in read {len(self._given)} and {self._given[0]} in read 1; a Dask array should "
                "have the same rows each time that it is computed: persist it, or write it to a store"
            )

    def check_resumable(self) -> None:
        raise ValueError(
            "checkpoint= needs rows that can be read again from any row on, and X is a Dask array; pass the Zarr array "
            "or group that it reads, or its path, or write it to a Zarr array with X.to_zarr"
        )


class NamedColumns(Source):
    """Columns in memory or in Zarr; X of their blocks is a dict of arrays."""

    def __init__(self, columns: Mapping[str, Any]):
        self.columns, parts = {**columns}, dict[str, Any]()
        for name, values in columns.items():
            if isinstance(values, zarr.Group):
                parts[name] = self.columns[name] = in_zarr(values, name)
            else:
                parts[name] = (in_array if isinstance(values, zarr.Array) else InMemory)(values)
        self.reading, self._parts = Clock(), ColumnsByName(parts)
        first, *others = parts
        self.n_rows = parts[first].n_rows
        for name in others:
            row_checks.check_lengths(self.n_rows, parts[name].n_rows, name, first)
        widths = [np.shape(values)[1] for values in columns.values() if len(np.shape(values)) == 2]
        self._step = row_blocks.rows_of_block(8 * max([1, *widths]))

    @property
    def arrays(self) -> tuple[zarr.Array, ...]:
        return self._parts.arrays

    def blocks(self, start: int = 0, stop: int | None = None) -> Iterator[Block]:
        end = self.n_rows or 0 if stop is None else stop
        with Readers(self.reading) as readers:
            ask = self._parts.reader(start, readers)
            for row in range(start, max(end, start + 1), self._step):  # at least one block
                until = min(row + self._step, end)
                yield Block(ask(row, until)(), None, None, None, row, 0)

    def row_columns(self) -> Iterator[Block]:
        return iter(())  # labels are columns of the rows themselves

    def cut(self, start: int, stop: int) -> Self:
        part = super().cut(start, stop)
        part.columns, part._parts = {}, self._parts.cut(start, stop)
        return part


class DaskColumns(DaskSource):
    """Columns of which at least one is a Dask array; the others are cut at its blocks."""

    X = None

    def __init__(self, columns: Mapping[str, Any]):
        self.columns, self._given = {**columns}, []
        for name, values in columns.items():
            if isinstance(values, zarr.Group):
                self.columns[name] = in_zarr(values, name).whole()
        self.lead = next(name for name, values in columns.items() if is_dask(values))


def opened_columns(given: Mapping[str, Any], labels: tuple[str, ...] = ()) -> Source:
    """Open columns as a source of rows; each is a NumPy, Dask or Zarr array, CSR, or array-like.

    `labels` names the columns that hold labels, 1-D, or an indicator matrix of labels, 2-D.
    """
    check_not_delayed(**given)
    columns = {name: _as_column(name, values, name in labels) for name, values in given.items()}
    return (DaskColumns if any(map(is_dask, columns.values())) else NamedColumns)(columns)


def _as_column(name: str, values: Any, is_label: bool) -> Any:
    """Keep Dask and Zarr arrays and CSR; convert anything else to a NumPy array, with labels checked."""
    if is_dask(values):
        values = dask_array(values)
    elif isinstance(values, zarr.Group):
        return values
    elif sp.issparse(values):
        values = sp.csr_array(values)
    elif is_label and not isinstance(values, zarr.Array) and as_array(name, values).ndim != 2:
        values = row_checks.check_labels(values, name)
    elif not isinstance(values, np.ndarray | zarr.Array):
        values = as_array(name, values)
    if values.ndim not in (1, 2):
        raise ValueError(f"{name} has shape {values.shape}; it should have one dimension or two")
    return values
