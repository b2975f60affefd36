"""Columns of a table: what they hold by their types in Arrow, values in one form, and the distinct values of rows."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import lru_cache
from typing import Any, Final, Literal, NamedTuple

import numpy as np

from streamnb.core import persistence
from streamnb.core.messages import DataError
from streamnb.rows.texts import pyarrow_for

NUMBER, CATEGORY, BOOLEAN, NOTHING = "number", "category", "boolean", "nothing"
DATE, INSTANT = "date", "date in a time zone"
DURATION, TIME = "duration", "time of day"
DATES = DATE, INSTANT
MEASURED = NUMBER, DURATION, TIME
TO_BE_CATEGORIES = *MEASURED, CATEGORY, BOOLEAN
_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


def arrow() -> Any:
    """The package, or an error that says how to get it."""
    return pyarrow_for("snb.table")


def kind_of(dtype: Any) -> str | None:
    """What a column of this type of Arrow holds; None of what is nested."""
    types = arrow().types
    if types.is_dictionary(dtype):
        return CATEGORY if kind_of(dtype.value_type) else None
    if types.is_nested(dtype) or isinstance(dtype, arrow().BaseExtensionType):
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
    """Of two types of one kind the one that takes the values of both; dates of files differ in their units."""
    if kind_of(dtype) not in DATES:
        return dtype
    fine = [list(_PER_SECOND).index(one.unit) if arrow().types.is_timestamp(one) else -1 for one in (dtype, other)]
    if fine[1] <= fine[0]:
        return dtype
    return arrow().timestamp(other.unit, getattr(dtype, "tz", None))


def as_known(column: Any, kind: str | None, zone: str | None) -> Any:
    """A column of numbers or dates in the one form of its kind: float64, seconds, instants in this time zone."""
    types = arrow().types
    if types.is_null(column.type):
        return column
    if kind == INSTANT:
        return column.cast(arrow().timestamp(column.type.unit, zone))
    if kind in (DURATION, TIME):
        return _seconds(column)
    if kind == NUMBER and types.is_decimal(column.type):
        return column.cast(arrow().string()).cast(arrow().float64())  # rounded once; Arrow itself rounds twice
    return column


def as_categories(column: Any) -> Any:
    """Values that are neither strings nor whole numbers as strings, each of which is made once.

    7 and 7.0 are the same, and so are 0.1 of all precisions, and durations in all units.
    """
    pa = arrow()
    if not pa.types.is_dictionary(column.type):
        if kind_of(column.type) not in MEASURED or pa.types.is_integer(column.type):
            return column
        column = column.dictionary_encode()
    if kind_of(column.type.value_type) in (CATEGORY, NOTHING):
        return column
    strings = pa.array(_strings(column.dictionary), pa.string())
    joined = pa.DictionaryArray.from_arrays(column.indices, strings)
    return joined if len(strings.unique()) == len(strings) else joined.dictionary_decode().dictionary_encode()


def _seconds(column: Any) -> Any:
    """Durations and times of day in seconds: the same numbers, whatever unit they come in."""
    import pyarrow.compute as pc

    pa, unit = arrow(), _PER_SECOND[column.type.unit]
    whole = column.cast(pa.int32() if pa.types.is_time32(column.type) else pa.int64()).cast(pa.int64())
    seconds = pc.divide(whole, unit)
    rest = pc.subtract(whole, pc.multiply(seconds, unit))
    return pc.add(seconds.cast(pa.float64()), pc.divide(rest.cast(pa.float64()), float(unit)))


def _strings(values: Any) -> list[str | None]:
    """Each of some values as a string; None of what is missing."""
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
        return [None if np.isnan(one) else _of_float(one) for one in values.to_numpy(zero_copy_only=False)]
    return values.cast(pa.string()).to_pylist()


def _of_float(value: Any) -> str:
    """In as few digits as tell it from other numbers of its precision; whole numbers as such where all are exact."""
    whole = float(value).is_integer() and abs(float(value)) <= 1 << 53
    return str(int(value)) if whole else str(value)


def _of_decimal(value: Decimal) -> str:
    """As the float that is written so, if one is."""
    text = _of_float(float(value))
    return text if Decimal(text) == value else f"{value.normalize():f}"


def check_known(given: Any, kind: str | None, name: str, where: str) -> None:
    """Refuse a column of another kind than the one that is known of it."""
    if kind_of(given) not in (*takes(kind), NOTHING):
        raise DataError(f"{where}: column {name!r} is of type {given} here; it should be of kind {kind!r}")


def takes(kind: str | None) -> tuple[str | None, ...]:
    """The kinds that may come for one; None is of what is a category, whatever it holds."""
    return TO_BE_CATEGORIES if kind in (None, NOTHING) else (kind,)


SPAN = 1 << 16  # of whole numbers that are told apart by their place in it
WEEKDAYS = "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"
DatePart = Literal["year", "month", "weekday", "hour"]
DATE_PARTS: tuple[DatePart, ...] = "year", "month", "weekday", "hour"
BETWEEN = "\x1f"  # the values of a pair
LEVEL: Final = "level"
MEASURE: Final = "measure"
WORDS: Final = "words"


@persistence.register
@dataclass(frozen=True)
class ColumnPart(persistence.Parameters):
    """What some columns of the model are made of: a column of the table, a part of its dates, or a pair of columns.

    `role` says how: "level" has an indicator of each value, "measure" is a number, "words" a text.
    """

    columns: tuple[str] | tuple[str, str]
    role: Literal["level", "measure", "words"]
    date_part: DatePart | None = None

    @property
    def label(self) -> str:
        return self.columns[0] if self.date_part is None else f"{self.columns[0]}: {self.date_part}"

    def named(self, value: str) -> str:
        """The name of an indicator."""
        if len(self.columns) == 1:
            return f"{self.label}={value}"
        return ", ".join(f"{name}={one}" for name, one in zip(self.columns, value.split(BETWEEN), strict=True))

    def missing(self) -> str:
        return f"{self.label if len(self.columns) == 1 else ', '.join(self.columns)} is missing"


@dataclass(frozen=True, slots=True, eq=False)
class TableRows:
    """Some rows of a table: `columns`, a record batch of Arrow, with labels and weights of the same table.

    `known` says whether columns are in the one form of what they hold.
    """

    columns: Any
    y: Any = None
    weight: Any = None
    where: str = "X"  # in messages
    known: bool = True

    @property
    def shape(self) -> tuple[int, int]:
        return self.columns.num_rows, self.columns.num_columns

    @property
    def nbytes(self) -> int:
        return int(self.columns.nbytes)

    def __getitem__(self, rows: slice) -> "TableRows":
        y, weight = (None if part is None else part[rows] for part in (self.y, self.weight))
        start, stop, _ = rows.indices(self.shape[0])
        return replace(self, columns=self.columns.slice(start, stop - start), y=y, weight=weight)

    def picked(self, rows: np.ndarray) -> "TableRows":
        """Some of the rows, by their numbers here."""
        y, weight = (None if part is None else part[rows] for part in (self.y, self.weight))
        return replace(self, columns=self.columns.take(arrow().array(rows)), y=y, weight=weight)


class Coded(NamedTuple):
    """Values (n_values,), and of each row the place of its own among them, n_values where it is missing.

    Of numbers they are float64; of categories whatever `strings_of` makes strings of. `codes` is None where row i has
    value i, and NaN is what is missing.
    """

    values: Any
    codes: np.ndarray | None

    def spread(self, of_values: np.ndarray) -> np.ndarray:
        """What each row has, of what each value has and, last, what is missing."""
        return of_values[:-1] if self.codes is None else of_values.take(self.codes)

    def counts(self) -> np.ndarray:
        """How many rows have each value, and how many none."""
        return np.bincount(self.codes, minlength=len(self.values) + 1)  # type: ignore[arg-type]


class Remembered:
    """A function of values that rows which lie near each other mostly share: it is asked only of others than before."""

    def __init__(self, function: Callable[[Any], Any]):
        self._function = function
        self._last: tuple[Any, Any] = None, None

    def __call__(self, values: Any) -> Any:
        last, found = self._last  # several threads may take turns
        if not alike(last, values):
            found = self._function(values)
            self._last = values, found
        return found


def alike(a: Any, b: Any) -> bool:
    """Whether these are the same values; where that would take long to tell, no."""
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        spans = all(isinstance(one, np.ndarray) and one.dtype.kind == "i" for one in (a, b))
        return spans and len(a) == len(b) and bool(a[0] == b[0])
    return a is not None and a.type == b.type and a.equals(b)


def levels_of(part: ColumnPart, rows: TableRows) -> Coded:
    """The values of a category."""
    if len(part.columns) == 2:
        return _pair(*((one, levels_of(one, rows)) for one in (ColumnPart((name,), LEVEL) for name in part.columns)))
    column = rows.columns.column(part.columns[0])
    if part.date_part is not None:
        column = _of_dates(column, part.date_part)
    elif rows.known:
        column = as_categories(column)
    return Coded(*_coded(column))


def numbers_of(part: ColumnPart, rows: TableRows, first_row: int) -> Coded:
    """The values of a number, (n_values,) float64."""
    column = rows.columns.column(part.columns[0])
    types = arrow().types
    if types.is_integer(column.type) or types.is_boolean(column.type):
        values, codes = _coded(column)
        return Coded(np.asarray(values, np.float64), codes)
    if not types.is_floating(column.type):  # of models of 0.2.0, in the unit that they come in
        whole = arrow().int64() if not types.is_decimal(column.type) else arrow().float64()
        column = column.cast(whole, safe=False)
    values = np.asarray(column.to_numpy(zero_copy_only=False), np.float64)
    if np.isinf(values).any():
        row = first_row + int(np.argmax(np.isinf(values)))
        raise DataError(f"{rows.where}: column {part.label!r} is infinite at row {row}; make it a number, or missing")
    return Coded(values, None)


def _coded(column: Any) -> tuple[Any, np.ndarray]:
    """Values of a column, an array of NumPy for whole numbers or else of Arrow, and the places of rows in them."""
    types = arrow().types
    if types.is_boolean(column.type):
        column = column.cast(arrow().int8())
    if types.is_integer(column.type) and column.null_count < len(column):
        found = _in_a_span(column)
        if found is not None:
            return found
    if not types.is_dictionary(column.type):
        column = column.dictionary_encode()
    if column.dictionary.null_count:
        column = column.dictionary_decode().dictionary_encode()
    values, n = column.dictionary, len(column.dictionary)
    codes = column.indices.fill_null(n) if column.null_count else column.indices
    codes = codes.to_numpy(zero_copy_only=False)
    if n > len(codes):  # of a dictionary that other rows share
        used, codes = np.unique(codes, return_inverse=True)
        at_hand = used[used < n]
        values = values.take(arrow().array(at_hand))
    return values, codes


def _in_a_span(column: Any) -> tuple[np.ndarray, np.ndarray] | None:
    """Whole numbers that lie near each other: all that there are between the least and the largest one."""
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
    if date_part == "hour" and arrow().types.is_date(column.type):  # which begin at midnight
        column = column.cast(arrow().timestamp("ms"))
    return function(column)


def _pair(first: tuple[ColumnPart, Coded], second: tuple[ColumnPart, Coded]) -> Coded:
    """Values of both, together; missing where either is."""
    (_, a), (_, b) = first, second
    n_a, n_b = len(a.values), len(b.values)
    assert a.codes is not None and b.codes is not None
    gaps = (a.codes == n_a) | (b.codes == n_b)
    both = np.where(gaps, n_a * n_b, a.codes.astype(np.int64) * n_b + b.codes)
    used, codes = np.unique(both, return_inverse=True)
    used = used[used < n_a * n_b]
    of_a, of_b = (strings_of(part, coded.values) for part, coded in (first, second))
    values = np.array([f"{of_a[k // n_b]}{BETWEEN}{of_b[k % n_b]}" for k in used.tolist()], object)
    return Coded(values, codes)


def strings_of(part: ColumnPart, values: Any) -> np.ndarray:
    """Values of a category as strings, (n_values,) object, the same for a number of any type."""
    if part.date_part == "weekday":
        return np.array(WEEKDAYS, object)[np.asarray(values)]
    if isinstance(values, np.ndarray):
        if values.dtype.kind == "O":  # of a pair
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


def part_of(name: str, kind: str | None) -> ColumnPart:
    """A column by itself, as its kind says."""
    return ColumnPart((name,), MEASURE if kind in MEASURED else LEVEL)


def parts_of_dates(name: str, dtype: Any) -> list[ColumnPart]:
    """The parts of a column of dates, those of days without an hour."""
    parts = DATE_PARTS[:-1] if arrow().types.is_date(dtype) else DATE_PARTS
    return [ColumnPart((name,), LEVEL, part) for part in parts]
