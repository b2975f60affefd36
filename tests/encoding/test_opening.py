"""The door for rows of any kind: a fitted model makes its own columns of raw ones."""

import numpy as np
import pytest

import streamnb as snb
from streamnb.encoding.opening import opened

TEXTS, Y = ["red wine", "green tea", "red grape"], ["wine", "tea", "wine"]


def test_raw_rows_are_encoded_and_others_are_not():
    encoding = snb.text(TEXTS, y=Y, n_features=16, words=(1, 2)).encoding
    rows = opened(TEXTS, Y, encoding=encoding)
    assert rows.encoding == encoding and rows.n_features == 16
    assert [block.y.tolist() for block in rows.blocks()] == [Y]
    assert opened(np.ones((3, 16)), Y, encoding=encoding).encoding is None
    again = snb.text(TEXTS, n_features=16, words=(1, 2))
    assert opened(again, labelled=False, encoding=encoding) is again
    with pytest.raises(ValueError, match="n_features=32 and not 16"):
        opened(snb.text(TEXTS, n_features=32, words=(1, 2)), labelled=False, encoding=encoding)
