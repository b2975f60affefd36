"""Work that several threads share, whose results come in order."""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sized
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from streamnb.core import arguments


def n_cores() -> int:
    """Those that this process may use, where the system tells."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def check_n_threads(n_threads: Any) -> int:
    """How many threads are asked for; None: as many as there are cores."""
    return n_cores() if n_threads is None else arguments.positive_integer("n_threads", n_threads)


def in_order(function: Callable[[Any], Any], items: Iterable[Any], n_threads: int) -> Iterator[Any]:
    """function(item) of each item, as many ahead of what was taken as there are threads.

    Once the iterator has ended, is closed or raises, none of its threads is left.
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
