"""How a pass runs: progress, threads, memory, cluster and checkpoint in one value."""

from dataclasses import dataclass, replace
from typing import Any, Self

from streamnb.core.memory import check_memory_limit
from streamnb.core.threads import check_n_threads
from streamnb.kernels.compiler import compiling
from streamnb.rows.keeping import Keeping
from streamnb.rows.source import Source


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
    """

    progress: bool | None = None
    n_threads: int | None = None
    memory_limit: Any = None
    client: Any = None
    checkpoint: Any = None
    keeping: Keeping | None = None

    def __post_init__(self) -> None:
        check_n_threads(self.n_threads)
        compiling.said |= self.progress is False
        object.__setattr__(self, "memory_limit", check_memory_limit(self.memory_limit))

    @property
    def fit_options(self) -> dict[str, Any]:
        """The options that `fit` of estimators takes; not the checkpoint, which belongs to one pass."""
        own = {name: value for name, value in vars(self).items() if name not in ("checkpoint", "keeping")}
        return own if self.keeping is None else {**own, "keep": self.keeping.keep}

    def kept(self, rows: Source, costly: bool | None = None) -> Source:
        """Rows that are read again, kept by their first read where that was asked for; see `Keeping.kept`."""
        return rows if self.keeping is None else self.keeping.kept(rows, costly)

    def of_pass(self, name: str) -> Self:
        """The options of one pass of several, whose checkpoint is a file of this name in their folder."""
        return self if self.checkpoint is None else replace(self, checkpoint=self.checkpoint / f"{name}.snb")

    @property
    def threads(self) -> int:
        """Number of threads in this process."""
        return check_n_threads(self.n_threads)
