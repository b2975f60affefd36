"""What is taken for a table, and what is not."""

import builtins

import datasets
import numpy as np
import pandas as pd
import polars as pl
import pytest

import streamnb as snb
from streamnb.rows.table_opening import open_tables
from streamnb.rows.tables import Fields

FRAME = pd.DataFrame({"n": [1, 2], "s": ["a", "b"]})


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
    with pytest.raises(snb.DataError, match=r"b.parquet is Parquet, but .*a.csv is lines"):
        open_tables(tmp_path, {}, 1)
    with pytest.raises(FileNotFoundError, match="there is no such file"):
        open_tables(tmp_path / "c*.csv", {}, 1)
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileNotFoundError, match="a folder without Parquet"):
        open_tables(tmp_path / "empty", {}, 1)
    (tmp_path / "c.parquet").write_text("a,b\n")
    with pytest.raises(snb.DataError, match=r"c\.parquet is not Parquet; it begins with b'a,b"):
        open_tables(tmp_path / "c.parquet", {}, 1)
    with pytest.raises(TypeError, match="X is of type ndarray; a table is a path"):
        open_tables(np.zeros((2, 2)), {}, 1)


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


def test_columns_of_objects_of_polars_are_named():
    frame = pl.DataFrame({"of": pl.Series(["red", "green"], dtype=pl.Object)})
    with pytest.raises(TypeError, match=r"X: column 'of' holds Python objects \(dtype Object\); make it of one type"):
        snb.table(frame)


def test_datasets_of_hugging_face_are_tables():
    rows = {"text": ["good film", "bad film", "fine", "awful"] * 9, "n": list(range(36)), "label": [1, 0, 1, 0] * 9}
    features = datasets.Features(text=datasets.Value("string"), n=datasets.Value("int32"), label=datasets.ClassLabel(2))
    given = datasets.Dataset.from_dict(rows, features=features)
    frame, numbers = pd.DataFrame(rows), given.remove_columns("text")
    for X, rows_of_it in ((numbers, slice(None)), (numbers.select([3, 5, 4]), [3, 5, 4])):
        expected = frame.iloc[rows_of_it][["n", "label"]]
        assert np.array_equal(snb.scan(snb.table(X, "label")).sum, snb.scan(snb.table(expected, "label")).sum)
    model = snb.LinearNB("auto").fit(numbers, "label")
    assert model.evaluate(numbers, "label").n_rows == 36 and len(snb.train_test_split(numbers, test_size=0.25)) == 2
    expected = snb.scan(snb.text(rows["text"]), rows["label"]).sum
    assert np.array_equal(snb.scan(snb.text(given, "text", y="label")).sum, expected)
    assert np.array_equal(snb.scan(snb.text(given["text"]), given["label"]).sum, expected)
