"""Scans rows for the statistics of all rows and of the rows outside each fold, and judges the models of folds."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from streamnb.core import memory, row_checks
from streamnb.encoding.learning import StepsOfFolds, prepared
from streamnb.evaluation.evaluation import Evaluation
from streamnb.evaluation.reference import ReferenceGroups
from streamnb.evaluation.scorers import Scorer
from streamnb.passes.contract import Reading, Report, RunOptions, T
from streamnb.passes.fit import Fit, reads_of, together
from streamnb.passes.passes import Pass
from streamnb.rows.preparing import FeatureScale, LearnedStep, RowOptions
from streamnb.rows.source import Source
from streamnb.rows.splits import Folding
from streamnb.scanning.class_scan import ClassScan, run_scans
from streamnb.solving.data import TrainingData, TrainingRows, is_dense_store
from streamnb.solving.learner import Learner
from streamnb.solving.objectives import inverse_frequency
from streamnb.stats.class_stats import ClassStats
from streamnb.stats.grouping import known_codes

# Sums of all rows and of those outside each fold, by the name of a map, and what the read did.
FoldedSums = tuple[dict[str, ClassStats], dict[str, dict[int, ClassStats]], Report]


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
) -> Reading[FoldedSums]:
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
) -> Reading[FoldedSums]:
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
        title: Callable[[int, Sequence[Pass]], str] = lambda number, passes: f"read {number}, models: {len(passes)}",
    ) -> Reading[tuple[list[T], Report]]:
        """Run fits of models without a fold in reads that they share, with a file of this name for each read."""
        fit = together(fits, self.options.threads)
        return reads_of(fit, self.shared.read, self.options, self.stats.folding, name, title)


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


# ---- judging models of folds -----------------------------------------------------------------------------------------

KEPT_SCORES = 1 << 25  # exact scores that all evaluations together may keep, and as many numbers in histograms


@dataclass(frozen=True, eq=False)
class FoldJudge:
    """Judges the models of all folds, whether they were solved before the read or are trained by it.

    Attributes
    ----------
    classes : (K,)
    needs : what the evaluations have to count
    n_models : int
        The number of models of all folds, which share the scores that may be kept.
    multilabel : bool
        Whether rows have any number of labels.
    n_rows : int or None
    rows : (n_splits, K) or None
        The numbers of rows, and of those of each class in each split, if each read is to be compared with them.
    """

    classes: np.ndarray
    needs: frozenset[str]
    n_models: int
    multilabel: bool = False
    n_rows: int | None = None
    rows: np.ndarray | None = None

    def evaluation(self, scheme: Any, n_models: int, nested: bool = False) -> Evaluation:
        """An evaluation of models, without rows."""
        exact_rows, n_bins, _ = _sizes(self.n_models, len(self.classes), self.needs, self.multilabel)
        reference = None
        if "reference" in self.needs:
            reference = ReferenceGroups.of(scheme, nested)
        return Evaluation(
            len(self.classes),
            self.needs - {"reference"},
            multilabel=self.multilabel,
            exact_rows=exact_rows,
            n_bins=n_bins,
            classes=self.classes,
            n_models=n_models,
            reference=reference,
        )

    def labels(self, given: Any, first_row: int) -> Any:
        """The codes (n_rows,) or the indicator (n_rows, K) of given labels; raise for labels that the scan lacks."""
        y: Any = row_checks.check_y(given)
        if self.multilabel:
            if y.ndim != 2 or y.shape[1] != len(self.classes):
                found = "one label a row"
                if y.ndim == 2:
                    found = f"{y.shape[1]} columns"
                raise ValueError(f"y has {found}; in the first scan it had {len(self.classes)} columns")
            return y
        return known_codes(y, self.classes, first_row)


def counts_of(labels: Any, splits: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    """The number of rows of each class in each of their `splits` (repeats, n_rows), (n_splits, K)."""
    rows, codes = np.arange(splits.shape[1]), labels
    if sp.issparse(labels):
        rows, codes = np.repeat(rows, np.diff(labels.indptr)), labels.indices
    groups = (splits[:, rows] * shape[1] + codes).reshape(-1)
    return np.bincount(groups, minlength=shape[0] * shape[1]).reshape(shape)


def _sizes(
    n_models: int, n_classes: int, needs: frozenset[str], multilabel: bool, n_rows: int = KEPT_SCORES
) -> tuple[int, int, int]:
    """Rows whose scores are kept one by one, bins of histograms beyond, and bytes of all tallies of `n_rows` rows."""
    share = KEPT_SCORES // (n_models * n_classes)
    exact_rows, n_bins = min(max(share, 100), 10_000), min(max(share // 2, 64), 2048)
    kept = 8 * n_rows if n_rows <= exact_rows else max(8 * exact_rows, 16 * n_bins)
    per_class = 24 + kept * len(needs & {"ranking", "margin"})
    per_class += 8 * n_classes * ("confusion" in needs and not multilabel)
    return exact_rows, n_bins, n_models * n_classes * per_class


def check_sheet(
    n_models: int, models: str, stats: ClassStats, scorer: Scorer, limit: Any, at_once: int = 0, train: bool = False
) -> None:
    """Refuse scores that do not fit into memory, of all models or `at_once`, for a fold, or with `train` all rows."""
    n_rows = stats.n_rows if train else max(fold.n_rows for fold in stats.folds)
    n_bytes = _sizes(n_models, len(stats.classes), scorer.needs, stats.multilabel, n_rows)[2]
    n_bytes = n_bytes * (at_once or n_models) // n_models
    less = ", or a scoring of decisions alone, such as 'f1_micro'"
    if scorer.needs <= {"hits"}:
        less = ""
    cure = f"give a larger memory_limit, or use fewer penalties or folds{less}"
    memory.check(f"what scoring={scorer.name!r} keeps of {models}", n_bytes, limit, cure)
