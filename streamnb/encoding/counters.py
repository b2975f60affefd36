"""Target encoding of categories: the class shares of each value, computed from the rows of other folds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from streamnb.core import arguments, messages, persistence, row_checks
from streamnb.encoding.category_columns import scattered
from streamnb.passes.contract import PassTask, Report, Wants
from streamnb.rows.boundary import as_chunk, checked
from streamnb.rows.preparing import RowOptions
from streamnb.rows.row_blocks import Block, Chunk
from streamnb.rows.splits import Folding, check_n_folds
from streamnb.stats.accumulating import Accumulator
from streamnb.stats.category_counts import CategoryCounts, CountingCategories
from streamnb.stats.class_stats import ClassStats

BLOCK_BYTES = 1 << 23  # of a block of rows, which is sorted and merged with those before


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
        width = n_classes - self.above
        return width * (len(self.priors) * (1 + self.log_odds) + self.raw)

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
        often = self.counts.sums.sum.sum(axis=0) >= self.min_count
        return np.split(often, self.counts.starts[1:-1])

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
                "with c=0 it has no share, or of one class alone no log-odds; take c > 0"
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
                raise ValueError("c=0 with log_odds=True: shares of 0 and 1 have no log-odds; take c > 0")


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
