"""Rows written as they were stored, with scores beside them."""

import csv
import io
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import streamnb as snb
from streamnb.rows.files import CSV, JSON
from streamnb.rows.records import BatchWriter, LineWriter, StoredLines, bounds_of, of_columns

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.floats(allow_nan=False),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(), inner, max_size=2),
    max_leaves=4,
)
RECORDS = st.lists(st.dictionaries(st.text().filter(lambda name: name not in ("score", "é")), VALUES), max_size=5)


def stored(piece, kind=JSON, **options):
    return StoredLines(piece, *bounds_of(piece, kind), kind, **options)


@settings(max_examples=8)
@given(RECORDS, st.sampled_from([b"\n", b"\r\n", b"\n \n\n"]), st.booleans(), st.sampled_from(["", " "]))
def test_a_line_of_json_keeps_its_bytes_and_gains_fields(records, ends, last, space):
    lines = [space + json.dumps(one, ensure_ascii=False) + space for one in records]
    piece = ends.join(line.encode() for line in lines) + (ends if last and lines else b"")
    rows, n = stored(piece), len(records)
    scores = {"score": np.linspace(0.1, 1, n), "é": np.array(["x"] * n)}
    written = rows.written(scores).splitlines()
    assert len(rows) == len(written) == n
    for k, (line, record, found) in enumerate(zip(lines, records, written)):
        assert found.startswith(line.encode().rstrip()[:-1])
        assert json.loads(found) == {**record, "score": scores["score"][k], "é": "x"}
    assert rows.written({}) == b"".join(line + b"\n" for line in rows)


@pytest.mark.parametrize(
    ("line", "name"),
    [(b'{"score":1}', "score"), (rb'{"sc\u006fre":1}', "score"), ('{"é":1}'.encode(), "é"), (rb'{"\u00e9":1}', "é")],
)
def test_names_are_found_however_they_are_written(line, name):
    with pytest.raises(snb.DataError, match=f"have '{name}' already"):
        stored(line).written({name: np.zeros(1)})


def test_texts_that_hold_a_name_are_no_fields():
    line = rb'{"t":"\u003c \"score\""}'
    assert stored(line).written({"score": np.ones(1)}) == line[:-1] + b',"score":1.0}\n'


def test_fields_that_are_kept_stay_as_they_are():
    rows = stored(b'{"id":1,"d":"2026-01-01"}\n{"id":2.5,"x":[1,{"y":null}]}\n{"id":12345678901234567890}')
    found = rows.only(["x", "id", "d"]).written({"p": np.zeros(3)}).decode().splitlines()
    assert found == [
        '{"x":null,"id":1,"d":"2026-01-01","p":0.0}',
        '{"x":[1,{"y":null}],"id":2.5,"d":null,"p":0.0}',
        '{"x":null,"id":12345678901234567890,"d":null,"p":0.0}',
    ]
    with pytest.raises(snb.DataError, match="not JSON in UTF-8"):
        stored(b'{"a":"\xff"}').only(["a"])


@given(st.lists(st.tuples(st.text("ab,\"\n'é"), st.text("ab,\"\n'é")), min_size=1, max_size=6), st.sampled_from(",;"))
def test_records_of_csv_end_with_their_scores(records, mark):
    text = io.StringIO()
    csv.writer(text, delimiter=mark, lineterminator="\n").writerows([("x", *one) for one in records])
    rows = stored(text.getvalue().encode(), CSV, header=mark.join("iab").encode(), delimiter=mark)
    written = rows.headed({"score": []}) + b"\n" + rows.written({"score": np.arange(len(rows)) / 4})
    found = list(csv.reader(io.StringIO(written.decode()), delimiter=mark))
    assert found == [["i", "a", "b", "score"], *(["x", *one, str(k / 4)] for k, one in enumerate(records))]


def test_numbers_that_are_not_finite_are_null():
    assert stored(b"{}").written({"s": np.array([np.nan])}) == b'{"s":null}\n'
    assert of_columns({"a": ["x"]}).written({"s": np.array([np.inf])}) == b'{"a":"x","s":null}\n'


def test_a_field_of_the_name_of_the_score_is_refused():
    assert stored(b'{"a": "score"}').written({"score": np.ones(1)})
    with pytest.raises(snb.DataError, match="the rows have 'score' already"):
        stored(b'{"score": 1}').written({"score": np.ones(1)})
    with pytest.raises(snb.DataError, match="'score'"):
        stored(b"1\n", CSV, header=b"score").headed({"score": []})
    with pytest.raises(snb.DataError, match="'a'"):
        of_columns({"a": [1]}).with_columns({"a": np.ones(1)})


def test_names_and_labels_in_csv_are_quoted_and_known_names_found():
    piece = b"one\ntwo\n"
    rows = StoredLines(piece, *bounds_of(piece, CSV), CSV, b'text,"the score"')
    beside = {"score_a,b": np.array([0.5, np.nan]), "label": np.array(['say "x"', "plain"])}
    assert rows.headed(beside) == b'text,"the score","score_a,b",label'
    assert rows.written(beside) == b'one,0.5,"say ""x"""\ntwo,,plain\n'
    with pytest.raises(snb.DataError, match="the score"):
        rows.headed({"the score": np.zeros(2)})


@pytest.mark.parametrize("packing", [None, "gzip", "zstd"])
def test_lines_are_packed_and_the_file_stays_open(packing):
    file = io.BytesIO()
    writer = LineWriter(file, packing)
    writer.write(b"1\n", b"head")
    writer.write(b"2\n", b"head")
    with pytest.raises(snb.DataError, match="give files of one table"):
        writer.write(b"3\n", b"other")
    writer.close()
    content = file.getvalue()
    plain = content if packing is None else pa.CompressedInputStream(pa.py_buffer(content), packing).read()
    assert plain == b"head\n1\n2\n"


def test_batches_become_one_table():
    file = io.BytesIO()
    writer = BatchWriter(file)
    for k in range(3):
        writer.write(of_columns({"a": [k, k + 1]}).with_columns({"s": np.array([0.5, 1.0])}))
    with pytest.raises(snb.DataError, match="give files of one table"):
        writer.write(of_columns({"a": ["x"]}).batch)
    writer.close()
    assert pq.read_table(file).to_pydict() == {"a": [0, 1, 1, 2, 2, 3], "s": [0.5, 1.0] * 3}
