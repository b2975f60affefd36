"""Rankings of features, samples of rows of each class, and the base class of searches for features."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
import scipy.sparse as sp

from streamnb.core import arguments, frames, memory, persistence, row_checks
from streamnb.encoding.learning import opened_through
from streamnb.passes.contract import RunOptions
from streamnb.passes.run import run
from streamnb.problem.family import Family
from streamnb.rows.source import Source
from streamnb.selection.criteria import CRITERIA, VALUES, Criterion, OfCells
from streamnb.stats.class_stats import ClassStats, check_stats
from streamnb.stats.row_sample import SampleTask

CURE = "use fewer rows of each class, fewer candidates, or give a larger memory_limit"


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
            "another number, or use snb.FeatureSelector, which splits the rows itself"
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


@persistence.register
@dataclass(frozen=True, eq=False)
class FeatureRanking(persistence.Saved):
    """Scores of features, and their ranking.

    Scores by "mutual_info", "gain_ratio", "symmetrical_uncertainty", "kullback_leibler" and "one_r" use presence alone,
    unless `rank_features` was given `values`. They cannot see a feature with the values {1, 2} in one class and
    {3, 4, 5} in the other.

    Attributes
    ----------
    by : str
        The criterion.
    scores : (n_features,) float64
        Higher means more informative about the class; never NaN.
    ranking : (n_features,) int
        Features, best first; features of equal score in column order. ``ranking[:k]`` are the k best.
    pvalues : (n_features,) float64 or None
        For criteria that are tests with a known distribution: "chi2" and "f_classif".
    values : {"presence", "value", "bins"}
        What the criteria of presence distinguished.
    labels : (n_labels,) or None
        For statistics of an indicator: scores, ranking and pvalues are then (n_labels, n_features), one row per label.
    chosen : (n_chosen,) int or None
        For a search, such as "fcbf" or "sfs": the features that it keeps, in its order. The ranking begins with them,
        and `scores` are those of the criterion that the search began with.
    curve : (n_steps, n_folds) float64 or None
        For a search that judges models: row i has the accuracy of the model with i + 1 features on each fold's rows.

    Examples
    --------
    >>> import streamnb as snb
    >>> X, y = [[2, 0], [3, 1], [0, 4], [1, 5]], ["cat", "cat", "dog", "dog"]
    >>> ranking = snb.rank_features(snb.scan(X, y), by="chi2")
    >>> ranking.ranking.tolist(), ranking.scores.round(2).tolist()  # best first; the score of each column
    ([1, 0], [2.67, 6.4])
    """

    by: str
    scores: np.ndarray
    ranking: np.ndarray
    pvalues: np.ndarray | None = None
    values: str = "presence"
    labels: np.ndarray | None = None
    chosen: Annotated[np.ndarray, "i8[n_chosen]"] | None = None
    curve: Annotated[np.ndarray, "f8[steps, folds]"] | None = None

    def _check_loaded(self) -> None:
        n_labels = () if self.labels is None else (len(row_checks.check_labels(self.labels, "labels")),)
        shape = persistence.array("scores", self.scores, ["f8"], (*n_labels, None)).shape
        persistence.array("ranking", self.ranking, ["i8"], shape)
        if (np.sort(self.ranking) != np.arange(shape[-1])).any():
            raise ValueError(f"ranking should hold each of the {shape[-1]} features once")
        if self.pvalues is not None:
            persistence.array("pvalues", self.pvalues, ["f8"], shape)
        arguments.one_of("values", self.values, VALUES)
        chosen, curve = self.chosen, self.curve
        if chosen is not None and not np.array_equal(chosen, self.ranking[: len(chosen)]):
            raise ValueError("the ranking should begin with the features that are chosen")
        if curve is not None and (chosen is None or not len(chosen) <= len(curve) <= shape[-1]):
            raise ValueError(f"the curve has {len(curve)} rows, of 1, 2, .. features up to those that are chosen")

    def __repr__(self) -> str:
        n_features = self.ranking.shape[-1]
        if self.labels is not None:
            return f"<FeatureRanking {self._title}: {n_features:,} features for each of {len(self.labels):,} labels>"
        best = ", ".join(map(str, self.ranking[:5].tolist())) + (", .." if n_features > 5 else "")
        kept = "" if self.chosen is None else f", {len(self.chosen):,} kept"
        return f"<FeatureRanking {self._title}: {n_features:,} features{kept}, best {best}>"

    def _repr_html_(self) -> str:
        if self.labels is not None:
            best = [", ".join(map(str, row)) for row in self.ranking[:, :10].tolist()]
            rows = zip(map(str, self.labels.tolist()), best, strict=True)
            return frames.table(f"The best of {self.ranking.shape[1]:,} features of each label {self._title}", rows)
        best = self.ranking[:10].tolist()
        told = [f"{self.scores[j]:.6g}" for j in best]
        if self.pvalues is not None:
            told = [f"{score} (p = {self.pvalues[j]:.2g})" for j, score in zip(best, told, strict=True)]
        caption = f"The best {len(best)} of {len(self.ranking):,} features {self._title}"
        if self._of_presence:
            caption += ": whether a feature is there, not how large its value is"
        return frames.table(caption, zip(map(str, best), told, strict=True))

    @property
    def _title(self) -> str:
        of = {"presence": " of presence alone" if self._of_presence else "", "value": " of values", "bins": " of bins"}
        return f"by {self.by!r}{of[self.values]}"

    @property
    def _of_presence(self) -> bool:
        return self.values == "presence" and issubclass(CRITERIA.get(self.by, Criterion), OfCells)


def scored(stats: ClassStats, by: str, criterion: Criterion) -> tuple[np.ndarray, np.ndarray | None]:
    """Scores and p-values of the features, for one label per row."""
    for moment in criterion.moments:
        stats.table(moment)
    stats = with_weight(stats)
    if criterion.lowest >= 0.0 and stats.negatives:
        raise ValueError(
            f"Negative values in data passed to by={by!r}: the scanned rows held {stats.negatives}; values should be "
            "at least 0 (shift or clip them, or use by='f_classif')"
        )
    scores = criterion.scores(stats)
    return scores, criterion.pvalues(stats, scores)


def with_weight(stats: ClassStats) -> ClassStats:
    """The statistics of the classes with any weight; raises where there are fewer than two."""
    seen = np.flatnonzero(stats.weight > 0)
    if len(seen) < 2:
        raise ValueError(
            f"stats hold one class only with any weight ({stats.classes[seen].tolist()}); "
            "ranking features needs at least 2 classes"
        )
    if len(seen) == len(stats.classes):
        return stats
    tables = {name: table.take(seen) for name, table in stats.tables.items()}
    return replace(stats, classes=stats.classes[seen], rows=stats.rows[seen], tables=tables)


# ---- searches --------------------------------------------------------------------------------------------------------


class Found(NamedTuple):
    """What a search has found.

    Attributes
    ----------
    chosen : (n_chosen,) int
        Features that it keeps, the best first; none where it ranks alone, and `order` says how.
    order : (n,) int
        All features that it looked at, the best first.
    scores : (n_features,) float64
    curve : (n_steps, n_folds) or None
    """

    chosen: np.ndarray | None
    order: np.ndarray
    scores: np.ndarray
    curve: np.ndarray | None = None


class FeatureSearch(persistence.Parameters):
    """A way to choose features that considers several together; it begins with the scores of a criterion.

    By default it reads a sample of rows, in the candidates: features that are best by the criterion. Subclasses are
    frozen dataclasses; those that read a sample have the fields `rows`, `candidates` and `seed`.

    Attributes
    ----------
    name : str
    begins : str
        The criterion.
    n_folds : int or None
        Into how many folds a scan for it splits the rows.
    reads : str
        What it needs beside the sums, in words.
    keeps : bool
        False where it ranks features but chooses none.
    rows : int or None
        Rows of each class in the sample; None for all.
    candidates : int or None
        None for all features.
    seed : int
        Of the sample.
    """

    name: ClassVar[str]
    begins: ClassVar[str]
    n_folds: ClassVar[int | None] = None
    reads: ClassVar[str] = "a sample of rows: sample=snb.sample_rows(X, y, stats)"
    keeps: ClassVar[bool] = True
    rows: int | None
    candidates: int | None
    seed: int

    def __post_init__(self) -> None:
        arguments.whole_number("seed", getattr(self, "seed", 0))
        for name in ("rows", "candidates"):
            if getattr(self, name, None) is not None:
                arguments.positive_integer(name, getattr(self, name))

    def needs(self, criterion: Criterion) -> list[Criterion | Family]:
        """What says, by moments, lowest and highest, which sums the scan has and which values of x it takes."""
        return [criterion]

    def with_k(self, k: Any) -> FeatureSearch:
        """The search for k features; "auto": for as many as it finds good, or "all"."""
        return self

    def check(self, criterion: Criterion) -> None:
        """Raise where the search is not defined for the options of the criterion."""

    def read(self, stats: ClassStats, criterion: Criterion, rows: Source, options: RunOptions) -> Any:
        """Read the rows again for what the search needs beside the sums; return None where the sums suffice."""
        columns = None
        if self.candidates is not None and self.candidates < stats.n_features:
            columns = np.sort(self.best_first(stats, criterion)[1][: self.candidates])
        return sampled(stats, rows, self._n_sampled, columns, self.seed, options)

    @property
    def _n_sampled(self) -> int | None:
        """Rows of each class in the sample."""
        return self.rows

    def found(self, stats: ClassStats, criterion: Criterion, beside: Any) -> Found:
        """The features, from the sums and the result of `read`."""
        raise NotImplementedError

    def best_first(self, stats: ClassStats, criterion: Criterion) -> tuple[np.ndarray, np.ndarray]:
        """Scores (n_features,) by the criterion that the search begins with, and features, the best first."""
        scores, _ = scored(stats, self.begins, criterion)
        return scores, np.argsort(-scores, kind="stable")

    def checked_sample(self, given: Any) -> ClassSample:
        """The sample of rows, which `read` returned or the user gave."""
        if not isinstance(given, ClassSample):
            raise ValueError(f"by={self.name!r} looks at {self.reads}; snb.FeatureSelector reads what it needs")
        return given


def searched(stats: ClassStats, search: FeatureSearch, criterion: Criterion, beside: Any) -> FeatureRanking:
    """The ranking that a search leads to: what it keeps, what else it looked at, and all others in their order."""
    if stats.multilabel:
        raise ValueError(f"y is a 2-D indicator of labels; by={search.name!r} takes one label a row")
    with_weight(stats)
    search.check(criterion)
    found = search.found(stats, criterion, beside)
    first = np.concatenate([np.zeros(0, np.int64) if found.chosen is None else found.chosen, found.order])
    _, places = np.unique(first, return_index=True)
    first = first[np.sort(places)]
    others = np.setdiff1d(np.argsort(-found.scores, kind="stable"), first, assume_unique=True)
    ranking = np.concatenate([first, others]).astype(np.int64)
    chosen = None if found.chosen is None else ranking[: len(found.chosen)]
    return FeatureRanking(search.name, found.scores, ranking, None, criterion.values, None, chosen, found.curve)
