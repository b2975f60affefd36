"""The files or the table of a corpus, the parts in which they are read, and the rows of one part."""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import Any

from streamnb.core.messages import DataError, nearest
from streamnb.core.stored_files import is_url
from streamnb.encoding.table_encoding import TableEncoding
from streamnb.encoding.text import TextEncoding
from streamnb.rows.boundary import is_dask
from streamnb.rows.documents import (
    OF_FILES,
    OF_RECORDS,
    TEXT,
    Document,
    DocumentPiece,
    documents_of_files,
    documents_of_warc,
    pieces_of,
)
from streamnb.rows.files import (
    CSV,
    FILES,
    IPC,
    JSON,
    LINES,
    MAGIC,
    PARQUET,
    WARC,
    by_magic,
    by_name,
    compression_of,
    files_at,
    files_in,
    head_of,
    listed_at,
    no_such_file,
    size_of,
    with_sizes,
)
from streamnb.rows.line_files import LinesOfFile
from streamnb.rows.line_formats import fields_format, format_beside, stored_format, text_format
from streamnb.rows.source import Source
from streamnb.rows.table_columns import arrow
from streamnb.rows.table_opening import IPCFiles, ParquetFiles, as_table, is_path, is_table, tabular
from streamnb.rows.tables import Fields, Tables, check_has

PART_BYTES = 64 << 20  # stored bytes of files that are read as one part, or of a piece of a larger file
DIVISIBLE = JSON, LINES, PARQUET, IPC  # kinds that are read from any place on; quoted fields of CSV may span lines
Files = list[tuple[str, int]]  # paths and sizes
PART_ROWS, PIECE_ROWS = 1 << 20, 1 << 16  # of a table in memory


@dataclass(frozen=True)
class CorpusPart:
    """Rows that are read and written together: those of some files, or one of several pieces of a file."""

    number: int
    files: tuple[str, ...] = ()
    piece: int = 0
    n_pieces: int = 1

    def __str__(self) -> str:
        return f"part {self.number}, of {self.files[0]}"


def files_of(X: Any) -> Files:
    """The files of a path, pattern, folder or URL, or of several, sorted within each."""
    several = isinstance(X, list | tuple)
    if not several and not isinstance(X, str | os.PathLike):
        raise TypeError(
            f"X is of type {type(X).__name__}; it should be a path, a pattern such as 'crawl/*.jsonl.zst', a folder, "
            "or a list of these"
        )
    found = [file for one in (X if several else [X]) for file in _files(os.fspath(one))]
    if not found:
        raise ValueError("X=[] names no file")
    return found


def _files(path: str) -> Files:
    if is_url(path):
        return listed_at(path)
    found = files_in(path) if os.path.isdir(path) else files_at(path)
    if not found:
        raise no_such_file(path)
    return list(with_sizes(map(os.path.abspath, found)))


def kind_of_files(files: Files, whole_files: bool = False) -> str:
    """What all files are: lines, JSON lines, CSV, Parquet, Arrow IPC, WARC, or with `whole_files` a row each."""
    if whole_files:
        return FILES
    kinds = {path: by_name(path) or LINES for path, _ in files}
    first = files[0][0]
    for path, kind in kinds.items():
        if kind != kinds[first]:
            raise DataError(f"{path} is {kind}, but {first} is {kinds[first]}; give files of one format")
    kind = kinds[first]
    if kind not in (LINES, JSON, CSV, PARQUET, IPC, WARC):
        raise DataError(f"{first} is {kind}; a corpus is of JSON lines, CSV, text, Parquet, Arrow IPC or WARC files")
    other = by_magic(head_of(first), MAGIC)
    if other is not None and other != kind:
        raise DataError(f"{first} is {other}, unlike its name; rename it")
    return kind


def parts_of(files: Files, kind: str) -> list[CorpusPart]:
    """The parts in which files are read; they depend on the names and sizes of the files alone."""
    groups: list[tuple[list[str], int]] = []
    together = 0
    for path, size in files:
        n_pieces = max(-(-size // PART_BYTES), 1) if kind in DIVISIBLE and size > PART_BYTES else 1
        if n_pieces > 1 and kind in (JSON, LINES) and compression_of(path) is not None:
            n_pieces = 1  # a packed file is read from its beginning
        if groups and n_pieces == groups[-1][1] == 1 and together + size <= PART_BYTES:
            groups[-1][0].append(path)
            together += size
        else:
            groups.append(([path], n_pieces))
            together = size
    pieces = [(tuple(paths), k, n) for paths, n in groups for k in range(n)]
    return [CorpusPart(number, *piece) for number, piece in enumerate(pieces)]


@dataclass(frozen=True)
class TablePiece:
    """Rows of a table, in a form that is cut by slices."""

    first_row: int
    rows: Any
    nbytes: int
    n_rows: int
    row: int = 0  # in the part

    def __call__(self) -> Any:
        return self.rows

    def cut(self, start: int, stop: int) -> "TablePiece":
        """The rows in [start, stop), numbered within this piece."""
        n, nbytes = stop - start, self.nbytes * (stop - start) // self.n_rows
        return TablePiece(self.first_row + start, self.rows[start:stop], nbytes, n, self.row + start)

    def named(self, error: Exception) -> Exception:
        """An error of this one row, which names file and row already."""
        return error


@dataclass(frozen=True)
class CorpusReading:
    """How the rows of files are read.

    Attributes
    ----------
    kind : str
        What the files are.
    encoding : TextEncoding or TableEncoding, optional
        Whose columns are read; None: no row is parsed.
    keep : tuple of str
        Fields that rows keep as they are stored.
    whole : bool
        Whether rows keep everything that is stored.
    """

    kind: str
    encoding: TextEncoding | TableEncoding | None
    keep: tuple[str, ...] = ()
    whole: bool = False

    def jobs(self, part: CorpusPart) -> Iterator[Any]:
        """Yield pieces of rows, in order; called, a piece is parsed."""
        before = 0
        if self.kind == FILES:
            jobs: Iterable[Any] = self._of_documents(documents_of_files(part.files), OF_FILES)
        else:
            jobs = chain.from_iterable(self._of_file(path, part) for path in part.files)
        for job in jobs:
            yield replace(job, row=before)
            before += job.n_rows

    def _of_file(self, path: str, part: CorpusPart) -> Iterator[Any]:
        if self.kind in (PARQUET, IPC):
            return self._of_table(path, part)
        if self.kind == WARC:
            return self._of_documents(documents_of_warc(path), OF_RECORDS)
        return LinesOfFile(path, self._infer, part.piece, part.n_pieces).pieces()

    def alone(self) -> "CorpusReading":
        """The same rows, of which nothing is parsed."""
        return replace(self, encoding=None)

    def _of_documents(self, documents: Iterable[Document], names: tuple[str, ...]) -> Iterator[DocumentPiece]:
        for name in self.keep:
            if name not in (*names, TEXT):
                raise ValueError(f"keep={name!r} is not a field of documents; they have {[*names, TEXT]}")
        beside = (*names, TEXT) if self.whole else self.keep
        return pieces_of(documents, DocumentPiece((), names, beside, self.encoding is not None, 0))

    @property
    def _infer(self) -> Any:
        beside = Fields((), beside=self.keep, lines=self.whole)
        if self.encoding is None:
            return stored_format
        if isinstance(self.encoding, TextEncoding):
            text = None if self.kind == LINES else self.encoding.text
            infer: Any = partial(text_format, {"text": text, "y": None, "weight": None}, "y")
        else:
            infer = partial(fields_format, self._fields)
        return partial(format_beside, beside, infer)

    @property
    def _fields(self) -> Fields:
        """The columns of a table that are read."""
        if self.encoding is None:
            return Fields(())
        if isinstance(self.encoding, TextEncoding):
            return Fields((str(self.encoding.text),))
        known = self.encoding
        return Fields(tuple(known.columns), kinds=known.columns, zones=known.zones, strings_too=known.strings_too)

    def _of_table(self, path: str, part: CorpusPart) -> Iterator[TablePiece]:
        encoding = self.encoding
        tables: Any = ParquetFiles([path], 1) if self.kind == PARQUET else IPCFiles([path], 1)
        if isinstance(encoding, TableEncoding):
            encoding.check_columns(tables)
        elif encoding is not None:
            check_has(tables.schema, [str(encoding.text)], "text", path)
        check_has(tables.schema, self.keep, "keep", path)
        beside = tuple(tables.schema.names) if self.whole else self.keep
        tables = tables.selected(replace(self._fields, beside=beside))
        start, stop = tables.piece(part.piece, part.n_pieces)
        size = size_of(path) / max(tables.n_rows, 1)  # of a row as it is stored
        for first_row, read in tables.jobs(start, stop):
            rows = read()
            yield TablePiece(first_row, rows, int(size * rows.shape[0]), rows.shape[0])


def is_held_table(X: Any) -> bool:
    """Whether X is a table that is not to be opened from files."""
    return not isinstance(X, Source) and is_table(X) and not is_path(X)


@dataclass(frozen=True, eq=False)
class HeldTable:
    """How a table is read: in parts of so many rows, or in the partitions that it has in Dask."""

    table: Any  # of pandas, Dask or Arrow

    @classmethod
    def of(cls, X: Any) -> "HeldTable":
        """Of a data frame of any package, or an Arrow table."""
        if isinstance(X, Tables):
            raise TypeError("X is a part of a table that was split; give the table itself, whose parts are written")
        X = tabular(as_table(X, named=True))
        return cls(X if hasattr(X, "iloc") else arrow().table(X))

    def check_has(self, argument: str, names: Iterable[str]) -> None:
        """Refuse names that are no columns."""
        known = [str(name) for name in getattr(self.table, "column_names", None) or self.table.columns]
        for name in names:
            if name not in known:
                raise ValueError(f"{argument}={name!r} is not a column of X: {nearest(name, known)}")

    @property
    def parts(self) -> list[CorpusPart]:
        """The parts, which follow the order of the rows."""
        n_parts = self.table.npartitions if is_dask(self.table) else max(-(-self.table.shape[0] // PART_ROWS), 1)
        return [CorpusPart(number, ("the table",), number, n_parts) for number in range(n_parts)]

    def jobs(self, part: CorpusPart) -> Iterator[TablePiece]:
        """Yield pieces of a part, in order."""
        if is_dask(self.table):
            rows = self.table.get_partition(part.piece).compute()
        else:
            rows = self.table[part.piece * PART_ROWS : (part.piece + 1) * PART_ROWS]
        for first in range(0, rows.shape[0], PIECE_ROWS):
            some = rows[first : first + PIECE_ROWS]
            nbytes = some.memory_usage(index=False).sum() if hasattr(some, "iloc") else some.nbytes
            yield TablePiece(first, some, int(nbytes), some.shape[0], first)
