"""Threads that work on blocks of rows, each into a partial result of its own."""

import queue
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import chain
from typing import Any

from streamnb.passes.contract import PassTask
from streamnb.rows.block import Block
from streamnb.rows.zarr_reading import Clock

PRIVATE_TABLES_BYTES = 64 << 20  # beyond this the tables of more threads cost more memory than they are worth
AT_ONCE = 0.002  # seconds in which rows come that nobody makes
FADING = 7 / 8  # what was waited for a block counts this much less with the next


class Alone:
    """The thread at hand adds the blocks, where no other should and nothing is read meanwhile."""

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
        """What the partial result ends as."""
        return [self._partial.finish()]


class Team:
    """Threads that add blocks, each to a partial result of its own.

    One more joins, while partial results are small, where they were waited for longer than rows lately: as long as
    reading takes the time, it would take a core from the readers, and its result would have to be merged.
    """

    def __init__(self, task: PassTask, n_threads: int):
        self._task, self._n_threads = task, n_threads
        self._most_bytes = PRIVATE_TABLES_BYTES if task.most_bytes is None else task.most_bytes
        self._pool = ThreadPoolExecutor(n_threads, "streamnb-sum")
        self._blocks: queue.SimpleQueue[Block | None] = queue.SimpleQueue()
        self._idle = threading.Semaphore(0)  # a thread that waits for a block
        self._lock = threading.Lock()  # of the list of members
        self._members: list[Any] = []  # the partial results of threads at work
        self._found: list[Future] = []  # what each thread ends with
        self._clocks: list[Clock] = []
        self._error: BaseException | None = None
        self._for_rows = self._for_sums = 0.0  # seconds waited lately
        self._since = time.perf_counter()

    def __enter__(self) -> "Team":
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

    def totals(self) -> list[Any]:
        """What each partial result ends as; an error in a thread is raised here, if not before."""
        self._dismiss()
        found = [future.result() for future in self._found]
        self._raise()
        return list(chain.from_iterable(found)) or [self._task.partial().finish()]

    def _dismiss(self) -> None:
        for _ in range(self._n_threads):
            self._blocks.put(None)

    def _raise(self) -> None:
        if self._error is not None:
            raise self._error

    def _may_join(self) -> bool:
        """Whether another is worth its memory.

        Where rows have to be waited for, not before the first has added a block: that takes long, for tables are made.
        """
        n_members = len(self._members) + 1
        worth = n_members <= self._n_threads and 0 < self._largest() * n_members <= self._most_bytes
        return worth and (self._clocks[0].seconds > 0.0 or self._for_rows < AT_ONCE)

    def _largest(self) -> int:
        return max(partial.nbytes for partial in self._members)

    def _join(self) -> None:
        partial, clock = self._task.partial(), Clock()
        with self._lock:
            self._members.append(partial)
        self._clocks.append(clock)
        self._found.append(self._pool.submit(self._work, partial, clock))

    def _work(self, partial: Any, clock: Clock) -> list[Any]:
        """Add blocks to the last, or until the result has grown too large to be one of many; [] if it had none."""
        n_added = 0
        while self._add_next(partial, clock):
            n_added += 1
            if self._leaves(partial):
                break
        return [partial.finish()] if n_added and self._error is None else []

    def _add_next(self, partial: Any, clock: Clock) -> bool:
        self._idle.release()
        block = self._blocks.get()  # of which nothing is left while the next is waited for
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
