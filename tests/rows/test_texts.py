"""Texts in memory: strings of every kind as bytes."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from streamnb.rows.texts import TextsInMemory
from tests.support.read_rows import texts_of

ROWS = ["one", "", "tw\u00f6", "three"]


def test_columns_of_every_kind_hold_the_same_texts():
    arrow = pa.array(ROWS)
    kinds = [ROWS, tuple(ROWS), np.array(ROWS), np.array(ROWS, object), [row.encode() for row in ROWS], pd.Series(ROWS)]
    kinds += [pd.Series(ROWS, dtype="string[pyarrow]"), arrow, arrow.dictionary_encode(), arrow.cast(pa.large_string())]
    kinds += [pa.chunked_array([arrow[:1], arrow[1:]]), arrow.cast(pa.binary()), pa.array(["zero", *ROWS]).slice(1)]
    for values in kinds:
        assert texts_of(TextsInMemory(values)) == ROWS and texts_of(TextsInMemory(values), 1, 3) == ROWS[1:3]


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (["a", None], "row 1 has no text"),
        (["a", float("nan")], "row 1 has no text"),
        (["a", 3], "row 1 is 3, of type int"),
        (["a", "\ud800"], "row 0 on cannot be encoded"),
        (pd.Series(["a", None]), "row 1 has no text"),
        (pa.array(["a", None]), "row 1 has no text"),
        (pa.array([1, 2]), "type int64; it should hold strings"),
        ("a text", "single string"),
        (iter(["a"]), "X is of type list_iterator; give a list of texts"),
        (np.array([["a"]]), "one dimension"),
    ],
)
def test_rows_that_are_no_text_are_named(values, words):
    with pytest.raises((TypeError, ValueError), match=words):
        texts_of(TextsInMemory(values))
