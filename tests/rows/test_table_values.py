"""Columns of tables as distinct values and which of them rows have."""

import datetime
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamnb.core.messages import DataError
from streamnb.rows.table_values import (
    BETWEEN,
    LEVEL,
    MEASURE,
    ColumnPart,
    Remembered,
    levels_of,
    numbers_of,
    parts_of_dates,
    strings_of,
)
from streamnb.rows.tables import TableRows

DAY = datetime.datetime(2020, 1, 6, 17, 30)  # a Monday


def rows(**columns):
    return TableRows(pa.RecordBatch.from_pydict(columns))


PLAIN = ColumnPart(("c",), LEVEL)


def spelled(coded, part=PLAIN):
    """The value of each row, None where it is missing."""
    values = [*strings_of(part, coded.values), None]
    return [values[code] for code in coded.codes]


@pytest.mark.parametrize(
    ("column", "strings"),
    [
        (pa.array(["b", None, "a", "b"]), ["b", None, "a", "b"]),
        (pa.array([7, None, -3]), ["7", None, "-3"]),
        (pa.array([1, 1 << 62]), ["1", str(1 << 62)]),
        (pa.array([1.0, 2.5, None]), ["1", "2.5", None]),
        (pa.array([True, None]), ["1", None]),
        (pa.array([None, None], pa.int8()), [None, None]),
        (pa.nulls(2), [None, None]),
        (pa.DictionaryArray.from_arrays(pa.array([0, 1, None]), pa.array(["x", None])), ["x", None, None]),
        (pa.DictionaryArray.from_arrays(pa.array([2, 2]), pa.array(["x", "y", "z"])), ["z", "z"]),
        (pa.array([Decimal("1.50"), Decimal("7.00")]), ["1.5", "7"]),
    ],
    ids=lambda value: str(value)[:20] if isinstance(value, list) else "",
)
def test_values_of_categories_are_strings(column, strings):
    assert spelled(levels_of(ColumnPart(("c",), LEVEL), rows(c=column))) == strings


@settings(max_examples=30, deadline=None)
@given(st.lists(st.one_of(st.none(), st.integers(-40, 40)), min_size=1, max_size=30), st.integers(0, 2))
def test_numbers_are_those_of_the_column(values, at):
    column = [pa.array(values, pa.int64()), pa.array(values, pa.float64()), pa.array(values, pa.int8())][at]
    coded = numbers_of(ColumnPart(("c",), MEASURE), rows(c=column), 0)
    of_rows = coded.spread(np.append(coded.values, np.nan))
    np.testing.assert_array_equal(of_rows, [np.nan if v is None else v for v in values])


def test_numbers_of_other_types():
    part = ColumnPart(("c",), MEASURE)
    for column in (pa.array([Decimal("1.5")]), pa.array([1.5], pa.float32())):
        assert numbers_of(part, rows(c=column), 0).values.tolist() == [1.5]
    assert numbers_of(part, rows(c=pa.array([datetime.timedelta(seconds=2)], pa.duration("s"))), 0).values[0] == 2.0
    with pytest.raises(DataError, match="X: column 'c' is infinite at row 8"):
        numbers_of(part, rows(c=pa.array([1.0, np.inf])), 7)


def test_parts_of_dates():
    stamps = pa.array([DAY, None, datetime.datetime(1, 1, 1), datetime.datetime(9999, 12, 31)], pa.timestamp("us"))
    found = {
        part.date_part: spelled(levels_of(part, rows(t=stamps)), part) for part in parts_of_dates("t", stamps.type)
    }
    assert found == {
        "year": ["2020", None, "1", "9999"],
        "month": ["1", None, "1", "12"],
        "weekday": ["Monday", None, "Monday", "Friday"],
        "hour": ["17", None, "0", "0"],
    }
    assert [part.date_part for part in parts_of_dates("t", pa.date32())] == ["year", "month", "weekday"]
    assert spelled(levels_of(ColumnPart(("t",), LEVEL, "hour"), rows(t=pa.nulls(2)))) == [None, None]


def test_pairs_are_the_values_of_both():
    part = ColumnPart(("a", "b"), LEVEL)
    coded = levels_of(part, rows(a=pa.array(["x", "x", None, "y"]), b=pa.array([1, 2, 1, None])))
    assert spelled(coded) == [f"x{BETWEEN}1", f"x{BETWEEN}2", None, None]
    assert part.named(coded.values[1]) == "a=x, b=2" and part.missing() == "a, b is missing"
    assert ColumnPart(("t",), LEVEL, "month").named("7") == "t: month=7"


def test_what_was_asked_last_is_remembered():
    asked = []
    lengths = Remembered(lambda values: asked.append(values) or len(values))
    for values in (pa.array(["a", "b"]), pa.array(["a", "b"]), pa.array(["a"]), np.arange(3, 5), np.arange(3, 5)):
        assert lengths(values) == len(values)
    assert len(asked) == 3 and lengths(np.array(["a"], object)) == 1 == lengths(np.array(["a"], object))
    assert lengths(np.arange(4, 6)) == 2 and len(asked) == 6
