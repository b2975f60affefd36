"""Scans labelled rows of any kind into class statistics."""

from __future__ import annotations

import numbers
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from streamnb.core import arguments, memory, messages, row_checks
from streamnb.core.arguments import Bytes, PerRow, Rows
from streamnb.core.persistence import described, shown
from streamnb.encoding.learning import LearnsBins, learned_by_fold, of_values, prepared
from streamnb.encoding.opening import opened
from streamnb.passes.contract import PassTask, Reading, Report, RunOptions, Wants
from streamnb.passes.fit import answered
from streamnb.passes.passes import Pass
from streamnb.passes.run import run_reads
from streamnb.rows.boundary import Domain, TakesValues, check_not_delayed, columns_in, takes_positive
from streamnb.rows.clipping import Clip, Clipping, content_keys, rows_to_count
from streamnb.rows.preparing import LearnedStep, RowOptions, prepared_block
from streamnb.rows.row_blocks import Block
from streamnb.rows.source import Source
from streamnb.rows.splits import (
    Folding,
    as_folding,
    check_n_folds,
    check_no_empty,
    check_no_splits,
    of_batches,
)
from streamnb.rows.table_opening import ANY, COMPLETE
from streamnb.stats import histograms, second_moments
from streamnb.stats.accumulating import Accumulator
from streamnb.stats.class_stats import ClassStats
from streamnb.stats.columns import columns_of
from streamnb.stats.grouping import LabelCodes
from streamnb.stats.histograms import Grid, check_histogram
from streamnb.stats.moment_sums import ALL_MOMENTS, SECOND_MOMENTS, TABLE, check_fits, check_moments
from streamnb.stats.second_moments import ROUNDED, TILE, Products
from streamnb.stats.tables import LARGE, compact

WEIGHED = "sample_weight does not work with clip=, because weights have no bound; leave it out"
# Left out of checkpoints at their defaults, because older ones lack these options and fields.
_LATER = "grid", "clipping", "how", "labels", "together", "of_all"
_DEFAULTS = (("scale", None), ("step", None), ("learned", None))


def check_clipping(
    clip: Any, rows_per_group: Any, n_features: Any, *, groups: Any, repeats: int, transform: Any, normalize: Any
) -> Clipping | None:
    """How rows are bounded; None without `clip`, and then its other options are refused."""
    if clip is None:
        for name, given in (("rows_per_group", rows_per_group), ("n_features", n_features)):
            if given is not None:
                raise ValueError(f"{name}={given!r} needs clip=; give snb.Clip(..), or leave it out")
        return None
    if not isinstance(clip, Clip):
        raise TypeError(f"clip={clip!r} should be a snb.Clip, such as snb.Clip(presence=True, max_features=50)")
    if n_features is None:
        raise ValueError("clip= needs n_features=, the number of columns: learning it would reveal information")
    arguments.positive_integer("n_features", n_features)
    if (groups is None) != (rows_per_group is None):
        missing, given = ("rows_per_group", "groups") if rows_per_group is None else ("groups", "rows_per_group")
        raise ValueError(f"clip= with {given}= needs {missing}=, too: who a row belongs to, and how many rows count")
    if repeats != 1:
        raise ValueError(f"repeats={repeats} would count each row several times, which clip= does not allow; use 1")
    if not isinstance(transform, LearnedStep) and of_values(transform) is not transform:
        raise ValueError(f"transform={transform!r} is learned from the rows and would reveal information; leave it out")
    if clip.presence and (normalize is not None or not isinstance(transform, LearnedStep | None)):
        raise ValueError("Clip(presence=True) counts values as 0 or 1; leave transform and normalize out")
    most = 1 if rows_per_group is None else arguments.positive_integer("rows_per_group", rows_per_group)
    return Clipping(clip, most, groups is not None)


def check_declared(classes: Any, rows: Source, n_features: int | None, batch: Any, weight: Any) -> None:
    """Refuse what reveals information: classes and columns that are not declared, and weights without a bound."""
    if classes is None:
        raise ValueError("clip= needs classes=, all labels that may occur: learning them would reveal information")
    if batch is not None:
        raise ValueError(
            "batch= takes its names from the rows, which would reveal information; with clip= leave it out"
        )
    if weight is not None:
        raise ValueError(WEIGHED)
    if rows.n_features is not None:
        _check_width(rows.n_features, n_features)
    if rows.encoding is not None and rows.encoding.learned:
        messages.warn(
            "the columns of X were learned from rows, and no noise hides what they tell: a vocabulary, or the values "
            "of a table; learn them from rows that are public, or hash"
        )


def with_people(rows: Source, clipping: Clipping, groups: Any) -> tuple[Source, int | None]:
    """The rows, with weight 0 where a person has more of them than count, and how many are left, if that is known."""
    if not clipping.by_group:
        return rows, rows.n_rows
    check_not_delayed(groups=groups)
    column = row_checks.check_labels(rows.whole_column(groups, "groups"), "groups")
    if rows.n_rows is not None:
        row_checks.check_lengths(rows.n_rows, len(column), "groups")
    kept = rows_to_count(column, clipping.rows_per_group, clipping.clip.seed)
    return rows.with_columns(None, kept.astype(np.float64)), int(kept.sum())


def clipped(rows: tuple[Any, ...], classes: Any, clipping: Clipping) -> tuple[Any, ...]:
    """The rows of a block that count, given and returned as chunk, survey, labels, weights and groups or folds."""
    chunk, _, y, weight, column = rows
    if sp.issparse(y):
        raise ValueError("y is an indicator of labels; clip= takes one label a row, so that a row counts once")
    if weight is not None and not clipping.by_group:  # of rows that bring weights
        raise ValueError(WEIGHED)
    codes = LabelCodes(classes)
    kept = np.ones(len(y), bool) if weight is None else weight > 0.0
    if row_checks.label_kind(y) == row_checks.label_kind(classes) and codes.codes_of(y) is None:
        kept &= np.isin(y, classes)
    if not kept.all():
        rows_kept = np.flatnonzero(kept)
        chunk, y, column = chunk.picked(rows_kept), y[rows_kept], None if column is None else column[rows_kept]
    chunk, survey = clipping.clip.applied(chunk)
    return chunk, survey, y, None, content_keys(chunk) if column is None else column


def bounded(stats: ClassStats, clipping: Clipping, n_rows: int | None, n_features: int | None) -> ClassStats:
    """Statistics that know how their rows were bounded; models of them score whole rows.

    How many of the rows have other labels is said on the screen, where nothing is kept.
    """
    _check_width(stats.n_features, n_features)
    if n_rows is not None and n_rows > stats.n_rows:
        n_outside = n_rows - stats.n_rows
        messages.warn(f"{n_outside:,} rows have labels outside of classes and are left out; the sums do not show this")
    options = stats.options
    if clipping.clip.presence:
        options = replace(options, transform="binary")
    folds = tuple(replace(fold, options=options) for fold in stats.folds)
    return replace(stats, options=options, clipping=clipping, folds=folds)


def _check_width(n_columns: int, n_features: int | None) -> None:
    if n_columns != n_features:
        raise ValueError(f"X has {n_columns} columns, and n_features={n_features} were declared; give the same columns")


@dataclass(frozen=True)
class ClassScan(PassTask):
    """The task that sums class statistics: the moments to accumulate and the values to accept."""

    moments: tuple[str, ...]
    options: RowOptions
    classes: np.ndarray | None = None
    domain: TakesValues = field(default_factory=Domain)
    folding: Folding | None = None
    grid: Grid | None = None  # of histograms
    how: Products = ROUNDED  # of second moments
    labels: bool = False  # with an indicator matrix, also sum the weight of rows that have each pair of labels
    memory_limit: int | None = None  # of the tables, in bytes; None for half of the free memory
    n_sharing: int = 1  # scans in one read; tables become sparse if they take more than their share of memory
    together: tuple[str, ...] = ()  # the moments that are summed over all classes
    clipping: Clipping | None = None  # bounds what rows add, for sums that will be made private
    of_all: bool = False  # all rows are one class, whatever their labels and folds
    title = "scan"
    called = "ScanPlan"  # the name in checkpoints
    weighs = True

    def with_moments(self, more: Iterable[str]) -> Self:
        """A copy with further moments."""
        return replace(self, moments=tuple(filter({*self.moments, *more}.__contains__, ALL_MOMENTS)))

    def named(self, labels: np.ndarray) -> Self:
        """A copy with the classes named like the columns of y; listed classes must have their order."""
        if self.classes is None:
            return replace(self, classes=labels)
        row_checks.check_order(labels, self.classes)
        return self

    def partial(self) -> Any:
        known = self.moments, self.options, self.classes, self.folding, self.memory_limit
        return Accumulator(
            *known,
            grid=self.grid,
            how=self.how,
            labels=self.labels,
            n_sharing=self.n_sharing,
            together=self.together,
        )

    def add(self, partial: Any, block: Block) -> None:
        """Validate a block of rows and add it."""
        if self.of_all:
            block = replace(block, y=np.zeros(block.n_rows, np.int64), split=None)
        chunk, survey = prepared_block(block, self.options)
        self.domain.check(chunk, survey)
        rows: Any = chunk, survey, row_checks.check_y(block.y), block.weight, block.split
        partial.add(*rows if self.clipping is None else clipped(rows, self.classes, self.clipping))

    def wants(self, n_rows: int | None, n_features: int | None) -> Wants:
        """Request values, unless their positions are enough; refuse tables that will be too large."""
        if self.folding is not None and n_rows is not None:
            check_n_folds(self.folding, n_rows)
        products = {*SECOND_MOMENTS} & {*self.moments}
        tile_rows = TILE if products and not self.how.exact else 1
        if n_features is None:
            return Wants(tile_rows=tile_rows)
        n_features = self.options.n_made(n_features)
        n_splits = 1 if self.folding is None else self.folding.n_splits
        if self.classes is not None:
            first = tuple(m for m in self.moments if m in TABLE and m not in self.together)
            check_fits(first, self.options, len(self.classes) * n_splits, n_features, self.memory_limit)
        n_classes = 2 if self.classes is None else len(self.classes)  # at least two
        if self.grid is not None:
            histograms.check_fits(self.grid, n_classes * n_splits, n_features, self.memory_limit)
        if products:
            of_pairs = self.moments, self.how.pooled, n_classes, n_splits, n_features
            second_moments.check_fits(*of_pairs, self.memory_limit)
        places = {*self.moments} <= {"nonzero", "above"} and not self.options.binarize and not self.options.by_length
        places = places and self.options.learned is None
        values = self.grid is not None or not (places and takes_positive(self.domain, n_features))
        return Wants(values=values, tile_rows=tile_rows)

    def ended(self, total: Any, report: Report) -> Any:
        """Refuse too few rows, also in folds; the length of a stream is only known at the end."""
        if self.folding is not None and report.rows:
            check_n_folds(self.folding, report.rows)
        row_checks.check_min_size(total.n_rows, total.n_features or 1)
        row_checks.check_total_weight(total.total_weight)
        if self.folding is not None:
            check_no_empty(self.folding, [part.n_rows for part in total.folds])
        return total

    def about(self) -> dict[str, str]:
        about = {"the model": self.called}
        limits = "memory_limit", "n_sharing"  # these do not change the sums
        for name, value in vars(self).items():
            if name == "options":
                chosen = {how: part for how, part in vars(value).items() if (how, part) not in _DEFAULTS}
                about |= {how: described(part) for how, part in chosen.items()}
            elif name not in limits and not (name in _LATER and value == getattr(type(self), name)):
                about[name] = shown(value)
        return about

    def packed(self, total: Any) -> Any:
        return total.with_tables(compact)  # with few rows most cells are empty

    def unpacked(self, total: Any) -> Any:
        """Convert to dense tables unless they would be too large."""
        dense = total.dense_bytes <= min(LARGE, memory.allowed(None))
        return total.with_tables(lambda table: table.dense()) if dense else total


def scan(
    X: Rows,
    y: PerRow = None,
    *,
    sample_weight: PerRow = None,
    classes: Any = None,
    moments: Iterable[str] | None = None,
    binarize: float = 0.0,
    centre: float = 0.0,
    transform: Any = None,
    normalize: str | None = None,
    folds: Any = None,
    groups: PerRow = None,
    batch: PerRow = None,
    repeats: int = 1,
    seed: int = 0,
    histogram: str | None = None,
    n_bins: int | None = None,
    exact: bool = False,
    pooled: bool = False,
    progress: bool | None = None,
    n_threads: int | None = None,
    memory_limit: Bytes = None,
    client: Any = None,
    checkpoint: Any = None,
    layer: str | None = None,
    clip: Clip | None = None,
    n_features: int | None = None,
    rows_per_group: int | None = None,
) -> ClassStats:
    """Read the data once and keep its per-class sufficient statistics.

    Parameters
    ----------
    X : (n_rows, n_features)
        NumPy, SciPy sparse, Dask array, Zarr array or CSR group, AnnData, a path or URL of one or of an .h5ad or
        svmlight file, rows that `svmlight`, `text` or `table` opened, or a stream of chunks. The path of a table, or a
        data frame with strings, dates or missing values, is opened with the defaults of `table`; strings, and paths of
        plain texts (".txt", a pattern or a folder for each class), with those of `text`.
    y : (n_rows,) or (n_rows, n_labels)
        Labels: ints, strings or bools. An array, or the name of one in the group of X, or of a column of a pandas or
        Dask data frame X, which is then not a feature. Streams contain their own. A 2-D y, dense or CSR, is an
        indicator matrix of labels (multi-label): a row counts for each of its labels.
    sample_weight : (n_rows,), optional
        Counts as frequency.
    classes : array-like, optional
        All labels that may occur; without it any label may occur. For a 2-D y, the names of its columns.
    moments : names, optional
        "sum", "sum_sq", "nonzero" and "above" by default; also "log_sum", "inv_sum", "log1m_sum" and
        "deviation", the sums of ln x, 1/x, ln(1 - x) and abs(x - centre). For pairs of features: "gram", the
        sums of x_i x_j, "gram_above", the weight of rows where both are above `binarize`, and
        "gram_sq", the products of the features and their squares, for Ledoit-Wolf shrinkage.
    binarize, centre : float
        "above" counts x > binarize, "deviation" sums the distance from the centre.
    transform : {None, "binary", "log1p", "sqrt"}, tuple of steps, "quantile_normal" or Bins
        Applied to each value; "binary" replaces all values other than 0 by 1. A tuple is applied step by step, and its
        steps may also be norms with a target length of rows: ("l1:10000", "log1p") is scanpy's recipe (normalize_total
        with that target sum, then log1p).
        `snb.Bins` and "quantile_normal" are learned in a pass before the scan, from rows that can be read again; models
        of the statistics then accept the raw columns. `ClassStats.step` is the learned step; pass it as `transform` to
        another scan so that the two can be added.
    normalize : {None, "l1", "l2"}
        Then divide each row by this norm.
    folds : int or (n_rows,) ints, optional
        Also keep the statistics of each fold: the number of folds, or the fold of each row, numbered from 0. The
        fold of a row depends only on its number and the seed, see `fold_numbers`.
    groups : (n_rows,), optional
        Group labels, or the name of a column of X, which is then not a feature; rows of one group are in one fold. With
        `clip`, the person of each row.
    batch : (n_rows,), optional
        Also keep the statistics of each batch, as folds: the sample or laboratory of each row, for instance, or the
        name of a column, such as "obs/sample". ``markers(batch=True)`` compares classes within them.
    repeats : int
        Number of times the rows are split into folds.
    seed : int
    histogram : {None, "value", "bins"}
        Keep the weight of rows by class, feature and bin, `ClassStats.histogram`: "value" has one bin for each of the
        whole numbers 0, 1, .., n_bins - 1; "bins" takes any values, in bins of equal width.
    n_bins : int, optional
        Bins of each feature of the histogram, 64 by default.
    exact : bool
        Sum products of real values without rounding. Otherwise they are rounded once per 2,048 rows, in float64.
    pooled : bool
        Keep products of all classes together in one table; with an indicator matrix each row counts once.
    progress : bool, optional
        Show a progress bar.
    n_threads : int, optional
        Threads that sum; by default one per core, fewer if their private tables would be large or if reading is the
        bottleneck. Dask arrays are summed by Dask's threads.
    memory_limit : int or str, optional
        Bytes that the tables may take, such as "4GB"; half of the free memory by default.
    client : dask.distributed.Client or cluster, optional
        A cluster whose worker threads each read and sum a segment of rows at a time; by default the active one. Rows
        that workers cannot open, in memory or from streams, are summed here.
    checkpoint : path, optional
        A file in which the sums are saved about every ten seconds. If the process dies, the same call resumes from
        there, with the same result to the last bit; once the scan is complete, it returns at once. The file stays until
        you remove it; a file of other data or parameters is refused. Not for streams and Dask arrays, as reading must
        be able to start at any row.
    layer : str, optional
        The layer of AnnData to read instead of its X; "raw" reads `raw`, unless a layer has this name.
    clip : Clip, optional
        Bounds what each row adds, so that `ClassStats.privatize` can make the sums private. Classes and the number of
        columns must then be declared, because even these reveal something about rows: rows with other labels are left
        out, with a warning. Models score whole rows.
    n_features : int, optional
        With `clip`: the number of columns.
    rows_per_group : int, optional
        With `clip` and `groups`: the number of rows that count for each person, a random sample, the same for the same
        rows.

    Notes
    -----
    Each moment takes 8 bytes per class and feature, 16 if values are not whole numbers: if the tables are large, list
    only the moments that you need. Tables that would take more than `memory_limit`, or that are large and mostly empty,
    store only the pairs of class and feature that occur, 16 or 24 bytes each; the sums are the same to the last bit.

    "gram" takes 4 n (n + 1) bytes for n features, for each fold and each class (once if `pooled`), twice that if values
    are not whole numbers; more than `memory_limit` is refused, before the scan if `classes` are listed. "gram_sq" takes
    four times as much, and its squares are float64. Sums of whole numbers below 2^53 are exact. Other values of a class
    are multiplied in float64 in tiles, rows t * 2048 to (t + 1) * 2048, and the products of the tiles are summed
    without rounding: the result has the same bits for any blocks, threads and workers, and differs only in the last
    bits from that of `partial_fit` and ``+`` on parts of the rows. ``exact=True`` takes three to eight times as long
    and makes all of these equal. The stored values of sparse rows are multiplied exactly, nnz^2 / 2 products per row,
    if that takes less time.

    A histogram takes 8 bytes per class, feature, bin and fold, at least 16 if weights are not whole numbers; if that is
    more than `memory_limit` it is refused, before the scan if `classes` are listed. With "bins" all bins of a
    feature have one width, a power of two, and begin at its multiples. It is the smallest width for which `n_bins` bins
    hold all values; these span at least half of them. Absent values of sparse rows count as 0. The edges depend only on
    the smallest and the largest value, not on the order of rows.

    Returns
    -------
    ClassStats
        The same to the last bit for any division of the rows into blocks and any number of threads.

    Raises
    ------
    ValueError, TypeError
        An argument is wrong; the message names it, what was given and what would be right.
    DataError
        Data cannot be read; the message names the array and the chunk.
    MemoryError
        The tables would take more than `memory_limit`; the message says how much.

    Examples
    --------
    >>> import streamnb as snb
    >>> stats = snb.scan([[2, 0], [3, 1], [0, 4]], ["cat", "cat", "dog"])
    >>> stats.classes.tolist(), stats.rows.tolist(), stats.sum.tolist()
    (['cat', 'dog'], [2, 1], [[5.0, 1.0], [0.0, 4.0]])
    >>> more = stats + snb.scan([[1, 5]], ["dog"])
    >>> more.sum.tolist()
    [[5.0, 1.0], [1.0, 9.0]]
    """
    run_options = RunOptions(progress, n_threads, memory_limit, client, checkpoint)
    how = {"groups": groups, "repeats": repeats, "transform": transform, "normalize": normalize}
    clipping = check_clipping(clip, rows_per_group, n_features, **how)
    cells = ANY if isinstance(transform, LearnedStep | LearnsBins) else COMPLETE
    listed, beside = row_checks.check_classes(classes), (groups, folds, batch)
    source = opened(X, y, sample_weight, layer=layer, numbers=cells, beside=beside)
    step = transform
    if not isinstance(transform, LearnedStep):
        step = run_reads(learned_by_fold(transform, source, run_options, "scan", None)).whole
    row_options = RowOptions(transform if step is None else None, normalize, binarize, centre, step=step)
    if clip is not None and moments is None and not clip.presence:
        moments = "sum", "sum_sq"  # fewer than usual, as each has a noise of its own
    task = ClassScan(check_moments(moments), row_options, listed, memory_limit=run_options.memory_limit)
    task = replace(task, grid=check_histogram(histogram, n_bins), how=Products(exact, pooled), clipping=clipping)
    rows = prepared(step, source)
    if clipping is not None:
        check_declared(listed, rows, n_features, batch, sample_weight)
        rows, n_counted = with_people(rows, clipping, groups)
        groups = groups if isinstance(folds, numbers.Number) else None  # folds given to rows may part a person
    if batch is None:
        folding, rows = folding_of(rows, folds, groups, repeats, seed, count=clipping is None)
        task = replace(task, folding=folding)
    else:
        task, rows = with_batches(task, rows, batch, folds, groups)
    if clipping is not None and task.folding is not None and task.folding.by == "rows":
        task = replace(task, folding=replace(task.folding, by="groups"))  # by no row's number: others would precede it
    stats, report = run_reads(run_scan(task, rows, run_options))
    if clipping is None:
        return replace(stats, encoding=columns_of(source.encoding, names_of(source), step))
    return bounded(stats, clipping, n_counted or report.rows, n_features)


def names_of(rows: Source) -> list[str] | None:
    """The names of the columns of a matrix, where it has any."""
    names = columns_in(rows.given) or rows.feature_names
    return None if names is None or rows.encoding is not None else [str(name) for name in names]


def with_batches(task: Any, rows: Source, batch: Any, folds: Any = None, groups: Any = None) -> tuple[Any, Source]:
    """The task with a folding into batches, which excludes other folds, and the rows with their numbers."""
    check_not_delayed(batch=batch)
    numbered, names = of_batches(rows.whole_column(batch, "batch"), folds, groups)
    if rows.n_rows is not None:
        row_checks.check_lengths(rows.n_rows, len(numbered), "batch")
    folding, rows = folding_of(rows, numbered, None, 1, 0)
    task = replace(task, folding=folding)
    return replace(task, folding=replace(task.folding, names=names)), rows


def folding_of(
    rows: Source, folds: Any, groups: Any, repeats: int, seed: int, *, count: bool = True
) -> tuple[Folding | None, Source]:
    """How rows are split into folds, and the rows with the groups or fold numbers that this needs.

    Groups are counted, which reads their column, unless `count` is False: then folds depend on their values alone.
    """
    check_not_delayed(folds=folds, groups=groups)
    check_no_splits(folds)
    if rows.own_folding is not None:
        return rows.own_folding, rows
    if groups is None and isinstance(folds, numbers.Number):
        groups = rows.own_groups
    column = folds
    if folds is not None and not isinstance(folds, numbers.Number):
        folds = rows.whole_column(folds, "folds")  # to check all numbers for gaps
        column = rows.cut_alike(column, folds)
    folding = as_folding(folds, groups=groups, repeats=repeats, seed=seed)
    if folding is not None and folding.by == "groups":
        rows = rows.with_columns(split={"groups": groups})
        folding = folding.counted(rows.whole_column(groups, "groups")) if count else folding
    if folding is not None and folding.by == "given":
        rows = rows.with_columns(split={"folds": column})
    return folding, rows


def run_scan(task: Any, rows: Source, options: RunOptions) -> Reading[tuple[Any, Report]]:
    """Run a scan; return the statistics and the report, see `scan`."""
    (stats,), report = yield from run_scans([Pass(task)], rows, options)
    return stats, report


def run_scans(
    passes: Sequence[Pass], rows: Source, options: RunOptions, folding: Folding | None = None
) -> Reading[tuple[list[Any], Report]]:
    """Answer passes of scans in one read; return their statistics, and the report."""
    if len(passes) > 1:
        _check_products([each.statistic for each in passes], rows.n_features)
        passes = [replace(each, statistic=replace(each.statistic, n_sharing=len(passes))) for each in passes]
    if rows.label_names is not None:
        passes = [replace(each, statistic=each.statistic.named(rows.label_names)) for each in passes]
    products = {*SECOND_MOMENTS} & {moment for each in passes for moment in each.statistic.moments}
    if products and rows.n_rows:
        second_moments.warn_of_time(len(products), rows.n_rows, rows.n_features, rows.n_values)
    found, report = yield from answered(passes, rows, options, folding, "scan")
    if rows.n_features is not None:
        made = passes[0].statistic.options.n_made(rows.n_features)
        row_checks.check_n_features(found[0].n_features, made, "its shape")
        if len(passes) == 1:
            warn_of_telling(rows, found[0])
    return found, report


def _check_products(scans: Sequence[ClassScan], n_features: int | None) -> None:
    """Refuse products of features that will be too large together."""
    if n_features is None:
        return
    needed = 0
    for scan in scans:
        n_classes = 2 if scan.classes is None else len(scan.classes)
        n_splits = 1 if scan.folding is None else scan.folding.n_splits
        n_columns = scan.options.n_made(n_features)
        needed += second_moments.bytes_of(scan.moments, scan.how.pooled, n_classes, n_splits, n_columns)
    what = f"products of {n_features:,} features by {n_features:,}, each under {len(scans)} maps,"
    memory.check(what, needed, scans[0].memory_limit, f"try fewer maps, or {second_moments.CURE}")


def warn_of_telling(rows: Source, stats: Any) -> None:
    """Warn of columns of encoded rows that alone nearly tell the label."""
    if rows.encoding is not None and isinstance(stats, ClassStats) and stats.n_features == rows.encoding.n_columns:
        rows.encoding.warn_of_telling(stats)
