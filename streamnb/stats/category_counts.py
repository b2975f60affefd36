"""Counts of each value of each column by class and fold: sorted lists that merge."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from streamnb.core import memory, persistence, row_checks
from streamnb.kernels import category_sums
from streamnb.rows.boundary import csr_chunk
from streamnb.rows.preparing import RowOptions
from streamnb.rows.splits import Folding
from streamnb.stats.accumulating import Accumulator
from streamnb.stats.category_tables import GroupTables
from streamnb.stats.class_stats import ClassStats
from streamnb.stats.dense_tables import Table
from streamnb.stats.sparse_tables import SparseTable

FULL = 1 << 28  # bytes of the growing tables at which they become a run
WIDER = 2  # most times the columns that a dense sum may have, so that few of its cells are 0


@persistence.register
@dataclass(frozen=True, slots=True, eq=False)
class CategoryCounts:
    """Weight of each value of each column in each class and fold; such counts merge and subtract.

    Attributes
    ----------
    values : tuple of (n_values,) float64
        The values of each column, sorted, NaN last.
    sums : ClassStats
        Statistics whose features are the values, column by column; tables are sparse if few cells are nonzero.
    """

    values: tuple[np.ndarray, ...]
    sums: ClassStats

    @property
    def nbytes(self) -> int:
        return sum(each.nbytes for each in self.values) + self.sums.nbytes

    @property
    def starts(self) -> np.ndarray:
        """Offsets of the values of each column, (n_columns + 1,); the last is the number of all values."""
        return np.concatenate([[0], np.cumsum([len(each) for each in self.values], dtype=np.int64)])

    def __add__(self, other: "CategoryCounts") -> "CategoryCounts":
        if not self.values or not other.values:  # of no rows
            return self if self.values else other
        values, mine, theirs = self._joined(other)
        width = sum(map(len, values))
        sides = (self.sums, _columns(values, mine)), (other.sums, _columns(values, theirs))
        joint = _joint(_bare(self.sums) + _bare(other.sums), sides, width)
        if joint is None:
            a, b = (_moved(*side, width) for side in sides)
            joint = a + b
        return CategoryCounts(values, joint)

    def __sub__(self, other: "CategoryCounts") -> "CategoryCounts":
        if not other.values:
            return self
        values, mine, theirs = self._joined(other)
        width = sum(map(len, values))
        left = _moved(self.sums, _columns(values, mine), width) - _moved(other.sums, _columns(values, theirs), width)
        return CategoryCounts(values, left)

    def __mul__(self, gamma: float) -> "CategoryCounts":
        return replace(self, sums=self.sums * gamma)

    def _joined(self, other: "CategoryCounts") -> Iterator[tuple[np.ndarray, ...]]:
        """Return the union of the values of each column, and where the values of each operand are in it."""
        row_checks.check_n_features(len(other.values), len(self.values), "the counts")
        return zip(*map(_merged, self.values, other.values), strict=True)

    def arrays(self) -> dict[str, Any]:
        """Return all content as named arrays."""
        n_values = np.array([len(each) for each in self.values], np.int64)
        return {"n_values": n_values, "values": np.concatenate([np.zeros(0), *self.values]), "sums": self.sums}

    _to_state = arrays

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> "CategoryCounts":
        form = {"n_values": "i8[n_columns]", "values": "f8[n_values]", "sums": ClassStats}
        n_values, joined, sums = persistence.parts(cls, state, **form)
        if (n_values < 0).any() or len(joined) != n_values.sum():
            raise ValueError("counts of categories have other values than they say")
        values = tuple(np.split(joined, np.cumsum(n_values)[:-1])) if len(n_values) else ()
        if sums.n_features != len(joined) or any((np.diff(each[~np.isnan(each)]) <= 0).any() for each in values):
            raise ValueError("the values of each column should rise, and have sums")
        if not all(np.array_equal(fold.classes, sums.classes) for fold in sums.folds):
            raise ValueError("the counts of folds should be of the same classes")
        return cls(values, sums)


def _merged(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Merge two sorted lists; also return where the values of each are."""
    values, at_a, at_b = np.empty(len(a) + len(b)), np.empty(len(a), np.int64), np.empty(len(b), np.int64)
    return values[: category_sums.merge_values(a, b, at_a, at_b, values)], at_a, at_b


def _columns(values: Sequence[np.ndarray], places: Sequence[np.ndarray]) -> np.ndarray:
    """Turn places among the values of each column into columns of all values."""
    starts = np.cumsum([0, *map(len, values)])
    return np.concatenate([start + at for start, at in zip(starts, places, strict=False)])


def _moved(sums: ClassStats, columns: np.ndarray, width: int) -> ClassStats:
    """Move the features of the sums to other, ascending columns of a table `width` columns wide."""
    table = sums.table("sum")
    cells = SparseTable.of(table) if isinstance(table, Table) else table
    tables = {**sums.tables, "sum": cells.moved(columns[cells.columns_of()], width)}
    folds = tuple(_moved(fold, columns, width) for fold in sums.folds)
    return replace(sums, tables=tables, n_features=width, folds=folds)


def _bare(stats: ClassStats) -> ClassStats:
    """Return the statistics without features."""
    tables = {"weight": stats.tables["weight"]}
    return replace(stats, tables=tables, n_features=0, folds=tuple(map(_bare, stats.folds)))


def _joint(bare: ClassStats, sides: Sequence[tuple[ClassStats, np.ndarray]], width: int) -> ClassStats | None:
    """Put the tables of both operands into `bare`, their sum without features; None where they are not plain float64.

    Each table is added in one pass, without sorting.
    """
    hi = np.zeros((len(bare.classes), width))
    for stats, columns in sides:
        table = stats.table("sum")
        plain = isinstance(table, Table) and table.lo is None and width <= WIDER * table.shape[1]
        if not (plain and np.array_equal(stats.classes, bare.classes)):
            return None
        if not category_sums.add_columns(np.ascontiguousarray(table.hi), columns, hi):  # which rounds
            return None
    folds = []
    for k, fold in enumerate(bare.folds):
        joint = _joint(fold, [(stats.folds[k], columns) for stats, columns in sides], width)
        if joint is None:
            return None
        folds.append(joint)
    return replace(bare, tables={**bare.tables, "sum": Table(hi)}, n_features=width, folds=tuple(folds))


class CountingCategories:
    """Accumulates counts block by block: whole weights in growing tables, other weights in sorted runs of cells.

    Two runs of similar size are merged into one, so that each cell is moved only a few times.

    Parameters
    ----------
    classes : labels, or None for an open set
    folding : Folding
    memory_limit : int, optional
    """

    def __init__(self, classes: np.ndarray | None, folding: Folding, memory_limit: int | None = None):
        self._of_groups = classes, folding
        self._limit = memory.allowed(memory_limit)
        self._tables = GroupTables(classes, folding)
        self._runs: list[CategoryCounts] = []

    @property
    def nbytes(self) -> int:
        return self._tables.nbytes + sum(run.nbytes for run in self._runs)

    def add(self, X: np.ndarray, first_row: int, y: Any, weight: np.ndarray | None, split: np.ndarray | None) -> None:
        """Add a block of rows; X (n_rows, n_columns) float64, NaN for what is missing."""
        if not len(X):
            return
        classes, folding = self._of_groups
        if weight is None or (weight == np.floor(weight)).all():
            if not self._tables.fits(len(X), weight):
                self._keep_tables()
            self._tables.add(X, first_row, y, weight, folding.numbers(first_row, len(X), split, 0))
            if self._tables.nbytes > FULL:
                self._keep_tables()
        else:
            sums = Accumulator(("sum",), RowOptions(), classes, folding, sparse=True)
            self._keep(_counted(X, first_row, y, weight, split, sums))
        if self.nbytes > self._limit:
            cure = "give a larger memory_limit, or hash_bits=20 or so, which bounds the number of values"
            memory.refuse("the counts of the values of all columns", self.nbytes, self._limit, cure)

    def _keep_tables(self) -> None:
        """Turn the tables into a run and start new tables."""
        tables, self._tables = self._tables, GroupTables(*self._of_groups)
        if tables.n_rows:
            self._keep(CategoryCounts(*tables.counts()))

    def _keep(self, counts: CategoryCounts) -> None:
        while self._runs and self._runs[-1].starts[-1] < 2 * counts.starts[-1]:
            counts = self._runs.pop() + counts
        self._runs.append(counts)

    def finish(self) -> CategoryCounts:
        self._keep_tables()
        none = Accumulator(("sum",), RowOptions(), *self._of_groups, sparse=True)
        return reduce(add, self._runs) if self._runs else CategoryCounts((), none.finish())


def _counted(
    X: np.ndarray, first_row: int, y: Any, weight: np.ndarray, split: np.ndarray | None, sums: Accumulator
) -> CategoryCounts:
    """Return the sorted counts of one block of rows whose weights are not whole numbers."""
    found = [np.unique(column, return_inverse=True) for column in X.T]
    values = tuple(each for each, _ in found)
    starts = np.cumsum([0, *map(len, values)])
    indices = np.stack([start + at for start, (_, at) in zip(starts, found, strict=False)], axis=1)
    indptr = np.arange(len(X) + 1, dtype=np.int64) * X.shape[1]
    sums.add(*csr_chunk(None, indices.reshape(-1), indptr, int(starts[-1]), first_row), y, weight, split)
    return CategoryCounts(values, sums.finish())
