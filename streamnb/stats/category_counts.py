"""How often each value of each column occurs in each class and fold: sorted lists of values, which merge."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from streamnb.core import persistence, row_checks
from streamnb.rows.boundary import csr_chunk
from streamnb.stats.accumulating import Accumulator
from streamnb.stats.class_stats import ClassStats
from streamnb.stats.sparse_tables import SparseTable
from streamnb.stats.tables import Table


@persistence.register
@dataclass(frozen=True, slots=True, eq=False)
class CategoryCounts:
    """Weight of each value of each column in each class and fold; values that merge and subtract.

    Attributes
    ----------
    values : tuple of (n_values,) float64
        Of each column, sorted, NaN last.
    sums : ClassStats
        Its features are the values, column by column, and its tables are sparse.
    """

    values: tuple[np.ndarray, ...]
    sums: ClassStats

    @property
    def nbytes(self) -> int:
        return sum(each.nbytes for each in self.values) + self.sums.nbytes

    @property
    def starts(self) -> np.ndarray:
        """(n_columns + 1,): where the values of each column begin, and the number of all."""
        return np.concatenate([[0], np.cumsum([len(each) for each in self.values], dtype=np.int64)])

    def __add__(self, other: "CategoryCounts") -> "CategoryCounts":
        if not self.values or not other.values:  # of no rows
            return self if self.values else other
        values = self._joined(other)
        return CategoryCounts(values, self._laid_out(values) + other._laid_out(values))

    def __sub__(self, other: "CategoryCounts") -> "CategoryCounts":
        if not other.values:
            return self
        values = self._joined(other)
        return CategoryCounts(values, self._laid_out(values) - other._laid_out(values))

    def __mul__(self, gamma: float) -> "CategoryCounts":
        return replace(self, sums=self.sums * gamma)

    def _joined(self, other: "CategoryCounts") -> tuple[np.ndarray, ...]:
        row_checks.check_n_features(len(other.values), len(self.values), "the counts")
        return tuple(np.union1d(a, b) for a, b in zip(self.values, other.values, strict=True))

    def _laid_out(self, values: tuple[np.ndarray, ...]) -> ClassStats:
        """The sums with columns for longer lists of values."""
        start, columns = 0, []
        for own, every in zip(self.values, values, strict=True):
            columns.append(start + np.searchsorted(every, own))
            start += len(every)
        return _moved(self.sums, np.concatenate(columns), start)

    def arrays(self) -> dict[str, Any]:
        """All of it by name."""
        n_values = np.array([len(each) for each in self.values], np.int64)
        return {"n_values": n_values, "values": np.concatenate([np.zeros(0), *self.values]), "sums": self.sums}

    to_state = arrays

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> "CategoryCounts":
        n_values = persistence.array("n_values", state["n_values"], ["i8"], (None,))
        joined, sums = persistence.array("values", state["values"], ["f8"], (None,)), state["sums"]
        if not isinstance(sums, ClassStats) or (n_values < 0).any() or len(joined) != n_values.sum():
            raise ValueError("counts of categories lack their sums, or have other values than they say")
        values = tuple(np.split(joined, np.cumsum(n_values)[:-1])) if len(n_values) else ()
        if sums.n_features != len(joined) or any((np.diff(each[~np.isnan(each)]) <= 0).any() for each in values):
            raise ValueError("the values of each column should rise, and have sums")
        if not all(np.array_equal(fold.classes, sums.classes) for fold in sums.folds):
            raise ValueError("the counts of folds should be of the same classes")
        return cls(values, sums)


def _moved(sums: ClassStats, columns: np.ndarray, width: int) -> ClassStats:
    table = _sparse(sums.table("sum"))
    tables = {**sums.tables, "sum": table.moved(columns[table.columns_of()], width)}
    folds = tuple(_moved(fold, columns, width) for fold in sums.folds)
    return replace(sums, tables=tables, n_features=width, folds=folds)


def _sparse(table: Any) -> SparseTable:
    return SparseTable.of(table) if isinstance(table, Table) else table


class CountingCategories:
    """Counts while blocks of rows come; of two about as large one is made, so that each is moved few times.

    `new` makes an accumulator of class sums.
    """

    def __init__(self, new: Callable[[], Accumulator]):
        self._new = new
        self._runs: list[CategoryCounts] = []

    @property
    def nbytes(self) -> int:
        return sum(run.nbytes for run in self._runs)

    def add(self, X: np.ndarray, first_row: int, y: Any, weight: np.ndarray | None, split: np.ndarray | None) -> None:
        """Add a block of rows; X (n_rows, n_columns) float64, NaN for what is missing."""
        if not len(X):
            return
        found = [np.unique(column, return_inverse=True) for column in X.T]
        values = tuple(each for each, _ in found)
        starts = np.cumsum([0, *map(len, values)])
        indices = np.stack([start + at for start, (_, at) in zip(starts, found, strict=False)], axis=1)
        indptr = np.arange(len(X) + 1, dtype=np.int64) * X.shape[1]
        sums = self._new()
        sums.add(*csr_chunk(None, indices.reshape(-1), indptr, int(starts[-1]), first_row), y, weight, split)
        counts = CategoryCounts(values, sums.finish())
        while self._runs and self._runs[-1].starts[-1] < 2 * counts.starts[-1]:
            counts = self._runs.pop() + counts
        self._runs.append(counts)

    def finish(self) -> CategoryCounts:
        return reduce(add, self._runs) if self._runs else CategoryCounts((), self._new().finish())
