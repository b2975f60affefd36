"""What columns of a table hold, and the one form in which values of each type come, whatever wrote them."""

from decimal import Decimal
from typing import Any

import numpy as np

from streamnb.core.messages import DataError
from streamnb.rows.text_formats import pyarrow_for

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
