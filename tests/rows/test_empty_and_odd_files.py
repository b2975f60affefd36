"""Files of no bytes, of two columns of one name, of other line ends and encodings, and rows that are none."""

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import streamnb as snb
from streamnb.rows import line_files

CSV = "a,note,y\n" + "".join(f"{k % 3},{['red', 'green'][k % 2]} tea,{k % 2}\n" for k in range(40))
FRAME = pd.DataFrame({"a": [k % 3 for k in range(40)], "note": ["red tea", "green tea"] * 20, "y": [0, 1] * 20})
LINES = "".join(json.dumps(record) + "\n" for record in FRAME.to_dict("records"))
CONTENT = {"csv": CSV, "jsonl": LINES}


def written(folder, **contents):
    paths = []
    for name, content in contents.items():
        paths.append(folder / name.replace("_", "."))
        paths[-1].write_bytes(content if isinstance(content, bytes) else content.encode())
    return paths


@pytest.mark.parametrize("ending", CONTENT)
@pytest.mark.parametrize("order", [1, -1])
def test_a_file_of_no_bytes_has_no_rows(ending, order, tmp_path):
    names = {f"1_{ending}": b"", f"2_{ending}": CONTENT[ending], f"3_{ending}": b"\n\n"}
    paths = written(tmp_path, **names)[::order]
    model = snb.LinearNB("auto").fit(paths, "y")
    assert np.array_equal(model.coef_, snb.LinearNB("auto").fit(FRAME, "y").coef_)
    assert np.array_equal(model.predict(paths), model.predict(FRAME))
    for whose, options in ((model, {}), (snb.LinearNB().fit(snb.text(paths, "note", y="y")), {"text": "note"})):
        found = snb.write_predictions(whose, paths, tmp_path / f"out{len(options)}", keep=["a"], **options)
        assert (found.rows, found.kept) == (40, 40)


def test_a_key_that_one_file_never_has_is_missing_there(tmp_path):
    without = "".join(json.dumps({"a": k % 3, "y": k % 2}) + "\n" for k in range(20))
    paths = written(tmp_path, **{"1_jsonl": without, "2_jsonl": LINES})
    both = pd.concat([FRAME[:20].drop(columns="note"), FRAME], ignore_index=True)
    for order in (paths, paths[::-1]):
        assert np.array_equal(snb.LinearNB("auto").fit(order, "y").coef_, snb.LinearNB("auto").fit(both, "y").coef_)


def test_two_columns_of_one_name_are_refused(tmp_path):
    for k, (names, twice) in enumerate({"a,a,y": "a", "y,c,y": "y"}.items()):
        (path,) = written(tmp_path, **{f"{k}_csv": names + "\n" + "1,2,3\n2,3,4\n" * 9})
        for use in (snb.LinearNB().fit, snb.table, snb.plan):
            with pytest.raises(
                snb.DataError, match=rf"{k}.csv has several columns '{twice}'; names of columns should be"
            ):
                use(path, "y")
    frame = pd.DataFrame([[1.0, 2.0], [3.0, 1.0]], columns=["a", "a"])
    table = pa.table([[1.0, 2.0], [3.0, 1.0]], names=["a", "a"])
    pq.write_table(table, tmp_path / "a.parquet")
    texts = frame.astype(str)
    for X, where in ((frame, "X"), (table, "X"), (texts, "X"), (tmp_path / "a.parquet", "a.parquet")):
        with pytest.raises(snb.DataError, match=f"{where} has several columns 'a'"):
            snb.LinearNB("gaussian").fit(X, [0, 1])
    model = snb.LinearNB("auto").fit(pd.DataFrame({"a": ["u", "v"] * 9, "y": [0, 1] * 9}), "y")
    (path,) = written(tmp_path, twice_csv="a,b,b\nu,1,2\n")
    with pytest.raises(ValueError, match="several columns 'b'"):
        snb.write_predictions(model, path, tmp_path / "out", keep=["b"])


ODD = {
    "on old Macs": (CSV.replace("\n", "\r").encode(), "lines that end in a carriage return alone.*with newlines"),
    "UTF-16": (CSV.encode("utf-16"), "is UTF-16, as its first bytes say; write it as UTF-8"),
    "UTF-16, big end first": (b"\xfe\xff" + CSV.encode("utf-16-be"), "is UTF-16"),
}


@pytest.mark.parametrize("odd", ODD)
def test_other_line_ends_and_encodings_are_named(odd, tmp_path):
    content, message = ODD[odd]
    paths = written(tmp_path, a_csv=content, a_jsonl=content)
    for path in paths:
        for use in (snb.table, lambda path: snb.text(path, "note")):
            with pytest.raises(snb.DataError, match=f"{path.name} .*{message}"):
                use(path)


def test_labels_that_are_written_in_two_ways_are_named(tmp_path, monkeypatch):
    monkeypatch.setattr(line_files, "PIECE_BYTES", 64)
    for ending, last in (("csv", "1,red tea,1.0\n"), ("jsonl", '{"a": 1, "note": "red tea", "y": 1.0}\n')):
        (path,) = written(tmp_path, **{f"a_{ending}": CONTENT[ending] + last})
        with pytest.raises(snb.DataError, match=r"row 40 has y='1.0', and .* of type int64; write it in one way"):
            snb.LinearNB("auto").fit(path, "y")


NONE = {
    "stream": (lambda folder: snb.LinearNB().fit(iter([])), "X gave no rows: a generator can be read once only"),
    "array": (lambda folder: snb.LinearNB().fit(np.zeros((0, 2)), []), "X is empty$"),
    "batch": (lambda folder: snb.LinearNB().partial_fit(np.zeros((0, 2)), [], classes=[0, 1]), "X is empty$"),
    "to score": (lambda folder: snb.LinearNB().fit([[1], [2]], [0, 1]).predict(np.zeros((0, 1))), "X is empty$"),
    "frame": (lambda folder: snb.LinearNB("auto").fit(FRAME, "y").predict(FRAME[:0]), "X has no rows$"),
    "site": (lambda folder: snb.schema(FRAME, "y").scan(FRAME[:0]), "X has no rows$"),
    "names alone": (lambda folder: snb.table(folder / "names.csv"), "names.csv holds no rows$"),
    "names alone, twice": (lambda folder: snb.table([folder / "names.csv"] * 2), "the files hold no rows$"),
    "no bytes": (lambda folder: snb.table(folder / "nothing.csv"), "nothing.csv is empty: it has neither names"),
    "no lines": (lambda folder: snb.table(folder / "nothing.jsonl"), "nothing.jsonl is empty"),
    "texts": (lambda folder: snb.text(folder / "nothing.csv", "note"), "nothing.csv holds no rows of text"),
}


@pytest.mark.parametrize("what", NONE)
def test_errors_of_no_rows_say_where_there_are_none(what, tmp_path):
    written(tmp_path, names_csv="a,b\n", nothing_csv=b"", nothing_jsonl=b"")
    make, message = NONE[what]
    with pytest.raises(ValueError, match=message) as found:
        make(tmp_path)
    assert ("generator" in str(found.value)) == (what == "stream")
