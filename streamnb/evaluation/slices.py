"""Slices of judged rows by the values of columns, and an evaluation of each, a tally that merges."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import copy
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Self

import numpy as np

from streamnb.core import arguments, memory, persistence, row_checks
from streamnb.core.frames import plain_column
from streamnb.evaluation.tallies import BUCKET_BINS, BUCKETS, CELLS, LEAST_SAMPLED, joined_rows, some_of
from streamnb.rows.boundary import computed, dask_array, is_dask
from streamnb.rows.source import Source

MOST_SLICES = 500  # of all columns together
MOST_BINS = 10  # of numbers; as many distinct ones are slices each
MIN_ROWS = 100  # of a slice of its own in the table of slices
EXACT_ROWS, N_BINS = 1000, 1024  # of the rankings of a slice, at most
TABLE_CLASSES = 20  # up to so many, a slice has a confusion matrix
WAITING = 1 << 24  # bytes of rows that are added together
LEVEL = 0.95  # confidence of intervals of slices, where none is asked for
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
        known, missing = _known(name, column)
        more = (None,) if missing.any() else ()
        # NumPy would sort all strings
        distinct = np.array(sorted({*known.tolist()})) if known.dtype.kind == "U" else np.unique(known)
        if distinct.dtype.kind not in "iuf" or len(distinct) <= MOST_BINS:
            if len(distinct) > MOST_SLICES:
                raise ValueError(
                    f"by={name!r} has {len(distinct):,} values, and there may be {MOST_SLICES} slices; join values "
                    "that belong together, such as by their first letters, or slice by another column"
                )
            return cls(name, (*distinct.tolist(), *more))
        deciles = np.quantile(known, np.arange(1, MOST_BINS) / MOST_BINS, method="inverted_cdf")
        edges = np.unique(deciles[deciles < distinct[-1]]).astype(np.float64)
        if not len(edges):
            edges = distinct[-2:-1].astype(np.float64)
        names = _whole_names(edges) if (known == np.floor(known)).all() else _names(edges)
        return cls(name, (*names, *more), tuple(edges.tolist()))

    def numbers(self, column: np.ndarray) -> np.ndarray:
        """The number of the slice of each row, (n_rows,) int16."""
        known, missing = _known(self.name, column)
        at: Any
        if self.edges is not None:
            at = np.searchsorted(self.edges, known)
        else:
            number_of = {value: number for number, value in enumerate(self.values)}
            texts = any(isinstance(value, str) for value in self.values)  # a block of mixed values may lack them
            at = [number_of[str(value) if texts else value] for value in known.tolist()]
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
        missing, column = np.asarray(column.isna()), np.asarray(plain_column(column))
    else:
        column = arguments.as_array(f"by={name!r}", column)
        missing = np.zeros(column.shape, bool)
    if column.ndim != 1:
        raise ValueError(f"by={name!r} has shape {column.shape}; it should be one value a row")
    if column.dtype.kind == "O":
        missing = missing | np.fromiter(map(row_checks.is_missing, column), bool, len(column))
    elif column.dtype.kind == "f":
        missing = missing | np.isnan(column)
    known = column[~missing]
    if known.dtype.kind in "OTS":
        known = np.array(known.tolist()) if len(known) else np.zeros(0, str)
    if known.dtype.kind not in "biufU":
        raise TypeError(
            f"by={name!r} holds values of dtype {column.dtype}; it should be strings, numbers or bools (of dates: such "
            "as the year or the month)"
        )
    return known, missing


def _names(edges: np.ndarray) -> list[str]:
    """The names of bins."""
    ends = [f"{edge:g}" for edge in edges.tolist()]
    if len({*ends}) < len(ends):
        ends = list(map(repr, edges.tolist()))
    return [f"(-inf, {ends[0]}]", *(f"({a}, {b}]" for a, b in pairwise(ends)), f"({ends[-1]}, inf)"]


def _whole_names(edges: np.ndarray) -> list[str]:
    """The names of bins of whole numbers: "up to 30", "31 to 37" and so on."""
    ends = [int(edge) for edge in edges.tolist()]
    between = [str(high) if high == low + 1 else f"{low + 1} to {high}" for low, high in pairwise(ends)]
    return [f"up to {ends[0]}", *between, f"from {ends[-1] + 1}"]


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
            number_of = columns[-1].numbers
            if is_dask(values):  # block by block
                numbers.append(dask_array(values).map_blocks(number_of, dtype=np.int16, meta=np.zeros(0, np.int16)))
            else:
                numbers.append(number_of(whole))
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


# ---- evaluations of slices -------------------------------------------------------------------------------------------


def form_of_slice(form: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of the evaluation of a slice, which is smaller than that of all rows."""
    needs = {*form["needs"]} - {"pairs", "confused"}
    if form["n_classes"] > TABLE_CLASSES:
        needs -= {"confusion"}
    if "ranking" in needs:
        needs -= {"margin"}
    if {"confusion", "confused"} & {*form["needs"]}:
        needs |= {"hits"}
    sizes = {"exact_rows": min(form["exact_rows"], EXACT_ROWS), "n_bins": min(form["n_bins"], N_BINS)}
    level = LEVEL if form["interval"] is None else form["interval"]
    return {**form, **sizes, "needs": sorted(needs), "interval": level}


def check_memory(n_slices: int, form: dict[str, Any]) -> None:
    """Refuse slices whose tallies do not fit into memory, by an estimate from their form."""
    K = form["n_classes"]
    columns = K
    if K == 2 and not form["multilabel"]:
        columns = 1
    n_bytes = 0
    if {"ranking", "margin"} & {*form["needs"]}:
        n_bytes = columns * (8 * form["exact_rows"] + 8 * form["n_bins"])
    n_bytes += 8 * columns * LEAST_SAMPLED + (8 * K**2 if "confusion" in form["needs"] else 0)
    if form["grouped"]:
        n_bytes += 4 * min(CELLS, 2 * columns * BUCKETS * BUCKET_BINS[1]) + 24 * BUCKETS * K
    memory.check(f"tallies of {n_slices} slices", n_slices * n_bytes, None, "slice by columns of fewer values")


class Slices:
    """Evaluations of the rows of each slice; a tally that merges.

    Parameters
    ----------
    slicing : Slicing
    empty : Evaluation
        Of the rows of a slice, without rows.
    """

    def __init__(self, slicing: Slicing, empty: Any):
        self.slicing, self._empty = slicing, empty
        self._of: list[dict[Label, Any]] = [{} for _ in slicing.columns]
        self._waiting: list[tuple[Any, np.ndarray]] = []  # blocks may have few rows of each slice

    def add(self, rows: Any, numbers: np.ndarray) -> None:
        """Add rows, such as `Rows`, with the number of their slice in each column, (n, columns)."""
        self._waiting.append((rows, numbers))
        if memory.bytes_of([rows for rows, _ in self._waiting]) > WAITING:
            self._add_waiting()

    def _add_waiting(self) -> None:
        """Add the rows that wait to their slices."""
        waiting, self._waiting = [part for part in self._waiting if len(part[1])], []
        if not waiting:
            return
        numbers = [numbers for _, numbers in waiting]
        rows = joined_rows([rows for rows, _ in waiting])
        by_column = np.concatenate(numbers).T
        for column, evaluations, of_rows in zip(self.slicing.columns, self._of, by_column, strict=True):
            order = np.argsort(of_rows, kind="stable")
            present, first = np.unique(of_rows[order], return_index=True)
            for number, in_slice in zip(present.tolist(), np.split(order, first[1:]), strict=True):
                value = column.values[number]
                if value not in evaluations:
                    evaluations[value] = self._empty.begun()
                evaluations[value].add_rows(some_of(rows, in_slice))

    def each(self) -> Iterator[tuple[SliceColumn, dict[Label, Any]]]:
        """Each column with the evaluations of its slices that have rows, in order."""
        self._add_waiting()
        for column, evaluations in zip(self.slicing.columns, self._of, strict=True):
            yield column, {value: evaluations[value] for value in column.values if value in evaluations}

    def __add__(self, other: Slices) -> Slices:
        self._add_waiting()
        other._add_waiting()
        total = copy(self)
        total.slicing, total._of = self.slicing + other.slicing, [{} for _ in self._of]
        for mine, theirs, both in zip(self._of, other._of, total._of, strict=True):
            for value in {**mine, **theirs}:
                a, b = (part.get(value) or self._empty.begun() for part in (mine, theirs))
                both[value] = a + b  # a new one, even where one of them has no rows
        return total

    def arrays(self) -> list[list[Any]]:
        """As of `Mergeable`."""
        return [[list(evaluations), list(evaluations.values())] for _, evaluations in self.each()]

    def of_arrays(self, arrays: list[list[Any]]) -> Slices:
        """As of `Mergeable`."""
        found = Slices(self.slicing, self._empty)
        for column, evaluations, (values, parts) in zip(self.slicing.columns, found._of, arrays, strict=True):
            if not {*values} <= {*column.values}:
                raise ValueError(f"there are slices that are no values of {column.name!r}")
            for value, part in zip(values, parts, strict=True):
                self._empty + part  # refuses one that was made otherwise
                evaluations[value] = part
        return found
