"""The scan of rows for a model and for those without each fold, whose idf is of the rows outside the fold alone."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from streamnb.passes.options import RunOptions
from streamnb.passes.report import Report
from streamnb.rows.preparing import FeatureScale, RowOptions
from streamnb.rows.source import Source
from streamnb.rows.splits import Folding
from streamnb.scanning.class_scan import ClassScan, run_scan
from streamnb.scanning.side_by_side import run_scans
from streamnb.stats.class_stats import ClassStats
from streamnb.training.fitting import options_of
from streamnb.training.objectives import inverse_frequency


@dataclass(frozen=True, eq=False)
class ScannedFolds:
    """The statistics of all rows with their folds, and those outside each fold where these are prepared otherwise."""

    stats: ClassStats
    rests: Sequence[ClassStats] = ()

    @property
    def nbytes(self) -> int:
        """Memory of all."""
        return sum(stats.nbytes for stats in (self.stats, *self.rests))

    @property
    def whole(self) -> ClassStats:
        """Those of all rows, without folds."""
        return replace(self.stats, folds=(), folding=None)

    def outside(self, fold: int) -> ClassStats:
        """Those of the rows outside a fold."""
        return self.rests[fold] if self.rests else self.stats.without_fold(fold)


@dataclass(frozen=True, eq=False)
class Applied:
    """What is done to all rows, and what for the models without each fold where that is something else."""

    options: RowOptions
    outside: Sequence[RowOptions] = ()

    @classmethod
    def of(
        cls,
        asked: RowOptions,
        weighted: Callable[[ClassStats], ClassStats] | None,
        rows: Source,
        options: RunOptions,
        folding: Folding | None,
    ) -> tuple["Applied", Report]:
        """With the idf of all rows, and of those outside each fold, from a scan before the rows are normalised.

        `weighted` says how rows count for it; without it, what is asked for is done to all alike.
        """
        if weighted is None:
            return cls(asked), Report()
        plain = replace(asked, normalize=None)
        scan = ClassScan(("nonzero",), plain, folding=folding, memory_limit=options.memory_limit)
        stats, report = run_scan(scan, rows, options_of(options, "idf"))
        rests = [stats.without_fold(fold) for fold in range(len(stats.folds))]
        all_rows, *outside = (
            replace(asked, scale=FeatureScale(inverse_frequency(weighted(some)))) for some in (stats, *rests)
        )
        return cls(all_rows, outside), report

    def scanned(
        self, scan: ClassScan, folding: Folding | None, rows: Source, options: RunOptions
    ) -> tuple[ScannedFolds, Report]:
        """The statistics with these folds, from one read."""
        scan = replace(scan, folding=folding)
        scans = {"all": scan}
        for fold, way in enumerate(self.outside):
            scans[f"outside {fold}"] = replace(scan, options=way, outside=fold)
        found, report = run_scans(scans, rows, options_of(options, "scan"))
        whole, rests = found.pop("all"), list(found.values())
        if rests:  # which are asked for in place of what folds leave
            whole = replace(whole, folds=tuple(part.select(slice(0), ()) for part in whole.folds))
        return ScannedFolds(whole, rests), report
