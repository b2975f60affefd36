"""Pieces of JSON lines, CSV and plain lines become texts, or say which row is wrong."""

import pytest

import streamnb as snb
from streamnb.rows.files import CSV, JSON, LINES
from streamnb.rows.line_formats import Format, text_format

NAMED = {"text": "t", "y": "y", "weight": None}


def read(data, kind=JSON, **named):
    form, begin = text_format({**NAMED, **named}, "y", data, kind, "file")
    texts = form.rows(data[begin:], 10, "file")
    return [texts.decoded(row) for row in range(texts.shape[0])], texts.y, texts.weight


def test_json_lines_bring_labels_of_the_type_of_the_first():
    texts, y, weight = read(b'{"t": "a\\u00e9\\n", "y": 1, "w": 2}\n\n{"w": 0.5, "y": 3, "t": ""}', weight="w")
    assert texts == ["a\u00e9\n", ""] and y.tolist() == [1, 3] and weight.tolist() == [2.0, 0.5]
    assert read(b'{"t": "a", "y": "b"}\n{"t": "a", "y": "a"}\n')[1].tolist() == ["b", "a"]
    assert read(b'{"t": "a", "y": true}\n{"t": "a", "y": false}\n')[1].tolist() == [True, False]
    assert read(b'{"t": "a"}\n', y=None)[1] is None


def test_csv_has_quotations_and_any_of_three_marks():
    texts, y, weight = read(b't,y,w\n"a, ""b""\nc",x,1\n,y,2\n', CSV, weight="w")
    assert texts == ['a, "b"\nc', ""] and y.tolist() == ["x", "y"] and weight.tolist() == [1.0, 2.0]
    assert read(b"y\tt\r\n1\tNA\r\n2\tb\r\n", CSV)[:1] == (["NA", "b"],)
    assert read(b"y;t\n1;a,b\n", CSV)[0] == ["a,b"]


@pytest.mark.parametrize(
    ("data", "kind", "words"),
    [
        (b'{"t": "a", "y": 1}\n{"y": 1}\n', JSON, "row 11 has no text in 't'"),
        (b'{"t": "a", "y": 1}\n{"t": null, "y": 1}\n', JSON, "row 11 has no text in 't'"),
        (b'{"t": "a", "y": 1}\n{"t": "b"}\n', JSON, "y='y' is missing at row 11"),
        (b'{"t": "a", "y": 1}\n{"t": 5, "y": 1}\n', JSON, "row 11: field 't' is 5; it should be a string"),
        (b'{"t": "a", "y": 1}\n{"t": "b", "y": "x"}\n', JSON, "row 11: field 'y' is 'x', those before"),
        (b'{"t": "a", "y": 1}\n{"t": "b", \n', JSON, "row 11 is not JSON"),
        (b'{"t": "a", "y": 1}\n["t"]\n', JSON, "row 11 is not a JSON object"),
        (b'[{"t": "a", "y": 1}]', JSON, "not JSON lines, whose lines are objects"),
        (b'{"t": "a", "y": [1]}', JSON, "labels should be strings or numbers"),
        (b"a,y\n1,2\n", CSV, "'t' is no column.*'a', 'y'"),
        (b"t,y\na,b\nc,\n", CSV, "y='y' is missing at row 11"),
        (b"t,y\na,b\nc\n", CSV, "cannot be read as CSV.*Expected 2 columns"),
        (b"plain\n", LINES, "text='t' names a field"),
    ],
)
def test_what_is_wrong_is_named(data, kind, words):
    with pytest.raises(ValueError, match=f"(?s){words}") as raised:
        read(data, kind)
    assert isinstance(raised.value, snb.DataError) or kind == LINES or "missing" in words


def test_the_field_of_the_text_has_to_be_named():
    with pytest.raises(ValueError, match="text=None"):
        read(b'{"t": "a"}\n', text=None)


def test_rows_are_counted_by_what_stands_in_lines():
    assert Format(LINES).whole_rows(b"a\n\nb\nc") == (3, 5)
    assert Format(CSV).whole_rows(b"a\n\r\nb\n \n") == (3, 8)
    assert Format(JSON).whole_rows(b"{}\n  \n{") == (1, 6)
    assert Format(CSV).whole_rows(b'a,"x\ny"\nb,"') == (1, 8)
    assert Format(JSON).whole_rows(b"{") == (0, 0)
