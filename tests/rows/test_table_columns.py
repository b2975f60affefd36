"""Values of every type in one form: whatever wrote a column, a model gives the same scores, or says why it does not."""

import datetime
import uuid
from decimal import Decimal
from itertools import cycle, pairwise

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

import streamnb as snb
from streamnb.rows.table_columns import (
    LEVEL,
    MEASURE,
    ColumnPart,
    TableRows,
    as_known,
    levels_of,
    numbers_of,
    parts_of_dates,
    strings_of,
)

N = 120
rng = np.random.default_rng(0)
SECONDS = rng.integers(0, 24, N) * 3599
CENTS = rng.integers(0, 500, N) / 100
DECIMALS = pa.array(CENTS).cast(pa.decimal128(12, 2))
DAYS = np.datetime64("2023-12-20") + rng.integers(0, 40, N)
Y = (SECONDS + rng.integers(0, 20_000, N) > 50_000).astype(int)
PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
WHOLE = "int16", "uint64", "float32", "float64", pa.decimal128(20, 0), pa.decimal128(21, 2)


def moments(unit, zone=None):
    return pa.array((DAYS + SECONDS.astype("m8[s]")).astype(f"M8[{unit}]")).cast(pa.timestamp(unit, zone))


def time_of_day(unit):
    whole, dtype = pa.array(SECONDS * PER_SECOND[unit]), pa.time32 if unit in ("s", "ms") else pa.time64
    return whole.cast("int32" if dtype is pa.time32 else "int64").cast(dtype(unit))


FORMS = {
    "durations": [pa.array(SECONDS * k).cast(pa.duration(unit)) for unit, k in PER_SECOND.items()],
    "times of day": [time_of_day(unit) for unit in PER_SECOND],
    "days": [
        *(pa.array(DAYS).cast(dtype) for dtype in (pa.date32(), pa.date64())),
        *(pa.array(DAYS.astype(f"M8[{unit}]")) for unit in PER_SECOND),
    ],
    "moments": [moments(unit) for unit in PER_SECOND],
    "instants": [moments("us", "Europe/Berlin"), moments("s", "UTC"), moments("ns", "America/New_York")],
    "numbers": [pa.array(CENTS), *(DECIMALS.cast(pa.decimal256(40, scale)) for scale in (2, 5))],
    "numbers of two precisions": [pa.array(CENTS), pa.array(CENTS.astype("f4"))],
    "whole numbers": [pa.array(SECONDS % 500).cast(dtype) for dtype in WHOLE],
}
AS = {"as they are": {}, "as categories": {"categorical": ["a"]}}


def model_of(X, options):
    return snb.LinearNB("auto").fit(snb.table(X, "y", **options))


def scores(model, column):
    return model.decision_function(pa.table({"a": column}))


@pytest.mark.parametrize("options", AS.values(), ids=AS)
@pytest.mark.parametrize("forms", FORMS.values(), ids=FORMS)
def test_scores_do_not_depend_on_the_type_that_values_come_in(forms, options):
    for fitted in forms[0], forms[-1]:
        model = model_of(pa.table({"a": fitted, "y": Y}), options)
        expected = scores(model, fitted)
        assert len(np.unique(expected)) > 3
        for column in forms:
            np.testing.assert_array_equal(scores(model, column), expected, err_msg=f"{column.type} for {fitted.type}")


@pytest.mark.parametrize(
    ("forms", "options"),
    [*zip((forms for kind, forms in FORMS.items() if "precisions" not in kind), cycle(AS.values()))],
)
def test_files_of_one_set_are_brought_to_one_form(forms, options, tmp_path):
    """As if both were of the type of the first one."""
    for a, b in [*[*pairwise(forms)][::2], (forms[-1], forms[0])]:
        expected = model_of(pa.concat_tables([pa.table({"a": a, "y": Y})] * 2), options)
        paths = [tmp_path / f"{k}.parquet" for k in range(2)]
        others = [tmp_path / f"{k}.arrow" for k in range(2)]
        for path, other, column in zip(paths, others, (a, b), strict=True):
            pq.write_table(pa.table({"a": column, "y": Y}), path)
            feather.write_feather(pa.table({"a": column, "y": Y}), other)
        for X in (paths, others, ds.dataset(list(map(str, others)), format="feather")):
            found = model_of(X, options)
            assert found.feature_names_in_.tolist() == expected.feature_names_in_.tolist(), (a.type, b.type)
            np.testing.assert_array_equal(scores(found, a), scores(expected, a))


OTHERS = {
    "dates without a zone": ("instants", "moments", "timestamp"),
    "instants": ("moments", "instants", "tz="),
    "days": ("instants", "days", "date32"),
    "numbers for durations": ("durations", "whole numbers", "int16"),
    "durations for numbers": ("whole numbers", "durations", "duration"),
    "times for durations": ("durations", "times of day", "time32"),
    "strings for dates": ("moments", [pa.array(["next Monday"] * N)], "string"),
    "strings for numbers": ("numbers", [pa.array(["1.5"] * N)], "string"),
}


@pytest.mark.parametrize(("fitted", "given", "named"), OTHERS.values(), ids=OTHERS)
def test_kinds_that_differ_are_refused(fitted, given, named, tmp_path):
    a, b = FORMS[fitted][0], (FORMS[given] if isinstance(given, str) else given)[0]
    model = model_of(pa.table({"a": a, "y": Y}), {})
    with pytest.raises(ValueError, match=f"column 'a' is of type {named if named == 'string' else '.*' + named}"):
        scores(model, b)
    paths = [tmp_path / f"{k}.arrow" for k in range(2)]
    for path, column in zip(paths, (a, b), strict=True):
        feather.write_feather(pa.table({"a": column, "y": Y}), path)
    dataset = ds.dataset(list(map(str, paths)), format="feather")  # which makes what it is asked for of strings
    for X in [paths] if named == "string" else [paths, dataset]:
        with pytest.raises(snb.DataError, match="column 'a' is of type"):
            model_of(X, {})


def test_frames_and_lines_of_text_are_read_as_what_was_fitted(tmp_path):
    """Of pandas, also as texts, CSV and JSON lines, also where all are midnight, so that CSV has days alone."""
    frame = pd.DataFrame({"at": moments("ns").to_pandas(), "took": pd.to_timedelta(SECONDS, "s"), "y": Y})
    frame.to_parquet(tmp_path / "fitted.parquet", coerce_timestamps="ms")
    model = snb.LinearNB("auto").fit(tmp_path / "fitted.parquet", "y")
    np.testing.assert_array_equal(model.decision_function(frame), model.decision_function(tmp_path / "fitted.parquet"))
    model = snb.LinearNB("auto").fit(snb.table(frame, "y", columns=["at"]))
    for moment in (frame["at"], frame["at"].dt.normalize()):
        frame["at"] = moment
        frame[["at"]].to_csv(tmp_path / "rows.csv", index=False)
        frame[["at"]].to_json(tmp_path / "rows.jsonl", orient="records", lines=True, date_format="iso")
        texts = pd.read_csv(tmp_path / "rows.csv")
        for rows in (tmp_path / "rows.csv", tmp_path / "rows.jsonl", texts, texts.astype("category")):
            np.testing.assert_array_equal(model.decision_function(rows), model.decision_function(frame))
    with pytest.raises(snb.DataError, match="with 'soon' at row 2; it should be of kind 'date'"):
        model.predict(pd.DataFrame({"at": ["2024-02-29", None, "soon"]}))


def test_seconds_are_the_same_numbers_from_every_unit():
    long = 10**9 * np.array([123, -123]) + 3  # more nanoseconds than float64 can count
    found = [
        as_known(pa.array(long * k + k // 5, "int64").cast(pa.duration(unit)), "duration", None)
        for unit, k in [("ms", 10**3), ("us", 10**6)]
    ]
    assert found[0].equals(found[1]) and found[0].to_pylist() == [123000000003.2, -122999999996.8]
    assert as_known(pa.nulls(2), "duration", None).null_count == 2


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
        (pa.array([Decimal("1.50"), Decimal("7.00"), None]), ["1.5", "7", None]),
        (pa.array([0.1, 7.0, np.nan, -0.0, np.inf]), ["0.1", "7", None, "0", "inf"]),
        (pa.array(np.array([0.1, 7.0], "f4")), ["0.1", "7"]),
        (pa.array(np.array([0.1, 7.0], "f2")), ["0.1", "7"]),
        (pa.array([2.0**53, 2.0**53 + 2]), ["9007199254740992", "9007199254740994.0"]),
        (pa.array([Decimal(2**53 + 1)]), ["9007199254740993"]),
        (pa.array([90_500]).cast(pa.duration("ms")), ["90.5"]),
        (pa.array([0.0, -0.0]).dictionary_encode(), ["0", "0"]),
        (pa.array([True, None]).dictionary_encode(), ["1", None]),
        (pa.array(DAYS[:1]).dictionary_encode(), [f"{DAYS[0]} 00:00:00.000000"]),
    ],
    ids=lambda value: str(value)[:20] if isinstance(value, list) else "",
)
def test_values_of_categories_are_strings_that_do_not_tell_types(column, strings):
    coded = levels_of(ColumnPart(("c",), LEVEL), rows(c=column))
    assert spelled(coded) == strings and len(set(strings_of(PLAIN, coded.values))) == len(coded.values)


def test_numbers_of_other_types():
    part = ColumnPart(("c",), MEASURE)
    for column in (pa.array([Decimal("1.5")]), pa.array([1.5], pa.float32())):
        assert numbers_of(part, rows(c=column), 0).values.tolist() == [1.5]
    assert numbers_of(part, rows(c=pa.array([datetime.timedelta(seconds=2)], pa.duration("s"))), 0).values[0] == 2.0
    with pytest.raises(snb.DataError, match="X: column 'c' is infinite at row 8"):
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


# ---- categories ------------------------------------------------------------------------------------------------------

CODES = np.array([10115, 20095, 7, 0] * 10)
FLAGS = CODES % 2 == 1


def containers(folder):
    """Tables whose columns `code` and `flag` are stored in many ways."""
    codes = [CODES, CODES.astype("f8"), CODES.astype(str), [Decimal(f"{code}.00") for code in CODES.tolist()]]
    flags = [FLAGS, FLAGS.astype(int), FLAGS.astype(str), FLAGS.astype("f4")]
    for k, (code, flag) in enumerate(zip(codes, flags, strict=True)):
        frame = pd.DataFrame({"code": code, "flag": flag, "y": [0, 1, 1, 0] * 10})
        frame.to_csv(folder / f"{k}.csv", index=False)
        if k < 3:
            frame.to_json(folder / f"{k}.jsonl", orient="records", lines=True)
            yield from (folder / f"{k}.jsonl", frame.astype({"code": "category", "flag": "category"}))
        pq.write_table(pa.Table.from_pandas(frame), folder / f"{k}.parquet")
        yield from (folder / f"{k}.csv", folder / f"{k}.parquet", frame, pa.Table.from_pandas(frame))


def test_a_category_is_the_same_however_it_is_written(tmp_path):
    """7, 7.0 and "7.00", and True, 1 and "True", at fit and at prediction; strings with leading zeros are others."""
    tables, hashed = [*containers(tmp_path)], {"hashed": ["code"], "hash_features": 64}
    for X, options in zip(tables[::4], cycle([{}, hashed, {"pairs": [("code", "flag")]}])):
        model = snb.LinearNB("auto").fit(snb.table(X, "y", categorical=["code", "flag"], **options))
        assert [model.score(Z, "y") for Z in tables] == [1.0] * len(tables)
    counters = snb.CategoryCounters().fit(tables[0], "y")
    expected = counters.transform(tables[0])
    assert all(np.array_equal(counters.transform(Z), expected) for Z in tables)
    texts = pd.DataFrame({"code": ["7", "007", "1.10", "1.1"] * 5, "y": [0, 1, 2, 3] * 5})
    assert snb.LinearNB("auto").fit(texts, "y").score(texts, "y") == 1.0
    ids = pd.DataFrame({"id": [2**53, 2**53 + 1, 2**64 - 2, 2**64 - 1] * 5, "y": [0, 1, 2, 3] * 5})
    ids.to_json(tmp_path / "ids.jsonl", orient="records", lines=True)  # numbers that floats would round
    assert snb.LinearNB("auto").fit(snb.table(tmp_path / "ids.jsonl", "y", categorical=["id"])).score(ids, "y") == 1.0


def test_categories_of_strings_take_integers_and_booleans(tmp_path):
    model = snb.LinearNB("auto").fit(pd.DataFrame({"x": ["1", "0"] * 9, "y": [1, 0] * 9}), "y")
    frame = pd.DataFrame({"x": pd.Categorical([1, 0])})
    frame.to_parquet(tmp_path / "x.parquet")  # as integers
    for X in (frame, frame.astype(int), frame.astype(bool), tmp_path / "x.parquet", {"x": True}):
        assert model.predict(X).tolist() == [1, 0][: len(model.predict(X))]
    with pytest.raises(ValueError, match="column 'x' is of type timestamp"):
        model.predict(pd.DataFrame({"x": pd.to_datetime(["2020-01-01"])}))


def extension(dtype, values):
    return pa.ExtensionArray.from_storage(dtype, pa.array(values, dtype.storage_type))


U = [uuid.UUID(int=3), uuid.UUID(int=1 << 127)]
STORED = {
    "JSON": (lambda: extension(pa.json_(), ["[1]", "[2]"] * 9), ["[1]", "[2]"] * 9),
    "bool8": (lambda: extension(pa.bool8(), [0, 1] * 9), [0, 1] * 9),
    "UUID": (lambda: extension(pa.uuid(), [one.bytes for one in U] * 9), [str(one) for one in U] * 9),
    "runs": (lambda: pc.run_end_encode(pa.array(["a", "b"] * 9)), ["a", "b"] * 9),
    "bytes": (lambda: pa.array([b"ab", b"cd"] * 9, pa.binary(2)), ["ab", "cd"] * 9),
}


@pytest.mark.parametrize("name", STORED)
def test_columns_are_read_by_what_they_hold(name, tmp_path):
    column, values = STORED[name]
    rows, plain = (pa.table({"x": one, "y": [0, 1] * 9}) for one in (column(), values))
    feather.write_feather(rows, tmp_path / "x.arrow")
    for X in (rows, tmp_path / "x.arrow"):
        found, expected = snb.LinearNB("auto").fit(X, "y"), snb.LinearNB("auto").fit(plain, "y")
        assert found.feature_names_in_.tolist() == expected.feature_names_in_.tolist()
        assert found.score(plain, "y") == expected.score(X, "y") == 1.0


def test_columns_that_cannot_be_read_are_named():
    for column, message in (
        ([b"\xff", b"a"], "column 'x' holds bytes that are no text in UTF-8; leave it out with columns=, or make"),
        (pa.array([(1, 2, 3)] * 2, pa.month_day_nano_interval()), "column 'x' is nested or an interval"),
    ):
        with pytest.raises((snb.DataError, TypeError), match=message):
            snb.table(pa.table({"x": column, "y": [0, 1]}), "y")
    with pytest.raises(TypeError, match="column 'x' has dtype Int128, which Arrow lacks; cast it to Int64"):
        snb.table(pl.DataFrame({"x": pl.Series([1, 2], dtype=pl.Int128)}), [0, 1])
