"""Texts as a source: what is made of them, and what is beside them."""

import numpy as np
import pytest
import scipy.sparse as sp

from streamnb.core.messages import DataError
from streamnb.rows.columns import open_columns
from streamnb.rows.in_texts import TextSource
from streamnb.rows.texts import TextsInMemory

ROWS = ["one", "two and more", "", "four"]


def lengths(texts, first_row):
    return sp.csr_array((texts.stops - texts.starts)[:, None].astype(np.float32))


def source(y=None, **options):
    return TextSource(TextsInMemory(ROWS), open_columns(y, None, 4, False), lengths, 1, "lengths", **options)


def test_blocks_hold_what_the_step_makes():
    rows = source([1, 2, 1, 2], n_threads=2)
    (block,) = rows.blocks(1, 3)
    assert block.first_row == 1 and block.y.tolist() == [2, 1] and block.X[0].tolist() == [12.0]
    assert repr(rows) == "<TextSource: 4 rows, 1 features>"
    assert rows.reading.seconds >= rows.making.seconds > 0 and rows.layout() == {"the features": "lengths"}
    (texts,) = rows.with_step(None, 1, "").blocks()
    assert texts.X.decoded(3) == "four" and rows.vocabulary is None
    assert [beside["y"].tolist() for beside in rows.beside(2)] == [[1, 2, 1, 2]]


def test_errors_of_a_step_reach_the_reader():
    def fails(texts, first_row):
        raise DataError(f"row {first_row} is bad")

    with pytest.raises(DataError, match="row 2 is bad"):
        list(source(n_threads=2).with_step(fails, 1, "fails").blocks(2))
    with pytest.raises(ValueError, match="0 sample"):
        TextSource(TextsInMemory([]), open_columns(None, None, 0, False))
