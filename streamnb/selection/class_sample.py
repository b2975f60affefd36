"""Some rows of each class: what searches for features look at beside the sums."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from streamnb.core import arguments, memory, row_checks
from streamnb.encoding.learning import opened_through
from streamnb.passes.options import RunOptions
from streamnb.passes.run import run
from streamnb.rows.source import Source
from streamnb.selection.fold_models import SampleTask
from streamnb.selection.searches import FeatureSearch
from streamnb.stats.class_stats import ClassStats, check_stats

CURE = "take fewer rows of each class, fewer candidates, or give a larger memory_limit"


@dataclass(frozen=True, eq=False)
class ClassSample:
    """Rows of each class, in an order that is as random as it is fixed, after what the scan did to them.

    Attributes
    ----------
    X : (n_rows, n_columns) array or CSR array
    codes : (n_rows,) int
        Classes, numbered as in the statistics.
    weight : (n_rows,) float64
        As it was given, or 1.
    fold : (n_rows,) int
        0 where rows were not split.
    columns : (n_columns,) int
        Which features these are, ascending.
    """

    X: Any
    codes: np.ndarray
    weight: np.ndarray
    fold: np.ndarray
    columns: np.ndarray

    def __repr__(self) -> str:
        return f"<ClassSample: {len(self.codes):,} rows, {len(self.columns):,} features>"

    def picked(self, rows: np.ndarray) -> ClassSample:
        """Some rows, in this order."""
        return ClassSample(self.X[rows], self.codes[rows], self.weight[rows], self.fold[rows], self.columns)

    def by_fold(self) -> ClassSample:
        """The rows of one fold after the other."""
        return self.picked(np.argsort(self.fold, kind="stable"))

    def dense(self) -> np.ndarray:
        """Its values, (n_rows, n_columns)."""
        return self.X.toarray() if sp.issparse(self.X) else self.X

    def shares(self, stats: ClassStats) -> np.ndarray:
        """What each row stands for, (n_rows,): classes weigh as much as in all rows; 1 where all rows are here."""
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
    """Read the rows once more and keep some of each class, for the searches of `rank_features` that look at rows.

    Parameters
    ----------
    X, y : as in `scan`
        The rows that the statistics are of.
    stats : ClassStats
        Which classes there are, what is done to each row, and how rows are split into folds.
    rows : int or None
        Of each class, those whose numbers are scattered lowest; a class that has fewer is kept whole. None: all rows.
    columns : (n_columns,) ints, optional
        The features to keep, such as ``rank_features(stats, ..).ranking[:100]``; all by default.
    seed : int
        Another one keeps other rows.
    sample_weight, progress, n_threads, client, checkpoint
        As in `scan`.
    memory_limit : int or str, optional
        Bytes that the rows may take, 8 for each of their values; half of the free memory by default.

    Returns
    -------
    ClassSample
        The same rows, in the same order, however they are cut into blocks and whoever reads them.

    Raises
    ------
    MemoryError
        They would take more than `memory_limit`: the message says how much.

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
    source = opened_through(stats.step, X, y, sample_weight)
    return sampled(stats, source, rows, _columns(columns, stats.n_features), seed, options)


def sampled(
    stats: ClassStats, source: Source, rows: int | None, columns: np.ndarray | None, seed: int, options: RunOptions
) -> ClassSample:
    """The same of rows that are open."""
    most = int(stats.rows.max(initial=1))
    each = most if rows is None else min(arguments.positive_integer("rows", rows), most)
    width = stats.n_features if columns is None else len(columns)
    needed, allowed = 8 * int(np.minimum(stats.rows, each).sum()) * width, memory.allowed(options.memory_limit)
    if needed > allowed:
        what = f"up to {each:,} rows of each of {len(stats.classes):,} classes, {width:,} values each,"
        memory.refuse(what, needed, allowed, CURE)
    task = SampleTask(stats.classes, stats.folding, 0, each, seed, columns, stats.options, stats.n_features)
    found, report = run(task, source, options)
    row_checks.check_same_rows(report.rows, stats.n_rows)
    drawn = found.drawn(weighed=False)
    columns = np.arange(stats.n_features) if columns is None else columns
    return ClassSample(drawn.X, drawn.labels.indices.astype(np.int64), drawn.weight, drawn.fold, columns)


def check_sample(search: FeatureSearch, given: Any) -> ClassSample:
    """The sample that a search looks at, or say what it should be."""
    if not isinstance(given, ClassSample):
        raise ValueError(f"by={search.name!r} looks at {search.reads}; snb.FeatureSelector reads what it needs")
    return given


def _columns(columns: Any, n_features: int) -> np.ndarray | None:
    if columns is None:
        return None
    given = np.unique(arguments.as_array("columns", columns))
    if given.dtype.kind not in "iu" or not given.size or given[0] < 0 or given[-1] >= n_features:
        raise ValueError(f"columns should be numbers of features, from 0 to {n_features - 1}; got {columns!r}")
    return given
