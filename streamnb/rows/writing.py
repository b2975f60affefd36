"""Writes a stream of chunks as CSR in Zarr, in AnnData's layout."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
import zarr
from zarr.abc.codec import BytesBytesCodec
from zarr.codecs import BloscCodec, Crc32cCodec, ZstdCodec

from streamnb.core import arguments, row_checks
from streamnb.core.messages import DataError
from streamnb.rows.boundary import as_chunk
from streamnb.rows.zarr_reading import FEATURE_NAMES, with_retries

CHUNK = 1 << 20  # elements of data and indices in one chunk
ROW_CHUNK = 1 << 17  # rows of indptr and y in one chunk
ROW_BLOCK = 1 << 13  # rows that are compressed at once; each thread keeps the memory that blosc takes for them


# ---- writing ---------------------------------------------------------------------------------------------------------


def write_csr(store: Any, chunks: Iterable[Any], *, n_features: int, feature_names: Any = None) -> zarr.Group:
    """Stream chunks of rows into a new Zarr CSR group (AnnData layout, Zarr format 3).

    Parameters
    ----------
    store : path, URL or zarr store
        Where the group is created; it must be empty.
    chunks : iterable of X, or of (X, y), (X, y, sample_weight) or (X, y, sample_weight, groups)
        X is array-like or SciPy sparse, (n_rows, n_features); y holds n_rows labels, or is an indicator (n_rows,
        n_labels), dense or sparse; sample_weight and groups hold n_rows numbers and labels. None stands for parts that
        are missing. All values must fit the dtype of the first chunk.
    n_features : int
    feature_names : (n_features,) strings, optional
        Used by `fit` like the column names of a data frame.

    Returns
    -------
    zarr.Group
        With arrays `data`, `indices`, `indptr` and, if labels were given, `y`: an array, or a CSR group of an indicator
        matrix; `fit(store, "y")` accepts either. Also `sample_weight`, `groups` and `feature_names`, if given.
        Whole numbers and indices are stored in the smallest integer type that holds them all, which decodes several
        times faster. Each chunk has a checksum (CRC-32C), which every reader verifies. The attribute `streamnb`
        records facts about the values. Attributes are written last, so that a half-written group is not mistaken for
        CSR. Nothing is created before the first chunk has been checked.

    Raises
    ------
    ValueError
        The store is not empty, or a chunk has another width, values that do not fit the dtype of the first, or labels
        where others have none.

    Examples
    --------
    >>> import streamnb as snb
    >>> pieces = ((rows, labels) for rows, labels in [([[2, 0], [3, 1]], [0, 0]), ([[0, 4]], [1])])
    >>> store = snb.write_csr("counts.zarr", pieces, n_features=2)
    >>> snb.scan("counts.zarr", "y").sum.tolist()
    [[5.0, 1.0], [0.0, 4.0]]
    """
    n_features = arguments.positive_integer("n_features", n_features)
    names = None if feature_names is None else row_checks.check_labels(feature_names, "feature_names").astype(str)
    if names is not None and len(names) != n_features:
        raise ValueError(f"feature_names has {len(names)} names; n_features={n_features} should have as many")
    _check_vacant(store)
    writer = _Writer(store, n_features)
    for chunk in chunks:
        parts = chunk if isinstance(chunk, tuple) else (chunk,)
        if not 1 <= len(parts) <= 4:
            raise ValueError(
                f"chunks: a chunk is a tuple of {len(parts)}; it should be X or (X, y, sample_weight, groups)"
            )
        writer.add(*(*parts, None, None, None)[:4])
    return writer.finish(names)


def _check_vacant(store: Any) -> None:
    try:
        zarr.open(store, mode="r")
    except FileNotFoundError:
        return
    raise ValueError(
        f"store={store!s} already holds something, perhaps of a write that was not finished; "
        "remove it or name another place"
    )


_KNOWN = {"canonical": True, "explicit_zeros": False, "non_negative": True, "integer": True}  # true of no values


class _Writer:
    """Writes rows and what is beside them, buffered until whole Zarr chunks can be written."""

    def __init__(self, store: Any, n_features: int):
        self._store, self._n_features = store, n_features
        self._rows: _CSR | None = None
        self._beside: dict[str, _CSR | _Column] = {}  # labels, weights and groups
        self._label_kind = ""
        self._n_rows = 0
        self._known = dict(_KNOWN)

    @cached_property
    def _group(self) -> zarr.Group:
        return zarr.create_group(self._store, zarr_format=3)

    def add(self, X: Any, y: Any, weight: Any = None, groups: Any = None) -> None:
        chunk, survey = as_chunk(X, self._n_rows)
        row_checks.check_n_features(chunk.shape[1], self._n_features, "write_csr(n_features=)")
        columns = self._checked(y, weight, groups, chunk.shape[0])
        matrix = sp.csr_array(chunk.to_matrix())
        dtype = X.dtype if hasattr(X, "dtype") and X.dtype.kind in "buif" else matrix.dtype
        self._rows = self._rows or _CSR(self._group, self._n_features, dtype)
        self._rows.add(matrix, matrix.data.astype(dtype) if np.dtype(dtype).kind == "f" else matrix.data)
        for name, column in columns.items():
            if name not in self._beside and sp.issparse(column):
                self._beside[name] = _CSR(self._group.create_group(name), column.shape[1], column.dtype)
            elif name not in self._beside:
                self._beside[name] = _Column(self._group, name, column.dtype, ROW_CHUNK)
            self._beside[name].add(column)
        self._n_rows += matrix.shape[0]
        self._known["explicit_zeros"] |= bool((matrix.data == 0).any())
        self._known["non_negative"] &= survey.low >= 0
        self._known["integer"] &= survey.whole

    def _checked(self, y: Any, weight: Any, groups: Any, n_rows: int) -> dict[str, Any]:
        """The labels, weights and groups of a chunk, which are those of the chunks before."""
        if self._n_rows and ("y" in self._beside) != (y is not None):
            raise ValueError("chunks: some come as (X, y) and some as X alone; give labels with all or with none")
        found: dict[str, Any] = {}
        if y is not None:
            found["y"] = labels = row_checks.check_y(y, self._n_rows)
            several = sp.issparse(labels)
            kind = f"an indicator of {labels.shape[1]} labels" if several else row_checks.label_kind(labels)
            if kind != self._label_kind and "y" in self._beside:
                raise ValueError(f"chunks: y holds {kind} where labels were {self._label_kind} before; give one kind")
            self._label_kind = kind
        if weight is not None:
            found["sample_weight"] = np.asarray(row_checks.check_weights(weight, self._n_rows), np.float64)
        if groups is not None:
            found["groups"] = row_checks.check_labels(groups, "groups", self._n_rows)
        for name, column in found.items():
            row_checks.check_lengths(n_rows, column.shape[0], name)
        if self._n_rows and found.keys() != self._beside.keys():
            raise ValueError(
                "chunks: some come with sample_weight or groups and some without; give them with all or none"
            )
        return found

    def finish(self, names: np.ndarray | None) -> zarr.Group:
        if not self._n_rows:
            row_checks.check_min_size(0, self._n_features)
        assert self._rows is not None
        if names is not None:
            self._beside[FEATURE_NAMES] = _Column(self._group, FEATURE_NAMES, names.dtype, ROW_CHUNK)
            self._beside[FEATURE_NAMES].add(names)
        for column in self._beside.values():
            column.finish()
        self._rows.finish(self._known)  # last, because its attributes mark the group as CSR
        return self._group


class _CSR:
    """Three growing arrays of a group, and the attributes that finally mark it as CSR."""

    def __init__(self, group: zarr.Group, n_columns: int, dtype: Any):
        index = next(t for t in (np.uint16, np.int32, np.int64) if n_columns - 1 <= np.iinfo(t).max)
        self._group, self._n_columns = group, n_columns
        self._n_rows = self._nnz = 0
        self._begun = False
        self._data = _Column(group, "data", dtype, CHUNK, small=True)
        self._indices = _Column(group, "indices", index, CHUNK)
        self._indptr = _Column(group, "indptr", np.int64, ROW_CHUNK)

    def add(self, rows: sp.csr_array, data: np.ndarray | None = None) -> None:
        self._data.add(rows.data if data is None else data)
        self._indices.add(rows.indices)
        self._indptr.add(rows.indptr[1 if self._begun else 0 :].astype(np.int64) + self._nnz)
        self._begun = True
        self._n_rows += rows.shape[0]
        self._nnz += rows.nnz

    def finish(self, known: dict[str, bool] = _KNOWN) -> None:
        for column in (self._data, self._indices, self._indptr):
            column.finish()
        self._group.attrs.update(
            {
                "encoding-type": "csr_matrix",
                "encoding-version": "0.1.0",
                "shape": [self._n_rows, self._n_columns],
                "streamnb": {"version": 1, **known},
            }
        )


class _Column:
    """A growing 1-D array; before the end only whole chunks are written.

    A `small` one is stored in the smallest dtype that holds what has come, and stored anew when that grows.
    """

    def __init__(self, group: zarr.Group, name: str, dtype: Any, chunk: int, small: bool = False):
        self._group, self._name, self._chunk, self._small = group, name, chunk, small
        self._dtype: Any = "str" if np.dtype(dtype).kind == "U" else np.dtype(dtype)
        self._array: zarr.Array | None = None
        self._waiting: list[np.ndarray] = []
        self._n_waiting = 0

    def _new(self, name: str, dtype: Any) -> zarr.Array:
        block = ROW_BLOCK if self._chunk == ROW_CHUNK else 0  # 0 leaves it to blosc
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
                    f"chunks: {self._name} is stored as {self._dtype}, the dtype of the first chunk, which cannot "
                    f"hold all values of a later one ({values.dtype}); use one dtype for all chunks"
                )
            values = cast
        self._waiting.append(np.array(values))  # a copy, because the user may reuse the array
        self._n_waiting += len(values)
        if self._n_waiting >= self._chunk:
            self._write(self._n_waiting // self._chunk * self._chunk)

    def finish(self) -> None:
        if self._n_waiting or self._array is None:
            self._write(self._n_waiting)

    def _write(self, n: int) -> None:
        values = np.concatenate(self._waiting)
        so_far = np.dtype(np.uint8) if self._array is None else self._array.dtype
        dtype = _smallest_dtype(values[:n], so_far, self._dtype) if self._small else self._dtype
        if self._array is None:
            self._array = self._new(self._name, dtype)
        elif self._small and dtype != so_far:  # stored again, via a copy, because arrays cannot be renamed
            copy = self._new(f"{self._name}-wider", dtype)
            self._copy(self._array, copy)
            del self._group[self._name]
            self._array = self._new(self._name, dtype)
            self._copy(copy, self._array)
            del self._group[f"{self._name}-wider"]
        self._append(self._array, values[:n])
        self._waiting = [values[n:]]
        self._n_waiting -= n

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
            with_retries(write, array.store)
        except Exception as error:  # stores raise errors of any type
            raise DataError(f"array {array.path!r} in {array.store} cannot be written: {error!r}") from error


def _smallest_dtype(values: np.ndarray, so_far: np.dtype, largest: np.dtype) -> np.dtype:
    """The smallest dtype that holds `values` and all of `so_far`; `largest` unless smaller integers suffice."""
    if so_far == largest or largest.kind == "b" or (values != np.floor(values)).any():
        return largest
    if not values.size:
        return so_far if so_far.itemsize < largest.itemsize else largest
    needed = np.promote_types(np.min_scalar_type(int(values.min())), np.min_scalar_type(int(values.max())))
    dtype = np.promote_types(so_far, needed)
    return dtype if dtype.kind in "iu" and dtype.itemsize < largest.itemsize else largest
