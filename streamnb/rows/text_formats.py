"""Parses plain, JSON and CSV lines into texts and the fields beside them."""

import csv
import json
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from streamnb.core.messages import DataError, listed
from streamnb.kernels.ngrams import count_lines
from streamnb.rows.tables import labels_of, weights_of
from streamnb.rows.texts import Texts, of_arrow, pyarrow_for

LINES, JSON, CSV = "lines", "JSON lines", "CSV"
BOM = b"\xef\xbb\xbf"
ENDINGS = {".jsonl": JSON, ".ndjson": JSON, ".json": JSON, ".csv": CSV, ".tsv": CSV}


@dataclass(frozen=True)
class Format:
    """The format of a file of texts: each row is a line, or a CSV record, whose quoted fields may contain newlines."""

    kind: str
    text: str | None = None  # the field or column of the text, of labels and of weights
    y: str | None = None
    weight: str | None = None
    names: tuple[str, ...] = ()  # names of all CSV columns
    delimiter: str = ","
    types: dict[str, Any] = field(default_factory=dict)  # Arrow types of labels and weights
    labels: str = "y"  # the argument that named the labels, for messages

    @property
    def quoted(self) -> bool:
        return self.kind == CSV

    @property
    def smallest(self) -> int:
        """A line is a row if it has a byte at least this large: not blank in JSON, not empty in CSV."""
        return {LINES: 0, JSON: 33, CSV: 1}[self.kind]

    @property
    def label_fields(self) -> list[str]:
        return [name for name in (self.y, self.weight) if name is not None]

    def texts(self, piece: bytes, first_row: int, where: str) -> Texts:
        """Parse whole lines as texts."""
        if self.kind == LINES:
            return lines_of(piece, where)
        table = self._of_json(piece, first_row, where) if self.kind == JSON else self._of_csv(piece, first_row, where)
        none = f"has no field {self.text!r}" if self.kind == JSON else None
        texts = of_arrow(table[self.text], first_row, where, none)
        y = None if self.y is None else labels_of(table[self.y], f"{self.labels}={self.y!r}", first_row, where)
        weight = None if self.weight is None else weights_of(table[self.weight], self.weight, first_row, where)
        return Texts(texts.buffer, texts.starts, texts.stops, y, weight, where)

    def _of_json(self, piece: bytes, first_row: int, where: str) -> Any:
        pa = pyarrow_for("JSON lines")
        try:
            return self.read_json(piece, pa.schema([(self.text, pa.string()), *self.types.items()]))
        except pa.ArrowInvalid as error:
            self._raise_bad_json(piece, first_row, where, error)

    def _raise_bad_json(self, piece: bytes, first_row: int, where: str, error: Exception) -> None:
        """Raise an error that names the first wrong row and what is wrong with it."""
        rows = (line for line in piece.split(b"\n") if line.strip())
        for row, line in enumerate(rows, first_row):
            try:
                record = json.loads(line.decode("utf-8", "replace"))
            except ValueError as reason:
                raise DataError(f"{where}: row {row} is not JSON ({reason}): {_shown(line)}") from error
            if not isinstance(record, dict):
                raise DataError(f"{where}: row {row} is not a JSON object: {_shown(line)}") from error
            value = record.get(self.text)
            if value is not None and not isinstance(value, str):
                what = f"field {self.text!r} is {value!r}"
                raise DataError(f"{where}: row {row}: {what}; it should be a string") from error
            for name, kind in self.types.items():
                if record.get(name) is not None and not _fits(record[name], kind):
                    what = f"field {name!r} is {record[name]!r}, those before are of type {kind}"
                    raise DataError(f"{where}: row {row}: {what}; make them of one type") from error
        raise DataError(f"{where}: rows from {first_row} on cannot be read as JSON lines: {error}") from error

    def _of_csv(self, piece: bytes, first_row: int, where: str) -> Any:
        pa = pyarrow_for("CSV")
        types = {self.text: pa.string()} | self.types
        try:
            return self.read_csv(piece, [self.text, *self.label_fields], types, check_utf8=False, null_values=[""])
        except pa.ArrowInvalid as error:
            raise DataError(f"{where}: rows from {first_row} on cannot be read as CSV: {error}") from error

    def read_json(self, piece: bytes, schema: Any, others: str = "ignore") -> Any:
        """Parse whole JSON lines as an Arrow table with this schema; `others` is Arrow's rule for other fields."""
        from pyarrow import BufferReader, json

        parse = json.ParseOptions(explicit_schema=schema, unexpected_field_behavior=others)
        read = json.ReadOptions(use_threads=False, block_size=len(piece) + 1)
        return json.read_json(BufferReader(piece), read_options=read, parse_options=parse)

    def read_csv(self, piece: bytes, names: Any, types: Any, refuse: Any = None, **convert: Any) -> Any:
        """Parse whole CSV lines as an Arrow table with these columns and types; all columns if `names` is None."""
        from pyarrow import BufferReader, csv

        options = csv.ConvertOptions(include_columns=names, column_types=types, strings_can_be_null=True, **convert)
        read = csv.ReadOptions(use_threads=False, block_size=len(piece) + 1, column_names=list(self.names))
        parse = csv.ParseOptions(delimiter=self.delimiter, newlines_in_values=True, invalid_row_handler=refuse)
        return csv.read_csv(BufferReader(piece), read_options=read, parse_options=parse, convert_options=options)


def lines_of(piece: bytes, where: str) -> Texts:
    """Split text into lines, without their line endings."""
    buffer = np.frombuffer(piece, np.uint8)
    stops = np.flatnonzero(buffer == 10)
    starts = np.concatenate([[0], stops + 1])
    if starts[-1] < len(buffer):
        stops = np.append(stops, len(buffer))
    starts = starts[: len(stops)]
    returned = (stops > starts) & (buffer[np.maximum(stops - 1, 0)] == 13)
    return Texts(buffer, starts, stops - returned, where=where)


def read_format(head: bytes, kind: str, named: dict[str, str | None], where: str) -> tuple[Format, int]:
    """Infer the format of a file from its first lines, and where its rows begin."""
    if kind == LINES:
        if named["y"] or named["weight"] or named["text"]:
            given = next(f"{name}={value!r}" for name, value in named.items() if value)
            raise ValueError(f"{given} names a field, but the lines of {where} have none; y and weight may be arrays")
        return Format(kind), 0
    if named["text"] is None:
        raise ValueError(f"text=None, but {where} is {kind}; name the field that holds the text")
    if kind == JSON:
        return _of_json_head(head, Format(kind, named["text"], named["y"], named["weight"]), where), 0
    names, delimiter, begin = csv_heading(head, ",;\t")
    for name in filter(None, named.values()):
        if names.count(name) != 1:
            what = "is the name of several columns" if name in names else "is no column"
            like = " (it looks like JSON)" if head.removeprefix(BOM).startswith(b"{") else ""
            raise DataError(f"{where}: {name!r} {what}; it has {listed(np.array(names))}{like}")
    form = Format(kind, named["text"], named["y"], named["weight"], tuple(names), delimiter)
    sample = whole_lines(head[begin:], form)
    return _with_types(form, form._of_csv(sample, 0, where)) if sample.strip() else form, begin


def whole_lines(sample: bytes, form: Format) -> bytes:
    """The whole rows at the beginning of a sample; all of it if there are none."""
    _, end, _ = count_lines(np.frombuffer(sample, np.uint8), form.quoted, form.smallest, False)
    return sample[:end] or sample


def _with_types(form: Format, table: Any) -> Format:
    pa = pyarrow_for(form.kind)
    kinds = {form.y: table.schema.field(form.y).type} if form.y is not None else {}
    kinds = {name: pa.string() if pa.types.is_null(kind) else kind for name, kind in kinds.items()}
    if form.weight is not None:
        kinds[form.weight] = pa.float64()
    return Format(form.kind, form.text, form.y, form.weight, form.names, form.delimiter, kinds)


def _of_json_head(head: bytes, form: Format, where: str) -> Format:
    """The format of JSON lines; the type of labels is that of the first one."""
    pa = pyarrow_for("JSON lines")
    kinds: dict[str, Any] = {} if form.weight is None else {form.weight: pa.float64()}
    for line in filter(bytes.strip, head.split(b"\n")):
        if not line.lstrip(b"\xef\xbb\xbf \t\r").startswith(b"{"):
            raise DataError(f"{where} is not JSON lines, whose lines are objects; it begins with {_shown(line)}")
        if form.y is None:
            break
        try:
            value = json.loads(line.decode("utf-8-sig", "replace")).get(form.y)
        except ValueError:  # reported when the line is read
            break
        if value is not None:
            kinds[form.y] = _type_of(value, form.y, where)
            break
    if form.y is not None:
        kinds.setdefault(form.y, pa.string())
    return Format(form.kind, form.text, form.y, form.weight, types=kinds)


def _type_of(value: Any, name: str, where: str) -> Any:
    pa = pyarrow_for("JSON lines")
    kinds = {bool: pa.bool_(), int: pa.int64(), float: pa.float64(), str: pa.string()}
    if type(value) not in kinds:
        raise DataError(f"{where}: y={name!r} is {value!r}; labels should be strings or numbers")
    return kinds[type(value)]


def _fits(value: Any, kind: Any) -> bool:
    takes = {"string": str, "bool": bool, "int64": int, "double": int | float}[str(kind)]
    return isinstance(value, takes) and isinstance(value, bool) == (str(kind) == "bool")


def csv_heading(head: bytes, delimiters: str) -> tuple[list[str], str, int]:
    """The CSV column names, the most frequent delimiter, and where the rows begin."""
    begin = len(BOM) if head.startswith(BOM) else 0
    first = first_record(head[begin:])
    heading = first.decode("utf-8", "replace")
    delimiter = max(delimiters, key=heading.count)
    begin += len(first) + head[begin + len(first) :].startswith(b"\r") + 1
    return next(csv.reader([heading], delimiter=delimiter), []), delimiter, begin


def first_record(head: bytes) -> bytes:
    """The first line, or several if a quoted field continues."""
    end, quotes = -1, 1
    while quotes % 2:
        end = head.find(b"\n", end + 1)
        if end < 0:
            return head.rstrip(b"\r\n")
        quotes = head.count(b'"', 0, end)
    return head[:end].removesuffix(b"\r")


def _shown(line: bytes) -> str:
    text = line[:60].decode("utf-8", "replace")
    return repr(text + (" .." if len(line) > 60 else ""))
