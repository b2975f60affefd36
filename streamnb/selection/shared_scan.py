"""Class statistics of rows that are prepared in several ways, beside each other in one read."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import lcm
from typing import Any

from streamnb.core import label_checks
from streamnb.passes.contract import PassTask, Wants
from streamnb.passes.report import Report
from streamnb.problem.family import Family
from streamnb.problem.mixed import FamilyDomain
from streamnb.rows.block import Block
from streamnb.rows.boundary import Survey, checked
from streamnb.rows.chunk import Chunk
from streamnb.rows.preparing import RowOptions, transformed
from streamnb.scanning.class_scan import ClassScan

Refusals = dict[str, tuple[int, str]]  # of what is refused, by its number: the first row of the block, and why


@dataclass(frozen=True, eq=False)
class SharedStats:
    """Statistics of each scan, None of those that took no part, and what was refused.

    Families are told by the number of their scan and their own in it, such as "2.0".
    """

    stats: Sequence[Any]
    refused: Refusals

    @property
    def nbytes(self) -> int:
        return sum(stats.nbytes for stats in self.stats if stats is not None)

    def __add__(self, other: "SharedStats") -> "SharedStats":
        pairs = zip(self.stats, other.stats, strict=True)
        stats = [None if a is None or b is None else a + b for a, b in pairs]
        both = [*self.refused.items(), *other.refused.items()]
        return SharedStats(stats, {name: min(why for n, why in both if n == name) for name, _ in both})

    def arrays(self) -> dict[str, Any]:
        return {"stats": list(self.stats), "refused": {name: list(why) for name, why in self.refused.items()}}

    def why(self, scan: int, family: int) -> str | None:
        """Why a family of a scan was refused, None where it was not."""
        return self.refused.get(f"{scan}.{family}", (0, None))[1]


class GrowingScans:
    """What grows: sums of each scan, until the last of its families is refused."""

    def __init__(self, scans: Sequence[ClassScan]):
        self.sums: list[Any] = [scan.partial() for scan in scans]
        self.refused: Refusals = {}

    @property
    def nbytes(self) -> int:
        return sum(sums.nbytes for sums in self.sums if sums is not None)

    def finish(self) -> SharedStats:
        return SharedStats([None if sums is None else sums.finish() for sums in self.sums], self.refused)


@dataclass(frozen=True, eq=False)
class SharedScan(PassTask):
    """Several scans of the same rows and folds in one read.

    A family that does not take the values is refused, not the read; and all of a scan whose transform does not. Each of
    `families` has those of a scan.
    """

    scans: tuple[ClassScan, ...]
    families: tuple[tuple[Family, ...], ...]
    title = "scan"

    def partial(self) -> GrowingScans:
        return GrowingScans(self.scans)

    def add(self, partial: GrowingScans, block: Block) -> None:
        """Check one block of rows, prepare it in each way, and add it."""
        given, y = checked(block), label_checks.check_y(block.y)
        ready: dict[RowOptions, Any] = {}
        for number, scan in enumerate(self.scans):
            if partial.sums[number] is None:
                continue
            how = replace(scan.options, binarize=0.0, centre=0.0)  # which only sums ask for
            if how not in ready:
                ready[how] = _prepared(given, how)
            for of_scan, family in enumerate(self.families[number]):
                why = ready[how] if isinstance(ready[how], str) else _refusal(family, scan, *ready[how])
                if why is not None:
                    partial.refused.setdefault(f"{number}.{of_scan}", (block.first_row, why))
            if all(f"{number}.{of_scan}" in partial.refused for of_scan in range(len(self.families[number]))):
                partial.sums[number] = None
            else:
                partial.sums[number].add(*ready[how], y, scan.weight_of(block), block.split)

    def wants(self, n_rows: int | None, n_features: int | None) -> Wants:
        every = [scan.wants(n_rows, n_features) for scan in self.scans]
        return Wants(any(wants.values for wants in every), tile_rows=lcm(*(wants.tile_rows for wants in every)))

    def ended(self, total: SharedStats, report: Report) -> SharedStats:
        pairs = zip(self.scans, total.stats, strict=True)
        return replace(total, stats=[None if stats is None else scan.ended(stats, report) for scan, stats in pairs])

    # ---- in a checkpoint ---------------------------------------------------------------------------------------------

    def about(self) -> dict[str, str]:
        scans = zip(self.scans, self.families, strict=True)
        return {"the task": self.name, **{str(n): f"{scan.about()} {fs!r}" for n, (scan, fs) in enumerate(scans)}}

    def packed(self, total: SharedStats) -> SharedStats:
        return self._each(ClassScan.packed, total)

    def unpacked(self, total: SharedStats) -> SharedStats:
        return self._each(ClassScan.unpacked, total)

    def _each(self, function: Any, total: SharedStats) -> SharedStats:
        pairs = zip(self.scans, total.stats, strict=True)
        return replace(total, stats=[None if stats is None else function(scan, stats) for scan, stats in pairs])

    def total(self, arrays: Mapping[str, Any]) -> SharedStats:
        return SharedStats(arrays["stats"], {name: (row, why) for name, (row, why) in arrays["refused"].items()})


def _prepared(given: tuple[Chunk, Survey], how: RowOptions) -> Any:
    """The rows, or why they cannot be prepared so."""
    try:
        return transformed(*given, how)
    except ValueError as error:
        return str(error)


def _refusal(family: Family, scan: ClassScan, *given: Any) -> str | None:
    """Why a family does not take the rows."""
    try:
        FamilyDomain("search", family, scan.options.seen, "families").check(*given)
    except ValueError as error:
        return str(error)
    return None
