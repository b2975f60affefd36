"""Labels, weights and folds stored beside X, read along with its rows."""

import numbers
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
import zarr

from streamnb.core import row_checks
from streamnb.core.messages import DataError
from streamnb.rows.boundary import computed, csr_chunk, is_dask
from streamnb.rows.zarr_reading import (
    CSRArrays,
    CSRCursor,
    CSRStore,
    Cursor,
    Readers,
    check_complete,
    check_filled,
    check_layout,
    member_of,
    open_csr,
)

Pending = Callable[[], tuple[Any, Any, Any]]  # waits for labels, weights and splits, and returns them
RequestColumns = Callable[..., Pending]
LABELS = "y", "y_true", "y_pred"  # arguments that may be an indicator matrix
TARGETS: Literal["targets"] = "targets"  # y holds numbers to predict
Labelled = bool | Literal["targets"]  # whether rows have to come with y, and what it holds
Ask = Callable[[int, int], Callable[[], Any]]  # requests the rows in [start, stop), which follow those requested last


@dataclass(frozen=True, eq=False)
class RowColumns:
    """The columns beside the rows of a source, read along with them.

    `columns` has `y`, `sample_weight`, the `offset` of targets, which is the last column of y, and as `split` groups or
    fold numbers, or several columns of them, whose rows are records; those alone that there are. `split_name` is what
    messages call the split.
    """

    columns: "ColumnsByName"
    labelled: Labelled
    split_name: str = "split"

    @property
    def arrays(self) -> tuple[zarr.Array, ...]:
        """The Zarr arrays that are read."""
        return self.columns.arrays

    def with_columns(
        self, given: Mapping[str, Any], split: Mapping[str, Any], targets: bool, n_rows: int | None, group: Any
    ) -> "RowColumns":
        """A copy with more columns; groups or fold numbers, by name, take the place of former ones."""
        for name in ("y", "sample_weight"):
            if name in given and name in self.columns.by_name:
                raise _given_twice(name)
        columns, split_name = dict(self.columns.by_name), self.split_name
        labelled = TARGETS if targets else self.labelled
        for name, column in given.items():
            columns[name] = _opened(name, column, n_rows, group, labelled)
        if split:
            of_split = {name: _opened(name, column, n_rows, group) for name, column in split.items()}
            split_name, *others = split
            columns["split"] = ColumnsByName(of_split) if others else of_split[split_name]
        return RowColumns(ColumnsByName(columns), labelled, split_name)

    def cut(self, start: int, stop: int) -> "RowColumns":
        """A copy for the rows in [start, stop), which holds no others in memory."""
        return replace(self, columns=self.columns.cut(start, stop))

    def reader(self, start: int = 0, readers: Readers | None = None) -> RequestColumns:
        """A function that requests rows in order, from `start` on, while `readers` read ahead.

        It takes the first row, the end row, and labels and weights that came with the rows themselves, in a stream.
        """
        ask_columns = self.columns.reader(start, readers)

        def ask(start: int, stop: int, y: Any = None, weight: Any = None) -> Pending:
            pending = ask_columns(start, stop)
            return lambda: self._received(pending(), start, y, weight)

        return ask

    def _received(self, columns: dict[str, Any], start: int, y: Any, weight: Any) -> tuple[Any, Any, Any]:
        """Labels, weights and splits of the rows from `start` on, checked; y and weight came with the rows."""
        for name, own in (("y", y), ("sample_weight", weight)):
            if own is not None and name in columns:
                raise _given_twice(name)
        if "y" in columns or (y is not None and self.labelled):
            y = y_check(self.labelled)(columns.get("y", y), first_row=start)
        if "sample_weight" in columns:
            weight = row_checks.check_weights(columns["sample_weight"], start)
        if self.labelled and y is None:
            raise ValueError(f"{row_checks.NO_LABELS}: pass y, or yield (X, y) from the stream")
        if "offset" in columns:
            y = row_checks.with_offset(y, columns["offset"], start)
        split = columns.get("split")
        if isinstance(split, dict):
            split = records(split, start)
        elif split is not None:
            split = row_checks.check_labels(split, self.split_name, start)
        return y, weight, split

    def check_exhausted(self, n_rows: int) -> None:
        """Refuse labels, weights or splits left over after the last row."""
        for name, column in self.columns.by_name.items():
            row_checks.check_lengths(n_rows, column.n_rows, self.split_name if name == "split" else name)


def _given_twice(name: str) -> ValueError:
    what = "labels" if name == "y" else "weights"
    return ValueError(
        f"{name} is given beside X, and the rows of X bring {what} of their own: a stream of (X, y), or rows that were "
        f"opened with {name.removeprefix('sample_')}=..; leave one of the two out"
    )


class Column:
    """A column of `n_rows` rows beside X; one in a store is read there whether or not rows are cut.

    Parameters
    ----------
    n_rows : int
    read : callable
        Given the first row and the readers of a source, returns a function that requests rows in order.
    arrays : tuple of zarr.Array
        Those that are read.
    """

    ndim: int = 1
    shape: tuple[int, ...]  # of an indicator matrix

    def __init__(self, n_rows: int, read: Callable[[int, Readers | None], Ask], arrays: tuple[zarr.Array, ...] = ()):
        self.n_rows, self._read, self.arrays = n_rows, read, arrays

    def cut(self, start: int, stop: int) -> "Column":
        """The column for the rows in [start, stop)."""
        return self

    def reader(self, start: int, readers: Readers | None = None) -> Ask:
        """A function that requests rows in order, from `start` on."""
        return self._read(start, readers)

    def whole(self) -> Any:
        """All rows of the column."""
        return self.reader(0)(0, self.n_rows)()


class InMemory(Column):
    """A column in memory, or its rows from `first_row` on."""

    def __init__(self, values: Any, first_row: int = 0):
        super().__init__(first_row + values.shape[0], partial(_from_memory, values, first_row))
        self._values, self._first_row = values, first_row

    def cut(self, start: int, stop: int) -> Column:
        return InMemory(self._values[start - self._first_row : stop - self._first_row], start)


def _from_memory(values: Any, first_row: int, start: int, readers: Readers | None) -> Ask:
    # copies, which cannot change between the checks and their use
    return lambda start, stop: lambda: values[start - first_row : stop - first_row].copy()


def in_array(array: zarr.Array) -> Column:
    """A column in a Zarr array."""
    return Column(array.shape[0], partial(_from_array, array), (array,))


def _from_array(array: zarr.Array, start: int, readers: Readers | None) -> Ask:
    cursor = Cursor(array, start, readers)
    return lambda _, stop: cursor.ask(stop)


class ColumnsByName(Column):
    """Columns by name; requests return a dict of them."""

    def __init__(self, by_name: Mapping[str, Column]):
        self.by_name = by_name
        self.arrays = tuple(array for column in by_name.values() for array in column.arrays)

    def cut(self, start: int, stop: int) -> "ColumnsByName":
        return ColumnsByName({name: column.cut(start, stop) for name, column in self.by_name.items()})

    def reader(self, start: int, readers: Readers | None = None) -> Ask:
        asks = {name: column.reader(start, readers) for name, column in self.by_name.items()}

        def ask(start: int, stop: int) -> Callable[[], dict[str, Any]]:
            pending = {name: ask(start, stop) for name, ask in asks.items()}
            return lambda: {name: wait() for name, wait in pending.items()}

        return ask


def records(columns: dict[str, Any], first_row: int = 0) -> np.ndarray:
    """The rows of several columns of labels as records, (n_rows,)."""
    checked = {name: row_checks.check_labels(column, name, first_row) for name, column in columns.items()}
    n_rows = len(next(iter(checked.values())))
    found = np.empty(n_rows, [(name, column.dtype) for name, column in checked.items()])
    for name, column in checked.items():
        found[name] = column
    return found


def numbered(codes: np.ndarray, values: np.ndarray) -> Column:
    """A column of few values, given by the number of each row's value."""
    return Column(len(codes), partial(_from_codes, codes, values))


def _from_codes(codes: np.ndarray, values: np.ndarray, start: int, readers: Readers | None) -> Ask:
    return lambda start, stop: lambda: values[codes[start:stop]]


def _indicator(store: CSRStore) -> Column:
    """An indicator matrix of labels in a CSR group."""
    store = check_complete(store)
    column = Column(store.shape[0], partial(_from_csr, store), store.arrays)
    column.ndim, column.shape = 2, store.shape
    return column


def _from_csr(store: CSRStore, start: int, readers: Readers | None) -> Ask:
    cursor = CSRCursor(store, start, readers=readers)
    return lambda start, stop: partial(_indicator_rows, cursor.ask(stop), store.shape[1], start)


def _indicator_rows(arrays: Callable[[], CSRArrays], n_labels: int, start: int) -> sp.csr_array:
    chunk, _ = csr_chunk(*arrays(), n_labels, start)
    return sp.csr_array(chunk.to_matrix())


class MaskedColumn(Column):
    """A column as AnnData stores it: codes of categories, out of range where one is missing, or values and a mask."""

    def __init__(self, name: str, values: Column, mask: Column | None = None, categories: np.ndarray | None = None):
        self._name, self._categories = name, categories
        self._parts = [values] if mask is None else [values, mask]
        self.n_rows, self.arrays = values.n_rows, tuple(array for part in self._parts for array in part.arrays)

    def reader(self, start: int, readers: Readers | None = None) -> Ask:
        asks = [part.reader(start, readers) for part in self._parts]
        return lambda start, stop: partial(self._decoded, [ask(start, stop) for ask in asks], start)

    def whole(self) -> np.ndarray:
        """All rows of the column, None where they are missing."""
        values, missing = self._values([part.whole() for part in self._parts])
        if missing.any():
            values = values.astype(object)
            values[missing] = None
        return values

    def _values(self, read: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """Values, and a mask of missing ones, from what was read of the parts."""
        if self._categories is None:
            return read[0], read[1].astype(bool)
        (codes,), n_categories = read, len(self._categories)
        missing = (codes < 0) | (codes >= n_categories)
        return self._categories[np.where(missing, 0, codes)] if n_categories else codes, missing

    def _decoded(self, pending: list[Callable[[], np.ndarray]], start: int) -> np.ndarray:
        values, missing = self._values([wait() for wait in pending])
        if missing.any():
            row, labels = start + int(np.argmax(missing)), self._name != "sample_weight"
            what, cure = ("label or category", ", or give them a label of their own") if labels else ("value", "")
            raise ValueError(f"{self._name} has a missing {what} at row {row}; drop those rows{cure}")
        return values


def _masked_in_zarr(group: zarr.Group, name: str, categorical: bool) -> MaskedColumn:
    names = ("codes", "categories") if categorical else ("values", "mask")
    parts = [member_of(group, part) for part in names]
    if isinstance(parts[1], zarr.Group):  # categories as pandas 3 has strings
        parts[1] = member_of(parts[1], "values")
    where = f"{name}: group {group.path!r} in {group.store}"
    if not all(isinstance(part, zarr.Array) and part.ndim == 1 for part in parts):
        raise DataError(f"{where} lacks the 1-D arrays {names[0]!r} and {names[1]!r}")
    first, second = parts
    if categorical and first.dtype.kind not in "iu":
        raise DataError(f"{where}: array 'codes' has dtype {first.dtype}; it should hold integers")
    first = check_filled(first, name)
    if categorical:  # not the mask, of which most chunks are empty
        second = check_filled(second, name)
    if not categorical and (second.shape != first.shape or second.dtype.kind != "b"):
        raise DataError(f"{where}: array 'mask' should hold a bool for each of the {first.shape[0]} values")
    if not categorical:
        return MaskedColumn(name, in_array(first), in_array(second))
    column = MaskedColumn(name, in_array(first), categories=whole(second))
    column.arrays = first, second
    return column


def check_column_shape(column: Any, name: str) -> None:
    """Refuse a matrix of anything but labels."""
    if column.ndim != 1 and not (column.ndim == 2 and name == "y"):
        raise ValueError(f"{name} should be a 1d array, got an array of shape {column.shape} instead.")


def in_zarr(column: Any, name: str) -> Any:
    """Labels or weights in a Zarr array or a group of AnnData's layout: a column with `n_rows` and `reader`."""
    if isinstance(column, zarr.Group):
        kind = str(column.attrs.get("encoding-type"))
        if kind == "csr_matrix" and name in LABELS:
            return _indicator(open_csr(column))
        if kind != "categorical" and not kind.startswith("nullable-"):
            raise ValueError(f"{name}: group {column.path!r} of encoding-type {kind!r} is not a column of labels")
        return _masked_in_zarr(column, name, kind == "categorical")
    check_column_shape(column, name)
    return in_array(check_filled(check_layout(column), name))


def known_classes(y: Any, group: Any, n_rows: int | None) -> tuple[int | None, int]:
    """The number of classes, None if it takes a read to know, and the largest number of labels of an indicator row."""
    y = _beside(y, "y", group)
    y = y.whole() if isinstance(y, Column) else y
    if isinstance(y, zarr.Group) and y.attrs.get("encoding-type") == "csr_matrix":
        indicator = open_csr(y)
        return indicator.shape[1], min(indicator.shape[1], indicator.data.shape[0])
    if y is None or isinstance(y, zarr.Array | zarr.Group) or is_dask(y):
        return None, 0
    labels: Any = row_checks.check_y(y)
    if n_rows is not None:
        row_checks.check_lengths(n_rows, labels.shape[0])
    if sp.issparse(labels):
        return labels.shape[1], int(np.diff(labels.indptr).max(initial=0))
    return len(np.unique(labels)), 0


def whole(array: zarr.Array) -> np.ndarray:
    """Read a whole array into memory."""
    return Cursor(array).take(array.shape[0])


def open_columns(
    y: Any, weight: Any, n_rows: int | None, labelled: Labelled, group: zarr.Group | None = None
) -> RowColumns:
    """Open labels and weights of `n_rows` rows (None if unknown); a string names an array beside X."""
    given = {name: column for name, column in (("y", y), ("sample_weight", weight)) if column is not None}
    return RowColumns(ColumnsByName({}), labelled).with_columns(given, {}, labelled == TARGETS, n_rows, group)


def y_check(labelled: Labelled) -> Callable[..., Any]:
    """The check of y, as labels or as targets."""
    return row_checks.check_targets if labelled == TARGETS else row_checks.check_y


def check_column(
    name: str, values: Any, check_y: Callable[..., Any], n_rows: int | None = None, first_row: int = 0
) -> Any:
    """Check labels, weights or splits in memory; a single weight for all rows needs `n_rows`."""
    if name == "y":
        return check_y(values, first_row=first_row)
    if name == "offset":
        return row_checks.check_offset(values, first_row)
    if name != "sample_weight":
        return row_checks.check_labels(values, name, first_row)
    if isinstance(values, numbers.Real) and n_rows is not None:
        values = np.full(n_rows, values)
    return row_checks.check_weights(values, first_row)


def _opened(name: str, column: Any, n_rows: int | None, group: Any, labelled: Labelled = True) -> Any:
    """A column beside the rows, of any kind, as a `Column`."""
    column = _beside(column, name, group)
    if isinstance(column, zarr.Array | zarr.Group):
        part = in_zarr(column, name)
    elif isinstance(column, Column):  # of a file, read along with the rows
        part = column
    else:
        part = InMemory(check_column(name, computed(column), y_check(labelled), n_rows))
    if n_rows is not None:
        row_checks.check_lengths(n_rows, part.n_rows, name)
    return part


def _beside(path: Any, name: str, group: Any) -> Any:
    """The column that a string names in the group of X; anything else unchanged."""
    if not isinstance(path, str):
        return path
    if group is None:
        raise ValueError(
            f"{name}={path!r} names an array beside X, but X is not in a Zarr group, and no table with such "
            "a column; pass the array (names of columns are for tables, such as a data frame, and for streams of them)"
        )
    if hasattr(group, "column"):
        return group.column(path, name)
    member = member_of(group, path)
    if member is None:
        obs = path.partition("/")[0] if path.startswith("obs/") else ""
        inside: Any = group.get(obs) if obs else None
        if inside is not None:
            columns = ", ".join(sorted(inside.keys()))
            raise ValueError(f"{name}={path!r} is not in group {obs!r} of X, which has the columns: {columns}")
        names = ", ".join(sorted(group.array_keys())) or "none"
        raise ValueError(f"{name}={path!r} is not in group {group.path or '/'!r} of X, which has the arrays: {names}")
    return member


def whole_column(column: Any, name: str, group: Any = None) -> np.ndarray:
    """Read a whole column into memory: an array, a lazy array, or the name of an array in the group."""
    column = _beside(column, name, group)
    if isinstance(column, zarr.Array | zarr.Group):
        column = in_zarr(column, name)
    return column.whole() if isinstance(column, Column) else np.asarray(computed(column))
