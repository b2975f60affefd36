"""Anything accepted as X, y becomes a source: its shape, and its rows block by block."""

import numbers
import os
from collections.abc import Callable, Iterable, Iterator
from copy import copy
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
import zarr
from zarr.abc.store import Store

from streamnb import _checks
from streamnb._checks import DataError
from streamnb._sparse import as_csr
from streamnb.data.chunk import as_matrix
from streamnb.data.columns import AskBeside, Beside, Columns, InMemory, in_zarr, whole
from streamnb.data.csr_store import CSRArrays, CSRStore, member_of, open_csr
from streamnb.data.layout import check_layout
from streamnb.data.reader import Clock, Cursor, Readers, ahead, check_complete, timed
from streamnb.data.stores import persistently

BLOCK_BYTES = 6 << 20  # decoded values of one block: large slices for the codecs, small beside the tables
BLOCK_ROWS = 1 << 17
SEGMENT_BYTES = 256 << 20  # of a range of rows that is one task: long beside its set-up, short beside a scan


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """Rows as they were read, not checked yet; `X` is a matrix or a (data, indices, indptr, n_features) tuple.

    `data` is None where every value counts as 1. `y` are labels, or a CSR indicator of labels; `split` the groups or
    fold numbers given beside the rows.
    """

    X: Any
    y: Any
    weight: np.ndarray | None
    split: np.ndarray | None
    first_row: int
    nbytes: int


class Source:
    """Rows from somewhere. `n_rows` and `n_features` are None where only reading tells.

    `reading` is the time that went into it so far, summed over threads.
    """

    n_rows: int | None = None
    n_features: int | None = None
    n_values: int | None = None  # that are stored
    nbytes = 0  # decoded, all rows
    arrays: tuple[zarr.Array, ...] = ()  # that hold rows, and what is beside them; none where rows are in memory
    longer_blocks = 0  # bytes, if more than BLOCK_BYTES; of rows in memory, which take no more of it
    values_matter = True  # False lets a source that knows its values to be positive leave them out

    def __init__(self, columns: Columns):
        self._columns, self.reading = columns, Clock()

    def blocks(self, start: int = 0, stop: int | None = None) -> Iterator[Block]:
        """Yield every row in [start, stop) once, in order; several threads may read ranges of one source at once."""
        raise NotImplementedError

    def cut(self, start: int, stop: int) -> Self:
        """The same, to be sent elsewhere for the rows in [start, stop): columns in memory hold those alone."""
        part = copy(self)
        part._columns = self._columns.cut(start, stop)
        return part

    def rows_near(self, n_rows: int) -> int:
        """About `n_rows` rows, whose multiples lie where chunks end if that keeps chunks from being read twice."""
        return n_rows

    def beside(self, step: int) -> Iterator[dict[str, Any]]:
        """Labels, weights and splits of all rows by name, some rows at a time, without the rows themselves."""
        ask, n_rows = self._columns.reader(), self.n_rows or 0
        for start in range(0, n_rows, step):
            yield dict(zip(self._columns.names, ask(start, min(start + step, n_rows))(), strict=True))


def row_ranges(source: Source, n_bytes: int | None = None) -> list[tuple[int, Any]]:
    """Cut the rows into segments [start, stop) of about `n_bytes`, SEGMENT_BYTES by default; a stream is one.

    It depends on shapes, chunks and the number of stored values alone, so that it is the same everywhere and always.
    """
    if source.n_rows is None:
        return [(0, None)]
    step = source.rows_near(max(source.n_rows * (n_bytes or SEGMENT_BYTES) // max(source.nbytes, 1), 1))
    return [(start, min(start + step, source.n_rows)) for start in range(0, source.n_rows, step)]


def _multiple(unit: int, n_rows: int) -> int:
    return max((n_rows + unit // 2) // unit, 1) * unit


class ArraySource(Source):
    """Rows in memory: NumPy or SciPy CSR."""

    def __init__(self, X: Any, columns: Columns):
        super().__init__(columns)
        self._X = X
        self.n_rows, self.n_features = X.shape
        self.nbytes = X.data.nbytes + X.indices.nbytes if sp.issparse(X) else X.nbytes
        self.n_values = X.size

    def blocks(self, start: int = 0, stop: int | None = None) -> Iterator[Block]:
        n_rows = self.n_rows or 0
        ask, end = self._columns.reader(start), n_rows if stop is None else stop
        step = max(BLOCK_BYTES, self.longer_blocks) * n_rows // max(self.nbytes, 1)
        step = min(max(step, 1), BLOCK_ROWS)
        for row in range(start, end, step):
            until = min(row + step, end)
            if sp.issparse(self._X):
                first, last = self._X.indptr[[row, until]]
                data, indices = self._X.data[first:last], self._X.indices[first:last]
                X: Any = (data, indices, self._X.indptr[row : until + 1], self.n_features)
                nbytes = data.nbytes + indices.nbytes
            else:
                X = self._X[row:until]
                nbytes = X.nbytes
            yield Block(X, *ask(row, until)(), row, nbytes)


class ZarrSource(Source):
    """A dense Zarr array."""

    def __init__(self, X: zarr.Array, columns: Columns):
        super().__init__(columns)
        self._X = X
        self.n_rows, self.n_features = X.shape
        self.n_values, self.nbytes, self.arrays = X.size, X.nbytes, (X, *columns.arrays)

    def rows_near(self, n_rows: int) -> int:
        return _multiple((self._X.shards or self._X.chunks)[0], n_rows)

    def blocks(self, start: int = 0, stop: int | None = None) -> Iterator[Block]:
        with Readers(self.reading) as readers:
            yield from ahead(self._asked(readers, start, self._X.shape[0] if stop is None else stop))

    def _asked(self, readers: Readers, start: int, end: int) -> Iterator[Callable[[], Block]]:
        rows, ask = Cursor(self._X, start, readers), self._columns.reader(start, readers)
        step = max(BLOCK_BYTES // max(self._X.dtype.itemsize * self._X.shape[1], 1), 1)
        while start < end:
            stop = min(rows.aligned(start + min(step, BLOCK_ROWS)), end)
            yield partial(self._block, rows.ask(stop), ask(start, stop), start)
            start = stop

    def _block(self, rows: Callable[[], np.ndarray], columns: Beside, first_row: int) -> Block:
        X = rows()
        return Block(X, *columns(), first_row, X.nbytes)


class ZarrCSRSource(Source):
    """A Zarr group holding CSR in the AnnData layout."""

    def __init__(self, store: CSRStore, columns: Columns):
        super().__init__(columns)
        store.check_complete()
        self._store = store
        self.n_rows, self.n_features, self.nbytes = store.n_rows, store.n_features, store.nbytes
        self.n_values = store.data.shape[0]
        self.arrays = (store.data, store.indices, store.indptr, *columns.arrays)

    def rows_near(self, n_rows: int) -> int:
        # where values are cut only indptr tells; its own chunks, and those of labels of the same size, matter little
        unit = (self._store.indptr.shards or self._store.indptr.chunks)[0]
        return _multiple(unit, n_rows) if n_rows >= unit else n_rows

    def blocks(self, start: int = 0, stop: int | None = None) -> Iterator[Block]:
        with Readers(self.reading) as readers:
            yield from ahead(self._asked(readers, start, self._store.n_rows if stop is None else stop))

    def _asked(self, readers: Readers, start: int, stop: int) -> Iterator[Callable[[], Block]]:
        ask = self._columns.reader(start, readers)
        blocks = self._store.blocks(readers, BLOCK_BYTES, BLOCK_ROWS, self.values_matter, start, stop)
        for row, until, arrays in blocks:
            yield partial(self._block, arrays, ask(row, until), row)

    def _block(self, rows: Callable[[], CSRArrays], columns: Beside, first_row: int) -> Block:
        arrays = rows()
        nbytes = sum(a.nbytes for a in arrays if a is not None)
        return Block((*arrays, self.n_features), *columns(), first_row, nbytes)


class StreamSource(Source):
    """An iterable of chunks, or a callable that returns one: X, (X, y) or (X, y, w)."""

    def __init__(self, chunks: Any, columns: Columns):
        super().__init__(columns)
        self._chunks = chunks

    def blocks(self, start: int = 0, stop: int | None = None) -> Iterator[Block]:
        assert start == 0 and stop is None, "a stream is read from its first row to its last"
        chunks = self._chunks() if callable(self._chunks) else self._chunks
        if not isinstance(chunks, Iterable):
            raise TypeError(f"X: the callable returned {type(chunks).__name__}; it should return an iterator of chunks")
        ask = self._columns.reader()
        for chunk in timed(chunks, self.reading):
            block = self._block(chunk, start, ask)
            yield block
            start += block.X.shape[0]
        self._columns.check_spent(start)

    def _block(self, chunk: Any, row: int, ask: AskBeside) -> Block:
        parts = chunk if isinstance(chunk, tuple) else (chunk,)
        if not 1 <= len(parts) <= 3:
            raise ValueError(f"X: a chunk is a tuple of {len(parts)}; it should be X, (X, y) or (X, y, sample_weight)")
        rows, y, weight = (*parts, None, None)[:3]
        # copies: the stream may fill the same buffers again while these rows are still being summed
        X: Any = as_csr(rows, "X", copy=True) if sp.issparse(rows) else np.array(as_matrix(rows))
        y = None if y is None else _checks.check_y(y, row).copy()
        weight = None if weight is None else np.array(_checks.check_weights(weight, row))
        columns = ask(row, row + X.shape[0], y, weight)()
        for name, column in zip(self._columns.names, columns, strict=True):
            if column is not None:
                _checks.check_lengths(X.shape[0], column.shape[0], name)
        return Block(X, *columns, row, X.data.nbytes + X.indices.nbytes if sp.issparse(X) else X.nbytes)


# ---- labels and weights beside the rows ------------------------------------------------------------------------------


def open_columns(
    y: Any,
    weight: Any,
    n_rows: int | None,
    labelled: bool,
    group: zarr.Group | None = None,
    split: tuple[str, Any] | None = None,
) -> Columns:
    """Labels, weights and a named split for `n_rows` rows (None: not known yet); a string names an array beside X."""
    if isinstance(weight, numbers.Real) and n_rows is not None:
        weight = np.full(n_rows, weight)
    split_name, splits = split or ("split", None)

    def opened(name: str, column: Any, check: Any) -> Any:
        if column is None:
            return None
        if isinstance(column, str):
            column = _member(group, column, name)
        stored = isinstance(column, (zarr.Array, zarr.Group))
        part = in_zarr(column, name) if stored else InMemory(check(in_memory(column)))
        if n_rows is not None:
            _checks.check_lengths(n_rows, part.n_rows, name)
        return part

    parts = opened("y", y, _checks.check_y), opened("sample_weight", weight, _checks.check_weights)
    check_split = partial(_checks.check_labels, name=split_name)
    return Columns(*parts, opened(split_name, splits, check_split), labelled, split_name)


def _member(group: Any, path: str, name: str) -> Any:
    if group is None:
        raise ValueError(f"{name}={path!r} names an array beside X, but X is not in a Zarr group; pass the array")
    member = member_of(group, path)
    if isinstance(member, zarr.Array) and "streamnb" in group.attrs:
        check_complete(member)  # write_csr writes every chunk, so one that is missing was lost
    if member is None:
        names = ", ".join(sorted(group.array_keys())) or "none"
        raise ValueError(f"{name}={path!r} is not in group {group.path or '/'!r} of X, which has the arrays: {names}")
    return member


# ---- what X is -------------------------------------------------------------------------------------------------------


def is_dask(X: Any) -> bool:
    """True for Dask collections, without importing dask."""
    return hasattr(X, "__dask_graph__") and (hasattr(X, "chunks") or hasattr(X, "to_dask_array"))


def in_memory(column: Any) -> Any:
    """Labels or weights, computed if lazy; None stays None."""
    return dask_array(column).compute() if is_dask(column) else column


def dask_array(X: Any) -> Any:
    """A Dask array of a Dask array, data frame or series."""
    return X.to_dask_array() if hasattr(X, "to_dask_array") else X


def resolve(X: Any) -> tuple[Any, Any]:
    """Open paths; return what holds the rows, and the group in which the columns named by `y` are."""
    if hasattr(X, "obs") and hasattr(X, "var"):
        raise TypeError(
            "X is an AnnData object; pass adata.X as X and adata.obs['<column>'] as y, or the path of its Zarr"
        )
    if isinstance(X, (str, os.PathLike, Store)):
        X = _open_path(X if isinstance(X, Store) else os.fspath(X))
    if isinstance(X, zarr.Group) and X.attrs.get("encoding-type") == "anndata":
        root = X
        X = member_of(root, "X")
        if X is None:
            raise ValueError(f"X: the AnnData root in {root.store} has no member X")
        return X, root
    return X, X if isinstance(X, zarr.Group) else None


def _open_path(path: Any) -> Any:
    try:
        return persistently(lambda: zarr.open(path, mode="r"), path)
    except Exception as error:  # missing files, broken metadata, stores that answer no
        raise DataError(f"X={path!s} cannot be opened as a Zarr array or group: {error}") from error


def whole_column(X: Any, column: Any, name: str) -> np.ndarray:
    """All of a column beside X, in memory: an array, a lazy one, or the name of one in the group of X."""
    if isinstance(column, str):
        column = _member(resolve(X)[1], column, name)
    return whole(column) if isinstance(column, zarr.Array) else np.asarray(in_memory(column))


def is_stream(X: Any) -> bool:
    """True for a callable or an iterator of chunks."""
    rows = ("__array__", "__len__", "shape")  # what holds rows itself
    return callable(X) or (isinstance(X, Iterable) and not any(hasattr(X, name) for name in rows))


def open_source(
    X: Any,
    y: Any = None,
    sample_weight: Any = None,
    *,
    labelled: bool = True,
    split: tuple[str, Any] | None = None,
) -> Source:
    """Open rows that are read here, block by block (Dask arrays are folded where their blocks are).

    `split` is the name and the values of groups or fold numbers beside the rows.

    Raises
    ------
    ValueError, TypeError
        X is nothing that holds rows, or y or sample_weight have another length.
    DataError
        A store cannot be opened, or its layout is wrong.
    """
    X, group = resolve(X)
    if is_stream(X):
        return StreamSource(X, open_columns(y, sample_weight, None, labelled, split=split))
    if labelled and y is None:
        _checks.check_labels(y)
    if isinstance(X, zarr.Group):
        store = open_csr(X)
        _checks.check_min_size(store.n_rows, store.n_features)
        return ZarrCSRSource(store, open_columns(y, sample_weight, store.n_rows, labelled, group, split))
    if isinstance(X, zarr.Array):
        if X.ndim != 2 or X.dtype.kind not in "buif":
            raise ValueError(f"X: array {X.path!r} has shape {X.shape} and dtype {X.dtype}; it should be 2-D numbers")
        _checks.check_min_size(*check_layout(X).shape)
        return ZarrSource(X, open_columns(y, sample_weight, X.shape[0], labelled, group, split))
    if sp.issparse(X):
        X = as_csr(X, "X")
    else:
        X = as_matrix(X)
    _checks.check_min_size(*X.shape)
    return ArraySource(X, open_columns(y, sample_weight, X.shape[0], labelled, split=split))
