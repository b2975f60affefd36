"""Bars that show how far a pass over the rows is."""

import os
import shutil
import sys
from typing import Any

from tqdm.auto import tqdm


def bar(*iterable: Any, title: str, progress: bool | None, **options: Any) -> Any:
    """A bar of tqdm, which shows nothing unless `progress`."""
    return tqdm(*iterable, desc=title, disable=not progress, **shape(), **options)


def shape() -> dict[str, int]:
    """Room for a bar where the terminal says that it has none: in 0 columns or lines tqdm shows nothing."""
    try:
        columns, lines = os.get_terminal_size(sys.stderr.fileno()) if sys.stderr.isatty() else (80, 24)
    except (AttributeError, OSError, ValueError):  # no stderr, or one that has no terminal after all
        return {}
    if columns > 1 and lines > 0:
        return {}
    columns, lines = shutil.get_terminal_size()  # of the environment, else 80 and 24
    return {"ncols": columns - 1, "nrows": lines}
