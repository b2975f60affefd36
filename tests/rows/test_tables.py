"""Tables in memory: kinds of columns, pieces of rows, labels and weights beside them."""

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import streamnb as snb
from streamnb.rows.tables import FrameTable, check_has, check_names, labels_of, schema_of_frame, weights_of

FRAME = pd.DataFrame({"a": [1, 2, 3, 4], "b": ["x", None, "y", "x"], "w": [1.0, 2.0, 0.5, 1.0]})


def test_weights_are_numbers():
    assert weights_of(pa.array([1, 2]), "w", 0, "X").tolist() == [1.0, 2.0]
    with pytest.raises(ValueError, match="weight='w' is a column of type string"):
        weights_of(pa.array(["a"]), "w", 0, "X")
    with pytest.raises(ValueError, match="missing at row 6"):
        weights_of(pa.array([1.0, None]), "w", 5, "X")


def test_frames_of_mixed_kinds_and_names_that_columns_share_are_refused():
    with pytest.raises(TypeError, match="column 'b' holds values of several kinds"):
        schema_of_frame(pd.DataFrame({"a": [1, 2], "b": [1, "x"]}))
    with pytest.raises(snb.DataError, match="X has several columns '1'"):
        FrameTable(pd.DataFrame([[1, 2]], columns=["1", 1]))
    with pytest.raises(snb.DataError, match="several columns 'a'"):
        check_names(["a", "b", "a"], "f.csv")
    with pytest.raises(ValueError, match=r"text='c' is not a column of X: \['a', 'b', 'w'\]"):
        check_has(schema_of_frame(FRAME), ["c"], "text")


def test_labels_that_are_no_utf8_are_named_by_their_row():
    labels = pa.chunked_array([pa.array([b"a", b"\xff"]).view(pa.string())])
    with pytest.raises(snb.DataError, match=r"X: y='kind' of row 5 is not UTF-8 .*; write the file as UTF-8"):
        labels_of(labels, "y='kind'", 4, "X")


def test_a_column_without_texts_is_named(tmp_path):
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table({"a": ["x", None, "z"], "n": [1, 2, 3]}), path)
    with pytest.raises(ValueError, match="text=None, but the files are tables; name the column"):
        snb.text(path)
    with pytest.raises(ValueError, match="text='b' is not a column"):
        snb.text(path, "b")
    with pytest.raises(snb.DataError, match="row 1 has no text in 'a'"):
        list(snb.text(path, "a").blocks())
    with pytest.raises(TypeError, match="should hold strings"):
        list(snb.text(path, "n").blocks())
