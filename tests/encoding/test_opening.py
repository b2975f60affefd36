"""The door for rows of any kind: a fitted model makes its own columns of raw ones."""

import numpy as np
import pytest

import streamnb as snb
from streamnb.encoding.opening import opened, opened_for

TEXTS, Y = ["red wine", "green tea", "red grape"], ["wine", "tea", "wine"]


@pytest.fixture
def folder(tmp_path):
    for i, (text, label) in enumerate(zip(TEXTS, Y)):
        (tmp_path / "classes" / label).mkdir(parents=True, exist_ok=True)
        (tmp_path / "classes" / label / f"{i}.txt").write_text(text)
    (tmp_path / "rows.txt").write_text("\n".join(TEXTS))
    return tmp_path


def test_texts_are_told_by_what_they_are(folder):
    expected = snb.scan(snb.text(TEXTS, y=Y), moments=["sum"])
    pattern = str(folder / "r*.txt")
    for X in (TEXTS, np.array(TEXTS), np.array(TEXTS, object), folder / "rows.txt", str(folder / "rows.txt"), pattern):
        np.testing.assert_array_equal(snb.scan(X, Y, moments=["sum"]).sum, expected.sum)
    np.testing.assert_array_equal(snb.scan(folder / "classes", moments=["sum"]).sum, expected.sum)
    assert snb.plan(TEXTS, Y).n_features == snb.plan(folder / "classes").n_features == 2**18
    model = snb.LinearNB("multinomial").fit(TEXTS, Y)
    assert model.predict(["grape"]).tolist() == ["wine"] == model.predict(folder / "classes")[2:].tolist()
    for wrong in (TEXTS, folder / "rows.txt"):  # how a matrix was made nobody knows
        with pytest.raises(ValueError, match="were numbers already"):
            snb.LinearNB("multinomial").fit(np.eye(3), Y).predict(wrong)


def test_files_of_fields_say_what_to_give(tmp_path):
    (tmp_path / "rows.jsonl").write_text('{"t": "red wine", "y": "wine"}\n')
    (tmp_path / "rows.csv").write_text("t,y\nred wine,wine\n")
    for name in ("rows.jsonl", "rows.csv"):
        with pytest.raises(snb.DataError, match=r"snb\.text\(path, text="):
            snb.LinearNB("multinomial").fit(tmp_path / name, "y")


def test_raw_rows_are_encoded_and_others_are_not():
    encoding = snb.text(TEXTS, y=Y, n_features=16, words=(1, 2)).encoding
    rows = opened_for(encoding, TEXTS, Y)
    assert rows.encoding == encoding and rows.n_features == 16
    assert [block.y.tolist() for block in rows.blocks()] == [Y]
    assert opened_for(encoding, np.ones((3, 16)), Y).encoding is None
    assert opened(again := snb.text(TEXTS), labelled=False) is again
    again = snb.text(TEXTS, n_features=16, words=(1, 2))
    assert opened_for(encoding, again, labelled=False) is again
    with pytest.raises(ValueError, match="n_features=32 and not 16"):
        opened_for(encoding, snb.text(TEXTS, n_features=32, words=(1, 2)), labelled=False)
