"""Errors and warnings of the package, and lists in their words."""

import warnings

import numpy as np


class DataError(ValueError):
    """Data that cannot be read: the message names the array and the chunk."""


class StreamnbWarning(UserWarning):
    """The answer stands, but the user would want to know something about it."""


def listed(labels: np.ndarray) -> str:
    """Labels in a message; of thousands the first ones."""
    return f"{labels[:20].tolist()}" + (f" and {len(labels) - 20:,} more" if len(labels) > 20 else "")


def warn_absent(classes: np.ndarray) -> None:
    """Say which listed classes have no weight."""
    warn(f"classes without any weight: {listed(classes)}; they get zero weights and are never predicted")


def warn(message: str) -> None:
    """Tell the user something that does not change the answer."""
    warnings.warn(message, StreamnbWarning, stacklevel=4)
