"""One pass over the rows: blocks into private tables, here with threads or in Dask's tasks, merged at the end."""

import numbers
import queue
import threading
import time
from collections.abc import Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import chain, starmap
from operator import add
from typing import Any, ClassVar

import numpy as np
from tqdm.auto import tqdm

from streamnb import _checks
from streamnb.checkpoint import Checkpoint, Range, check_resumable, description
from streamnb.cluster import Split, fold_dask
from streamnb.data import sources
from streamnb.data.chunk import Chunk, Domain, Survey, TakesValues, as_chunk, csr_chunk, transformed
from streamnb.data.reader import Clock, timed
from streamnb.data.sources import Block
from streamnb.folds import Folding, as_folding, check_n_folds, check_no_splits
from streamnb.memory import check_memory_limit
from streamnb.report import Report
from streamnb.stats.accumulating import Accumulator
from streamnb.stats.class_stats import MOMENTS, ClassStats, RowOptions, check_moments
from streamnb.stats.moment_sums import check_fits
from streamnb.threads import check_n_threads
from streamnb.workers import client_for, fold_segments, reachable

PRIVATE_TABLES_BYTES = 64 << 20  # beyond this the tables of more threads cost more memory than they are worth
FADING = 7 / 8  # what was waited for a block counts this much less with the next


@dataclass(frozen=True)
class ScanPlan:
    """What to accumulate, and what to ask of the values; picklable, so that it goes to workers as it is."""

    moments: tuple[str, ...]
    options: RowOptions
    classes: np.ndarray | None = None
    domain: TakesValues = field(default_factory=Domain)
    folding: Folding | None = None
    memory_limit: int | None = None  # of the tables, in bytes; None for half of what is free where they are made
    title: ClassVar[str] = "scan"  # of the progress bar
    n_rows: ClassVar[int | None] = None  # where known beforehand
    most_bytes: ClassVar[int | None] = None  # of the private tables of all threads, if not PRIVATE_TABLES_BYTES

    def with_moments(self, more: Iterable[str]) -> "ScanPlan":
        """The same scan with further moments."""
        return replace(self, moments=tuple(m for m in MOMENTS if m in {*self.moments, *more}))

    def values_matter(self, n_features: int) -> bool:
        """False where it is enough to know which values are stored, were all of them positive."""
        if not {*self.moments} <= {"nonzero", "above"} or self.options.binarize or self.options.normalize:
            return True
        return not _takes_positive(self.domain, n_features)

    def check_fits(self, n_features: int) -> None:
        """Refuse tables that are known to be too large, before any row is read."""
        if self.classes is not None:
            n_groups = len(self.classes) * (1 if self.folding is None else self.folding.n_splits)
            check_fits(self.moments, self.options, n_groups, n_features, self.memory_limit)

    def accumulator(self) -> Accumulator:
        return Accumulator(self.moments, self.options, self.classes, self.folding, self.memory_limit)

    def add(self, accumulator: Accumulator, block: Block) -> None:
        """Check one block of rows and add it."""
        chunk, survey = transformed(*checked(block), self.options.transform, self.options.normalize)
        self.domain.check(chunk, survey)
        accumulator.add(chunk, survey, _checks.check_y(block.y), block.weight, block.split)


def _takes_positive(domain: TakesValues, n_features: int) -> bool:
    ends = np.array([[np.finfo(np.float64).smallest_subnormal], [_checks.LARGEST]])
    try:
        domain.check(*as_chunk(np.repeat(ends, n_features, axis=1)))
    except ValueError:
        return False
    return True


def scan(
    X: Any,
    y: Any = None,
    *,
    sample_weight: Any = None,
    classes: Any = None,
    moments: Iterable[str] | None = None,
    binarize: float = 0.0,
    centre: float = 0.0,
    transform: str | None = None,
    normalize: str | None = None,
    folds: Any = None,
    groups: Any = None,
    repeats: int = 1,
    seed: int = 0,
    progress: bool | None = None,
    n_threads: int | None = None,
    memory_limit: Any = None,
    client: Any = None,
    checkpoint: Any = None,
) -> ClassStats:
    """Read the data once and keep its per-class sufficient statistics.

    Parameters
    ----------
    X : (n_rows, n_features)
        NumPy, SciPy sparse, Dask array, Zarr array or CSR group, a path to one, or a stream of chunks.
    y : (n_rows,) or (n_rows, n_labels)
        Labels: ints, strings or bools; an array, or the name of one in the group of X. Streams bring their own.
        A 2-D y, dense or CSR, is an indicator of labels (multi-label): a row adds to each of its labels.
    sample_weight : (n_rows,), optional
        Counts as frequency.
    classes : array-like, optional
        All labels that may occur; without it the set is open. For a 2-D y the names of its columns.
    moments : names, optional
        Of "sum", "sum_sq", "nonzero", "above", all four by default; and "log_sum", "inv_sum", "log1m_sum",
        "deviation", the sums of ln x, 1/x, ln(1 - x) and abs(x - centre).
    binarize, centre : float
        `above` counts x > binarize, `deviation` is the distance from the centre.
    transform : {None, "binary", "log1p", "sqrt"}
        Applied to each value; "binary" puts 1 for whatever is not 0.
    normalize : {None, "l1", "l2"}
        Then each row is divided by its length.
    folds : int or (n_rows,) ints, optional
        Keep the statistics of each fold too; the number of folds, or the fold of each row, numbered from 0. Which
        fold a row is in depends on its number and the seed alone, see `fold_numbers`.
    groups : (n_rows,), optional
        Labels; rows of one group are in one fold.
    repeats : int
        How many times the rows are split into folds.
    seed : int
    progress : bool, optional
        Show a progress bar.
    n_threads : int, optional
        Threads that sum; as many as there are cores by default, fewer where their private tables would be large or
        where reading takes the time. Dask arrays are summed by Dask's threads.
    memory_limit : int or str, optional
        Bytes that the tables may take, such as "4GB"; half of the free memory by default.
    client : dask.distributed.Client or cluster, optional
        A cluster whose workers read and sum, each thread of theirs a segment of the rows at a time; the active one by
        default. Rows that workers cannot open, in memory and from streams, are summed here.
    checkpoint : path, optional
        A file that keeps what is summed, every ten seconds or so. Where the process ends early, whatever the cause, the
        same call goes on from there, to the same result to the last bit; once the scan is complete, it returns at
        once. The file stays until you remove it; one of other data or parameters is refused. For rows that can be
        read again from any row on: not for streams and Dask arrays.

    Notes
    -----
    Each moment takes 8 bytes for each class and feature, 16 where values are not whole numbers: name the moments
    you need where the tables are large. Tables that would take more than `memory_limit`, or that are large and mostly
    empty, keep only the classes and features that meet in some row, 16 or 24 bytes each; the sums are the same bits.

    Returns
    -------
    ClassStats
        The same to the last bit however the rows are cut into blocks and whatever the number of threads.

    Raises
    ------
    ValueError, TypeError
        An argument is wrong: the message names it, what was given and what would be right.
    DataError
        Data cannot be read: the message names the array and the chunk.
    MemoryError
        The tables would take more than `memory_limit`: the message says how much.
    """
    options = RowOptions(transform, normalize, binarize, centre)
    limit = check_memory_limit(memory_limit)
    plan = ScanPlan(check_moments(moments), options, _checks.check_classes(classes), memory_limit=limit)
    plan, split = with_folds(plan, X, folds, groups, repeats, seed)
    run: dict[str, Any] = {"progress": progress, "n_threads": n_threads, "client": client, "checkpoint": checkpoint}
    return run_scan(plan, X, y, sample_weight, split=split, **run)[0]


def with_folds(plan: ScanPlan, X: Any, folds: Any, groups: Any, repeats: int, seed: int) -> tuple[ScanPlan, Split]:
    """The plan that keeps folds, and what must be read beside the rows for it."""
    column = folds
    check_no_splits(folds)
    if folds is not None and not isinstance(folds, numbers.Number):
        folds = sources.whole_column(X, folds, "folds")  # gaps show in the whole only
        column = column if sources.is_dask(X) and sources.is_dask(column) else folds  # cut as X is
    folding = as_folding(folds, groups=groups, repeats=repeats, seed=seed)
    by = "rows" if folding is None else folding.by
    split = {"rows": None, "groups": ("groups", groups), "given": ("folds", column)}[by]
    return replace(plan, folding=folding), split


def run_scan(
    plan: ScanPlan,
    X: Any,
    y: Any,
    sample_weight: Any,
    *,
    split: Split = None,
    **run: Any,
) -> tuple[ClassStats, Report]:
    """Scan and also report; see `scan`."""
    stats, report = fold(plan, X, y, sample_weight, split=split, **run)
    _checks.check_min_size(stats.n_rows, stats.n_features or 1)
    if sources.is_dask(X) and not np.isnan(X.shape[1]):
        _checks.check_n_features(stats.n_features, X.shape[1], "its shape")
    _checks.check_total_weight(stats.total_weight if isinstance(stats, ClassStats) else stats.weight.sum())
    _check_folds(stats)
    return stats, report


def fold(
    plan: Any,
    X: Any,
    y: Any,
    sample_weight: Any,
    *,
    split: Split = None,
    progress: bool | None = None,
    n_threads: int | None = None,
    client: Any = None,
    checkpoint: Any = None,
) -> tuple[Any, Report]:
    """Give every block of rows to accumulators of the plan, and add up what these finish with."""
    started, earlier = time.perf_counter(), 0.0
    client = client_for(client)
    if checkpoint is not None:
        check_resumable(X)
    n_threads = check_n_threads(n_threads)
    folding = getattr(plan, "folding", None)
    if sources.is_dask(X):
        X = sources.dask_array(X)
        if X.ndim and not np.isnan(X.shape[0]):
            check_n_folds(folding, X.shape[0])
        total, report = fold_dask(plan, X, y, sample_weight, split, progress, client)
    else:
        source = sources.open_source(X, y, sample_weight, split=split)
        if isinstance(plan, ScanPlan) and source.n_features is not None:
            source.values_matter = plan.values_matter(source.n_features)
            plan.check_fits(source.n_features)
        of_thread = source.nbytes // (4 * n_threads)  # which has four blocks or more
        source.longer_blocks = min(getattr(plan, "block_bytes", 0), of_thread)
        if source.n_rows is not None:
            check_n_folds(folding, source.n_rows)
        kept = None if checkpoint is None else Checkpoint.open(checkpoint, description(plan, X, source))
        earlier = 0.0 if kept is None else kept.report.seconds  # that it took up to where it was broken off
        if client is not None and reachable(source):
            total, report = fold_segments(plan, source, client, progress, kept)
        else:
            total, report = _fold_here(plan, source, progress, n_threads, kept)
    return total, replace(report, seconds=earlier + time.perf_counter() - started)


def _check_folds(stats: Any) -> None:
    for split, fold in enumerate(getattr(stats, "folds", ())):
        if fold.n_rows == 0:
            folding = stats.folding
            what = f"the {stats.n_rows} rows (n_samples={stats.n_rows})" if folding.by == "rows" else "the groups"
            raise ValueError(
                f"folds={folding.n_folds}: fold {split % folding.n_folds} has no row, there are too few of {what}; "
                "take fewer folds or another seed"
            )


def checked(block: Block) -> tuple[Chunk, Survey]:
    """A block as the kernels want it, and what one look at its values tells."""
    if isinstance(block.X, tuple):
        data, indices, indptr, n_features = block.X
        return csr_chunk(data, indices, indptr, n_features, block.first_row)
    return as_chunk(block.X, block.first_row)


# ---- here, with threads ----------------------------------------------------------------------------------------------


def _fold_here(
    plan: Any, source: sources.Source, progress: bool | None, n_threads: int, checkpoint: Checkpoint | None
) -> tuple[Any, Report]:
    waiting = Clock()
    left: Any = [(0, source.n_rows)]
    left = left if checkpoint is None else checkpoint.remaining(left)
    blocks: Generator[Block] = timed(chain.from_iterable(starmap(source.blocks, left)), waiting)
    n_rows = source.n_rows or plan.n_rows
    bar = tqdm(desc=plan.title, total=n_rows, unit=" rows", disable=not progress, unit_scale=True)
    with closing(blocks), bar:
        bar.update(0 if checkpoint is None else checkpoint.report.rows)
        while True:
            stats, report, done = _summed(plan, blocks, n_threads, bar, checkpoint)
            report = replace(report, seconds_reading=source.reading.lap(), seconds_waiting=waiting.lap())
            if checkpoint is None:
                if isinstance(plan, ScanPlan) and report.rows:
                    check_n_folds(plan.folding, report.rows)  # a stream tells the number of its rows at the end only
                return stats, report
            if not done:
                return checkpoint.total
            checkpoint.add(stats, report, done)


def _summed(
    plan: Any, blocks: Iterable[Block], n_threads: int, bar: Any, checkpoint: Checkpoint | None
) -> tuple[Any, Report, list[Range]]:
    """Statistics of the blocks up to the last, or until a checkpoint is due, a report, and the ranges of their rows."""
    done: list[Range] = []
    n_bytes, team = 0, _Team(plan, n_threads)
    with team:
        for block in blocks:
            n_rows = block.y.shape[0] if block.y is not None else 0
            team.add(block)
            done.append((block.first_row, block.first_row + n_rows))
            n_bytes += block.nbytes
            bar.update(n_rows)
            del block  # so that its memory serves the next
            if checkpoint is not None and checkpoint.due:
                break
        stats = reduce(add, team.results())
    rows = sum(stop - start for start, stop in done)
    return stats, Report(rows, n_bytes, len(done), seconds_computing=team.seconds), done


class _Team:
    """Threads that sum blocks, each into an accumulator of its own.

    One more joins, while tables are small, where sums were waited for longer than rows lately: as long as reading takes
    the time, it would take a core from the readers, and its table would have to be merged.
    """

    def __init__(self, plan: Any, n_threads: int):
        self._plan, self._n_threads = plan, n_threads
        self._most_bytes = PRIVATE_TABLES_BYTES if plan.most_bytes is None else plan.most_bytes
        self._pool = ThreadPoolExecutor(n_threads, "streamnb-sum")
        self._blocks: queue.SimpleQueue[Block | None] = queue.SimpleQueue()
        self._idle = threading.Semaphore(0)  # a thread that waits for a block
        self._lock = threading.Lock()  # of the list of members
        self._members: list[Any] = []  # the accumulators of threads at work
        self._found: list[Future] = []  # what each thread ends with
        self._clocks: list[Clock] = []
        self._error: BaseException | None = None
        self._for_rows = self._for_sums = 0.0  # seconds waited lately
        self._since = time.perf_counter()

    def __enter__(self) -> "_Team":
        return self

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        self._error = self._error or error  # a block that waits is left alone then
        self._dismiss()
        self._pool.shutdown()

    @property
    def seconds(self) -> float:
        return sum(clock.seconds for clock in self._clocks)

    def add(self, block: Block) -> None:
        came = time.perf_counter()
        self._for_rows = FADING * self._for_rows + came - self._since
        if not self._members:
            self._join()
        patience = max(self._for_rows - self._for_sums, 0.0) if self._may_join() else None
        if not self._idle.acquire(timeout=patience):
            self._join()
            self._idle.acquire()
        self._since = time.perf_counter()
        self._for_sums = FADING * self._for_sums + self._since - came
        self._raise()
        self._blocks.put(block)

    def results(self) -> list[Any]:
        """What each accumulator holds in the end; an error in a thread is raised here, if not before."""
        self._dismiss()
        found = [future.result() for future in self._found]
        self._raise()
        return list(chain.from_iterable(found)) or [self._plan.accumulator().finish()]

    def _dismiss(self) -> None:
        for _ in range(self._n_threads):
            self._blocks.put(None)

    def _raise(self) -> None:
        if self._error is not None:
            raise self._error

    def _may_join(self) -> bool:
        n_members = len(self._members) + 1
        return n_members <= self._n_threads and 0 < self._table_bytes() * n_members <= self._most_bytes

    def _table_bytes(self) -> int:
        return max(accumulator.nbytes for accumulator in self._members)

    def _join(self) -> None:
        accumulator, clock = self._plan.accumulator(), Clock()
        with self._lock:
            self._members.append(accumulator)
        self._clocks.append(clock)
        self._found.append(self._pool.submit(self._work, accumulator, clock))

    def _work(self, accumulator: Any, clock: Clock) -> list[Any]:
        """Sum blocks to the last, or until the table has grown too large to be one of many; [] if it had none."""
        n_summed = 0
        while self._sum_next(accumulator, clock):
            n_summed += 1
            if self._leaves(accumulator):
                break
        return [accumulator.finish()] if n_summed and self._error is None else []

    def _sum_next(self, accumulator: Any, clock: Clock) -> bool:
        self._idle.release()
        block = self._blocks.get()  # of which nothing is left while the next is waited for
        if block is None:
            return False
        try:
            if self._error is None:
                with clock:
                    self._plan.add(accumulator, block)
        except BaseException as error:
            self._error = error
        return True

    def _leaves(self, accumulator: Any) -> bool:
        with self._lock:
            leaves = len(self._members) > 1 and self._table_bytes() * len(self._members) > self._most_bytes
            if leaves:
                self._members = [member for member in self._members if member is not accumulator]
            return leaves
