"""Threads that process blocks of rows, each into its own partial result."""

import queue
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import chain
from typing import Any

from streamnb.passes.contract import PassTask
from streamnb.rows.block import Block
from streamnb.rows.zarr_reading import Clock

PRIVATE_TABLES_BYTES = 64 << 20  # beyond this, partial results of more threads are not worth their memory
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
        """Whether another thread is worth its memory.

        If rows are read meanwhile, no thread joins before the first has added a block: that one takes long, because
        tables are allocated.
        """
        n_members = len(self._members) + 1
        worth = n_members <= self._n_threads and 0 < self._largest() * n_members <= self._most_bytes
        return worth and (self._clocks[0].seconds > 0.0 or self._waited_for_rows < AT_ONCE)

    def _largest(self) -> int:
        return max(partial.nbytes for partial in self._members)

    def _join(self) -> None:
        partial, clock = self._task.partial(), Clock()
        with self._lock:
            self._members.append(partial)
        self._clocks.append(clock)
        self._results.append(self._pool.submit(self._work, partial, clock))

    def _work(self, partial: Any, clock: Clock) -> list[Any]:
        """Add blocks until none is left or the partial result has grown too large; [] if there was no block."""
        n_added = 0
        while self._add_next(partial, clock):
            n_added += 1
            if self._leaves(partial):
                break
        return [partial.finish()] if n_added and self._error is None else []

    def _add_next(self, partial: Any, clock: Clock) -> bool:
        self._idle.release()
        block = self._blocks.get()  # local, so that its memory is free while the next is awaited
        if block is None:
            return False
        try:
            if self._error is None:
                with clock:
                    self._task.add(partial, block)
        except BaseException as error:
            self._error = error
        return True

    def _leaves(self, partial: Any) -> bool:
        with self._lock:
            leaves = len(self._members) > 1 and self._largest() * len(self._members) > self._most_bytes
            if leaves:
                self._members = [member for member in self._members if member is not partial]
            return leaves
