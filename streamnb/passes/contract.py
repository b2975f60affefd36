"""The protocols of a pass: a task adds blocks of rows to partial results, which become totals that merge.

Everything learned from rows follows this contract: class sums, scores of models, tasks that users define. Where the
rows come from, and whether threads or the workers of a cluster read them, does not concern the task.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol, Self

from streamnb.core import persistence
from streamnb.core.descriptions import shown
from streamnb.passes.report import Report
from streamnb.rows.block import Block


class Total(Protocol):
    """The result of a pass: an immutable value that adds up in any order and grouping."""

    @property
    def nbytes(self) -> int:
        """Bytes of memory."""

    def __add__(self, other: Self, /) -> Self:
        """The total of the rows of both."""

    def arrays(self) -> Mapping[str, Any]:
        """All parts by name, as a file keeps them and `PassTask.total` takes them.

        Arrays, numbers, strings, objects that are saved by themselves, and lists and dicts of these.
        """


class Partial(Protocol):
    """The partial result of one thread, or of one task of a cluster: the only part of a pass that changes."""

    @property
    def nbytes(self) -> int:
        """Bytes of memory now."""

    def finish(self) -> Any:
        """The total of the blocks that were added; the partial result is not used afterwards."""


class Wants(NamedTuple):
    """How a task wants its rows."""

    values: bool = True  # False where the indices of positive values are enough
    block_bytes: int = 0  # of blocks of rows in memory, where they should be larger than usual
    tile_rows: int = 1  # blocks begin and end at multiples of this number of rows, or at the last row


class PassTask:
    """Anything that is computed from rows in one pass. Subclasses are picklable; their fields describe the task.

    A subclass defines `partial` and `add`; the defaults of the other methods suit most tasks.

    Attributes
    ----------
    title : str
        Title of progress bars and of tasks on a cluster.
    n_rows : int or None
        Number of rows, where it is known beforehand but the source of rows does not have it.
    most_bytes : int or None
        Limit on the bytes of the partial results of all threads, if not the usual one.

    Examples
    --------
    How many rows there are:

    >>> import streamnb as snb
    >>> class Count:
    ...     def __init__(self, rows=0):
    ...         self.rows, self.nbytes = rows, 8
    ...     def __add__(self, other):
    ...         return Count(self.rows + other.rows)
    ...     def arrays(self):
    ...         return {"rows": self.rows}
    ...     def finish(self):
    ...         return self
    >>> class CountRows(snb.PassTask):
    ...     def partial(self):
    ...         return Count()
    ...     def add(self, partial, block):
    ...         partial.rows += block.X.shape[0]
    >>> snb.accumulate([[1.0, 5.0], [2.0, 3.0]], task=CountRows()).rows
    2
    """

    title: str = "pass"
    n_rows: int | None = None
    most_bytes: int | None = None

    def partial(self) -> Partial:
        """A partial result without rows."""
        raise NotImplementedError

    def add(self, partial: Any, block: Block) -> None:
        """Add one block of rows to a partial result; threads do so in parallel, each with its own."""
        raise NotImplementedError

    def wants(self, n_rows: int | None, n_features: int | None) -> Wants:
        """How the task wants rows of this shape, whose numbers are None where they are unknown.

        Called before the first row is read: the place to refuse rows that are too many, too few or too wide.
        """
        return Wants()

    def ended(self, total: Any, report: Report) -> Any:
        """The final result, made from the total of all rows; the place for checks that need all rows."""
        return total

    @property
    def name(self) -> str:
        """Name of the task in messages."""
        return type(self).__name__

    @property
    def fused(self) -> Any:
        """The class of a read that answers passes of such tasks, each of a fold, together; None: each has its sums.

        It takes these passes, the folding and a title, and answers them as `fits.passes.JointRead` does.
        """
        return None

    # ---- in a checkpoint ---------------------------------------------------------------------------------------------

    def about(self) -> dict[str, str]:
        """A description of what is computed; a checkpoint is resumed only by a task with the same description."""
        return {"the task": self.name, **{name: shown(value) for name, value in vars(self).items()}}

    def packed(self, total: Any) -> Any:
        """The total of some rows as a checkpoint keeps it: the same value, as small as possible."""
        return total

    def unpacked(self, total: Any) -> Any:
        """The total of all rows, from one that was packed."""
        return total

    def total(self, arrays: Mapping[str, Any]) -> Any:
        """The total whose `arrays()` these are."""
        return total_of(self.partial().finish(), arrays)


def total_of(empty: Any, arrays: Mapping[str, Any]) -> Any:
    """The total whose `arrays()` these are, of the kind of an empty one."""
    if hasattr(empty, "of_arrays"):
        return empty.of_arrays(arrays)
    return persistence.restored(type(empty), arrays) if persistence.registered(empty) else type(empty)(**arrays)
