"""Categorical naive Bayes: counts of each category from one scan, sparse where category 0 is what is not stored."""

import math
import warnings
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from streamnb import _checks, persistence
from streamnb.data.chunk import Chunk, Domain, csr_chunk
from streamnb.data.sources import Block
from streamnb.estimators.base import learned, logs
from streamnb.estimators.discrete_nb import DiscreteNB, OddsModel, sums_of_logs
from streamnb.model import LinearModel
from streamnb.scanning import ScanPlan, checked
from streamnb.stats.accumulating import Accumulator
from streamnb.stats.class_stats import ClassStats, RowOptions
from streamnb.stats.tables import Table

UNSEEN = ("error", "ignore", "smooth")
MOST = 2**31 - 1  # the highest category


@persistence.register
class CategoricalNB(DiscreteNB):
    """Categorical naive Bayes: ``ln P(x, y) = ln P(y) + sum_j ln p_y(x_j)``, as scikit-learn's of this name.

    With ``p_y(x_j = c) = (S_yjc + alpha) / (N_y + alpha C_j)``, S_yjc the weight of the rows of a class with category
    c = 0, 1, .., C_j - 1. X may be sparse: what is not stored is category 0. Values that are not whole numbers are
    cut off, as in scikit-learn, but with a warning.

    Parameters
    ----------
    alpha : float
        Pseudo-counts. With 0 a category that was never seen in a class is impossible in it.
    force_alpha, fit_prior, class_prior
        As in `MultinomialNB`.
    min_categories : int or (n_features,) of int, optional
        C_j is at least this, whatever the data.
    unseen : {"error", "ignore", "smooth"}
        What predicting does with a category not below C_j: raise ValueError, as scikit-learn raises IndexError;
        leave the feature out of the row's scores; or take it as a category of no rows, ``alpha / (N_y + alpha C_j)``.

    Attributes
    ----------
    classes_, class_count_, class_log_prior_, report_, n_features_in_, feature_names_in_
        As in `MultinomialNB`.
    n_categories_ : (n_features,) int
        C. Categories of rows that were forgotten stay.
    category_count_, feature_log_prob_ : list of (K, C_j)
        S and ln p of each feature.
    stats_ : CategoryStats
        All that was kept of the data.
    """

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
        _checks.finite_number("alpha", self.alpha, minimum=0.0)
        _checks.one_of("unseen", self.unseen, UNSEEN)
        if self.min_categories is None:
            return
        least = np.asarray(self.min_categories)
        if least.dtype.kind not in "iu":
            raise ValueError(f"'min_categories' should have integral type. Got {least.dtype} instead.")
        if least.size and least.min() < 1:
            raise ValueError(f"min_categories={self.min_categories!r} should be at least 1")

    def _check_against(self, stats: Any) -> None:
        super()._check_against(stats)
        shape = np.shape(self.min_categories if self.min_categories is not None else 1)
        if shape not in ((), (stats.n_features,)):
            raise ValueError(
                f"'min_categories' should have shape ({stats.n_features},) when an array-like is provided. "
                f"Got {shape} instead."
            )

    def _plan(self, classes: np.ndarray | None) -> ScanPlan:
        return CategoryPlan(("sum",), RowOptions(), classes)

    @learned
    def n_categories_(self) -> np.ndarray:
        """Number of categories of each feature, (n_features,)."""
        return np.maximum(self.stats_.sizes, 1 if self.min_categories is None else self.min_categories)

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
        return self._weighted.laid_out(self.n_categories_).counts()

    def _by_feature(self, table: np.ndarray) -> list[np.ndarray]:
        return np.split(table, np.cumsum(self.n_categories_)[:-1], axis=1)

    def _log_shares(self, counts: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        totals = self.class_count_[:, None] + self._alpha * self.n_categories_
        return logs(counts + self._alpha) - np.repeat(np.log(np.where(totals > 0, totals, 1.0)), sizes, axis=1)

    def _solved(self) -> "CategoryModel":
        sizes = self.n_categories_ + 1  # the last category stands for those that were not seen
        present = self._log_shares(self._weighted.laid_out(sizes).counts(), sizes)
        starts = np.cumsum(sizes) - sizes
        zeros = present[:, starts]
        absent = np.repeat(zeros, sizes, axis=1)
        if self.unseen == "ignore":
            present[:, starts + sizes - 1] = 0.0
        known = self.n_categories_ if self.unseen == "error" else None
        odds = OddsModel.of(self.classes_, present, absent, sums_of_logs(zeros), self.class_log_prior_)
        return CategoryModel(
            odds.classes_, odds.weights, odds.intercept_, odds.scheme, odds=odds, sizes=sizes, known=known
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        return tags


_WHO = "CategoricalNB (input X)"


@dataclass(frozen=True, eq=False, kw_only=True)
class CategoryModel(LinearModel):
    """A linear model of categories: feature j has sizes[j] of the columns of weights, one for each category."""

    odds: OddsModel
    sizes: np.ndarray
    known: np.ndarray | None  # how many categories a feature may hold, where more are an error

    @property
    def n_features(self) -> int:
        return len(self.sizes)

    def margins(self, chunk: Chunk, survey: Any) -> np.ndarray:
        """ln P(y) + ln P(x | y), (n_rows, K)."""
        _checks.check_n_features(chunk.shape[1], self.n_features, type(self).__name__)
        cells = Cells.of(chunk, survey)
        if self.known is not None:
            cells.check_below(self.known, chunk.first_row)
        return self.odds.margins(*cells.one_hot(self.sizes, chunk.first_row))


# ---- cells: which category a row has of a feature --------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """The categories other than 0 of a block of rows, in CSR order."""

    categories: np.ndarray
    features: np.ndarray
    indptr: np.ndarray
    n_features: int

    @classmethod
    def of(cls, chunk: Chunk, survey: Any) -> Self:
        """The cells of a block; values should number the categories."""
        Domain(_WHO, 0.0, MOST).check(chunk, survey)
        if not survey.whole:
            position = int(np.flatnonzero(chunk.stored % 1)[0])
            row, column = chunk.locate(position)
            warnings.warn(
                f"{_WHO}: row {row}, column {column} is {chunk.stored[position]:g}, cut to a whole number; values "
                "should number the categories of a feature 0, 1, 2, .. (sklearn.preprocessing.OrdinalEncoder does)",
                _checks.StreamnbWarning,
                stacklevel=2,
            )
            chunk = chunk.with_values(np.floor(chunk.stored))
        matrix = sp.csr_array(chunk.to_matrix(), copy=True)
        matrix.eliminate_zeros()
        return cls(matrix.data.astype(np.int64), matrix.indices, matrix.indptr, chunk.shape[1])

    def sizes(self) -> np.ndarray:
        """Number of categories of each feature, the highest of these rows counted, (n_features,)."""
        sizes = np.ones(self.n_features, np.int64)
        np.maximum.at(sizes, self.features, self.categories + 1)
        return sizes

    def one_hot(self, sizes: np.ndarray, first_row: int) -> tuple[Chunk, Any]:
        """A block with sizes[j] columns for feature j and 1 in that of its category, in the last if there is none."""
        starts = np.cumsum(sizes) - sizes
        columns = starts[self.features] + np.minimum(self.categories, sizes[self.features] - 1)
        return csr_chunk(None, columns, self.indptr, int(sizes.sum()), first_row)

    def check_below(self, known: np.ndarray, first_row: int) -> None:
        """Refuse categories that were never seen."""
        strangers = np.flatnonzero(self.categories >= known[self.features])
        if strangers.size:
            cell = strangers[0]
            row = first_row + int(np.searchsorted(self.indptr, cell, side="right")) - 1
            category, feature = self.categories[cell], self.features[cell]
            raise ValueError(
                f"{_WHO}: row {row}, column {feature} has the unseen category {category}; this feature has "
                f"{known[feature]} categories. Set unseen='ignore' or 'smooth', or min_categories"
            )


# ---- statistics ------------------------------------------------------------------------------------------------------


@persistence.register
@dataclass(frozen=True, slots=True, eq=False)
class CategoryStats:
    """Weight of each category of each feature in each class; values that merge and subtract, as `ClassStats` do.

    Attributes
    ----------
    sizes : (n_features,) int
        Number of categories seen of each feature.
    sums : ClassStats
        Its features are the categories, sizes[j] for feature j, category 0 first and not counted.
    """

    sizes: np.ndarray
    sums: ClassStats

    @property
    def classes(self) -> np.ndarray:
        return self.sums.classes

    @property
    def closed(self) -> bool:
        return self.sums.closed

    @property
    def n_rows(self) -> int:
        return self.sums.n_rows

    @property
    def n_features(self) -> int:
        return len(self.sizes)

    @property
    def weight(self) -> np.ndarray:
        return self.sums.weight

    @property
    def moments(self) -> tuple[str, ...]:
        return self.sums.moments

    @property
    def nbytes(self) -> int:
        return self.sums.nbytes

    @property
    def dense_bytes(self) -> int:
        return self.sums.dense_bytes

    def with_tables(self, kind: Any) -> "CategoryStats":
        return replace(self, sums=self.sums.with_tables(kind))

    def reweighted(self, class_weight: np.ndarray) -> "CategoryStats":
        return replace(self, sums=self.sums.reweighted(class_weight))

    def __add__(self, other: "CategoryStats") -> "CategoryStats":
        sizes = self._common(other)
        return CategoryStats(sizes, self.laid_out(sizes).sums + other.laid_out(sizes).sums)

    def __sub__(self, other: "CategoryStats") -> "CategoryStats":
        sizes = self._common(other)
        return CategoryStats(sizes, self.laid_out(sizes).sums - other.laid_out(sizes).sums)

    def __mul__(self, gamma: float) -> "CategoryStats":
        return replace(self, sums=self.sums * gamma)

    def _common(self, other: "CategoryStats") -> np.ndarray:
        _checks.check_n_features(other.n_features, self.n_features, "the statistics")
        return np.maximum(self.sizes, other.sizes)

    def laid_out(self, sizes: np.ndarray) -> "CategoryStats":
        """The same with room for other numbers of categories; those beyond are dropped."""
        if np.array_equal(sizes, self.sizes):
            return self
        features = np.repeat(np.arange(len(sizes)), sizes)
        categories = np.arange(len(features)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        kept = np.flatnonzero(categories < self.sizes[features])
        source = (np.cumsum(self.sizes) - self.sizes)[features[kept]] + categories[kept]
        width = len(features)

        def moved(part: np.ndarray | None) -> np.ndarray | None:
            if part is None:
                return None
            wide = np.zeros((len(part), width))
            wide[:, kept] = part[:, source]
            return wide

        table = self.sums.table("sum").dense()
        tables = {**self.sums.tables, "sum": Table(moved(table.hi), moved(table.lo))}  # type: ignore[arg-type]
        return CategoryStats(sizes, replace(self.sums, tables=tables, n_features=width))

    def counts(self) -> np.ndarray:
        """Weight of every category of every feature, (K, sum of sizes): category 0 is what others leave."""
        counts = self.sums.sum.copy()
        starts = np.cumsum(self.sizes) - self.sizes
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
                counts[k, start] = rest if rest > 2.0**-90 * n[0] else 0.0  # less is what pairs cannot hold
        return counts

    def to_state(self) -> dict[str, Any]:
        return {"sizes": self.sizes, "sums": self.sums}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        sizes, sums = persistence.array("sizes", state["sizes"], ["i8"], (None,)), state["sums"]
        if (sizes < 1).any() or sizes.sum() != sums.n_features:
            raise ValueError(f"sizes {sizes.tolist()} should be at least 1 and {sums.n_features} in all")
        return cls(sizes, sums)


@dataclass(frozen=True)
class CategoryPlan(ScanPlan):
    """A scan that counts categories."""

    def accumulator(self) -> Any:
        return CategoryAccumulator(super().accumulator)

    def add(self, accumulator: Any, block: Block) -> None:
        """Check one block of rows and add it."""
        chunk, survey = checked(block)
        accumulator.add(Cells.of(chunk, survey), chunk.first_row, _checks.check_labels(block.y), block.weight)


class CategoryAccumulator:
    """Sums one-hot rows into tables with room for the categories so far; where there are more, it starts new ones."""

    def __init__(self, new: Any):
        self._new = new
        self._sums: Accumulator = new()
        self._sizes = self._room = np.zeros(0, np.int64)
        self._outgrown: CategoryStats | None = None

    @property
    def nbytes(self) -> int:
        """Memory of the tables."""
        return self._sums.nbytes + (0 if self._outgrown is None else self._outgrown.nbytes)

    def add(self, cells: Cells, first_row: int, y: np.ndarray, weight: np.ndarray | None) -> None:
        """Add one block of rows; y (n_rows,), weight (n_rows,) or None for 1 each."""
        sizes = cells.sizes()
        if not len(self._sizes):
            self._sizes = self._room = sizes
        _checks.check_n_features(cells.n_features, len(self._sizes))
        self._sizes = np.maximum(self._sizes, sizes)
        if (sizes > self._room).any():
            self._outgrown = self._total()
            self._sums = self._new()
            doubled = 2 ** np.ceil(np.log2(self._sizes)).astype(np.int64)  # so that this is rare
            self._room = np.where(self._sizes > self._room, doubled, self._room)
        self._sums.add(*cells.one_hot(self._room, first_row), y, weight)

    def _total(self) -> CategoryStats:
        stats = CategoryStats(self._room, self._sums.finish())
        return stats if self._outgrown is None else self._outgrown + stats

    def finish(self) -> CategoryStats:
        """The statistics; the accumulator is spent."""
        return self._total().laid_out(self._sizes)
