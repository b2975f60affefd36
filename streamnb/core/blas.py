"""Products of matrices by BLAS in one thread: with others it cuts sums otherwise, and rounds them otherwise."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

_lock = threading.Lock()
_before: list[int] = []  # how many threads each library had before somebody was in here
_inside = 0


@cache
def _libraries() -> list[Any]:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(user_api="blas").lib_controllers


@contextmanager
def one_thread() -> Iterator[None]:
    """While any thread is in here, BLAS works in the thread that calls it: the same bits on any number of cores."""
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


def _limit(numbers: list[int]) -> None:
    for library, number in zip(_libraries(), numbers, strict=True):
        if hasattr(library, "clear_controlling_thread"):  # since 3.7 only one thread may set limits; here any may
            library.clear_controlling_thread(force=True)
        library.set_num_threads(number)
        if hasattr(library, "clear_controlling_thread"):
            library.clear_controlling_thread(force=True)
