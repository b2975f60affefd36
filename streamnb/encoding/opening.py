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
) -> Source:
    """Rows with what is beside them, as `rows.opening.opened` does; raw rows by the `encoding` of a fitted model."""
    if encoding is not None and not isinstance(X, Source) and encoding.takes(X):
        X, y, sample_weight = encoding.encode(X, y, sample_weight, labelled=labelled), None, None
    rows = opening.opened(X, y, sample_weight, labelled=labelled, look=look, layer=layer)
    check_alike(encoding, rows.encoding)
    return rows


def fresh(X: Any, y: Any = None, sample_weight: Any = None, *, frames: bool, run: RunOptions) -> tuple[Any, Any, Any]:
    """Rows to be fitted, labels and weights; the path of a table is opened as `table` does it by default.

    So are tables in memory where `frames`; `run` is how the pass is run that learns of the columns.
    """
    if isinstance(X, Source) or not is_table(X) or not (frames or is_path(X)):
        return X, y, sample_weight
    return table(X, y, weight=sample_weight, n_threads=run.n_threads, memory_limit=run.memory_limit), None, None
