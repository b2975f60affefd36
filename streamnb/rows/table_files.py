"""Files of Arrow: Parquet and IPC, whose rows are read piece by piece from any row group on."""

from bisect import bisect_right
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from itertools import accumulate
from typing import Any

import numpy as np

from streamnb.core.messages import DataError
from streamnb.core.threads import in_order
from streamnb.rows.table_types import CATEGORY, NOTHING, arrow, kind_of, wider
from streamnb.rows.tables import PIECE_ROWS, Fields, Reading, Tables, check_names
from streamnb.rows.text_files import with_sizes
from streamnb.rows.text_formats import pyarrow_for


class ParquetFiles(Tables):
    """Parquet files, one behind the other."""

    def __init__(self, paths: list[str], n_threads: int):
        self._threads = n_threads > 1
        looked = list(in_order(_looked_at, paths, n_threads))
        self.schema = common_schema([(path, schema) for path, (schema, _, _) in zip(paths, looked, strict=True)])
        self._groups = [rows for _, rows, _ in looked]  # rows of each group of each file
        self._firsts = [0, *accumulate(sum(rows) for rows in self._groups)]
        self.n_rows, self.files = self._firsts[-1], with_sizes(paths)
        self._sizes: dict[str, int] = {}
        for _, _, sizes in looked:
            self._sizes = {name: self._sizes.get(name, 0) + size for name, size in sizes.items()}
        self.step = max((rows for groups in self._groups for rows in groups), default=1)

    def selected(self, fields: Fields) -> "ParquetFiles":
        part = super().selected(fields)
        part.nbytes = sum(self._sizes.get(name, 0) for name in fields.all)
        return part

    def jobs(self, start: int, stop: int) -> Iterator[Reading]:
        for (path, _), before, groups in zip(self.files, self._firsts, self._groups, strict=False):
            firsts = [before, *(before + n for n in accumulate(groups))]
            wanted = [k for k in range(len(groups)) if firsts[k] < stop and firsts[k + 1] > start]
            if wanted:
                yield from cut_jobs(self.fields, self._batches(path, wanted), firsts[wanted[0]], start, stop, path)

    def _batches(self, path: str, groups: list[int]) -> Iterator[Any]:
        import pyarrow.parquet as pq

        strings = [name for name in self.fields.all if kind_of(self.schema.field(name).type) == CATEGORY]
        with readable(path), pq.ParquetFile(path, read_dictionary=strings) as file:
            for group in groups:  # one by one: Arrow holds what it has read of all that it is asked for
                yield from file.iter_batches(PIECE_ROWS, [group], self.fields.all, use_threads=self._threads)


class IPCFiles(Tables):
    """Files of Arrow IPC (Feather), one behind the other."""

    def __init__(self, paths: list[str], n_threads: int):
        looked = list(in_order(_looked_at_ipc, paths, n_threads))
        self.schema = common_schema([(path, schema) for path, (schema, _, _) in zip(paths, looked, strict=True)])
        self._batches = [rows for _, rows, _ in looked]
        self._firsts = [0, *accumulate(sum(rows) for rows in self._batches)]
        self.n_rows, self.files, self.nbytes = self._firsts[-1], with_sizes(paths), sum(size for _, _, size in looked)

    def jobs(self, start: int, stop: int) -> Iterator[Reading]:
        for (path, _), before, batches in zip(self.files, self._firsts, self._batches, strict=False):
            firsts = [before, *(before + n for n in accumulate(batches))]
            first = max(bisect_right(firsts, start) - 1, 0)
            if before < stop and firsts[-1] > start:
                yield from cut_jobs(self.fields, self._read(path, first), firsts[first], start, stop, path)

    def _read(self, path: str, first: int) -> Iterator[Any]:
        pa = arrow()
        with readable(path), pa.memory_map(path) as file:
            schema = pa.ipc.open_file(file).schema
            wanted = [schema.get_field_index(name) for name in self.fields.all]
            reader = pa.ipc.open_file(file, options=pa.ipc.IpcReadOptions(included_fields=wanted))
            for k in range(first, reader.num_record_batches):
                yield reader.get_batch(k)


def cut_jobs(fields: Fields, batches: Iterator[Any], row: int, start: int, stop: int, where: str) -> Iterator[Reading]:
    """Jobs of the rows in [start, stop) of batches, the first of which begins at `row`; messages number rows of all."""
    for batch in batches:
        for first in range(row, row + batch.num_rows, PIECE_ROWS):
            here, end = max(first, start), min(first + PIECE_ROWS, row + batch.num_rows, stop)
            if here < end:
                yield here, partial(fields.rows, batch.slice(here - row, end - here), here, where)
        row += batch.num_rows
        if row >= stop:
            return


@contextmanager
def readable(path: str) -> Iterator[None]:
    """Say of a file that cannot be read which one it is."""
    pa = arrow()
    try:
        yield
    except (pa.ArrowInvalid, pa.ArrowIOError, pa.ArrowTypeError) as error:
        raise DataError(f"{path} cannot be read ({error}); it is damaged, cut off, or of another format") from error


def _looked_at(path: str) -> tuple[Any, list[int], dict[str, int]]:
    """Of a Parquet file the schema, the rows of each group, and the bytes of each column."""
    import pyarrow.parquet as pq

    with readable(path), pq.ParquetFile(path) as file:
        about, schema = file.metadata, file.schema_arrow
        groups = [about.row_group(k) for k in range(about.num_row_groups)]
        sizes: dict[str, int] = {}
        for group in groups:
            for column in map(group.column, range(group.num_columns)):
                name = column.path_in_schema.partition(".")[0]
                sizes[name] = sizes.get(name, 0) + column.total_uncompressed_size
        return schema, [group.num_rows for group in groups], sizes


def _looked_at_ipc(path: str) -> tuple[Any, list[int], int]:
    """Of an IPC file the schema, the rows of each batch, and how large it is."""
    pa = arrow()
    with readable(path), pa.memory_map(path) as file:
        schema = pa.ipc.open_file(file).schema
        reader = pa.ipc.open_file(file, options=pa.ipc.IpcReadOptions(included_fields=[0]))  # counts want one column
        return schema, [reader.get_batch(k).num_rows for k in range(reader.num_record_batches)], file.size()


def common_schema(schemas: list[tuple[str, Any]]) -> Any:
    """The schema of all files; where columns of a file are not there, or of another kind, it is refused."""
    pa = arrow()
    first_path, first = schemas[0]
    check_names(first.names, first_path)
    fields = {field.name: field for field in first}
    for path, schema in schemas[1:]:
        check_names(schema.names, path)
        if set(schema.names) != set(fields):
            odd = sorted(set(schema.names) ^ set(fields))[0]
            raise DataError(
                f"{path}: column {odd!r} is {'there' if odd in schema.names else 'not there'}, unlike in {first_path}; "
                "files of one table should have the same columns"
            )
        for field in schema:
            known = fields[field.name]
            if kind_of(known.type) == NOTHING:
                fields[field.name] = field
            elif kind_of(field.type) == kind_of(known.type):
                fields[field.name] = known.with_type(wider(known.type, field.type))
            elif kind_of(field.type) != NOTHING:
                raise DataError(
                    f"{path}: column {field.name!r} is of type {field.type}, but {known.type} in {first_path}; make "
                    "them of one type"
                )
    return pa.schema(list(fields.values()), first.metadata)


def write_parquet(columns: dict[str, np.ndarray], file: Any) -> None:
    pyarrow = pyarrow_for("a .parquet file")
    import pyarrow.parquet as pq

    pq.write_table(pyarrow.table(columns), file)
