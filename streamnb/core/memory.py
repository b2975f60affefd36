"""Memory limits: how much tables and weights may take, and what to say when it is not enough."""

import ctypes
import os
import threading
import weakref
from contextlib import suppress
from dataclasses import fields, is_dataclass
from math import prod
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

SHARE = 0.5  # of the free memory, without memory_limit
LINE, PAGE = 64, 4096  # bytes of a cache line, and of a page of memory
POOL, LEAST = 64 << 20, 64 << 10  # bytes that `zeros` allocates at once, and of the smallest array taken from them
KEPT_BY_LIBRARY = 8 << 20  # bytes of tables that leave gaps of their size
COPIED = 32 << 20  # bytes of the largest table that is copied to be aligned; caches hold no more
_CGROUP = Path("/sys/fs/cgroup")  # limit and use of a container's memory: version 2, then 1
_QUOTAS = ("memory.max", "memory.current"), ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes")


def check_memory_limit(given: Any, name: str = "memory_limit") -> int | None:
    """Return a limit in bytes; None, which means half of the free memory, stays None."""
    if given is None:
        return None
    from dask.utils import parse_bytes

    try:
        if isinstance(given, str):
            limit = parse_bytes(given) if given.strip() else 0
        else:
            known = isinstance(given, int | float | np.integer | np.floating) and not isinstance(given, bool)
            limit = int(given) if known else 0
    except (ValueError, OverflowError):
        limit = 0
    if limit <= 0:
        raise ValueError(f"{name}={given!r} should be a number of bytes above 0, or a string such as '4GB'")
    return limit


def allowed(limit: int | None) -> int:
    """The limit in bytes; without one, half of the memory that is free now."""
    return int(SHARE * free_memory()) if limit is None else limit


def free_memory() -> int:
    """Bytes that this process can still allocate, on the machine and in its container."""
    free = [_available()]
    for limit, used in _QUOTAS:
        try:
            free.append(int((_CGROUP / limit).read_text()) - int((_CGROUP / used).read_text()))
        except (OSError, ValueError):  # no container, or one without a quota: "max"
            continue
    return max(min(free), 0)


def _available() -> int:
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        return int(dict(line.split(":", 1) for line in lines)["MemAvailable"].removesuffix("kB")) * 1024
    except (OSError, KeyError):  # not Linux
        pass
    if hasattr(os, "sysconf"):
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return _WINDOWS


def size(n_bytes: float) -> str:
    """A number of bytes as text, such as "1.5 GB"."""
    unit = next((unit for unit in ("TB", "GB", "MB") if n_bytes >= _UNITS[unit]), "kB")
    return f"{n_bytes / _UNITS[unit]:,.1f} {unit}"


_WINDOWS = 8 << 30  # Python cannot ask Windows for its memory; `memory_limit` says more, or less
_UNITS = {"TB": 1e12, "GB": 1e9, "MB": 1e6, "kB": 1e3}


def check(what: str, n_bytes: float, limit: int | None, cure: str) -> None:
    """Raise MemoryError where something would take more bytes than are allowed."""
    if n_bytes > (most := allowed(limit)):
        refuse(what, n_bytes, most, cure)


def refuse(what: str, n_bytes: float, limit: int, cure: str) -> NoReturn:
    """Raise MemoryError with what would be allocated, the limit, and what to do."""
    raise MemoryError(f"{what} would take {size(n_bytes)}, and memory_limit allows {size(limit)}; {cure}")


def aligned(n_rows: int, n_columns: int, dtype: Any = np.float64, border: int = LINE) -> np.ndarray:
    """An uninitialised array whose rows begin at cache lines, where sums take half the time.

    Short arrays that are written to in any order should begin at a PAGE, because a write across the border of a page
    takes as long as twenty sums.
    """
    line = border // np.dtype(dtype).itemsize
    n_columns += -n_columns % line
    buffer = np.empty(n_rows * n_columns + line, dtype)
    first = -buffer.__array_interface__["data"][0] % border // buffer.itemsize
    return buffer[first : first + n_rows * n_columns].reshape(n_rows, n_columns)


def cache_aligned(table: np.ndarray) -> np.ndarray:
    """The same rows in C order, copied to begin at a cache line if that pays.

    Random reads of rows of a cache line or more are a quarter faster; tables larger than the caches are not copied.
    """
    table = np.ascontiguousarray(table)
    worth_it = table.nbytes <= COPIED and table.shape[1] * table.itemsize >= LINE
    if not worth_it or table.__array_interface__["data"][0] % LINE == 0:
        return table
    copy = aligned(1, table.size, table.dtype)[0, : table.size].reshape(table.shape)
    copy[:] = table
    return copy


def bytes_of(value: Any) -> int:
    """Bytes of arrays and of all that lists, dicts and objects hold, each counted once; 8 of anything else but None."""
    left, seen, n_bytes = [value], set(), 0
    while left:
        each = left.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        parts = each if isinstance(each, dict) else getattr(each, "__dict__", None)
        if isinstance(each, list | tuple):
            left.extend(each)
        elif hasattr(each, "nbytes") and not isinstance(each, type):
            n_bytes += int(each.nbytes)
        elif parts is not None and not isinstance(each, type):
            left.extend(parts.values())
        elif is_dataclass(each) and not isinstance(each, type):  # with slots
            left.extend(getattr(each, part.name) for part in fields(each))
        elif each is not None:
            n_bytes += 8
    return n_bytes


def return_freed(n_bytes: int) -> None:
    """Return freed memory to the system, if tables are of so many bytes that it matters.

    glibc keeps freed tables of up to 32 MB, and puts smaller ones into their places, so that the next do not fit.
    """
    if n_bytes >= KEPT_BY_LIBRARY:
        with suppress(AttributeError, OSError, TypeError):  # another library of C
            ctypes.CDLL(None).malloc_trim(0)


def zeros(*shape: int, dtype: Any = np.float64) -> np.ndarray:
    """An array of zeros, taken from a large pool that is allocated for this thread at once.

    The system backs a large allocation with pages of megabytes. Arrays of one megabyte each would get pages of 4 kB,
    which takes longer than filling them.
    """
    n_bytes = prod(shape) * np.dtype(dtype).itemsize
    if not LEAST <= n_bytes <= POOL // 4:
        return np.zeros(shape, dtype)
    pool = None if _latest.pool is None else _latest.pool()  # None once all arrays in it are deleted
    if pool is None or _latest.n_used + n_bytes > len(pool):
        pool, _latest.n_used = np.zeros(POOL, np.uint8), 0
        _latest.pool = weakref.ref(pool)
    first = _latest.n_used
    _latest.n_used += n_bytes + -n_bytes % LINE
    return pool[first : first + n_bytes].view(dtype).reshape(shape)


class _Latest(threading.local):
    """The latest pool of this thread, which lives as long as any array in it, and how many of its bytes are used."""

    pool: "weakref.ref[np.ndarray] | None" = None
    n_used = 0


_latest = _Latest()
