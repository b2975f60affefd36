"""Reads Arrow tables in blocks: feature columns of several kinds, labels and weights."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NoReturn, Self, cast
from uuid import UUID

import numpy as np

from streamnb.core.frames import plain_column
from streamnb.core.messages import DataError, nearest
from streamnb.core.row_checks import lists_of_labels
from streamnb.rows.labels import open_columns
from streamnb.rows.records import RowsAlone, StoredColumns
from streamnb.rows.row_blocks import Block
from streamnb.rows.source import Job, RawRows, RawSource
from streamnb.rows.table_columns import (
    BOOLEAN,
    CATEGORY,
    DATE,
    DATES,
    INSTANT,
    MEASURED,
    NOTHING,
    NUMBER,
    TableRows,
    are_whole,
    arrow,
    as_known,
    is_empty,
    kind_of,
    takes,
    type_in_lines,
)
from streamnb.rows.texts import Texts, of_arrow

VIEWS = {"string_view": "large_string", "binary_view": "large_binary"}  # Arrow types, and what they become
CURES = {  # of a column that was of another kind when rows were fitted
    NUMBER: "; give numbers, such as 31 for '31'",
    DATE: "; give dates without a time zone, as column.dt.tz_localize(None) of pandas does",
    INSTANT: "; give dates in a time zone, as column.dt.tz_localize('UTC') of pandas does",
}
PIECE_ROWS = 1 << 15  # of a block: enough for vectorised code, few enough to split small tables between threads


@dataclass(frozen=True)
class Fields:
    """The columns of a table to read: features, labels and weights.

    `kinds` and `zones`, the time zones of dates, are those of the features. Columns of other kinds are refused unless
    they are empty, and with `zones` all are converted to the uniform representation of their kind, with `strings_too`
    also categories that are written as text. Where `text` names
    a feature, rows are `Texts`. Rows keep the columns `beside` as they are stored, to be written again, or with `lines`
    the lines of a file.
    """

    features: tuple[str, ...]
    y: str | None = None
    weight: str | None = None
    labels: str = "y"  # the argument that named the labels, for messages
    kinds: Mapping[str, str | None] | None = None
    zones: Mapping[str, str] | None = None
    strings_too: bool = True
    text: str | None = None
    null_is_empty: bool = False  # whether a missing text is an empty one
    beside: tuple[str, ...] = ()
    lines: bool = False

    @property
    def all(self) -> list[str]:
        beside = (name for name in (self.y, self.weight, *self.beside) if name is not None)
        return list(dict.fromkeys([*self.features, *beside]))

    def rows(self, batch: Any, first_row: int, where: str = "X") -> Any:
        """The features, labels and weights of a record batch: `TableRows` or `Texts`."""
        columns = [_in_storage(column) for column in batch.columns]
        batch = arrow().RecordBatch.from_arrays(columns, names=batch.schema.names)
        stored = self._stored(batch) if self.beside else None
        if stored is not None and self.all == [*self.beside] and not self.features:
            return RowsAlone(stored)
        y = None if self.y is None else labels_of(batch.column(self.y), f"{self.labels}={self.y!r}", first_row, where)
        weight = None if self.weight is None else weights_of(batch.column(self.weight), self.weight, first_row, where)
        features, known = self._converted(batch, first_row, where), self.zones is not None
        rows = TableRows(features, y, weight, where, known, self.strings_too, stored)
        return rows if self.text is None else texts_of(rows, self.text, first_row, self.null_is_empty)

    def _stored(self, batch: Any) -> StoredColumns:
        """The columns beside, without the dictionaries by which strings are read."""
        types, columns = arrow().types, [batch.column(name) for name in self.beside]
        plain = [column.dictionary_decode() if types.is_dictionary(column.type) else column for column in columns]
        return StoredColumns(arrow().RecordBatch.from_arrays(plain, names=list(self.beside)))

    def _converted(self, batch: Any, first_row: int, where: str) -> Any:
        """The features in the uniform representation of their kinds."""
        if self.kinds is None:
            return batch.select(list(self.features))
        former = {NUMBER: MEASURED, DATE: DATES} if self.zones is None else {}  # what these names meant in 0.2.0
        columns = []
        for name in self.features:
            column, kind = batch.column(name), self.kinds[name]
            if kind in DATES and kind_of(column.type) == CATEGORY:
                column = _dates(column, kind, first_row, f"{where}: column {name!r}")
            given = kind_of(column.type)
            fits = given in (*takes(kind), *former.get(kind or "", ()), NOTHING)
            if given != kind and is_empty(column):
                column = arrow().nulls(len(column))
            elif not fits or (given == NUMBER and kind in (CATEGORY, BOOLEAN) and not are_whole(column)):
                should = f"of kind {kind!r}, as in the rows that were fitted" if kind else "numbers or strings"
                named = f"{where}: column {name!r} is of type {column.type} ({given or 'nested'})"
                raise DataError(f"{named}; it should be {should}{CURES.get(str(kind), '')}")
            columns.append(column if self.zones is None else as_known(column, kind, self.zones.get(name)))
        return arrow().RecordBatch.from_arrays(columns, names=list(self.features))


def _dates(column: Any, kind: str | None, first_row: int, named: str) -> Any:
    """Dates that are written as text, as in CSV; refused are other texts."""
    pa, dtype = arrow(), type_in_lines(kind)
    texts = column.dictionary_decode() if pa.types.is_dictionary(column.type) else column
    try:
        return texts.cast(dtype)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):  # the latter of bytes
        if len(texts) > 1:
            for row in range(len(texts)):
                _dates(texts.slice(row, 1), kind, first_row + row, named)
        raise DataError(
            f"{named} is of type {texts.type}, with {texts[0].as_py()!r:.80} at row {first_row}; it should be of kind "
            f"{kind!r}, as in the rows that were fitted, such as 2024-02-29 (in a time zone, 2024-02-29 13:45:00+02:00)"
        ) from None


def _in_storage(column: Any) -> Any:
    """A column that is no view, of which Arrow cannot pick rows, nor runs of equal values or of an extension type."""
    import pyarrow.compute as pc

    pa, kind = arrow(), column.type
    if pa.types.is_run_end_encoded(kind):
        return _in_storage(pc.run_end_decode(column))
    if isinstance(kind, pa.BaseExtensionType):
        if kind.extension_name == "arrow.uuid":  # as DuckDB gives them without a file
            return pa.array([None if one is None else str(UUID(bytes=one)) for one in column.storage.to_pylist()])
        return _in_storage(column.storage)
    if pa.types.is_dictionary(kind) and str(kind.value_type) in VIEWS:
        return pa.DictionaryArray.from_arrays(column.indices, _in_storage(column.dictionary))
    if pa.types.is_fixed_size_binary(kind):
        return column.cast(pa.binary())
    wide = VIEWS.get(str(kind))
    return column if wide is None else column.cast(wide)


def texts_of(rows: TableRows, text: str, first_row: int, null_is_empty: bool = False) -> Texts:
    """The texts in a column of rows of a table, with labels, weights and what is beside them."""
    missing = None if null_is_empty else f"has no text in {text!r}"
    texts = of_arrow(rows.columns.column(text), first_row, rows.where, missing)
    return replace(texts, y=rows.y, weight=rows.weight, beside=rows.beside)


def labels_of(column: Any, name: str, first_row: int, where: str) -> np.ndarray:
    """Convert an Arrow column to labels, (n_rows,): strings, or the NumPy dtype of its type."""
    types, column = arrow().types, chunk_of(column)
    if column.null_count:
        row = first_row + int(np.argmax(np.asarray(column.is_null())))
        raise ValueError(f"{where}: {name} is missing at row {row}; drop such rows, or give them a label")
    value_type = column.type.value_type if types.is_dictionary(column.type) else column.type
    if types.is_nested(value_type):
        raise lists_of_labels(name)
    if kind_of(value_type) != CATEGORY:
        return np.asarray((column.dictionary_decode() if value_type is not column.type else column).to_numpy(False))
    coded = column if value_type is not column.type else column.dictionary_encode()
    try:
        values = np.array(coded.dictionary.to_pylist() or [""])
    except UnicodeDecodeError as error:
        texts = of_arrow(column, first_row, where)
        row = next(
            row for row in range(len(column)) if texts.decoded(row, "ignore") != texts.decoded(row, "surrogateescape")
        )
        raise DataError(
            f"{where}: {name} of row {first_row + row} is not UTF-8 ({error}); write the file as UTF-8"
        ) from error
    return values[coded.indices.to_numpy(zero_copy_only=False)]


def _values_of(column: Any) -> np.ndarray:
    """Convert an Arrow column to values, (n_rows,), None or NaN where they are missing."""
    column = chunk_of(column)
    if arrow().types.is_dictionary(column.type):
        column = column.dictionary_decode()
    return column.to_numpy(zero_copy_only=False)


def weights_of(column: Any, name: str, first_row: int, where: str) -> np.ndarray:
    """Convert an Arrow column to weights, (n_rows,)."""
    if kind_of(column.type) not in (NUMBER, BOOLEAN):
        raise ValueError(f"{where}: weight={name!r} is a column of type {column.type}; it should hold numbers")
    column = chunk_of(column)
    if column.null_count:
        row = first_row + int(np.argmax(np.asarray(column.is_null())))
        raise ValueError(f"{where}: weight={name!r} is missing at row {row}")
    return np.asarray(column.to_numpy(zero_copy_only=False), np.float64)


class Tables(RawRows):
    """Base of tables, in memory or in files, with their Arrow schema."""

    schema: Any
    unseen: frozenset[str] = frozenset()  # columns that were asked for but occur in no row
    fields = Fields(())

    def selected(self, fields: Fields) -> Self:
        """A copy that reads these columns."""
        part = copy(self)
        part.fields = fields
        return part

    def column(self, column: str, name: str) -> np.ndarray:
        check_has(self.schema, [column], name)
        if column in self.fields.features and name in ("y", "sample_weight"):
            raise ValueError(
                f"{name}={column!r} is a feature of X; name it when you open the table, such as "
                f"snb.table(.., {name.removeprefix('sample_')}={column!r})"
            )
        jobs = self.selected(Fields((), y=column, labels=name)).jobs(0, self.n_rows)
        return np.concatenate([read().y for _, read in jobs])

    def values(self, column: str, name: str) -> np.ndarray:
        """All values of a column, None or NaN where they are missing."""
        return np.concatenate([*self.pieces_of(column, name)])

    def named(self, column: str, name: str) -> None:
        """Refuse the name of a column that does not exist."""
        check_has(self.schema, [column], name)

    def pieces_of(self, column: str, name: str) -> Iterator[np.ndarray]:
        """The values of a column, read piece by piece."""
        self.named(column, name)
        for _, read in self.selected(Fields((column,))).jobs(0, self.n_rows):
            yield _values_of(read().columns.column(0))

    def jobs(self, start: int, stop: int) -> Iterator[Job]:
        for first in range(start, stop, PIECE_ROWS):
            yield first, partial(self._rows, first, min(first + PIECE_ROWS, stop))

    def _rows(self, start: int, stop: int) -> TableRows:
        """The rows in [start, stop) of a table in memory; other subclasses define `jobs` instead."""
        raise NotImplementedError


class ArrowTable(Tables):
    """An Arrow table in memory."""

    def __init__(self, table: Any):
        check_names(table.column_names, "X")
        self._table, self.schema = table, table.schema
        self.n_rows = table.num_rows
        self.nbytes = sum(  # Arrow before 24 has no size of parts of views
            column.get_total_buffer_size() if str(column.type) in VIEWS else column.nbytes for column in table.columns
        )

    def _rows(self, start: int, stop: int) -> TableRows:
        some = self._table.select(self.fields.all).slice(start, stop - start)
        return self.fields.rows(one_batch(some), start)


class FrameTable(Tables):
    """A pandas data frame, whose rows are converted to Arrow in pieces."""

    def __init__(self, frame: Any):
        self._frame, self.schema = frame, schema_of_frame(frame)
        self.n_rows, self.nbytes = len(frame), int(frame.memory_usage(index=False).sum())

    def _rows(self, start: int, stop: int) -> TableRows:
        names, columns = self.fields.all, {str(column): column for column in self._frame.columns}
        frame = self._frame.iloc[start:stop][[columns[name] for name in names]]
        frame.columns = names
        schema = arrow().schema([self.schema.field(name) for name in names])
        return self.fields.rows(batch_of_frame(frame, schema), start)


def schema_of_frame(frame: Any) -> Any:
    """The Arrow schema of a data frame, with column names as strings."""
    pa = arrow()
    names = [str(name) for name in frame.columns]
    check_names(names, "X")
    fields = []
    for j, name in enumerate(names):
        try:
            fields.append(pa.field(name, pa.array(plain_column(frame.iloc[:, j]), from_pandas=True).type))
        except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
            raise_mixed(name, error)
    return pa.schema(fields)


def batch_of_frame(frame: Any, schema: Any) -> Any:
    """Convert rows of a data frame to a record batch."""
    pa = arrow()
    plain = {name: plain_column(column) for name, column in frame.items() if plain_column(column) is not column}
    try:
        frame = frame.assign(**plain) if plain else frame
        table = pa.Table.from_pandas(frame, schema=schema, preserve_index=False)  # Arrow's own columns may be in chunks
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise_mixed(str(getattr(error, "args", [""])[-1]), error)
    return one_batch(table)


def raise_mixed(name: str, error: Exception) -> NoReturn:
    raise TypeError(
        f"X: column {name!r} holds values of several kinds, or of a kind that Arrow lacks ({error}); convert them to "
        "one type, for example with frame[column].astype(str)"
    ) from error


def one_batch(table: Any) -> Any:
    """Convert a table, whose columns may be chunked, to one record batch."""
    pa = arrow()
    return pa.RecordBatch.from_arrays([chunk_of(column) for column in table.columns], schema=table.schema)


def chunk_of(column: Any) -> Any:
    """Convert a column, which may be chunked, to one array."""
    if not isinstance(column, arrow().ChunkedArray):
        return column
    if column.num_chunks == 1:
        return column.chunk(0)
    joined = column.combine_chunks()
    return joined.chunk(0) if isinstance(joined, arrow().ChunkedArray) and joined.num_chunks else joined


def check_names(names: Sequence[str], where: str) -> None:
    """Refuse duplicate column names."""
    if len(set(names)) < len(names):
        twice, _ = Counter(names).most_common(1)[0]
        raise DataError(f"{where} has several columns {twice!r}; names of columns should be unique")


def check_has(schema: Any, names: Sequence[str | None], argument: str, where: str = "X") -> None:
    """Refuse names of columns that do not exist; None names no column."""
    for name in names:
        if name is not None and name not in schema.names:
            raise ValueError(f"{argument}={name!r} is not a column of {where}: {nearest(name, schema.names)}")


class TableSource(RawSource):
    """Rows of `Tables`; see `RawSource`. Groups and fold numbers may be columns of the table, by name."""

    opened_with: tuple[Any, ...] | None = None  # X, y, weight and options, of a table whose columns were learned

    @classmethod
    def of_columns(
        cls,
        tables: Tables,
        kinds: Mapping[str, str | None],
        zones: Mapping[str, str] | None,
        y: Any,
        weight: Any,
        n_threads: int,
        strings_too: bool = True,
    ) -> Self:
        """Rows whose blocks hold these columns of a table; `kinds`, `zones` and `strings_too` as in `Fields`.

        Labels and weights are names of columns, or arrays.
        """
        labels, weights = (name if isinstance(name, str) else None for name in (y, weight))
        for argument, name in (("y", labels), ("weight", weights)):
            check_has(tables.schema, [name], argument)
        features = tuple(name for name in kinds if name in tables.schema.names)
        fields = Fields(features, labels, weights, kinds=kinds, zones=zones, strings_too=strings_too)
        y, weight = (None if isinstance(column, str) else column for column in (y, weight))
        return cls(tables.selected(fields), open_columns(y, weight, tables.n_rows, False), n_threads=n_threads)

    def blocks(self, start: int = 0, stop: int | None = None) -> Iterator[Block]:
        yield from super().blocks(start, stop)
        if self.unknown is not None:
            self.unknown.warn_of_most(self.n_rows)

    def whole_column(self, column: Any, name: str) -> np.ndarray:
        return self.tables.values(column, name) if isinstance(column, str) else super().whole_column(column, name)

    @property
    def tables(self) -> Tables:
        """The table that holds the rows."""
        return cast(Tables, self.raw)


class NumberSource(TableSource):
    """Rows of a table whose columns of numbers are features as they are, in dense blocks."""

    @classmethod
    def of(cls, tables: Tables, names: Sequence[str], y: Any, weight: Any, n_threads: int) -> Self:
        """The rows with the columns of these names, in this order; labels and weights as in `of_columns`."""
        kinds = {name: kind_of(tables.schema.field(name).type) for name in names}
        rows = cls.of_columns(tables, kinds, {}, y, weight, n_threads)
        made = rows.with_step(_stacked, len(names), "numbers of a table", np.array(names, object))
        made.n_values, made.label = tables.n_rows * len(names), y if isinstance(y, str) else None
        return made


def _stacked(rows: TableRows, first_row: int) -> np.ndarray:
    """The columns of a block of a table as a matrix, NaN where values are missing."""
    columns = [column.to_numpy(zero_copy_only=False) for column in rows.columns.columns]
    return np.column_stack([column.astype(np.float64) if column.dtype == object else column for column in columns])
