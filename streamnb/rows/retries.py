"""Retries reads and writes of Zarr stores that are remote."""

from collections.abc import Callable
from typing import Any, TypeVar

from zarr.storage import LocalStore, MemoryStore, WrapperStore, ZipStore

from streamnb.core import retries

T = TypeVar("T")


def with_retries(action: Callable[[], T], store: Any) -> T:
    """Read or write a store by `action`, several times if it is remote and fails; `store` may be a path or URL."""
    return retries.retried(action, store, attempts_at(store))


def attempts_at(store: Any) -> int:
    """The number of attempts for a store: one if it is local, where an error means damaged data."""
    while isinstance(store, WrapperStore):
        store = store._store
    if isinstance(store, str):
        return retries.ATTEMPTS if "://" in store and not store.startswith("file://") else 1
    local = isinstance(store, (LocalStore, MemoryStore, ZipStore)) or not hasattr(store, "get")
    return 1 if local else retries.ATTEMPTS
