"""Derives the data of training from the statistics of a scan: start, sums and scale."""

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from streamnb.passes.contract import RunOptions
from streamnb.rows.preparing import LearnedStep, RowOptions
from streamnb.rows.source import NarrowSource, Source, TiledSource
from streamnb.solving.objectives import RowSums, Softmax, features_used
from streamnb.solving.reading import ReadTask
from streamnb.stats.class_stats import ClassStats

TILE_ROWS = 1 << 13  # for texts, which come in smaller blocks: larger tiles hold more values of each column


@dataclass(frozen=True, eq=False)
class TrainingData:
    """The data of training that follow from the scan of the rows.

    Attributes
    ----------
    task : ReadTask
        A read of the rows, with weights 0.
    sums : RowSums
        Sums of the same rows.
    scale : (n_features,), optional
        Factors of the features, such as idf.
    start : (n_features + 1, R), optional
        Weights of another model, towards which the first step goes.
    solved : Any
        Results that the method has computed from the same sums.
    sample : TrainingSample, optional
        Rows whose curvature stands for that of all rows.
    scale_of_all : (n_features of the model,), optional
    features : ints, optional
        Indices of the features among those of the model; None for all of them.
    outside : int, optional
        The fold whose rows are left out; None for the data of all rows.
    path : RowPath, optional
        The rows themselves, for models that are only judged.
    """

    task: ReadTask
    sums: RowSums
    scale: np.ndarray | None = None
    start: np.ndarray | None = None
    solved: Any = None
    sample: Any = None
    scale_of_all: np.ndarray | None = None
    features: np.ndarray | None = None
    outside: int | None = None
    path: Any = None

    def of_features(self, features: np.ndarray) -> Self:
        """The same for prepared rows that have only these features."""
        given, shape = self.task, (len(features), self.task.weights.shape[1])
        task = given.at_zero(given.objective, RowOptions(), given.classes, shape, given.class_weight)
        scale = None if self.scale is None else self.scale[features]
        start = None if self.start is None else self.start[np.append(features, len(given.weights) - 1)]
        sums = self.sums.of_features(features)
        return replace(self, task=task, sums=sums, scale=scale, start=start, features=features)

    def of_model(self, weights: np.ndarray, n_features: int) -> np.ndarray:
        """Trained weights expanded to all features of the model, with 0 for features that no row has."""
        if self.features is None:
            return weights
        out = np.zeros((n_features + 1, weights.shape[1]))
        out[np.append(self.features, n_features)] = weights
        return out


def is_dense_store(rows: Source) -> bool:
    """Whether rows are a dense array in a Zarr store, whose blocks are neither small nor changed by training."""
    return bool(rows.stored) and rows.n_values == (rows.n_rows or 0) * (rows.n_features or 0)


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """Rows for training: prepared, and without the features that no row has.

    Attributes
    ----------
    read : Source
    n_features : int
        The number of features of `read`.
    options : RowOptions
        The row transforms of a model of all rows.
    step : LearnedStep, optional
        The step that was learned from the rows and applied to them.
    features : (n_features,) ints, optional
        Their indices among all features; None where rows are read as they were opened.
    """

    read: Source
    n_features: int
    options: RowOptions
    step: LearnedStep | None = None
    features: np.ndarray | None = None

    @classmethod
    def of(cls, stats: ClassStats, rows: Source, options: RunOptions, step: LearnedStep | None, narrows: bool) -> Self:
        """Rows of these statistics, kept by their first read; as they were opened, unless `narrows`."""
        as_opened = cls(rows, stats.n_features, stats.options, step)
        if not narrows or rows.lazy:
            return as_opened
        features = features_used(stats)
        ready = rows.in_memory or (rows.keepers and is_dense_store(rows) and stats.options == RowOptions())
        if not len(features) or (ready and len(features) == stats.n_features):
            return as_opened
        narrow = NarrowSource(rows, stats.options, features, stats.n_features)
        few = TiledSource(narrow, TILE_ROWS, whole=False)  # so that workers read the segments that they have kept
        return replace(as_opened, read=options.kept(few, costly=True), n_features=len(features), features=features)


def start_weights(
    model: Any, stats: ClassStats, task: ReadTask, scale: np.ndarray | None, options: RowOptions
) -> np.ndarray:
    """Weights to start from, (n_features + 1, R), of a model with the same classes and preparation of rows."""
    n_features, n_rows = len(task.weights) - 1, task.weights.shape[1]
    if model.weights.shape != (n_features, n_rows) or not np.array_equal(model.classes_, stats.classes):
        raise ValueError(f"start={model!r} should have the classes and features of X, and {n_rows} rows of weights")
    same_scale = np.array_equal(model.scale, scale) if scale is not None else model.scale is None
    quadratic = getattr(model, "quadratic", False)
    linear = set(model.moments) == {"sum"} and model.second is None and model.curves is None and not quadratic
    if not linear or not same_scale or model.options != options:
        raise ValueError(f"start={model!r} should be linear in x, with the same transform, normalize and idf")
    start = np.vstack([model.sparsify().weights.toarray(), model.intercept_])
    if not np.isfinite(start).all():
        raise ValueError(f"start={model!r} has weights that are not finite; every class should have rows")
    shift = isinstance(task.objective, Softmax)  # softmax does not change when all classes get the same addend
    return start - start.mean(axis=1, keepdims=True) if shift else start
