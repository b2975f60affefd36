"""Sums over rows whose offsets are exposures: one scan for where models start, then losses, slopes and curvatures."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256
from operator import add
from typing import Annotated, Any, Self

import numpy as np

from streamnb.core import row_checks
from streamnb.fits.statistic import Statistic
from streamnb.kernels import descent
from streamnb.models.linear import linear_scores
from streamnb.passes.contract import Report, Wants
from streamnb.problem.losses import TweedieLoss
from streamnb.regression.target_sums import targets_of
from streamnb.rows.boundary import as_chunk, checked
from streamnb.rows.preparing import RowOptions
from streamnb.rows.row_blocks import Block, Chunk, CSRChunk
from streamnb.rows.splits import Folding, check_n_folds, check_no_empty
from streamnb.stats.accumulating import Accumulator
from streamnb.stats.class_stats import ClassStats
from streamnb.training.objectives import MOMENTS, RowSums
from streamnb.training.reading import add_products

ONE_CLASS = np.zeros(1, np.int64)
CACHED, FEWEST, MOST = 1 << 15, 64, 2048  # scores that stay in the cache, and rows at once
TILE = 2048  # rows


@dataclass(frozen=True, eq=False)
class Exposed:
    """Rows with targets y and weights by which the linear predictor has no offset; see `Loss.absorbed`.

    Attributes
    ----------
    y, weight : (n_rows,)
    factor : (n_rows,)
        What weights were multiplied by.
    """

    y: np.ndarray
    weight: np.ndarray
    factor: np.ndarray

    @classmethod
    def of(cls, loss: TweedieLoss, offset: bool, block: Block) -> Self:
        """The rows of a block, whose y has a second column where there is an `offset`."""
        table = targets_of(block)
        n_targets = table.shape[1] - offset
        if n_targets != 1:
            raise ValueError(
                f"y has {n_targets} columns; a {loss.kind} model predicts one number a row: fit one for each column"
            )
        y, own = table[:, 0], table[:, 1] if offset else None
        loss.check(y, block.weight, block.first_row)
        if own is not None:
            loss.check_offset(own, block.first_row)
        weight = np.ones(len(y)) if block.weight is None else np.asarray(block.weight, np.float64)
        y, factor = loss.absorbed(np.where(weight > 0.0, y, 1.0), np.ones(len(y)), own)
        assert factor is not None
        return cls(y, weight * factor, factor)


@dataclass(frozen=True)
class LossTotals:
    """Weighted sums over rows: of the rows themselves, of exposed weights, targets, constants of losses, and levels."""

    weight: float
    exposed: float
    target: float
    saturated: float
    level: float

    @property
    def mean(self) -> float:
        """The mean target."""
        return self.target / self.exposed

    def loss_at(self, loss: TweedieLoss, s: np.ndarray) -> float:
        """The losses where the linear predictor is s (1,) in all rows."""
        mean = np.array([self.mean])
        of_mean = loss.values(s, mean) - loss.saturated(mean)
        return max(float(self.saturated + self.exposed * of_mean[0]), 0.0)


@dataclass(eq=False)
class ExposedSums(Statistic):
    """Moments of features and of targets, by fold, and the largest absolute value of each feature."""

    loss: TweedieLoss
    offset: bool
    folding: Folding | None
    features: Annotated[Any, add]  # an Accumulator as long as rows are added
    targets: Annotated[Any, add]
    largest: Annotated[np.ndarray, np.maximum]
    title = "scan"

    @classmethod
    def asked(cls, loss: TweedieLoss, offset: bool, folding: Folding | None, limit: int | None) -> Self:
        """The sums of no rows."""
        features = Accumulator(MOMENTS[:2], RowOptions(), ONE_CLASS, memory_limit=limit, together=MOMENTS[1:2])
        targets = Accumulator(MOMENTS[:1], RowOptions(), ONE_CLASS, folding=folding, memory_limit=limit)
        return cls(loss, offset, folding, features, targets, np.zeros(1))

    def add_block(self, block: Block) -> None:
        (chunk, survey), rows = checked(block), Exposed.of(self.loss, self.offset, block)
        labels = np.zeros(len(rows.y), np.int64)
        self.features.add(chunk, survey, labels, rows.weight)
        with np.errstate(divide="ignore"):
            beside = self.loss.saturated(rows.y), self.loss.level(rows.y), 1.0 / rows.factor
        columns = np.column_stack([rows.y, *beside])
        self.targets.add(*as_chunk(columns, block.first_row), labels, rows.weight, block.split)
        self.largest = np.maximum(self.largest, _largest(chunk))

    def wants(self, n_rows: int | None, n_features: int | None) -> Wants:
        if n_rows is not None:
            check_n_folds(self.folding, n_rows)
        return Wants()

    def ended(self, report: Report) -> Self:
        row_checks.check_min_size(report.rows, 1)
        row_checks.check_total_weight(self.targets.total_weight)
        if self.folding is not None:
            check_no_empty(self.folding, [part.n_rows for part in self.targets.folds])
        return self

    def about(self) -> dict[str, str]:
        known = {"the loss": repr(self.loss), "offset": repr(self.offset), "folding": repr(self.folding)}
        return {"the task": type(self).__name__, **known}

    @cached_property
    def moments(self) -> RowSums:
        """Of the features over all rows."""
        return RowSums.of(self.features)

    def totals(self, without: int | None = None) -> LossTotals:
        """The totals over all rows, or those outside a fold."""
        stats: ClassStats = self.targets if without is None else self.targets.without_fold(without)
        target, saturated, level, weight = stats.table("sum").value()[0].tolist()
        return LossTotals(weight, stats.total_weight, target, saturated, level)


def _largest(chunk: Chunk) -> np.ndarray:
    """The largest absolute value of each column, (n_features,)."""
    if not isinstance(chunk, CSRChunk):
        return np.abs(chunk.values).max(axis=0, initial=0.0).astype(np.float64)
    largest = np.zeros(chunk.shape[1])
    np.maximum.at(largest, chunk.indices, np.abs(chunk.data).astype(np.float64))
    return largest


@dataclass(eq=False)
class CurvedSums(Statistic):
    """Losses of models side by side, their gradients, and curvatures of groups of models: sums of one read.

    Parameters
    ----------
    loss, offset, folding
        As of `ExposedSums`.
    weights : (n_features + 1, n_models), intercepts last
    folds : (n_models,) int
        The fold that each model leaves out, -1 for none.
    groups : (n_models,) int
        The group of each; the curvature of a group is that at the mean of its linear predictors.
    unit : (n_features + 1,)
        Powers of two above the absolute values of features and, last, of 1.
    bound : float
        A power of two above the weighted sum of slopes, and of curvatures.
    top : float
        A power of two above the losses that matter, of all rows together.
    every : int
        Curvatures are of every so many tiles of 2,048 rows alone.

    Attributes
    ----------
    losses : (n_folds, n_models)
        On the rows of each fold, or of all rows; capped at multiples of `top`.
    gradient : (n_features + 1, n_models)
        Of the loss of the rows outside the fold of each model.
    curvature : (n_features + 1, n_features + 1, n_groups)
        Sums of products of features, weighted by second derivatives, in units of `unit`; the lower triangle.
    rows : (n_folds,)
    """

    loss: TweedieLoss
    offset: bool
    folding: Folding | None
    weights: np.ndarray
    folds: np.ndarray
    groups: np.ndarray
    unit: np.ndarray
    bound: float
    top: float
    every: int
    losses: Annotated[np.ndarray, np.add]
    gradient: Annotated[np.ndarray, np.add]
    curvature: Annotated[np.ndarray, np.add]
    rows: Annotated[np.ndarray, np.add]
    title = "read"

    @classmethod
    def asked(cls, sums: ExposedSums, n_groups: int, **how: Any) -> Self:
        """The sums of no rows, for weights and what else `how` gives."""
        n, n_models = how["weights"].shape
        n_folds = 1 if sums.folding is None else sums.folding.n_folds
        empty = np.zeros((n_folds, n_models)), np.zeros((n, n_models)), np.zeros((n, n, n_groups)), np.zeros(n_folds)
        losses, gradient, curvature, rows = empty
        fields: dict[str, Any] = {"losses": losses, "gradient": gradient, "curvature": curvature, "rows": rows}
        return cls(sums.loss, sums.offset, sums.folding, **how, **fields)

    def ended(self, report: Report) -> Self:
        return self

    def about(self) -> dict[str, str]:
        digest = sha256()
        for array in (self.weights, self.folds, self.groups, self.unit, np.array([self.bound, self.top, self.every])):
            digest.update(np.ascontiguousarray(array).tobytes())
        known = {"the loss": repr(self.loss), "offset": repr(self.offset), "folding": repr(self.folding)}
        return {"the task": type(self).__name__, **known, "weights": digest.hexdigest()[:16]}

    def add_block(self, block: Block) -> None:
        chunk, rows = checked(block)[0], Exposed.of(self.loss, self.offset, block)
        row_checks.check_n_features(chunk.shape[1], len(self.weights) - 1, "the scan")
        splits = np.zeros(block.n_rows, np.int64)
        if self.folding is not None:
            splits = self.folding.numbers(block.first_row, block.n_rows, block.split, 0)
        self.rows += np.bincount(splits, minlength=len(self.rows))
        at_once = min(max(CACHED // self.weights.shape[1], FEWEST), MOST)
        for first in range(0, block.n_rows, at_once):
            where = slice(first, min(first + at_once, block.n_rows))
            some = replace(rows, y=rows.y[where], weight=rows.weight[where])
            self._add_some(chunk.of_rows(where.start, where.stop), some, splits[where])

    def _add_some(self, chunk: Chunk, rows: Exposed, splits: np.ndarray) -> None:
        scores = linear_scores(chunk, self.weights[:-1], self.weights[-1])
        losses, slopes = self.loss.evaluated(scores, rows.y[:, None])
        descent.weigh_folds(losses, slopes, rows.weight, splits, self.folds, self.top, self.losses)
        grids = 3.0 * self.bound * self.unit
        descent.add_intercepts(slopes, np.full(slopes.shape[1], grids[-1]), self.gradient[-1])
        add_products(chunk, None, slopes, grids[:-1], self.gradient)
        self._add_curvature(chunk, rows, scores)

    def _add_curvature(self, chunk: Chunk, rows: Exposed, scores: np.ndarray) -> None:
        sampled = np.arange(chunk.first_row, chunk.first_row + len(scores)) // TILE % self.every == 0
        if not sampled.any():
            return
        n_groups = self.curvature.shape[2]
        means = np.column_stack([scores[:, self.groups == group].mean(axis=1) for group in range(n_groups)])
        weight, curvatures = rows.weight[:, None], self.loss.curvatures(means, rows.y[:, None])
        curvatures, grid = np.where((weight > 0.0) & sampled[:, None], weight * curvatures, 0.0), 3.0 * self.bound
        if isinstance(chunk, CSRChunk):
            inverse = 1.0 / self.unit
            descent.add_pairs_csr(chunk.data, chunk.indices, chunk.indptr, inverse, curvatures, grid, self.curvature)
            return
        values = np.column_stack([chunk.values, np.ones(len(rows.y))]) / self.unit
        for group in range(n_groups):
            products = np.zeros((len(self.unit), len(self.unit)))
            descent.add_pairs_dense(values, np.ascontiguousarray(curvatures[:, group]), grid, products)
            self.curvature[:, :, group] += products
