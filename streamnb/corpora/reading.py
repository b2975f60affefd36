"""Reads the rows of one part: jobs that parse them, and what is kept of each row as it is stored."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import Any

from streamnb.corpora.inputs import CorpusPart
from streamnb.encoding.table_encoding import TableEncoding
from streamnb.encoding.text import TextEncoding
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
from streamnb.rows.files import FILES, IPC, LINES, PARQUET, WARC, size_of
from streamnb.rows.line_files import LinesOfFile
from streamnb.rows.line_formats import fields_format, format_beside, stored_format, text_format
from streamnb.rows.table_files import IPCFiles, ParquetFiles
from streamnb.rows.tables import Fields, check_has


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
        return Fields(tuple(self.encoding.columns), kinds=self.encoding.columns, zones=self.encoding.zones)

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
