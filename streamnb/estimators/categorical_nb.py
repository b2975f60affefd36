"""Categorical naive Bayes, from counts of each category in one scan."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from streamnb.core import memory, persistence, row_checks
from streamnb.estimators.categories import CategoryAccumulator, CategoryStats, Cells, Slots
from streamnb.estimators.discrete_nb import DiscreteNB
from streamnb.estimators.learned import learned, logs
from streamnb.estimators.parameters import number_from_0, one_of
from streamnb.models.linear import LinearModel, OddsModel, sums_of_logs
from streamnb.rows.boundary import checked
from streamnb.rows.preparing import RowOptions
from streamnb.rows.row_blocks import Block, Chunk
from streamnb.scanning.class_scan import ClassScan
from streamnb.stats.accumulating import Accumulator
from streamnb.stats.sparse_tables import LARGE

UNSEEN = ("error", "ignore", "smooth")
COPIES = 3  # computing with a table takes memory for at least so many copies of it


@persistence.register
class CategoricalNB(DiscreteNB):
    """Categorical naive Bayes: ``ln P(x, y) = ln P(y) + sum_j ln p_y(x_j)``, as scikit-learn's of this name.

    With ``p_y(x_j = c) = (S_yjc + alpha) / (N_y + alpha C_j)``, S_yjc the weight of the rows of a class with category
    c = 0, 1, .., C_j - 1. X may be sparse: values that are not stored are category 0. Other than whole numbers are
    truncated, as in scikit-learn, but with a warning.

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

    def _solved(self) -> CategoryModel:
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
            memory.refuse(what, n_bytes, limit, "give a larger memory_limit, or take fewer categories or features")

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

    def total(self, arrays: Any) -> Any:
        return persistence.restored(CategoryStats, arrays)

    def add(self, partial: Any, block: Block) -> None:
        """Check one block of rows and add it."""
        chunk, survey = checked(block)
        partial.add(
            Cells.of(chunk, survey).weighed(block.weight),
            chunk.first_row,
            row_checks.check_labels(block.y),
            block.weight,
        )
