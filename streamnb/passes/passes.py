"""Passes that a fit asks for, and the read that answers several of them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from math import lcm
from operator import add
from typing import Annotated, Any

import numpy as np

from streamnb.core import persistence
from streamnb.core.memory import bytes_of
from streamnb.core.persistence import described
from streamnb.passes.contract import PassTask, Report, Wants
from streamnb.passes.statistic import Statistic, added
from streamnb.rows.boundary import picked
from streamnb.rows.row_blocks import Block
from streamnb.rows.splits import Folding, check_learns, check_n_folds, check_no_empty


@dataclass(frozen=True, eq=False)
class Pass:
    """A request: the total of a statistic over all rows, or over those outside or inside a fold.

    Attributes
    ----------
    statistic : Statistic or PassTask
        What rows are added to. Passes that share one object share its sums.
    without : int or None
        The fold to leave out. Folds of the second repeat follow those of the first.
    inside : int or None
        The only fold that counts.
    n_folds : int or None
        The number of folds, over all repeats, that the fit expects; rows with another number are refused.

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
    n_folds: int | None = None

    @property
    def fold(self) -> int | None:
        """The fold that the pass names."""
        return self.inside if self.without is None else self.without

    def of_fold(self, fold: int, n_folds: int | None = None) -> "Pass":
        """The same pass without the rows of a fold, of `n_folds` where the fit expects so many."""
        if self.fold is not None:
            raise ValueError(f"the pass is of fold {self.fold} already")
        return replace(self, without=fold, n_folds=n_folds)


@dataclass(frozen=True)
class StatisticTask(PassTask):
    """Adds rows to a statistic."""

    statistic: Statistic

    @property
    def name(self) -> str:
        return type(self.statistic).__name__

    @property
    def title(self) -> str:  # type: ignore[override]
        return self.statistic.title

    @property
    def weighs(self) -> bool:  # type: ignore[override]
        return self.statistic.weighs

    def partial(self) -> Statistic:
        return self.statistic.begun()

    def add(self, partial: Statistic, block: Block) -> None:
        partial.add_block(block)

    def wants(self, n_rows: int | None, n_features: int | None) -> Wants:
        return self.statistic.wants(n_rows, n_features)

    def ended(self, total: Statistic, report: Report) -> Any:
        return total.ended(report)

    def about(self) -> dict[str, str]:
        return {"the task": self.name, **self.statistic.about()}


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
        """Bytes of the totals: 0 until tables are allocated, so that no thread joins before their size is known."""
        return bytes_of(self.parts)


@dataclass(frozen=True, eq=False)
class JointRead(PassTask):
    """One read of the rows for several passes, of which those of one object share its sums, and others are fused.

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
    def groups(self) -> dict[Any, list[Pass]]:
        """The passes of each object, or of each kind of read in which they are fused."""
        groups: dict[Any, list[Pass]] = {}
        for each in self.passes:
            kind = None if each.fold is None else getattr(each.statistic, "fused", None)
            groups.setdefault(id(each.statistic) if kind is None else kind, []).append(each)
        return groups

    @cached_property
    def tasks(self) -> list[Any]:
        """What adds up rows for each group; of a fused one, a read that answers its passes."""
        tasks = []
        for kind, group in self.groups.items():
            fused = isinstance(kind, type)
            tasks.append(kind(tuple(group), self.folding, self.title) if fused else as_task(group[0].statistic))
        return tasks

    @cached_property
    def summed(self) -> list[list[Pass]]:
        """For each task the rows that it sums: all, those that its only pass names, or the rows of each fold."""
        every = []
        for kind, (first, *others) in self.groups.items():
            if isinstance(kind, type) or all(each.fold is None for each in (first, *others)):
                every.append([Pass(first.statistic)])
            elif others:
                every.append([Pass(first.statistic, inside=split) for split in range(self.n_splits)])
            else:
                every.append([first])
        return every

    @property
    def most_bytes(self) -> int | None:  # type: ignore[override]
        return max((task.most_bytes or 0 for task in self.tasks), default=0) or None

    @property
    def n_splits(self) -> int:
        return 0 if self.folding is None else self.folding.n_splits

    def partial(self) -> TotalsOfRead:
        parts = [[task.partial() for _ in summed] for task, summed in zip(self.tasks, self.summed, strict=True)]
        return TotalsOfRead(parts, np.zeros(self.n_splits, np.int64))

    def add(self, partial: TotalsOfRead, block: Block) -> None:
        """Add to each total the rows of a block that it sums."""
        block = block.shared()
        if self.folding is not None:
            splits = self.folding.splits(block.first_row, block.n_rows, block.split)
            partial.rows[:] += np.bincount(splits.reshape(-1), minlength=self.n_splits)
        blocks: dict[Any, Block | None] = {}
        for task, summed, totals in zip(self.tasks, self.summed, partial.parts, strict=True):
            for each, total in zip(summed, totals, strict=True):
                if each.fold is None:
                    task.add(total, block)
                    continue
                which = each.without, each.inside, task.weighs
                if which not in blocks:
                    blocks[which] = self._rows_of(each, task.weighs, block, splits)
                _add_some(task, total, blocks[which], block)

    def _rows_of(self, each: Pass, weighs: bool, block: Block, splits: np.ndarray) -> Block | None:
        """The rows of a block that a pass names; None where there are none."""
        assert self.folding is not None and each.fold is not None
        counted = (splits[each.fold // self.folding.n_folds] == each.fold) == (each.without is None)
        own = block.outside(each.without)
        if weighs:
            return replace(own.shared(), weight=np.where(counted, 1.0 if block.weight is None else block.weight, 0.0))
        return picked(own, np.flatnonzero(counted)) if counted.any() else None

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
        by_fold = tuple(group[0].fold is not None for group in self.summed)
        about = {"the task": self.name, "folding": described(self.folding), "by fold": repr(by_fold)}
        return about | {f"{name} {i}": said for i, task in enumerate(self.tasks) for name, said in task.about().items()}

    def packed(self, total: TotalsOfRead) -> TotalsOfRead:
        return self._for_each(total.parts, total.rows, lambda task, part: task.packed(part))

    def unpacked(self, total: TotalsOfRead) -> TotalsOfRead:
        return self._for_each(total.parts, total.rows, lambda task, part: task.unpacked(part))

    def total(self, arrays: Mapping[str, Any]) -> TotalsOfRead:
        def restored(task: PassTask, kept: Any) -> Any:
            return kept if persistence.registered(kept) else task.total(kept)

        return self._for_each(arrays["parts"], arrays["rows"], restored)

    def _for_each(self, parts: Any, rows: np.ndarray, change: Callable[[PassTask, Any], Any]) -> TotalsOfRead:
        pairs = zip(self.tasks, parts, strict=True)
        return TotalsOfRead([[change(task, each) for each in of_task] for task, of_task in pairs], rows)

    def answers(self, total: TotalsOfRead, report: Report) -> list[Any]:
        """The final result of each pass, from the totals of the read."""
        found: dict[Pass, Any] = {}
        for (kind, group), task, totals in zip(self.groups.items(), self.tasks, total.parts, strict=True):
            if isinstance(kind, type):
                found |= dict(zip(group, task.answers(task.ended(totals[0], report), report), strict=True))
                continue
            for each in group:
                of_pass = totals[0] if len(totals) == 1 else self._of_folds(totals, each)
                if task.weighs and each.without is not None and self.folding is not None:
                    check_learns(of_pass.total_weight, each.without, self.folding.n_folds)
                found[each] = task.ended(of_pass, report)
        return [found[each] for each in self.passes]

    def _of_folds(self, totals: Sequence[Any], each: Pass) -> Any:
        """The total of a pass, from those of the folds."""
        assert self.folding is not None
        if each.inside is not None:
            return totals[each.inside]
        first = 0 if each.without is None else each.without - each.without % self.folding.n_folds
        of_repeat = enumerate(totals[first : first + self.folding.n_folds], first)
        return reduce(add, [total for number, total in of_repeat if number != each.without])


def _add_some(task: PassTask, total: Any, rows: Block | None, block: Block) -> None:
    """Add some rows of a block; an error names the row by its number among all."""
    if rows is None:
        return
    try:
        task.add(total, rows)
    except ValueError:
        task.add(task.partial(), block)
        raise
