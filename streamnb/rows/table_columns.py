"""Columns of Arrow tables: their kinds, a uniform representation of each kind, and the distinct values of rows.

Small files are read here by Arrow alone, so that a process that scores a few rows starts quickly.
"""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

import numpy as np

from streamnb.core import persistence
from streamnb.core.messages import DataError
from streamnb.rows.files import CSV, ENDINGS, JSON, PARQUET, pyarrow_for

NUMBER, CATEGORY, BOOLEAN, NOTHING = "number", "category", "boolean", "nothing"
DATE, INSTANT = "date", "date in a time zone"
DURATION, TIME = "duration", "time of day"
DATES = DATE, INSTANT
MEASURED = NUMBER, DURATION, TIME
TO_BE_CATEGORIES = *MEASURED, CATEGORY, BOOLEAN
WRITTEN = r"^(-?(0|[1-9][0-9]{0,15})\.0+|true|True|TRUE|false|False|FALSE)$"  # numbers and booleans as texts have them
_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


def arrow() -> Any:
    """Import pyarrow, or say how to install it."""
    return pyarrow_for("snb.table")


def kind_of(dtype: Any) -> str | None:
    """The kind of a column with this Arrow type; None if it is nested, or of months and days."""
    types = arrow().types
    if types.is_dictionary(dtype):
        return CATEGORY if kind_of(dtype.value_type) else None
    if types.is_run_end_encoded(dtype):
        return kind_of(dtype.value_type)
    if isinstance(dtype, arrow().BaseExtensionType):  # Arrow's own, of JSON, UUIDs and bytes that are true or false
        return kind_of(dtype.storage_type) if dtype.extension_name.startswith("arrow.") else None
    if types.is_nested(dtype) or types.is_interval(dtype):
        return None
    if types.is_timestamp(dtype):
        return DATE if dtype.tz is None else INSTANT
    kinds = {
        NOTHING: (types.is_null,),
        BOOLEAN: (types.is_boolean,),
        DATE: (types.is_date,),
        DURATION: (types.is_duration,),
        TIME: (types.is_time,),
        NUMBER: (types.is_integer, types.is_floating, types.is_decimal),
    }
    return next((kind for kind, fits in kinds.items() if any(one(dtype) for one in fits)), CATEGORY)


def zones_of(schema: Any) -> dict[str, str]:
    """The time zone of each column that has one."""
    return {field.name: str(field.type.tz) for field in schema if kind_of(field.type) == INSTANT}


def wider(dtype: Any, other: Any) -> Any:
    """Of two types of one kind, the one that can hold the values of both; files may differ in the unit of dates."""
    if kind_of(dtype) not in DATES:
        return dtype
    fine = [list(_PER_SECOND).index(one.unit) if arrow().types.is_timestamp(one) else -1 for one in (dtype, other)]
    if fine[1] <= fine[0]:
        return dtype
    return arrow().timestamp(other.unit, getattr(dtype, "tz", None))


def as_known(column: Any, kind: str | None, zone: str | None) -> Any:
    """Convert a column to the uniform representation of its kind: float64, seconds, or instants in this time zone."""
    types = arrow().types
    if types.is_null(column.type):
        return column
    if kind == INSTANT:
        return column.cast(arrow().timestamp(column.type.unit, zone))
    if kind in (DURATION, TIME):
        return _seconds(column)
    if kind == NUMBER and types.is_boolean(column.type):
        return column.cast(arrow().uint8())
    if kind == NUMBER and types.is_decimal(column.type):
        return column.cast(arrow().string()).cast(arrow().float64())  # rounded once; Arrow itself rounds twice
    return column


def as_categories(column: Any, strings_too: bool) -> Any:
    """Convert values that are no integers to strings, each distinct value once; `strings_too` says whether strings.

    7 and 7.0 are the same, and so are 0.1 in every precision, durations in every unit, and the strings True and 1.
    """
    pa = arrow()
    if not pa.types.is_dictionary(column.type):
        if kind_of(column.type) not in (*MEASURED, CATEGORY) or pa.types.is_integer(column.type):
            return column
        half = pa.types.is_float16(column.type)  # of which Arrow before 24 makes no dictionaries
        column = (column.view(pa.uint16()) if half else column).dictionary_encode()
        if half:
            column = pa.DictionaryArray.from_arrays(column.indices, column.dictionary.view(pa.float16()))
    kind = kind_of(column.type.value_type)
    if kind == NOTHING or (kind == CATEGORY and not (strings_too and _any_written(column.dictionary))):
        return column
    strings = pa.array(_strings(column.dictionary), pa.string())
    joined = pa.DictionaryArray.from_arrays(column.indices, strings)
    return joined if len(strings.unique()) == len(strings) else joined.dictionary_decode().dictionary_encode()


def _as_text(column: Any, where: str) -> Any:
    """A column of bytes as strings; any other column as it is."""
    pa, kind = arrow(), getattr(column.type, "value_type", column.type)
    if not (pa.types.is_binary(kind) or pa.types.is_large_binary(kind)):
        return column
    try:
        return column.cast(pa.string())
    except pa.ArrowInvalid as error:
        raise DataError(
            f"{where} holds bytes that are no text in UTF-8; leave it out with columns=, or make strings of it, such "
            "as value.hex()"
        ) from error


def _any_written(strings: Any) -> bool:
    import pyarrow.compute as pc

    return pc.any(pc.match_substring_regex(strings, WRITTEN)).as_py() is True


def from_text(text: str | None) -> str | None:
    """A number or boolean that is written as text, as it is written elsewhere; any other text as it is."""
    if text is None or not re.match(WRITTEN, text):
        return text
    return str(int(text.partition(".")[0])) if "." in text else str(int(text.lower() == "true"))


def _seconds(column: Any) -> Any:
    """Durations and times of day in seconds, the same numbers whatever their unit."""
    import pyarrow.compute as pc

    pa, unit = arrow(), _PER_SECOND[column.type.unit]
    whole = column.cast(pa.int32() if pa.types.is_time32(column.type) else pa.int64()).cast(pa.int64())
    seconds = pc.divide(whole, unit)
    rest = pc.subtract(whole, pc.multiply(seconds, unit))
    return pc.add(seconds.cast(pa.float64()), pc.divide(rest.cast(pa.float64()), float(unit)))


def _strings(values: Any) -> list[str | None]:
    """Each value as a string; None if it is missing."""
    pa, kind = arrow(), kind_of(values.type)
    if kind == BOOLEAN:
        values = values.cast(pa.int8())
    if kind in DATES:
        values = values.cast(pa.timestamp("us", "UTC" if kind == INSTANT else None), safe=False)
    if kind in (DURATION, TIME):
        values = _seconds(values)
    if pa.types.is_decimal(values.type):
        return [None if one is None else _of_decimal(one) for one in values.to_pylist()]
    if pa.types.is_floating(values.type):
        return [None if np.isnan(one) else of_float(one) for one in values.to_numpy(zero_copy_only=False)]
    return list(map(from_text, values.cast(pa.string()).to_pylist()))


def of_float(value: Any) -> str:
    """The shortest representation that is unique in its precision; whole numbers up to 2^53 without a point."""
    whole = float(value).is_integer() and abs(float(value)) <= 1 << 53
    return str(int(value)) if whole else str(value)


def _of_decimal(value: Decimal) -> str:
    """The representation of the equal float, if there is one."""
    text = of_float(float(value))
    return text if Decimal(text) == value else f"{value.normalize():f}"


def takes(kind: str | None) -> tuple[str | None, ...]:
    """The kinds accepted for a column of this kind; None stands for a category of any type."""
    if kind == NUMBER:
        return NUMBER, BOOLEAN  # as 1 and 0
    if kind in (CATEGORY, BOOLEAN):
        return NUMBER, BOOLEAN, CATEGORY
    return TO_BE_CATEGORIES if kind in (None, NOTHING) else (kind,)


def is_empty(column: Any) -> bool:
    """Whether no row has a value, so that the type says nothing: pandas has NaN for missing values of any kind."""
    if column.null_count == len(column):
        return True
    return arrow().types.is_floating(column.type) and bool(np.isnan(column.to_numpy(zero_copy_only=False)).all())


def are_whole(column: Any) -> bool:
    """Whether all numbers are whole, of whatever type they are."""
    return not np.nansum(np.asarray(column.to_numpy(zero_copy_only=False), np.float64) % 1.0)


def type_in_lines(kind: str | None) -> Any:
    """The Arrow type with which values of a known kind are read from lines; None for strings."""
    pa = arrow()
    types = {NUMBER: pa.float64(), BOOLEAN: pa.bool_(), DATE: pa.timestamp("us"), TIME: pa.time64("us")}
    types[INSTANT] = pa.timestamp("us", "UTC")
    return types.get(kind or CATEGORY)


SPAN = 1 << 16  # integers within this range are coded by their offset
WEEKDAYS = "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"
DatePart = Literal["year", "month", "weekday", "hour"]
DATE_PARTS: tuple[DatePart, ...] = "year", "month", "weekday", "hour"
PAIR_SEPARATOR = "\x1f"
LEVEL: Final = "level"
MEASURE: Final = "measure"
WORDS: Final = "words"


@persistence.register
@dataclass(frozen=True)
class ColumnPart(persistence.Parameters):
    """The origin of some columns of the model: a column of the table, a part of its dates, or a pair of columns.

    `role` says how they are encoded: "level" as an indicator of each value, "measure" as a number, "words" as a text.
    """

    columns: tuple[str] | tuple[str, str]
    role: Literal["level", "measure", "words"]
    date_part: DatePart | None = None

    @property
    def label(self) -> str:
        return self.columns[0] if self.date_part is None else f"{self.columns[0]}: {self.date_part}"

    def named(self, value: str) -> str:
        """The name of the indicator of a value."""
        if len(self.columns) == 1:
            return f"{self.label}={value}"
        return ", ".join(f"{name}={one}" for name, one in zip(self.columns, value.split(PAIR_SEPARATOR), strict=True))

    def missing(self) -> str:
        return f"{self.label if len(self.columns) == 1 else ', '.join(self.columns)} is missing"


@dataclass(frozen=True, slots=True, eq=False)
class TableRows:
    """Rows of a table: `columns`, an Arrow record batch, with labels and weights from the same table.

    `known` says whether columns are in the uniform representation of their kind, and `strings_too` whether strings are.
    """

    columns: Any
    y: Any = None
    weight: Any = None
    where: str = "X"  # in messages
    known: bool = True
    strings_too: bool = True
    beside: Any = None  # the rows as they are stored, where they are to be written again

    @property
    def shape(self) -> tuple[int, int]:
        return self.columns.num_rows, self.columns.num_columns

    @property
    def nbytes(self) -> int:
        return int(self.columns.nbytes)

    def picked(self, rows: Any) -> "TableRows":
        """The rows in a slice, or with these numbers, counted within this object."""
        if isinstance(rows, slice):
            start, stop, _ = rows.indices(self.shape[0])
            columns = self.columns.slice(start, stop - start)
        else:
            columns = self.columns.take(arrow().array(rows))
        y, weight = (None if part is None else part[rows] for part in (self.y, self.weight))
        beside = None if self.beside is None else self.beside.picked(rows)
        return replace(self, columns=columns, y=y, weight=weight, beside=beside)

    __getitem__ = picked


class Coded(NamedTuple):
    """Distinct values, (n_values,), and for each row the index of its value, n_values if it is missing.

    Values of numbers are float64; of categories, anything that `strings_of` accepts. `codes` is None if row i has
    value i; NaN is then a missing value.
    """

    values: Any
    codes: np.ndarray | None

    def spread(self, of_values: np.ndarray) -> np.ndarray:
        """Spread an array with an entry for each value and, last, for missing ones to the rows."""
        return of_values[:-1] if self.codes is None else of_values.take(self.codes)

    def counts(self, copies: np.ndarray | None = None) -> np.ndarray:
        """The number of rows with each value and, last, of rows with none; each row counts as so many copies."""
        counts = np.bincount(self.codes, copies, minlength=len(self.values) + 1)  # type: ignore[arg-type]
        return counts.astype(np.int64)


class CachedCall:
    """Calls a function of distinct values only if they differ from the last ones; neighbouring blocks mostly agree."""

    def __init__(self, function: Callable[[Any], Any]):
        self._function = function
        self._last: tuple[Any, Any] = None, None

    def __call__(self, values: Any) -> Any:
        last, found = self._last  # read once: other threads may replace it
        if not same_values(last, values):
            found = self._function(values)
            self._last = values, found
        return found


def same_values(a: Any, b: Any) -> bool:
    """Whether two arrays of values are known to be equal; False if that would take long to find out."""
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        spans = all(isinstance(one, np.ndarray) and one.dtype.kind == "i" for one in (a, b))
        return spans and len(a) == len(b) and bool(a[0] == b[0])
    return a is not None and a.type == b.type and a.equals(b)


def levels_of(part: ColumnPart, rows: TableRows) -> Coded:
    """The distinct values of a category."""
    if len(part.columns) == 2:
        return _pair(*((one, levels_of(one, rows)) for one in (ColumnPart((name,), LEVEL) for name in part.columns)))
    column = rows.columns.column(part.columns[0])
    if part.date_part is not None:
        column = _of_dates(column, part.date_part)
    elif rows.known:
        column = _as_text(column, f"{rows.where}: column {part.label!r}")
        column = as_categories(column, rows.strings_too)
    return Coded(*_coded(column))


def numbers_of(part: ColumnPart, rows: TableRows, first_row: int) -> Coded:
    """The distinct values of a number, (n_values,) float64."""
    column = rows.columns.column(part.columns[0])
    types = arrow().types
    if types.is_integer(column.type) or types.is_boolean(column.type):
        values, codes = _coded(column)
        return Coded(np.asarray(values, np.float64), codes)
    if not types.is_floating(column.type):  # models of 0.2.0 take numbers in the unit of the file
        whole = arrow().int64() if not types.is_decimal(column.type) else arrow().float64()
        column = column.cast(whole, safe=False)
    values = np.asarray(column.to_numpy(zero_copy_only=False), np.float64)
    if np.isinf(values).any():
        row = first_row + int(np.argmax(np.isinf(values)))
        raise DataError(f"{rows.where}: column {part.label!r} is infinite at row {row}; make it finite, or missing")
    return Coded(values, None)


def _coded(column: Any) -> tuple[Any, np.ndarray]:
    """The distinct values of a column, a NumPy array for integers, else of Arrow, and the index of each row's value."""
    types = arrow().types
    if types.is_boolean(column.type):
        column = column.cast(arrow().int8())
    if types.is_integer(column.type) and column.null_count < len(column):
        found = _coded_by_offset(column)
        if found is not None:
            return found
    if not types.is_dictionary(column.type):
        column = column.dictionary_encode()
    if column.dictionary.null_count:
        column = column.dictionary_decode().dictionary_encode()
    values, n = column.dictionary, len(column.dictionary)
    codes = column.indices.fill_null(n) if column.null_count else column.indices
    codes = codes.to_numpy(zero_copy_only=False)
    if n > len(codes):  # a dictionary shared with other rows
        used, codes = np.unique(codes, return_inverse=True)
        occurring = used[used < n]
        values = values.take(arrow().array(occurring))
    return values, codes


def _coded_by_offset(column: Any) -> tuple[np.ndarray, np.ndarray] | None:
    """Code integers within a small range: the values are all integers between the smallest and the largest."""
    import pyarrow.compute as pc

    ends = pc.min_max(column)
    low, high = ends["min"].as_py(), ends["max"].as_py()
    if high - low >= SPAN or abs(low) > 1 << 53 or abs(high) > 1 << 53:
        return None
    n = high - low + 1
    filled = column.fill_null(low) if column.null_count else column
    codes = filled.to_numpy(zero_copy_only=False).astype(np.int64) - low
    if column.null_count:
        codes[np.asarray(column.is_null())] = n
    return np.arange(low, high + 1), codes


def _of_dates(column: Any, date_part: str) -> Any:
    import pyarrow.compute as pc

    function = {"year": pc.year, "month": pc.month, "weekday": pc.day_of_week, "hour": pc.hour}[date_part]
    if kind_of(column.type) == NOTHING:
        return column.cast(arrow().int64())
    if date_part == "hour" and arrow().types.is_date(column.type):  # they begin at midnight
        column = column.cast(arrow().timestamp("ms"))
    return function(column)


def _pair(first: tuple[ColumnPart, Coded], second: tuple[ColumnPart, Coded]) -> Coded:
    """The distinct pairs of values; missing if either value is."""
    (_, a), (_, b) = first, second
    n_a, n_b = len(a.values), len(b.values)
    assert a.codes is not None and b.codes is not None
    gaps = (a.codes == n_a) | (b.codes == n_b)
    both = np.where(gaps, n_a * n_b, a.codes.astype(np.int64) * n_b + b.codes)
    used, codes = np.unique(both, return_inverse=True)
    used = used[used < n_a * n_b]
    of_a, of_b = (strings_of(part, coded.values) for part, coded in (first, second))
    values = np.array([f"{of_a[k // n_b]}{PAIR_SEPARATOR}{of_b[k % n_b]}" for k in used.tolist()], object)
    return Coded(values, codes)


def strings_of(part: ColumnPart, values: Any) -> np.ndarray:
    """Values of a category as strings, (n_values,) object; equal numbers of different types give the same string."""
    if part.date_part == "weekday":
        return np.array(WEEKDAYS, object)[np.asarray(values)]
    if isinstance(values, np.ndarray):
        if values.dtype.kind == "O":  # values of a pair
            return values
        return _span_strings(int(values[0]), len(values)) if len(values) else np.empty(0, object)
    if arrow().types.is_floating(values.type):
        found = [str(int(v)) if v == int(v) and abs(v) < 1e15 else repr(v) for v in values.to_pylist()]
    else:
        found = values.cast(arrow().string()).to_pylist()
    out = np.empty(len(found), object)
    out[:] = found
    return out


@lru_cache(64)
def _span_strings(low: int, n: int) -> np.ndarray:
    out = np.empty(n, object)
    out[:] = [str(value) for value in range(low, low + n)]
    return out


def parts_of_dates(name: str, dtype: Any) -> list[ColumnPart]:
    """The parts of a column of dates; those without a time of day have no hour."""
    parts = DATE_PARTS[:-1] if arrow().types.is_date(dtype) else DATE_PARTS
    return [ColumnPart((name,), LEVEL, part) for part in parts]


# ---- small files -----------------------------------------------------------------------------------------------------

SMALL = 1 << 22  # bytes
DELIMITERS = ",;\t|"


def read_small(path: Any, kinds: Mapping[str, str | None], most_rows: int) -> Any:
    """An Arrow table with columns of these kinds, or the records of JSON lines.

    None for a file that is large, not here, or of another format, and where anything is wrong with it: whoever reads
    large files tells what.
    """
    file = Path(path)
    form = ENDINGS.get(file.suffix)
    try:
        if form not in (PARQUET, CSV, JSON) or file.stat().st_size > SMALL:
            return None
        if form == JSON:
            return [json.loads(line) for line in file.read_text("utf-8").split("\n") if line.strip()]
        return _parquet(file, [*kinds], most_rows) if form == PARQUET else _csv(file, kinds)
    except (OSError, ValueError, LookupError, NotImplementedError):
        return None


def _parquet(file: Path, names: list[str], most_rows: int) -> Any:
    pyarrow_for("a .parquet file")
    import pyarrow.parquet as pq

    parquet = pq.ParquetFile(file, coerce_int96_timestamp_unit="us")
    return parquet.read(names) if parquet.metadata.num_rows <= most_rows else None


def _csv(file: Path, kinds: Mapping[str, str | None]) -> Any:
    pyarrow_for("a .csv file")
    from pyarrow import csv

    if not {*kinds.values()} <= {NUMBER, BOOLEAN, CATEGORY, DATE}:
        return None
    with file.open(encoding="utf-8") as lines:
        heading = lines.readline()
    types = {name: type_in_lines(kind) or "string" for name, kind in kinds.items()}
    convert = csv.ConvertOptions(include_columns=[*kinds], column_types=types, strings_can_be_null=True)
    parse = csv.ParseOptions(delimiter=max(DELIMITERS, key=heading.count), newlines_in_values=True)
    return csv.read_csv(file, parse_options=parse, convert_options=convert)
