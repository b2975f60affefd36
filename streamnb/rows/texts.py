"""A block of UTF-8 texts with the fields beside them, before features are computed."""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from streamnb.core.messages import DataError, listed
from streamnb.rows.boundary import columns_in, made_by
from streamnb.rows.source import Job, RawRows, RawSource

PIECE_BYTES = 1 << 20  # of text in a block; its features take a few times as much
PIECE_ROWS = 1 << 14


@dataclass(frozen=True, slots=True, eq=False)
class Texts:
    """Text i is the bytes buffer[starts[i] : stops[i]]; `y` and `weight` come from the same file."""

    buffer: np.ndarray
    starts: np.ndarray
    stops: np.ndarray
    y: Any = None
    weight: Any = None
    where: str = "X"  # in messages
    beside: Any = None  # the rows as they are stored, where they are to be written again
    numbers: Any = None  # of the rows in their file, where it has more before

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.starts), 1

    @property
    def nbytes(self) -> int:
        return len(self.buffer)

    def picked(self, rows: Any) -> "Texts":
        """The texts in a slice, or with these numbers, counted within this object."""
        y, weight, numbers = (None if part is None else part[rows] for part in (self.y, self.weight, self.numbers))
        beside = None if self.beside is None else self.beside.picked(rows)
        return replace(self, starts=self.starts[rows], stops=self.stops[rows], y=y, weight=weight, beside=beside,
                       numbers=numbers)  # fmt: skip

    __getitem__ = picked

    def raw(self, row: int) -> bytes:
        return self.buffer[self.starts[row] : self.stops[row]].tobytes()

    def decoded(self, row: int, errors: str = "strict") -> str:
        return self.raw(row).decode("utf-8", errors)


def of_parts(parts: Sequence[bytes], **columns: Any) -> Texts:
    """Texts from separate byte strings."""
    stops = np.cumsum([len(part) for part in parts], dtype=np.int64)
    starts = np.concatenate([[0], stops[:-1]]) if len(parts) else stops
    return Texts(np.frombuffer(b"".join(parts), np.uint8), starts, stops, **columns)


def of_strings(values: Any, first_row: int = 0) -> Texts:
    """Texts from strings or UTF-8 bytes."""
    try:
        return of_parts([text if isinstance(text, bytes) else str.encode(text) for text in values])
    except (TypeError, UnicodeEncodeError) as error:
        for row, text in enumerate(values, first_row):
            if not isinstance(text, str | bytes):
                what = "has no text" if text is None or text != text else f"is {text!r}, of type {type(text).__name__}"
                raise TypeError(f"X: row {row} {what}; every row should be a string") from error
        raise ValueError(f"X: a text from row {first_row} on cannot be encoded as UTF-8 ({error})") from error


def of_arrow(column: Any, first_row: int, where: str = "X", none: str | None = None) -> Texts:
    """Texts from an Arrow column; `none` is the error message for a missing text, None makes it empty."""
    import pyarrow as pa

    types = pa.types
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if types.is_dictionary(column.type):
        column = column.dictionary_decode()
    kind = column.type
    if not (types.is_large_string(kind) or types.is_string(kind) or types.is_binary(kind)):
        if not (types.is_large_binary(kind) or types.is_string_view(kind) or types.is_null(kind)):
            raise TypeError(f"{where} has type {kind}; it should hold strings")
        column = column.cast(pa.large_binary())
    if column.null_count and none is not None:
        row = int(np.argmax(column.is_null().to_numpy(zero_copy_only=False)))
        raise DataError(f"{where}: row {first_row + row} {none}")
    width: Any = np.int64 if str(column.type).startswith("large") else np.int32
    _, ends, characters = column.buffers()
    bounds = np.zeros(1, width) if ends is None else np.frombuffer(ends, width)
    bounds = bounds[column.offset : column.offset + len(column) + 1].astype(np.int64)
    buffer = np.empty(0, np.uint8) if characters is None else np.frombuffer(characters, np.uint8)
    return Texts(buffer, bounds[:-1], bounds[1:], where=where)


def column_of(table: Any, column: str, name: str) -> Any:
    """A column of a table; `name` is the argument that names it."""
    names = columns_in(table) or []
    if names.count(column) != 1:
        raise ValueError(f"{name}={column!r} is not a column of X: {listed(names)}")
    return table[column]


class TextsInMemory(RawRows):
    """A list of strings, an array of them, or a column of pandas, Polars or Arrow."""

    no_columns = "X is neither a table nor a file of records"

    def __init__(self, values: Any, table: Any = None):
        self._table = table  # the table that has the values as a column
        if isinstance(values, str | bytes):
            raise TypeError("X is a single string; pass a list of texts, or the path of an existing file")
        if not hasattr(values, "__len__"):
            raise TypeError(f"X is of type {type(values).__name__}; give a list of texts")
        if getattr(values, "ndim", 1) != 1:
            raise ValueError(f"X has shape {values.shape}; texts are a list or an array of one dimension")
        if made_by(values, "polars"):
            values = values.to_arrow()
        elif made_by(values, "pandas") and "pyarrow" in str(getattr(values.dtype, "storage", values.dtype)):
            values = values.array.__arrow_array__()
        elif made_by(values, "pandas"):
            values = values.to_numpy()
        self._values, self.n_rows = values, len(values)
        self._arrow = "pyarrow" in sys.modules and made_by(values, "pyarrow")
        strings = () if self._arrow else (text for text in values if isinstance(text, str | bytes))
        self.nbytes = int(values.nbytes) if self._arrow else sum(map(len, strings))

    def jobs(self, start: int, stop: int) -> Iterator[Job]:
        step = max(1, min(PIECE_ROWS, PIECE_BYTES * self.n_rows // max(self.nbytes, 1)))
        for first in range(start, stop, step):
            some = self._values[first : min(first + step, stop)]
            if self._arrow:
                yield first, partial(of_arrow, some, first, none="has no text; every row should be a string")
            else:
                yield first, partial(of_strings, some, first)

    def column(self, column: str, name: str) -> Any:
        if self._table is None:
            return super().column(column, name)
        return np.asarray(column_of(self._table, column, name))


class TextSource(RawSource):
    """Texts, in `TextsInMemory`, `TextFiles`, `TextFolders` or `SequenceFiles`; see `RawSource`."""

    @property
    def vocabulary(self) -> tuple[str, ...] | None:
        """The n-grams with a column each; None if columns are hashed."""
        return getattr(self._step, "vocabulary", None)
