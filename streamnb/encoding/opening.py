"""Opens rows of any kind, and encodes raw ones with a new encoding or that of a model."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from streamnb.core import persistence
from streamnb.core.messages import listed, warn
from streamnb.core.row_checks import NO_LABELS, names_of_labels
from streamnb.core.threads import n_cores
from streamnb.encoding.category_columns import numbers_of, numbers_of_table
from streamnb.encoding.encoding import Encoding, check_alike
from streamnb.encoding.table import feature_names, table
from streamnb.encoding.table_encoding import TableEncoding
from streamnb.encoding.text import text
from streamnb.rows import opening
from streamnb.rows.boundary import holds_texts, is_dask, made_by
from streamnb.rows.files import holds_text_files, is_svmlight
from streamnb.rows.in_svmlight import SvmlightFile, SvmlightSource, svmlight
from streamnb.rows.labels import TARGETS, Labelled
from streamnb.rows.source import Source
from streamnb.rows.table_columns import BOOLEAN, NOTHING, NUMBER, kind_of
from streamnb.rows.table_opening import (
    COMPLETE,
    COUNTS,
    as_table,
    is_matrix,
    is_path,
    is_row,
    is_table,
    open_tables,
    tabular,
)
from streamnb.rows.tables import ArrowTable, Fields, NumberSource, Tables

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
    *,
    labelled: Labelled = True,
    look: Look | None = None,
    layer: str | None = None,
    numbers: str = COMPLETE,
    beside: Iterable[Any] = (),
) -> Source:
    """Open rows with their labels and weights like `rows.opening.opened`, and recognise texts and tables, too.

    Numbers of a table that has no other columns stay as they are; `numbers` says which, as in `is_matrix`. Groups and
    folds `beside` that are names of columns of the table are no features.
    """
    if layer is not None:
        check_layer(X, layer)
    X = tabular(as_table(X, isinstance(y, str)))
    texts = holds_raw_texts(X) and not (isinstance(y, str) and is_table(X))  # URLs of tables, whose column y names
    if texts and labelled == TARGETS:
        X, sample_weight = text(X, y=y if isinstance(y, str) else None, weight=sample_weight), None
        y = None if isinstance(y, str) else y
    elif texts:
        X, y, sample_weight = text(X, y=y, weight=sample_weight), None, None
    else:
        X, y, sample_weight = with_table(X, y, sample_weight, numbers, labelled=labelled, beside=beside)
    how: dict[str, Any] = {"labelled": labelled, "look": look, "layer": layer, "beside": beside}
    rows = opening.opened(X, y, sample_weight, **how)
    if isinstance(rows, SvmlightSource):
        rows.encoding = SvmlightEncoding.of(rows.file)
    return rows


def warn_of_order(X: Any, y: Any) -> None:
    """Warn if a column y of pandas has the index of X in another order, as rows are matched by their places."""
    if not (made_by(y, "pandas") and made_by(X, "pandas") and hasattr(X, "iloc")) or X.index.equals(y.index):
        return
    ours, theirs = X.index.astype(object), y.index.astype(object)
    if not ours.equals(theirs) and set(ours) == set(theirs):
        warn("y has the index of X in another order, and rows are matched by their places; give y.loc[X.index]")


def check_layer(X: Any, layer: str) -> None:
    """Refuse `layer` if X cannot have layers."""
    opening.check_layer(X, layer)
    if is_raw(X):
        raise ValueError(f"layer={layer!r} is only for AnnData, its files and stores, and X holds texts or a table")


def with_table(
    X: Any,
    y: Any,
    sample_weight: Any,
    numbers: str,
    *,
    labelled: Labelled = True,
    beside: Iterable[Any] = (),
    **columns: Any,
) -> tuple[Any, Any, Any]:
    """X, y and sample_weight, where X is a table that has to be encoded opened with these options of `table`.

    To predict targets, numbers of a table stay as they are, and targets that are no column of it stay beside.
    """
    if hasattr(y, "iloc"):
        warn_of_order(X, y)
    X = as_table(X, isinstance(y, str))
    if not is_table(X):
        return X, y, sample_weight
    if labelled and y is None and not hasattr(X, "iloc"):
        raise _unlabelled(X)
    targets = None if labelled != TARGETS or isinstance(y, str) else y
    own = y if targets is None else None
    X = X if hasattr(X, "iloc") else open_tables(X, {}, n_cores())
    numeric = as_numbers(X, own, sample_weight, numbers, beside)
    if numeric is not None:
        if not _were_numbers(X, y) and labelled != TARGETS and not columns:
            warn(
                "X: its columns are numbers alone, which stay as they are; streamnb 0.3 made bins of them, as "
                "snb.table(X, y) does (bins=None keeps numbers)"
            )
        rows, own, weight = numeric
        return rows, own if targets is None else targets, weight
    if labelled and y is None:
        raise _unlabelled(X)
    if numbers == COUNTS and _were_numbers(X, y) and as_numbers(X, own, sample_weight, COMPLETE, beside) is not None:
        warn(
            "X: some of its numbers are no counts, so that all become bins for this family; give X.to_numpy() to keep "
            "them as they are, as streamnb 0.3 did"
        )
    columns = {"bins": None, **columns} if labelled == TARGETS else columns
    if named := {name for name in beside if isinstance(name, str)}:
        tables = open_tables(X, {}, n_cores())
        columns = {"columns": _features(tables, own, sample_weight, named), **columns}
    rows = table(X, own, weight=sample_weight, **columns)
    rows.label_names = names_of_labels(y)
    return rows, targets, None


def _features(tables: Tables, y: Any, weight: Any, beside: Iterable[Any]) -> list[str]:
    """The names of the columns of a table that are neither labels, weights nor beside."""
    return [name for name in feature_names(tables, None, y, weight, None) if name not in beside]


def _were_numbers(X: Any, y: Any) -> bool:
    """Whether 0.3 took a table of numbers as it is: in memory, and its labels, if they are in it, were numbers, too."""
    if not isinstance(X, ArrowTable):
        return hasattr(X, "iloc")
    return not isinstance(y, str) or kind_of(X.schema.field(y).type) in (NUMBER, BOOLEAN)


def _unlabelled(X: Any) -> ValueError:
    return ValueError(
        f"{NO_LABELS}: X{f'={str(X)!r}' if is_path(X) else ''} is a "
        "table; give the name of its column of labels, such as y='label'"
    )


def as_numbers(X: Any, y: Any, weight: Any, numbers: str, beside: Iterable[Any] = ()) -> tuple[Any, Any, Any] | None:
    """X, y and weights where X is a table of numbers that stay as they are; None if it has to be encoded."""
    if hasattr(X, "iloc"):
        features, _ = opening.with_weights(opening.with_labels(X, y)[0], weight)
        features, _ = opening.without_columns(features, beside)
        return (X, y, weight) if is_matrix(features, numbers) else None
    tables = open_tables(X, {}, n_cores())
    names = _features(tables, y, weight, [name for name in beside if isinstance(name, str)])
    if not is_matrix(tables.selected(Fields(tuple(names))), numbers):
        return None
    rows = NumberSource.of(tables, names, y, weight, n_cores())
    rows.label_names = names_of_labels(y)
    return rows, None, None


def columns_named(X: Any, names: Any, y: Any, weight: Any) -> tuple[Any, Any, Any]:
    """X, y and weights of a table: a data frame of the columns of these names alone, or `Tables` that have them.

    Without `names`, a data frame has all columns but those of labels and weights.
    """
    if hasattr(X, "iloc"):
        known = names is not None and X.columns.is_unique and all(name in X.columns for name in names)
        others, y = opening.with_labels(X, y)
        others, weight = opening.with_weights(others, weight)
        return X[[*names]] if known else others, y, weight  # scikit-learn says which names are missing
    tables = open_tables(X, {}, n_cores())
    missing = [] if names is None else [name for name in names if name not in tables.schema.names]
    if missing:
        raise ValueError(
            "The feature names should match those that were passed during fit.\n"
            + "\n- ".join(["Feature names seen at fit time, yet now missing:", *missing])
            + f"\nX has the columns {listed(tables.schema.names)}"
        )
    return tables, y, weight


def numbers_named(X: Any, names: Any, y: Any, weight: Any) -> tuple[Any, Any, Any]:
    """X, y and weights, where X is a table whose columns of these names are numbers, opened in this order."""
    X, y, weight = columns_named(X, names, y, weight)
    if not isinstance(X, Tables):
        return X, y, weight
    for name in names:
        given = X.schema.field(name).type
        if kind_of(given) not in (NUMBER, BOOLEAN, NOTHING):
            raise TypeError(f"X: column {name!r} is of type {given}; it should be numbers, as in the rows of the fit")
    return NumberSource.of(X, names, y, weight, n_cores()), None, None


def opened_as_categories(
    X: Any,
    y: Any = None,
    sample_weight: Any = None,
    *,
    labelled: bool = True,
    look: Look | None = None,
    names: Any = None,
    strings_too: bool = True,
) -> Source:
    """Open rows like `rows.opening.opened`, with values of any type as numbers that tell them apart.

    `names` are those of the fitted columns, by which columns of tables are matched; `strings_too` as in `numbers_of`.
    """
    X = tabular(as_table(X, isinstance(y, str) or names is not None))
    if is_table(X):
        if labelled and y is None:
            raise _unlabelled(X)
        X, y, sample_weight = columns_named(X, names, y, sample_weight)
    if isinstance(X, Tables):
        names = feature_names(X, None, y, sample_weight, None) if names is None else names
        X, y, sample_weight = numbers_of_table(X, names, y, sample_weight, n_cores(), strings_too), None, None
    return opening.opened(numbers_of(X, strings_too), y, sample_weight, labelled=labelled, look=look)


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
    label: str | None = None,
) -> Source:
    """Open rows for a fitted model, whose encoding is applied to raw rows; None if the model has no encoding.

    `names` are those of the fitted columns, by which columns of tables and the genes of AnnData are matched, and
    `label` that of the column of labels, in case y is not given.
    """
    if hasattr(y, "iloc"):
        warn_of_order(X, y)
    by_name = encoding is None and names is not None
    X = as_table(X, isinstance(y, str) or isinstance(encoding, TableEncoding) or by_name)
    if by_name and is_row(X) and not holds_texts(X):
        X = X.to_dict()
    if by_name and is_table(X):
        y = label if labelled and y is None else y
        X, y, sample_weight = numbers_named(X, names, y, sample_weight)
    elif not isinstance(encoding, TableEncoding):
        X = tabular(X)
    if encoding is None and holds_raw_texts(X):
        raise ValueError(
            "X holds texts, but the rows that were fitted were numbers already; make those of X in the same way, or "
            "fit the texts themselves"
        )
    if isinstance(encoding, TableEncoding) and not labelled and is_dask(X) and hasattr(X, "columns"):
        rows = opening.opened(encoding.encoded_lazily(X), labelled=False)
        rows.encoding = encoding
        return rows
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


def is_raw(X: Any) -> bool:
    """Whether X holds texts or is a table other than a frame of numbers."""
    return holds_raw_texts(X) or (is_table(X) and not (hasattr(X, "iloc") and is_matrix(X)))


def holds_raw_texts(X: Any) -> bool:
    """Whether X holds texts, in memory or in files."""
    return holds_texts(X) or holds_text_files(X)
