"""Scans rows for the statistics of all rows and of the rows outside each fold."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from streamnb.encoding.learning import StepsOfFolds, prepared
from streamnb.fits.fit import Fit, run_fit, together
from streamnb.fits.passes import Pass
from streamnb.passes.contract import Report, RunOptions
from streamnb.problem.family import Family
from streamnb.rows.preparing import FeatureScale, LearnedStep, RowOptions
from streamnb.rows.source import Source
from streamnb.rows.splits import Folding
from streamnb.scanning.class_scan import ClassScan
from streamnb.scanning.side_by_side import run_scans
from streamnb.stats.class_stats import ClassStats
from streamnb.training.data import TrainingRows
from streamnb.training.learner import Learner
from streamnb.training.objectives import inverse_frequency

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class ScannedFolds:
    """The statistics of all rows with folds; `rests` are those outside each fold, if preparation is learned by fold.

    `families` are the families of `rests`, where columns differ by fold.
    """

    stats: ClassStats
    rests: Sequence[ClassStats] = ()
    families: Sequence[Family] = ()

    @property
    def nbytes(self) -> int:
        """Memory of all statistics."""
        return sum(stats.nbytes for stats in (self.stats, *self.rests))

    @property
    def whole(self) -> ClassStats:
        """The statistics of all rows, without folds."""
        return replace(self.stats, folds=(), folding=None)

    @property
    def kept(self) -> ClassStats:
        """The statistics of all rows, with folds where these have sums."""
        return self.whole if self.rests else self.stats

    def outside(self, split: int) -> ClassStats:
        """The statistics of the rows outside the fold of a split."""
        if self.rests:
            return self.rests[split]
        repeat, fold = divmod(split, self.stats.n_folds)
        return self.stats.without_fold(fold, repeat)


def check_same_folds(rows: np.ndarray, stats: ClassStats) -> None:
    """Raise if the scan counted other `rows` in some split, (n_splits,) or by class (n_splits, K)."""
    if (rows != [part.rows if rows.ndim == 2 else part.n_rows for part in stats.folds]).any():
        raise ValueError(
            "X gave its rows in another order than in the first scan, so that folds differ; a callable should "
            "return the same rows in the same order each time"
        )


def scan_maps(
    scan_of: Callable[[str, int | None, dict[str, Any]], ClassScan],
    maps: Mapping[str, StepsOfFolds],
    steps: StepsOfFolds,
    rows: Source,
    options: RunOptions,
) -> tuple[dict[str, ScannedFolds], Report]:
    """Statistics of each map of columns, all after the learned step, from one read.

    `scan_of` returns the scan of a map, over all rows (None) or outside the fold of a split, with these row options.
    """
    scans, outside = {}, {}
    for name, own in maps.items():
        scans[name] = scan_of(name, None, {"columns": own.whole, "learned": steps.whole})
        by_fold: list[dict[str, Any]] = [{"columns": columns} for columns in own.outside]
        by_fold = by_fold or [{"columns": own.whole, "learned": step} for step in steps.outside]
        outside[name] = [scan_of(name, split, of_fold) for split, of_fold in enumerate(by_fold)]
    return scan_folds(scans, outside, rows, options)


def scan_folds(
    scans: Mapping[str, ClassScan], outside: Mapping[str, Sequence[ClassScan]], rows: Source, options: RunOptions
) -> tuple[dict[str, ScannedFolds], Report]:
    """Statistics by the names of scans, with the same folds, from one read.

    `outside` has a scan of the rows outside the fold of each split, if preparation is learned by fold. The statistics
    of all rows are those of rows to which the learned step has been applied.
    """
    all_scans = dict(scans)
    for name, own in outside.items():
        if own:  # these replace the sums of folds, of which only the numbers of rows are needed
            all_scans[name] = replace(scans[name], folding=None)
            all_scans["folds"] = replace(scans[name], moments=(), labels=False, together=())
            all_scans |= {f"{name} outside {split}": replace(scan, outside=split) for split, scan in enumerate(own)}
    found, report = run_scans(all_scans, rows, options)
    folded = {}
    for name, scan in scans.items():
        rests = [found[f"{name} outside {n}"] for n in range(len(outside.get(name, ())))]
        stats = replace(found[name], options=replace(scan.options, learned=None))
        if rests:
            folds = tuple(replace(part.select(slice(0), ()), options=stats.options) for part in found["folds"].folds)
            stats = replace(stats, folds=folds, folding=scan.folding)
        folded[name] = ScannedFolds(stats, rests)
    return folded, report


@dataclass(frozen=True, eq=False)
class ScannedRows:
    """Rows scanned for training: their statistics with folds, and how training reads them.

    Attributes
    ----------
    of_folds : ScannedFolds
    given : Source
        The rows as they were given.
    rows, shared : TrainingRows
        The rows as read by the model of all rows, and as shared by the models without each fold.
    options : RunOptions
    report : Report
        Covers all reads so far; `scan_report` covers the scan alone.
    """

    of_folds: ScannedFolds
    given: Source
    rows: TrainingRows
    shared: TrainingRows
    options: RunOptions
    report: Report
    scan_report: Report

    @property
    def stats(self) -> ClassStats:
        """The statistics with folds."""
        return self.of_folds.stats

    def train(
        self,
        fits: Iterable[Fit[T]],
        name: str,
        title: Callable[[int, Sequence[Pass]], str] = lambda number, passes: f"read {number} of {len(passes)} models",
    ) -> tuple[list[T], Report]:
        """Run fits of models without a fold in reads that they share, with a file of this name for each read."""
        fit, stats = together(fits, self.options.threads), self.stats
        return run_fit(
            fit,
            self.shared.read,
            self.options,
            stats.folding,
            name,
            title,
            check=lambda _, rows: check_same_folds(rows, stats),
        )


def scan_to_train(
    learner: Learner,
    row_options: RowOptions,
    steps: StepsOfFolds,
    given: Source,
    folding: Folding | None,
    options: RunOptions,
) -> ScannedRows:
    """Scan rows for a learner. For the models without each fold, idf is learned from the rows outside it as well.

    idf is applied before normalize.
    """
    step, rows = steps.whole, options.kept(prepared(steps.whole, given))
    given, steps = (given, steps) if steps.outside else (rows, StepsOfFolds())
    outside, before = [replace(row_options, learned=one) for one in steps.outside], Report()
    if learner.idf_first:
        plain = ClassScan(("nonzero",), replace(row_options, normalize=None), memory_limit=options.memory_limit)
        found, before = _scan_rows(plain, outside, steps.whole, given, folding, options.of_pass("idf"))
        n_splits = 0 if folding is None else folding.n_splits
        every = (found.stats, *map(found.outside, range(n_splits)))
        scales = [FeatureScale(inverse_frequency(learner.weighted(stats))) for stats in every]
        by_fold = outside or [row_options] * n_splits
        pairs = zip([row_options, *by_fold], scales, strict=True)
        row_options, *outside = [replace(one, scale=scale) for one, scale in pairs]
    scan = learner.scan(row_options, options.memory_limit)
    of_folds, report = _scan_rows(scan, outside, steps.whole, given, folding, options.of_pass("scan"))
    training = TrainingRows.of(of_folds.stats, rows, options, step, learner.method.narrows)
    shared = training  # unless preparation was learned outside each fold
    if of_folds.rests:
        shared = TrainingRows(given, of_folds.stats.n_features, row_options)
    return ScannedRows(of_folds, given, training, shared, options, before + report, report)


def _scan_rows(
    scan: ClassScan,
    outside: Sequence[RowOptions],
    step: LearnedStep | None,
    rows: Source,
    folding: Folding | None,
    options: RunOptions,
) -> tuple[ScannedFolds, Report]:
    """The statistics of all rows after a step, and of the rows outside each fold, if prepared by fold."""
    whole = replace(scan, folding=folding, options=replace(scan.options, learned=step))
    by_fold = [replace(whole, options=replace(one, normalize=scan.options.normalize)) for one in outside]
    found, report = scan_folds({"all": whole}, {"all": by_fold}, rows, options)
    return found["all"], report
