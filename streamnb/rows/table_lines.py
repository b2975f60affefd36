"""CSV and JSON-lines tables, compressed or not, read in pieces."""

import csv
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from streamnb.core.messages import DataError
from streamnb.core.threads import in_order
from streamnb.rows.table_columns import CATEGORY, DATES, NOTHING, arrow, kind_of
from streamnb.rows.table_files import common_schema
from streamnb.rows.tables import Fields, Tables, one_batch
from streamnb.rows.text_files import LineFiles, index_file
from streamnb.rows.text_formats import BOM, CSV, JSON, Format, csv_heading, whole_lines

NO_FIELDS = Fields(())
SHOWN = 60  # characters of a wrong value in a message


@dataclass(frozen=True)
class TableFormat(Format):
    """The format of a table in a file; `types` has all columns, also those `unseen` in the first rows."""

    fields: Fields = NO_FIELDS
    unseen: frozenset[str] = frozenset()

    def selected(self, schema: Any, fields: Fields) -> "TableFormat":
        """The format restricted to these columns; integers become floats, because later rows may hold other numbers."""
        pa, types = arrow(), {}
        strings = pa.dictionary(pa.int32(), pa.string()) if self.kind == CSV else pa.string()
        for field in schema:
            types[field.name] = strings if kind_of(field.type) in (NOTHING, CATEGORY) else field.type
            if pa.types.is_integer(field.type) and field.name != fields.y:
                types[field.name] = pa.float64()
        return replace(self, types=types, fields=fields)

    def texts(self, piece: bytes, first_row: int, where: str) -> Any:
        """Parse whole lines as rows."""
        return self.fields.rows(one_batch(self.table(piece, self.fields.all, first_row, where)), first_row, where)

    def table(self, piece: bytes, names: Any, first_row: int, where: str) -> Any:
        """Parse columns of whole lines; all columns, with inferred types, if `names` is None."""
        pa = arrow()
        types = self.types if names is None else {name: self.types[name] for name in names}
        wrong: list[Any] = []
        try:
            return self._csv(piece, names, types, wrong) if self.kind == CSV else self._json(piece, names, types)
        except (pa.ArrowInvalid, pa.ArrowKeyError) as error:
            rows = f"rows from {first_row} on" if not wrong else _wrong_width(first_row, wrong[0])
            why = self._why(piece, types, first_row) or f"{rows} cannot be read as {self.kind}: {error}"
            raise DataError(f"{where}: {why}") from error

    def _csv(self, piece: bytes, names: Any, types: dict[str, Any], wrong: list[Any]) -> Any:
        def refuse(row: Any) -> str:
            wrong.append(row)
            return "error"

        return self.read_csv(piece, names, types, refuse)

    def _json(self, piece: bytes, names: Any, types: dict[str, Any]) -> Any:
        schema = None if names is None and not types else arrow().schema(list(types.items()))
        return self.read_json(piece, schema, "infer" if names is None else "ignore")

    def _why(self, piece: bytes, types: dict[str, Any], first_row: int) -> str | None:
        """A description of the first wrong row, if a value has another type or the row is not JSON."""
        for row, record in enumerate(self._records(piece), first_row):
            if isinstance(record, str):
                return f"row {row} is {record}"
            for name, dtype in types.items():
                value = record.get(name)
                if value is not None and not _fits(value, dtype):
                    cure = f"; categorical=[{name!r}] reads it as strings" if self.kind == CSV else ""
                    return f"row {row} has {name}={str(value)[:SHOWN]!r}, and rows before are of type {dtype}{cure}"
        return None

    def lacking(self, piece: bytes, names: frozenset[str]) -> frozenset[str]:
        """The names that do not occur in any record."""
        left = set(names)
        for record in self._records(piece) if left else ():
            left.difference_update(record)
            if not left:
                break
        return frozenset(left)

    def _records(self, piece: bytes) -> Iterator[Any]:
        text = piece.decode("utf-8", "replace")
        if self.kind == CSV:
            for record in csv.reader(text.splitlines(), delimiter=self.delimiter):
                if len(record) == len(self.names):
                    yield {name: value or None for name, value in zip(self.names, record, strict=True)}
                elif record:
                    yield f"of {len(record)} columns, and the first line of {len(self.names)}"
            return
        for line in filter(str.strip, text.splitlines()):
            try:
                record = json.loads(line)
            except ValueError as error:
                yield f"not JSON ({error}): {line[:SHOWN]!r}"
                return
            yield record if isinstance(record, dict) else f"not a JSON object: {line[:SHOWN]!r}"


def _wrong_width(first_row: int, row: Any) -> str:
    return f"a row from {first_row} on has {row.actual_columns} columns, and the first line {row.expected_columns}"


def _fits(value: Any, dtype: Any) -> bool:
    """Whether a value from text or JSON has this type."""
    kind = kind_of(dtype)
    try:
        if kind == "number" and (isinstance(value, bool) or float(value) is None):
            return False
        if kind in DATES:
            arrow().scalar(str(value)).cast(dtype)
        if kind == CATEGORY and not isinstance(value, str):
            return False
    except (TypeError, ValueError):
        return value in ("NA", "NaN", "null", "nan", "N/A", "NULL", "n/a")  # strings that Arrow reads as missing
    return kind != "boolean" or isinstance(value, bool) or str(value).lower() in ("true", "false", "0", "1")


class LineTables(LineFiles, Tables):
    """CSV or JSON-lines files, one after the other; columns in `strings` are read as strings."""

    def __init__(self, paths: list[str], n_threads: int, strings: Iterable[str] = ()):
        index = partial(index_file, kind=None, named=frozenset(strings), read=read_table_format)
        LineFiles.__init__(self, list(in_order(index, paths, n_threads)))
        pa = arrow()
        schemas = [(file.path, pa.schema(list(file.form.types.items()))) for file in self._files]
        self.schema = common_schema(schemas)
        self.unseen = self._absent(frozenset.intersection(*(file.form.unseen for file in self._files)))

    def _absent(self, names: frozenset[str]) -> frozenset[str]:
        """Of the names missing in the first rows, those missing in all rows of all files."""
        for piece in (piece for file in self._files if names for _, _, piece in file.pieces(0)):
            if any(json.dumps(name, ensure_ascii=plain).encode() in piece for name in names for plain in (True, False)):
                names = self._files[0].form.lacking(piece, names)
            if not names:
                break
        return names

    def selected(self, fields: Fields) -> "LineTables":
        part = super().selected(fields)
        part._files = [replace(file, form=file.form.selected(self.schema, fields)) for file in self._files]
        return part


def read_table_format(head: bytes, kind: str, strings: frozenset[str], where: str) -> tuple[TableFormat, int]:
    """Infer the format of a file and the types of its columns from the first lines, and where its rows begin."""
    pa = arrow()
    if kind == CSV:
        names, delimiter, begin = csv_heading(head, ",;\t|")
        form = TableFormat(kind, names=tuple(names), delimiter=delimiter)
    elif kind == JSON:
        form, begin = TableFormat(kind), len(BOM) if head.startswith(BOM) else 0
    else:
        raise DataError(f"{where} is not a table of a known format; it should be Parquet, Arrow IPC, CSV or JSON lines")
    sample = whole_lines(head[begin:], form)
    known = {name: pa.string() for name in strings if kind == JSON or name in form.names}
    form = replace(form, types=known)
    if not sample.strip():
        return replace(form, types={name: pa.null() for name in form.names}), begin
    table = form.table(sample, None, 0, where)
    types = {name: column.type for name, column in zip(table.column_names, table.columns, strict=True)}
    if kind == JSON:
        types |= {
            name: dtype for name in types if name not in strings and (dtype := _as_dates(table[name])) is not None
        }
        form = replace(form, unseen=form.lacking(sample, strings))
    return replace(form, types=types), begin


def _as_dates(column: Any) -> Any:
    """The date type of JSON strings; None if any is not a date."""
    pa = arrow()
    if kind_of(column.type) != CATEGORY or column.null_count == len(column):
        return None
    for dtype in (pa.timestamp("us"), pa.timestamp("us", "UTC")):
        try:
            column.cast(dtype)
        except pa.ArrowInvalid:
            continue
        return dtype
    return None
