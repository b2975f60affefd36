"""Counts of each value of each column by class and fold: sorted lists that merge."""

from collections.abc import Sequence
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
from streamnb.stats.class_stats import ClassStats
from streamnb.stats.grouping import Groups
from streamnb.stats.tables import AnyTable, SparseTable, Table, enlarged

PIECE = 1 << 16  # rows added at once; the tables are enlarged for all of them beforehand
GROWTH = 4  # times the capacity that is needed; pages that are never touched take no memory
NUMBERS = 1 << 27  # most bytes of a table indexed by whole numbers directly
EXACT = 2.0**53  # whole numbers below it add up exactly
FILLED = 8  # a table with fewer than one nonzero cell in so many becomes sparse
FULL = 1 << 28  # bytes of the growing tables at which they become a run


class ValueTable:
    """The values of one column and their sums by group.

    Small whole numbers index the table directly. From the first other value on, values are numbered as they come.
    """

    def __init__(self) -> None:
        self._sums = np.zeros((0, 0))
        self._seen: np.ndarray | None = np.zeros(0, np.uint8)  # which numbers occur; None once values are numbered
        self._values = np.zeros(0, np.uint64)  # the bits of each value, by its number
        self._n_numbered = 0
        self._table = np.zeros((0, 2), np.uint64)
        self._homes = np.empty(category_sums.BATCH, np.int64)

    @property
    def n_values(self) -> int:
        return self._n_numbered if self._seen is None else int(np.count_nonzero(self._seen))

    @property
    def nbytes(self) -> int:
        return self._table.nbytes + 8 * self.n_values * (1 + self._sums.shape[1])  # the rest was never touched

    def add(self, values: np.ndarray, codes: np.ndarray, weight: np.ndarray, n_groups: int) -> None:
        """Add the float64 values of some rows; `weight` is (n_rows,), or empty if each row counts 1."""
        done = 0 if self._seen is None else self._add_numbers(values, codes, weight, n_groups)
        for first in range(done, len(values), PIECE):
            rows = slice(first, first + PIECE)
            bits = values[rows].view(np.uint64)
            self._reserve(self._n_numbered + len(bits), n_groups)
            tables = self._table, self._shift, self._n_numbered, self._values, self._sums, self._homes
            with np.errstate(over="ignore"):  # hashing overflows on purpose, which only interpreted kernels report
                self._n_numbered = category_sums.count_values(bits, codes[rows], weight[rows], *tables)

    def _add_numbers(self, values: np.ndarray, codes: np.ndarray, weight: np.ndarray, n_groups: int) -> int:
        """Add the rows before the first value that is not a small whole number; return their number."""
        assert self._seen is not None
        done, capacity = 0, len(self._seen)
        while done < len(values):
            if capacity > len(self._seen) or n_groups > self._sums.shape[1]:
                self._sums = enlarged(self._sums, (capacity, n_groups))
                self._seen = enlarged(self._seen, (capacity,))
            done = category_sums.count_numbers(values, codes, weight, done, self._sums, self._seen)
            if done < len(values):
                value = float(values[done])
                if not (value >= 0.0 and value == np.floor(value) and 8 * n_groups * value < NUMBERS):
                    self._number(self._seen)
                    break
                capacity = GROWTH * (int(value) + 1)
        return done

    def _number(self, seen: np.ndarray) -> None:
        """Switch to numbered values."""
        numbers = np.flatnonzero(seen)
        self._values, self._n_numbered = numbers.astype(np.float64).view(np.uint64), len(numbers)
        self._sums, self._seen = self._sums[numbers], None

    @property
    def _shift(self) -> np.uint64:
        return np.uint64(65 - len(self._table).bit_length())

    def _reserve(self, n_values: int, n_groups: int) -> None:
        """Enlarge the arrays for so many values, with the table at most three quarters full, and so many groups."""
        if n_values > len(self._values) or n_groups > self._sums.shape[1]:
            capacity = GROWTH * n_values if n_values > len(self._values) else len(self._values)
            self._values, self._sums = enlarged(self._values, (capacity,)), enlarged(self._sums, (capacity, n_groups))
        if 4 * n_values > 3 * len(self._table):
            self._table = np.zeros((1 << (2 * n_values - 1).bit_length(), 2), np.uint64)
            with np.errstate(over="ignore"):
                category_sums.place_values(self._values[: self._n_numbered], self._table, self._shift, self._homes)

    def taken(self, groups: np.ndarray, sums: np.ndarray, start: int) -> np.ndarray:
        """Return the sorted values, NaN last, and write their sums in some groups from column `start` on."""
        if self._seen is not None:
            order = np.flatnonzero(self._seen)
            values = order.astype(np.float64)
        else:
            values = self._values[: self._n_numbered].view(np.float64)
            order = np.argsort(values)
            values = values[order]
        category_sums.lay_out(self._sums, order, groups, sums, start)
        return values


def _compact(table: Table) -> AnyTable:
    few = FILLED * np.count_nonzero(table.hi) < table.hi.size
    return SparseTable.of(table) if few else table


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
    def starts(self) -> np.ndarray:
        """Offsets of the values of each column, (n_columns + 1,); the last is the number of all values."""
        return np.concatenate([[0], np.cumsum([len(each) for each in self.values], dtype=np.int64)])

    def __add__(self, other: "CategoryCounts") -> "CategoryCounts":
        if not self.values or not other.values:  # of no rows
            return self if self.values else other
        values = self._with_those_of(other)
        return CategoryCounts(values, self._sums_of(values) + other._sums_of(values))

    def __sub__(self, other: "CategoryCounts") -> "CategoryCounts":
        if not other.values:
            return self
        values = self._with_those_of(other)
        return CategoryCounts(values, self._sums_of(values) - other._sums_of(values))

    def __mul__(self, gamma: float) -> "CategoryCounts":
        return replace(self, sums=self.sums * gamma)

    def _with_those_of(self, other: "CategoryCounts") -> tuple[np.ndarray, ...]:
        """The values of each column in either."""
        row_checks.check_n_features(len(other.values), len(self.values), "the counts")
        return tuple(map(np.union1d, self.values, other.values))

    def _sums_of(self, values: Sequence[np.ndarray]) -> ClassStats:
        """The sums of these values, which include all that were counted."""
        sources = [np.full(len(each), -1) for each in values]
        for source, each, own, start in zip(sources, values, self.values, self.starts, strict=False):
            source[np.searchsorted(each, own)] = start + np.arange(len(own))
        return self.sums.with_columns(np.concatenate(sources))

    def arrays(self) -> dict[str, Any]:
        """Return all content as named arrays."""
        n_values = np.array([len(each) for each in self.values], np.int64)
        return {"n_values": n_values, "values": np.concatenate([np.zeros(0), *self.values]), "sums": self.sums}

    _to_state = arrays

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> "CategoryCounts":
        form = {"n_values": "i8[n_columns]", "values": "f8[n_values]", "sums": ClassStats}
        n_values, joined, sums = persistence.parts(cls, state, **form)
        values = tuple(persistence.pieces("n_values", joined, n_values))
        if sums.n_features != len(joined) or any((np.diff(each[~np.isnan(each)]) <= 0).any() for each in values):
            raise ValueError("the values of each column should rise, and have sums")
        if not all(np.array_equal(fold.classes, sums.classes) for fold in sums.folds):
            raise ValueError("the counts of folds should be of the same classes")
        return cls(values, sums)


class CountingCategories:
    """Accumulates counts block by block: whole weights in growing tables, other weights in sorted runs of cells.

    Tables become a run before a sum could reach 2^53. Two runs of similar size are merged into one, so that each cell
    is moved only a few times.

    Parameters
    ----------
    classes : labels, or None for an open set
    folding : Folding with one repeat
    memory_limit : int, optional
    """

    def __init__(self, classes: np.ndarray | None, folding: Folding, memory_limit: int | None = None):
        self._classes, self._folding, self._limit = classes, folding, memory.allowed(memory_limit)
        self._runs: list[CategoryCounts] = []
        self._begin_tables()

    def _begin_tables(self) -> None:
        self._groups = Groups(self._classes, self._folding.n_splits)
        self._columns: list[ValueTable] = []
        self._rows = np.zeros(0, np.int64)
        self._most = 0.0  # no sum is larger

    def add(self, X: np.ndarray, first_row: int, y: Any, weight: np.ndarray | None, split: np.ndarray | None) -> None:
        """Add a block of rows; X (n_rows, n_columns) float64, NaN for what is missing."""
        if not len(X):
            return
        if weight is None or (weight == np.floor(weight)).all():
            self._add_to_tables(X, first_row, y, weight, self._folding.numbers(first_row, len(X), split, 0))
            if memory.bytes_of(self._columns) > FULL:
                self._keep_tables()
        else:
            sums = Accumulator(("sum",), RowOptions(), self._classes, self._folding, sparse=True)
            self._keep(_counted(X, first_row, y, weight, split, sums))
        cure = "give a larger memory_limit, or hash_bits=20 or so, which bounds the number of values"
        memory.check("the counts of the values of all columns", self.nbytes, self._limit, cure)

    def _add_to_tables(
        self, X: np.ndarray, first_row: int, y: Any, weight: np.ndarray | None, folds: np.ndarray
    ) -> None:
        """Add rows of whole weights, of which `folds` (n_rows,) has the folds."""
        growth = len(X) * (1.0 if weight is None else float(weight.max()))
        if self._most + growth >= EXACT:
            self._keep_tables()
        self._groups.see(y)
        assert self._groups.codes is not None
        codes = self._groups.codes.entries(y, first_row)[1] * self._groups.n_splits + folds
        n_groups = self._groups.n
        self._rows = np.bincount(codes, minlength=n_groups) + np.pad(self._rows, (0, n_groups - len(self._rows)))
        self._most += growth
        if not self._columns:
            self._columns = [ValueTable() for _ in X.T]
        weight = np.zeros(0) if weight is None else weight.astype(np.float64)
        for column, values in zip(self._columns, X.T, strict=True):
            column.add(np.ascontiguousarray(values), codes, weight, n_groups)

    @property
    def nbytes(self) -> int:
        return memory.bytes_of([self._columns, self._runs])

    def _keep_tables(self) -> None:
        """Turn the tables into a run and start new tables."""
        if self._columns:
            self._keep(self._counts_of_tables())
        self._begin_tables()

    def _counts_of_tables(self) -> CategoryCounts:
        labels, n_splits = self._groups.codes, self._groups.n_splits
        assert labels is not None
        classes, order = labels.sorted()
        groups = self._groups.by_split(order)
        starts = np.cumsum([0, *(column.n_values for column in self._columns)])
        sums = np.empty((len(groups), int(starts[-1])))
        values = [column.taken(groups, sums, start) for column, start in zip(self._columns, starts, strict=False)]
        of_fold = sums.reshape(n_splits, len(classes), -1)
        weight = of_fold[:, :, : starts[1]].sum(axis=2)  # every row has exactly one value of the first column
        rows = self._rows[groups].reshape(n_splits, -1)

        def stats(rows: np.ndarray, weight: np.ndarray, sums: np.ndarray, **more: Any) -> ClassStats:
            tables = {"weight": Table(weight[:, None]), "sum": _compact(Table(sums))}
            return ClassStats(classes, rows, tables, sums.shape[1], options=RowOptions(), closed=labels.closed, **more)

        folds = tuple(map(stats, rows, weight, of_fold))
        whole = rows.sum(axis=0), weight.sum(axis=0), of_fold.sum(axis=0)
        return CategoryCounts(tuple(values), stats(*whole, folds=folds, folding=self._folding))

    def _keep(self, counts: CategoryCounts) -> None:
        while self._runs and self._runs[-1].starts[-1] < 2 * counts.starts[-1]:
            counts = self._runs.pop() + counts
        self._runs.append(counts)

    def finish(self) -> CategoryCounts:
        self._keep_tables()
        if self._runs:
            return reduce(add, self._runs)
        none = Accumulator(("sum",), RowOptions(), self._classes, self._folding, sparse=True)
        return CategoryCounts((), none.finish())


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
