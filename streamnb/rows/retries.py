"""Retries reads and writes of remote stores."""

import logging
import time
from collections.abc import Callable
from typing import Any, TypeVar

from zarr.storage import LocalStore, MemoryStore, WrapperStore, ZipStore

T = TypeVar("T")
ATTEMPTS = 3  # in addition to those of the store's own client
PAUSE = 0.5  # seconds before the second attempt; doubled before each further one
_final = FileNotFoundError, PermissionError  # a retry would fail in the same way
_log = logging.getLogger("streamnb")


def with_retries(action: Callable[[], T], store: Any) -> T:
    """Read or write a store by `action`, up to ATTEMPTS times if it is remote; `store` may be a path or URL."""
    return retried(action, store, attempts_at(store))


def retried(action: Callable[[], T], what: Any, attempts: int, final: Any = _final) -> T:
    """Retry an action with growing pauses, up to `attempts` times; errors of type `final` are raised at once."""
    for attempt in range(1, attempts):
        try:
            return action()
        except final:
            raise
        except Exception as error:  # clients of object stores and clusters raise errors of any type
            _log.warning("%s: attempt %d of %d failed: %r", what, attempt, attempts, error)
            time.sleep(PAUSE * 2 ** (attempt - 1))
    return action()


def attempts_at(store: Any) -> int:
    """The number of attempts for a store: one if it is local, where an error means damaged data."""
    while isinstance(store, WrapperStore):
        store = store._store
    if isinstance(store, str):
        return ATTEMPTS if "://" in store and not store.startswith("file://") else 1
    return 1 if isinstance(store, (LocalStore, MemoryStore, ZipStore)) or not hasattr(store, "get") else ATTEMPTS
