"""Datasets of Arrow and data frames of Dask, part by part."""

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from streamnb.rows.table_parts import DaskFrame, Dataset
from streamnb.rows.tables import Fields

FRAME = pd.DataFrame({"n": np.arange(20), "s": [f"v{i % 3}" for i in range(20)]})


def in_dask(folder):
    return DaskFrame(dd.from_pandas(FRAME, npartitions=3))


def in_files(folder):
    pq.write_table(pa.Table.from_pandas(FRAME[:12]), folder / "a.parquet", row_group_size=5)
    pq.write_table(pa.Table.from_pandas(FRAME[12:]), folder / "b.parquet")
    return Dataset(ds.dataset(folder))


def in_memory(folder):
    return Dataset(ds.dataset(pa.Table.from_pandas(FRAME)))


@pytest.mark.parametrize("parts", [in_dask, in_files, in_memory], ids=lambda parts: parts.__name__)
def test_rows_are_read_from_any_on(tmp_path, parts):
    rows = parts(tmp_path).selected(Fields(("n",), y="s"))
    for start, stop in ((0, 20), (6, 13), (12, 13), (19, 20)):
        pieces = [(first, read()) for first, read in rows.jobs(start, stop)]
        assert [n.as_py() for _, piece in pieces for n in piece.columns.column("n")] == list(range(start, stop))
        assert [piece.y[0] for _, piece in pieces] == [f"v{first % 3}" for first, _ in pieces]
    assert rows.n_rows == 20 and rows.nbytes > 0 and bool(rows.files) == (parts is in_files)
