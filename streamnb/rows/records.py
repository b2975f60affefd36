"""Rows as they are stored, lines of a file or columns of a table, which are written again with scores beside them."""

import csv
import gzip
import io
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import add
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from streamnb.core.messages import DataError
from streamnb.rows.files import CSV, JSON, pyarrow_for

ESCAPED = re.compile(rb"\\u00[2-7]")  # an ASCII letter, which may hide a name
GZIP_LEVEL = 6  # that of the program gzip
GROUP_ROWS, GROUP_BYTES = 1 << 16, 32 << 20  # of a row group of a Parquet file, at most
FieldsBeside = Mapping[str, np.ndarray]


@dataclass(frozen=True, eq=False)
class StoredLines:
    """Rows that are lines of JSON or records of CSV: row i is the bytes piece[starts[i] : stops[i]]."""

    piece: bytes
    starts: np.ndarray
    stops: np.ndarray
    kind: str
    header: bytes = b""  # the first line of CSV
    delimiter: str = ","

    def __len__(self) -> int:
        return len(self.starts)

    def __iter__(self) -> Iterator[bytes]:
        for start, stop in zip(self.starts.tolist(), self.stops.tolist(), strict=True):
            yield self.piece[start:stop]

    def picked(self, rows: Any) -> "StoredLines":
        """The rows in a slice, or where a mask is true."""
        return replace(self, starts=self.starts[rows], stops=self.stops[rows])

    def only(self, names: Sequence[str]) -> "StoredLines":
        """Lines of JSON with these fields alone, null where a row lacks one."""
        try:
            records = map(json.loads, self)
            kept = ({name: record.get(name) for name in names} for record in records)
            lines = [json.dumps(one, ensure_ascii=False, separators=(",", ":")).encode() for one in kept]
        except ValueError as error:
            raise DataError(f"a line is not JSON in UTF-8 ({error})") from error
        stops = np.cumsum([len(line) for line in lines])
        return replace(self, piece=b"".join(lines), starts=np.append(0, stops[:-1]), stops=stops)

    def written(self, beside: FieldsBeside) -> bytes:
        """The rows, with fields after those that they have; no other byte is changed."""
        if not beside:
            return b"".join(line + b"\n" for line in self)
        if self.kind == CSV:
            rows = zip(*(column.tolist() for column in beside.values()), strict=True)
            mark = self.delimiter.encode()
            return b"".join(line + mark + self._record(row) + b"\n" for line, row in zip(self, rows, strict=True))
        values = zip(*(_as_json(column) for column in beside.values()), strict=True)
        names = [json.dumps(name).encode() for name in beside]
        parts = []
        for line, row in zip(self, values, strict=True):
            more = b",".join(name + b":" + value for name, value in zip(names, row, strict=True))
            parts.append(_extended(line, more, names))
        return b"".join(parts)

    def headed(self, beside: FieldsBeside) -> bytes:
        """The first line of CSV with the names of these columns; nothing for JSON."""
        if not self.header:
            return b""
        (names,) = csv.reader([self.header.decode()], delimiter=self.delimiter)
        if beside.keys() & set(names):
            raise _taken(min(beside.keys() & set(names)))
        return self.header + self.delimiter.encode() + self._record(beside) if beside else self.header

    def _record(self, values: Iterable[Any]) -> bytes:
        """Values as a record of CSV; nothing for numbers that are not finite."""
        line = io.StringIO()
        known = ["" if isinstance(one, float) and not math.isfinite(one) else one for one in values]
        csv.writer(line, delimiter=self.delimiter, lineterminator="").writerow(known)
        return line.getvalue().encode()


def _extended(line: bytes, more: bytes, names: list[bytes]) -> bytes:
    """A line of JSON with more fields at its end."""
    body = line.rstrip()[:-1]
    if any(name in body or b"\\" in name for name in names) or ESCAPED.search(body):  # as a field, or in a text
        taken = json.loads(line).keys() & {json.loads(name) for name in names}
        if taken:
            raise _taken(min(taken))
    first = body.endswith(b"{") and not json.loads(line)
    return body + (b"" if first else b",") + more + b"}\n"


def _taken(name: str) -> DataError:
    return DataError(f"the rows have {name!r} already; name the scores otherwise, such as score='p'")


def _as_json(column: np.ndarray) -> Iterator[bytes]:
    """Numbers and strings as JSON, which has null for numbers that are not finite."""
    if column.dtype.kind == "f":
        finite = np.isfinite(column).tolist()
        return (
            repr(one).encode() if is_number else b"null" for one, is_number in zip(column.tolist(), finite, strict=True)
        )
    return (json.dumps(one, ensure_ascii=False).encode() for one in column.tolist())


@dataclass(frozen=True, eq=False)
class StoredColumns:
    """Rows of a table, an Arrow record batch."""

    batch: Any

    def __len__(self) -> int:
        return int(self.batch.num_rows)

    def picked(self, rows: Any) -> "StoredColumns":
        """The rows in a slice, or where a mask is true."""
        if isinstance(rows, slice):
            start, stop, _ = rows.indices(len(self))
            return StoredColumns(self.batch.slice(start, stop - start))
        return StoredColumns(self.batch.filter(pyarrow_for("a table").array(rows)))

    def with_columns(self, beside: FieldsBeside) -> Any:
        """A record batch with more columns after those of the table."""
        self._check_free(beside)
        pa, names = pyarrow_for("a table"), self.batch.schema.names
        columns = [*self.batch.columns, *(pa.array(column) for column in beside.values())]
        return pa.RecordBatch.from_arrays(columns, names=[*names, *beside])

    def _check_free(self, beside: FieldsBeside) -> None:
        """Refuse columns whose names the table has."""
        taken = beside.keys() & set(self.batch.schema.names)
        if taken:
            raise _taken(min(taken))

    def written(self, beside: FieldsBeside) -> bytes:
        """The rows as lines of JSON."""
        self._check_free(beside)
        values = [column.to_pylist() for column in self.batch.columns]
        heads = [json.dumps(name, ensure_ascii=False).encode() + b":" for name in (*self.batch.schema.names, *beside)]
        texts = [(json.dumps(one, ensure_ascii=False, default=str).encode() for one in column) for column in values]
        rows = zip(*texts, *(_as_json(column) for column in beside.values()), strict=True)
        return b"".join(b"{" + b",".join(map(add, heads, row)) + b"}\n" for row in rows)

    def headed(self, beside: FieldsBeside) -> bytes:
        return b""


class RowsAlone(NamedTuple):
    """Rows that are written again without being parsed."""

    beside: Any
    y: None = None
    weight: None = None

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.beside), 0


def of_columns(columns: Mapping[str, Any]) -> StoredColumns:
    """Rows of strings, or of other values that Arrow makes columns of."""
    pa = pyarrow_for("rows with fields")
    return StoredColumns(pa.RecordBatch.from_arrays([pa.array(one) for one in columns.values()], names=list(columns)))


def line_ends(letters: np.ndarray, kind: str) -> np.ndarray:
    """The positions of newlines that end a line; in CSV, a quoted field may go on in the next line."""
    ends = np.flatnonzero(letters == 10)
    if kind == CSV and len(quotes := np.flatnonzero(letters == 34)):
        ends = ends[np.searchsorted(quotes, ends) % 2 == 0]
    return ends


def bounds_of(piece: bytes, kind: str) -> tuple[np.ndarray, np.ndarray]:
    """Where each row of whole lines begins and ends; blank lines of JSON and empty lines of CSV are no rows."""
    letters = np.frombuffer(piece, np.uint8)
    ends = line_ends(letters, kind)
    starts = np.concatenate([np.zeros(1, np.int64), ends + 1])
    stops = np.append(ends, len(piece))
    stops = stops - ((stops > starts) & (letters[stops - 1] == 13)) if len(piece) else stops
    is_row = stops > starts
    if kind == JSON and (letters[starts[is_row]] <= 32).any():
        is_row[is_row] = np.maximum.reduceat(letters, starts[is_row]) > 32
    return starts[is_row], stops[is_row]


# ---- writing ---------------------------------------------------------------------------------------------------------


class LineWriter:
    """Writes rows as lines, packed by zstd or gzip, or as they are."""

    def __init__(self, file: BinaryIO, packing: str | None):
        self._header, self._packed = b"", packing is not None
        self._out: Any = file
        if packing == "gzip":  # Arrow would take its slowest level
            self._out = gzip.GzipFile("", "wb", GZIP_LEVEL, file, mtime=0)
        elif packing is not None:
            self._out = pyarrow_for("packed lines").CompressedOutputStream(_LeftOpen(file), packing)

    def write(self, text: bytes, header: bytes = b"") -> None:
        """Write whole lines; the header of CSV goes before the first."""
        if header != self._header:
            if self._header:
                raise DataError(f"files have the columns {self._header!r} and {header!r}; give files of one table")
            self._header, text = header, header + b"\n" + text
        self._out.write(text)

    def close(self) -> None:
        if self._packed:
            self._out.close()


class _LeftOpen(io.RawIOBase):
    """A file that stays open when what is written to it by is closed."""

    def __init__(self, file: BinaryIO):
        self._file = file

    def writable(self) -> bool:
        return True

    def write(self, part: Any) -> int:
        return self._file.write(part)


class BatchWriter:
    """Writes record batches as a Parquet file."""

    def __init__(self, file: BinaryIO):
        self._file = file
        self._writer: Any = None
        self._waiting: list[Any] = []

    def write(self, batch: Any, header: bytes = b"") -> None:
        import pyarrow.parquet as pq

        if self._writer is None:
            self._writer = pq.ParquetWriter(self._file, batch.schema, compression="zstd")
        if batch.schema != self._writer.schema:
            there = self._writer.schema
            raise DataError(f"rows have the columns {batch.schema} after {there}; give files of one table")
        self._waiting.append(batch)
        n_bytes = sum(one.nbytes for one in self._waiting)
        if sum(one.num_rows for one in self._waiting) >= GROUP_ROWS or n_bytes >= GROUP_BYTES:
            self._flush()

    def _flush(self) -> None:
        table = pyarrow_for("a .parquet file").Table.from_batches(self._waiting, self._writer.schema)
        self._writer.write_table(table, GROUP_ROWS)
        self._waiting = []

    def close(self) -> None:
        if self._writer is not None:
            if self._waiting:
                self._flush()
            self._writer.close()
