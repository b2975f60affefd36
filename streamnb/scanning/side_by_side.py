"""Runs several scans of the same rows in one read."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from math import lcm
from typing import Any

import numpy as np

from streamnb.core import memory, row_checks
from streamnb.core.descriptions import shown
from streamnb.passes.contract import PassTask, Report, RunOptions, Wants
from streamnb.rows.boundary import TakesValues, checked
from streamnb.rows.preparing import RowOptions, transformed
from streamnb.rows.row_blocks import Block
from streamnb.rows.source import Source
from streamnb.scanning.class_scan import ClassScan, run_scan
from streamnb.stats import second_moments
from streamnb.stats.class_stats import ClassStats


@dataclass(frozen=True)
class StatsSideBySide:
    """The statistics of several scans; None for scans whose domains have all refused the rows.

    `refused` has an entry for each domain that refused rows, under the numbers of scan and domain such as "2.0": the
    first row of the block, and the message.
    """

    parts: list[Any]
    refused: dict[str, tuple[int, str]] = field(default_factory=dict)

    @property
    def nbytes(self) -> int:
        """Bytes of all statistics."""
        return sum(part.nbytes for part in self.parts if part is not None)

    @property
    def n_features(self) -> int:
        """Number of columns of each scan."""
        return self.parts[0].n_features

    def __add__(self, other: "StatsSideBySide") -> "StatsSideBySide":
        pairs = zip(self.parts, other.parts, strict=True)
        refused = [*self.refused.items(), *other.refused.items()]
        return StatsSideBySide(
            [None if a is None or b is None else a + b for a, b in pairs],
            {name: min(why for n, why in refused if n == name) for name, _ in refused},
        )

    def arrays(self) -> Mapping[str, Any]:
        """The state for a checkpoint."""
        return {"parts": self.parts, "refused": {name: list(why) for name, why in self.refused.items()}}

    def finish(self) -> "StatsSideBySide":
        """Turn the partial results into totals."""
        return replace(self, parts=[None if part is None else part.finish() for part in self.parts])

    def why(self, scan: int, domain: int) -> str | None:
        """The message of a domain that has refused the rows, None if it has not."""
        return self.refused.get(f"{scan}.{domain}", (0, None))[1]


@dataclass(frozen=True)
class SideBySide(PassTask):
    """Runs scans with the same labels and folds but different preparations of rows, or different folds left out.

    A value outside a scan's domain ends the read with an error. With `domains`, several for each scan in place of its
    own, refusals are recorded for each domain; an error of a scan's transform counts for all of its domains.
    """

    scans: tuple[ClassScan, ...]
    domains: tuple[tuple[TakesValues, ...], ...] = ()
    title = "scan"

    @property
    def moments(self) -> tuple[str, ...]:
        """The moments of all scans."""
        return sum((scan.moments for scan in self.scans), ())

    @property
    def options(self) -> RowOptions:
        """The row options of the first scan."""
        return self.scans[0].options

    def named(self, labels: np.ndarray) -> "SideBySide":
        """A copy with the classes named like the columns of y."""
        return replace(self, scans=tuple(scan.named(labels) for scan in self.scans))

    def partial(self) -> StatsSideBySide:
        return StatsSideBySide([scan.partial() for scan in self.scans])

    def add(self, partial: StatsSideBySide, block: Block) -> None:
        """Validate a block of rows, prepare it in each way that scans need, and add it to these scans."""
        given, y = cache(lambda missing: checked(block, missing)), row_checks.check_y(block.y)
        ways: dict[RowOptions, list[int]] = {}
        for number, scan in enumerate(self.scans):
            how = replace(scan.options, binarize=0.0, centre=0.0)  # used by sums only
            if partial.parts[number] is not None:
                ways.setdefault(how, []).append(number)
        for how, numbers in ways.items():
            rows = given(how.learned is not None)
            try:
                ready: Any = transformed(*rows, how)
            except ValueError as error:
                if not self.domains:
                    raise
                ready = error
            for number in numbers:
                if self._accepts(partial, number, ready, block):
                    partial.parts[number].add(*ready, y, self.scans[number].weight_of(block), block.split)

    def _accepts(self, partial: StatsSideBySide, number: int, ready: Any, block: Block) -> bool:
        """Whether a scan accepts prepared rows, or an error; it ends once all of its domains have refused some."""
        if not self.domains:
            self.scans[number].domain.check(*ready)
            return True
        names = [f"{number}.{domain}" for domain in range(len(self.domains[number]))]
        for name, domain in zip(names, self.domains[number], strict=True):
            try:
                if isinstance(ready, ValueError):
                    raise ready
                domain.check(*ready)
            except ValueError as error:
                partial.refused.setdefault(name, (block.first_row, str(error)))
        if partial.refused.keys() >= {*names}:
            partial.parts[number] = None
        return partial.parts[number] is not None

    def wants(self, n_rows: int | None, n_features: int | None) -> Wants:
        """Combine what the scans want; refuse tables that will be too large together."""
        first = self.scans[0]
        if n_features is not None and not self.domains:
            n_classes = 2 if first.classes is None else len(first.classes)
            splits = [1 if s.folding is None or s.outside is not None else s.folding.n_splits for s in self.scans]
            sizes = [
                (scan.moments, scan.how.pooled, n_classes, n_splits, scan.options.n_made(n_features))
                for scan, n_splits in zip(self.scans, splits, strict=True)
            ]
            needed = sum(second_moments.bytes_of(*each) for each in sizes)
            what = f"products of {n_features:,} features by {n_features:,}, each under {len(self.scans)} maps,"
            memory.check(what, needed, first.memory_limit, f"try fewer maps, or {second_moments.CURE}")
        wanted = [scan.wants(n_rows, n_features) for scan in self.scans]
        tile_rows = lcm(*(w.tile_rows for w in wanted))
        return Wants(any(w.values for w in wanted), max(w.block_bytes for w in wanted), tile_rows)

    def ended(self, total: Any, report: Report) -> Any:
        """Run the final checks of each scan."""
        return self._for_each(total, lambda scan, part: scan.ended(part, report))

    def about(self) -> dict[str, str]:
        about = {f"{name} {i}": said for i, scan in enumerate(self.scans) for name, said in scan.about().items()}
        return about | ({"domains": shown(self.domains)} if self.domains else {})

    def packed(self, total: Any) -> Any:
        return self._for_each(total, ClassScan.packed)

    def unpacked(self, total: Any) -> Any:
        return self._for_each(total, ClassScan.unpacked)

    def _for_each(self, total: StatsSideBySide, done: Callable[[ClassScan, Any], Any]) -> StatsSideBySide:
        pairs = zip(self.scans, total.parts, strict=True)
        return replace(total, parts=[None if part is None else done(scan, part) for scan, part in pairs])

    def total(self, arrays: Any) -> Any:
        parts = arrays["parts"]
        if not isinstance(parts, list) or not all(isinstance(part, ClassStats | None) for part in parts):
            raise ValueError("parts should be the statistics of each scan")
        return StatsSideBySide(parts, {name: (row, why) for name, (row, why) in arrays.get("refused", {}).items()})


def run_scans(
    scans: Mapping[str, ClassScan], rows: Source, options: RunOptions
) -> tuple[dict[str, ClassStats], Report]:
    """Run several scans in one read; return their statistics by name, and the report."""
    if len(scans) == 1:
        (name,) = scans
        stats, report = run_scan(scans[name], rows, options)
        return {name: stats}, report
    sharing = tuple(replace(scan, n_sharing=len(scans)) for scan in scans.values())
    stats_of_all, report = run_scan(SideBySide(sharing), rows, options)
    return dict(zip(scans, stats_of_all.parts, strict=True)), report
