"""Learns from weighted rows as from copies of them: a row of weight k counts as k rows, one of weight 0 not at all.

Tasks count in whole numbers, whose sums are the same for any blocks and threads. Other weights are cut into whole
numbers of a few units, powers of 2^24, and the rows are counted once in each unit.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from streamnb.core import persistence, row_checks
from streamnb.fits.passes import picked
from streamnb.passes.contract import PassTask, Report, Wants
from streamnb.rows.row_blocks import Block

BITS = 24  # of a number of copies: 2^29 rows of so many are counted exactly in float64
SMALLEST = -43  # unit: smaller parts of weights are lost
ABSENT = -99  # in place of the unit: rows of weight 0


def copies_of(weight: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    """Yield units u and whole numbers of copies (n_rows,) below 2^24: the weights are the sums of copies 2^(24 u)."""
    rest = np.asarray(weight, np.float64)
    unit = (int(np.frexp(rest.max(initial=0.0))[1]) - 1) // BITS
    while rest.any() and unit >= SMALLEST:
        size = 2.0 ** (BITS * unit)
        copies = np.floor(rest / size)
        if copies.any():
            yield unit, copies.astype(np.int64)
        rest, unit = rest - copies * size, unit - 1


class WeighedTotal:
    """The total, or partial result, of the copies in each unit; `ABSENT` has that of the rows of weight 0, if asked."""

    def __init__(self, units: dict[int, Any]):
        self.units = units

    @property
    def nbytes(self) -> int:
        return sum(part.nbytes for part in self.units.values())

    def __add__(self, other: "WeighedTotal") -> "WeighedTotal":
        units = dict(self.units)
        for unit, part in other.units.items():
            units[unit] = units[unit] + part if unit in units else part
        return WeighedTotal(units)

    def changed(self, change: Callable[[Any], Any]) -> "WeighedTotal":
        """The total with the part of each unit changed."""
        return WeighedTotal({unit: change(part) for unit, part in self.units.items()})

    def finish(self) -> "WeighedTotal":
        """Turn the partial results into totals."""
        return self.changed(lambda part: part.finish())

    def arrays(self) -> Mapping[str, Any]:
        if [*self.units] == [0]:  # as before rows had weights
            return self.units[0].arrays()
        units = sorted(self.units)
        return {"units": units, "totals": [self.units[unit].arrays() for unit in units]}

    @property
    def has_weight(self) -> bool:
        """Whether any row has a weight above 0."""
        return bool(self.units.keys() - {ABSENT})

    def whole(self) -> Any:
        """The total of all rows, whose counts are the weights."""
        units = sorted(self.units.keys() - {ABSENT}, reverse=True)
        if not units:
            row_checks.check_total_weight(0.0)
        total = self.units[0] if units == [0] else reduce(add, [self.units[u].scaled(2.0 ** (BITS * u)) for u in units])
        return total.beside(self.units[ABSENT]) if ABSENT in self.units else total


@dataclass(frozen=True, eq=False)
class OfCopies(PassTask):
    """Runs a task that counts whole numbers of copies on rows of any weights.

    Parameters
    ----------
    task : PassTask
        It takes the weights of a block as numbers of copies. Its totals have `scaled(factor)`.
    absent : bool
        Whether totals have `beside(total)`, with what is to be known of rows of weight 0.
    """

    task: PassTask
    absent: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "title", self.task.title)

    @property
    def name(self) -> str:
        return self.task.name

    def partial(self) -> WeighedTotal:
        return WeighedTotal({})

    def add(self, partial: WeighedTotal, block: Block) -> None:
        """Add the copies of each unit."""
        if block.weight is None:
            self._add(partial, 0, block)
            return
        weight = row_checks.check_weights(block.weight, block.first_row)
        for unit, copies in copies_of(weight):
            self._add(partial, unit, _in_copies(block, copies), block)
        if self.absent and not weight.all():
            self._add(partial, ABSENT, _in_copies(block, (weight == 0.0).astype(np.int64)), block)

    def _add(self, partial: WeighedTotal, unit: int, part: Block, block: Block | None = None) -> None:
        if unit not in partial.units:
            partial.units[unit] = self.task.partial()
        try:
            self.task.add(partial.units[unit], part)
        except ValueError:
            if block is not None:
                self.task.add(self.task.partial(), block)  # raises it with the row's number among all
            raise

    def wants(self, n_rows: int | None, n_features: int | None) -> Wants:
        return self.task.wants(n_rows, n_features)

    def ended(self, total: WeighedTotal, report: Report) -> WeighedTotal:
        if total.has_weight or not report.rows:
            self.task.ended(total.whole() if report.rows else self.task.partial().finish(), report)
        return total

    def about(self) -> dict[str, str]:
        return self.task.about()

    def total(self, arrays: Mapping[str, Any]) -> WeighedTotal:
        if "units" not in arrays:
            return WeighedTotal({0: self.task.total(arrays)})
        units = persistence.part(arrays, "units", list[int])
        return WeighedTotal(dict(zip(units, map(self.task.total, arrays["totals"]), strict=True)))


def _in_copies(block: Block, copies: np.ndarray) -> Block:
    """The rows of a block of which there are any copies, and their numbers as weights; None for 1 each."""
    rows = np.flatnonzero(copies)
    some = replace(block, weight=copies)
    some = some if len(rows) == block.n_rows else picked(some, rows)
    return replace(some, weight=None) if (copies[rows] == 1).all() else some
