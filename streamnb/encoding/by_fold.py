"""What a pass leaves of each fold, so that what is learned of rows may leave out those that are held back."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from streamnb.passes.contract import PassTask, Wants
from streamnb.passes.report import Report
from streamnb.rows.block import Block
from streamnb.rows.boundary import checked
from streamnb.rows.splits import Folding


@dataclass(frozen=True, eq=False)
class TotalsOfFolds:
    """A total for each fold; partial results while they grow."""

    folds: Sequence[Any]

    @property
    def nbytes(self) -> int:
        return sum(part.nbytes for part in self.folds)

    def __add__(self, other: "TotalsOfFolds") -> "TotalsOfFolds":
        return TotalsOfFolds([a + b for a, b in zip(self.folds, other.folds, strict=True)])

    def finish(self) -> "TotalsOfFolds":
        """The totals."""
        return TotalsOfFolds([part.finish() for part in self.folds])

    def arrays(self) -> dict[str, Any]:
        return {"folds": [part.arrays() for part in self.folds]}

    def without(self, fold: int | None) -> Any:
        """The total of the rows outside a fold, or of all."""
        return reduce(add, [part for number, part in enumerate(self.folds) if number != fold])


@dataclass(frozen=True, eq=False)
class OfFolds(PassTask):
    """A task done for each fold by itself."""

    task: PassTask
    folding: Folding
    title = "folds"

    def partial(self) -> TotalsOfFolds:
        return TotalsOfFolds([self.task.partial() for _ in range(self.folding.n_folds)])

    def add(self, partial: TotalsOfFolds, block: Block) -> None:
        """Add the rows of each fold to its own."""
        numbers = self.folding.numbers(block.first_row, block.n_rows, block.split, 0)
        for fold, part in enumerate(partial.folds):
            if len(rows := np.flatnonzero(numbers == fold)):
                try:
                    self.task.add(part, _some(block, rows))
                except ValueError:
                    self.task.add(self.task.partial(), block)  # which says the same with the row's number among all
                    raise

    def wants(self, n_rows: int | None, n_features: int | None) -> Wants:
        return self.task.wants(n_rows, n_features)

    def ended(self, total: Any, report: Report) -> Any:
        self.task.ended(total.without(None), report)
        return total

    def about(self) -> dict[str, str]:
        return {**self.task.about(), "the task": self.name, "folding": repr(self.folding)}

    def total(self, arrays: Mapping[str, Any]) -> TotalsOfFolds:
        return TotalsOfFolds([self.task.total(part) for part in arrays["folds"]])


def _some(block: Block, rows: np.ndarray) -> Block:
    """Some rows of a block, whose values may be missing."""
    own = hasattr(block.X, "picked")
    X = block.X.picked(rows) if own else checked(block, missing=True)[0].picked(rows).to_matrix()
    y, weight, split = (None if part is None else part[rows] for part in (block.y, block.weight, block.split))
    return replace(block, X=X, y=y, weight=weight, split=split)
