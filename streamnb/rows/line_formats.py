"""Lines as rows: plain text, JSON or CSV, parsed as texts or as the columns of a table."""

import csv
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import numpy as np

from streamnb.core.messages import DataError, listed
from streamnb.kernels.ngrams import first_new_key
from streamnb.rows.files import CSV, JSON, LINES, pyarrow_for
from streamnb.rows.records import RowsAlone, StoredColumns, StoredLines, bounds_of, line_ends, of_columns
from streamnb.rows.table_columns import BOOLEAN, CATEGORY, DATES, NOTHING, NUMBER, arrow, kind_of, type_in_lines
from streamnb.rows.tables import Fields, check_names, one_batch
from streamnb.rows.texts import Texts

SHOWN = 60  # characters of a wrong value or line in a message
NO_FIELDS = Fields(())


# ---- what a piece of whole lines is parsed as ------------------------------------------------------------------------


@dataclass(frozen=True)
class Format:
    """The format of a file: each row is a line, or a CSV record, whose quoted fields may contain newlines.

    `fields` are read. `types` has all columns of a table, also those `unseen` in the first rows.
    """

    kind: str
    fields: Fields = NO_FIELDS
    names: tuple[str, ...] = ()  # names of all CSV columns
    delimiter: str = ","
    types: dict[str, Any] = field(default_factory=dict)  # Arrow types
    unseen: frozenset[str] = frozenset()
    header: bytes = b""  # the first line of CSV

    def whole_rows(self, text: bytes) -> tuple[int, int]:
        """The number of rows in whole lines, and the end of the last whole line."""
        if self.kind == LINES:
            return text.count(b"\n"), text.rfind(b"\n") + 1
        ends = line_ends(np.frombuffer(text, np.uint8), self.kind)
        if not len(ends):
            return 0, 0
        end = int(ends[-1]) + 1
        return len(bounds_of(text[:end], self.kind)[0]), end

    def last_rows(self, text: bytes) -> int:
        """The number of rows in a last line without an end, 0 or 1."""
        return int(bool(text)) if self.kind == LINES else len(bounds_of(text, self.kind)[0])

    def selected(self, schema: Any, fields: Fields) -> "Format":
        """The format restricted to these columns; integers become floats, because later rows may hold other numbers."""
        pa, types, kinds = arrow(), {}, fields.kinds or {}
        strings = pa.dictionary(pa.int32(), pa.string()) if self.kind == CSV else pa.string()
        for column in schema:
            types[column.name] = strings if kind_of(column.type) in (NOTHING, CATEGORY) else column.type
            if kind_of(column.type) == NOTHING:
                types[column.name] = type_in_lines(kinds.get(column.name)) or strings
            if pa.types.is_integer(column.type) and column.name != fields.y:
                types[column.name] = pa.float64()
        return replace(self, types=types, fields=fields)

    def rows(self, piece: bytes, first_row: int, where: str) -> Any:
        """Parse whole lines: `Texts` or `TableRows`."""
        if self.kind == LINES:
            texts = _lines_of(piece, where)
            return replace(texts, beside=_as_column(texts, where)) if self.fields.lines else texts
        lines = self.stored(piece) if self.fields.lines else None
        if lines is not None and not self.fields.all:
            return RowsAlone(lines)
        batch = one_batch(self.table(piece, self.fields.all, first_row, where))
        rows = self.fields.rows(batch, first_row, where)
        return rows if lines is None else replace(rows, beside=lines)

    def stored(self, piece: bytes) -> StoredLines:
        """Whole lines as they are."""
        if self.kind == LINES:  # where blank lines are rows, too
            texts = _lines_of(piece, "")
            return StoredLines(piece, texts.starts, texts.stops, self.kind)
        return StoredLines(piece, *bounds_of(piece, self.kind), self.kind, self.header, self.delimiter)

    def table(self, piece: bytes, names: Any, first_row: int, where: str) -> Any:
        """Parse columns of whole lines; all columns, with inferred types, if `names` is None."""
        pa = pyarrow_for(self.kind)
        types = self.types if names is None else {name: self.types[name] for name in names if name in self.types}
        if self.kind == JSON and not _begin_as_objects(piece):  # Arrow reads null as an object without fields
            why = self._why(piece, {}, first_row)
            if why:
                raise DataError(f"{where}: {why}")
        try:
            return (self._csv if self.kind == CSV else self._json)(piece, names, types)
        except (pa.ArrowInvalid, pa.ArrowKeyError) as error:
            why = self._why(piece, types, first_row)
            why = why or f"rows from {first_row} on cannot be read as {self.kind}: {error}"
            raise DataError(f"{where}: {why}") from error

    def _csv(self, piece: bytes, names: Any, types: dict[str, Any]) -> Any:
        from pyarrow import BufferReader, csv

        as_written: Any = {} if self.fields.text is None else {"check_utf8": False, "null_values": [""]}
        options = csv.ConvertOptions(include_columns=names, column_types=types, strings_can_be_null=True, **as_written)
        read = csv.ReadOptions(use_threads=False, block_size=len(piece) + 1, column_names=list(self.names))
        parse = csv.ParseOptions(delimiter=self.delimiter, newlines_in_values=True)
        return csv.read_csv(BufferReader(piece), read_options=read, parse_options=parse, convert_options=options)

    def _json(self, piece: bytes, names: Any, types: dict[str, Any]) -> Any:
        """Read numbers as floats, but categories as integers where all are whole: floats would round identifiers."""
        pa, kinds = arrow(), self.fields.kinds or {}
        numbers = [name for name, dtype in types.items() if kinds.get(name, NUMBER) is None and dtype == pa.float64()]
        for whole in (pa.int64(), pa.uint64()) if numbers else ():
            with suppress(pa.ArrowInvalid):
                return _read_json(piece, names, {**types, **dict.fromkeys(numbers, whole)})
        return _read_json(piece, names, types)

    def _why(self, piece: bytes, types: dict[str, Any], first_row: int) -> str | None:
        """A description of the first wrong row, if a value has another type or the row is not JSON."""
        text = self.fields.text
        if self.kind == CSV and text is not None:
            return None
        for row, record in enumerate(self._records(piece), first_row):
            if isinstance(record, str):
                return f"row {row} is {record}"
            for name, dtype in types.items():
                value = record.get(name)
                if value is None or _fits(value, dtype, self.kind):
                    continue
                if text is not None:
                    before = f", those before are of type {dtype}; make them of one type"
                    rest = "; it should be a string" if name == text else before
                    return f"row {row}: field {name!r} is {value!r}{rest}"
                cure = f"; categorical=[{name!r}] reads it as strings" if self.kind == CSV else ""
                if name in (self.fields.y, self.fields.weight):
                    cure = "; write it in one way in all rows"
                return f"row {row} has {name}={str(value)[:SHOWN]!r}, and rows before are of type {dtype}{cure}"
        return None

    def readable(self, piece: bytes) -> bytes:
        """The rows of whole lines that are records, of JSON objects, of CSV with a value in each column."""
        wrong = (any(isinstance(record, str) for record in self._records(line)) for line in self.stored(piece))
        return b"".join(line + b"\n" for line, bad in zip(self.stored(piece), wrong, strict=True) if not bad)

    def grown(self, piece: bytes, infer: "Infer", where: str) -> "Format":
        """The format with the keys that objects of JSON have from this piece on; rows before lack them."""
        if self.kind != JSON or self.fields.text is not None:
            return self
        known = self.types.keys() - self.unseen
        keys, _ = _new_keys(piece, _hashes(frozenset(known)))
        late = [name for name in keys if name not in known]
        if not late:
            return self
        records = (record for record in self._records(piece) if isinstance(record, dict))
        rows = [json.dumps({name: record[name] for name in late if name in record}) for record in records]
        try:
            later, _ = infer("\n".join(rows).encode(), JSON, where)
        except DataError:  # of several types: told with its row where the column is read
            later = replace(self, types=dict.fromkeys(late, arrow().string()), unseen=self.unseen.difference(late))
        return replace(self, types={**self.types, **later.types, **self.types}, unseen=self.unseen & later.unseen)

    def _records(self, piece: bytes) -> Iterator[Any]:
        """Each record as a dict, or what is wrong with it."""
        if self.kind == CSV:
            for record in csv.reader(piece.decode("utf-8", "replace").splitlines(), delimiter=self.delimiter):
                if len(record) == len(self.names):
                    yield {name: value or None for name, value in zip(self.names, record, strict=True)}
                elif record:
                    yield f"of {len(record)} columns, and the first line of {len(self.names)}"
            return
        for line in filter(bytes.strip, piece.split(b"\n")):
            try:
                record = json.loads(line.decode("utf-8", "replace"))
            except ValueError as error:
                yield (
                    f"not JSON ({error}): {_shown(line)}; rows are objects, one a line: of an array, pass the data "
                    "frame that pandas.read_json(path) makes"
                )
                return
            yield record if isinstance(record, dict) else f"not a JSON object: {_shown(line)}"


def _new_keys(piece: bytes, known: np.ndarray) -> tuple[list[str], np.ndarray]:
    """The keys of JSON objects whose hashes are not among the sorted ones, and all hashes."""
    letters, names = np.frombuffer(piece, np.uint8), []
    begin, stop, code = first_new_key(letters, 0, 0, known)
    while begin >= 0:
        known = np.insert(known, np.searchsorted(known, code), code)
        with suppress(ValueError):
            names.append(json.loads(piece[begin - 1 : stop + 1].decode("utf-8", "replace")))
        begin, stop, code = first_new_key(letters, stop + 1, 1, known)
    return list(dict.fromkeys(names)), known


@lru_cache(maxsize=16)
def _hashes(names: frozenset[str]) -> np.ndarray:
    """The sorted hashes of keys, in both ways in which JSON is written."""
    written = [json.dumps(dict.fromkeys(names, 0), ensure_ascii=plain) for plain in (True, False)]
    return _new_keys("\n".join(written).encode("utf-8", "replace"), np.array([], np.int64))[1]


def _read_json(piece: bytes, names: Any, types: dict[str, Any]) -> Any:
    from pyarrow import BufferReader, json, schema

    known = None if names is None and not types else schema(list(types.items()))
    others = "infer" if names is None else "ignore"
    parse = json.ParseOptions(explicit_schema=known, unexpected_field_behavior=others)
    read = json.ReadOptions(use_threads=False, block_size=len(piece) + 1)
    return json.read_json(BufferReader(piece), read_options=read, parse_options=parse)


def _fits(value: Any, dtype: Any, kind: str) -> bool:
    """Whether a value has this type; values of CSV are strings."""
    of = kind_of(dtype)
    if kind == JSON and of not in DATES:
        if arrow().types.is_integer(dtype):
            return type(value) is int and abs(value) < 2**63
        takes: Any = {CATEGORY: str, BOOLEAN: bool, NUMBER: int | float}.get(of or "", object)
        return isinstance(value, takes) and (of in (None, BOOLEAN) or not isinstance(value, bool))
    try:
        if of == NUMBER:
            (int if arrow().types.is_integer(dtype) else float)(value)
        if of in DATES:
            arrow().scalar(str(value)).cast(dtype)
    except (TypeError, ValueError):
        return value in ("NA", "NaN", "null", "nan", "N/A", "NULL", "n/a")  # strings that Arrow reads as missing
    return of != BOOLEAN or value.lower() in ("true", "false", "0", "1")


def _begin_as_objects(piece: bytes) -> bool:
    """Whether each line of JSON begins as an object does."""
    starts, _ = bounds_of(piece, JSON)
    return bool((np.frombuffer(piece, np.uint8)[starts] == ord("{")).all())


def _shown(line: bytes) -> str:
    return repr(line[:SHOWN].decode("utf-8", "replace") + (" .." if len(line) > SHOWN else ""))


def _as_column(texts: Texts, where: str) -> StoredColumns:
    """Lines of text as a column."""
    try:
        return of_columns({"text": [texts.decoded(row) for row in range(texts.shape[0])]})
    except UnicodeDecodeError as error:
        raise DataError(f"{where}: a line is not UTF-8 ({error}); write the file as UTF-8") from error


def _lines_of(piece: bytes, where: str) -> Texts:
    """Split text into lines, without their line endings."""
    buffer = np.frombuffer(piece, np.uint8)
    stops = np.flatnonzero(buffer == 10)
    starts = np.concatenate([[0], stops + 1])
    if starts[-1] < len(buffer):
        stops = np.append(stops, len(buffer))
    starts = starts[: len(stops)]
    returned = (stops > starts) & (buffer[np.maximum(stops - 1, 0)] == 13)
    return Texts(buffer, starts, stops - returned, where=where)


# ---- the format of a file, by its first lines ------------------------------------------------------------------------

# First lines, kind and path: a `Format`, or what cuts and parses rows in its place, and where these begin
Infer = Callable[[bytes, str, str], tuple[Any, int]]


def stored_format(head: bytes, kind: str, where: str) -> tuple[Format, int]:
    """The format of lines of which nothing is read: they are written again as they are."""
    form, begin = _headed(kind, head)
    return replace(form, fields=Fields((), lines=True)), begin


def format_beside(beside: Fields, infer: "Infer", head: bytes, kind: str, where: str) -> tuple[Format, int]:
    """The format that `infer` finds, with the lines, or the columns of these names, beside what is read."""
    if kind != LINES:  # rows that are no records are refused or skipped when they are read
        form, begin = _headed(kind, head)
        head = head[:begin] + form.readable(whole_lines(head[begin:], form))
    form, begin = infer(head, kind, where)
    if beside.beside and kind == LINES:
        raise ValueError(f"keep={list(beside.beside)} names fields, but the lines of {where} have none")
    types = dict(form.types)
    if beside.beside:
        pa, sample = arrow(), whole_lines(head[begin:], form)
        known = form.table(sample, None, 0, where).schema if sample.strip() else pa.schema([])
        for name in beside.beside:
            if kind == CSV and form.names and form.names.count(name) != 1:
                what = "names several columns" if name in form.names else "is no column"
                raise ValueError(f"keep={name!r} {what} of {where}; it has {listed(form.names)}")
            found = known.field(name).type if name in known.names else pa.null()
            types.setdefault(name, pa.string() if pa.types.is_null(found) else found)
    fields = replace(form.fields, beside=beside.beside, lines=beside.lines)
    return replace(form, types=types, fields=fields), begin


def fields_format(fields: Fields, head: bytes, kind: str, where: str) -> tuple[Format, int]:
    """The format of lines from which these columns of a table are read; a column that no row has is missing."""
    form, begin = table_format(fields.kinds or {}, head, kind, where)
    absent = {*fields.features} - form.types.keys()
    if form.types and absent:
        raise ValueError(f"{where} has no column {min(absent)!r}, which the model was fitted on")
    return form.selected(arrow().schema(list(form.types.items())), fields), begin


def text_format(named: dict[str, str | None], labels: str, head: bytes, kind: str, where: str) -> tuple[Format, int]:
    """Infer the format of a file of texts; the names of `text`, `y` and `weight` are None if they are not fields."""
    text, y, weight = named["text"], named["y"], named["weight"]
    if kind == LINES:
        if y or weight or text:
            given = next(f"{name}={value!r}" for name, value in named.items() if value)
            raise ValueError(f"{given} names a field, but the lines of {where} have none; y and weight may be arrays")
        return Format(kind), 0
    if text is None:
        raise ValueError(f"text=None, but {where} is {kind}; name the field that holds the text")
    pa = pyarrow_for(kind)
    types = {text: pa.string(), **({} if weight is None else {weight: pa.float64()})}
    form, begin = _headed(kind, head, ",;\t")
    fields = Fields((text,), y, weight, labels, text=text, null_is_empty=kind == CSV)
    form = replace(form, fields=fields, types=types)
    if kind == JSON:
        return replace(form, types=types | _label_type(head, y, where)), 0
    for name in filter(None, named.values()):
        if form.names and form.names.count(name) != 1:
            what = "is the name of several columns" if name in form.names else "is no column"
            like = " (it looks like JSON)" if head.startswith(b"{") else ""
            raise DataError(f"{where}: {name!r} {what}; it has {listed(form.names)}{like}")
    sample = whole_lines(head[begin:], form)
    if sample.strip() and y is not None:
        found = form.table(sample, form.fields.all, 0, where).schema.field(y).type
        form = replace(form, types=types | {y: pa.string() if pa.types.is_null(found) else found})
    return form, begin


def _label_type(head: bytes, y: str | None, where: str) -> dict[str, Any]:
    """The type of the first label in JSON lines, by its name."""
    pa = pyarrow_for(JSON)
    kinds = {bool: pa.bool_(), int: pa.int64(), float: pa.float64(), str: pa.string()}
    for line in filter(bytes.strip, head.split(b"\n")):
        if not line.lstrip().startswith(b"{"):
            raise DataError(
                f"{where} is not JSON lines, whose lines are objects; it begins with {_shown(line)}; of an array, pass "
                "the data frame that pandas.read_json(path) makes"
            )
        if y is None:
            break
        try:
            row = json.loads(line.decode("utf-8", "replace"))
        except ValueError:  # reported when the line is read
            break
        if y not in row:
            raise DataError(f"{where}: y={y!r} is no field; it has {listed(list(row))}")
        value = row[y]
        if value is not None:
            if type(value) not in kinds or not _fits(value, kinds[type(value)], JSON):
                raise DataError(f"{where}: y={y!r} is {value!r}; labels should be strings or numbers below 2**63")
            return {y: kinds[type(value)]}
    return {} if y is None else {y: pa.string()}


def table_format(kinds: Mapping[str, str | None], head: bytes, kind: str, where: str) -> tuple[Format, int]:
    """Infer the format of a table and the types of its columns; categories of CSV are strings, of JSON no dates."""
    pa = arrow()
    if kind == LINES:
        raise DataError(f"{where} is not a table of a known format; it should be Parquet, Arrow IPC, CSV or JSON lines")
    form, begin = _headed(kind, head)
    check_names(form.names, where)
    sample = whole_lines(head[begin:], form)
    strings = {name for name, of in kinds.items() if of in (None, CATEGORY)}
    form = replace(form, types=dict.fromkeys(strings.intersection(form.names), pa.string()))
    if not sample.strip():
        types = {name: pa.null() for name in (form.names if kind == CSV else kinds)}
        return replace(form, types=types, unseen=frozenset(kinds if kind == JSON else ())), begin
    table = form.table(sample, None, 0, where)
    types = {name: column.type for name, column in zip(table.column_names, table.columns, strict=True)}
    if kind == JSON:
        for name, dtype in types.items():
            if name not in strings:
                types[name] = date_type(table[name]) or dtype
            elif kind_of(dtype) in DATES:
                types[name] = pa.string()
        types = {**dict.fromkeys(kinds, pa.null()), **types}
        form = replace(form, unseen=frozenset(kinds).difference(table.column_names))
    return replace(form, types=types), begin


def date_type(column: Any) -> Any:
    """The date type of JSON strings; None if any is not a date."""
    pa = arrow()
    if kind_of(column.type) != CATEGORY or column.null_count == len(column):
        return None
    for dtype in (pa.timestamp("us"), pa.timestamp("us", "UTC")):
        try:
            column.cast(dtype)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):  # the latter of bytes
            continue
        return dtype
    return None


def _headed(kind: str, head: bytes, delimiters: str = ",;\t|") -> tuple[Format, int]:
    """The format with the CSV column names and the most frequent delimiter, and where the rows begin."""
    if kind != CSV:
        return Format(kind), 0
    end, quotes = -1, 1
    while quotes % 2 and end < len(head):  # a quoted field may go on in the next line
        end = head.find(b"\n", end + 1)
        end = len(head) if end < 0 else end
        quotes = head.count(b'"', 0, end)
    heading = head[:end].rstrip(b"\r\n").decode("utf-8", "replace")
    delimiter = max(delimiters, key=heading.count)
    names = next(csv.reader([heading], delimiter=delimiter), [])
    return Format(CSV, names=tuple(names), delimiter=delimiter, header=head[:end].rstrip(b"\r\n")), end + 1


def whole_lines(sample: bytes, form: Format) -> bytes:
    """The whole rows at the beginning of a sample; all of it if there are none."""
    return sample[: form.whole_rows(sample)[1]] or sample
