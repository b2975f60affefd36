"""ClassStats: the sufficient statistics of each class, from which every model is computed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from operator import index
from typing import Annotated, Any

import numpy as np
import scipy.sparse as sp

from streamnb.core import arguments, memory, persistence, row_checks
from streamnb.core.guesses import attribute
from streamnb.rows.clipping import Clipping
from streamnb.rows.preparing import RowOptions
from streamnb.rows.splits import Folding
from streamnb.stats.averages import Averages
from streamnb.stats.columns import (
    aligned,
    column_weights,
    has_fixed_columns,
    knows_ones,
    moved,
    moved_columns,
    without_absent,
)
from streamnb.stats.dense_tables import PooledTable, Table, scatter_about_mean
from streamnb.stats.grouping import Overlaps, check_alike, merged_classes, pooled_names, positions
from streamnb.stats.histograms import Histograms, found_in
from streamnb.stats.moment_sums import ALL_MOMENTS, LABELS, MOMENTS, SECOND_MOMENTS, check_sums
from streamnb.stats.possible import check_left
from streamnb.stats.privacy import Privacy, check_addable, check_not_private, merge, outside, privatize
from streamnb.stats.second_moments import matrices, n_multiplied, n_pairs
from streamnb.stats.sparse_tables import AnyTable, alike, as_scipy, dense_bytes

FADED = 2.0**-500  # a class of less weight is dropped: far below it the low parts of sums underflow


def _values_of(moment: str) -> Any:
    """Return a property for a moment, rounded to float64."""

    def values(stats: ClassStats) -> np.ndarray:
        return stats.table(moment).value()

    return attribute(values)


def _matrices_of(moment: str) -> Any:
    """Return a property for a second moment as matrices."""

    def values(stats: ClassStats) -> np.ndarray:
        return matrices(stats.table(moment).dense())

    return attribute(values)


def _histogram_of(stats: ClassStats) -> np.ndarray:
    return found_in(stats.tables).counts


@persistence.register
@dataclass(frozen=True, eq=False)
class ClassStats(Averages, persistence.Saved):
    """Sums over the rows of each class; made by `scan`, never changed.

    `a + b` has the rows of both, and `a - b` the rows of a without those of b. `a * gamma` multiplies every weight by
    gamma; a class whose weight falls below 2^-500 gets weight 0. Classes are matched by label, or by column for an
    indicator, and columns by name: those of categories that a table lacks are 0 in its sums. Sums of integers are
    exact; others are kept as (hi, lo) pairs, so that the rounded result does not depend on how the rows were divided
    into blocks.

    Attributes
    ----------
    classes : (K,) sorted labels
    n_rows, n_features : int
        Number of rows, whatever their weight, and of columns.
    weight : (K,) float64
        N_y, the total weight of each class.
    sum, sum_sq, nonzero, above : (K, n_features) float64
        Weighted class sums of x, of x^2, of [x != 0] and of [x > binarize]. Raises a MemoryError if the
        tables are sparse and too large to be dense; use `to_scipy` then.
    log_sum, inv_sum, log1m_sum, deviation : (K, n_features) float64
        The same for ln x, 1/x, ln(1 - x) and abs(x - centre). NaN where a value of that class and feature has no
        logarithm or inverse; subtracting the row does not restore the sum.
    histogram : (n_features, n_bins, K) float64
        H[j, bin, y], if `scan` was given ``histogram=``; ``table("histogram").edges``, (n_features, n_bins + 1), are
        the edges of its bins, which include their left edge. Subtracting rows does not change the edges.
    gram, gram_above : (K, n_features, n_features), or (n_features, n_features) where they were scanned ``pooled``
        Weighted class sums of x_i x_j, and of [x_i > binarize] [x_j > binarize], if `scan` was given these moments.
    gram_sq : (K, 2 n_features, 2 n_features), or without the first axis
        Products of the features followed by their squares.
    step : object or None
        The step that `scan` learned for `transform`, such as bins; models from these statistics take raw columns.
    folds, folding, options, closed
        Statistics of each fold; how rows were split and transformed; whether the classes were listed by the user.
    clipping, privacy
        How much a row and a person may add to the sums, from ``scan(clip=)``; and what noise protects: epsilon, delta,
        the mechanism, sensitivity and noise of each sum, and what was declared, from `privatize`.
    encoding : Encoding, NamesOfColumns or None
        What the columns are, where rows were raw or had names of columns.
    every, unlabelled, overlaps, negatives
        Of an indicator: all rows, rows without labels, and counts of pairs of labels. Number of negative values.

    Examples
    --------
    >>> import streamnb as snb
    >>> first, second = snb.scan([[2, 0], [0, 4]], ["cat", "dog"]), snb.scan([[1, 5]], ["dog"])
    >>> both = first + second
    >>> both.sum.tolist(), (both - second).sum.tolist()
    ([[2.0, 0.0], [1.0, 9.0]], [[2.0, 0.0], [0.0, 4.0]])
    """

    classes: Annotated[np.ndarray, "[K]"]
    rows: Annotated[np.ndarray, "i8[K]"]  # rows seen of each class
    tables: Mapping[str, AnyTable]  # "weight" (K, 1), the moments (K, n_features); maybe "histogram"
    n_features: int
    negatives: int = 0  # number of negative values, whatever their weight
    options: RowOptions = field(default_factory=RowOptions)
    closed: bool = False  # True if the user listed the classes
    every: ClassStats | None = None  # multi-label: all rows as one class, each counted once
    unlabelled: ClassStats | None = None  # the same for rows without any label; None in files older than 0.2
    overlaps: Overlaps | None = None  # multi-label: counts of rows with two labels; None in older files
    folds: tuple[ClassStats, ...] = ()  # one for each fold, repeat by repeat
    folding: Folding | None = None
    clipping: Clipping | None = None  # how much a person adds, if that is bounded
    privacy: Privacy | None = None  # what the noise protects, once there is any
    encoding: Any = None  # what the columns are: the encoding of raw rows, or `NamesOfColumns`; None if it is not known

    def __setstate__(self, state: Any) -> None:
        """Restore a pickle; in those of 0.3.0 and older, the fields are a list."""
        names = [part.name for part in fields(self)]
        vars(self).update(zip(names, state, strict=False) if isinstance(state, list) else state)

    @property
    def n_rows(self) -> int:
        return int(self.rows.sum()) if self.every is None else self.every.n_rows

    @property
    def multilabel(self) -> bool:
        """True if a row may have any number of labels; each class is then a label."""
        return self.every is not None

    @property
    def total_weight(self) -> float:
        """N, the total weight of all rows."""
        return float((self if self.every is None else self.every).weight.sum())

    @property
    def n_folds(self) -> int:
        """Number of folds in each repeat; 0 if rows were not split."""
        return 0 if self.folding is None else self.folding.n_folds

    @property
    def weight(self) -> np.ndarray:
        return self.tables["weight"].value()[:, 0]

    sum, sum_sq, nonzero, above, log_sum, inv_sum, log1m_sum, deviation = map(_values_of, MOMENTS)
    histogram = attribute(_histogram_of)
    step = attribute(lambda stats: stats.options.step)
    gram, gram_above, gram_sq = map(_matrices_of, SECOND_MOMENTS)

    @property
    def moments(self) -> tuple[str, ...]:
        """Names of the moments that were accumulated."""
        return tuple(name for name in self.tables if name in ALL_MOMENTS)

    @property
    def nbytes(self) -> int:
        """Bytes of the tables."""
        return memory.bytes_of([dict(self.tables), self._parts, self.overlaps])

    @property
    def dense_bytes(self) -> int:
        """Bytes that the tables would take if all were dense."""
        return sum(dense_bytes(t) for t in self.tables.values()) + sum(part.dense_bytes for part in self._parts)

    @property
    def _parts(self) -> list[ClassStats]:
        """All statistics contained in this object, such as those of folds."""
        return [*self.folds, *(part for part in (self.every, self.unlabelled) if part is not None)]

    def _companions(self, change: Callable[[ClassStats], ClassStats]) -> dict[str, Any]:
        """The statistics that an indicator keeps besides its labels, each changed by `change`."""
        parts = {"every": self.every, "unlabelled": self.unlabelled}
        return {name: None if part is None else change(part) for name, part in parts.items()}

    def with_tables(self, kind: Callable[[AnyTable], AnyTable]) -> ClassStats:
        """Return the same statistics with tables of another kind, dense or sparse."""
        tables = {name: kind(table) if name in MOMENTS else table for name, table in self.tables.items()}
        folds = tuple(fold.with_tables(kind) for fold in self.folds)
        return replace(self, tables=tables, folds=folds, **self._companions(lambda part: part.with_tables(kind)))

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + self.nbytes  # Dask uses this to decide what to move or spill

    def table(self, moment: str) -> AnyTable:
        """Return the table of (hi, lo) sums of a moment; the error for an unknown one lists those accumulated."""
        if not isinstance(moment, str) or moment not in self.tables:
            have = ", ".join(map(repr, self.moments))
            raise ValueError(
                f"these statistics lack the moment {moment!r} (they hold {have}); "
                "name it in scan(moments=) or fit(moments=)"
            )
        return self.tables[moment]

    def to_scipy(self, moment: str) -> sp.csr_array:
        """Return a moment as SciPy CSR, (K, n_features), for tables too large for a dense array."""
        return as_scipy(self.table(moment))

    def fold(self, fold: int, repeat: int = 0) -> ClassStats:
        """Return the statistics of the rows of one fold, with all classes."""
        if self.folding is None:
            raise ValueError("these statistics have no folds; name them in scan(folds=)")
        for name, number, count in (("fold", fold, self.n_folds), ("repeat", repeat, self.folding.repeats)):
            if not 0 <= index(number) < count:
                raise IndexError(f"{name}={number} should be from 0 to {count - 1}")
        return self.folds[repeat * self.n_folds + fold]

    def without_fold(self, fold: int, repeat: int = 0) -> ClassStats:
        """Return the statistics of all rows outside one fold, with all classes: those its models are trained on."""
        held_out = self.fold(fold, repeat)
        return outside(self, fold) if self.privacy else replace(self, folds=(), folding=None)._combined(held_out, -1)

    def select(self, columns: Any, moments: tuple[str, ...]) -> ClassStats:
        """Return the statistics of some columns, a slice or numbers, without folds; itself if these are all columns.

        The number of negative values is known only for all columns together; for some columns it is set to 0.
        """
        n_features = len(np.arange(self.n_features)[columns])
        if n_features == self.n_features:
            return self
        tables = {"weight": self.tables["weight"]} | {name: self.table(name).select(columns) for name in moments}
        companions = self._companions(lambda part: part.select(columns, moments))
        return replace(
            self, tables=tables, n_features=n_features, negatives=0, folds=(), folding=None, encoding=None, **companions
        )

    def with_columns(self, sources: np.ndarray) -> ClassStats:
        """Return the statistics with other columns.

        `sources` (n_columns,) has the former number of each column; -1 for one that is 0 in all rows so far, and
        n_features for one that is 1 in all. Columns keep their names, by which statistics are added.
        """
        places = np.where(sources < 0, self.n_features + 1, sources)
        tables = {name: moved(self, name, places) for name in self.tables}
        folds = tuple(fold.with_columns(sources) for fold in self.folds)
        companions = self._companions(lambda part: part.with_columns(sources))
        encoding = moved_columns(self.encoding, sources)
        return replace(self, tables=tables, n_features=len(sources), folds=folds, encoding=encoding, **companions)

    def __repr__(self) -> str:
        moments = ", ".join(self.moments)
        return (
            f"<ClassStats: {self.n_rows:,} rows, {len(self.classes):,} classes, {self.n_features:,} features; "
            f"{moments}; {self.nbytes / 2**20:,.1f} MiB{'' if self.privacy is None else f'; {self.privacy}'}>"
        )

    def __add__(self, other: ClassStats) -> ClassStats:
        if not isinstance(other, ClassStats):
            return NotImplemented
        check_addable(self, other)
        ours, theirs = aligned(self, other)
        return ours._combined(theirs, 1)

    privatize, merge = privatize, merge
    column_weights = column_weights
    knows_ones, has_fixed_columns = property(knows_ones), property(has_fixed_columns)

    def __sub__(self, other: ClassStats) -> ClassStats:
        if not isinstance(other, ClassStats):
            return NotImplemented
        check_not_private(self, other)
        ours, theirs = aligned(self, other)
        difference = ours._combined(theirs, -1)
        check_left(difference, ours)
        left = difference if self.closed or self.multilabel else difference._with_classes(difference.rows > 0)
        return left if other.encoding is None else without_absent(left)

    def __mul__(self, gamma: float) -> ClassStats:
        gamma = arguments.finite_number("gamma", gamma, minimum=0.0)
        if gamma > 1.0 and not gamma * self.total_weight <= row_checks.LARGEST:
            raise ValueError(f"gamma={gamma:g} makes the weight of the rows larger than {row_checks.LARGEST:g}")
        factors = np.where(self.weight * gamma < FADED, 0.0, gamma)
        tables = {name: t.scaled(factors) for name, t in self.tables.items()}
        folds = tuple(fold * gamma for fold in self.folds)
        return replace(self, tables=tables, folds=folds, clipping=None, **self._companions(lambda part: part * gamma))

    __rmul__ = __mul__

    def reweighted(self, class_weight: np.ndarray) -> ClassStats:
        """Return the statistics with the weight of each row multiplied by that of its class; `class_weight` is (K,)."""
        if pooled_names(self) and np.ptp(class_weight):
            raise ValueError("class_weight does not go with sums that are pooled; scan them with pooled=False")
        tables = {name: t.scaled(class_weight) for name, t in self.tables.items()}
        return replace(self, tables=tables, folds=(), folding=None, clipping=None)

    def __radd__(self, other: Any) -> ClassStats:
        return self if isinstance(other, int) and other == 0 else NotImplemented  # so that sum() works

    def _combined(self, other: ClassStats, sign: int) -> ClassStats:
        check_alike(self, other)
        classes = self.classes if self.multilabel else merged_classes(self.classes, other.classes)
        return self._combined_onto(classes, other, sign)

    def _combined_onto(self, classes: np.ndarray, other: ClassStats, sign: int) -> ClassStats:
        """Return self + sign * other for the given classes."""
        if self.multilabel:  # labels are in the order of their columns
            mine = theirs = np.arange(len(classes))
        else:
            mine, theirs = positions(self.classes, classes), positions(other.classes, classes)
        rows = np.zeros(len(classes), np.int64)
        rows[mine >= 0] += self.rows
        rows[theirs >= 0] += sign * other.rows
        names = [m for m in self.tables if m in other.tables]
        pairs = {m: alike(self.tables[m], other.tables[m]) for m in names}
        tables = {m: a.combined(b, mine, theirs, float(sign)) for m, (a, b) in pairs.items()}
        negatives = self.negatives + sign * other.negatives
        companions = [(self.every, other.every), (self.unlabelled, other.unlabelled)]
        every, unlabelled = (own and its and own._combined(its, sign) for own, its in companions)
        folding = self.folding and other.folding and self.folding.joined(other.folding)
        return replace(
            self,
            classes=classes,
            rows=rows,
            tables=tables,
            negatives=negatives,
            folding=folding,
            closed=self.closed or other.closed,
            every=every,
            unlabelled=unlabelled,
            encoding=other.encoding if self.encoding is None else self.encoding,
            overlaps=self.overlaps and other.overlaps and self.overlaps.combined(other.overlaps, sign),
            folds=tuple(a._combined_onto(classes, b, sign) for a, b in zip(self.folds, other.folds, strict=True)),
        )

    def _with_classes(self, keep: np.ndarray) -> ClassStats:
        if keep.all():
            return self
        order = np.flatnonzero(keep)
        tables = {name: t.take(order) for name, t in self.tables.items()}
        folds = tuple(fold._with_classes(keep) for fold in self.folds)
        return replace(self, classes=self.classes[order], rows=self.rows[order], tables=tables, folds=folds)

    def scatter(self, columns: slice = slice(None)) -> np.ndarray:
        """Return the sum over the rows of each class of (x - class mean)^2, (K, columns), without cancellation."""
        sums, squares = (self.table(name).select(columns).dense() for name in ("sum", "sum_sq"))
        weight, out = self.tables["weight"].dense(), np.empty(sums.shape)
        for k in range(len(out)):
            out[k] = scatter_about_mean(sums.row(k), squares.row(k), weight.row(k))
        return out

    def arrays(self) -> dict[str, Any]:
        """Return all content by name."""
        return self._to_state()

    def _to_state(self) -> dict[str, Any]:
        parts = super()._to_state() | {"folds": list(self.folds)}
        return {
            name: part
            for name, part in parts.items()
            if part is not None or name not in ("clipping", "privacy", "encoding")
        }

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> ClassStats:
        tables = state["tables"]
        if isinstance(tables["weight"], list):  # version 1
            tables = {name: persistence.restored(Table, {"hi": hi, "lo": lo}) for name, (hi, lo) in tables.items()}
        return super()._from_state({**state, "tables": tables})

    def _check_loaded(self) -> None:
        """Raise an error if parts do not fit together; the arithmetic of tables relies on it."""
        labels, n_classes = row_checks.check_labels(self.classes, "classes"), len(self.classes)
        arguments.whole_number("n_features", self.n_features)
        if self.tables.keys() - {*ALL_MOMENTS, "weight", "histogram", LABELS} or not (
            self.multilabel or (labels[1:] > labels[:-1]).all()
        ):
            raise ValueError("classes should be sorted, and tables be of moments")
        for name, table in self.tables.items():
            check_sums(name, table.hi)
            n_bins = table.grid.n_bins if isinstance(table, Histograms) else 1
            width = {"weight": 1, LABELS: table.shape[1]}.get(name, self.n_features * n_bins)
            if name in SECOND_MOMENTS:
                width = n_pairs(n_multiplied(name, self.n_features))
            height = 1 if isinstance(table, PooledTable) else n_classes
            if table.shape != (height, width) or isinstance(table, Histograms) != (name == "histogram"):
                raise ValueError(f"{name} has shape {table.shape} for {n_classes} classes, {self.n_features} features")
        if self.step is not None and self.step.n_columns != self.n_features:
            raise ValueError(f"the step makes {self.step.n_columns} columns, and the sums are of {self.n_features}")
        if self.encoding is not None and getattr(self.encoding, "n_columns", self.n_features) != self.n_features:
            raise ValueError(f"encoding={self.encoding!r:.100} should make {self.n_features} columns")
        alike = all(part._layout() == self._layout() and part.folding is None for part in self._parts)
        if self.overlaps is not None and self.overlaps.counts.shape != (n_classes, n_classes):
            raise ValueError(f"overlaps are of {self.overlaps.counts.shape[0]} labels, and there are {n_classes}")
        n_splits = 0 if self.folding is None else self.folding.n_splits
        if not alike or len(self.folds) != n_splits or any(f.multilabel != self.multilabel for f in self.folds):
            raise ValueError("the folds should have the moments, features and options of the whole")

    def _layout(self) -> tuple[Any, ...]:
        grid = found_in(self.tables).grid if "histogram" in self.tables else None
        return self.moments, self.n_features, self.options, repr(grid), pooled_names(self)


def check_stats(stats: Any) -> None:
    """Raise an error for arguments that are not statistics, such as rows."""
    if not isinstance(stats, ClassStats):
        raise TypeError(
            f"stats is of type {type(stats).__name__}; it should be ClassStats, as snb.scan(X, y) returns them (and "
            "fitted estimators keep them in stats_)"
        )
