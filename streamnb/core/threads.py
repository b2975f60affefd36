"""Runs work in several threads and returns the results in order."""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sized
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from streamnb.core import arguments


def n_cores() -> int:
    """The number of cores that this process may use, or of all cores where the system does not say."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def check_n_threads(n_threads: Any) -> int:
    """Return `n_threads` as an int; None means as many as there are cores."""
    return n_cores() if n_threads is None else arguments.positive_integer("n_threads", n_threads)


def in_order(function: Callable[[Any], Any], items: Iterable[Any], n_threads: int) -> Iterator[Any]:
    """Yield function(item) of each item in order, working ahead by as many items as there are threads.

    All threads have ended when the iterator ends, is closed or raises.
    """
    n_threads = min(n_threads, len(items)) if isinstance(items, Sized) else n_threads
    if n_threads < 2:
        yield from map(function, items)
        return
    waiting: deque[Future] = deque()
    with ThreadPoolExecutor(n_threads, "streamnb-solve") as pool:
        try:
            for item in items:
                waiting.append(pool.submit(function, item))
                if len(waiting) > n_threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()
