"""Tables in files: read from any row on, and what files of one table should have in common."""

import gzip
import json

import dask.array as da
import dask.dataframe as dd
import fsspec
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import streamnb as snb
from streamnb.rows import line_files
from streamnb.rows.table_opening import IPCFiles, LineTables, ParquetFiles, common_schema
from streamnb.rows.tables import Fields


def table(first, stop, **more):
    return pa.table({"n": list(range(first, stop)), "s": [f"v{i % 3}" for i in range(first, stop)], **more})


def test_files_that_differ_are_refused():
    first = ("a", table(0, 2).schema)
    nothing, whole = table(0, 2, x=pa.nulls(2)).schema, table(0, 2, x=[1, 2]).schema
    assert common_schema([("a", nothing), ("b", whole)]).field("x").type == pa.int64()
    with pytest.raises(snb.DataError, match="b: column 'x' is present, unlike in a"):
        common_schema([first, ("b", table(0, 2, x=[1, 2]).schema)])
    with pytest.raises(snb.DataError, match="b: column 's' is of type int64, but string in a"):
        common_schema([first, ("b", pa.schema([("n", pa.int8()), ("s", pa.int64())]))])
    with pytest.raises(snb.DataError, match="several columns 'n'"):
        common_schema([("a", pa.schema([("n", pa.int8()), ("n", pa.int64())]))])


def test_pages_of_parquet_with_checksums_are_checked(tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"a": np.arange(9_000.0), "y": np.arange(9_000) % 2}), path, write_page_checksum=True)
    content = path.read_bytes()
    path.write_bytes(content[:20_000] + bytes(9) + content[20_009:])
    with pytest.raises(snb.DataError, match=r"t.parquet cannot be read \(could not verify page integrity"):
        snb.LinearNB("gaussian").fit(snb.table(path, y="y", bins=None))


def test_files_that_are_cut_off_are_named(tmp_path):
    pq.write_table(table(0, 10), tmp_path / "a")
    path = tmp_path / "b"
    path.write_bytes((tmp_path / "a").read_bytes()[:-5])
    for files in (ParquetFiles, IPCFiles):
        with pytest.raises(snb.DataError, match=r"b cannot be read .* it is damaged, cut off"):
            files([str(path)], 1)


def test_timestamps_of_spark_keep_their_years(tmp_path):
    """INT96, in which nanoseconds end at the year 2262."""
    dates = np.array(["9999-12-31", "0001-01-01", "1600-02-03", "2000-01-01"] * 9, "M8[us]")
    rows = pa.table({"d": dates, "y": [0, 1, 0, 1] * 9})
    (tmp_path / "k=1").mkdir()
    pq.write_table(rows, tmp_path / "k=1" / "a.parquet", use_deprecated_int96_timestamps=True)
    for X in (tmp_path / "k=1" / "a.parquet", tmp_path, ds.dataset(tmp_path), ds.dataset([ds.dataset(tmp_path)])):
        names = snb.LinearNB("auto").fit(snb.table(X, "y", columns=["d"])).feature_names_in_
        assert {"d: year=9999", "d: year=1", "d: year=1600", "d: year=2000"} <= set(names)


@pytest.mark.parametrize(
    ("inside", "kind", "reader"),
    [
        ("_delta_log/00000000000000000000.json", "Delta Lake", "polars.scan_delta"),
        ("metadata/v1.metadata.json", "Apache Iceberg", "polars.scan_iceberg"),
        (".hoodie/hoodie.properties", "Apache Hudi", "its own library"),
    ],
)
def test_folders_that_keep_rows_of_earlier_versions_are_refused(tmp_path, inside, kind, reader):
    """Deltalake 1.6 leaves the file of 10 rows there when 5 of them are deleted; Arrow, Polars and DuckDB read both."""
    for folder in ("plain", "k=1"):
        (tmp_path / folder).mkdir()
        pq.write_table(table(0, 10), tmp_path / folder / "a.parquet")
    pq.write_table(table(0, 10), tmp_path / "b.parquet")
    (tmp_path / inside).parent.mkdir()
    (tmp_path / inside).write_text("{}\n")
    there = "memory://" + str(tmp_path)
    fsspec.filesystem("memory").put(str(tmp_path), str(tmp_path), recursive=True)
    told = rf"is a table of {kind}, whose folder keeps rows that have been changed or deleted since; .*{reader}"
    for X in (tmp_path, tmp_path / "*.parquet", there):
        with pytest.raises(snb.DataError, match=told):
            snb.table(X, "s")
    with pytest.raises(snb.DataError, match=told):
        snb.text(tmp_path / "*.parquet", text="s", y="n")
    assert snb.table([tmp_path / "b.parquet"], "s").n_rows == 10  # files that are named are those to read


def test_numbers_of_folders_keep_leading_zeros(tmp_path):
    """Arrow 26.0 and Polars 2.1 read zip=01067 as the number 1067, DuckDB 2.0 as a string."""
    for folder in ("zip=01067/m=3", "zip=20095/m=4", "zip=__HIVE_DEFAULT_PARTITION__/m=5"):
        (tmp_path / folder).mkdir(parents=True)
        pq.write_table(table(0, 10), tmp_path / folder / "a.parquet")
    names = snb.LinearNB("auto").fit(snb.table(tmp_path, "s", columns=["zip", "m"])).feature_names_in_
    assert {"zip=01067", "zip=20095"} <= {*names} and "m=3" not in names


# ---- CSV and JSON lines ----------------------------------------------------------------------------------------------

ROWS = [
    {"n": i, "s": f'v{i % 3}, "q"\nnext', "d": f"2020-01-{i % 28 + 1:02d} 10:00:00", "b": i % 2 == 0} for i in range(40)
]


def write_lines(path, rows=ROWS):
    if "csv" in path.name:
        cells = ([str(value).replace('"', '""') for value in row.values()] for row in rows)
        text = "\n".join([",".join(rows[0]), *(",".join(f'"{cell}"' for cell in row) for row in cells)]) + "\n"
    else:
        text = "".join(json.dumps(row) + "\n" for row in rows)
    path.write_bytes(gzip.compress(text.encode()) if path.name.endswith(".gz") else text.encode())
    return str(path)


def column(files, name, start, stop, **beside):
    read = files.selected(Fields((name,), **beside)).jobs(start, stop)
    return [value for _, make in read for value in make().columns.column(name).to_pylist()]


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz", "a.jsonl", "a.jsonl.gz"])
def test_rows_have_the_types_that_the_first_ones_seem_to_have(tmp_path, monkeypatch, name):
    monkeypatch.setattr(line_files, "PIECE_BYTES", 256)
    files = LineTables([write_lines(tmp_path / name), write_lines(tmp_path / f"b{name}")], 2, {})
    kinds = {field.name: field.type for field in files.schema}
    assert pa.types.is_integer(kinds["n"]) and pa.types.is_boolean(kinds["b"]) and pa.types.is_timestamp(kinds["d"])
    assert files.n_rows == 80 and column(files, "s", 38, 42) == [ROWS[i % 40]["s"] for i in range(38, 42)]
    assert column(files, "n", 0, 80) == [float(i % 40) for i in range(80)]
    labels = [label for _, make in files.selected(Fields(("s",), y="n")).jobs(3, 5) for label in make().y]
    assert labels == [3, 4]


def test_dates_of_json_may_have_parts_of_seconds(tmp_path):
    path = tmp_path / "a.jsonl"
    for dates in (["2020-01-02T10:00:00.125", None], ["2020-01-02T10:00:00.125Z", "2020-01-02T10:00:00.125Z"]):
        files = LineTables([write_lines(path, [{"d": date} for date in dates])], 1, {})
        assert pa.types.is_timestamp(files.schema.field("d").type) and column(files, "d", 0, 1)[0].microsecond == 125000
    assert LineTables([write_lines(path, [{"d": "2020-01-02x"}])], 1, {}).schema.field("d").type == pa.string()


def test_columns_that_are_named_are_strings(tmp_path):
    path = write_lines(tmp_path / "a.csv", [{"n": "01", "s": ""}, {"n": "2", "s": ""}])
    assert column(LineTables([path], 1, {}), "n", 0, 2) == [1.0, 2.0]
    assert column(LineTables([path], 1, {"n": None}), "n", 0, 2) == ["01", "2"]
    assert column(LineTables([path], 1, {}), "s", 0, 2) == [None, None]


def test_a_column_that_is_named_may_begin_in_any_row_of_any_file(tmp_path, monkeypatch):
    monkeypatch.setattr(line_files, "PIECE_BYTES", 64)
    rows = [{"n": i, "s": "late", **({"late": "x", "späť": "y"} if i == 30 else {})} for i in range(40)]
    paths = [write_lines(tmp_path / name, some) for name, some in (("a.jsonl", rows[:9]), ("b.jsonl.gz", rows))]
    files = LineTables(paths, 1, dict.fromkeys(["late", "späť", "soon"]))
    assert files.unseen == {"soon"} and LineTables(paths[:1], 1, {"late": None}).unseen == {"late"}
    assert column(files, "späť", 0, 49) == [None] * 39 + ["y"] + [None] * 9


def test_a_key_that_begins_in_a_later_row_is_a_column_that_is_missing_before(tmp_path, monkeypatch):
    monkeypatch.setattr(line_files, "PIECE_BYTES", 64)
    rows = [{"n": i, "s": 'a "no": b', "of": {f"inner{i}": [{"x": 1}]}} for i in range(40)]
    rows[30] |= {"n": 1, 'q"': 2, "d": "2020-01-02", "ö": True}
    rows[31] |= {'q"': 2.5, "m": 1}
    rows[32] |= {"m": "x"}
    path = tmp_path / "a.jsonl"
    path.write_text("\n".join(json.dumps(row, ensure_ascii=i != 30) for i, row in enumerate(rows)))
    files = LineTables([str(path)], 1, {})
    assert files.schema.names == ["n", "s", "of", 'q"', "d", "ö", "m"] and pa.types.is_timestamp(
        files.schema.field("d").type
    )
    assert column(files, 'q"', 0, 40) == [None] * 30 + [2.0, 2.5] + [None] * 8
    assert column(files, "ö", 29, 32) == [None, True, None] and column(files, "n", 30, 31) == [1.0]
    with pytest.raises(snb.DataError, match=r"row 3[12] has m="):
        column(files, "m", 0, 40)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.csv", "a,b\n1,2\n3,4,5\n", "row 1 is of 3 columns, and the first line of 2"),
        ("a.csv", "a,b\n1,2\n3\n", "row 1 is of 1 columns, and the first line of 2"),
        ("a.json", '{"a": 1}\n{"a": \n', "row 1 is not JSON"),
        ("a.json", '[\n{"a": 1}]', "rows are objects, one a line: of an array, pass the data frame"),
        ("a.json", '{"a": 1}\n[2]\n', r"row 1 is not a JSON object: '\[2\]'"),
    ],
)
def test_rows_that_are_wrong_are_named(tmp_path, name, text, message):
    (tmp_path / name).write_text(text)
    with pytest.raises(snb.DataError, match=message):
        LineTables([str(tmp_path / name)], 1, {})


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl"])
def test_values_of_another_type_further_on_are_named(tmp_path, monkeypatch, name):
    monkeypatch.setattr(line_files, "PIECE_BYTES", 64)
    rows = [{"n": i, "b": True, "d": "2020-01-02"} for i in range(20)]
    for field, value in (("n", "many"), ("n", "NULL and void"), ("b", "maybe"), ("d", "soon")):
        wrong = [*rows, {**rows[0], field: value}]
        files = LineTables([write_lines(tmp_path / name, wrong)], 1, {})
        cure = r"; categorical=\[" if name == "a.csv" else "$"
        with pytest.raises(snb.DataError, match=f"row 20 has {field}='{value}', and rows before are of type .*{cure}"):
            column(files, field, 0, 21)


def test_records_hold_numbers_as_numbers(tmp_path, monkeypatch):
    monkeypatch.setattr(line_files, "PIECE_BYTES", 64)
    files = LineTables([write_lines(tmp_path / "a.jsonl", [*({"n": i} for i in range(20)), {"n": "20"}])], 1, {})
    with pytest.raises(snb.DataError, match=r"row 20 has n='20', and rows before are of type double$"):
        column(files, "n", 0, 21)


def test_a_file_of_names_alone_has_no_rows(tmp_path):
    (tmp_path / "a.csv").write_text("a,b\n")
    files = LineTables([str(tmp_path / "a.csv")], 1, {})
    assert files.n_rows == 0 and files.schema.names == ["a", "b"]
    (tmp_path / "a.txt").write_text("lines\n")
    with pytest.raises(snb.DataError, match="is not a table of a known format"):
        LineTables([str(tmp_path / "a.txt")], 1, {})


def test_answers_about_a_dask_frame_of_strings_are_lazy():
    frame = pd.DataFrame({"a": np.arange(9.0), "c": pd.array([*"abcabcab", None])})
    model = snb.LinearNB("auto").fit(frame, [0, 1, 1, 0, 1, 0, 0, 1, 1])
    lazy = dd.from_pandas(frame.assign(c=frame["c"].astype("string[pyarrow]")), npartitions=4)
    lazy = dd.concat([lazy, lazy[lazy["a"] < 0.0]])  # with partitions of no rows
    for method in ("predict", "predict_proba", "decision_function"):
        found = getattr(model, method)(lazy)
        assert isinstance(found, da.Array)
        np.testing.assert_array_equal(found, getattr(model, method)(frame))
    numbers = snb.Ridge().fit(frame, "a")
    np.testing.assert_array_equal(numbers.predict(lazy), numbers.predict(frame))
