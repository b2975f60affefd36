"""Threads: work that runs in several of them, and BLAS, which runs in one.

With more threads BLAS splits sums differently and rounds them differently.
"""

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sized
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from typing import Any

from streamnb.core import arguments

_lock = threading.RLock()
_before: list[int] = []  # number of threads of each library before the first thread entered `one_thread`
_inside = 0  # number of threads in `one_thread`


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


@cache
def _libraries() -> list[Any]:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(user_api="blas").lib_controllers


@contextmanager
def one_thread() -> Iterator[None]:
    """Run BLAS in the calling thread while any thread is in this context: the same bits on any number of cores."""
    global _before, _inside
    with _lock:
        if _inside == 0:
            _before = [library.num_threads for library in _libraries()]
            _limit([1] * len(_before))
        _inside += 1
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if _inside == 0:
                _limit(_before)


def _limit(counts: list[int]) -> None:
    for library, n_threads in zip(_libraries(), counts, strict=True):
        if hasattr(library, "clear_controlling_thread"):  # since 3.7 only one thread may set limits; here, any
            library.clear_controlling_thread(force=True)
        library.set_num_threads(n_threads)
        if hasattr(library, "clear_controlling_thread"):
            library.clear_controlling_thread(force=True)
