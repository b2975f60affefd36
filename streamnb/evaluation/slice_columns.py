"""The columns by which judged rows are sliced, and the slice of each row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Self

import numpy as np

from streamnb.core import arguments, label_checks, persistence, row_checks
from streamnb.rows.matrices import computed, dask_array, is_dask
from streamnb.rows.source import Source

MOST_SLICES = 500  # of all columns together
MOST_BINS = 10  # of numbers; as many distinct ones are slices each
MIN_ROWS = 100  # of a slice of its own in the table of slices
Label = str | int | float | bool | None


@persistence.register
@dataclass(frozen=True)
class SliceColumn(persistence.Parameters):
    """A column whose values are slices.

    Attributes
    ----------
    name : str
    values : tuple
        Of the slices, in order: strings, numbers or bools, None last for missing values; or the names of bins.
    edges : tuple of float, optional
        Of bins, whose upper edge belongs to them: values up to the first, from there up to the second, and so on.
    """

    name: str
    values: tuple[Label, ...]
    edges: tuple[float, ...] | None = None

    @classmethod
    def of(cls, name: str, column: np.ndarray) -> Self:
        """The slices of all values of a column: of numbers up to 10 distinct ones, or bins by deciles."""
        found, missing = _known(name, column)
        more = (None,) if missing.any() else ()
        # NumPy would sort all strings
        distinct = np.array(sorted({*found.tolist()})) if found.dtype.kind == "U" else np.unique(found)
        if distinct.dtype.kind not in "iuf" or len(distinct) <= MOST_BINS:
            if len(distinct) > MOST_SLICES:
                raise ValueError(
                    f"by={name!r} has {len(distinct):,} values, and there may be {MOST_SLICES} slices; join values "
                    "that belong together, such as by their first letters, or slice by another column"
                )
            return cls(name, (*distinct.tolist(), *more))
        deciles = np.quantile(found, np.arange(1, MOST_BINS) / MOST_BINS, method="inverted_cdf")
        edges = np.unique(deciles[deciles < distinct[-1]]).astype(np.float64)
        edges = edges if len(edges) else distinct[-2:-1].astype(np.float64)
        return cls(name, (*_names(edges), *more), tuple(edges.tolist()))

    def numbers(self, column: np.ndarray) -> np.ndarray:
        """The number of the slice of each row, (n_rows,) int16."""
        found, missing = _known(self.name, column)
        at: Any
        if self.edges is not None:
            at = np.searchsorted(self.edges, found)
        else:
            number_of = {value: number for number, value in enumerate(self.values)}
            texts = any(isinstance(value, str) for value in self.values)  # a block of mixed values may lack them
            at = [number_of[str(value) if texts else value] for value in found.tolist()]
        numbers = np.full(len(missing), len(self.values) - 1, np.int16)
        numbers[~missing] = at
        return numbers

    def __add__(self, other: SliceColumn) -> SliceColumn:
        """The slices of both."""
        if self.name != other.name or self.edges != other.edges:
            raise ValueError(
                f"slices merge if they are by the same columns, with the same bins; by={self.name!r} and "
                f"by={other.name!r} are not: give bins of your own as strings"
            )
        both = {*self.values, *other.values}
        last = (None,) if None in both else ()
        if self.edges is not None:
            return replace(self, values=(*(value for value in self.values if value is not None), *last))
        in_order = sorted(both - {None}, key=lambda value: (isinstance(value, str), value))
        return replace(self, values=(*in_order, *last))


def _known(name: str, column: Any) -> tuple[np.ndarray, np.ndarray]:
    """The values of a column that are not missing, and which rows lack one."""
    if isinstance(column, np.ma.MaskedArray):
        missing, column = np.ma.getmaskarray(column), column.data
    elif hasattr(column, "isna"):  # pandas
        missing, column = np.asarray(column.isna()), np.asarray(column)
    else:
        column = arguments.as_array(f"by={name!r}", column)
        missing = np.zeros(column.shape, bool)
    if column.ndim != 1:
        raise ValueError(f"by={name!r} has shape {column.shape}; it should be one value a row")
    if column.dtype.kind == "O":
        missing = missing | np.fromiter(map(label_checks.is_missing, column), bool, len(column))
    elif column.dtype.kind == "f":
        missing = missing | np.isnan(column)
    found = column[~missing]
    if found.dtype.kind in "OTS":
        found = np.array(found.tolist()) if len(found) else np.zeros(0, str)
    if found.dtype.kind not in "biufU":
        raise TypeError(
            f"by={name!r} holds values of dtype {column.dtype}; it should be strings, numbers or bools (of dates: such "
            "as the year or the month)"
        )
    return found, missing


def _names(edges: np.ndarray) -> list[str]:
    """The names of bins."""
    ends = [f"{edge:g}" for edge in edges.tolist()]
    if len({*ends}) < len(ends):
        ends = list(map(repr, edges.tolist()))
    return [f"(-inf, {ends[0]}]", *(f"({a}, {b}]" for a, b in pairwise(ends)), f"({ends[-1]}, inf)"]


@persistence.register
@dataclass(frozen=True)
class Slicing(persistence.Parameters):
    """The columns by which rows are sliced, and the rows that a slice needs to be shown for itself."""

    columns: tuple[SliceColumn, ...]
    min_rows: int = MIN_ROWS

    @property
    def n_slices(self) -> int:
        return sum(len(column.values) for column in self.columns)

    @property
    def fields(self) -> list[str]:
        """Names under which the numbers of slices are read beside the rows."""
        return [f"by={column.name!r}" for column in self.columns]

    def taken(self, columns: Any, n_rows: int) -> np.ndarray:
        """The numbers of slices of some rows, (n_rows, columns), from columns by name or records."""
        numbers = np.empty((n_rows, len(self.columns)), np.int16)
        by_name = isinstance(columns, dict) or columns.dtype.names is not None
        for j, field in enumerate(self.fields):
            numbers[:, j] = columns[field] if by_name else columns
        return numbers

    @classmethod
    def of(cls, given: Mapping[str, Any], rows: Source, min_rows: Any) -> tuple[Self, dict[str, Any]]:
        """Read the columns, alone, and number the slices; each by name, or by its values.

        Returns
        -------
        Slicing
        dict
            The number of the slice of each row, lazy for columns in Dask, by the names in `fields`.
        """
        min_rows = arguments.positive_integer("min_rows", min_rows)
        columns, numbers = [], []
        for name, values in given.items():
            whole = computed(values) if is_dask(values) else values
            if not hasattr(whole, "isna") and not isinstance(whole, np.ndarray):  # which know what is missing
                whole = rows.whole_column(whole, "by")
            if np.ndim(whole) == 0:
                raise ValueError(f"by={values!r} names a column, and X has none; give a value for each row")
            if rows.n_rows is not None:
                row_checks.check_lengths(rows.n_rows, len(whole), f"by={name!r}")
            columns.append(SliceColumn.of(name, whole))
            numbers.append(_lazy(columns[-1], values) if is_dask(values) else columns[-1].numbers(whole))
        slicing = cls(tuple(columns), min_rows)
        if slicing.n_slices > MOST_SLICES:
            raise ValueError(
                f"by has {slicing.n_slices:,} slices in {len(columns)} columns; there may be {MOST_SLICES}"
            )
        return slicing, dict(zip(slicing.fields, numbers, strict=True))

    def __add__(self, other: Slicing) -> Slicing:
        if len(self.columns) != len(other.columns):
            raise ValueError("slices merge if they are by the same columns, and one is by more than the other")
        return replace(self, columns=tuple(a + b for a, b in zip(self.columns, other.columns, strict=True)))


def _lazy(column: SliceColumn, values: Any) -> Any:
    """The numbers of the slices of a lazy column, block by block."""
    return dask_array(values).map_blocks(column.numbers, dtype=np.int16, meta=np.zeros(0, np.int16))


def given_columns(by: Any, names_beside: bool) -> dict[str, Any]:
    """The columns of the argument `by` under their names, each with its values or the name of a column beside X."""
    if isinstance(by, str):
        by = {by: by}
    elif names_beside and isinstance(by, list | tuple) and by and all(isinstance(one, str) for one in by):
        by = dict(zip(by, by, strict=True))
    elif hasattr(by, "columns"):  # a data frame
        by = {name: by[name] for name in by.columns}
    elif not isinstance(by, Mapping):
        name = getattr(by, "name", None) if hasattr(by, "to_frame") else None  # Dask names its arrays by their content
        by = {str(name or "by"): by}
    for name, values in by.items():
        if not isinstance(name, str):
            raise TypeError(f"by has the key {name!r}; keys should be names of columns, strings")
        if values is None:
            raise ValueError(f"by={{{name!r}: None}} has no values; give one for each row, or leave it out")
        if isinstance(values, str) and not names_beside:
            raise ValueError(
                f"by={values!r} is a name, and there is no X beside which it is; give a value for each row"
            )
    if not by:
        raise ValueError("by is empty; it should be a column, or several by name")
    return dict(by)
