"""A process that is asked to stop: its passes keep what is done, where they have a checkpoint, and end."""

from threading import Event

asked = Event()  # set from outside, by the handler of a signal for instance


class Stopped(BaseException):
    """A pass ended early because the process was asked to stop; like KeyboardInterrupt no error."""


def check() -> None:
    """End here if the process was asked to stop."""
    if asked.is_set():
        raise Stopped("stopped as asked; what was done is in the checkpoint, if there is one")
