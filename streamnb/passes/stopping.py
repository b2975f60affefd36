"""Stops a pass when the process is asked to end, after writing its checkpoint."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event

asked = Event()  # set when the process should end, for instance by a signal handler
keeping = Event()  # set while a pass checks `asked` after every block, so that it can write its checkpoint and end


class Stopped(BaseException):
    """Raised where a pass ends early because the process was asked to stop; not an error, like KeyboardInterrupt."""


def check() -> None:
    """Raise `Stopped` if the process was asked to stop."""
    if asked.is_set():
        raise Stopped


@contextmanager
def once_kept(kept: bool) -> Iterator[None]:
    """Let a pass with a checkpoint (`kept`) write it before the process ends; end after it if asked to stop."""
    if not kept:
        yield
        return
    keeping.set()
    try:
        yield
    finally:
        keeping.clear()
    check()
