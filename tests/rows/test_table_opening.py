"""What is taken for a table, and what is not."""

import builtins

import dask.dataframe as dd
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import streamnb as snb
from streamnb.core.messages import DataError
from streamnb.rows.table_opening import ANY, COUNTS, NONE, format_of, is_matrix, is_path, is_table, open_tables
from streamnb.rows.tables import Fields

FRAME = pd.DataFrame({"n": [1, 2], "s": ["a", "b"]})


class Lazy:
    """What a lazy frame of Polars has."""

    __module__ = "polars.lazyframe"

    def __init__(self, table):
        self._table = table

    def collect(self):
        return self._table


def test_tables_are_told_by_their_names_and_columns(tmp_path):
    FRAME.to_csv(tmp_path / "a.csv", index=False)
    assert is_table("x.parquet") and is_table(tmp_path) and is_table(FRAME) and is_table(pa.table(FRAME))
    assert is_table([tmp_path / "a.csv"]) and is_path([tmp_path / "a.csv"]) and not is_path(["a.csv"])
    assert not any(map(is_table, ("x.svm", "x.zarr", "x.txt", np.zeros((2, 2)), [], ["a"], pa.array([1]))))
    assert [format_of(f"X.{end}") for end in ("CSV.gz", "feather", "pq", "npz")] == [
        "lines",
        "Arrow IPC",
        "Parquet",
        None,
    ]


def test_folders_patterns_and_lists_of_files(tmp_path):
    for name in ("b.csv", "a.csv", ".hidden.csv", "_log.csv"):
        FRAME.to_csv(tmp_path / name, index=False)
    paths = str(tmp_path / "a.csv"), str(tmp_path / "b.csv")
    for X in (tmp_path, tmp_path / "[ab].csv", [tmp_path / "a.csv", tmp_path / "b.csv"]):
        assert tuple(path for path, _ in open_tables(X, {}, 2).files) == paths
    (tmp_path / "month=7").mkdir()
    FRAME.to_parquet(tmp_path / "month=7" / "a.parquet")
    for path in paths:
        (tmp_path / path).unlink()
    rows = open_tables(tmp_path, {}, 1).selected(Fields(("month", "n")))
    assert next(read().columns.column("month").to_pylist() for _, read in rows.jobs(0, 2)) == [7, 7]


def test_what_is_no_table_is_refused(tmp_path):
    FRAME.to_csv(tmp_path / "a.csv", index=False)
    FRAME.to_parquet(tmp_path / "b.parquet")
    with pytest.raises(DataError, match=r"b.parquet is Parquet, but .*a.csv is lines"):
        open_tables(tmp_path, {}, 1)
    with pytest.raises(FileNotFoundError, match="there is no such file"):
        open_tables(tmp_path / "c*.csv", {}, 1)
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileNotFoundError, match="a folder without Parquet"):
        open_tables(tmp_path / "empty", {}, 1)
    (tmp_path / "c.parquet").write_text("a,b\n")
    with pytest.raises(DataError, match=r"c\.parquet is not Parquet; it begins with b'a,b"):
        open_tables(tmp_path / "c.parquet", {}, 1)
    with pytest.raises(TypeError, match="X is of type ndarray; a table is a path"):
        open_tables(np.zeros((2, 2)), {}, 1)


def test_lazy_frames_are_collected():
    assert open_tables(Lazy(pa.table(FRAME)), {}, 1).n_rows == 2


def test_pyarrow_is_asked_for(monkeypatch):
    monkeypatch.setattr(builtins, "__import__", _without(builtins.__import__))
    with pytest.raises(ImportError, match=r"snb.table needs pyarrow: pip install streamnb\[tables\]"):
        open_tables(FRAME, {}, 1)


def _without(real):
    def imported(name, *rest):
        if name == "pyarrow":
            raise ImportError(name)
        return real(name, *rest)

    return imported


NUMBERS = pd.DataFrame({"a": [1, 2], "b": [0.5, 1.5], "c": [True, False], "d": pd.array([1, 2], "Int8")})
GAPS = {
    "a float": NUMBERS.assign(b=[0.5, np.nan]),
    "nullable": NUMBERS.assign(d=pd.array([1, None], "Int8")),
    "an object": NUMBERS.assign(a=pd.Series([1, None], dtype=object)),
}
OTHERS = {
    "strings": NUMBERS.assign(a=["1", "2"]),
    "categories": NUMBERS.assign(a=pd.Categorical([1, 2])),
    "dates": NUMBERS.assign(a=pd.to_datetime(["2024-01-01"] * 2)),
    "durations": NUMBERS.assign(a=pd.to_timedelta([1, 2], "s")),
    "objects of two kinds": NUMBERS.assign(a=pd.Series([1, "2"], dtype=object)),
}


def test_frames_of_numbers_alone_are_matrices():
    objects = NUMBERS.assign(a=NUMBERS["a"].astype(object))
    for X in (NUMBERS, objects, opened(NUMBERS), dd.from_pandas(NUMBERS, npartitions=1)):
        assert is_matrix(X) and not is_matrix(X, NONE)
    for X in GAPS.values():
        for same in (X, opened(X)):
            assert not is_matrix(same) and is_matrix(same, ANY) and not is_matrix(same, NONE)
    for X in OTHERS.values():
        assert not is_matrix(X) and not is_matrix(X, ANY)
    for values, are_counts in (([0.0, 7.0], True), ([0.5, 1.0], False), ([-1.0, 1.0], False), ([np.nan, 1.0], False)):
        frame = pd.DataFrame({"n": values})
        for X in (frame, opened(frame), dd.from_pandas(frame, npartitions=1)):
            assert is_matrix(X, COUNTS) is are_counts


def opened(frame):
    """The frame as an Arrow table whose columns are all features."""
    return open_tables(pa.Table.from_pandas(frame), {}, 1).selected(Fields(tuple(frame.columns)))


def test_columns_of_objects_of_polars_are_named():
    frame = pl.DataFrame({"of": pl.Series(["red", "green"], dtype=pl.Object)})
    with pytest.raises(TypeError, match=r"X: column 'of' holds Python objects \(dtype Object\); make it of one type"):
        snb.table(frame)
