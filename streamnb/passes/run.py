"""Runs one pass: in threads here, on Dask blocks, or on the workers of a cluster."""

import queue
import threading
import time
from collections.abc import Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from functools import reduce
from itertools import chain, starmap
from typing import Any

from streamnb.core.memory import bytes_of
from streamnb.passes import stopping
from streamnb.passes.checkpoint import Checkpoint, PartDone, part_of
from streamnb.passes.contract import ANY_SIZE, PassTask, Reading, Report, RunOptions, T, client_for
from streamnb.passes.dask_blocks import on_dask_blocks
from streamnb.passes.dask_workers import check_task_sendable, on_workers, reachable
from streamnb.rows.row_blocks import Block
from streamnb.rows.source import Source, in_tiles
from streamnb.rows.zarr_reading import Clock, timed

PRIVATE_TABLES_BYTES = 64 << 20  # beyond this, partial results of more threads are not worth their memory
COUNTED = 8  # blocks of a thread between two counts of its bytes
AT_ONCE = 0.002  # seconds: blocks that arrive faster need no reading or decoding
DECAY = 7 / 8  # factor by which earlier waiting times count less with each block


class Alone:
    """Adds blocks in the calling thread, for one thread and rows in memory."""

    def __init__(self, task: PassTask):
        self._task, self._partial, self._clock = task, task.partial(), Clock()

    def __enter__(self) -> "Alone":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    @property
    def seconds(self) -> float:
        return self._clock.seconds

    def add(self, block: Block) -> None:
        with self._clock:
            self._task.add(self._partial, block)

    def totals(self) -> list[Any]:
        """The total of all blocks."""
        return [self._partial.finish()]


class Team:
    """Threads that add blocks, each to a partial result of its own.

    Another thread joins, while partial results are small, if blocks have lately waited for threads longer than threads
    for blocks. Where reading is the bottleneck, it would take a core from the readers, and add a result to merge.
    """

    def __init__(self, task: PassTask, n_threads: int):
        self._task, self._n_threads = task, n_threads
        self._most_bytes = PRIVATE_TABLES_BYTES if task.most_bytes is None else task.most_bytes
        self._pool = ThreadPoolExecutor(n_threads, "streamnb-sum")
        self._blocks: queue.SimpleQueue[Block | None] = queue.SimpleQueue()
        self._idle = threading.Semaphore(0)  # counts the threads that wait for a block
        self._lock = threading.Lock()  # guards the list of members
        self._members: list[Any] = []  # the partial results of running threads
        self._results: list[Future] = []  # the total of each thread
        self._clocks: list[Clock] = []
        self._error: BaseException | None = None
        self._waited_for_rows = self._waited_for_threads = 0.0  # seconds, mostly of the latest blocks
        self._since = time.perf_counter()

    def __enter__(self) -> "Team":
        return self

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        self._error = self._error or error  # so that threads skip waiting blocks
        self._dismiss()
        self._pool.shutdown()

    @property
    def seconds(self) -> float:
        return sum(clock.seconds for clock in self._clocks)

    def add(self, block: Block) -> None:
        arrived = time.perf_counter()
        self._waited_for_rows = DECAY * self._waited_for_rows + arrived - self._since
        if not self._members:
            self._join()
        patience = max(self._waited_for_rows - self._waited_for_threads, 0.0) if self._may_join() else None
        if not self._idle.acquire(timeout=patience):
            if 0 < self._largest() * (len(self._members) + 1) <= self._most_bytes:  # asked seldom: it takes time
                self._join()
            self._idle.acquire()
        self._since = time.perf_counter()
        self._waited_for_threads = DECAY * self._waited_for_threads + self._since - arrived
        self._raise()
        self._blocks.put(block)

    def totals(self) -> list[Any]:
        """The total of each thread; an error in a thread is raised here at the latest."""
        self._dismiss()
        totals_of_threads = [future.result() for future in self._results]
        self._raise()
        return list(chain.from_iterable(totals_of_threads)) or [self._task.partial().finish()]

    def _dismiss(self) -> None:
        for _ in range(self._n_threads):
            self._blocks.put(None)

    def _raise(self) -> None:
        if self._error is not None:
            raise self._error

    def _may_join(self) -> bool:
        """Whether another thread may be worth its memory.

        If rows are read meanwhile, no thread joins before the first has added a block: that one takes long, because
        tables are allocated.
        """
        has_begun = self._clocks[0].seconds > 0.0 or self._waited_for_rows < AT_ONCE
        return len(self._members) < self._n_threads and has_begun

    def _largest(self) -> int:
        """Bytes of the largest partial result; 1 where any size is allowed: many models take long to count."""
        return 1 if self._most_bytes >= ANY_SIZE else max(map(bytes_of, self._members))

    def _join(self) -> None:
        partial, clock = self._task.partial(), Clock()
        with self._lock:
            self._members.append(partial)
        self._clocks.append(clock)
        self._results.append(self._pool.submit(self._work, partial, clock))

    def _work(self, partial: Any, clock: Clock) -> list[Any]:
        """Add blocks until none is left or the partial result has grown too large; [] if there was no block."""
        n_added, leaves = 0, False
        while not leaves:
            self._idle.release()
            block = self._blocks.get()
            if block is None:
                break
            n_added += 1
            try:
                if self._error is None:
                    with clock:
                        self._task.add(partial, block)
                del block  # so that its memory is free while the next is awaited
                if n_added > COUNTED and n_added % COUNTED:  # counting bytes takes time
                    continue
                with self._lock:
                    leaves = len(self._members) > 1 and self._largest() * len(self._members) > self._most_bytes
                    if leaves:
                        self._members = [member for member in self._members if member is not partial]
            except BaseException as error:  # whatever happens, blocks are taken, as `add` waits for that
                self._error = error
        return [partial.finish()] if n_added and self._error is None else []


def run(task: PassTask, rows: Source, options: RunOptions) -> tuple[Any, Report]:
    """Add every block of rows to partial results of a task, and merge their totals.

    Parameters
    ----------
    task : PassTask
    rows : Source
        As `rows.opening.opened` returns it.
    options : RunOptions

    Returns
    -------
    total, report
        The total of all rows, which does not depend on blocks, threads or workers, and the report of the pass.
    """
    made = run_here if rows.sites is None else rows.sites
    total, report = made(task, rows, options)
    return task.ended(total, report), report


def run_reads(fit: Reading[T]) -> T:
    """Do the reads that a fit asks for, one after the other, and return its result."""
    try:
        asked: Any = next(fit)
        while True:
            try:
                found = run(*asked)
            except BaseException as error:  # the fit may say more about it
                asked = fit.throw(error)
            else:
                del asked  # which may be large
                asked = fit.send(found)
    except StopIteration as end:
        return end.value


def run_here(task: PassTask, rows: Source, options: RunOptions) -> tuple[Any, Report]:
    """The same for rows that can be read here, without the task's checks of all rows."""
    started, earlier = time.perf_counter(), 0.0
    client = client_for(options.client)
    if options.checkpoint is not None:
        rows.check_resumable()
    wants = task.wants(rows.n_rows, rows.n_features)
    quarter_of_thread = rows.nbytes // (4 * options.threads)  # so that each thread has four blocks or more
    rows = rows.wanted(wants.values, min(wants.block_bytes, quarter_of_thread))
    if client is not None and (rows.lazy or reachable(rows)):
        check_task_sendable(task)
    if rows.lazy:
        total, report = on_dask_blocks(task, in_tiles(rows, wants.tile_rows), options, client)
        rows.check_given(report.rows)
    else:
        checkpoint = None if options.checkpoint is None else Checkpoint.open(options.checkpoint, task, rows)
        rows = in_tiles(rows, wants.tile_rows)
        earlier = 0.0 if checkpoint is None else checkpoint.report.seconds  # of the runs before this one
        with stopping.checkpointing(checkpoint is not None):
            if client is not None and reachable(rows):
                total, report = on_workers(task, rows, client, options, checkpoint)
            else:
                total, report = _in_threads(task, rows, options, checkpoint)
    seconds, all_kept = earlier + time.perf_counter() - started, 0 < report.bytes == report.bytes_kept
    return total, replace(report, seconds=seconds, reads=1, reads_kept=int(all_kept))


def _in_threads(task: PassTask, rows: Source, options: RunOptions, checkpoint: Checkpoint | None) -> tuple[Any, Report]:
    waiting, began = Clock(), time.process_time()
    ranges: Any = [(0, rows.n_rows)]
    ranges = ranges if checkpoint is None else checkpoint.remaining(ranges)
    blocks: Generator[Block] = timed(chain.from_iterable(starmap(rows.blocks, ranges)), waiting)
    n_rows = rows.n_rows or task.n_rows
    bar = options.bar(task, total=n_rows, unit=" rows", unit_scale=True)
    with closing(blocks), bar:
        bar.update(0 if checkpoint is None else checkpoint.report.rows)
        while True:
            alone = options.threads == 1 and rows.in_memory
            team = Alone(task) if alone else Team(task, options.threads)
            total, report, done = _add_blocks(team, blocks, bar, checkpoint)
            busy, began = time.process_time() - began, time.process_time()
            report = replace(
                report, seconds_reading=rows.reading.lap(), seconds_waiting=waiting.lap(), seconds_busy=busy
            )
            if checkpoint is None:
                return total, report
            if not done:
                return checkpoint.total
            checkpoint.add(total, report, done)
            stopping.check()


def _merged(total: Any, other: Any) -> Any:
    """The sum of the totals of two threads, which nobody else has: in place of the first where that is offered."""
    return total.absorbing(other) if hasattr(total, "absorbing") else total + other


def _add_blocks(
    team: Alone | Team, blocks: Iterable[Block], bar: Any, checkpoint: Checkpoint | None
) -> tuple[Any, Report, list[PartDone]]:
    """Add blocks until the last, or until a checkpoint is due; return their total, a report, and parts for that."""
    done: list[PartDone] = []
    report = Report()
    with team:
        for block in blocks:
            team.add(block)
            report += Report.of_block(block)
            bar.update(block.n_rows)
            if checkpoint is not None:
                done.append(part_of(block))
            del block  # so that the next block can use its memory
            if checkpoint is None:
                stopping.check()
            elif checkpoint.due:
                break
        total = reduce(_merged, team.totals())
    return total, replace(report, seconds_computing=team.seconds), done
