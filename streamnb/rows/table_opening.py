"""Recognises and opens tables: files of several formats and in-memory tables of several packages."""

import os
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import accumulate, chain, pairwise
from pathlib import Path
from types import MappingProxyType
from typing import Any, Self

import numpy as np
from scipy.sparse import issparse

from streamnb.core.messages import DataError, listed
from streamnb.core.stored_files import StoredFile, file_system, is_url
from streamnb.core.threads import in_order, n_cores
from streamnb.rows.boundary import as_matrix, check_not_delayed, is_dask, is_stream, made_by
from streamnb.rows.files import (
    CSV,
    IPC,
    JSON,
    LINES,
    MAGIC,
    PARQUET,
    REQUESTS,
    by_magic,
    by_name,
    files_at,
    files_below,
    files_in,
    holds_numbers,
    in_blocks,
    is_folder,
    of_each,
    pyarrow_for,
    raw_file,
    stored,
    with_sizes,
)
from streamnb.rows.line_files import LineFiles
from streamnb.rows.line_formats import date_type, table_format
from streamnb.rows.source import Job
from streamnb.rows.table_columns import BOOLEAN, CATEGORY, DATES, MEASURED, NOTHING, NUMBER, arrow, kind_of, wider
from streamnb.rows.tables import (
    PIECE_ROWS,
    ArrowTable,
    Fields,
    FrameTable,
    NumberSource,
    Tables,
    batch_of_frame,
    check_names,
    raise_mixed,
    schema_of_frame,
)

CONVERTED = *DATES, *MEASURED  # kinds whose types differ in units, zones and precision
AHEAD_BYTES = 128 << 20  # of decoded row groups that are read at a time, or waited for, at a URL
# Arrow reads years beyond 1678 to 2262 as other years unless told, and does not look at checksums of pages
OPTIONS = {"coerce_int96_timestamp_unit": "us", "page_checksum_verification": True}


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

    def _between(self, start: int, stop: int) -> Iterator[Any]:
        """Yield parts, rows and the record batches from these on, of all that have rows in [start, stop)."""
        for part, (first, end) in enumerate(pairwise(self._firsts)):
            if first < stop and end > start:
                places = list(accumulate(self._lengths[part], initial=first))
                place = max(bisect_right(places, start) - 1, 0)
                yield part, places[place], self._read(part, place)

    def jobs(self, start: int, stop: int) -> Iterator[Job]:
        for part, row, batches in self._between(start, stop):
            for batch in batches:
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

    def _between(self, start: int, stop: int) -> Iterator[Any]:
        if not is_url(self._names[0]):
            yield from super()._between(start, stop)
            return
        groups = [(part, k) for part, lengths in enumerate(self._lengths) for k in range(len(lengths))]
        bounds = pairwise(accumulate(chain.from_iterable(self._lengths), initial=0))
        wanted = [(*at, row) for at, (row, end) in zip(groups, bounds, strict=True) if row < stop and end > start]
        ahead = min(AHEAD_BYTES * len(groups) // (self.nbytes or 1), REQUESTS)  # each connection has its limit
        yield from in_order(lambda at: (at[0], at[2], [*self._read(at[0], at[1], at[1] + 1)]), wanted, ahead)

    def _read(self, part: int, place: int, end: int | None = None) -> Iterator[Any]:
        file, n_groups = self._stored[part], end or len(self._lengths[part])
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
    form = ds.ParquetFileFormat(dictionary_columns=form.read_options.dictionary_columns, **OPTIONS)
    groups = [group.id for group in fragment.row_groups]
    file = fragment.buffer or fragment.path
    return form.make_fragment(file, fragment.filesystem, fragment.partition_expression, row_groups=groups)


def partitioned(path: str) -> Dataset:
    """The Parquet files below folders such as year=2024, here or at a URL; "01067" is no number."""
    import pyarrow.dataset as ds
    from pyarrow.fs import FSSpecHandler, PyFileSystem

    name, files, protocol = path, None, ""
    if is_url(path):
        remote, name = file_system(path)
        files, protocol = PyFileSystem(FSSpecHandler(remote)), f"{path.partition('://')[0]}://"
    with errors_named(path):
        dataset = ds.dataset(name, partitioning="hive", filesystem=files)
    types = dataset.partitioning.schema
    padded = {key for file in dataset.files for key in re.findall(r"([^/=]+)=0\d", file)}
    for key in padded.intersection(types.names):
        types = types.set(types.get_field_index(key), arrow().field(key, arrow().string()))
    if padded:
        dataset = ds.dataset(name, partitioning=ds.partitioning(types, flavor="hive"), filesystem=files)
    return Dataset(dataset, protocol)


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
    return arrow().PythonFile(in_blocks(path, expected)) if is_url(path) else arrow().memory_map(path)


def _parquet(path: str, expected: StoredFile | None = None, **options: Any) -> Any:
    import pyarrow.parquet as pq

    if is_url(path):  # columns that lie side by side are asked for together
        return pq.ParquetFile(raw_file(path, expected), pre_buffer=True, **OPTIONS, **options)
    return pq.ParquetFile(path, **OPTIONS, **options)


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


COMPLETE, COUNTS, ANY, NONE = "complete", "counts", "any", "none"  # which tables of numbers are not encoded
IN_MEMORY = "iloc", "num_rows", "height"  # attributes of tables whose rows are held
TABLES = {PARQUET: PARQUET, IPC: IPC, CSV: LINES, JSON: LINES}  # formats of tables
SOME_ROWS = 1 << 14  # rows of a frame that are checked for missing values together


# ---- what X is -------------------------------------------------------------------------------------------------------


def is_table(X: Any) -> bool:
    """Whether X may be opened as a table: a path with the name of one, named columns, or records."""
    if isinstance(X, Tables) or is_records(X):
        return True
    if isinstance(X, list | tuple):  # a str in it is a text, unless it is the URL of a table
        of_tables = (is_table(x) if isinstance(x, os.PathLike) else is_url(x) and format_of(x) is not None for x in X)
        return bool(X) and all(of_tables)
    if is_path(X):
        path = os.fspath(X)
        if format_of(path) is not None:
            return True
        if is_url(path):
            return any(map(format_of, files_below(path)))
        return os.path.isdir(path) and not holds_numbers(path) and any(map(format_of, files_in(path)))
    if _is_lazy_frame(X) or _is_hugging_face(X):
        return True
    kind = type(X)  # looking at a lazy frame itself would resolve it
    if hasattr(kind, "__arrow_c_stream__") or hasattr(kind, "get_fragments"):
        return hasattr(kind, "columns") or hasattr(kind, "schema")  # a column by itself has neither
    shape = getattr(X, "shape", None)  # delayed Dask objects seem to have every attribute
    return hasattr(X, "iloc") and hasattr(X, "columns") and isinstance(shape, tuple) and len(shape) == 2


def as_table(X: Any, named: bool = False) -> Any:
    """X, with the rows of a table that cannot be read again and again, such as a reader, collected in memory.

    `named` says that X is known to be a table, because a column of it is named, or a model takes tables. Then a list of
    strings holds paths, and a stream of record batches or frames is collected, too.
    """
    check_not_delayed(X=X)
    if _is_lazy_frame(X):
        return X.collect()
    if _is_hugging_face(X):
        return X.with_format("arrow")[:]
    if is_table(X) and hasattr(X, "__arrow_c_stream__") and not any(hasattr(type(X), name) for name in IN_MEMORY):
        return arrow().table(X)
    if named and isinstance(X, list | tuple):
        paths = [Path(x) if isinstance(x, str) and not is_url(x) else x for x in X]
        return paths if is_table(paths) else X
    return _of_stream(X) if named and is_stream(X) else X


def _is_hugging_face(X: Any) -> bool:
    return made_by(X, "datasets") and hasattr(X, "with_format") and hasattr(X, "num_rows")


def _is_lazy_frame(X: Any) -> bool:
    return made_by(X, "polars") and hasattr(X, "collect")


def _of_stream(X: Any) -> Any:
    """One table of a stream of tables; another stream, with its first chunk still to come."""
    chunks = iter(X() if callable(X) else X)
    first = next(chunks, None)
    if not is_table(first) or is_path(first):
        return X if callable(X) else chain([] if first is None else [first], chunks)
    pa = arrow()
    tables = [pa.table(tabular(as_table(chunk))) for chunk in chain([first], chunks)]
    for n, table in enumerate(tables):
        if table.column_names != tables[0].column_names:
            raise DataError(
                f"X: chunk {n} has the columns {listed(table.column_names)}, and the first one has "
                f"{listed(tables[0].column_names)}; chunks of one table should have the same columns"
            )
    try:
        return pa.concat_tables([table.replace_schema_metadata() for table in tables], promote_options="permissive")
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise DataError(f"X: its chunks hold a column of several types ({error}); make it of one type") from error


def is_records(X: Any) -> bool:
    """Whether X is a row as a dict of its values by column, or a list of such rows."""
    return len(_records(X)) > 0 and all(isinstance(row, dict) and not issparse(row) for row in _records(X))


def _records(X: Any) -> Any:
    return X if isinstance(X, list | tuple) else [X]


def is_row(X: Any) -> bool:
    """Whether X is a pandas Series that may be a row of a frame: its index has names."""
    return made_by(X, "pandas") and getattr(X, "ndim", 0) == 1 and all(isinstance(name, str) for name in X.index)


def tabular(X: Any, kinds: Mapping[str, str | None] = MappingProxyType({})) -> Any:
    """X, of which records and record batches are made an Arrow table; `kinds` as in `open_tables`.

    As in JSON lines, a key that a record lacks is missing, and strings are dates where all look like it.
    """
    if made_by(X, "pyarrow") and isinstance(X, arrow().RecordBatch):
        return arrow().table(X)
    if not is_records(X):
        return X
    pa, rows = arrow(), _records(X)
    names = [*dict.fromkeys(chain(*rows, kinds))]
    columns = []
    for name in names:
        try:
            column = pa.array([_as_arrow_takes(row.get(name)) for row in rows], from_pandas=True)
        except (pa.ArrowException, OverflowError, UnicodeEncodeError) as error:
            raise_mixed(str(name), error)
        if kinds.get(name, NOTHING) not in (None, CATEGORY):
            column = column.cast(date_type(column) or column.type)
        columns.append(column)
    return pa.table(columns, names=[str(name) for name in names])


def _as_arrow_takes(value: Any) -> Any:
    """A value, of which dates of NumPy are those of Python where Arrow lacks their unit, such as days."""
    coarse = isinstance(value, np.datetime64) and np.datetime_data(value.dtype)[0] not in ("s", "ms", "us", "ns")
    return value.item() if coarse else value


def is_matrix(X: Any, numbers: str = COMPLETE) -> bool:
    """Whether the features of a frame or of `Tables` are numbers that stay as they are.

    If COMPLETE, all columns are numbers without missing values, if COUNTS also whole and not negative; missing values
    do not matter if ANY. NONE is said of no table.
    """
    if numbers == NONE:
        return False
    if isinstance(X, Tables):
        kinds = {kind_of(field.type) for field in X.schema if field.name in X.fields.features}
        source = NumberSource.of(X, X.fields.features, None, None, n_cores())
        return kinds <= {NUMBER, BOOLEAN} and all(_are_in(block.X, numbers) for block in source.blocks())
    if not all(dtype.kind in "biufc" or _are_numbers(X, j) for j, dtype in enumerate(X.dtypes)):
        return False
    if is_dask(X):
        return bool(X.map_partitions(_frame_is_in, numbers, meta=(None, bool)).compute().all())
    return _frame_is_in(X, numbers)


def _frame_is_in(frame: Any, numbers: str) -> bool:
    """Whether numbers of a pandas data frame are among those that stay as they are."""
    if numbers == ANY:
        return True
    for first in range(0, len(frame), SOME_ROWS):
        some = frame[first : first + SOME_ROWS]
        if some.isna().to_numpy().any() or (numbers == COUNTS and not _are_in(as_matrix(some), COUNTS)):
            return False
    return True


def _are_in(values: np.ndarray, numbers: str) -> bool:
    """Whether numbers are among those that stay as they are."""
    if numbers == ANY:
        return True
    if numbers == COUNTS:
        return bool(((values >= 0.0) & (np.floor(values) == values)).all())  # false of NaN
    return not np.isnan(values).any()


def _are_numbers(frame: Any, j: int) -> bool:
    """Whether all objects in a column of a pandas data frame are numbers or missing."""
    from pandas.api.types import infer_dtype

    kinds = "integer", "floating", "mixed-integer-float", "boolean", "decimal"
    return not is_dask(frame) and frame.dtypes.iloc[j].kind == "O" and infer_dtype(frame.iloc[:, j]) in kinds


def is_path(X: Any) -> bool:
    """Whether X is a path or several paths."""
    first = X[0] if isinstance(X, list | tuple) and X else None
    return isinstance(X, str | os.PathLike) or isinstance(first, os.PathLike) or is_url(first)


def format_of(path: str) -> str | None:
    """The format of a table file, by its name; None if it is not a table."""
    return TABLES.get(by_name(path) or "")


def open_tables(X: Any, kinds: Mapping[str, str | None], n_threads: int) -> Tables:
    """Open a table of any kind.

    `kinds` are those of columns, as far as they are known: where nothing stores types, categories, and None for any,
    are read as strings, and columns that no row has are missing.
    """
    arrow()
    if isinstance(X, Tables):
        return X
    if is_row(X):
        X = X.to_dict()
    if is_records(X):
        tables = ArrowTable(tabular(X, kinds))
        tables.unseen = frozenset(kinds).difference(*_records(X))
        return tables
    if isinstance(X, str | os.PathLike | list | tuple):
        return _of_paths(X, kinds, n_threads)
    if is_dask(X) and hasattr(X, "columns"):
        return DaskFrame(X)
    if made_by(X, "pandas") and hasattr(X, "columns"):
        return FrameTable(X)
    if hasattr(X, "get_fragments"):
        return Dataset(X)
    X = as_table(X, named=True)
    if not hasattr(X, "__arrow_c_stream__") and not hasattr(X, "__arrow_c_array__"):
        raise TypeError(
            f"X is of type {type(X).__name__}; a table is a path, a data frame of pandas, Polars or Dask, a table, "
            "dataset or reader of Arrow, a relation of DuckDB, or an iterator of such tables"
        )
    if made_by(X, "polars"):
        _check_no_objects(X)
    return ArrowTable(arrow().table(X))


def _check_no_objects(frame: Any) -> None:
    """Refuse a Polars data frame with a column of Python objects, of which Arrow would get other bytes, or Int128."""
    for name, dtype in frame.schema.items():
        if str(dtype) == "Object":
            raise TypeError(
                f"X: column {name!r} holds Python objects (dtype Object); make it of one type, such as strings"
            )
        if str(dtype).endswith("Int128"):
            raise TypeError(
                f"X: column {name!r} has dtype {dtype}, which Arrow lacks; cast it to Int64, Float64 or String"
            )


def _of_paths(X: Any, kinds: Mapping[str, str | None], n_threads: int) -> Tables:
    if isinstance(X, str | os.PathLike) and _is_partitioned(os.fspath(X)):
        return partitioned(os.fspath(X))
    paths = [path for given in (X if isinstance(X, list | tuple) else [X]) for path in _paths(os.fspath(given))]
    formats = dict(zip(paths, of_each(_detected_format, paths), strict=True))
    first = formats[paths[0]]
    for path, other in formats.items():
        if other != first:
            raise DataError(f"{path} is {other}, but {paths[0]} is {first}; files of one table should be of one format")
    if first == PARQUET:
        return ParquetFiles(paths, n_threads)
    return IPCFiles(paths, n_threads) if first == IPC else LineTables(paths, n_threads, kinds)


def _is_partitioned(path: str) -> bool:
    """Whether a path is a folder of folders such as year=2024, whose names have values of columns."""
    if not is_folder(path):
        return False
    return any("=" in os.path.dirname(file.removeprefix(path)) for file in files_in(path))


def _detected_format(path: str) -> str:
    """The format of a file, by its first bytes or otherwise by its name."""
    with raw_file(path) as file:
        head = file.read(8)
    kind, named = by_magic(head, MAGIC), format_of(path)
    if kind in (PARQUET, IPC):
        return kind
    if named != LINES:
        raise DataError(
            f"{path} is not {named or 'a table of a known format'}; it begins with {head!r}, and should be Parquet, "
            "Arrow IPC, CSV or JSON lines"
        )
    return LINES


def _paths(path: str) -> list[str]:
    """The files of a path: itself, the matches of a pattern, or the tables in a folder, sorted."""
    if not is_folder(path):
        return files_at(path)
    files = [file for file in files_in(path) if format_of(file) is not None]
    if not files:
        raise FileNotFoundError(f"X={path!r} is a folder without Parquet, Arrow IPC, CSV or JSON lines in it")
    return files
