"""Several scans of the same rows in one read, each of other columns that are made of them."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from streamnb.core import memory
from streamnb.passes.contract import PassTask, Wants
from streamnb.passes.options import RunOptions
from streamnb.passes.report import Report
from streamnb.rows.block import Block
from streamnb.rows.preparing import RowOptions
from streamnb.rows.source import Source
from streamnb.scanning.class_scan import ClassScan, run_scan
from streamnb.stats import second_moments
from streamnb.stats.class_stats import ClassStats


@dataclass(frozen=True)
class StatsSideBySide:
    """What several scans leave."""

    parts: list[Any]

    @property
    def nbytes(self) -> int:
        """Memory of all."""
        return sum(part.nbytes for part in self.parts)

    @property
    def n_features(self) -> int:
        """Columns of each scan."""
        return self.parts[0].n_features

    def __add__(self, other: "StatsSideBySide") -> "StatsSideBySide":
        return StatsSideBySide([a + b for a, b in zip(self.parts, other.parts, strict=True)])

    def arrays(self) -> Mapping[str, Any]:
        """All of it by name."""
        return vars(self)

    def finish(self) -> "StatsSideBySide":
        """The total of what each has added."""
        return StatsSideBySide([part.finish() for part in self.parts])


@dataclass(frozen=True)
class SideBySide(PassTask):
    """Scans of the same labels and folds, which differ in what is done to rows, or in a fold left out."""

    scans: tuple[ClassScan, ...]
    title = "scan"

    @property
    def moments(self) -> tuple[str, ...]:
        """Those of all."""
        return sum((scan.moments for scan in self.scans), ())

    @property
    def options(self) -> RowOptions:
        """What the first does to rows."""
        return self.scans[0].options

    def named(self, labels: np.ndarray) -> "SideBySide":
        """The same scans of labels that are named as the columns of y."""
        return SideBySide(tuple(scan.named(labels) for scan in self.scans))

    def partial(self) -> StatsSideBySide:
        n_scans = len(self.scans)
        return StatsSideBySide([replace(scan, n_sharing=n_scans).partial() for scan in self.scans])

    def add(self, partial: StatsSideBySide, block: Block) -> None:
        """Add a block of rows to each."""
        for scan, part in zip(self.scans, partial.parts, strict=True):
            scan.add(part, block)

    def wants(self, n_rows: int | None, n_features: int | None) -> Wants:
        """What each wants; tables that are known to be too large together are refused."""
        first = self.scans[0]
        if n_features is not None:
            n_classes = 2 if first.classes is None else len(first.classes)
            splits = [1 if s.folding is None or s.outside is not None else s.folding.n_splits for s in self.scans]
            every = [
                (scan.moments, scan.how.pooled, n_classes, n_splits, scan.options.n_made(n_features))
                for scan, n_splits in zip(self.scans, splits, strict=True)
            ]
            needed = sum(second_moments.bytes_of(*each) for each in every)
            if needed > (limit := memory.allowed(first.memory_limit)):
                what = f"products of {n_features:,} features by {n_features:,}, each under {len(self.scans)} maps,"
                memory.refuse(what, needed, limit, f"try fewer maps, or {second_moments.CURE}")
        wanted = [scan.wants(n_rows, n_features) for scan in self.scans]
        return Wants(True, max(w.block_bytes for w in wanted), max(w.tile_rows for w in wanted))

    def ended(self, total: Any, report: Report) -> Any:
        """Refuse what each would."""
        return StatsSideBySide([scan.ended(part, report) for scan, part in zip(self.scans, total.parts, strict=True)])

    def about(self) -> dict[str, str]:
        return {f"{name} {i}": said for i, scan in enumerate(self.scans) for name, said in scan.about().items()}

    def packed(self, total: Any) -> Any:
        return StatsSideBySide([scan.packed(part) for scan, part in zip(self.scans, total.parts, strict=True)])

    def unpacked(self, total: Any) -> Any:
        return StatsSideBySide([scan.unpacked(part) for scan, part in zip(self.scans, total.parts, strict=True)])

    def total(self, arrays: Any) -> Any:
        if not isinstance(arrays["parts"], list) or not all(isinstance(part, ClassStats) for part in arrays["parts"]):
            raise ValueError("parts should be the statistics of each scan")
        return StatsSideBySide(arrays["parts"])


def run_scans(
    scans: Mapping[str, ClassScan], rows: Source, options: RunOptions
) -> tuple[dict[str, ClassStats], Report]:
    """Statistics by the names of scans, from one read for all."""
    if len(scans) == 1:
        (name,) = scans
        stats, report = run_scan(scans[name], rows, options)
        return {name: stats}, report
    every, report = run_scan(SideBySide(tuple(scans.values())), rows, options)
    return dict(zip(scans, every.parts, strict=True)), report
