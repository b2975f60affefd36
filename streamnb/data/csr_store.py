"""CSR matrices in Zarr, in the layout of AnnData: written from a stream of chunks, read as blocks of rows."""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
import zarr
from zarr.abc.codec import BytesBytesCodec
from zarr.codecs import BloscCodec, Crc32cCodec, ZstdCodec

from streamnb import _checks
from streamnb._checks import DataError
from streamnb.data.chunk import as_chunk
from streamnb.data.layout import check_layout
from streamnb.data.reader import Cursor, Readers, check_complete
from streamnb.data.stores import persistently

CHUNK = 1 << 20  # elements of data and indices in one chunk
ROW_CHUNK = 1 << 17  # rows of indptr and y in one chunk
ROW_BLOCK = 1 << 13  # of them that are coded at once: threads keep the memory that blosc takes for one

CSRArrays = tuple[np.ndarray | None, np.ndarray, np.ndarray]  # data, indices, indptr


# ---- reading ---------------------------------------------------------------------------------------------------------


def open_csr(group: zarr.Group) -> "CSRStore":
    """Check the layout of a group and open its three arrays."""
    attrs = dict(group.attrs)
    kind = attrs.get("encoding-type")
    where = f"group {group.path or '/'!r} in {group.store}"
    if kind == "csc_matrix":
        raise ValueError(f"X: {where} is a csc_matrix; convert it to CSR (rows must lie together), e.g. X.tocsr()")
    if kind != "csr_matrix":
        raise ValueError(
            f"X: {where} has encoding-type {kind!r}; it should be 'csr_matrix' (AnnData layout: arrays data, "
            "indices, indptr; attributes encoding-type, encoding-version, shape)"
        )
    version = attrs.get("encoding-version")
    if version != "0.1.0":
        raise ValueError(
            f"X: {where} has encoding-version {version!r}; it should be '0.1.0', the CSR layout of AnnData"
        )
    shape: Any = attrs.get("shape")
    if not (isinstance(shape, (list, tuple)) and len(shape) == 2 and all(isinstance(s, int) and s >= 0 for s in shape)):
        raise ValueError(f"X: {where} has shape attribute {shape!r}; it should be [n_rows, n_features]")
    arrays = {}
    for name in ("data", "indices", "indptr"):
        member = member_of(group, name)
        if not isinstance(member, zarr.Array) or member.ndim != 1:
            raise ValueError(f"X: {where} lacks the 1-D array {name!r} of the AnnData CSR layout")
        if name != "data" and member.dtype.kind not in "iu":
            raise ValueError(f"X: array {name!r} of {where} has dtype {member.dtype}; it should hold integers")
        arrays[name] = member
    known: Any = attrs.get("streamnb")
    positive = isinstance(known, dict) and known.get("non_negative") is True and known.get("explicit_zeros") is False
    return CSRStore(where, int(shape[0]), int(shape[1]), **arrays, positive=positive)


def member_of(group: zarr.Group, path: str) -> Any:
    """An array or group inside a group, None where there is none."""
    try:
        member = persistently(lambda: group.get(path), group.store)
    except Exception as error:  # broken metadata shows in many ways
        raise DataError(
            f"the metadata of {path!r} in group {group.path or '/'!r} of {group.store} is broken: {error!r}"
        ) from error
    return check_layout(member) if isinstance(member, zarr.Array) else member


class CSRStore:
    """A CSR group that was opened and whose shapes agree; `positive` where every stored value is known to be."""

    def __init__(
        self,
        where: str,
        n_rows: int,
        n_features: int,
        data: zarr.Array,
        indices: zarr.Array,
        indptr: zarr.Array,
        positive: bool = False,
    ):
        if indptr.shape[0] != n_rows + 1:
            raise DataError(f"X: {where}: indptr has {indptr.shape[0]} entries; {n_rows} rows need {n_rows + 1}")
        if data.shape != indices.shape:
            raise DataError(f"X: {where}: data has {data.shape[0]} entries and indices {indices.shape[0]}")
        self.where, self.n_rows, self.n_features = where, n_rows, n_features
        self.data, self.indices, self.indptr, self.positive = data, indices, indptr, positive

    @property
    def nbytes(self) -> int:
        """Decoded size."""
        return self.data.nbytes + self.indices.nbytes + self.indptr.nbytes

    def check_complete(self) -> None:
        """Refuse the store if chunks are missing."""
        check_complete(self.data, self.indices, self.indptr)

    def blocks(
        self, readers: Readers, target_bytes: int, most_rows: int, values: bool, start: int, stop: int
    ) -> Iterator[tuple[int, int, Callable[[], CSRArrays]]]:
        """Yield (first row, end row, a function that waits for the arrays) of the rows in [start, stop), in order.

        Blocks end with the last row that lies whole inside the chunks read for it; the row cut by the boundary
        goes to the next block. Each chunk of each array is read once; `data` is None, and not read, where the caller
        asks for no `values` and all are positive.
        """
        rows = CSRCursor(self, start, values or not self.positive, readers)
        target = max(target_bytes // (self.data.dtype.itemsize + self.indices.dtype.itemsize), 1)
        while rows.row < stop:
            first, last = rows.row, rows.last_before(rows.aligned(target), min(rows.row + most_rows, stop))
            yield first, last, rows.ask(last)
        if stop == self.n_rows and rows.position != self.data.shape[0]:
            n_values = self.data.shape[0]
            raise DataError(f"X: {self.where}: indptr ends at {rows.position}, but data has {n_values} entries")

    def check_indptr(self, ends: np.ndarray, row: int) -> None:
        """Refuse entries of indptr, from that of `row` on, that cannot be."""
        falls = np.flatnonzero(np.diff(ends) < 0)
        if ends[0] < 0 or (row == 0 and ends[0] > 0) or falls.size or ends[-1] > self.data.shape[0]:
            at = row + int(falls[0]) if falls.size else row
            raise DataError(
                f"X: {self.where}: indptr is wrong near row {at}: it should start at 0, never fall, and end at "
                f"{self.data.shape[0]}, the number of values"
            )


class CSRCursor:
    """Reads rows of a store in order, from row `start` on; without `values` it leaves `data` alone."""

    def __init__(self, store: CSRStore, start: int, values: bool = True, readers: Readers | None = None):
        self._store, self.row = store, start
        self._indptr = Cursor(store.indptr, start)
        self.position = int(self._ends(start)[0])  # where the row begins in data and indices
        self._indices = Cursor(store.indices, self.position, readers)
        self._data = Cursor(store.data, self.position, readers) if values else None

    def aligned(self, n_values: int) -> int:
        """The position some `n_values` on where chunks end, if one is near."""
        return (self._data or self._indices).aligned(self.position + n_values)

    def last_before(self, position: int, most: int) -> int:
        """The last row that ends by `position`, the present one at least and `most` at the utmost."""
        ends = self._indptr.peek(most + 1)
        return self.row + max(bisect_right(ends, position) - 1, 1)  # np.searchsorted would cast all of them

    def _ends(self, stop: int) -> np.ndarray:
        """The positions where the rows up to `stop` begin, and where the last ends."""
        ends = self._indptr.peek(stop + 1).astype(np.int64)
        self._store.check_indptr(ends, self.row)
        return ends

    def take(self, stop: int) -> CSRArrays:
        """The data, indices and indptr of the rows up to `stop`, and move there."""
        return self.ask(stop)()

    def ask(self, stop: int) -> Callable[[], CSRArrays]:
        """Move to row `stop`; the function returned waits for the rows passed, and gives their arrays."""
        ends = self._ends(stop)
        self._indptr.take(stop)
        self.row, self.position = stop, int(ends[-1])
        data = (lambda: None) if self._data is None else self._data.ask(self.position)
        indices = self._indices.ask(self.position)
        return lambda: (data(), indices(), ends)


# ---- writing ---------------------------------------------------------------------------------------------------------


def write_csr(store: Any, chunks: Iterable[Any], *, n_features: int) -> zarr.Group:
    """Stream chunks of rows into a new Zarr CSR group (AnnData layout, Zarr format 3).

    Parameters
    ----------
    store : path, URL or zarr store
        Where the group is made; it must not hold anything yet.
    chunks : iterable of X, or of (X, y)
        X is array-like or SciPy sparse, (n_rows, n_features); y holds n_rows labels. All values must fit
        the dtype of the first chunk.
    n_features : int

    Returns
    -------
    zarr.Group
        With arrays `data`, `indices`, `indptr` and, where labels came, `y`. Whole numbers and indices are stored
        in the smallest integers that hold them all, which decode several times faster. Each chunk bears a checksum
        (CRC-32C), which every reader verifies. The attribute `streamnb` says what is known of the values. The
        attributes are written last: a half-written group is not taken for CSR. Nothing is made before the first
        chunk has been checked.

    Raises
    ------
    ValueError
        The store is not empty, or a chunk has another width, values that the dtype of the first cannot hold,
        or labels where others have none.
    """
    n_features = _checks.positive_integer("n_features", n_features)
    _check_vacant(store)
    writer = _Writer(store, n_features)
    for chunk in chunks:
        if isinstance(chunk, tuple) and len(chunk) != 2:
            raise ValueError(f"chunks: a chunk is a tuple of {len(chunk)}; it should be X or (X, y)")
        writer.add(*(chunk if isinstance(chunk, tuple) else (chunk, None)))
    return writer.finish()


def _check_vacant(store: Any) -> None:
    try:
        zarr.open(store, mode="r")
    except FileNotFoundError:
        return
    raise ValueError(
        f"store={store!s} already holds something, perhaps of a write that was not finished; "
        "remove it or name another place"
    )


class _Writer:
    """Buffers rows until whole Zarr chunks can be written."""

    def __init__(self, store: Any, n_features: int):
        self._store, self._n_features = store, n_features
        self._columns: dict[str, _Column] = {}
        self._label_kind = ""
        self._n_rows = self._nnz = 0
        self._known = {"canonical": True, "explicit_zeros": False, "non_negative": True, "integer": True}

    @cached_property
    def _group(self) -> zarr.Group:
        return zarr.create_group(self._store, zarr_format=3)

    def add(self, X: Any, y: Any) -> None:
        chunk, survey = as_chunk(X, self._n_rows)
        _checks.check_n_features(chunk.shape[1], self._n_features, "write_csr(n_features=)")
        labels = self._checked_labels(y, chunk.shape[0])
        matrix = sp.csr_array(chunk.to_matrix())
        dtype = X.dtype if hasattr(X, "dtype") and X.dtype.kind in "buif" else matrix.dtype
        summed = matrix.data.astype(dtype) if np.dtype(dtype).kind == "f" else matrix.data
        self._add_to("data", summed, dtype, CHUNK, small=True)
        index = next(t for t in (np.uint16, np.int32, np.int64) if self._n_features - 1 <= np.iinfo(t).max)
        self._add_to("indices", matrix.indices, index, CHUNK)
        ends = matrix.indptr[1 if "indptr" in self._columns else 0 :].astype(np.int64) + self._nnz
        self._add_to("indptr", ends, np.int64, ROW_CHUNK)
        if labels is not None:
            self._add_to("y", labels, "str" if labels.dtype.kind == "U" else labels.dtype, ROW_CHUNK)
        self._n_rows += matrix.shape[0]
        self._nnz += matrix.nnz
        self._known["explicit_zeros"] |= bool((matrix.data == 0).any())
        self._known["non_negative"] &= survey.low >= 0
        self._known["integer"] &= survey.whole

    def _checked_labels(self, y: Any, n_rows: int) -> np.ndarray | None:
        if ("y" in self._columns) != (y is not None) and self._n_rows:
            raise ValueError("chunks: some come as (X, y) and some as X alone; give labels with all or with none")
        if y is None:
            return None
        labels = _checks.check_labels(y)
        _checks.check_lengths(n_rows, len(labels))
        kind = _checks.label_kind(labels)
        if kind != self._label_kind and "y" in self._columns:
            raise ValueError(f"chunks: y holds {kind} where labels were {self._label_kind} before; give one kind")
        self._label_kind = kind
        return labels

    def _add_to(self, name: str, values: np.ndarray, dtype: Any, chunk: int, small: bool = False) -> None:
        if name not in self._columns:
            self._columns[name] = _Column(self._group, name, dtype, chunk, small)
        self._columns[name].add(values)

    def finish(self) -> zarr.Group:
        if not self._n_rows:
            _checks.check_min_size(0, self._n_features)
        for column in self._columns.values():
            column.flush()
        self._group.attrs.update(
            {
                "encoding-type": "csr_matrix",
                "encoding-version": "0.1.0",
                "shape": [self._n_rows, self._n_features],
                "streamnb": {"version": 1, **self._known},
            }
        )
        return self._group


class _Column:
    """One growing 1-D array; only whole chunks are written before the end.

    A `small` one is stored in the smallest dtype that holds what has come, and stored anew when that grows.
    """

    def __init__(self, group: zarr.Group, name: str, dtype: Any, chunk: int, small: bool = False):
        self._group, self._name, self._chunk, self._small = group, name, chunk, small
        self._dtype = dtype if dtype == "str" else np.dtype(dtype)
        self._array: zarr.Array | None = None
        self._waiting: list[np.ndarray] = []
        self._n_waiting = 0

    def _new(self, name: str, dtype: Any) -> zarr.Array:
        block = ROW_BLOCK if self._chunk == ROW_CHUNK else 0  # 0: as blosc sees fit
        blosc = BloscCodec(cname="lz4", shuffle="shuffle", blocksize=block)
        fast: BytesBytesCodec = ZstdCodec() if dtype == "str" else blosc
        return self._group.create_array(
            name,
            shape=(0,),
            chunks=(self._chunk,),
            dtype=dtype,
            compressors=[fast, Crc32cCodec()],
            config={"write_empty_chunks": True},
        )

    def add(self, values: np.ndarray) -> None:
        if self._dtype != "str" and values.dtype != self._dtype:
            cast = values.astype(self._dtype)
            if not np.array_equal(cast, values):
                raise ValueError(
                    f"chunks: {self._name} was begun as {self._dtype}, the dtype of the first chunk, which cannot "
                    f"hold all values of a later one ({values.dtype}); give every chunk one dtype"
                )
            values = cast
        self._waiting.append(np.array(values))  # a copy: the rows are the user's, who may fill them again
        self._n_waiting += len(values)
        if self._n_waiting >= self._chunk:
            self._write(self._n_waiting // self._chunk * self._chunk)

    def flush(self) -> None:
        if self._n_waiting or self._array is None:
            self._write(self._n_waiting)

    def _write(self, n: int) -> None:
        values = np.concatenate(self._waiting)
        self._append(self._fitting(values[:n]), values[:n])
        self._waiting = [values[n:]]
        self._n_waiting -= n

    def _fitting(self, values: np.ndarray) -> zarr.Array:
        """The array, of a dtype that holds these values too."""
        so_far = np.dtype(np.uint8) if self._array is None else self._array.dtype
        dtype = _smallest_dtype(values, so_far, self._dtype) if self._small else self._dtype
        if self._array is None:
            self._array = self._new(self._name, dtype)
        elif self._small and dtype != so_far:
            self._array = self._widened(self._array, dtype)
        return self._array

    def _widened(self, array: zarr.Array, dtype: np.dtype) -> zarr.Array:
        """What is there, stored anew; by way of a copy, for arrays cannot be renamed."""
        copy = self._new(f"{self._name}-wider", dtype)
        self._copy(array, copy)
        del self._group[self._name]
        wider = self._new(self._name, dtype)
        self._copy(copy, wider)
        del self._group[f"{self._name}-wider"]
        return wider

    def _copy(self, old: zarr.Array, new: zarr.Array) -> None:
        for start in range(0, old.shape[0], self._chunk):
            self._append(new, np.asarray(old[start : start + self._chunk]))

    @staticmethod
    def _append(array: zarr.Array, values: np.ndarray) -> None:
        length = array.shape[0]

        def write() -> None:
            array.resize((length + len(values),))
            array[length:] = values

        try:
            persistently(write, array.store)
        except Exception as error:  # stores raise whatever they like
            raise DataError(f"array {array.path!r} in {array.store} cannot be written: {error!r}") from error


def _smallest_dtype(values: np.ndarray, so_far: np.dtype, largest: np.dtype) -> np.dtype:
    """The smallest dtype that holds `values` and all of `so_far`; `largest` unless integers of fewer bytes do."""
    if so_far == largest or largest.kind == "b" or (values != np.floor(values)).any():
        return largest
    if not values.size:
        return so_far if so_far.itemsize < largest.itemsize else largest
    needed = np.promote_types(np.min_scalar_type(int(values.min())), np.min_scalar_type(int(values.max())))
    dtype = np.promote_types(so_far, needed)
    return dtype if dtype.kind in "iu" and dtype.itemsize < largest.itemsize else largest
