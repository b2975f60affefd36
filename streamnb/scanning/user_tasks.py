"""Runs statistics, tasks and fits of users over rows of any kind."""

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

from streamnb.core import row_checks
from streamnb.core.arguments import Bytes, PerRow, Rows
from streamnb.encoding.opening import opened
from streamnb.passes.checkpoint import checkpoint_folder
from streamnb.passes.contract import PassTask, Report, RunOptions, T, Wants
from streamnb.passes.fit import Fit, reads_of
from streamnb.passes.passes import StatisticTask
from streamnb.passes.run import run, run_reads
from streamnb.passes.statistic import Statistic, as_matrix
from streamnb.rows.row_blocks import Block
from streamnb.scanning.class_scan import folding_of


def accumulate(
    X: "Rows",
    y: "PerRow" = None,
    task: "PassTask | Statistic | None" = None,
    *,
    sample_weight: "PerRow" = None,
    progress: bool | None = None,
    n_threads: int | None = None,
    client: Any = None,
    checkpoint: Any = None,
) -> Any:
    """Run a task over the rows in one pass, and return its total.

    The rows may be anything that `scan` accepts. They are read in blocks, checked, and passed to the task by several
    threads or by the workers of a cluster, each with its own partial result; the totals are added up.

    Parameters
    ----------
    X : (n_rows, n_features)
        As in `scan`.
    y : (n_rows,) or (n_rows, n_labels), optional
        As in `scan`; None if the task does not need it, and for streams, which come with labels.
    task : Statistic or PassTask
        A `Statistic`, whose fields say how they merge. Or an object of a subclass of `PassTask` with `partial()`, a new
        partial result, and `add(partial, block)`, which adds a block to it. A partial result has
        `finish()`, which returns its total; a total has ``+`` and `arrays()`, a dict from which
        ``type(total)(**arrays)`` restores it. A block has four fields. `X` (n_rows, n_features) is a read-only NumPy
        array or SciPy CSR array of finite numbers. `y` is labels, a CSR indicator matrix or None. `weight` is
        (n_rows,), or None for 1 each. `first_row` is the number of its first row.
    sample_weight : (n_rows,), optional
    progress, n_threads, client
        As in `scan`.
    checkpoint : path, optional
        As in `scan`. A task is identified by its fields, whose `repr` should show their values.

    Returns
    -------
    total
        The result of ``task.ended(total, report)`` for the total of all rows, by default that total. It does not
        depend on how rows are cut into blocks, as far as adding totals does not depend on their order.

    Raises
    ------
    TypeError
        `task` is not a task, its totals cannot be added, or it cannot be sent to workers.
    ValueError, DataError
        As in `scan`.

    Examples
    --------
    How many rows are above a threshold in each feature:

    >>> from dataclasses import dataclass
    >>> from typing import Annotated
    >>> import numpy as np, streamnb as snb
    >>> @dataclass
    ... class Above(snb.Statistic):
    ...     threshold: float
    ...     n_rows: Annotated[np.ndarray, np.add] = 0
    ...
    ...     def add(self, rows):
    ...         self.n_rows = self.n_rows + (rows.X > self.threshold).sum(axis=0)
    >>> snb.accumulate([[1.0, 5.0], [2.0, 3.0]], task=Above(1.5)).n_rows
    array([1, 2])
    """
    rows = opened(X, y, sample_weight, labelled=False)
    options = RunOptions(progress, n_threads, client=client, checkpoint=checkpoint)
    if isinstance(task, Statistic):
        return run(StatisticTask(task), rows, options)[0]
    if not isinstance(task, PassTask):
        raise TypeError(
            f"task is of type {type(task).__name__}; it should be a snb.Statistic, or an object of a subclass of "
            "snb.PassTask with the methods partial() and add(partial, block)"
        )
    return run(_UserTask(task, task.title, task.n_rows, task.most_bytes), rows, options)[0]


def drive(
    fit: "Fit[T]",
    X: "Rows",
    y: "PerRow" = None,
    *,
    sample_weight: "PerRow" = None,
    folds: Any = None,
    groups: "PerRow" = None,
    seed: int = 0,
    progress: bool | None = None,
    n_threads: int | None = None,
    memory_limit: "Bytes" = None,
    client: Any = None,
    checkpoint: Any = None,
) -> T:
    """Run a fit of several passes: read the rows for each of its requests until it returns.

    A fit is a generator. It yields a list of `Pass`, which one read of the rows answers, and receives their totals.

    Parameters
    ----------
    fit : generator
        For instance a function with ``totals = yield [snb.Pass(statistic)]``, or several of them in `cross_validated`.
    X : (n_rows, n_features)
        As in `scan`; rows of several reads must be readable several times.
    y : (n_rows,) or (n_rows, n_labels), optional
        As in `scan`.
    sample_weight : (n_rows,), optional
    folds, groups, seed
        As in `scan`, for passes that name folds; by default those of the schema, for rows at several sites.
    progress, n_threads, memory_limit, client
        As in `scan`.
    checkpoint : path, optional
        A folder with a file for each read, from which an interrupted fit resumes; not for Dask arrays.

    Returns
    -------
    result
        What the generator returns.

    Raises
    ------
    TypeError
        `fit` is not a generator, or a pass has neither a `Statistic` nor a `PassTask`.
    ValueError, DataError
        As in `scan`; or a pass names a fold, and there are none.

    Examples
    --------
    The deviation of each column, in two reads:

    >>> from dataclasses import dataclass
    >>> from typing import Annotated
    >>> import numpy as np, streamnb as snb
    >>> @dataclass
    ... class Squares(snb.Statistic):
    ...     centre: np.ndarray
    ...     n_rows: Annotated[int, np.add] = 0
    ...     total: Annotated[np.ndarray, np.add] = 0.0
    ...     squares: Annotated[np.ndarray, np.add] = 0.0
    ...
    ...     def add(self, rows):
    ...         self.n_rows += rows.n_rows
    ...         self.total = self.total + (rows.X - self.centre).sum(axis=0)
    ...         self.squares = self.squares + ((rows.X - self.centre) ** 2).sum(axis=0)
    >>> def deviation():
    ...     (first,) = yield [snb.Pass(Squares(0.0))]
    ...     (second,) = yield [snb.Pass(Squares(first.total / first.n_rows))]
    ...     return np.sqrt(second.squares / second.n_rows)
    >>> X = np.array([[1.0, 5.0], [3.0, 5.0], [2.0, 8.0]])
    >>> snb.drive(deviation(), X).round(3).tolist()
    [0.816, 1.414]
    """
    if not isinstance(fit, Generator):
        raise TypeError(
            f"fit is of type {type(fit).__name__}; it should be a generator that yields lists of snb.Pass: call the "
            "function that has the yield"
        )
    rows = opened(X, y, sample_weight, labelled=False, beside=(groups, folds))
    folding, rows = folding_of(rows, folds, groups, 1, seed)
    folding = folding or rows.declared_folding
    if rows.declared_folding not in (None, folding):
        raise ValueError(f"folds={folds!r} are {folding}, and the schema has {rows.declared_folding}; leave folds= out")
    folder = checkpoint_folder(checkpoint)
    options = RunOptions(progress, n_threads, memory_limit, client, folder)
    return run_reads(reads_of(fit, rows, options, folding))[0]


@dataclass(frozen=True)
class _UserTask(PassTask):
    """Wraps a user's task: checks blocks before they are added, and partial results and totals afterwards."""

    task: PassTask
    title: str
    n_rows: int | None
    most_bytes: int | None

    @property
    def name(self) -> str:
        return self.task.name

    def partial(self) -> Any:
        return _UserPartial(self.task.partial(), self.name)

    def add(self, partial: Any, block: Block) -> None:
        self.task.add(partial.own, as_matrix(block))

    def wants(self, n_rows: int | None, n_features: int | None) -> Wants:
        return self.task.wants(n_rows, n_features)

    def ended(self, total: Any, report: Report) -> Any:
        row_checks.check_min_size(report.rows, 1)
        return self.task.ended(total, report)

    def about(self) -> dict[str, str]:
        return self.task.about()

    def packed(self, total: Any) -> Any:
        return self.task.packed(total)

    def unpacked(self, total: Any) -> Any:
        return self.task.unpacked(total)

    def total(self, arrays: Any) -> Any:
        return self.task.total(arrays)


class _UserPartial:
    """Wraps a user's partial result: checks that it and its total have the required attributes."""

    def __init__(self, own: Any, name: str):
        if not hasattr(own, "finish"):
            raise TypeError(f"task: {name}.partial() returned {type(own).__name__}, which lacks finish")
        self.own = own

    def finish(self) -> Any:
        total = self.own.finish()
        missing = [part for part in ("__add__", "arrays") if not hasattr(total, part)]
        if missing:
            raise TypeError(
                f"task: finish() of its partial result returned {type(total).__name__}, which lacks "
                f"{' and '.join(missing)}; a total adds up (+) and tells its arrays()"
            )
        return total
