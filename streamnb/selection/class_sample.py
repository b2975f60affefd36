"""Draws a sample of rows of each class for searches that look at rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from streamnb.core import arguments, memory, row_checks
from streamnb.encoding.learning import opened_through
from streamnb.passes.contract import RunOptions
from streamnb.passes.run import run
from streamnb.rows.source import Source
from streamnb.stats.class_stats import ClassStats, check_stats
from streamnb.stats.row_sample import SampleTask

CURE = "take fewer rows of each class, fewer candidates, or give a larger memory_limit"


@dataclass(frozen=True, eq=False)
class ClassSample:
    """A sample of rows of each class, prepared as in the scan, in a fixed pseudo-random order.

    Attributes
    ----------
    X : (n_rows, n_columns) array or CSR array
    codes : (n_rows,) int
        Class codes, as in the statistics.
    weight : (n_rows,) float64
        Sample weights as given, or 1.
    fold : (n_rows,) int
        Folds of the rows; 0 where rows were not split.
    columns : (n_columns,) int
        Indices of the features, ascending.
    """

    X: Any
    codes: np.ndarray
    weight: np.ndarray
    fold: np.ndarray
    columns: np.ndarray

    def __repr__(self) -> str:
        return f"<ClassSample: {len(self.codes):,} rows, {len(self.columns):,} features>"

    def picked(self, rows: np.ndarray) -> ClassSample:
        """The rows with these indices, in this order."""
        return ClassSample(self.X[rows], self.codes[rows], self.weight[rows], self.fold[rows], self.columns)

    def by_fold(self) -> ClassSample:
        """The rows ordered by fold."""
        return self.picked(np.argsort(self.fold, kind="stable"))

    def dense(self) -> np.ndarray:
        """The values as a dense array, (n_rows, n_columns)."""
        return self.X.toarray() if sp.issparse(self.X) else self.X

    def shares(self, stats: ClassStats) -> np.ndarray:
        """Weights of the rows, (n_rows,), scaled so that each class has the weight that it has in all rows."""
        kept = np.bincount(self.codes, self.weight, len(stats.classes))
        return self.weight * np.divide(stats.weight, kept, out=np.zeros_like(kept), where=kept > 0.0)[self.codes]


def sample_rows(
    X: Any,
    y: Any = None,
    stats: ClassStats | None = None,
    rows: int | None = 1000,
    *,
    columns: Any = None,
    seed: int = 0,
    sample_weight: Any = None,
    progress: bool | None = None,
    n_threads: int | None = None,
    memory_limit: Any = None,
    client: Any = None,
    checkpoint: Any = None,
) -> ClassSample:
    """Read the rows again and sample rows of each class, for the searches of `rank_features` that need rows.

    Parameters
    ----------
    X, y : as in `scan`
        The rows from which the statistics were computed.
    stats : ClassStats
        Defines the classes, the row transforms and the folds.
    rows : int or None
        Rows of each class, chosen pseudo-randomly by row number; a smaller class is kept whole. None: all rows.
    columns : (n_columns,) ints, optional
        The features to keep, such as ``rank_features(stats, ..).ranking[:100]``; all by default.
    seed : int
        Seed of the sample.
    sample_weight, progress, n_threads, client, checkpoint
        As in `scan`.
    memory_limit : int or str, optional
        Bytes that the rows may take, 8 per value; half of the free memory by default.

    Returns
    -------
    ClassSample
        The same rows in the same order, whatever the blocks, threads and workers.

    Raises
    ------
    MemoryError
        The rows would take more than `memory_limit`; the message says how much.

    Examples
    --------
    >>> import numpy as np, streamnb as snb
    >>> X, y = np.arange(20).reshape(10, 2) % 3, np.repeat(["a", "b"], 5)
    >>> stats = snb.scan(X, y, folds=2)
    >>> snb.sample_rows(X, y, stats, rows=2)
    <ClassSample: 4 rows, 2 features>
    """
    check_stats(stats)
    assert stats is not None
    options = RunOptions(progress, n_threads, memory_limit, client, checkpoint)
    if stats.folding is not None and stats.folding.by != "rows":
        raise ValueError(
            f"stats were scanned with folds by {stats.folding.by!r}, which the rows do not tell; scan with folds=5 or "
            "another number, or take snb.FeatureSelector, which splits the rows itself"
        )
    source, kept = opened_through(stats.step, X, y, sample_weight), None
    if columns is not None:
        kept, n_features = np.unique(arguments.as_array("columns", columns)), stats.n_features
        if kept.dtype.kind not in "iu" or not kept.size or kept[0] < 0 or kept[-1] >= n_features:
            raise ValueError(f"columns should be numbers of features, from 0 to {n_features - 1}; got {columns!r}")
    return sampled(stats, source, rows, kept, seed, options)


def sampled(
    stats: ClassStats, source: Source, rows: int | None, columns: np.ndarray | None, seed: int, options: RunOptions
) -> ClassSample:
    """The same as `sample_rows` for an open source of rows."""
    most = int(stats.rows.max(initial=1))
    each = most if rows is None else min(arguments.positive_integer("rows", rows), most)
    width = stats.n_features if columns is None else len(columns)
    what = f"up to {each:,} rows of each of {len(stats.classes):,} classes, {width:,} values each,"
    memory.check(what, 8 * int(np.minimum(stats.rows, each).sum()) * width, options.memory_limit, CURE)
    task = SampleTask(stats.classes, stats.folding, 0, each, seed, columns, stats.options, stats.n_features)
    sample, report = run(task, source, options)
    row_checks.check_same_rows(report.rows, stats.n_rows)
    drawn = sample.drawn(weighed=False)
    columns = np.arange(stats.n_features) if columns is None else columns
    return ClassSample(drawn.X, drawn.labels.indices.astype(np.int64), drawn.weight, drawn.fold, columns)
