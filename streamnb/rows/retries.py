"""What lies beyond this machine, stores above all: what fails there is tried again a bounded number of times."""

import logging
import time
from collections.abc import Callable
from typing import Any, TypeVar

from zarr.storage import LocalStore, MemoryStore, WrapperStore, ZipStore

T = TypeVar("T")
ATTEMPTS = 3  # beyond those that the store's own client makes
PAUSE = 0.5  # seconds before the second attempt; twice as long before each further one
_final = FileNotFoundError, PermissionError  # the same answer would come again
_log = logging.getLogger("streamnb")


def persistently(action: Callable[[], T], store: Any) -> T:
    """Do what reads or writes a store; where that is remote, up to ATTEMPTS times. `store` may be a path or URL."""
    return repeatedly(action, store, attempts_at(store))


def repeatedly(action: Callable[[], T], what: Any, attempts: int, final: Any = _final) -> T:
    """Do what may fail now and not a moment later: up to so many times, each pause longer; at once if `final` fails."""
    for attempt in range(1, attempts):
        try:
            return action()
        except final:
            raise
        except Exception as error:  # clients of object stores, and of clusters, raise whatever they like
            _log.warning("%s: attempt %d of %d failed: %r", what, attempt, attempts, error)
            time.sleep(PAUSE * 2 ** (attempt - 1))
    return action()


def attempts_at(store: Any) -> int:
    """How often to try: once on this machine, where an error is one of the data."""
    while isinstance(store, WrapperStore):
        store = store._store
    if isinstance(store, str):
        return ATTEMPTS if "://" in store and not store.startswith("file://") else 1
    return 1 if isinstance(store, (LocalStore, MemoryStore, ZipStore)) or not hasattr(store, "get") else ATTEMPTS
