"""Tables in memory: kinds of columns, pieces of rows, labels and weights beside them."""

import datetime

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import streamnb as snb
from streamnb.core.messages import DataError
from streamnb.rows.table_columns import kind_of
from streamnb.rows.tables import (
    ArrowTable,
    Fields,
    FrameTable,
    check_has,
    check_names,
    labels_of,
    one_batch,
    schema_of_frame,
    weights_of,
)

FRAME = pd.DataFrame({"a": [1, 2, 3, 4], "b": ["x", None, "y", "x"], "w": [1.0, 2.0, 0.5, 1.0]})


@pytest.mark.parametrize(
    ("dtype", "kind"),
    [
        (pa.int8(), "number"),
        (pa.float32(), "number"),
        (pa.decimal128(5, 2), "number"),
        (pa.duration("s"), "duration"),
        (pa.time32("s"), "time of day"),
        (pa.bool_(), "boolean"),
        (pa.date32(), "date"),
        (pa.timestamp("ns"), "date"),
        (pa.timestamp("ns", "UTC"), "date in a time zone"),
        (pa.large_string(), "category"),
        (pa.dictionary(pa.int8(), pa.int64()), "category"),
        (pa.null(), "nothing"),
        (pa.list_(pa.int8()), None),
        (pa.struct([("a", pa.int8())]), None),
        (pa.month_day_nano_interval(), None),
    ],
    ids=str,
)
def test_kinds_of_columns(dtype, kind):
    assert kind_of(dtype) == kind


@pytest.mark.parametrize(
    "opened", [FrameTable(FRAME), ArrowTable(pa.Table.from_pandas(FRAME))], ids=["pandas", "Arrow"]
)
def test_pieces_have_the_rows_that_are_asked_for(opened):
    rows = opened.selected(Fields(("a",), "b", "w"))
    ((first, read),) = rows.jobs(2, 4)
    piece = read()
    assert (first, piece.shape, opened.n_rows) == (2, (2, 1), 4) and piece.columns.column("a").to_pylist() == [3, 4]
    assert piece.y.tolist() == ["y", "x"] and piece.weight.tolist() == [0.5, 1.0]
    part = piece[1:]
    assert part.shape == (1, 1) and part.y.tolist() == ["x"]
    with pytest.raises(ValueError, match="y='b' is missing at row 1"):
        [read() for _, read in rows.jobs(0, 4)]


@pytest.mark.parametrize(
    ("values", "labels"),
    [
        (pa.array([1, 0]), [1, 0]),
        (pa.array([True, False]), [True, False]),
        (pa.array(["x", "yy"]).dictionary_encode(), ["x", "yy"]),
        (pa.array([7, 5]).dictionary_encode(), [7, 5]),
    ],
    ids=str,
)
def test_labels_of_any_type(values, labels):
    assert labels_of(values, "y='c'", 0, "X").tolist() == labels


def test_weights_are_numbers():
    assert weights_of(pa.array([1, 2]), "w", 0, "X").tolist() == [1.0, 2.0]
    with pytest.raises(ValueError, match="weight='w' is a column of type string"):
        weights_of(pa.array(["a"]), "w", 0, "X")
    with pytest.raises(ValueError, match="missing at row 6"):
        weights_of(pa.array([1.0, None]), "w", 5, "X")


def test_frames_of_mixed_kinds_and_names_that_columns_share_are_refused():
    with pytest.raises(TypeError, match="column 'b' holds values of several kinds"):
        schema_of_frame(pd.DataFrame({"a": [1, 2], "b": [1, "x"]}))
    with pytest.raises(DataError, match="X has several columns '1'"):
        FrameTable(pd.DataFrame([[1, 2]], columns=["1", 1]))
    with pytest.raises(DataError, match="several columns 'a'"):
        check_names(["a", "b", "a"], "f.csv")
    with pytest.raises(ValueError, match=r"text='c' is none of the columns of X: \['a', 'b', 'w'\]"):
        check_has(schema_of_frame(FRAME), ["c"], "text")


def test_frames_hold_what_pandas_may_have():
    dates = [datetime.datetime(2020, 1, 2), datetime.datetime(9999, 1, 2)]
    kinds = [kind_of(one.type) for one in schema_of_frame(pd.DataFrame({"d": dates, 2: pd.array([1, None], "Int64")}))]
    assert kinds == ["date", "number"]
    assert FrameTable(pd.DataFrame({2: [1, 2]})).selected(Fields(("2",))).schema.names == ["2"]


def test_columns_in_chunks_become_one():
    table = pa.table({"a": pa.chunked_array([[1], [2, 3]]), "b": pa.chunked_array([["x"], ["y", None]])})
    assert one_batch(table).to_pydict() == {"a": [1, 2, 3], "b": ["x", "y", None]}
    assert one_batch(table.slice(0, 0)).num_rows == 0
    assert np.array_equal(one_batch(table.slice(1, 1)).column("a"), [2])


def test_labels_that_are_no_utf8_are_named_by_their_row():
    labels = pa.chunked_array([pa.array([b"a", b"\xff"]).view(pa.string())])
    with pytest.raises(DataError, match=r"X: y='kind' of row 5 is not UTF-8 .*; write the file as UTF-8"):
        labels_of(labels, "y='kind'", 4, "X")


def test_whole_columns_have_what_is_missing():
    frame = pd.DataFrame(
        {"ward": ["a", None, "b"], "age": [1.5, np.nan, 3.0], "tree": pd.Categorical(["x", None, "x"])}
    )
    for table in (FrameTable(frame), ArrowTable(pa.Table.from_pandas(frame))):
        for name in frame:
            found = pd.Series(table.values(name, "by"))
            assert found[[0, 2]].tolist() == frame[name][[0, 2]].tolist() and found.isna().tolist() == [
                False,
                True,
                False,
            ]
    with pytest.raises(ValueError, match="by='wing' is none of the columns"):
        FrameTable(frame).values("wing", "by")


def test_a_column_without_texts_is_named(tmp_path):
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table({"a": ["x", None, "z"], "n": [1, 2, 3]}), path)
    with pytest.raises(ValueError, match="text=None, but the files are tables; name the column"):
        snb.text(path)
    with pytest.raises(ValueError, match="text='b' is none of the columns"):
        snb.text(path, "b")
    with pytest.raises(DataError, match="row 1 has no text in 'a'"):
        list(snb.text(path, "a").blocks())
    with pytest.raises(TypeError, match="should hold strings"):
        list(snb.text(path, "n").blocks())
