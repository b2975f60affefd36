"""The package's errors and warnings, and how lists are worded in them."""

from __future__ import annotations

import inspect
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # commands that say how they are called start without it
    import numpy as np

PASSWORD = re.compile(r"://[^/?#@\s]*@")
SIGNED = re.compile(r"\?[^\s'\"<>)]*\b(signature|sig|token|access_token)=[^\s'\"<>)]*", re.IGNORECASE)  # a query
INSIDE = "streamnb.", "functools"  # modules that are no code of the user; the second makes cached properties
_said: ContextVar[set[str] | None] = ContextVar("said", default=None)


class DataError(ValueError):
    """Raised for data that cannot be read; the message names the array and the chunk.

    Examples
    --------
    >>> import streamnb as snb
    >>> with open("model.snb", "w") as file:
    ...     _ = file.write("no model")
    >>> snb.load("model.snb")
    Traceback (most recent call last):
    streamnb.core.messages.DataError: ...
    """


class StreamnbWarning(UserWarning):
    """A warning about a result that is valid but needs attention.

    Examples
    --------
    >>> import warnings
    >>> import streamnb as snb
    >>> with warnings.catch_warnings(record=True, action="always") as caught:
    ...     _ = snb.LinearNB().fit([[1, 0], [0, 2]], [0, 1], classes=[0, 1, 2])
    >>> [warning.category.__name__ for warning in caught]
    ['StreamnbWarning']
    """


def listed(labels: Any) -> str:
    """Labels or names as text for a message; at most the first 20."""
    first = labels[:20]
    shown = first.tolist() if hasattr(first, "tolist") else list(first)
    return f"{shown}" + (f" and {len(labels) - 20:,} more" if len(labels) > 20 else "")


def nearest(name: str, known: list[str]) -> str:
    """Which of the known names an unknown one may be, or all of them, as text for a message."""
    near = get_close_matches(name, known, 1)
    return f"did you mean {near[0]!r}?" if near else listed(known)


def warn_absent(classes: np.ndarray) -> None:
    """Warn of listed classes without any weight."""
    warn(f"classes without any weight: {listed(classes)}; they get zero weights and are never predicted")


def warn(message: str, once: str | None = None) -> None:
    """Warn the user of something that does not make the result wrong; `once` says what `each_once` takes for the same.

    It is the message itself unless given.
    """
    said, once = _said.get(), once or message
    if said is None or once not in said:
        warnings.warn(message, StreamnbWarning, stacklevel=_level_of_the_user())
    if said is not None:
        said.add(once)


def _level_of_the_user() -> int:
    """How many calls above `warn` the code is that called this package: a warning shows its line."""
    frame, level = inspect.currentframe(), 0
    while frame is not None and frame.f_globals.get("__name__", "").startswith(INSIDE):
        frame, level = frame.f_back, level + 1
    return level


@contextmanager
def each_once() -> Iterator[None]:
    """Warn once of what many fits of the same rows would warn of."""
    token = _said.set(set())
    try:
        yield
    finally:
        _said.reset(token)


@contextmanager
def without(once: str) -> Iterator[None]:
    """Leave out warnings that are known by `once`; other ones come once."""
    before = _said.get()
    said = set() if before is None else before
    token = _said.set(said)
    said.add(once)
    try:
        yield
    finally:
        said.discard(once)
        _said.reset(token)


def unsigned(text: str) -> str:
    """A URL, or a text with URLs, that others may see: without passwords and signed queries, which open the file."""
    return SIGNED.sub("", PASSWORD.sub("://", text))
