"""Raw rows as a source: what is made of them, and what is beside them."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp

import streamnb as snb
from streamnb.core.messages import DataError
from streamnb.rows.labels import open_columns
from streamnb.rows.raw import EncodedRows, RawSource, TableSource, TextSource
from streamnb.rows.table_files import ParquetFiles
from streamnb.rows.tables import Fields, FrameTable
from streamnb.rows.texts import TextsInMemory


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


def ones(raw, first_row):
    assert raw.at[0] == first_row
    return EncodedRows(None, raw.at.astype(np.int32), np.arange(len(raw.at) + 1), (len(raw.at), 5))


def test_what_is_made_may_be_ones_alone():
    rows = RawSource(Numbers(), open_columns(None, None, 5, False), n_threads=2).with_step(ones, 5, "ones")
    blocks = list(rows.blocks(1, 4))
    assert [block.first_row for block in blocks] == [1, 3] and blocks[0].X[0] is None and blocks[0].X[3] == 5
    assert blocks[0].y.tolist() == [1, 0] and rows.layout() == {"the features": "ones"}
    assert [part["y"].tolist() for part in rows.row_columns(2)] == [[0, 1], [0, 1], [0]]


def test_ranges_of_rows_begin_with_row_groups(tmp_path):
    path = str(tmp_path / "a.parquet")
    pq.write_table(pa.table({"n": range(20)}), path, row_group_size=6)
    rows = TableSource(ParquetFiles([path], 1).selected(Fields(("n",))), open_columns(None, None, 20, False))
    assert [rows.rows_near(n) for n in (1, 6, 13)] == [6, 6, 12] and rows.files[0][0] == path
    (block,) = rows.blocks(7, 9)
    assert block.X.columns.column("n").to_pylist() == [7, 8] and rows.tables.n_rows == 20
    frame = TableSource(FrameTable(pd.DataFrame({"n": [1]})), open_columns(None, None, 1, False))
    assert frame.rows_near(7) == 7 and repr(frame).startswith("<TableSource: 1 rows")


def test_groups_and_folds_may_be_columns():
    frame = pd.DataFrame({"n": range(24), "day": np.arange(24) // 2, "late": np.arange(24) % 2})
    rows, days = snb.table(frame, "late", columns=["n"]), frame["day"].to_numpy()
    assert np.array_equal(rows.whole_column("day", "folds"), days)
    assert [block.split.tolist() for block in rows.with_split("groups", "day").blocks(1, 4)] == [[0, 1, 1]]
    with pytest.raises(ValueError, match="groups='week' is none of the columns"):
        rows.with_split("groups", "week")
    named, given = (snb.scan(rows, folds=2, groups=groups) for groups in ("day", days))
    assert [fold.n_rows for fold in named.folds] == [fold.n_rows for fold in given.folds]


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
    assert [beside["y"].tolist() for beside in rows.row_columns(2)] == [[1, 2, 1, 2]]


def test_errors_of_a_step_reach_the_reader():
    def fails(texts, first_row):
        raise DataError(f"row {first_row} is bad")

    with pytest.raises(DataError, match="row 2 is bad"):
        list(source(n_threads=2).with_step(fails, 1, "fails").blocks(2))
    with pytest.raises(ValueError, match="0 sample"):
        TextSource(TextsInMemory([]), open_columns(None, None, 0, False))
