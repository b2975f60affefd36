"""What a classifier of several reads is trained on: how rows are read, what the scan told of them, and the rows."""

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from streamnb.core import memory
from streamnb.passes.dask_workers import client_for
from streamnb.passes.options import RunOptions
from streamnb.passes.report import Report
from streamnb.rows.derived_sources import CachedSource, NarrowSource, cached, in_tiles
from streamnb.rows.preparing import RowOptions
from streamnb.rows.source import Source
from streamnb.selection.folded_scan import ScannedFolds
from streamnb.stats.class_stats import ClassStats
from streamnb.training.fitting import Trained
from streamnb.training.objectives import Objective, RowSums, Softmax, features_used
from streamnb.training.reading import ReadTask

TILE_ROWS = 1 << 13  # of texts, which come in smaller blocks: more values of a column go together
KEPT = 8  # of the memory that may be taken, the part for rows that are read again


@dataclass(frozen=True, eq=False)
class Posed:
    """What a model is trained on: reads of rows, sums, factors of features, and weights to start towards."""

    task: ReadTask
    sums: RowSums
    scale: Any
    towards: np.ndarray | None

    def of_features(self, features: np.ndarray) -> Self:
        """The same of some features, of rows that are prepared and have no others."""
        used = np.append(features, len(self.task.weights) - 1)
        zeros, ones = np.zeros((len(used), self.task.weights.shape[1])), np.ones(len(used))
        scale = None if self.scale is None else self.scale[features]
        towards = None if self.towards is None else self.towards[used]
        task = replace(self.task, options=RowOptions(), weights=zeros, grid=ones)
        return replace(self, task=task, sums=self.sums.of_features(features), scale=scale, towards=towards)


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """Rows as they were given, and as models read them: prepared, and without features that none of them has.

    Attributes
    ----------
    given, read : Source
    n_features : int
        Of `read`.
    features : (n_features,) ints, optional
        Their numbers among all features; None where rows are read as they were opened.
    """

    given: Source
    read: Source
    n_features: int
    features: np.ndarray | None = None

    @classmethod
    def of(
        cls, stats: ClassStats, given: Source, rows: Source, options: RunOptions, narrows: bool = True
    ) -> "TrainingRows":
        """Rows of these statistics, kept in memory where there is room; as they were opened where nothing `narrows`.

        `rows` are those that were given, after what was learned has been done to them.
        """
        n_features, on_workers = stats.n_features, client_for(options.client) is not None
        if not narrows or rows.lazy or on_workers:  # workers keep no rows from read to read
            return cls(given, rows, n_features)
        features = features_used(stats)
        if not len(features) or (rows.in_memory and len(features) == n_features):
            return cls(given, rows, n_features)
        few = in_tiles(NarrowSource(rows, stats.options, features, n_features), TILE_ROWS)
        return cls(given, CachedSource(few, room_for_rows(options)), len(features), features)

    def without_folds(self, of_folds: ScannedFolds) -> "TrainingRows":
        """As models without each fold share them: as given where what is done to them was learned outside the fold."""
        return TrainingRows(self.given, self.given, of_folds.stats.n_features) if of_folds.rests else self

    def posed(self, posed: Posed) -> Posed:
        """What a model is trained on, as it is of these."""
        return posed if self.features is None else posed.of_features(self.features)

    def of_all(self, trained: Trained, n_features: int) -> Trained:
        """What was trained, with weights of 0 for the other features of all."""
        if self.features is None:
            return trained
        weights = np.zeros((n_features + 1, trained.weights.shape[1]))
        weights[np.append(self.features, n_features)] = trained.weights
        return replace(trained, weights=weights)


@dataclass(frozen=True, eq=False)
class Scanned:
    """What the scan of rows with folds left, the rows, how they are read on, and what was read before and by it."""

    of_folds: ScannedFolds
    rows: TrainingRows
    options: RunOptions
    before: Report
    report: Report

    @property
    def stats(self) -> ClassStats:
        """The statistics with folds."""
        return self.of_folds.stats

    @property
    def without_folds(self) -> TrainingRows:
        """The rows as models without each fold share them."""
        return self.rows.without_folds(self.of_folds)


def given_start(
    model: Any, classes: np.ndarray, shape: tuple[int, int], scale: Any, options: RowOptions, objective: Objective
) -> np.ndarray:
    """The weights of a model of such rows and their classes to start from, (n_features + 1, R), of `shape` (.., R)."""
    if model.weights.shape != shape or not np.array_equal(model.classes_, classes):
        raise ValueError(f"start={model!r} should have the classes and features of X, and {shape[1]} rows of weights")
    same_scale = np.array_equal(model.scale, scale) if scale is not None else model.scale is None
    quadratic = getattr(model, "quadratic", False)
    linear = set(model.moments) == {"sum"} and model.second is None and model.curves is None and not quadratic
    if not linear or not same_scale or model.options != options:
        raise ValueError(f"start={model!r} should be linear in x, with the transform, normalize and idf asked for")
    start = np.vstack([model.sparsify().weights.toarray(), model.intercept_])
    if not np.isfinite(start).all():
        raise ValueError(f"start={model!r} has weights that are not finite; every class should have rows")
    shift = isinstance(objective, Softmax)  # the same of all classes changes nothing
    return start - start.mean(axis=1, keepdims=True) if shift else start


def read_often(rows: Source, options: RunOptions) -> Source:
    """Rows that are scanned and then read, whose features are made once where there is room."""
    return cached(rows, room_for_rows(options))


def room_for_rows(options: RunOptions) -> int:
    """Bytes of rows that may be kept, twice: as they are made, and as they are trained on."""
    return memory.allowed(options.memory_limit) // KEPT
