"""One pass over the rows: blocks into private tables, here with threads or in Dask's tasks, merged at the end."""

import numbers
import os
import queue
import time
from collections.abc import Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from itertools import chain
from operator import add
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from tqdm.auto import tqdm

from streamnb import _checks
from streamnb.data import sources
from streamnb.data.chunk import Chunk, Domain, Survey, as_chunk, csr_chunk
from streamnb.data.reader import Clock, one_ahead, timed
from streamnb.data.sources import Block
from streamnb.folds import Folding, as_folding
from streamnb.stats.accumulating import Accumulator
from streamnb.stats.class_stats import MOMENTS, PLAIN_MOMENTS, ClassStats, RowOptions

PRIVATE_TABLES_BYTES = 64 << 20  # beyond this the tables of more threads cost more memory than they are worth


@dataclass(frozen=True)
class Report:
    """What a scan did: rows, decoded bytes, blocks, and where the seconds went.

    `seconds_reading` and `seconds_computing` are summed over threads, `seconds_waiting` is what the summing
    waited for the reading, `seconds` is the wall time.
    """

    rows: int = 0
    bytes: int = 0
    blocks: int = 0
    seconds: float = 0.0
    seconds_reading: float = 0.0
    seconds_computing: float = 0.0
    seconds_waiting: float = 0.0

    def __add__(self, other: "Report") -> "Report":
        return Report(**{name: getattr(self, name) + getattr(other, name) for name in self.__dataclass_fields__})

    def __str__(self) -> str:
        return (
            f"{self.rows:,} rows, {self.bytes / 1e9:.2f} GB in {self.blocks:,} blocks, {self.seconds:.1f} s "
            f"(reading {self.seconds_reading:.1f}, computing {self.seconds_computing:.1f}, "
            f"waiting {self.seconds_waiting:.1f})"
        )


@dataclass(frozen=True)
class ScanPlan:
    """What to accumulate, and what to ask of the values; picklable, so that it goes to workers as it is."""

    moments: tuple[str, ...]
    options: RowOptions
    classes: np.ndarray | None = None
    domain: Domain = field(default_factory=Domain)
    folding: Folding | None = None
    title: ClassVar[str] = "scan"  # of the progress bar
    n_rows: ClassVar[int | None] = None  # where known beforehand

    def with_moments(self, more: Iterable[str]) -> "ScanPlan":
        """The same scan with further moments."""
        return replace(self, moments=tuple(m for m in MOMENTS if m in {*self.moments, *more}))

    def accumulator(self) -> Accumulator:
        return Accumulator(self.moments, self.options, self.classes, self.folding)

    def add(self, accumulator: Accumulator, block: Block) -> None:
        """Check one block of rows and add it."""
        chunk, survey = checked(block)
        if self.options.transform != "binary":
            self.domain.check(chunk, survey)
        accumulator.add(chunk, survey, _checks.check_y(block.y), block.weight, block.split)


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
    binarize : float
        `above` counts x > binarize.
    centre : float
        `deviation` is the distance from here.
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
        Threads that sum; as many as there are cores by default, fewer where their private tables would be large.
        Dask arrays are summed by Dask's threads.

    Notes
    -----
    Each moment takes 8 bytes for each class and feature, 16 where values are not whole numbers: name the moments
    you need where the tables are large.

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
    """
    options = RowOptions(transform, normalize, binarize, centre)
    plan = ScanPlan(check_moments(moments), options, _checks.check_classes(classes))
    plan, split = with_folds(plan, X, folds, groups, repeats, seed)
    return run_scan(plan, X, y, sample_weight, split=split, progress=progress, n_threads=n_threads)[0]


Split = tuple[str, Any] | None  # the name and the values of groups or fold numbers beside the rows


def with_folds(plan: ScanPlan, X: Any, folds: Any, groups: Any, repeats: int, seed: int) -> tuple[ScanPlan, Split]:
    """The plan that keeps folds, and what must be read beside the rows for it."""
    if folds is not None and not isinstance(folds, numbers.Number):
        folds = sources.whole_column(X, folds, "folds")  # gaps show in the whole only
    folding = as_folding(folds, groups=groups, repeats=repeats, seed=seed)
    by = "rows" if folding is None else folding.by
    split = {"rows": None, "groups": ("groups", groups), "given": ("folds", folds)}[by]
    return replace(plan, folding=folding), split


def check_moments(moments: Iterable[str] | None) -> tuple[str, ...]:
    """Names of moments, in one order; the plain ones for None."""
    if moments is None:
        return PLAIN_MOMENTS
    names = (moments,) if isinstance(moments, str) else tuple(moments)
    for name in names:
        _checks.one_of("moments", name, MOMENTS)
    return tuple(m for m in MOMENTS if m in names)


def run_scan(
    plan: ScanPlan,
    X: Any,
    y: Any,
    sample_weight: Any,
    *,
    split: Split = None,
    progress: bool | None = None,
    n_threads: int | None = None,
) -> tuple[ClassStats, Report]:
    """Scan and also report; see `scan`."""
    stats, report = fold(plan, X, y, sample_weight, split=split, progress=progress, n_threads=n_threads)
    _checks.check_min_size(stats.n_rows, stats.n_features or 1)
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
) -> tuple[Any, Report]:
    """Give every block of rows to accumulators of the plan, and add up what these finish with."""
    started = time.perf_counter()
    if n_threads is not None:
        n_threads = _checks.positive_integer("n_threads", n_threads)
    if sources.is_dask(X):
        total, report = _fold_dask(plan, sources.dask_array(X), y, sample_weight, split, progress)
    else:
        source = sources.open_source(X, y, sample_weight, split=split)
        total, report = _fold_here(plan, source, progress, n_threads or _n_cores())
    return total, replace(report, seconds=time.perf_counter() - started)


def _check_folds(stats: Any) -> None:
    for split, fold in enumerate(getattr(stats, "folds", ())):
        if fold.n_rows == 0:
            folding = stats.folding
            what = f"the {stats.n_rows} rows" if folding.by == "rows" else "the groups"
            raise ValueError(
                f"folds={folding.n_folds}: fold {split % folding.n_folds} has no row, there are too few of {what}; "
                "take fewer folds or another seed"
            )


def _n_cores() -> int:
    # those that this process may use, where the system tells
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def checked(block: Block) -> tuple[Chunk, Survey]:
    """A block as the kernels want it, and what one look at its values tells."""
    if isinstance(block.X, tuple):
        data, indices, indptr, n_features = block.X
        return csr_chunk(data, indices, indptr, n_features, block.first_row)
    return as_chunk(block.X, block.first_row)


# ---- here, with threads ----------------------------------------------------------------------------------------------


def _fold_here(plan: Any, source: sources.Source, progress: bool | None, n_threads: int) -> tuple[Any, Report]:
    reading, waiting = Clock(), Clock()
    blocks: Generator[Block] = timed(source.blocks(), reading)
    if source.reads_ahead:
        blocks = timed(one_ahead(blocks), waiting)
    team = _Team(plan, n_threads)
    rows = n_bytes = n_blocks = 0
    n_rows_in_all = source.n_rows or plan.n_rows
    bar = tqdm(desc=plan.title, total=n_rows_in_all, unit=" rows", disable=not progress, unit_scale=True)
    with closing(blocks), team, bar:
        for block in blocks:
            n_rows = block.y.shape[0] if block.y is not None else 0
            team.add(block)
            rows, n_bytes, n_blocks = rows + n_rows, n_bytes + block.nbytes, n_blocks + 1
            bar.update(n_rows)
    stats = reduce(add, team.results())
    return stats, Report(rows, n_bytes, n_blocks, 0.0, reading.seconds, team.seconds, waiting.seconds)


class _Team:
    """Threads that sum blocks, each into an accumulator of its own; a new one joins while tables are small."""

    def __init__(self, plan: Any, n_threads: int):
        self._plan, self._n_threads = plan, n_threads
        self._pool = ThreadPoolExecutor(n_threads, "streamnb-sum")
        self._members = [(plan.accumulator(), Clock())]
        self._seconds = 0.0  # of those that left
        self._retired: list[Any] = []
        self._free: queue.SimpleQueue = queue.SimpleQueue()
        self._free.put((self._members[0], None))

    def __enter__(self) -> "_Team":
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown()

    @property
    def seconds(self) -> float:
        return self._seconds + sum(clock.seconds for _, clock in self._members)

    def add(self, block: Block) -> None:
        member = self._next_member()
        self._pool.submit(self._work, member, block).add_done_callback(partial(self._done, member))

    def _next_member(self) -> Any:
        tables = max(accumulator.nbytes for accumulator, _ in self._members)
        may_join = 0 < tables * (len(self._members) + 1) <= PRIVATE_TABLES_BYTES
        if self._free.empty() and may_join and len(self._members) < self._n_threads:
            self._members.append((self._plan.accumulator(), Clock()))
            return self._members[-1]
        member = self._take()
        if len(self._members) > 1 and tables * len(self._members) > PRIVATE_TABLES_BYTES:
            self._retire(member)
            return self._next_member()
        return member

    def _retire(self, member: Any) -> None:
        """Let a member go whose table has grown too large to be one of many."""
        self._members.remove(member)
        self._seconds += member[1].seconds
        self._retired = [reduce(add, [*self._retired, member[0].finish()])]

    def _work(self, member: Any, block: Block) -> None:
        accumulator, clock = member
        with clock:
            self._plan.add(accumulator, block)

    def _done(self, member: Any, future: Future) -> None:
        self._free.put((member, future.exception()))

    def _take(self) -> Any:
        member, error = self._free.get()
        if error is not None:
            raise error
        return member

    def results(self) -> list[Any]:
        """What each accumulator holds, once all are free again; an error in a thread is raised here."""
        members = [self._take() for _ in self._members]
        return self._retired + [accumulator.finish() for accumulator, _ in members]


# ---- where a Dask array is -------------------------------------------------------------------------------------------


def _fold_dask(
    plan: Any, X: Any, y: Any, sample_weight: Any, split: Split, progress: bool | None
) -> tuple[Any, Report]:
    """Fold runs of blocks of X where they are, merge the statistics in a tree, under the scheduler that is active."""
    import dask.array as da

    check_dask(X)
    beside = {"y": y, "sample_weight": sample_weight, **dict([split] if split else [])}
    columns = [_beside(X, column, name) for name, column in beside.items()]
    if y is None:
        _checks.check_labels(y)
    indexed = [(column, None if column is None else "ik"[: column.ndim]) for column in columns]
    parts = da.blockwise(
        _packed,
        "i",
        *(X, "ij", _first_rows(X, columns[0]), "i", *chain.from_iterable(indexed)),
        names=tuple(beside),
        dtype=object,
        adjust_chunks={"i": 1},
        align_arrays=False,
        concatenate=None,
        meta=np.empty(0, object),
    )
    total = da.reduction(
        parts,
        chunk=lambda part, axis, keepdims: part,
        combine=partial(_fold_run, plan=plan),
        aggregate=partial(_fold_run, plan=plan),
        axis=0,
        split_every=8,
        concatenate=False,
        dtype=object,
        meta=np.empty((), object),
    )
    if not progress:
        return total.compute().item()
    from dask.diagnostics import ProgressBar

    with ProgressBar():
        return total.compute().item()


def _first_rows(X: Any, y: Any) -> Any:
    """The number of the first row of each block; where X does not know its own, from the lengths of y."""
    import dask.array as da

    known = np.array(X.chunks[0])
    if not np.isnan(known).any():
        return da.from_array((np.cumsum(known) - known).astype(np.int64), chunks=1)
    one_each = ((1,) * X.numblocks[0],)
    lengths = y.map_blocks(_length, chunks=one_each, dtype=np.int64, meta=np.empty(0, np.int64))
    return da.cumsum(lengths, axis=0) - lengths


def _length(block: np.ndarray) -> np.ndarray:
    return np.array([len(block)])


def check_dask(X: Any) -> None:
    """Refuse a Dask array that is not 2-D or has its features in several chunks."""
    if X.ndim != 2:
        raise ValueError(f"Expected 2D array, got {X.ndim}D array instead: X should have shape (n_rows, n_features)")
    if X.numblocks[1] > 1:
        raise ValueError(f"X has its features in {X.numblocks[1]} chunks; put them in one with X.rechunk({{1: -1}})")
    if not np.isnan(X.shape[0]):
        _checks.check_min_size(*X.shape)


def _beside(X: Any, column: Any, name: str) -> Any:
    """Labels or weights as a Dask array with the row chunks of X."""
    import dask.array as da

    if column is None:
        return None
    lengths = X.chunks[0]
    known = not np.isnan(lengths).any()
    if not sources.is_dask(column):
        if not known:
            raise ValueError(
                f"X has unknown row-chunk sizes, so {name} should be a Dask array with the same blocks; "
                "or call X.compute_chunk_sizes() first"
            )
        values = _check_column(name, column[:] if hasattr(column, "store") else column, int(X.shape[0]))
        _checks.check_lengths(int(X.shape[0]), values.shape[0], name)
        return da.from_array(values, chunks=(lengths, *((n,) for n in values.shape[1:])), asarray=False)
    column = sources.dask_array(column)
    if column.ndim == 2 and column.shape[1] == 1:
        column = column[:, 0]
    if column.ndim != 1 and not (column.ndim == 2 and name == "y"):
        raise ValueError(f"{name} should be a 1d array, got an array of shape {column.shape} instead.")
    if column.ndim == 2 and column.numblocks[1] > 1:
        raise ValueError(f"{name} has its labels in {column.numblocks[1]} chunks; put them in one: rechunk({{1: -1}})")
    if known and not np.isnan(column.shape[0]):
        _checks.check_lengths(int(X.shape[0]), int(column.shape[0]), name)
        return column.rechunk({0: lengths})
    if column.numblocks[0] != X.numblocks[0]:
        raise ValueError(
            f"{name} has {column.numblocks[0]} blocks and X, of unknown row-chunk sizes, {X.numblocks[0]}; "
            "give both the same blocks, or call X.compute_chunk_sizes() first"
        )
    return column


def _check_column(name: str, values: Any, n_rows: int | None = None, first_row: int = 0) -> Any:
    """Labels, weights or splits of rows, checked; one weight for all only where n_rows is given."""
    if name == "y":
        return _checks.check_y(values, first_row)
    if name != "sample_weight":
        return _checks.check_labels(values, name, first_row)
    if isinstance(values, numbers.Real) and n_rows is not None:
        values = np.full(n_rows, values)
    return _checks.check_weights(values, first_row)


def _packed(X: Any, start: np.ndarray, *columns: Any, names: tuple[str, ...]) -> np.ndarray:
    """A block of X with what belongs to its rows, still to be summed."""
    matrix, first_row = X[0], int(start[0])  # X comes as a list over the one chunk of features
    matrix = matrix.tocsr() if sp.issparse(matrix) else matrix
    beside = []
    for name, column in zip(names, columns, strict=True):
        if column is not None:
            column = column[0] if isinstance(column, list) else column
            column = _check_column(name, column, first_row=first_row)
            _checks.check_lengths(matrix.shape[0], column.shape[0], name)
        beside.append(column)
    n_bytes = matrix.data.nbytes + matrix.indices.nbytes if sp.issparse(matrix) else matrix.nbytes
    y, weight, split = (*beside, None)[:3]
    return _boxed(Block(matrix, y, weight, split, first_row, n_bytes), (1,))


def _fold_run(parts: Any, axis: Any, keepdims: bool, *, plan: Any) -> np.ndarray:
    """Sum the blocks of a run into one table, and merge with statistics of other runs."""
    blocks: list[Block] = []
    merged: list[tuple[Any, Report]] = []
    for item in _flat(parts):
        (blocks if isinstance(item, Block) else merged).append(item)
    if blocks:
        clock, accumulator = Clock(), plan.accumulator()
        with clock:
            for block in blocks:
                plan.add(accumulator, block)
            stats = accumulator.finish()
        n_rows, n_bytes = sum(b.X.shape[0] for b in blocks), sum(b.nbytes for b in blocks)
        merged.append((stats, Report(n_rows, n_bytes, len(blocks), seconds_computing=clock.seconds)))
    total = reduce(add, (stats for stats, _ in merged)), reduce(add, (report for _, report in merged))
    return _boxed(total, (1,) if keepdims else ())


def _flat(parts: Any) -> Iterable[Any]:
    if isinstance(parts, list):
        for part in parts:
            yield from _flat(part)
    else:
        yield parts.item()


def _boxed(value: Any, shape: tuple[int, ...]) -> np.ndarray:
    box = np.empty(shape, object)
    box[...] = None
    box.reshape(-1)[0] = value
    return box
