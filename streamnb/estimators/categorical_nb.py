"""Categorical naive Bayes, from counts of each category in one scan."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Annotated, Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp

from streamnb.core import memory, messages, persistence, row_checks
from streamnb.estimators.drop_ins import DiscreteNB
from streamnb.estimators.parameters import learned, logs, number_from_0, one_of
from streamnb.models.linear import LinearModel, OddsModel, sums_of_logs
from streamnb.rows.boundary import Domain, checked, csr_chunk
from streamnb.rows.preparing import RowOptions
from streamnb.rows.row_blocks import Block, Chunk
from streamnb.scanning.class_scan import ClassScan
from streamnb.stats.accumulating import Accumulator
from streamnb.stats.class_stats import ClassStats, as_of
from streamnb.stats.columns import aligned
from streamnb.stats.tables import LARGE, AnyTable, SparseTable, Table

_WHO = "CategoricalNB (input X)"
MOST = 2**31 - 1  # the highest category
FEW = 1 << 22  # cells of a table that is dense even where mostly empty
EMPTY = 16  # larger tables are sparse where they have this many times as many cells as can be nonzero
_BITS = 31  # of a category number, as in `MOST`
UNSEEN = ("error", "ignore", "smooth")
COPIES = 3  # computing with a table takes memory for at least so many copies of it


# ---- cells: the categories of rows -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """The categories other than 0 of a block of rows, in CSR order."""

    categories: np.ndarray
    features: np.ndarray
    indptr: np.ndarray
    n_features: int

    @classmethod
    def of(cls, chunk: Chunk, survey: Any) -> Self:
        """The cells of a block, whose values are category numbers."""
        Domain(_WHO, 0.0, MOST).check(chunk, survey)
        if not survey.whole:
            position = int(np.flatnonzero(chunk.stored % 1)[0])
            row, column = chunk.locate(position)
            warnings.warn(
                f"{_WHO}: row {row}, column {column} is {chunk.stored[position]:g}, cut to a whole number; values "
                "should number the categories of a feature 0, 1, 2, .. (sklearn.preprocessing.OrdinalEncoder does)",
                messages.StreamnbWarning,
                stacklevel=2,
            )
            chunk = chunk.with_values(np.floor(chunk.stored))
        matrix = sp.csr_array(chunk.to_matrix(), copy=True)
        matrix.eliminate_zeros()
        return cls(matrix.data.astype(np.int64), matrix.indices, matrix.indptr, chunk.shape[1])

    def weighed(self, weight: np.ndarray | None) -> Cells:
        """The cells without those of rows of weight 0, whose categories then do not count as seen."""
        if weight is None or weight.all():
            return self
        kept = np.repeat(weight > 0.0, np.diff(self.indptr))
        indptr = np.concatenate([[0], np.cumsum(kept)])[self.indptr]
        return replace(self, categories=self.categories[kept], features=self.features[kept], indptr=indptr)

    def sizes(self) -> np.ndarray:
        """Highest category of each feature in these rows plus 1, (n_features,)."""
        sizes = np.ones(self.n_features, np.int64)
        np.maximum.at(sizes, self.features, self.categories + 1)
        return sizes

    def check_below(self, known: np.ndarray, first_row: int) -> None:
        """Raise where rows have unseen categories."""
        strangers = np.flatnonzero(self.categories >= known[self.features])
        if strangers.size:
            cell = strangers[0]
            row = first_row + int(np.searchsorted(self.indptr, cell, side="right")) - 1
            category, feature = self.categories[cell], self.features[cell]
            raise ValueError(
                f"{_WHO}: row {row}, column {feature} has the unseen category {category}; this feature has "
                f"{known[feature]} categories. Set unseen='ignore' or 'smooth', or min_categories"
            )


@dataclass(frozen=True, eq=False)
class Slots:
    """Columns for categories: for each feature those of its categories and, last, one for values that are none of them.

    Where few categories have rows, only these and category 0 have their own columns, `seen`, and the next column stands
    for all others.

    Attributes
    ----------
    n_categories : (n_features,) int
    seen : (n,) int, optional
        The `_category_ids` of the categories with their own columns, sorted.
    """

    n_categories: np.ndarray
    seen: np.ndarray | None = None

    @cached_property
    def sizes(self) -> np.ndarray:
        """Number of columns of each feature, (n_features,)."""
        if self.seen is None:
            return self.n_categories + 1
        return np.bincount(self.seen >> _BITS, minlength=len(self.n_categories)) + 2

    def columns(self, features: np.ndarray, categories: np.ndarray) -> np.ndarray:
        """The columns of categories of features."""
        starts, last = _starts(self.sizes)[features], self.n_categories[features]
        if self.seen is None:
            return starts + np.minimum(categories, last)
        numbers = _category_ids(features, categories)
        at = np.minimum(np.searchsorted(self.seen, numbers), len(self.seen) - 1)
        others = starts + self.sizes[features] - np.where(categories < last, 2, 1)
        return np.where(self.seen[at] == numbers, at + 2 * features.astype(np.int64), others)

    def one_hot(self, cells: Cells, first_row: int) -> tuple[Chunk, Any]:
        """A block of rows with 1 in the columns of their categories."""
        columns = self.columns(cells.features, cells.categories)
        return csr_chunk(None, columns, cells.indptr, int(self.sizes.sum()), first_row)


def _category_ids(features: np.ndarray, categories: np.ndarray) -> np.ndarray:
    """One number for each category of each feature, in their order."""
    return features.astype(np.int64) << _BITS | categories


def _starts(sizes: np.ndarray) -> np.ndarray:
    """The first column of each feature."""
    return np.cumsum(sizes) - sizes


def is_wide(n_classes: int, sizes: np.ndarray, n_cells: int) -> bool:
    """Whether a table of these classes and categories would be large and mostly empty, with `n_cells` in use."""
    return n_classes * float(sizes.sum(dtype=np.float64)) > max(FEW, EMPTY * n_cells)


# ---- statistics ------------------------------------------------------------------------------------------------------


@persistence.register
@dataclass(frozen=True, slots=True, eq=False)
class CategoryStats(persistence.Parameters):
    """Weight of each category of each feature in each class; merges and subtracts like `ClassStats`.

    Attributes
    ----------
    sizes : (n_features,) int
        Number of categories of each feature.
    sums : ClassStats
        Its features are the categories, sizes[j] for feature j; category 0 comes first and is not counted.
    """

    sizes: Annotated[np.ndarray, "i8[_]"]
    sums: ClassStats
    encoding: Any = None  # as of `ClassStats`

    classes, closed, n_rows, moments = (as_of("sums", name) for name in ("classes", "closed", "n_rows", "moments"))
    weight, total_weight = as_of("sums", "weight"), as_of("sums", "total_weight")
    nbytes, dense_bytes = as_of("sums", "nbytes"), as_of("sums", "dense_bytes")
    knows_ones, has_fixed_columns = False, True  # as of `ClassStats`, for the columns of a table

    @property
    def n_features(self) -> int:
        return len(self.sizes)

    def with_tables(self, kind: Any) -> CategoryStats:
        return replace(self, sums=self.sums.with_tables(kind))

    def reweighted(self, class_weight: np.ndarray) -> CategoryStats:
        return replace(self, sums=self.sums.reweighted(class_weight))

    def __add__(self, other: CategoryStats) -> CategoryStats:
        sizes = self._common(other)
        return replace(self, sizes=sizes, sums=self.laid_out(sizes).sums + other.laid_out(sizes).sums)

    def __sub__(self, other: CategoryStats) -> CategoryStats:
        sizes = self._common(other)
        return replace(self, sizes=sizes, sums=self.laid_out(sizes).sums - other.laid_out(sizes).sums)

    def __mul__(self, gamma: float) -> CategoryStats:
        return replace(self, sums=self.sums * gamma)

    def _common(self, other: CategoryStats) -> np.ndarray:
        aligned(self, other)  # refuses other columns
        row_checks.check_n_features(other.n_features, self.n_features, "the statistics")
        return np.maximum(self.sizes, other.sizes)

    def laid_out(self, sizes: np.ndarray) -> CategoryStats:
        """The same with other numbers of categories; categories beyond them are dropped."""
        if np.array_equal(sizes, self.sizes):
            return self
        wide, table = self.is_wide(sizes), self.sums.table("sum")
        if wide or isinstance(table, SparseTable):
            features, categories = self._places(table := _sparse(table))
            columns = np.where(categories < sizes[features], _starts(sizes)[features] + categories, -1)
            moved = table.moved(columns, int(sizes.sum()))
            return self._with(sizes, moved if wide else moved.dense())
        features = np.repeat(np.arange(len(sizes)), sizes)
        categories = np.arange(len(features)) - np.repeat(_starts(sizes), sizes)
        sources = np.where(categories < self.sizes[features], _starts(self.sizes)[features] + categories, -1)
        return CategoryStats(sizes, self.sums.with_columns(sources))

    def is_wide(self, sizes: np.ndarray) -> bool:
        """Whether a dense table with these numbers of categories would be large and mostly empty."""
        return is_wide(len(self.classes), sizes, 0) and is_wide(len(self.classes), sizes, self._n_cells())

    def _n_cells(self) -> int:
        table = self.sums.table("sum")
        return len(table.keys) if isinstance(table, SparseTable) else int(np.count_nonzero(table.hi))

    def _places(self, table: SparseTable) -> tuple[np.ndarray, np.ndarray]:
        """Features and categories of the cells of a table."""
        columns = table.columns_of()
        features = np.searchsorted(np.cumsum(self.sizes), columns, side="right")
        return features, columns - _starts(self.sizes)[features]

    def _with(self, sizes: np.ndarray, table: Any) -> CategoryStats:
        tables = {**self.sums.tables, "sum": table}
        return CategoryStats(sizes, replace(self.sums, tables=tables, n_features=table.shape[1]))

    def slots(self, n_categories: np.ndarray) -> Slots:
        """The columns of a model with these numbers of categories: all, or those with rows where all are too many."""
        if not self.is_wide(n_categories):
            return Slots(n_categories)
        features = np.arange(self.n_features)
        seen = _category_ids(*self._places(_sparse(self.sums.table("sum"))))
        return Slots(n_categories, np.union1d(seen, _category_ids(features, 0 * features)))

    def counts_in(self, slots: Slots) -> np.ndarray:
        """Weight of every column of a model, (K, sum of their sizes)."""
        if slots.seen is None:
            return self.laid_out(slots.sizes).counts()
        table = _sparse(self.sums.table("sum"))
        moved = table.moved(slots.columns(*self._places(table)), int(slots.sizes.sum()))
        return self._with(slots.sizes, moved.dense()).counts()

    def counts(self) -> np.ndarray:
        """Weight of every category of every feature, (K, sum of sizes); category 0 gets the rest of the weight."""
        counts = self.sums.sum.copy()
        starts = _starts(self.sizes)
        table, weight = (self.sums.tables[name].dense() for name in ("sum", "weight"))
        if all(t.lo is None and (t.hi == np.floor(t.hi)).all() for t in (table, weight)):  # nothing is rounded
            counts[:, starts] = weight.hi - np.add.reduceat(table.hi, starts, axis=1)
            return counts
        for k in range(len(self.classes)):
            (hi, lo), (n, n_lo) = table.row(k), weight.row(k)
            total = [n[0], n_lo[0]]
            for start, size in zip(starts, self.sizes, strict=True):
                others = slice(start + 1, start + size)
                rest = math.fsum([*total, *-hi[others], *-lo[others]])
                counts[k, start] = rest if rest > 2.0**-90 * n[0] else 0.0  # a smaller rest is rounding of the pairs
        return counts

    def arrays(self) -> dict[str, Any]:
        """All arrays by name."""
        return {"sizes": self.sizes, "sums": self.sums}

    _to_state = arrays

    def _check_loaded(self) -> None:
        sizes, n_features = self.sizes, self.sums.n_features
        if ((sizes < 1) | (sizes > MOST + 1)).any() or sizes.sum() != n_features:
            raise ValueError(f"sizes {sizes.tolist()} should be from 1 to {MOST + 1} and {n_features} in all")


def _sparse(table: AnyTable) -> SparseTable:
    return SparseTable.of(table) if isinstance(table, Table) else table


class CategoryAccumulator:
    """Sums one-hot rows into tables with capacity for the categories so far; further ones start new tables.

    Tables are sparse if categories are many and mostly empty. `new` makes an accumulator of either kind.
    """

    def __init__(self, new: Callable[[bool], Accumulator]):
        self._new, self._wide = new, False
        self._sums = new(False)
        self._n_classes, self._touched = 2, 0
        self._sizes = self._capacity = np.zeros(0, np.int64)
        self._outgrown: CategoryStats | None = None

    @property
    def nbytes(self) -> int:
        """Memory of the tables."""
        return self._sums.nbytes + (0 if self._outgrown is None else self._outgrown.nbytes)

    def add(self, cells: Cells, first_row: int, y: np.ndarray, weight: np.ndarray | None) -> None:
        """Add one block of rows; y (n_rows,), weight (n_rows,) or None for 1 each."""
        sizes = cells.sizes()
        if not len(self._sizes):
            self._sizes = self._capacity = sizes
        row_checks.check_n_features(cells.n_features, len(self._sizes))
        self._sizes = np.maximum(self._sizes, sizes)
        self._touched += len(cells.categories)
        capacity = self._capacity
        if (sizes > capacity).any():
            powers = 2 ** np.ceil(np.log2(self._sizes)).astype(np.int64)  # so that new tables are rare
            capacity = np.where(self._sizes > capacity, powers, capacity)
        self._reserve(capacity)
        self._sums.add(*Slots(self._capacity - 1).one_hot(cells, first_row), y, weight)

    def _reserve(self, capacity: np.ndarray) -> None:
        """Start new tables where the current ones lack capacity or are of the wrong kind."""
        self._n_classes = max(self._n_classes, self._sums.n_groups)
        wide = is_wide(self._n_classes, capacity, self._touched)
        if wide == self._wide and np.array_equal(capacity, self._capacity):
            return
        if self._sums.n_features is not None:
            self._outgrown = self._total()
        self._sums, self._capacity, self._wide = self._new(wide), capacity, wide

    def _total(self) -> CategoryStats:
        stats = CategoryStats(self._capacity, self._sums.finish())
        return stats if self._outgrown is None else self._outgrown + stats

    def finish(self) -> CategoryStats:
        """The statistics; the accumulator cannot be used again."""
        return self._total().laid_out(self._sizes)


@persistence.register
class CategoricalNB(DiscreteNB):
    """Categorical naive Bayes: ``ln P(x, y) = ln P(y) + sum_j ln p_y(x_j)``, like scikit-learn's.

    With ``p_y(x_j = c) = (S_yjc + alpha) / (N_y + alpha C_j)``, S_yjc the weight of the rows of a class with category
    c = 0, 1, .., C_j - 1. X may be sparse: values that are not stored are category 0. Fractions are truncated, as in
    scikit-learn, but with a warning.

    Parameters
    ----------
    alpha : float
        Pseudo-counts. With 0 a category that was never seen in a class is impossible in it.
    force_alpha, fit_prior, class_prior
        As in `MultinomialNB`.
    min_categories : int or (n_features,) of int, optional
        C_j is at least this, whatever the data.
    unseen : {"error", "ignore", "smooth"}
        How predictions treat a category of C_j or above: raise ValueError, where scikit-learn raises IndexError; leave
        the feature out of the row's scores; or score it as a category without rows, ``alpha / (N_y + alpha C_j)``.

    Attributes
    ----------
    classes_, class_count_, class_log_prior_, report_, n_features_in_, feature_names_in_
        As in `MultinomialNB`.
    n_categories_ : (n_features,) int
        C. Categories of forgotten rows still count.
    category_count_, feature_log_prob_ : list of (K, C_j)
        S and ln p of each feature. Only these two take memory for categories without rows; where there are too many,
        they raise AttributeError with the numbers.
    stats_ : CategoryStats
        The statistics, which are all that is kept of the data.

    Examples
    --------
    >>> import streamnb as snb
    >>> model = snb.CategoricalNB().fit([[0, 2], [0, 1], [1, 0]], ["cat", "cat", "dog"])
    >>> model.predict([[0, 0], [1, 0]]).tolist()
    ['cat', 'dog']
    """

    _checks: ClassVar = {**DiscreteNB._checks, "alpha": number_from_0, "unseen": one_of(*UNSEEN)}
    _statistics = "CategoryStats"
    _keeps_batches = False

    def __init__(
        self,
        *,
        alpha: float = 1.0,
        force_alpha: bool = True,
        fit_prior: bool = True,
        class_prior: Any = None,
        min_categories: Any = None,
        unseen: str = "error",
    ):
        super().__init__(alpha=alpha, force_alpha=force_alpha, fit_prior=fit_prior, class_prior=class_prior)
        self.min_categories = min_categories
        self.unseen = unseen

    def _check_params(self) -> None:
        super()._check_params()
        if self.min_categories is None:
            return
        least = np.asarray(self.min_categories)
        if least.dtype.kind not in "iu":
            raise ValueError(f"'min_categories' should have integral type. Got {least.dtype} instead.")
        if least.size and not 1 <= int(least.min()) <= int(least.max()) < 2**63:
            raise ValueError(f"min_categories={self.min_categories!r} should be at least 1, and below 2**63")

    def _check_against(self, stats: Any) -> None:
        super()._check_against(stats)
        shape = np.shape(self.min_categories if self.min_categories is not None else 1)
        if shape not in ((), (stats.n_features,)):
            raise ValueError(
                f"'min_categories' should have shape ({stats.n_features},) when an array-like is provided. "
                f"Got {shape} instead."
            )

    def _task(self, classes: np.ndarray | None) -> ClassScan:
        return CategoryScan(("sum",), RowOptions(), classes)

    @learned
    def n_categories_(self) -> np.ndarray:
        """Number of categories of each feature, (n_features,)."""
        least = 1 if self.min_categories is None else np.asarray(self.min_categories).astype(np.int64)
        return np.maximum(self.stats_.sizes, least)

    @learned
    def category_count_(self) -> list[np.ndarray]:
        """Weight of each category in each class: for each feature (K, C_j)."""
        return self._by_feature(self._counts)

    @learned
    def feature_log_prob_(self) -> list[np.ndarray]:
        """Logs of the probabilities of the categories: for each feature (K, C_j)."""
        return self._by_feature(self._log_shares(self._counts, self.n_categories_))

    @learned
    def _counts(self) -> np.ndarray:
        n_classes, n = len(self.classes_), sum(self.n_categories_.tolist())
        n_bytes, limit = COPIES * 8 * n_classes * n, memory.allowed(self._memory_limit)
        if n_bytes > max(LARGE, limit):
            raise AttributeError(  # hidden from hasattr and dir
                f"category_count_ and feature_log_prob_ of {n_classes:,} classes and {n:,} categories would take "
                f"{memory.size(n_bytes)} to make, and memory_limit allows {memory.size(limit)}; n_categories_, stats_ "
                "and predictions take memory for those categories alone that have rows"
            )
        return self._weighted.laid_out(self.n_categories_).counts()

    def _by_feature(self, table: np.ndarray) -> list[np.ndarray]:
        return np.split(table, np.cumsum(self.n_categories_)[:-1], axis=1)

    def _log_shares(self, counts: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        totals = self.class_count_[:, None] + self._alpha * self.n_categories_
        return logs(counts + self._alpha) - np.repeat(np.log(np.where(totals > 0, totals, 1.0)), sizes, axis=1)

    @learned
    def _model(self) -> CategoryModel:
        slots = self._weighted.slots(self.n_categories_)
        sizes = slots.sizes
        self._check_fits(int(sizes.sum()))
        present = self._log_shares(self._weighted.counts_in(slots), sizes)
        starts = np.cumsum(sizes) - sizes
        zeros = present[:, starts]
        absent = np.repeat(zeros, sizes, axis=1)
        if self.unseen == "ignore":
            present[:, starts + sizes - 1] = 0.0  # the last column is for values that are none of the categories
        known = self.n_categories_ if self.unseen == "error" else None
        odds = OddsModel.of(self.classes_, present, absent, sums_of_logs(zeros), self.class_log_prior_)
        return CategoryModel(
            odds.classes_, odds.weights, odds.intercept_, odds.scheme, odds=odds, slots=slots, known=known
        )

    def _explained(self) -> LinearModel:
        raise TypeError(
            "CategoricalNB has no weights of a column for each category; LinearNB(family='categorical') has, and "
            "explains itself by names of features and categories"
        )

    def _check_fits(self, n_columns: int) -> None:
        n_bytes, limit = COPIES * 8 * len(self.classes_) * n_columns, memory.allowed(self._memory_limit)
        if n_bytes > max(LARGE, limit):
            what = f"the weights of {len(self.classes_):,} classes and {n_columns:,} categories that have rows"
            memory.refuse(what, n_bytes, limit, "give a larger memory_limit, or use fewer categories or features")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        return tags


@dataclass(frozen=True, eq=False, kw_only=True)
class CategoryModel(LinearModel):
    """A linear model of categories; `slots` maps them to columns of weights."""

    odds: OddsModel
    slots: Slots
    known: np.ndarray | None  # numbers of known categories by feature, if unseen ones are an error

    @property
    def n_features(self) -> int:
        return len(self.slots.n_categories)

    def _raw_margins(self, chunk: Chunk, survey: Any) -> np.ndarray:
        """ln P(y) + ln P(x | y), (n_rows, K)."""
        row_checks.check_n_features(chunk.shape[1], self.n_features, type(self).__name__)
        cells = Cells.of(chunk, survey)
        if self.known is not None:
            cells.check_below(self.known, chunk.first_row)
        return self.odds.margins(*self.slots.one_hot(cells, chunk.first_row))


@dataclass(frozen=True)
class CategoryScan(ClassScan):
    """A scan that counts categories."""

    called = "CategoryPlan"

    def partial(self) -> Any:
        run = self.moments, self.options, self.classes, self.folding, self.memory_limit
        return CategoryAccumulator(partial(Accumulator, *run))

    def add(self, partial: Any, block: Block) -> None:
        """Check one block of rows and add it."""
        chunk, survey = checked(block)
        partial.add(
            Cells.of(chunk, survey).weighed(block.weight),
            chunk.first_row,
            row_checks.check_labels(block.y),
            block.weight,
        )
