"""Opens rows of any kind, and encodes raw ones with a new encoding or that of a model."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from streamnb.core import persistence
from streamnb.core.label_checks import NO_LABELS, names_of_labels
from streamnb.encoding.encoding import Encoding, check_alike
from streamnb.encoding.table import table
from streamnb.encoding.table_encoding import TableEncoding
from streamnb.encoding.text import text
from streamnb.rows import opening
from streamnb.rows.documents import holds_text_files
from streamnb.rows.files import is_svmlight
from streamnb.rows.in_svmlight import SvmlightFile, SvmlightSource, svmlight
from streamnb.rows.labels import TARGETS, Labelled
from streamnb.rows.source import Source
from streamnb.rows.table_opening import COMPLETE, as_table, is_matrix, is_path, is_records, is_row, is_table, tabular
from streamnb.rows.texts import holds_texts

Look = Callable[[Any], None]


@persistence.register
@dataclass(frozen=True)
class SvmlightEncoding(persistence.Parameters, Encoding):
    """The options with which a svmlight file was read, because another file may not show the number of features."""

    n_features: int
    zero_based: bool
    multilabel: bool = False

    @classmethod
    def of(cls, file: SvmlightFile) -> "SvmlightEncoding":
        return cls(file.n_features, bool(file.zero_based), file.multilabel)

    @property
    def learned(self) -> bool:
        return False

    @property
    def n_columns(self) -> int:
        return self.n_features

    def takes(self, X: Any) -> bool:
        return isinstance(X, SvmlightFile) or is_svmlight(X)

    def encode(self, X: Any, y: Any = None, weight: Any = None, *, labelled: bool = False) -> Source:
        if not isinstance(X, SvmlightFile):
            X = svmlight(X, n_features=self.n_features, zero_based=self.zero_based, multilabel=self.multilabel)
        if X.zero_based != self.zero_based:
            raise ValueError(
                f"X={str(X.path)!r} is read with zero_based={X.zero_based}, and what was fitted with "
                f"{self.zero_based}; give the path alone, or zero_based={self.zero_based}"
            )
        return opening.opened(X, y, weight, labelled=labelled)

    def differs(self, other: Encoding) -> str:
        return ""  # rows from other sources cannot be compared


def opened(
    X: Any,
    y: Any = None,
    sample_weight: Any = None,
    split: tuple[str, Any] | None = None,
    *,
    labelled: Labelled = True,
    look: Look | None = None,
    layer: str | None = None,
    numbers: str = COMPLETE,
) -> Source:
    """Open rows with their labels and weights like `rows.opening.opened`, and recognise texts and tables, too.

    In-memory tables of numbers are matrices; `numbers` says whether they may have missing values, as in `is_matrix`.
    """
    check_layer(X, layer)
    X = tabular(as_table(X, isinstance(y, str)))
    texts = holds_raw_texts(X) and not (isinstance(y, str) and is_table(X))  # URLs of tables, whose column y names
    if texts and labelled == TARGETS:
        X, sample_weight = text(X, y=y if isinstance(y, str) else None, weight=sample_weight), None
        y = None if isinstance(y, str) else y
    elif texts:
        X, y, sample_weight = text(X, y=y, weight=sample_weight), None, None
    else:
        X, y, sample_weight = with_table((X, y, sample_weight), numbers, labelled=labelled)
    rows = opening.opened(X, y, sample_weight, split, labelled=labelled, look=look, layer=layer)
    if isinstance(rows, SvmlightSource):
        rows.encoding = SvmlightEncoding.of(rows.file)
    return rows


def check_layer(X: Any, layer: str | None) -> None:
    """Refuse `layer` if X cannot have layers."""
    opening.check_layer(X, layer)
    if layer is not None and is_raw(X):
        raise ValueError(f"layer={layer!r} goes with AnnData, its files and stores, and X holds texts or a table")


def with_table(
    given: Any, numbers: str = COMPLETE, *, labelled: Labelled = True, **columns: Any
) -> tuple[Any, Any, Any]:
    """X, y and sample_weight, where X is a table that has to be encoded opened with these options of `table`.

    To predict targets, numbers of a table stay as they are, and targets that are no column of it stay beside.
    """
    X, y, sample_weight = given
    X = as_table(X, isinstance(y, str))
    if not is_table(X) or is_matrix(opening.with_labels(X, y)[0], numbers):
        return X, y, sample_weight
    if labelled and y is None:
        raise ValueError(
            f"{NO_LABELS}: X{f'={str(X)!r}' if is_path(X) else ''} is a "
            "table; give the name of its column of labels, such as y='label'"
        )
    columns = {"bins": None, **columns} if labelled == TARGETS else columns
    beside = None if labelled != TARGETS or isinstance(y, str) else y
    rows = table(X, y if beside is None else None, weight=sample_weight, **columns)
    rows.label_names = names_of_labels(y)
    return rows, beside, None


def opened_for(
    encoding: Encoding | None,
    X: Any,
    y: Any = None,
    sample_weight: Any = None,
    *,
    labelled: Labelled = True,
    look: Look | None = None,
    layer: str | None = None,
    names: Any = None,
) -> Source:
    """Open rows for a fitted model, whose encoding is applied to raw rows; None if the model has no encoding.

    `names` are those of the fitted columns, by which records and the genes of AnnData are matched.
    """
    X = as_table(X, isinstance(y, str) or isinstance(encoding, TableEncoding))
    if not isinstance(encoding, TableEncoding):
        X = _by_name(X, names if encoding is None else None, y)
    if encoding is None and holds_raw_texts(X):
        raise ValueError(
            "X holds texts, but the rows that were fitted were numbers already; make those of X in the same way, or "
            "fit the texts themselves"
        )
    if encoding is not None and not isinstance(X, Source) and encoding.takes(X):
        beside = None if labelled != TARGETS or isinstance(y, str) else y
        names, y = names_of_labels(y), y if beside is None else None
        X = encoding.encode(X, y, sample_weight, labelled=bool(labelled) and beside is None)
        X.label_names, y, sample_weight = names, beside, None
    elif isinstance(encoding, TableEncoding):
        encoding.check_width(X)
    rows = opening.opened(X, y, sample_weight, labelled=labelled, look=look, layer=layer, names=names)
    check_alike(encoding, rows.encoding)
    return rows


def _by_name(X: Any, names: Any, y: Any) -> Any:
    """X, of which records become an Arrow table of the fitted columns, where these have names, and of labels."""
    if names is not None and is_row(X) and not holds_texts(X):
        X = X.to_dict()
    made = tabular(X)
    if not is_records(X) or names is None or not {*names} <= {*made.column_names}:
        return made
    wanted = dict.fromkeys(names)
    if isinstance(y, str) and y in made.column_names:
        wanted[y] = None
    return made.select([*wanted])


def is_raw(X: Any) -> bool:
    """Whether X holds texts or is a table that has to be encoded."""
    return holds_raw_texts(X) or is_raw_table(X)


def is_raw_table(X: Any, numbers: str = COMPLETE) -> bool:
    """Whether X is a table that has to be encoded: the path of one, or columns that are not all numbers."""
    return is_table(X) and not is_matrix(X, numbers)


def holds_raw_texts(X: Any) -> bool:
    """Whether X holds texts, in memory or in files."""
    return holds_texts(X) or holds_text_files(X)
