"""The door for rows of any kind, also raw ones, which become columns: by an encoding of their own or a model's."""

from collections.abc import Callable
from typing import Any

from streamnb.encoding.encoding import Encoding, check_alike
from streamnb.encoding.svmlight_encoding import SvmlightEncoding
from streamnb.encoding.table import table
from streamnb.encoding.table_encoding import TableEncoding
from streamnb.encoding.text import text
from streamnb.rows import opening
from streamnb.rows.in_svmlight import SvmlightSource
from streamnb.rows.source import Source
from streamnb.rows.table_opening import is_path, is_table
from streamnb.rows.text_files import holds_text_files
from streamnb.rows.texts import holds_texts

Look = Callable[[Any], None]


def opened(
    X: Any,
    y: Any = None,
    sample_weight: Any = None,
    split: tuple[str, Any] | None = None,
    *,
    labelled: bool = True,
    look: Look | None = None,
    layer: str | None = None,
    frames: bool = False,
) -> Source:
    """Rows with what is beside them, as `rows.opening.opened` does; texts and tables, too, told by what they are.

    Of tables in memory those of numbers are matrices, unless `frames`.
    """
    opening.check_layer(X, layer)
    if holds_raw_texts(X):
        X, y, sample_weight = text(X, y=y, weight=sample_weight), None, None
    elif is_table(X) and (frames or is_path(X)):
        if labelled and y is None:
            raise ValueError(
                f"requires y to be passed, but the target y is None: X={str(X)!r} is a table; give the name of its "
                "column of labels, such as y='label'"
            )
        X, y, sample_weight = table(X, y, weight=sample_weight), None, None
    rows = opening.opened(X, y, sample_weight, split, labelled=labelled, look=look, layer=layer)
    if isinstance(rows, SvmlightSource):
        rows.encoding = SvmlightEncoding.of(rows.file)
    return rows


def opened_for(
    encoding: Encoding | None,
    X: Any,
    y: Any = None,
    sample_weight: Any = None,
    *,
    labelled: bool = True,
    look: Look | None = None,
    layer: str | None = None,
) -> Source:
    """The same for what was fitted before, whose encoding makes the columns of raw rows; None: it takes none."""
    if encoding is None and holds_raw_texts(X):
        raise ValueError(
            "X holds texts, but the rows that were fitted were numbers already; make those of X in the same way, or "
            "fit the texts themselves"
        )
    if encoding is not None and not isinstance(X, Source) and encoding.takes(X):
        X, y, sample_weight = encoding.encode(X, y, sample_weight, labelled=labelled), None, None
    elif isinstance(encoding, TableEncoding):
        encoding.check_width(X)
    rows = opening.opened(X, y, sample_weight, labelled=labelled, look=look, layer=layer)
    check_alike(encoding, rows.encoding)
    return rows


def is_raw(X: Any) -> bool:
    """Whether X holds texts, or is the path of a table, whose columns are made as it is opened."""
    return holds_raw_texts(X) or (is_table(X) and is_path(X))


def holds_raw_texts(X: Any) -> bool:
    """Whether X are texts, in memory or in files."""
    return holds_texts(X) or holds_text_files(X)
