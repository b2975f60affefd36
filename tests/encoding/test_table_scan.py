"""What one pass learns of the columns of a table."""

import warnings

import numpy as np
import pandas as pd
import pytest

import streamnb as snb
from streamnb.encoding.table_scan import LevelCounts, TableScan
from streamnb.passes.contract import RunOptions
from streamnb.passes.run import run
from streamnb.rows.table_columns import LEVEL, MEASURE, ColumnPart
from streamnb.rows.table_opening import open_tables
from streamnb.rows.tables import TableSource

FRAME = pd.DataFrame({"s": ["a", "b", None, "a"], "i": [3, 1, 3, 2], "x": [0.5, np.nan, 2.5, -1.0]})
PARTS = ColumnPart(("s",), LEVEL), ColumnPart(("i",), MEASURE), ColumnPart(("x",), MEASURE), ColumnPart(("i",), LEVEL)

KINDS = {"s": "category", "i": "number", "x": "number"}


def scanned(most=9, limit=None):
    rows = TableSource.of_columns(open_tables(FRAME, {}, 1), KINDS, {}, None, None, 1)
    return run(TableScan(PARTS, most, limit), rows, RunOptions(False, 1))[0]


def test_values_are_counted():
    counts = scanned()
    levels, whole, real, numbers = counts.of_parts
    assert dict(levels.counts) == {"a": 2, "b": 1} and levels.missing == 1 and counts.n_rows == 4
    assert dict(numbers.counts) == {"3": 2, "1": 1, "2": 1}
    assert whole.features[0].counts.tolist() == [1, 1, 2] and (whole.low[0], whole.high[0]) == (1.0, 3.0)
    assert real.missing.tolist() == [1] and real.features[0].tops()[0] == -1.0


def test_a_column_of_more_values_than_are_counted_keeps_none():
    full = LevelCounts({"a": 1, "b": 1}, 0, 1)
    assert full.full and not full.counts and (LevelCounts({"a": 1}, 2, 1) + LevelCounts({"b": 1}, 1, 1)).full
    assert (full + LevelCounts({"a": 1}, 0, 1)).full and scanned(2).of_parts[3].full
    with pytest.raises(MemoryError, match="the values of 4 columns, counted"):
        scanned(limit=10)


CODES = pd.DataFrame({"code": [7, 8, 9] * 20, "n": np.arange(60) % 5, "y": [0, 1, 1] * 20})
MODEL = snb.LinearNB("auto").fit(snb.table(CODES, "y", categorical=["code"]))


def said(model, X):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.predict(X)
    return [str(one.message) for one in caught if issubclass(one.category, snb.StreamnbWarning)]


def with_codes(codes):
    return CODES.assign(code=pd.Series(codes).astype("string"))


def test_codes_that_are_written_otherwise_are_others_and_told_once():
    found = said(MODEL, with_codes(["07", "08", "9"] * 20))
    assert len(found) == 1
    assert found[0].startswith("X: 40 of 60 values of 'code' were not seen at fit, such as '07', and have")
    assert found[0].endswith("the fitted values are ['7', '8', '9']")
    many = pd.concat([with_codes(["07"] * 60)] * 2000)
    assert said(MODEL, many) == [found[0].replace("40 of 60", "120,000 of 120,000")]


@pytest.mark.parametrize("codes", [["07", "7"] * 30, ["07", "7", None] * 20, [None] * 60, [7.0, 8.0, 9.0] * 20])
def test_half_of_the_values_and_those_that_are_missing_are_none_of_them(codes):
    assert not said(MODEL, with_codes(codes) if isinstance(codes[0], str | None) else CODES.assign(code=codes))


def test_values_that_are_rare_or_hashed_have_a_column():
    fitted, strange = CODES.assign(code=[5, *CODES["code"][1:]]), CODES.assign(code=-CODES["code"])
    for options in ({"categorical": ["code"], "min_count": 2}, {"hashed": ["code"], "hash_features": 16}):
        assert not said(snb.LinearNB("auto").fit(snb.table(fitted, "y", **options)), strange)
    rows = snb.table(CODES, "y", categorical=["code"], pairs=[("code", "n")])
    assert len(said(snb.LinearNB("auto").fit(rows), strange)) == 1  # nothing of the pairs


def test_new_values_of_columns_that_often_have_new_ones_are_usual():
    rows = CODES.assign(code=[f"r{i}" if i % 4 else "usual" for i in range(60)])
    model = snb.LinearNB("auto").fit(snb.table(rows, "y", categorical=["code"]))
    others = rows.assign(code=[f"s{i}" if i % 4 else "usual" for i in range(60)])
    assert not said(model, others)
    assert said(model, others.assign(code="strange"))[0].startswith("X: 60 of 60 values of 'code' were not seen at fit")


def test_years_to_come_are_unknown():
    frame = CODES.assign(day=pd.date_range("2022-06-01", periods=60, freq="10D"))
    model = snb.LinearNB("auto").fit(frame, "y")
    assert not said(model, frame)
    found = said(model, frame.assign(day=frame["day"] + pd.Timedelta("3650D")))
    assert len(found) == 1 and "of 'day: year' were not seen at fit" in found[0]
