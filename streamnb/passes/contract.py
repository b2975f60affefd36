"""What a pass is: tasks that add blocks of rows to partial results, how it runs, and what it reports."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Generator, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self, TypeVar

from tqdm.auto import tqdm

from streamnb.core import frames, persistence
from streamnb.core.memory import check_memory_limit
from streamnb.core.persistence import shown
from streamnb.core.threads import check_n_threads, n_cores
from streamnb.kernels.compiler import compiling
from streamnb.rows.keeping import Keeping
from streamnb.rows.row_blocks import Block
from streamnb.rows.source import Source

MOSTLY = 0.7  # of the time
ANY_SIZE = 1 << 62  # of `most_bytes`, where no partial result is too large


@persistence.register
@dataclass(frozen=True)
class Report(persistence.Parameters):
    """The work of passes: reads, rows, decoded bytes, blocks and seconds.

    Of `reads` of the rows and their `bytes`, `reads_kept` and `bytes_kept` came from what an earlier read had kept, in
    memory or on disk, and the others from the source; a read of both counts as one from the source. `seconds_reading`
    and `seconds_computing` are summed over threads, `seconds_waiting` is the time that computing waited for reading,
    `seconds` is the wall time: of a pass, or of all that a fit or a search did. `seconds_busy` are those of processors
    while this process read and computed; 0 where workers of a cluster did.
    """

    rows: int = 0
    bytes: int = 0
    blocks: int = 0
    seconds: float = 0.0
    seconds_reading: float = 0.0
    seconds_computing: float = 0.0
    seconds_waiting: float = 0.0
    bytes_kept: int = 0
    reads: int = 0
    reads_kept: int = 0
    seconds_busy: float = 0.0

    @classmethod
    def of_block(cls, block: Block) -> Report:
        """The report of one block of rows, without times."""
        return cls(block.n_rows, block.nbytes, 1, bytes_kept=block.nbytes if block.kept else 0)

    def __add__(self, other: Report) -> Report:
        return Report(**{name: getattr(self, name) + getattr(other, name) for name in self.__dataclass_fields__})

    @property
    def _limit(self) -> str:
        """What the time went to for the most part, and what shortens it; empty where nothing stands out."""
        if self.seconds_busy > MOSTLY * self.seconds * n_cores():
            return "; processors were the limit"
        if 0 < self.seconds_busy < MOSTLY * self.seconds < self.seconds_waiting:
            return "; reading was the limit: larger chunks, shards or row groups make fewer requests"
        return ""

    def __str__(self) -> str:
        work = (
            f"{self.rows:,} rows, {self.bytes / 1e9:.2f} GB in {self.blocks:,} blocks, {self.seconds:.1f} s "
            f"(reading {self.seconds_reading:.1f}, computing {self.seconds_computing:.1f}, "
            f"waiting {self.seconds_waiting:.1f}{self._limit})"
        )
        if not self.bytes_kept:
            return work
        kept = f"{self.reads_kept} of {self.reads} reads were of what was kept, {self.bytes_kept / 1e9:.2f} GB"
        return f"{work}; {kept}"

    def _repr_html_(self) -> str:
        rows = [
            ("rows", f"{self.rows:,}"),
            ("MB", f"{self.bytes / 1e6:,.1f}"),
            ("blocks", f"{self.blocks:,}"),
            ("seconds", f"{self.seconds:,.2f}"),
            ("seconds reading, over threads", f"{self.seconds_reading:,.2f}"),
            ("seconds computing, over threads", f"{self.seconds_computing:,.2f}"),
            ("seconds waiting for rows", f"{self.seconds_waiting:,.2f}"),
            ("MB/s", f"{self.bytes / 1e6 / self.seconds:,.1f}" if self.seconds > 0 else "–"),
        ]
        if self.reads_kept:
            rows += [
                ("reads", f"{self.reads:,}"),
                ("reads of what was kept", f"{self.reads_kept:,}"),
                ("MB of what was kept", f"{self.bytes_kept / 1e6:,.1f}"),
            ]
        return frames.table("One scan", rows)


class Wants(NamedTuple):
    """How a task wants its rows."""

    values: bool = True  # False where the indices of positive values are enough
    block_bytes: int = 0  # of blocks of rows in memory, where they should be larger than usual
    tile_rows: int = 1  # blocks begin and end at multiples of this number of rows, or at the last row


class PassTask:
    """Anything that is computed from rows in one pass. Subclasses must be picklable; their fields describe the task.

    A subclass defines `partial` and `add`; the defaults of the other methods suit most tasks. A partial result belongs
    to one thread, or to one task of a cluster, and is all that changes: its `finish()` returns the total of the blocks
    that were added. A total is immutable and adds up (``+``) in any order and grouping. Its `arrays()` are all of its
    parts by name, as a file keeps them and `total` takes them: arrays, numbers, strings, objects that are saved by
    themselves, and lists and dicts of these.

    Attributes
    ----------
    title : str
        Title of progress bars and of tasks on a cluster.
    n_rows : int or None
        Number of rows, where it is known beforehand but the source of rows does not have it.
    most_bytes : int or None
        Limit on the bytes of the partial results of all threads, if not the usual one.
    weighs : bool
        Whether rows of weight 0 add nothing: a fold is then left out by weights. Totals have their `total_weight`.

    Examples
    --------
    How many rows there are:

    >>> import streamnb as snb
    >>> class Count:
    ...     def __init__(self, rows=0):
    ...         self.rows = rows
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
    weighs: bool = False

    def partial(self) -> Any:
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

        It takes these passes, the folding and a title, and answers them as `passes.passes.JointRead` does.
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


def bar(*iterable: Any, title: str, progress: bool | None, **options: Any) -> Any:
    """A tqdm bar, shown only if `progress` is true; with ``leave=False`` the next takes its line."""
    return tqdm(*iterable, desc=title, disable=not progress, **shape(), **options)


def shape() -> dict[str, int]:
    """Width and height of a bar where a terminal reports 0 columns or lines, in which tqdm would show nothing."""
    try:
        columns, lines = os.get_terminal_size(sys.stderr.fileno()) if sys.stderr.isatty() else (80, 24)
    except (AttributeError, OSError, ValueError):  # no stderr, or one without a terminal
        return {}
    if columns > 1 and lines > 0:
        return {}
    columns, lines = shutil.get_terminal_size()  # from the environment, else 80 and 24
    return {"ncols": columns - 1, "nrows": lines}


@dataclass(frozen=True)
class RunOptions:
    """How a pass is run.

    Attributes
    ----------
    progress : bool, optional
        Show a progress bar; False also keeps quiet about kernels that are compiled.
    n_threads : int, optional
        Threads in this process; None: as many as there are cores.
    memory_limit : int or str, optional
        Bytes that sums and weights may take, such as "4GB"; None: half of the free memory.
    client : dask.distributed.Client or cluster, optional
        None: the active one.
    checkpoint : path, optional
        A file from which the pass can be resumed.
    keeping : Keeping, optional
        Where rows that are read again are kept; None: nowhere.
    title : str, optional
        Of the bar of one of several reads, whose line the next takes; None: that of the task, in a line of its own.
    """

    progress: bool | None = None
    n_threads: int | None = None
    memory_limit: Any = None
    client: Any = None
    checkpoint: Any = None
    keeping: Keeping | None = None
    title: str | None = None

    def __post_init__(self) -> None:
        check_n_threads(self.n_threads)
        compiling.said |= self.progress is False
        object.__setattr__(self, "memory_limit", check_memory_limit(self.memory_limit))

    @property
    def fit_options(self) -> dict[str, Any]:
        """The options that `fit` of estimators takes; not the checkpoint, which belongs to one pass."""
        own = {name: value for name, value in vars(self).items() if name not in ("checkpoint", "keeping", "title")}
        return own if self.keeping is None else {**own, "keep": self.keeping.keep}

    def kept(self, rows: Source, costly: bool | None = None) -> Source:
        """Rows that are read again, kept by their first read where that was asked for; see `Keeping.kept`."""
        return rows if self.keeping is None else self.keeping.kept(rows, costly)

    def bar(self, task: PassTask, *iterable: Any, **options: Any) -> Any:
        """The progress bar of a pass."""
        return bar(*iterable, title=self.title or task.title, progress=self.progress, leave=not self.title, **options)

    def of_pass(self, name: str) -> Self:
        """The options of one pass of several, whose checkpoint is a file of this name in their folder."""
        return self if self.checkpoint is None else replace(self, checkpoint=self.checkpoint / f"{name}.snb")

    @property
    def threads(self) -> int:
        """Number of threads in this process."""
        return check_n_threads(self.n_threads)


class ReadRequest(NamedTuple):
    """One read of rows that a fit asks for: the arguments of `run`."""

    task: PassTask
    rows: Source
    options: RunOptions


T = TypeVar("T")
Reading = Generator[ReadRequest, tuple[Any, Report], T]  # a fit, which receives the total and report of each read


def client_for(client: Any) -> Any:
    """The given client, else the active one; None where there is none, and within a task of a cluster."""
    if client is not None:
        return _checked(client)
    if "distributed" not in sys.modules:
        return None
    from dask.base import get_scheduler
    from distributed import Client, get_worker

    try:
        get_worker()
    except ValueError:
        active = getattr(get_scheduler(), "__self__", None)
        return active if isinstance(active, Client) else None
    return None


def _checked(client: Any) -> Any:
    from distributed import Client

    if getattr(client, "asynchronous", False):
        raise ValueError("client is asynchronous; pass one that was made without asynchronous=True")
    if hasattr(client, "get_client"):
        try:
            client = client.get_client()  # of a cluster; where it is new, it becomes the active client
        except RuntimeError as error:
            raise ValueError(f"client is a cluster that gives no client ({error}); give one that runs") from error
    if not isinstance(client, Client):
        raise TypeError(
            f"client is of type {type(client).__name__}; it should be a dask.distributed.Client, "
            "such as Client(cluster) or Client('tcp://scheduler:8786'), or a cluster such as LocalCluster()"
        )
    if client.status != "running":
        raise ValueError(f"client is {client.status}; give one that is connected to its scheduler")
    return client
