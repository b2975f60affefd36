"""Anything accepted as X, y becomes a source: its shape, and its rows block by block."""

import numbers
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
import zarr
from zarr.abc.store import Store

from streamnb import _checks
from streamnb._checks import DataError
from streamnb.data.chunk import as_matrix, csr_chunk
from streamnb.data.csr_store import CSRStore, member_of, open_csr
from streamnb.data.reader import Cursor, check_complete

BLOCK_BYTES = 8 << 20  # decoded values of one block: large slices for the codecs, small beside the tables
BLOCK_ROWS = 1 << 17


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
    """Rows from somewhere. `n_rows` and `n_features` are None where only reading tells."""

    n_rows: int | None = None
    n_features: int | None = None
    reads_ahead = False  # True where a thread may read the next block meanwhile
    values_matter = True  # False lets a source that knows its values to be positive leave them out

    def blocks(self) -> Iterator[Block]:
        """Yield every row once, in order."""
        raise NotImplementedError


class ArraySource(Source):
    """Rows in memory: NumPy or SciPy CSR."""

    def __init__(self, X: Any, columns: "Columns"):
        self._X, self._columns = X, columns
        self.n_rows, self.n_features = X.shape

    def blocks(self) -> Iterator[Block]:
        for start, stop in self._ranges():
            if sp.issparse(self._X):
                first, last = self._X.indptr[[start, stop]]
                data, indices = self._X.data[first:last], self._X.indices[first:last]
                X: Any = (data, indices, self._X.indptr[start : stop + 1], self.n_features)
                nbytes = data.nbytes + indices.nbytes
            else:
                X = self._X[start:stop]
                nbytes = X.nbytes
            yield Block(X, *self._columns.take(start, stop), start, nbytes)

    def _ranges(self) -> Iterator[tuple[int, int]]:
        n_rows = self.n_rows or 0
        if sp.issparse(self._X):
            total = self._X.data.nbytes + self._X.indices.nbytes
        else:
            total = self._X.nbytes
        step = min(max(BLOCK_BYTES * n_rows // max(total, 1), 1), BLOCK_ROWS)
        for start in range(0, n_rows, step):
            yield start, min(start + step, n_rows)


class ZarrSource(Source):
    """A dense Zarr array."""

    reads_ahead = True

    def __init__(self, X: zarr.Array, columns: "Columns"):
        self._X, self._columns = X, columns
        self.n_rows, self.n_features = X.shape

    def blocks(self) -> Iterator[Block]:
        rows, start, n_rows = Cursor(self._X), 0, self.n_rows or 0
        step = max(BLOCK_BYTES // max(self._X.dtype.itemsize * self._X.shape[1], 1), 1)
        while start < n_rows:
            stop = rows.aligned(start + min(step, BLOCK_ROWS))
            X = rows.take(stop)
            yield Block(X, *self._columns.take(start, stop), start, X.nbytes)
            start = stop


class ZarrCSRSource(Source):
    """A Zarr group holding CSR in the AnnData layout."""

    reads_ahead = True

    def __init__(self, store: CSRStore, columns: "Columns"):
        self._store, self._columns = store, columns
        self.n_rows, self.n_features = store.n_rows, store.n_features

    def blocks(self) -> Iterator[Block]:
        for start, stop, arrays in self._store.blocks(BLOCK_BYTES, BLOCK_ROWS, self.values_matter):
            nbytes = sum(a.nbytes for a in arrays if a is not None)
            yield Block((*arrays, self.n_features), *self._columns.take(start, stop), start, nbytes)


class StreamSource(Source):
    """An iterable of chunks, or a callable that returns one: X, (X, y) or (X, y, w)."""

    def __init__(self, chunks: Any, columns: "Columns"):
        self._chunks, self._columns = chunks, columns

    def blocks(self) -> Iterator[Block]:
        chunks = self._chunks() if callable(self._chunks) else self._chunks
        if not isinstance(chunks, Iterable):
            raise TypeError(f"X: the callable returned {type(chunks).__name__}; it should return an iterator of chunks")
        row = 0
        for chunk in chunks:
            block = self._block(chunk, row)
            yield block
            row += block.X.shape[0]
        self._columns.check_spent(row)

    def _block(self, chunk: Any, row: int) -> Block:
        parts = chunk if isinstance(chunk, tuple) else (chunk,)
        if not 1 <= len(parts) <= 3:
            raise ValueError(f"X: a chunk is a tuple of {len(parts)}; it should be X, (X, y) or (X, y, sample_weight)")
        rows, y, weight = (*parts, None, None)[:3]
        # copies: the stream may fill the same buffers again while these rows are still being summed
        X: Any = rows.tocsr(copy=True) if sp.issparse(rows) else np.array(as_matrix(rows))
        y = None if y is None else _checks.check_y(y, row).copy()
        weight = None if weight is None else np.array(_checks.check_weights(weight, row))
        columns = self._columns.take(row, row + X.shape[0], y, weight)
        for name, column in zip(self._columns.names, columns, strict=True):
            if column is not None:
                _checks.check_lengths(X.shape[0], column.shape[0], name)
        return Block(X, *columns, row, X.data.nbytes + X.indices.nbytes if sp.issparse(X) else X.nbytes)


# ---- labels and weights beside the rows ------------------------------------------------------------------------------


class Columns:
    """Labels, weights, and groups or fold numbers of a source, read along with its rows."""

    def __init__(self, y: Any, weight: Any, split: Any, labelled: bool, split_name: str):
        self._y, self._weight, self._split, self._labelled = y, weight, split, labelled
        self.names = "y", "sample_weight", split_name

    def take(self, start: int, stop: int, y: Any = None, weight: Any = None) -> tuple[Any, Any, Any]:
        """Labels, weights and splits of the rows from `start` to `stop`, the rows after those taken last.

        `y` and `weight` are what came with the rows themselves, in a stream.
        """
        for name, here, there in (("y", self._y, y), ("sample_weight", self._weight, weight)):
            if here is not None and there is not None:
                raise ValueError(f"{name} is given beside X, but the stream X brings its own; leave one of them out")
        if self._y is not None:
            y = _checks.check_y(self._y.take(start, stop), start)
        if self._weight is not None:
            weight = _checks.check_weights(self._weight.take(start, stop), start)
        if self._labelled and y is None:
            raise ValueError(
                "requires y to be passed, but the target y is None: pass y, or yield (X, y) from the stream"
            )
        split = None
        if self._split is not None:
            split = _checks.check_labels(self._split.take(start, stop), self.names[2], start)
        return y, weight, split

    def check_spent(self, n_rows: int) -> None:
        """Refuse labels, weights or splits left over behind the last row."""
        for name, column in zip(self.names, (self._y, self._weight, self._split), strict=True):
            if column is not None:
                _checks.check_lengths(n_rows, column.n_rows, name)


class _InMemory:
    def __init__(self, values: Any):
        self.values, self.n_rows = values, values.shape[0]

    def take(self, start: int, stop: int) -> Any:
        return self.values[start:stop]


class _InZarr:
    def __init__(self, array: zarr.Array):
        self._array, self.n_rows = array, array.shape[0]
        self._cursor: Cursor | None = None

    def take(self, start: int, stop: int) -> np.ndarray:
        if start == 0:
            self._cursor = Cursor(self._array)
        assert self._cursor is not None, "rows are read from the first"
        return self._cursor.take(stop)


class _IndicatorInZarr:
    """An indicator of labels kept as a CSR group."""

    def __init__(self, store: CSRStore):
        self._store, self.n_rows = store, store.n_rows
        self._cursors: tuple[Cursor, ...] = ()

    def take(self, start: int, stop: int) -> sp.csr_array:
        if start == 0:
            self._store.check_complete()
            self._cursors = tuple(Cursor(a) for a in (self._store.data, self._store.indices, self._store.indptr))
        data, indices, indptr = self._cursors
        ends = np.array(indptr.peek(stop + 1), np.int64)
        indptr.take(stop)
        arrays = data.take(int(ends[-1])), indices.take(int(ends[-1])), ends - ends[0]
        chunk, _ = csr_chunk(*arrays, self._store.n_features, start)
        return sp.csr_array(chunk.to_matrix())


class _Masked:
    """A column that the AnnData layout keeps as a group: values of which some are missing."""

    def __init__(self, group: zarr.Group, first: str, second: str):
        parts = (zarr.open_array(store=group.store, path=f"{group.path}/{name}", mode="r") for name in (first, second))
        first_part, self._second = parts
        self._first, self.n_rows = _InZarr(first_part), first_part.shape[0]

    def take(self, start: int, stop: int) -> np.ndarray:
        values, missing = self._values(start, stop)
        if missing.any():
            raise ValueError(
                f"y has a missing label or category at row {start + int(np.argmax(missing))}; drop those rows, "
                "or give them a label of their own"
            )
        return values

    def _values(self, start: int, stop: int) -> tuple[np.ndarray, np.ndarray]:
        raise NotImplementedError


class _Categorical(_Masked):
    """Codes into categories, -1 where missing."""

    def __init__(self, group: zarr.Group):
        super().__init__(group, "codes", "categories")
        self._categories = np.asarray(self._second[:])

    def _values(self, start: int, stop: int) -> tuple[np.ndarray, np.ndarray]:
        codes = self._first.take(start, stop)
        missing = (codes < 0) | (codes >= len(self._categories))
        return self._categories[np.where(missing, 0, codes)] if len(self._categories) else codes, missing


class _Nullable(_Masked):
    """Values beside a mask that is True where they are missing."""

    def __init__(self, group: zarr.Group):
        super().__init__(group, "values", "mask")
        self._mask = _InZarr(self._second)

    def _values(self, start: int, stop: int) -> tuple[np.ndarray, np.ndarray]:
        return self._first.take(start, stop), self._mask.take(start, stop).astype(bool)


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
        part = in_zarr(column, name) if stored else _InMemory(check(in_memory(column)))
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


def in_zarr(column: Any, name: str) -> Any:
    """Labels or weights in a Zarr array, or in a group of the AnnData layout: `n_rows`, and `take` in order."""
    if isinstance(column, zarr.Group):
        kind = str(column.attrs.get("encoding-type"))
        if kind == "csr_matrix" and name == "y":
            return _IndicatorInZarr(open_csr(column))
        if kind != "categorical" and not kind.startswith("nullable-"):
            raise ValueError(f"{name}: group {column.path!r} of encoding-type {kind!r} is not a column of labels")
        return _Categorical(column) if kind == "categorical" else _Nullable(column)
    if column.ndim != 1 and not (column.ndim == 2 and name == "y"):
        raise ValueError(f"{name} should be a 1d array, got an array of shape {column.shape} instead.")
    return _InZarr(column)


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
        return zarr.open(path, mode="r")
    except Exception as error:  # missing files, broken metadata, stores that answer no
        raise DataError(f"X={path!s} cannot be opened as a Zarr array or group: {error}") from error


def whole_column(X: Any, column: Any, name: str) -> np.ndarray:
    """All of a column beside X, in memory: an array, a lazy one, or the name of one in the group of X."""
    if isinstance(column, str):
        column = _member(resolve(X)[1], column, name)
    return np.asarray(column[:] if isinstance(column, zarr.Array) else in_memory(column))


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
        _checks.check_min_size(*X.shape)
        return ZarrSource(X, open_columns(y, sample_weight, X.shape[0], labelled, group, split))
    if sp.issparse(X) and X.ndim == 2:
        X = X.tocsr()
    else:
        X = as_matrix(X)
    _checks.check_min_size(*X.shape)
    return ArraySource(X, open_columns(y, sample_weight, X.shape[0], labelled, split=split))
