"""Rows of tables as a source."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import streamnb as snb
from streamnb.rows.columns import open_columns
from streamnb.rows.in_tables import TableSource
from streamnb.rows.table_files import ParquetFiles
from streamnb.rows.tables import Fields, FrameTable


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
