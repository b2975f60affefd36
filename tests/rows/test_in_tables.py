"""Rows of tables as a source."""

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from streamnb.rows.columns import open_columns
from streamnb.rows.in_tables import TableSource
from streamnb.rows.table_files import ParquetFiles
from streamnb.rows.tables import Fields, FrameTable


def test_ranges_of_rows_begin_with_row_groups(tmp_path):
    path = str(tmp_path / "a.parquet")
    pq.write_table(pa.table({"n": range(20)}), path, row_group_size=6)
    rows = TableSource(ParquetFiles([path], 1).selected(Fields(("n",))), open_columns(None, None, 20, False))
    assert [rows.rows_near(n) for n in (1, 6, 13)] == [6, 6, 12] and rows.paths == (path,)
    (block,) = rows.blocks(7, 9)
    assert block.X.columns.column("n").to_pylist() == [7, 8] and rows.tables.n_rows == 20
    frame = TableSource(FrameTable(pd.DataFrame({"n": [1]})), open_columns(None, None, 1, False))
    assert frame.rows_near(7) == 7 and repr(frame).startswith("<TableSource: 1 rows")
