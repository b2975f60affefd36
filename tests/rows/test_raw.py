"""Raw rows as a source: what is made of them, and what is beside them."""

from types import SimpleNamespace

import numpy as np

from streamnb.rows.columns import open_columns
from streamnb.rows.raw import Made, RawSource


class Numbers:
    """Rows 0, 1, .. in pieces of two."""

    n_rows, nbytes, files = 5, 40, ()

    def jobs(self, start, stop):
        for first in range(start, stop, 2):
            some = np.arange(first, min(first + 2, stop))
            yield (
                first,
                lambda some=some: SimpleNamespace(shape=(len(some), 1), nbytes=8, y=some % 2, weight=None, at=some),
            )

    def cut(self, start, stop):
        return self


def ones(raw, first_row):
    assert raw.at[0] == first_row
    return Made(None, raw.at.astype(np.int32), np.arange(len(raw.at) + 1), (len(raw.at), 5))


def test_what_is_made_may_be_ones_alone():
    rows = RawSource(Numbers(), open_columns(None, None, 5, False), n_threads=2).with_step(ones, 5, "ones")
    blocks = list(rows.blocks(1, 4))
    assert [block.first_row for block in blocks] == [1, 3] and blocks[0].X[0] is None and blocks[0].X[3] == 5
    assert blocks[0].y.tolist() == [1, 0] and rows.layout() == {"the features": "ones"}
    assert [part["y"].tolist() for part in rows.beside(2)] == [[0, 1], [0, 1], [0]]
