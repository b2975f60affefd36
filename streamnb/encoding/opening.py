"""The door for rows of any kind, raw ones among them: a model that keeps an encoding makes its columns of them."""

from collections.abc import Callable
from typing import Any

from streamnb.encoding.encoding import Encoding, check_alike
from streamnb.encoding.table import table
from streamnb.passes.options import RunOptions
from streamnb.rows import opening
from streamnb.rows.source import Source
from streamnb.rows.table_opening import is_path, is_table


def opened(
    X: Any,
    y: Any = None,
    sample_weight: Any = None,
    *,
    labelled: bool = True,
    look: Callable[[Any], None] | None = None,
    layer: str | None = None,
    encoding: Encoding | None = None,
    frames: bool = False,
    run: RunOptions | None = None,
) -> Source:
    """Rows with what is beside them, as `rows.opening.opened` does.

    Raw rows become columns by the `encoding` of a fitted model. Without one the path of a table, and where `frames` a
    table in memory too, is opened as `table` does by default; `run` is how what it learns is learned.
    """
    raw = not isinstance(X, Source)
    if encoding is not None and raw and encoding.takes(X):
        X, y, sample_weight = encoding.encode(X, y, sample_weight, labelled=labelled), None, None
    elif encoding is None and raw and is_table(X) and (frames or is_path(X)):
        run = run or RunOptions()
        X = table(X, y, weight=sample_weight, n_threads=run.n_threads, memory_limit=run.memory_limit)
        y = sample_weight = None
    rows = opening.opened(X, y, sample_weight, labelled=labelled, look=look, layer=layer)
    check_alike(encoding, rows.encoding)
    return rows
