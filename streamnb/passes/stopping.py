"""Stops a pass when the process is asked to end, after writing its checkpoint."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event

requested = Event()  # set when the process should end, for instance by a signal handler
saving = Event()  # set while a pass checks `requested` after every block, so that it can write its checkpoint and end


class Stopped(BaseException):
    """Raised where a pass ends early because the process was asked to stop; not an error, like KeyboardInterrupt."""


def check() -> None:
    """Raise `Stopped` if the process was asked to stop."""
    if requested.is_set():
        raise Stopped


@contextmanager
def checkpointing(active: bool) -> Iterator[None]:
    """Let a pass with a checkpoint (`active`) write it before the process ends; end after it if asked to stop."""
    if not active:
        yield
        return
    saving.set()
    try:
        yield
    finally:
        saving.clear()
    check()
