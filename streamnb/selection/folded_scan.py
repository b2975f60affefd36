"""Scans rows for the statistics of all rows and of the rows outside each fold."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from streamnb.encoding.learning import StepsOfFolds, prepared
from streamnb.fits.fit import Fit, reads_of, together
from streamnb.fits.passes import Pass
from streamnb.passes.contract import Reading, Report, RunOptions, T
from streamnb.rows.preparing import FeatureScale, LearnedStep, RowOptions
from streamnb.rows.source import Source
from streamnb.rows.splits import Folding
from streamnb.scanning.class_scan import ClassScan, run_scans
from streamnb.stats.class_stats import ClassStats
from streamnb.training.data import TrainingData, TrainingRows, is_dense_store
from streamnb.training.learner import Learner
from streamnb.training.objectives import inverse_frequency


def whole(stats: ClassStats) -> ClassStats:
    """The same statistics without folds."""
    return replace(stats, folds=(), folding=None)


def without_split(stats: ClassStats, split: int) -> ClassStats:
    """The statistics of the rows outside the fold of a split."""
    repeat, fold = divmod(split, stats.n_folds)
    return stats.without_fold(fold, repeat)


def check_same_folds(rows: np.ndarray, before: np.ndarray) -> None:
    """Raise if the numbers of rows in each split, (n_splits,), or by class (n_splits, K), are not those of the scan."""
    if (rows != before).any():
        raise ValueError(
            "X gave its rows in another order than in the first scan, so that folds differ; a callable should "
            "return the same rows in the same order each time"
        )


def scan_maps(
    scan_of: Callable[[str, int | None, LearnedStep | None], ClassScan],
    maps: Mapping[str, StepsOfFolds],
    steps: StepsOfFolds,
    rows: Source,
    options: RunOptions,
) -> Reading[tuple[dict[str, ClassStats], dict[str, dict[int, ClassStats]], Report]]:
    """Statistics of each map of columns, or after the learned step, from one read; see `scan_folds`.

    `scan_of` returns the scan of a map, over all rows (None) or outside the fold of a split, which applies a step.
    """
    scans, outside = {}, {}
    for name, own in maps.items():
        scans[name] = scan_of(name, None, steps.whole if own.whole is None else own.whole)
        by_fold = own.outside or steps.outside
        outside[name] = {split: scan_of(name, split, step) for split, step in enumerate(by_fold)}
    return (yield from scan_folds(scans, outside, rows, options, steps.whole))


def scan_folds(
    scans: Mapping[str, ClassScan],
    outside: Mapping[str, Mapping[int, ClassScan]],
    rows: Source,
    options: RunOptions,
    step: LearnedStep | None,
) -> Reading[tuple[dict[str, ClassStats], dict[str, dict[int, ClassStats]], Report]]:
    """Statistics of all rows, by the names of scans with the same folds, from one read.

    `outside` has a scan of the rows outside the fold of each split, if preparation is learned by fold: their statistics
    come second, and folds of the first ones then have no sums. The statistics of all rows are those of rows to which
    `step` has been applied.
    """
    passes, folding = [], next(iter(scans.values())).folding
    for name, scan in scans.items():
        by_fold = outside[name]
        passes.append(Pass(replace(scan, folding=None) if by_fold else scan))
        passes += [Pass(replace(one, folding=None), without=split) for split, one in by_fold.items()]
    nested = [name for name in scans if outside[name]]
    if nested:  # the numbers of rows of folds, whose sums are not needed
        passes.append(Pass(replace(scans[nested[-1]], moments=(), labels=False, together=())))
    found, report = yield from run_scans(passes, rows, options, folding if nested else None)
    each = iter(found)
    stats_of_all, rests = {}, {}
    for name, scan in scans.items():
        stats = next(each)
        if step is not None:
            stats = replace(stats, options=replace(scan.options, learned=None))
        rests[name] = {split: next(each) for split in outside[name]}
        if rests[name]:
            folds = tuple(replace(part.select(slice(0), ()), options=stats.options) for part in found[-1].folds)
            stats = replace(stats, folds=folds, folding=scan.folding)
        stats_of_all[name] = stats
    return stats_of_all, rests, report


@dataclass(frozen=True, eq=False)
class ScannedRows:
    """Rows scanned for training: their statistics with folds, and how training reads them.

    Attributes
    ----------
    learner : Learner
    stats : ClassStats
        Of all rows, with folds.
    rests : dict of int to ClassStats
        Of the rows outside folds, if preparation is learned by fold.
    given : Source
        The rows as they were given.
    rows, shared : TrainingRows
        The rows as read by the model of all rows, and as shared by the models without each fold.
    options : RunOptions
    report : Report
        Covers all reads so far; `scan_report` covers the scan alone.
    grid : points by name, such as {"l2": 1.0}
        Those of which models without each fold are judged.
    """

    learner: Learner
    stats: ClassStats
    rests: Mapping[int, ClassStats]
    given: Source
    rows: TrainingRows
    shared: TrainingRows
    options: RunOptions
    report: Report
    scan_report: Report
    grid: Sequence[dict[str, Any]] = ()

    @property
    def nbytes(self) -> int:
        """Memory of all statistics."""
        return sum(stats.nbytes for stats in (self.stats, *self.rests.values()))

    @property
    def whole(self) -> ClassStats:
        """The statistics of all rows, without folds."""
        return whole(self.stats)

    def outside(self, split: int) -> ClassStats:
        """The statistics of the rows outside the fold of a split."""
        return self.rests[split] if self.rests else without_split(self.stats, split)

    def data(self, fold: int) -> TrainingData:
        """The data from which models without a fold are trained."""
        return self.learner.data(self.outside(fold), self.shared, self.options, fold)

    def train(
        self,
        fits: Iterable[Fit[T]],
        name: str,
        title: Callable[[int, Sequence[Pass]], str] = lambda number, passes: f"read {number} of {len(passes)} models",
    ) -> Reading[tuple[list[T], Report]]:
        """Run fits of models without a fold in reads that they share, with a file of this name for each read."""
        fit, before = together(fits, self.options.threads), np.array([part.n_rows for part in self.stats.folds])
        return reads_of(
            fit,
            self.shared.read,
            self.options,
            self.stats.folding,
            name,
            title,
            check=lambda _, rows: check_same_folds(rows, before),
        )


def scan_to_train(
    learner: Learner,
    row_options: RowOptions,
    steps: StepsOfFolds,
    given: Source,
    folding: Folding | None,
    options: RunOptions,
) -> Reading[ScannedRows]:
    """Scan rows for a learner. For the models without each fold, idf is learned from the rows outside it as well.

    idf is applied before normalize.
    """
    step, rows = steps.whole, prepared(steps.whole, given)
    again = learner.method.narrows and is_dense_store(rows)  # those that follow the scan need not be of the store
    rows = options.kept(rows, costly=True if again else None)
    given, steps = (given, steps) if steps.outside else (rows, StepsOfFolds())
    outside = dict.fromkeys(rows.by_fold, row_options)
    for split, own in enumerate(steps.outside):
        outside[split] = replace(row_options, learned=own)
    before = Report()
    if learner.idf_first:
        plain = ClassScan(("nonzero",), replace(row_options, normalize=None), memory_limit=options.memory_limit)
        stats, rests, before = yield from _scan_rows(
            plain, outside, steps.whole, given, folding, options.of_pass("idf")
        )
        outside = outside or dict.fromkeys(range(0 if folding is None else folding.n_splits), row_options)
        for split, how in outside.items():
            outside[split] = _scaled(how, learner, rests[split] if rests else without_split(stats, split))
        row_options = _scaled(row_options, learner, stats)
    scan = learner.scan(row_options, options.memory_limit)
    stats, rests, report = yield from _scan_rows(scan, outside, steps.whole, given, folding, options.of_pass("scan"))
    training = TrainingRows.of(stats, rows, options, step, learner.method.narrows)
    shared = training  # unless preparation was learned outside each fold
    if rests:
        shared = TrainingRows(given, stats.n_features, row_options)
    return ScannedRows(learner, stats, rests, given, training, shared, options, before + report, report)


def _scaled(options: RowOptions, learner: Learner, stats: ClassStats) -> RowOptions:
    """The options with idf, learned from these statistics."""
    return replace(options, scale=FeatureScale(inverse_frequency(learner.weighted(stats))))


def _scan_rows(
    scan: ClassScan,
    outside: Mapping[int, RowOptions],
    step: LearnedStep | None,
    rows: Source,
    folding: Folding | None,
    options: RunOptions,
) -> Reading[tuple[ClassStats, dict[int, ClassStats], Report]]:
    """The statistics of all rows after a step, and of the rows outside each fold, if prepared by fold."""
    of_all = replace(scan, folding=folding, options=replace(scan.options, learned=step))
    by_fold = {}
    for split, one in outside.items():
        by_fold[split] = replace(of_all, options=replace(one, normalize=scan.options.normalize))
    stats, rests, report = yield from scan_folds({"all": of_all}, {"all": by_fold}, rows, options, step)
    return stats["all"], rests["all"], report
