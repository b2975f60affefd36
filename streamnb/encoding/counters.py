"""Target encoding of categories: the class shares of each value, computed from the rows of other folds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from operator import add
from typing import Any

import numpy as np
import scipy.sparse as sp

from streamnb.core import arguments, memory, messages, persistence, row_checks
from streamnb.encoding.category_columns import scattered
from streamnb.kernels import table_sums
from streamnb.passes.contract import PassTask, Report, Wants
from streamnb.rows.boundary import as_chunk, checked, csr_chunk
from streamnb.rows.preparing import RowOptions
from streamnb.rows.row_blocks import Block, Chunk
from streamnb.rows.splits import Folding, check_n_folds
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
        self._homes = np.empty(table_sums.BATCH, np.int64)

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
                self._n_numbered = table_sums.count_values(bits, codes[rows], weight[rows], *tables)

    def _add_numbers(self, values: np.ndarray, codes: np.ndarray, weight: np.ndarray, n_groups: int) -> int:
        """Add the rows before the first value that is not a small whole number; return their number."""
        assert self._seen is not None
        done, capacity = 0, len(self._seen)
        while done < len(values):
            if capacity > len(self._seen) or n_groups > self._sums.shape[1]:
                self._sums = enlarged(self._sums, (capacity, n_groups))
                self._seen = enlarged(self._seen, (capacity,))
            done = table_sums.count_numbers(values, codes, weight, done, self._sums, self._seen)
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
                table_sums.place_values(self._values[: self._n_numbered], self._table, self._shift, self._homes)

    def taken(self, groups: np.ndarray, sums: np.ndarray, start: int) -> np.ndarray:
        """Return the sorted values, NaN last, and write their sums in some groups from column `start` on."""
        if self._seen is not None:
            order = np.flatnonzero(self._seen)
            values = order.astype(np.float64)
        else:
            values = self._values[: self._n_numbered].view(np.float64)
            order = np.argsort(values)
            values = values[order]
        table_sums.lay_out(self._sums, order, groups, sums, start)
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


BLOCK_BYTES = 1 << 23  # of a block of rows, which is sorted and merged with those before


# ---- target encoding -------------------------------------------------------------------------------------------------


@persistence.register
@dataclass(frozen=True)
class CountedColumns(persistence.Parameters):
    """The columns that are counted: those of X, hashed to buckets or not, followed by pairs of them."""

    pairs: list[list[int]]
    n_bits: int = 0  # 2^n_bits buckets; 0 for the values themselves

    def of(self, chunk: Chunk) -> np.ndarray:
        """The counted values of a block of rows, (n_rows, n_columns) float64."""
        matrix: Any = chunk.to_matrix()
        X = np.asarray(matrix.toarray() if sp.issparse(matrix) else matrix, np.float64)
        width = X.shape[1]
        if any(j >= width for pair in self.pairs for j in pair):
            raise ValueError(f"pairs={self.pairs} names a column that X, of {width} columns, has not")
        columns = list(X.T) + [scattered(_constant(i, X), X[:, i], _constant(j, X), X[:, j]) for i, j in self.pairs]
        if self.n_bits:
            columns = [scattered(_constant(j, X), column, n_bits=self.n_bits) for j, column in enumerate(columns)]
        return np.stack(columns, axis=1)


def _constant(number: int, X: np.ndarray) -> np.ndarray:
    """The number of a column, repeated for each row."""
    return np.full(len(X), float(number))


@dataclass(frozen=True)
class CountTask(PassTask):
    """Counts each value of each column by class and fold."""

    columns: CountedColumns
    classes: np.ndarray | None
    folding: Folding
    memory_limit: int | None = None
    title = "counters"
    most_bytes = 1 << 30  # tables of values do not fit the CPU cache in any case

    def partial(self) -> CountingCategories:
        return CountingCategories(self.classes, self.folding, self.memory_limit)

    def add(self, partial: CountingCategories, block: Block) -> None:
        y = row_checks.check_y(block.y, block.first_row)
        if sp.issparse(y):
            raise ValueError("y has two dimensions; counters are shares of classes, of which a row has one: give 1-D y")
        chunk = checked(block, missing=True)[0]
        partial.add(self.columns.of(chunk), block.first_row, y, block.weight, block.split)

    def about(self) -> dict[str, str]:
        about = super().about()
        about.pop("memory_limit")
        return about

    def wants(self, n_rows: int | None, n_features: int | None) -> Wants:
        if n_rows is not None:
            check_n_folds(self.folding, n_rows)
        return Wants(block_bytes=BLOCK_BYTES)

    def ended(self, total: CategoryCounts, report: Report) -> CategoryCounts:
        check_n_folds(self.folding, report.rows)
        row_checks.check_min_size(report.rows, len(total.values) or 1)
        row_checks.check_total_weight(total.sums.total_weight)
        return total


@dataclass(frozen=True)
class Codes:
    """The codes computed from counts: shares with pseudo-counts, optionally log-odds and the counts themselves.

    `priors` has for each c the pseudo-counts, (K,), or a number s for s times the class shares of the rows that
    are counted.
    """

    priors: Sequence[np.ndarray | float]
    raw: bool = False
    log_odds: bool = False
    above: bool = False  # classes are ranges of a number; shares are those of all ranges above

    def n_columns(self, n_classes: int) -> int:
        """Number of columns for one categorical column."""
        return (n_classes - self.above) * (len(self.priors) * (1 + self.log_odds) + self.raw)

    def of(self, counts: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """Codes (n_values, n_columns) from counts (K, n_values) and class weights (K,); NaN where undefined."""
        parts = []
        with np.errstate(divide="ignore", invalid="ignore"):
            for prior in self.priors:
                c = prior * weight / weight.sum() if np.ndim(prior) == 0 else np.asarray(prior)
                shares = self._summed((counts + c[:, None]) / (counts.sum(axis=0) + c.sum()))
                parts += [shares] + ([np.log(shares) - np.log1p(-shares)] if self.log_odds else [])
        return np.concatenate([*parts, *([self._summed(counts)] if self.raw else [])]).T

    def _summed(self, by_class: np.ndarray) -> np.ndarray:
        return np.cumsum(by_class[::-1], axis=0)[::-1][1:] if self.above else by_class

    def names(self, column: str, of_class: Sequence[str], of_prior: Sequence[str]) -> list[str]:
        """Names of the columns for one categorical column."""
        kinds = [(kind, c) for c in of_prior for kind in ("P", "log odds")[: 1 + self.log_odds]]
        return [f"{column}: {kind}({k}){c}" for kind, c in kinds + [("N", "")] * self.raw for k in of_class]


@dataclass(frozen=True, eq=False)
class Counters:
    """Counts, and the codes computed from them.

    Values with a total weight below `min_count` share a slot with values that were never seen, the last slot of
    their column.
    """

    counts: CategoryCounts
    columns: CountedColumns
    codes: Codes
    min_count: float

    @cached_property
    def _known(self) -> list[np.ndarray]:
        """For each column a mask of the values with their own slot, (n_values,) bool."""
        return np.split(self.counts.sums.sum.sum(axis=0) >= self.min_count, self.counts.starts[1:-1])

    @cached_property
    def _values(self) -> list[np.ndarray]:
        return [values[known] for values, known in zip(self.counts.values, self._known, strict=True)]

    @cached_property
    def _firsts(self) -> np.ndarray:
        """The first slot of each column, and the total number of slots, (n_columns + 1,)."""
        return np.concatenate([[0], np.cumsum([len(values) + 1 for values in self._values])])

    @property
    def n_outputs(self) -> int:
        """Number of output columns."""
        return len(self.counts.values) * self.codes.n_columns(len(self.counts.sums.classes))

    def without(self, *folds: int) -> ClassStats:
        """The sums of all rows except those of these folds."""
        sums = self.counts.sums
        for fold in folds:
            sums = replace(sums, folds=self.counts.sums.folds, folding=self.counts.sums.folding).without_fold(fold)
        return sums

    def in_slots(self, sums: ClassStats) -> np.ndarray:
        """The weight of each slot, (K, n_slots)."""
        counts, parts = sums.sum, []
        for each, known in zip(np.split(counts, self.counts.starts[1:-1], axis=1), self._known, strict=True):
            parts += [each[:, known], each[:, ~known].sum(axis=1, keepdims=True)]
        return np.concatenate(parts, axis=1)

    def table(self, *folds: int) -> np.ndarray:
        """Codes of all slots from the rows outside these folds, (n_slots, n_columns)."""
        sums = self.without(*folds)
        return self.codes.of(self.in_slots(sums), sums.weight)

    def table_without_row(self, k: int) -> np.ndarray:
        """Codes of all slots from all rows except one of class k that has the value."""
        counts, weight = self.in_slots(self.counts.sums), self.counts.sums.weight.copy()
        counts[k] -= 1.0
        weight[k] -= 1.0
        return self.codes.of(counts, weight)

    def applied(self, chunk: Chunk, survey: Any, tables: np.ndarray, which: np.ndarray | None = None) -> np.ndarray:
        """The codes of a block of rows, (n_rows, n_outputs); row i uses tables[which[i]]."""
        X = self.columns.of(chunk)
        row_checks.check_n_features(X.shape[1], len(self.counts.values), "CategoryCounters")
        slots = np.empty(X.shape, np.int64)
        for j, (values, x) in enumerate(zip(self._values, X.T, strict=True)):
            at = np.searchsorted(values, x)
            found = np.append(values, 0.0)[at]
            known = (at < len(values)) & ((found == x) | (np.isnan(found) & np.isnan(x)))
            slots[:, j] = self._firsts[j] + np.where(known, at, len(values))
        rows = slice(chunk.first_row, chunk.first_row + len(X))
        codes = tables[0][slots] if which is None else tables[which[rows, None], slots]
        lost = np.argwhere(~np.isfinite(codes))
        if len(lost):
            row, column, _ = lost[0]
            raise ValueError(
                f"X has at row {chunk.first_row + row}, column {column}, a value for which too few rows were counted: "
                "with c=0 it has no share, or of one class alone no log-odds; use c > 0"
            )
        return codes.reshape(len(X), -1)

    def class_stats(self, moments: Sequence[str], without_fold: int | None = None) -> ClassStats:
        """The class sums of the codes of training rows, coded by the rows of other folds; no row is read.

        Rows of a fold with the same value share a code: S_y[h(g)] = sum_{m,u} T[m, u, y] h(g(u; total - m)).
        """
        left = [] if without_fold is None else [without_fold]
        training = self.without(*left)
        folds = [m for m in range(self.counts.sums.n_folds) if m not in left]
        weights = [self.in_slots(self.counts.sums.fold(m)) for m in folds]
        tables = [self.table(m, *left) for m in folds]
        parts = []
        for first, stop in zip(self._firsts[:-1], self._firsts[1:], strict=True):
            sums = Accumulator(moments, RowOptions(), training.classes)
            for weight, table in zip(weights, tables, strict=True):
                k, slot = np.nonzero(weight[:, first:stop])
                if len(k):
                    rows = as_chunk(table[first + slot])
                    sums.add(*rows, training.classes[k], weight[k, first + slot])
            parts.append(sums.finish())
        joined = {}
        for name in moments:
            first_table, *others = (part.table(name).dense() for part in parts)
            joined[name] = first_table.beside(*others)
        return replace(
            parts[0],
            rows=training.rows,
            tables={"weight": training.tables["weight"], **joined},
            n_features=self.n_outputs,
            negatives=sum(part.negatives for part in parts),
            closed=training.closed,
        )


def several(c: Any) -> list[Any]:
    """A list of the given pseudo-counts."""
    return c if isinstance(c, list) else [c]


def check(c: Any, above_zero: bool) -> None:
    """Refuse anything that is not a valid pseudo-count."""
    if isinstance(c, list) and not c:
        raise ValueError("c is an empty list; give at least one")
    for each in several(c):
        for number in each.values() if isinstance(each, Mapping) else [_scale(each)]:
            if arguments.finite_number("c", number, minimum=0.0) == 0.0 and above_zero:
                raise ValueError("c=0 with log_odds=True: shares of 0 and 1 have no log-odds; use c > 0")


def of_classes(c: Any, classes: np.ndarray) -> Any:
    """Pseudo-counts as an array (K,), or the number s where they are s times the class shares."""
    labels = classes.tolist()
    if isinstance(c, Mapping):
        if {*c} != {*labels}:
            raise ValueError(f"c={c!r} should have a number for each class: {messages.listed(classes)}")
        return np.array([float(c[label]) for label in labels])
    return float(_scale(c)) if _is_prior(c) else np.full(len(labels), float(c))


def _to_state(c: Any) -> Any:
    """The state saved in a file: the kind of each and its value."""
    if isinstance(c, list):
        return ["several", [_to_state(each) for each in c]]
    if isinstance(c, Mapping):
        return ["labels", [[*pair] for pair in c.items()]]
    return ["prior" if _is_prior(c) else "number", _scale(c)]


def _from_state(kept: Any) -> Any:
    """The pseudo-counts as they were given, from their saved state."""
    kind, value = kept
    if kind == "several":
        return [_from_state(each) for each in value]
    if kind == "labels":
        return dict(map(tuple, value))
    return ("prior", value) if kind == "prior" else value


def _is_prior(c: Any) -> bool:
    if isinstance(c, str):
        arguments.one_of("c", c, ["prior", "a number", "a dict {label: number}", "('prior', number)"])
        return True
    return isinstance(c, tuple) and len(c) == 2 and c[0] == "prior"


def _scale(c: Any) -> Any:
    """The number itself, or the scale s of a prior."""
    if not _is_prior(c):
        return c
    return 1.0 if isinstance(c, str) else c[1]
