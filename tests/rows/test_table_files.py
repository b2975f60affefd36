"""Parquet and IPC files: read from any row group on, and what files of one table should have in common."""

import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

from streamnb.core.messages import DataError
from streamnb.rows.table_files import IPCFiles, ParquetFiles, common_schema
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
