"""Recognises and opens tables: files of several formats and in-memory tables of several packages."""

import os
from collections.abc import Mapping
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from scipy.sparse import issparse

from streamnb.core.messages import DataError, listed
from streamnb.core.stored_files import is_url
from streamnb.core.threads import n_cores
from streamnb.rows.boundary import as_matrix, check_not_delayed, is_dask, is_stream, made_by
from streamnb.rows.files import (
    CSV,
    IPC,
    JSON,
    LINES,
    MAGIC,
    PARQUET,
    by_magic,
    by_name,
    files_at,
    files_below,
    holds_numbers,
    is_folder,
    of_each,
    raw_file,
)
from streamnb.rows.line_formats import date_type
from streamnb.rows.table_columns import BOOLEAN, CATEGORY, NOTHING, NUMBER, arrow, kind_of
from streamnb.rows.table_files import DaskFrame, Dataset, IPCFiles, LineTables, ParquetFiles, partitioned
from streamnb.rows.tables import ArrowTable, FrameTable, NumberSource, Tables, check_names, raise_mixed

COMPLETE, COUNTS, ANY, NONE = "complete", "counts", "any", "none"  # which tables of numbers are not encoded
IN_MEMORY = "iloc", "num_rows", "height"  # attributes of tables whose rows are held
TABLES = {PARQUET: PARQUET, IPC: IPC, CSV: LINES, JSON: LINES}  # formats of tables
SOME_ROWS = 1 << 14  # rows of a frame that are checked for missing values together


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
        return os.path.isdir(path) and not holds_numbers(path) and any(map(format_of, _files_in(path)))
    kind = type(X)  # looking at a lazy frame itself would resolve it
    if hasattr(kind, "__arrow_c_stream__") or hasattr(kind, "get_fragments") or _is_lazy_frame(X):
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
    if is_table(X) and hasattr(X, "__arrow_c_stream__") and not any(hasattr(type(X), name) for name in IN_MEMORY):
        return arrow().table(X)
    if named and isinstance(X, list | tuple):
        paths = [Path(x) if isinstance(x, str) and not is_url(x) else x for x in X]
        return paths if is_table(paths) else X
    return _of_stream(X) if named and is_stream(X) else X


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
            column = pa.array([row.get(name) for row in rows], from_pandas=True)
        except (pa.ArrowException, OverflowError, UnicodeEncodeError) as error:
            raise_mixed(str(name), error)
        if kinds.get(name, NOTHING) not in (None, CATEGORY):
            column = column.cast(date_type(column) or column.type)
        columns.append(column)
    return pa.table(columns, names=[str(name) for name in names])


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
        tables = _in_memory(tabular(X, kinds))
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
    return _in_memory(arrow().table(X))


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


def _in_memory(table: Any) -> ArrowTable:
    check_names(table.column_names, "X")
    return ArrowTable(table)


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
    if not is_url(path):
        return any("=" in folder.name for folder in Path(path).glob("*/"))
    if "=" in path or not is_folder(path):
        return False
    return any("=" in os.path.dirname(file) for file in _files_in(path))


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
    files = [file for file in _files_in(path) if format_of(file) is not None]
    if not files:
        raise FileNotFoundError(f"X={path!r} is a folder without Parquet, Arrow IPC, CSV or JSON lines in it")
    return files


def _files_in(folder: str) -> list[str]:
    """The files in a folder and its subfolders, without hidden ones."""
    if is_url(folder):
        return files_at(folder)
    inside = (path for path in sorted(Path(folder).rglob("*")) if path.is_file())
    return [str(path) for path in inside if not path.relative_to(folder).parts[-1].startswith((".", "_"))]
