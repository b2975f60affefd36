"""Progress bars of a pass."""

import os
import shutil
import sys
from typing import Any

from tqdm.auto import tqdm


def bar(*iterable: Any, title: str, progress: bool | None, **options: Any) -> Any:
    """A tqdm bar, shown only if `progress` is true."""
    return tqdm(*iterable, desc=title, disable=not progress, **shape(), **options)


def shape() -> dict[str, int]:
    """Width and height of a bar where a terminal reports 0 columns or lines, in which tqdm would show nothing."""
    try:
        columns, lines = os.get_terminal_size(sys.stderr.fileno()) if sys.stderr.isatty() else (80, 24)
    except (AttributeError, OSError, ValueError):  # no stderr, or one without a terminal
        return {}
    if columns > 1 and lines > 0:
        return {}
    columns, lines = shutil.get_terminal_size()  # from the environment, else 80 and 24
    return {"ncols": columns - 1, "nrows": lines}
