"""Tables in parts: Parquet, IPC, CSV and JSON-lines files, Arrow datasets and Dask data frames."""

import os
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import accumulate, chain, pairwise
from typing import Any, Self

import numpy as np

from streamnb.core.messages import DataError
from streamnb.core.stored_files import StoredFile, file_system, is_url
from streamnb.rows.files import JSON, of_each, pyarrow_for, raw_file, read_ahead, stored, with_sizes
from streamnb.rows.line_files import LineFiles
from streamnb.rows.line_formats import table_format
from streamnb.rows.source import Job
from streamnb.rows.table_columns import CATEGORY, DATES, MEASURED, NOTHING, arrow, kind_of, wider
from streamnb.rows.tables import PIECE_ROWS, Fields, Tables, batch_of_frame, check_names, schema_of_frame

CONVERTED = *DATES, *MEASURED  # kinds whose types differ in units, zones and precision
INT96: Any = {"coerce_int96_timestamp_unit": "us"}  # else Arrow reads years beyond 1678 to 2262 as other years


class BatchTables(Tables):
    """Tables in parts of known lengths, such as files, which are read from a row group or batch on."""

    def __init__(self, schema: Any, lengths: list[list[int]], paths: list[str] | None = None):
        """`lengths` has the rows of each row group or batch of each part; parts are files where there are `paths`."""
        self.schema, self._lengths, self._names = schema, lengths, paths or ["X"] * len(lengths)
        self._firsts = list(accumulate(map(sum, lengths), initial=0))
        self.n_rows, self._stored = self._firsts[-1], of_each(stored, paths or ())
        self.files = tuple((file.path, file.size) for file in self._stored)

    def piece(self, k: int, n_pieces: int) -> tuple[int, int]:
        """The rows of piece `k` of about equal ones, each of whole row groups or batches."""
        bounds = list(accumulate(chain.from_iterable(self._lengths), initial=0))
        n = len(bounds) - 1
        return bounds[n * k // n_pieces], bounds[n * (k + 1) // n_pieces]

    def _read(self, part: int, place: int) -> Iterator[Any]:
        """Yield the record batches of a part from row group or batch number `place` on."""
        raise NotImplementedError

    def jobs(self, start: int, stop: int) -> Iterator[Job]:
        for part, (first, end) in enumerate(pairwise(self._firsts)):
            if first >= stop or end <= start:
                continue
            places = list(accumulate(self._lengths[part], initial=first))
            place = max(bisect_right(places, start) - 1, 0)
            row = places[place]
            for batch in self._read(part, place):
                for first_row in range(row, row + batch.num_rows, PIECE_ROWS):
                    begin, until = max(first_row, start), min(first_row + PIECE_ROWS, row + batch.num_rows, stop)
                    if begin < until:
                        piece = batch.slice(begin - row, until - begin)
                        yield begin, partial(self.fields.rows, piece, begin, self._names[part])
                row += batch.num_rows
                if row >= stop:
                    return


class ParquetFiles(BatchTables):
    """Parquet files, one after the other."""

    def __init__(self, paths: list[str], n_threads: int):
        self._threads = n_threads > 1
        schemas, lengths, sizes = zip(*of_each(_parquet_layout, paths, n_threads), strict=True)
        super().__init__(common_schema(list(zip(paths, schemas, strict=True)), typed=True), list(lengths), paths)
        self._sizes = sum(sizes, Counter[str]())
        self.step = max((rows for groups in lengths for rows in groups), default=1)

    def selected(self, fields: Fields) -> Self:
        part = super().selected(fields)
        part.nbytes = sum(self._sizes[name] for name in fields.all)
        return part

    def _read(self, part: int, place: int) -> Iterator[Any]:
        file, n_groups = self._stored[part], len(self._lengths[part])
        strings = [name for name in self.fields.all if kind_of(self.schema.field(name).type) == CATEGORY]
        with errors_named(file.path), _parquet(file.path, file, read_dictionary=strings) as parquet:
            for group in range(place, n_groups):  # one by one, because Arrow keeps all groups of a request in memory
                yield from parquet.iter_batches(PIECE_ROWS, [group], self.fields.all, use_threads=self._threads)


class IPCFiles(BatchTables):
    """Arrow IPC (Feather) files, one after the other."""

    def __init__(self, paths: list[str], n_threads: int):
        schemas, lengths, sizes = zip(*of_each(_ipc_layout, paths, n_threads), strict=True)
        super().__init__(common_schema(list(zip(paths, schemas, strict=True)), typed=True), list(lengths), paths)
        self.nbytes = sum(sizes)

    def _read(self, part: int, place: int) -> Iterator[Any]:
        pa, stored_file = arrow(), self._stored[part]
        with errors_named(stored_file.path), _mapped(stored_file.path, stored_file) as file:
            schema = pa.ipc.open_file(file).schema
            wanted = [schema.get_field_index(name) for name in self.fields.all]
            reader = pa.ipc.open_file(file, options=pa.ipc.IpcReadOptions(included_fields=wanted))
            for k in range(place, reader.num_record_batches):
                yield reader.get_batch(k)


class Dataset(BatchTables):
    """An Arrow dataset, read by fragment."""

    def __init__(self, dataset: Any, protocol: str = ""):
        """`protocol` goes before the names of files, such as "s3://"."""
        files = map(_with_all_years, dataset.get_fragments())
        groups = (file.split_by_row_group() if hasattr(file, "split_by_row_group") else [file] for file in files)
        self._fragments = list(chain.from_iterable(groups))
        lengths = [_rows_of(fragment) for fragment in self._fragments]
        check_names(dataset.schema.names, "X")
        super().__init__(dataset.schema, [[n] for n in lengths])
        paths = [protocol + path for path in getattr(dataset, "files", ())]
        self.files = with_sizes(path for path in paths if protocol or os.path.isfile(path))
        self.step = max(lengths, default=1)
        self.nbytes = int(self.n_rows * sum(_width(field.type) for field in self.schema))

    def _read(self, part: int, place: int) -> Iterator[Any]:
        fragment = self._fragments[part]
        features = {field.name: field for field in fragment.physical_schema if field.name in self.fields.features}
        types = []
        for field in self.schema:  # read in their own types, and converted later, which is exact
            stored = features.get(field.name, field)
            may_be_empty = any(_may_be_empty(one.type, True) for one in (field, stored))
            types.append(
                stored if may_be_empty or {kind_of(field.type), kind_of(stored.type)} <= {*CONVERTED} else field
            )
        yield from fragment.to_batches(
            schema=arrow().schema(types),
            columns=self.fields.all,
            batch_size=PIECE_ROWS,
            batch_readahead=2,
            fragment_readahead=1,
        )


def _with_all_years(fragment: Any) -> Any:
    """A fragment of a dataset that reads INT96 timestamps of Parquet in microseconds."""
    import pyarrow.dataset as ds

    form = getattr(fragment, "format", None)
    if not isinstance(form, ds.ParquetFileFormat) or form.read_options.coerce_int96_timestamp_unit != "ns":
        return fragment
    form = ds.ParquetFileFormat(dictionary_columns=form.read_options.dictionary_columns, **INT96)
    groups = [group.id for group in fragment.row_groups]
    file = fragment.buffer or fragment.path
    return form.make_fragment(file, fragment.filesystem, fragment.partition_expression, row_groups=groups)


def partitioned(path: str) -> Dataset:
    """The Parquet files below folders such as year=2024, here or at a URL."""
    import pyarrow.dataset as ds
    from pyarrow.fs import FSSpecHandler, PyFileSystem

    if not is_url(path):
        return Dataset(ds.dataset(path, partitioning="hive"))
    files, name = file_system(path)
    dataset = ds.dataset(name, partitioning="hive", filesystem=PyFileSystem(FSSpecHandler(files)))
    return Dataset(dataset, f"{path.partition('://')[0]}://")


def _rows_of(fragment: Any) -> int:
    groups = getattr(fragment, "row_groups", None)
    return fragment.count_rows() if groups is None else sum(group.num_rows for group in groups)


def _width(dtype: Any) -> float:
    """The bytes of a value, a guess for strings and other types of no fixed width."""
    try:
        return dtype.bit_width / 8 or 16
    except ValueError:
        return 16


class DaskFrame(BatchTables):
    """A Dask data frame, whose partitions are computed as they are read."""

    def __init__(self, frame: Any):
        self._frame = frame
        lengths = [int(n) for n in frame.map_partitions(len).compute()]
        check_names([str(name) for name in frame.columns], "X")
        with_rows = next((part for part, n in enumerate(lengths) if n), 0)
        sample = frame.get_partition(with_rows).compute()
        super().__init__(schema_of_frame(sample), [[n] for n in lengths])
        self.step = max(lengths, default=1)
        self.nbytes = int(sample.memory_usage(index=False).sum() / max(len(sample), 1) * self.n_rows)

    def _read(self, part: int, place: int) -> Iterator[Any]:
        frame = self._frame[self.fields.all].get_partition(part).compute()
        yield batch_of_frame(frame, arrow().schema([self.schema.field(name) for name in self.fields.all]))


@contextmanager
def errors_named(path: str) -> Iterator[None]:
    """Add the path to errors of a file that cannot be read."""
    pa = arrow()
    try:
        yield
    except (pa.ArrowInvalid, pa.ArrowIOError, pa.ArrowTypeError) as error:
        raise DataError(f"{path} cannot be read ({error}); it is damaged, cut off, or of another format") from error


def _mapped(path: str, expected: StoredFile | None = None) -> Any:
    return arrow().PythonFile(read_ahead(path, expected)) if is_url(path) else arrow().memory_map(path)


def _parquet(path: str, expected: StoredFile | None = None, **options: Any) -> Any:
    import pyarrow.parquet as pq

    if is_url(path):  # columns that lie side by side are asked for together
        return pq.ParquetFile(raw_file(path, expected), pre_buffer=True, **INT96, **options)
    return pq.ParquetFile(path, **INT96, **options)


def _parquet_layout(path: str) -> tuple[Any, list[int], Counter[str]]:
    """The schema of a Parquet file, the rows of each group, and the bytes of each column."""
    with errors_named(path), _parquet(path) as file:
        metadata, schema = file.metadata, file.schema_arrow
        groups = [metadata.row_group(k) for k in range(metadata.num_row_groups)]
        sizes = Counter[str]()
        for group in groups:
            for column in map(group.column, range(group.num_columns)):
                sizes[column.path_in_schema.partition(".")[0]] += column.total_uncompressed_size
        return schema, [group.num_rows for group in groups], sizes


def _ipc_layout(path: str) -> tuple[Any, list[int], int]:
    """The schema of an IPC file, the rows of each batch, and its size."""
    pa = arrow()
    with errors_named(path), _mapped(path) as file:
        schema = pa.ipc.open_file(file).schema
        reader = pa.ipc.open_file(file, options=pa.ipc.IpcReadOptions(included_fields=[0]))  # to count rows
        return schema, [reader.get_batch(k).num_rows for k in range(reader.num_record_batches)], file.size()


def common_schema(schemas: list[tuple[str, Any]], typed: bool = False) -> Any:
    """The schema of all files, which must have the same columns of the same kinds.

    Where files are `typed`, a column of floats beside one of another kind may be empty, which reading finds out.
    """
    pa = arrow()
    first_path, first = schemas[0]
    check_names(first.names, first_path)
    fields = {field.name: field for field in first}
    for path, schema in schemas[1:]:
        check_names(schema.names, path)
        if set(schema.names) != set(fields):
            odd = sorted(set(schema.names) ^ set(fields))[0]
            raise DataError(
                f"{path}: column {odd!r} is {'present' if odd in schema.names else 'missing'}, unlike in {first_path}; "
                "files of one table should have the same columns"
            )
        for field in schema:
            known = fields[field.name]
            if kind_of(field.type) == kind_of(known.type):
                fields[field.name] = known.with_type(wider(known.type, field.type))
            elif _may_be_empty(known.type, typed):
                fields[field.name] = field
            elif not _may_be_empty(field.type, typed):
                raise DataError(
                    f"{path}: column {field.name!r} is of type {field.type}, but {known.type} in {first_path}; make "
                    "them of one type"
                )
    return pa.schema(list(fields.values()), first.metadata)


def _may_be_empty(dtype: Any, typed: bool) -> bool:
    """Whether a column of this type has no value, or in files that store types perhaps NaN alone."""
    return kind_of(dtype) == NOTHING or (typed and arrow().types.is_floating(dtype))


class LineTables(LineFiles, Tables):
    """CSV or JSON-lines files, one after the other; `kinds` are those of columns, as far as they are known.

    A key that a file of JSON lines never has is missing in its rows; a file of no bytes has no rows.
    """

    def __init__(self, paths: list[str], n_threads: int, kinds: Mapping[str, str | None]):
        LineFiles.__init__(self, paths, partial(table_format, dict(kinds)), n_threads)
        pa, self.unseen = arrow(), frozenset.intersection(*(file.form.unseen for file in self._files))
        keys = [*chain.from_iterable(file.form.types for file in self._files if file.form.kind == JSON)]
        schemas = []
        for file in self._files:
            types = file.form.types
            if file.form.kind == JSON:
                types = {**dict.fromkeys(keys, pa.null()), **types}
            if types:
                schemas.append((file.path, pa.schema(list(types.items()))))
        if not schemas:
            raise DataError(f"{paths[0]} is empty: it has neither names of columns nor rows")
        self.schema = common_schema(schemas)

    def selected(self, fields: Fields) -> Self:
        part = super().selected(fields)
        part._files = [replace(file, form=file.form.selected(self.schema, fields)) for file in self._files]
        return part


def write_parquet(columns: dict[str, np.ndarray], file: Any) -> None:
    pyarrow = pyarrow_for("a .parquet file")
    import pyarrow.parquet as pq

    pq.write_table(pyarrow.table(columns), file)
