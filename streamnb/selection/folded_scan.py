"""Scans rows for the statistics of all rows and of the rows outside each fold."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from streamnb.encoding.by_fold import StepsOfFolds
from streamnb.encoding.learning import prepared
from streamnb.passes.options import RunOptions
from streamnb.passes.report import Report
from streamnb.problem.family import Family
from streamnb.rows.preparing import FeatureScale, LearnedStep, RowOptions
from streamnb.rows.source import Source
from streamnb.rows.splits import Folding
from streamnb.scanning.class_scan import ClassScan
from streamnb.scanning.side_by_side import run_scans
from streamnb.stats.class_stats import ClassStats
from streamnb.training.data import TrainingRows, read_often
from streamnb.training.learner import Learner, options_of
from streamnb.training.objectives import inverse_frequency


@dataclass(frozen=True, eq=False)
class ScannedFolds:
    """The statistics of all rows with their folds, and those outside each fold where these are prepared otherwise.

    `families` are those of the columns of these, where they are others.
    """

    stats: ClassStats
    rests: Sequence[ClassStats] = ()
    families: Sequence[Family] = ()

    @property
    def nbytes(self) -> int:
        """Memory of all."""
        return sum(stats.nbytes for stats in (self.stats, *self.rests))

    @property
    def whole(self) -> ClassStats:
        """Those of all rows, without folds."""
        return replace(self.stats, folds=(), folding=None)

    @property
    def kept(self) -> ClassStats:
        """Those of all rows, with folds where these have sums."""
        return self.whole if self.rests else self.stats

    def outside(self, split: int) -> ClassStats:
        """Those of the rows outside the fold of a split."""
        if self.rests:
            return self.rests[split]
        repeat, fold = divmod(split, self.stats.n_folds)
        return self.stats.without_fold(fold, repeat)


def scan_maps(
    scan_of: Callable[[str, int | None, dict[str, Any]], ClassScan],
    maps: Mapping[str, StepsOfFolds],
    steps: StepsOfFolds,
    rows: Source,
    options: RunOptions,
) -> tuple[dict[str, ScannedFolds], Report]:
    """Statistics of each map of columns, all after what was learned, from one read.

    `scan_of` makes the scan for a map, of all rows (None) or those outside the fold of a split, with these options of
    rows.
    """
    scans, outside = {}, {}
    for name, own in maps.items():
        scans[name] = scan_of(name, None, {"columns": own.whole, "learned": steps.whole})
        ways: list[dict[str, Any]] = [{"columns": columns} for columns in own.outside]
        ways = ways or [{"columns": own.whole, "learned": step} for step in steps.outside]
        outside[name] = [scan_of(name, split, way) for split, way in enumerate(ways)]
    return scan_folds(scans, outside, rows, options)


def scan_folds(
    scans: Mapping[str, ClassScan], outside: Mapping[str, Sequence[ClassScan]], rows: Source, options: RunOptions
) -> tuple[dict[str, ScannedFolds], Report]:
    """Statistics by the names of scans, with the same folds, from one read.

    `outside` has a scan for the rows outside the fold of each split, where these are prepared otherwise than all rows.
    Statistics of all rows are as of rows to which what was learned has been done before.
    """
    every = dict(scans)
    for name, own in outside.items():
        if own:  # which are asked for in place of what folds leave: these have numbers of rows alone
            every[name] = replace(scans[name], folding=None)
            every["folds"] = replace(scans[name], moments=(), labels=False, together=())
            every |= {f"{name} outside {split}": replace(scan, outside=split) for split, scan in enumerate(own)}
    found, report = run_scans(every, rows, options)
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
    """Rows that were scanned to train models of them: the statistics with folds, and how the rows are read on.

    Attributes
    ----------
    of_folds : ScannedFolds
    given : Source
        The rows, to which nothing has been done.
    rows, shared : TrainingRows
        As the model of all rows reads them, and as those without each fold share them.
    options : RunOptions
    report : Report
        Of what was read so far, and `scan_report` of the scan alone.
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


def scan_to_train(
    learner: Learner,
    row_options: RowOptions,
    steps: StepsOfFolds,
    given: Source,
    beside: Sequence[Any],
    folding: Folding | None,
    options: RunOptions,
) -> ScannedRows:
    """Scan rows for a learner; idf, too, is learned of the rows outside each fold for the models without it.

    `beside` are the labels and weights of the rows. Of idf and normalize, idf comes first.
    """
    step, rows = steps.whole, read_often(prepared(steps.whole, given, *beside), options)
    given, steps = (read_often(given, options), steps) if steps.outside else (rows, StepsOfFolds())
    outside, before = [replace(row_options, learned=one) for one in steps.outside], Report()
    if learner.idf_first:
        plain = ClassScan(("nonzero",), replace(row_options, normalize=None), memory_limit=options.memory_limit)
        found, before = _scan_rows(plain, outside, steps.whole, given, folding, options_of(options, "idf"))
        n_splits = 0 if folding is None else folding.n_splits
        every = (found.stats, *map(found.outside, range(n_splits)))
        scales = [FeatureScale(inverse_frequency(learner.weighted(stats))) for stats in every]
        ways = outside or [row_options] * n_splits
        pairs = zip([row_options, *ways], scales, strict=True)
        row_options, *outside = [replace(way, scale=scale) for way, scale in pairs]
    scan = learner.scan(row_options, options.memory_limit)
    of_folds, report = _scan_rows(scan, outside, steps.whole, given, folding, options_of(options, "scan"))
    training = TrainingRows.of(of_folds.stats, rows, options, step, learner.method.narrows)
    shared = training  # but as given where what is done to rows was learned outside the fold
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
    """The statistics of all rows after a step, and of those outside each fold where these are prepared otherwise."""
    whole = replace(scan, folding=folding, options=replace(scan.options, learned=step))
    ways = [replace(whole, options=replace(way, normalize=scan.options.normalize)) for way in outside]
    found, report = scan_folds({"all": whole}, {"all": ways}, rows, options)
    return found["all"], report
