"""What a pass is: a task gives blocks of rows to partial results, which end as totals that add up.

Everything learned from rows goes by this contract: class sums, scores of models, what a user adds. Which rows they are
and who reads them, threads here or the workers of a cluster, is not the task's concern.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol, Self

import numpy as np

from streamnb.core import persistence
from streamnb.passes.report import Report
from streamnb.rows.block import Block


class Total(Protocol):
    """What a pass leaves: a value, never changed, that adds up in any order and grouping."""

    @property
    def nbytes(self) -> int:
        """Memory that it takes."""

    def __add__(self, other: Self, /) -> Self:
        """What a pass over the rows of both would have left."""

    def arrays(self) -> Mapping[str, Any]:
        """All of it by name, as a file keeps it and `PassTask.total` makes it again.

        Arrays, numbers, strings, objects that are saved by themselves, and lists and dicts of these.
        """


class Partial(Protocol):
    """What one thread, or one task of a cluster, adds blocks to: the only place where something grows."""

    @property
    def nbytes(self) -> int:
        """Memory that it takes now."""

    def finish(self) -> Any:
        """The total of the blocks that were added; it is spent then."""


class Wants(NamedTuple):
    """What a task wants of the rows."""

    values: bool = True  # False where the places of positive values are enough
    block_bytes: int = 0  # of rows in memory that come at once, where that should be more than usual
    tile_rows: int = 1  # blocks begin and end at rows whose numbers are multiples of this, but at the last row


class PassTask:
    """Anything that is made of rows in one pass. Subclasses are picklable, and say what they are by their fields.

    `partial` and `add` are a task's own; the rest has a meaning that fits most.

    Attributes
    ----------
    title : str
        In words, of progress bars and of tasks on a cluster.
    n_rows : int or None
        Where it is known before rows are read that do not say themselves.
    most_bytes : int or None
        Of the partial results of all threads together, if not as many as usual.

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
        """Add one block of rows to a partial result; several threads do so at once, each with its own."""
        raise NotImplementedError

    def wants(self, n_rows: int | None, n_features: int | None) -> Wants:
        """What it wants of rows of this shape, None where only reading tells; asked before the first is read.

        The place to refuse rows that are too many, too few or too wide.
        """
        return Wants()

    def ended(self, total: Any, report: Report) -> Any:
        """What it makes of the total of all rows; the place to refuse what only the end tells."""
        return total

    @property
    def name(self) -> str:
        """What messages call it."""
        return type(self).__name__

    # ---- in a checkpoint ---------------------------------------------------------------------------------------------

    def about(self) -> dict[str, str]:
        """What it computes, in words: a checkpoint is continued by a task that says the same."""
        return {"the task": self.name, **{name: shown(value) for name, value in vars(self).items()}}

    def packed(self, total: Any) -> Any:
        """The total of some rows as a checkpoint keeps it: the same, as small as may be."""
        return total

    def unpacked(self, total: Any) -> Any:
        """The total of all rows as it is used, of one that was packed."""
        return total

    def total(self, arrays: Mapping[str, Any]) -> Any:
        """The total whose `arrays()` these are."""
        return type(self.partial().finish())(**arrays)


def shown(value: Any) -> str:
    """A value in words, the same in every process; of what is long or not said in full the beginning and a digest."""
    if isinstance(value, np.ndarray):
        value = value.tolist()  # whose words leave nothing out
    elif isinstance(value, (set, frozenset)):
        value = sorted(value, key=repr)
    text = repr(value)
    if persistence.registered(value):
        return f"{text[:100]}.. ({persistence.digest(value)})"
    return text if len(text) <= 200 else f"{text[:100]}.. ({hashlib.sha256(text.encode()).hexdigest()[:16]})"
