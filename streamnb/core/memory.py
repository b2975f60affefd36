"""How much memory tables and weights may take, and where it begins."""

import os
import threading
import weakref
from math import prod
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

SHARE = 0.5  # of the free memory, unless told
LINE, PAGE = 64, 4096  # bytes of a line of the cache, and of a page of memory
TOGETHER, LEAST = 64 << 20, 64 << 10  # bytes that `zeros` asks for at once, and of an array that is worth it
COPIED = 32 << 20  # bytes of a table that is copied to where it is read sooner; caches hold no more
_CGROUP = Path("/sys/fs/cgroup")  # what a container may take, and has taken: version 2, then 1
_QUOTAS = ("memory.max", "memory.current"), ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes")


def check_memory_limit(given: Any) -> int | None:
    """`memory_limit` in bytes; None, for half of the free memory, stays None."""
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
        raise ValueError(f"memory_limit={given!r} should be a number of bytes above 0, or a string such as '4GB'")
    return limit


def allowed(limit: int | None) -> int:
    """The limit, where there is none half of the memory that is free now."""
    return int(SHARE * free_memory()) if limit is None else limit


def free_memory() -> int:
    """Bytes that this process could still take, of the machine's and of its container's."""
    free = [_available()]
    for most, taken in _QUOTAS:
        try:
            free.append(int((_CGROUP / most).read_text()) - int((_CGROUP / taken).read_text()))
        except (OSError, ValueError):  # no container, or one without a quota: "max"
            continue
    return max(min(free), 0)


def _available() -> int:
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        return int(dict(line.split(":", 1) for line in lines)["MemAvailable"].removesuffix("kB")) * 1024
    except (OSError, KeyError):  # not Linux
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def size(n_bytes: float) -> str:
    """Bytes in words."""
    unit = next((unit for unit in ("TB", "GB", "MB") if n_bytes >= _UNITS[unit]), "kB")
    return f"{n_bytes / _UNITS[unit]:,.1f} {unit}"


_UNITS = {"TB": 1e12, "GB": 1e9, "MB": 1e6, "kB": 1e3}


def refuse(what: str, n_bytes: float, limit: int, cure: str) -> NoReturn:
    """Say what something would take, what it may take, and what to do."""
    raise MemoryError(f"{what} would take {size(n_bytes)}, and memory_limit allows {size(limit)}; {cure}")


def aligned(n_rows: int, n_columns: int, dtype: Any = np.float64, border: int = LINE) -> np.ndarray:
    """An array of any values whose rows begin where a line of the cache does: summing in it takes half the time.

    Short lists that are written across their elements should begin at the border of a PAGE: to write across one takes
    as long as twenty sums.
    """
    line = border // np.dtype(dtype).itemsize
    n_columns += -n_columns % line
    room = np.empty(n_rows * n_columns + line, dtype)
    first = -room.__array_interface__["data"][0] % border // room.itemsize
    return room[first : first + n_rows * n_columns].reshape(n_rows, n_columns)


def at_a_line(table: np.ndarray) -> np.ndarray:
    """The same rows in C order, copied to where a line of the cache begins if that is worth it.

    Rows of a line or more, read all over, come a quarter sooner; where caches could not hold the table it stays.
    """
    table = np.ascontiguousarray(table)
    worth_it = table.nbytes <= COPIED and table.shape[1] * table.itemsize >= LINE
    if not worth_it or table.__array_interface__["data"][0] % LINE == 0:
        return table
    copy = aligned(1, table.size, table.dtype)[0, : table.size].reshape(table.shape)
    copy[:] = table
    return copy


def zeros(*shape: int, dtype: Any = np.float64) -> np.ndarray:
    """An array of 0, which lies beside others of the same thread in memory that was asked for at once.

    Of so much the system gives pages of megabytes; arrays of one megabyte each would be given 4 kB at a time, which
    takes longer than to fill them.
    """
    n_bytes = prod(shape) * np.dtype(dtype).itemsize
    if not LEAST <= n_bytes <= TOGETHER // 4:
        return np.zeros(shape, dtype)
    room = None if _latest.room is None else _latest.room()  # None where all that lay there is gone
    if room is None or _latest.n_used + n_bytes > len(room):
        room, _latest.n_used = np.zeros(TOGETHER, np.uint8), 0
        _latest.room = weakref.ref(room)
    first = _latest.n_used
    _latest.n_used += n_bytes + -n_bytes % LINE
    return room[first : first + n_bytes].view(dtype).reshape(shape)


class _Latest(threading.local):
    """What this thread asked for last: an array, which lives as long as any part of it, and how much of it is used."""

    room: "weakref.ref[np.ndarray] | None" = None
    n_used = 0


_latest = _Latest()
