"""Errors and warnings of the package, and lists in their words."""

from __future__ import annotations

import warnings

import numpy as np


class DataError(ValueError):
    """Data that cannot be read: the message names the array and the chunk.

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
    """The answer stands, but the user would want to know something about it.

    Examples
    --------
    >>> import warnings
    >>> import streamnb as snb
    >>> with warnings.catch_warnings(record=True, action="always") as told:
    ...     _ = snb.LinearNB().fit([[1, 0], [0, 2]], [0, 1], classes=[0, 1, 2])
    >>> [warning.category.__name__ for warning in told]
    ['StreamnbWarning']
    """


def listed(labels: np.ndarray) -> str:
    """Labels in a message; of thousands the first ones."""
    return f"{labels[:20].tolist()}" + (f" and {len(labels) - 20:,} more" if len(labels) > 20 else "")


def warn_absent(classes: np.ndarray) -> None:
    """Say which listed classes have no weight."""
    warn(f"classes without any weight: {listed(classes)}; they get zero weights and are never predicted")


def warn(message: str) -> None:
    """Tell the user something that does not change the answer."""
    warnings.warn(message, StreamnbWarning, stacklevel=4)
