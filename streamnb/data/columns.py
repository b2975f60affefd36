"""Labels, weights and splits beside the rows, read along with them from any row on."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
import zarr

from streamnb import _checks
from streamnb._checks import DataError
from streamnb.data.chunk import csr_chunk
from streamnb.data.csr_store import CSRCursor, CSRStore, member_of, open_csr
from streamnb.data.layout import check_layout
from streamnb.data.reader import Cursor

TakeBeside = Callable[..., tuple[Any, Any, Any]]
Take = Callable[[int, int], Any]  # the rows from `start` to `stop`, those after the rows taken last


class Columns:
    """Labels, weights, and groups or fold numbers of a source, read along with its rows."""

    def __init__(self, y: Any, weight: Any, split: Any, labelled: bool, split_name: str):
        self._y, self._weight, self._split, self._labelled = y, weight, split, labelled
        self.names = "y", "sample_weight", split_name

    @property
    def arrays(self) -> tuple[zarr.Array, ...]:
        """Zarr arrays among them."""
        return tuple(
            array for part in (self._y, self._weight, self._split) if part is not None for array in part.arrays
        )

    def cut(self, start: int, stop: int) -> "Columns":
        """The same for the rows in [start, stop) alone, with no others in memory."""
        y, weight, split = (part and part.cut(start, stop) for part in (self._y, self._weight, self._split))
        return Columns(y, weight, split, self._labelled, self.names[2])

    def reader(self, start: int = 0) -> TakeBeside:
        """A function `take` of rows in order, from `start` on; see `_take`."""
        parts = self._y, self._weight, self._split
        return partial(self._take, tuple(None if part is None else part.reader(start) for part in parts))

    def _take(
        self, readers: Sequence[Any], start: int, stop: int, y: Any = None, weight: Any = None
    ) -> tuple[Any, Any, Any]:
        """Labels, weights and splits of the rows from `start` to `stop`, the rows after those taken last.

        `y` and `weight` are what came with the rows themselves, in a stream.
        """
        labels, weights, splits = readers
        for name, here, there in (("y", labels, y), ("sample_weight", weights, weight)):
            if here is not None and there is not None:
                raise ValueError(f"{name} is given beside X, but the stream X brings its own; leave one of them out")
        if labels is not None:
            y = _checks.check_y(labels(start, stop), start)
        if weights is not None:
            weight = _checks.check_weights(weights(start, stop), start)
        if self._labelled and y is None:
            raise ValueError(
                "requires y to be passed, but the target y is None: pass y, or yield (X, y) from the stream"
            )
        split = None if splits is None else _checks.check_labels(splits(start, stop), self.names[2], start)
        return y, weight, split

    def check_spent(self, n_rows: int) -> None:
        """Refuse labels, weights or splits left over behind the last row."""
        for name, column in zip(self.names, (self._y, self._weight, self._split), strict=True):
            if column is not None:
                _checks.check_lengths(n_rows, column.n_rows, name)


class InMemory:
    """A column held here, or of it the rows from `first_row` on."""

    arrays: tuple[zarr.Array, ...] = ()

    def __init__(self, values: Any, first_row: int = 0):
        self.values, self.first_row, self.n_rows = values, first_row, first_row + values.shape[0]

    def cut(self, start: int, stop: int) -> "InMemory":
        return InMemory(self.values[start - self.first_row : stop - self.first_row], start)

    def reader(self, start: int) -> Take:
        return lambda start, stop: self.values[start - self.first_row : stop - self.first_row]


class _Stored:
    """What is in a store is read there, whole or cut."""

    arrays: tuple[zarr.Array, ...]

    def cut(self, start: int, stop: int) -> Self:
        return self


class _InZarr(_Stored):
    def __init__(self, array: zarr.Array):
        self._array, self.n_rows, self.arrays = array, array.shape[0], (array,)

    def reader(self, start: int) -> Take:
        cursor = Cursor(self._array, start)
        return lambda _, stop: cursor.take(stop)


class _IndicatorInZarr(_Stored):
    """An indicator of labels kept as a CSR group."""

    def __init__(self, store: CSRStore):
        store.check_complete()
        self._store, self.n_rows, self.arrays = store, store.n_rows, (store.data, store.indices, store.indptr)

    def reader(self, start: int) -> Take:
        cursor = CSRCursor(self._store, start)

        def take(start: int, stop: int) -> sp.csr_array:
            chunk, _ = csr_chunk(*cursor.take(stop), self._store.n_features, start)
            return sp.csr_array(chunk.to_matrix())

        return take


class _Masked(_Stored):
    """A column that the AnnData layout keeps as a group: values of which some are missing."""

    def __init__(self, group: zarr.Group, first: str, second: str):
        parts = [member_of(group, name) for name in (first, second)]
        where = f"y: group {group.path!r} in {group.store}"
        if not all(isinstance(part, zarr.Array) and part.ndim == 1 for part in parts):
            raise DataError(f"{where} lacks the 1-D arrays {first!r} and {second!r}")
        self.arrays = first_part, self._second = tuple(parts)
        if first == "codes" and first_part.dtype.kind not in "iu":
            raise DataError(f"{where}: array 'codes' has dtype {first_part.dtype}; it should hold integers")
        if second == "mask" and (self._second.shape != first_part.shape or self._second.dtype.kind != "b"):
            raise DataError(f"{where}: array 'mask' should hold a bool for each of the {first_part.shape[0]} values")
        self._first, self.n_rows = _InZarr(first_part), first_part.shape[0]

    def reader(self, start: int) -> Take:
        values_of = self._values(start)

        def take(start: int, stop: int) -> np.ndarray:
            values, missing = values_of(start, stop)
            if missing.any():
                raise ValueError(
                    f"y has a missing label or category at row {start + int(np.argmax(missing))}; drop those rows, "
                    "or give them a label of their own"
                )
            return values

        return take

    def _values(self, start: int) -> Take:
        """Values of rows, and where they are missing."""
        raise NotImplementedError


class _Categorical(_Masked):
    """Codes into categories, -1 where missing."""

    def __init__(self, group: zarr.Group):
        super().__init__(group, "codes", "categories")
        self._categories = whole(self._second)

    def _values(self, start: int) -> Take:
        codes_of = self._first.reader(start)

        def values(start: int, stop: int) -> tuple[np.ndarray, np.ndarray]:
            codes = codes_of(start, stop)
            missing = (codes < 0) | (codes >= len(self._categories))
            return self._categories[np.where(missing, 0, codes)] if len(self._categories) else codes, missing

        return values


class _Nullable(_Masked):
    """Values beside a mask that is True where they are missing."""

    def __init__(self, group: zarr.Group):
        super().__init__(group, "values", "mask")

    def _values(self, start: int) -> Take:
        values_of, mask_of = self._first.reader(start), _InZarr(self._second).reader(start)
        return lambda start, stop: (values_of(start, stop), mask_of(start, stop).astype(bool))


def in_zarr(column: Any, name: str) -> Any:
    """Labels or weights in a Zarr array, or in a group of the AnnData layout: `n_rows`, and a `reader` of rows."""
    if isinstance(column, zarr.Group):
        kind = str(column.attrs.get("encoding-type"))
        if kind == "csr_matrix" and name == "y":
            return _IndicatorInZarr(open_csr(column))
        if kind != "categorical" and not kind.startswith("nullable-"):
            raise ValueError(f"{name}: group {column.path!r} of encoding-type {kind!r} is not a column of labels")
        return _Categorical(column) if kind == "categorical" else _Nullable(column)
    if column.ndim != 1 and not (column.ndim == 2 and name == "y"):
        raise ValueError(f"{name} should be a 1d array, got an array of shape {column.shape} instead.")
    return _InZarr(check_layout(column))


def whole(array: zarr.Array) -> np.ndarray:
    """All of an array, in memory."""
    return Cursor(array).take(array.shape[0])
