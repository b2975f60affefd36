"""The one door to numba: every flag and the cache policy of the kernels."""

import multiprocessing
from collections.abc import Callable
from typing import Any

from numba import njit


def _cache_is_safe() -> bool:
    # Workers of one cluster compile at the same moment, and concurrent writers of one cache crash them.
    return "Dask Worker" not in multiprocessing.current_process().name


def kernel(func: Callable) -> Any:
    """Compile on first call: nopython, GIL released, serial; kept on disk where that is safe and possible."""
    try:
        return njit(nogil=True, cache=_cache_is_safe())(func)
    except RuntimeError:  # no folder that numba could write its cache to
        return njit(nogil=True)(func)
