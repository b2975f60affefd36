"""Single-threaded BLAS: with more threads it splits sums differently and rounds them differently."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

_lock = threading.Lock()
_before: list[int] = []  # number of threads of each library before the first thread entered `one_thread`
_inside = 0  # number of threads in `one_thread`


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
