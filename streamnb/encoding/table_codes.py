"""What becomes of the values of a column: indicators of values, hashed ones, bins, numbers as they are, words."""

from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np

from streamnb.core import persistence
from streamnb.encoding.bins import BinEdges
from streamnb.encoding.ngrams import columns_of, hashes_of
from streamnb.rows.table_columns import ColumnPart

NONE = -1  # no indicator


class Code(persistence.Parameters):
    """What becomes of the values of a `ColumnPart`: so many columns of the model, of which a row has one, or none."""

    @property
    def n_columns(self) -> int:
        """Columns that it makes."""
        raise NotImplementedError

    @property
    def kinds(self) -> list[tuple[str, int]]:
        """As of an `Encoding`."""
        return [("categorical", self.n_columns)]

    def places(self, part: ColumnPart, values: Any) -> np.ndarray:
        """The column of each value and, last, of what is missing, (n_values + 1,) int32; -1 for none."""
        raise NotImplementedError

    def names(self, part: ColumnPart) -> list[str]:
        """Of the columns."""
        raise NotImplementedError

    def _to_state(self) -> dict[str, Any]:
        return {one.name: getattr(self, one.name) for one in fields(self)}  # type: ignore[arg-type]


@persistence.register
@dataclass(frozen=True)
class LevelCodes(Code):
    """An indicator of each value that was seen; of those that are rare or new together; of what is missing."""

    values: list[str]
    rare: bool = False
    missing: bool = False

    @property
    def n_columns(self) -> int:
        return len(self.values) + self.rare + self.missing

    @cached_property
    def _known(self) -> dict[str, int]:
        return {value: place for place, value in enumerate(self.values)}

    def places(self, part: ColumnPart, values: Any) -> np.ndarray:
        other = len(self.values) if self.rare else NONE
        get = self._known.get
        found = [get(value, other) for value in values]
        found.append(self.n_columns - 1 if self.missing else NONE)
        return np.array(found, np.int32)

    def names(self, part: ColumnPart) -> list[str]:
        rare = [f"{part.label} is rare"] if self.rare else []
        return [*map(part.named, self.values), *rare, *([part.missing()] if self.missing else [])]


@persistence.register
@dataclass(frozen=True)
class HashedCodes(Code):
    """An indicator of the hash of each value, of columns that have too many of them."""

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
@dataclass(frozen=True, eq=False)
class BinCodes(Code):
    """An indicator of the bin of each number."""

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


@persistence.register
@dataclass(frozen=True)
class PlainNumber(Code):
    """A number as it is, the median where it is missing, and an indicator of that."""

    median: float
    missing: bool = False

    @property
    def n_columns(self) -> int:
        return 1 + self.missing

    @property
    def kinds(self) -> list[tuple[str, int]]:
        return [("gaussian", 1), *([("bernoulli", 1)] if self.missing else [])]

    def filled(self, values: np.ndarray) -> np.ndarray:
        """The number of each value and, last, of what is missing."""
        return np.append(np.where(np.isnan(values), self.median, values), self.median)

    def places(self, part: ColumnPart, values: Any) -> np.ndarray:
        """The indicator of what is missing."""
        gap = 1 if self.missing else NONE
        return np.append(np.where(np.isnan(values), gap, NONE), gap).astype(np.int32)

    def names(self, part: ColumnPart) -> list[str]:
        return [part.label, *([part.missing()] if self.missing else [])]
