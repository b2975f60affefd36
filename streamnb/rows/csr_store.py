"""Opens and reads CSR matrices in Zarr, in AnnData's layout."""

from bisect import bisect_right
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import zarr

from streamnb.core.messages import DataError
from streamnb.rows.zarr_reading import Cursor, Readers, check_layout, with_retries

FEATURE_NAMES = "feature_names"  # an array of strings in a group written by `write_csr`, if names were given
CSRArrays = tuple[np.ndarray | None, np.ndarray, np.ndarray]  # data, indices, indptr


class CSRStore(NamedTuple):
    """An open CSR group whose shapes agree; `positive` if every stored value is known to be above zero."""

    where: str
    shape: tuple[int, int]
    data: zarr.Array
    indices: zarr.Array
    indptr: zarr.Array
    positive: bool

    @property
    def arrays(self) -> tuple[zarr.Array, zarr.Array, zarr.Array]:
        return self.data, self.indices, self.indptr


def open_csr(group: zarr.Group) -> CSRStore:
    """Check the layout of a group and open its three arrays."""
    attrs = dict(group.attrs)
    kind = attrs.get("encoding-type")
    where = f"group {group.path or '/'!r} in {group.store}"
    if kind == "csc_matrix":
        raise ValueError(f"X: {where} is a csc_matrix; convert it to CSR (rows must lie together), e.g. X.tocsr()")
    if kind != "csr_matrix":
        raise ValueError(
            f"X: {where} has encoding-type {kind!r}; it should be 'csr_matrix' (AnnData layout: arrays data, "
            "indices, indptr; attributes encoding-type, encoding-version, shape), or hold the rows in an array 'X'; "
            "give the path of another array, such as 'rows.zarr/values'"
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
    n_ends, data, indices = arrays["indptr"].shape[0], arrays["data"], arrays["indices"]
    if n_ends != shape[0] + 1:
        raise DataError(f"X: {where}: indptr has {n_ends} entries; {shape[0]} rows need {shape[0] + 1}")
    if data.shape != indices.shape:
        raise DataError(f"X: {where}: data has {data.shape[0]} entries and indices {indices.shape[0]}")
    known: Any = attrs.get("streamnb")
    positive = isinstance(known, dict) and known.get("non_negative") is True and known.get("explicit_zeros") is False
    return CSRStore(where, (int(shape[0]), int(shape[1])), **arrays, positive=positive)


def member_of(group: zarr.Group, path: str) -> Any:
    """An array or group inside a group, None where there is none."""
    try:
        member = with_retries(lambda: group.get(path), group.store)
    except Exception as error:  # broken metadata raises many kinds of errors
        raise DataError(
            f"the metadata of {path!r} in group {group.path or '/'!r} of {group.store} is broken: {error!r}"
        ) from error
    return check_layout(member) if isinstance(member, zarr.Array) else member


class CSRCursor:
    """Reads rows of a store in order, from row `start` on; without `values`, `data` is not read."""

    def __init__(self, store: CSRStore, start: int, values: bool = True, readers: Readers | None = None):
        self._store, self.row = store, start
        self._indptr = Cursor(store.indptr, start)
        self.position = int(self._ends(start)[0])  # offset of the row in data and indices
        self._indices = Cursor(store.indices, self.position, readers)
        self._data = Cursor(store.data, self.position, readers) if values else None

    def row_near(self, n_values: int, most: int) -> int:
        """The row, at most `most`, up to which there are about `n_values`, or those to the end of a chunk nearby."""
        position = (self._data or self._indices).aligned(self.position + n_values)
        ends = self._indptr.peek(most + 1)
        return self.row + max(bisect_right(ends, position) - 1, 1)  # np.searchsorted would cast the whole array

    def _ends(self, stop: int) -> np.ndarray:
        """Offsets of the rows up to `stop`, and the end of the last; impossible ones are refused."""
        ends, n_values, row = self._indptr.peek(stop + 1).astype(np.int64), self._store.data.shape[0], self.row
        falls = np.flatnonzero(np.diff(ends) < 0)
        if ends[0] < 0 or (row == 0 and ends[0] > 0) or falls.size or ends[-1] > n_values:
            at = row + int(falls[0]) if falls.size else row
            raise DataError(
                f"X: {self._store.where}: indptr is wrong near row {at}: it should start at 0, never fall, and end at "
                f"{n_values}, the number of values"
            )
        return ends

    def ask(self, stop: int) -> Callable[[], CSRArrays]:
        """Move to row `stop`; return a function that waits for the rows passed and returns their arrays."""
        ends = self._ends(stop)
        self._indptr.take(stop)
        self.row, self.position = stop, int(ends[-1])
        data = (lambda: None) if self._data is None else self._data.ask(self.position)
        indices = self._indices.ask(self.position)
        return lambda: (data(), indices(), ends)
