"""A process that is asked to stop: a pass that has a checkpoint keeps what is done, and ends; all else ends at once."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event

asked = Event()  # set from outside, by the handler of a signal for instance
keeping = Event()  # set while a pass looks after every block whether it is asked, to end once its work is kept


class Stopped(BaseException):
    """A pass ended early because the process was asked to stop; like KeyboardInterrupt no error."""


def check() -> None:
    """End here if the process was asked to stop."""
    if asked.is_set():
        raise Stopped


@contextmanager
def once_kept(kept: bool) -> Iterator[None]:
    """Where `kept`, a pass under way is left to keep what is done; it ends here, at the latest, if it was asked to."""
    if not kept:
        yield
        return
    keeping.set()
    try:
        yield
    finally:
        keeping.clear()
    check()
