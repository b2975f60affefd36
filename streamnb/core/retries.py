"""Tries an action again that may fail for a while, as requests to object stores and clusters do."""

import logging
import time
from collections.abc import Callable
from typing import Any, TypeVar

from streamnb.core.messages import unsigned

T = TypeVar("T")
ATTEMPTS = 3  # in addition to those of the store's own client
PAUSE = 0.5  # seconds before the second attempt; doubled before each further one
FINAL = FileNotFoundError, PermissionError  # a retry would fail in the same way
_log = logging.getLogger("streamnb")


def retried(action: Callable[[], T], what: Any, attempts: int, final: Any = FINAL) -> T:
    """Retry an action with growing pauses, up to `attempts` times; errors of type `final` are raised at once."""
    for attempt in range(1, attempts):
        try:
            return action()
        except final:
            raise
        except Exception as error:  # clients of object stores and clusters raise errors of any type
            _log.warning("%s: attempt %d of %d failed: %s", what, attempt, attempts, unsigned(repr(error)))
            time.sleep(PAUSE * 2 ** (attempt - 1))
    return action()
