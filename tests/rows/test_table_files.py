"""Parquet and IPC files: read from any row group on, and what files of one table should have in common."""

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

from streamnb.core.messages import DataError
from streamnb.rows.table_files import DaskFrame, Dataset, IPCFiles, ParquetFiles, common_schema
from streamnb.rows.tables import Fields


def table(first, stop, **more):
    return pa.table({"n": list(range(first, stop)), "s": [f"v{i % 3}" for i in range(first, stop)], **more})


def ipc(rows, path):
    with pa.ipc.new_file(path, rows.schema) as file:
        file.write_table(rows, max_chunksize=3)


def numbers(files, start, stop):
    found = []
    for first, read in files.selected(Fields(("n",))).jobs(start, stop):
        rows = read().columns.column("n").to_pylist()
        assert rows[0] == first
        found += rows
    return found


@pytest.mark.parametrize("kind", ["Parquet", "IPC", "Feather"])
def test_rows_are_read_from_any_on_and_across_files(tmp_path, kind):
    paths = [str(tmp_path / name) for name in "ab"]
    for path, rows in zip(paths, (table(0, 10), table(10, 17)), strict=True):
        if kind == "Parquet":
            pq.write_table(rows, path, row_group_size=3)
        else:
            ipc(rows, path) if kind == "IPC" else feather.write_feather(rows, path)
    files = (ParquetFiles if kind == "Parquet" else IPCFiles)(paths, 2)
    assert files.n_rows == 17 and files.selected(Fields(("n", "s"))).nbytes > 0 and files.schema.names == ["n", "s"]
    for start, stop in ((0, 17), (4, 5), (8, 12), (9, 10), (10, 17), (16, 17)):
        assert numbers(files, start, stop) == list(range(start, stop))


def test_files_that_differ_are_refused():
    first = ("a", table(0, 2).schema)
    nothing, whole = table(0, 2, x=pa.nulls(2)).schema, table(0, 2, x=[1, 2]).schema
    assert common_schema([("a", nothing), ("b", whole)]).field("x").type == pa.int64()
    with pytest.raises(DataError, match="b: column 'x' is there, unlike in a"):
        common_schema([first, ("b", table(0, 2, x=[1, 2]).schema)])
    with pytest.raises(DataError, match="b: column 's' is of type int64, but string in a"):
        common_schema([first, ("b", pa.schema([("n", pa.int8()), ("s", pa.int64())]))])
    with pytest.raises(DataError, match="several columns 'n'"):
        common_schema([("a", pa.schema([("n", pa.int8()), ("n", pa.int64())]))])


def test_files_that_are_cut_off_are_named(tmp_path):
    pq.write_table(table(0, 10), tmp_path / "a")
    path = tmp_path / "b"
    path.write_bytes((tmp_path / "a").read_bytes()[:-5])
    for files in (ParquetFiles, IPCFiles):
        with pytest.raises(DataError, match=r"b cannot be read .* it is damaged, cut off"):
            files([str(path)], 1)


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
