"""Growing tables of category counts by class and fold, for whole weights."""

from typing import Any

import numpy as np

from streamnb.kernels import category_sums
from streamnb.rows.preparing import RowOptions
from streamnb.rows.splits import Folding
from streamnb.stats.class_stats import ClassStats
from streamnb.stats.dense_tables import Table, enlarged
from streamnb.stats.grouping import Groups
from streamnb.stats.sparse_tables import AnyTable, SparseTable

PIECE = 1 << 16  # rows added at once; the tables are enlarged for all of them beforehand
GROWTH = 4  # times the capacity that is needed; pages that are never touched take no memory
NUMBERS = 1 << 27  # most bytes of a table indexed by whole numbers directly
EXACT = 2.0**53  # whole numbers below it add up exactly
FILLED = 8  # a table with fewer than one nonzero cell in so many becomes sparse


class GroupTables:
    """Weights of some blocks of rows; all are whole, and no sum reaches 2^53.

    Parameters
    ----------
    classes : labels, or None for an open set
    folding : Folding with one repeat
    """

    def __init__(self, classes: np.ndarray | None, folding: Folding):
        self._groups, self._folding = Groups(classes, folding.n_splits), folding
        self._columns: list[ValueTable] = []
        self._rows = np.zeros(0, np.int64)
        self._most = 0.0

    @property
    def nbytes(self) -> int:
        return sum(column.nbytes for column in self._columns)

    @property
    def n_rows(self) -> int:
        return int(self._rows.sum())

    def fits(self, n_rows: int, weight: np.ndarray | None) -> bool:
        """Return whether sums stay exact when so many rows are added."""
        return self._most + n_rows * (1.0 if weight is None else float(weight.max())) < EXACT

    def add(self, X: np.ndarray, first_row: int, y: Any, weight: np.ndarray | None, folds: np.ndarray) -> None:
        """Add a block of rows that fits; X is (n_rows, n_columns) float64, `folds` (n_rows,) the fold of each row."""
        self._groups.see(y)
        assert self._groups.codes is not None
        codes = self._groups.codes.entries(y, first_row)[1] * self._groups.n_splits + folds
        n_groups = self._groups.n
        self._rows = np.bincount(codes, minlength=n_groups) + np.pad(self._rows, (0, n_groups - len(self._rows)))
        self._most += len(X) * (1.0 if weight is None else float(weight.max()))
        if not self._columns:
            self._columns = [ValueTable() for _ in X.T]
        weight = np.zeros(0) if weight is None else weight.astype(np.float64)
        for column, values in zip(self._columns, X.T, strict=True):
            column.add(np.ascontiguousarray(values), codes, weight, n_groups)

    def counts(self) -> tuple[tuple[np.ndarray, ...], ClassStats]:
        """Return the sorted values of each column and all sums; the tables cannot be used afterwards."""
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
        return tuple(values), stats(*whole, folds=folds, folding=self._folding)


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
