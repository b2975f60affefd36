"""Learns an encoding by fold, so that each can leave out its held-out rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from streamnb.core.descriptions import described
from streamnb.passes.contract import PassTask, Wants
from streamnb.passes.options import RunOptions
from streamnb.passes.report import Report
from streamnb.passes.run import run
from streamnb.rows.block import Block
from streamnb.rows.boundary import checked
from streamnb.rows.preparing import LearnedStep
from streamnb.rows.source import Source
from streamnb.rows.splits import Folding, check_n_folds, check_no_empty


@dataclass(frozen=True, eq=False)
class TotalsOfFolds:
    """A total, or partial result, for each fold of each repeat, and its number of rows."""

    folds: Sequence[Any]
    rows: np.ndarray
    n_folds: int  # in each repeat

    @property
    def nbytes(self) -> int:
        return sum(part.nbytes for part in self.folds)

    def __add__(self, other: "TotalsOfFolds") -> "TotalsOfFolds":
        folds = [a + b for a, b in zip(self.folds, other.folds, strict=True)]
        return replace(self, folds=folds, rows=self.rows + other.rows)

    def finish(self) -> "TotalsOfFolds":
        """Turn the partial results into totals."""
        return replace(self, folds=[part.finish() for part in self.folds])

    def arrays(self) -> dict[str, Any]:
        return {"folds": [part.arrays() for part in self.folds], "rows": self.rows}

    def without(self, split: int | None) -> Any:
        """The total of the rows outside the fold of a split, or of all rows if `split` is None."""
        first = 0 if split is None else split - split % self.n_folds
        of_repeat = enumerate(self.folds[first : first + self.n_folds], first)
        return reduce(add, [part for number, part in of_repeat if number != split])


@dataclass(frozen=True, eq=False)
class OfFolds(PassTask):
    """Runs a task separately for each fold."""

    task: PassTask
    folding: Folding
    title = "folds"

    def partial(self) -> TotalsOfFolds:
        n_splits, n_folds = self.folding.n_splits, self.folding.n_folds
        return TotalsOfFolds([self.task.partial() for _ in range(n_splits)], np.zeros(n_splits, np.int64), n_folds)

    def add(self, partial: TotalsOfFolds, block: Block) -> None:
        """Add the rows of each fold to its partial result."""
        splits = self.folding.splits(block.first_row, block.n_rows, block.split)
        partial.rows[:] += np.bincount(splits.reshape(-1), minlength=len(partial.rows))
        for split, part in enumerate(partial.folds):
            if len(rows := np.flatnonzero(splits[split // partial.n_folds] == split)):
                try:
                    self.task.add(part, _picked(block, rows))
                except ValueError:
                    self.task.add(self.task.partial(), block)  # raises it with the row's number among all
                    raise

    def wants(self, n_rows: int | None, n_features: int | None) -> Wants:
        if n_rows is not None:
            check_n_folds(self.folding, n_rows)
        return self.task.wants(n_rows, n_features)

    def ended(self, total: Any, report: Report) -> Any:
        if report.rows:
            check_no_empty(self.folding, total.rows.tolist())
        self.task.ended(total.without(None), report)
        return total

    def about(self) -> dict[str, str]:
        return {**self.task.about(), "the task": self.name, "folding": described(self.folding)}

    def total(self, arrays: Mapping[str, Any]) -> TotalsOfFolds:
        return TotalsOfFolds([self.task.total(part) for part in arrays["folds"]], arrays["rows"], self.folding.n_folds)


@dataclass(frozen=True)
class StepsOfFolds:
    """The step learned from all rows and, for each split, from the rows outside its fold; empty by default."""

    whole: LearnedStep | None = None
    outside: Sequence[LearnedStep] = ()


def totals_of(
    task: PassTask, rows: Source, options: RunOptions, folding: Folding | None
) -> tuple[Any, Sequence[Any], Report]:
    """Run a task in one pass: its total over all rows and, for each split, over the rows outside its fold."""
    options = replace(options, checkpoint=None)
    if folding is None:
        total, report = run(task, rows, options)
        return total, (), report
    totals, report = run(OfFolds(task, folding), rows, options)
    return totals.without(None), [totals.without(split) for split in range(folding.n_splits)], report


def _picked(block: Block, rows: np.ndarray) -> Block:
    """The given rows of a block, whose values may be missing."""
    own = hasattr(block.X, "picked")
    X = block.X.picked(rows) if own else checked(block, missing=True)[0].picked(rows).to_matrix()
    y, weight, split = (None if part is None else part[rows] for part in (block.y, block.weight, block.split))
    return replace(block, X=X, y=y, weight=weight, split=split)
