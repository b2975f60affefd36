"""Passes that a fit asks for, and the read that answers several of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from math import lcm
from operator import add
from typing import Annotated, Any

import numpy as np

from streamnb.core import persistence, row_checks
from streamnb.core.descriptions import described, shown
from streamnb.fits.statistic import Statistic, added
from streamnb.passes.contract import PassTask, Report, Wants
from streamnb.rows.boundary import checked
from streamnb.rows.row_blocks import Block
from streamnb.rows.splits import Folding, check_n_folds, check_no_empty


@dataclass(frozen=True, eq=False)
class Pass:
    """A request: the total of a statistic over all rows, or over those outside or inside a fold.

    Attributes
    ----------
    statistic : Statistic or PassTask
        What rows are added to. Passes that share one object share its sums.
    without : int or None
        The fold that is left out. Folds of the second repeat follow those of the first.
    inside : int or None
        The only fold that counts.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> from typing import Annotated
    >>> import numpy as np, streamnb as snb
    >>> @dataclass
    ... class Count(snb.Statistic):
    ...     n_rows: Annotated[int, np.add] = 0
    ...
    ...     def add(self, rows):
    ...         self.n_rows += rows.n_rows
    >>> def sizes():
    ...     count = Count()
    ...     inside, outside = yield [snb.Pass(count, inside=0), snb.Pass(count, without=0)]
    ...     return int(inside.n_rows), int(outside.n_rows)
    >>> snb.drive(sizes(), np.ones((9, 2)), folds=3)
    (3, 6)
    """

    statistic: Any
    without: int | None = None
    inside: int | None = None

    @property
    def fold(self) -> int | None:
        """The fold that the pass names."""
        return self.inside if self.without is None else self.without

    def of_fold(self, fold: int) -> "Pass":
        """The same pass without the rows of a fold."""
        if self.fold is not None:
            raise ValueError(f"the pass is of fold {self.fold} already")
        return replace(self, without=fold)


@dataclass(frozen=True)
class StatisticTask(PassTask):
    """Adds rows to a statistic."""

    statistic: Statistic

    @property
    def name(self) -> str:
        return type(self.statistic).__name__

    def partial(self) -> Statistic:
        return self.statistic.begun()

    def add(self, partial: Statistic, block: Block) -> None:
        y = None if block.y is None else row_checks.check_y(block.y, block.first_row)
        partial.add(replace(block, X=checked(block)[0].to_matrix(), y=y))

    def ended(self, total: Statistic, report: Report) -> Statistic:
        row_checks.check_min_size(report.rows, 1)
        return total

    def about(self) -> dict[str, str]:
        return {"the task": self.name, **{name: shown(value) for name, value in vars(self.statistic).items()}}


def as_task(statistic: Any) -> PassTask:
    """The task of a statistic; a task is returned as it is."""
    if isinstance(statistic, PassTask):
        return statistic
    if isinstance(statistic, Statistic):
        return StatisticTask(statistic)
    raise TypeError(
        f"a pass is of {statistic!r:.100}; it should be a snb.Statistic or a snb.PassTask, an object and not a class"
    )


@dataclass(frozen=True, eq=False)
class TotalsOfRead(Statistic):
    """The totals of each part of a read, such as those of a task by split, and the number of rows of each split."""

    parts: Annotated[list[list[Any]], added]
    rows: Annotated[np.ndarray, np.add]

    @property
    def nbytes(self) -> int:
        """Bytes of the totals that say how large they are; asked for before each block."""
        return sum(getattr(each, "nbytes", 0) for part in self.parts for each in part)


@dataclass(frozen=True, eq=False)
class JointRead(PassTask):
    """One read of the rows for several passes, of which those of one object share its sums.

    Attributes
    ----------
    passes : tuple of Pass
    folding : Folding or None
    title : str
    """

    passes: tuple[Pass, ...]
    folding: Folding | None = None
    title: str = "read"

    @cached_property
    def groups(self) -> list[list[Pass]]:
        """The passes of each object."""
        groups: dict[int, list[Pass]] = {}
        for each in self.passes:
            groups.setdefault(id(each.statistic), []).append(each)
        return list(groups.values())

    @cached_property
    def tasks(self) -> list[PassTask]:
        return [as_task(group[0].statistic) for group in self.groups]

    @cached_property
    def by_fold(self) -> tuple[bool, ...]:
        """Whether the totals of each task are summed for each split."""
        return tuple(any(each.fold is not None for each in group) for group in self.groups)

    @property
    def n_splits(self) -> int:
        return 0 if self.folding is None else self.folding.n_splits

    def partial(self) -> TotalsOfRead:
        counts = [self.n_splits if split else 1 for split in self.by_fold]
        parts = [[task.partial() for _ in range(n)] for task, n in zip(self.tasks, counts, strict=True)]
        return TotalsOfRead(parts, np.zeros(self.n_splits, np.int64))

    def add(self, partial: TotalsOfRead, block: Block) -> None:
        """Add a block of rows to the totals of all rows, and the rows of each split to its own."""
        for task, by_fold, totals in zip(self.tasks, self.by_fold, partial.parts, strict=True):
            if not by_fold:
                task.add(totals[0], block)
        if self.folding is None:
            return
        splits = self.folding.splits(block.first_row, block.n_rows, block.split)
        partial.rows[:] += np.bincount(splits.reshape(-1), minlength=self.n_splits)
        if not any(self.by_fold):
            return
        for split in range(self.n_splits):
            places = np.flatnonzero(splits[split // self.folding.n_folds] == split)
            if places.size:
                self._add_split(partial, split, block, places)

    def _add_split(self, partial: TotalsOfRead, split: int, block: Block, places: np.ndarray) -> None:
        rows = picked(block, places)
        for task, by_fold, totals in zip(self.tasks, self.by_fold, partial.parts, strict=True):
            if not by_fold:
                continue
            try:
                task.add(totals[split], rows)
            except ValueError:
                task.add(task.partial(), block)  # raises it with the row's number among all
                raise

    def wants(self, n_rows: int | None, n_features: int | None) -> Wants:
        if n_rows is not None:
            check_n_folds(self.folding, n_rows)
        wanted = [task.wants(n_rows, n_features) for task in self.tasks]
        tile_rows = lcm(*(each.tile_rows for each in wanted))
        return Wants(any(each.values for each in wanted), max(each.block_bytes for each in wanted), tile_rows)

    def ended(self, total: TotalsOfRead, report: Report) -> TotalsOfRead:
        if report.rows and self.folding is not None:
            check_no_empty(self.folding, total.rows.tolist())
        return total

    def about(self) -> dict[str, str]:
        about = {"the task": self.name, "folding": described(self.folding), "by fold": repr(self.by_fold)}
        return about | {f"{name} {i}": said for i, task in enumerate(self.tasks) for name, said in task.about().items()}

    def total(self, arrays: Mapping[str, Any]) -> TotalsOfRead:
        parts = []
        for task, kept in zip(self.tasks, arrays["parts"], strict=True):
            parts.append([each if persistence.registered(each) else task.total(each) for each in kept])
        return TotalsOfRead(parts, arrays["rows"])

    def answers(self, total: TotalsOfRead, report: Report) -> list[Any]:
        """The final result of each pass, from the totals of the read."""
        found = {}
        for task, by_fold, group, totals in zip(self.tasks, self.by_fold, self.groups, total.parts, strict=True):
            for each in group:
                if each.inside is not None:
                    of_pass = totals[each.inside]
                else:
                    of_pass = self._outside(totals, each.without) if by_fold else totals[0]
                found[each] = task.ended(of_pass, report)
        return [found[each] for each in self.passes]

    def _outside(self, totals: Sequence[Any], split: int | None) -> Any:
        """The total of the rows outside a fold, in its repeat; of all rows if `split` is None."""
        assert self.folding is not None
        first = 0 if split is None else split - split % self.folding.n_folds
        of_repeat = enumerate(totals[first : first + self.folding.n_folds], first)
        return reduce(add, [each for number, each in of_repeat if number != split])


def picked(block: Block, rows: np.ndarray) -> Block:
    """The given rows of a block, whose values may be missing."""
    own = hasattr(block.X, "picked")
    X = block.X.picked(rows) if own else checked(block, missing=True)[0].picked(rows).to_matrix()
    y, weight, split = (None if part is None else part[rows] for part in (block.y, block.weight, block.split))
    return replace(block, X=X, y=y, weight=weight, split=split)
