"""Codes of a table's columns: which column of the model each value has."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from streamnb.core import persistence
from streamnb.encoding.bins import BinEdges
from streamnb.encoding.ngrams import columns_of, hashes_of
from streamnb.rows.table_columns import WEEKDAYS, ColumnPart

NONE = -1  # no indicator


@dataclass(frozen=True)
class Code(persistence.Parameters):
    """Encodes the values of a `ColumnPart` as columns of the model, of which each row has at most one."""

    @property
    def n_columns(self) -> int:
        """Number of output columns."""
        raise NotImplementedError

    @property
    def kinds(self) -> list[tuple[str, int]]:
        """As in `Encoding`."""
        return [("categorical", self.n_columns)]

    def places(self, part: ColumnPart, values: Any) -> np.ndarray:
        """The column of each value and, last, of missing values, (n_values + 1,) int32; -1 for none."""
        raise NotImplementedError

    def names(self, part: ColumnPart) -> list[str]:
        """Names of the columns."""
        raise NotImplementedError

    def with_gaps(self, gaps: bool) -> Code:
        """The code with a column for missing values, or without one."""
        return replace(self, missing=gaps)  # type: ignore[call-arg]


@persistence.register
@dataclass(frozen=True)
class LevelCodes(Code):
    """An indicator for each known value, optionally one for rare and new values and one for missing values.

    `new` is the share of values in further rows that are likely to be new, by Good and Turing that of values that one
    row had.
    """

    values: list[str]
    rare: bool = False
    missing: bool = False
    new: float = 0.0

    @property
    def n_columns(self) -> int:
        return len(self.values) + self.rare + self.missing

    @cached_property
    def known(self) -> dict[str, int]:
        """The place of each known value."""
        return {value: place for place, value in enumerate(self.values)}

    def places(self, part: ColumnPart, values: Any) -> np.ndarray:
        other = len(self.values) if self.rare else NONE
        get = self.known.get
        found = [get(value, other) for value in values]
        found.append(self.n_columns - 1 if self.missing else NONE)
        return np.array(found, np.int32)

    def names(self, part: ColumnPart) -> list[str]:
        rare = [f"{part.label} is rare"] if self.rare else []
        return [*map(part.named, self.values), *rare, *([part.missing()] if self.missing else [])]


@persistence.register
@dataclass(frozen=True)
class HashedCodes(Code):
    """An indicator for the hash of each value, in columns of the part's own; of models before `SharedHash`."""

    n_features: int
    missing: bool = False

    @property
    def n_columns(self) -> int:
        return self.n_features + self.missing

    def places(self, part: ColumnPart, values: Any) -> np.ndarray:
        columns, _ = columns_of(hashes_of([part.named(value) for value in values]), self.n_features)
        return np.append(columns, self.n_features if self.missing else NONE).astype(np.int32)

    def names(self, part: ColumnPart) -> list[str]:
        hashed = [f"{part.label}: hash {column}" for column in range(self.n_features)]
        return [*hashed, *([part.missing()] if self.missing else [])]


@persistence.register
@dataclass(frozen=True)
class SharedHash(Code):
    """An indicator for the hash of each value and the part's name, in columns that all parts with this code share."""

    n_features: int
    missing: bool = False

    @property
    def n_columns(self) -> int:
        return self.n_features

    @property
    def kinds(self) -> list[tuple[str, int]]:
        return [("multinomial", self.n_features)]  # rows have one for each part

    def places(self, part: ColumnPart, values: Any) -> np.ndarray:
        named = [part.named(value) for value in values] + [part.missing()]
        columns = columns_of(hashes_of(named), self.n_features)[0].astype(np.int32)
        columns[-1] = columns[-1] if self.missing else NONE
        return columns

    def names(self, part: ColumnPart) -> list[str]:
        return [f"hash {column}" for column in range(self.n_features)]


@persistence.register
@dataclass(frozen=True, eq=False)
class BinCodes(Code):
    """An indicator for the bin of each number."""

    edges: BinEdges  # of one feature

    @property
    def n_columns(self) -> int:
        return self.edges.n_columns

    def places(self, part: ColumnPart, values: Any) -> np.ndarray:
        inner = self.edges.edges[0]
        gap = len(inner) + 1 if self.edges.missing[0] else NONE
        found = np.searchsorted(inner, values)
        if values.dtype.kind == "f":
            found = np.where(np.isnan(values), gap, found)
        return np.append(found, gap).astype(np.int32)

    def names(self, part: ColumnPart) -> list[str]:
        return self.edges.names([part.label])

    def with_gaps(self, gaps: bool) -> BinCodes:
        return BinCodes(BinEdges(self.edges.edges, np.array([gaps])))

    def with_gap_of(self, one: OneNumber) -> BinCodes:
        """The code for further rows, too, that all have one number or are all missing."""
        return self.with_gaps(bool(self.edges.missing[0] or np.isnan(one.value)))

    def name_of(self, part: ColumnPart, one: OneNumber) -> str:
        """The name of the column of rows that all have one number or are all missing."""
        return self.names(part)[int(self.places(part, np.array([one.value]))[0])]


@persistence.register
@dataclass(frozen=True)
class PlainNumber(Code):
    """A number, the median if it is missing, and optionally an indicator of missing values."""

    median: float
    missing: bool = False

    @property
    def n_columns(self) -> int:
        return 1 + self.missing

    @property
    def kinds(self) -> list[tuple[str, int]]:
        return [("gaussian", 1), *([("bernoulli", 1)] if self.missing else [])]

    def filled(self, values: np.ndarray) -> np.ndarray:
        """The number for each value and, last, for missing values."""
        return np.append(np.where(np.isnan(values), self.median, values), self.median)

    def places(self, part: ColumnPart, values: Any) -> np.ndarray:
        """The column of the indicator of missing values."""
        gap = 1 if self.missing else NONE
        return np.append(np.where(np.isnan(values), gap, NONE), gap).astype(np.int32)

    def names(self, part: ColumnPart) -> list[str]:
        return [part.label, *([part.missing()] if self.missing else [])]


@persistence.register
@dataclass(frozen=True)
class OneNumber(Code):
    """The number that all rows have, which needs no column."""

    value: float

    @property
    def n_columns(self) -> int:
        return 0

    def names(self, part: ColumnPart) -> list[str]:
        return []

    def with_gaps(self, gaps: bool) -> OneNumber:
        return self


def ordered(part: ColumnPart, values: Iterable[str]) -> list[str]:
    """Values of a category in the order of their columns: numbers first, by size; days of the week as they follow."""
    return sorted(values, key=WEEKDAYS.index if part.date_part == "weekday" else _order)


def _order(value: str) -> tuple[float, str]:
    """A sort key: numbers first, by size."""
    try:
        return float(value), value
    except ValueError:
        return np.inf, value
