"""Documents as rows: the records of WARC and WET files, and whole files of text, also in a folder for each class."""

import os
from bisect import bisect_right
from codecs import lookup
from collections.abc import Iterable, Iterator
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from glob import has_magic
from itertools import accumulate
from operator import attrgetter, sub
from pathlib import Path
from typing import Any

import numpy as np

from streamnb.core.messages import DataError
from streamnb.core.remote import is_url, relative
from streamnb.rows.files import (
    BOM,
    DAMAGED,
    TEXT_PACKED,
    compression_of,
    compression_of_text,
    content_of,
    damaged,
    files_below,
    listed_at,
    of_each,
    opened_file,
    pyarrow_for,
    read_ahead,
    with_sizes,
    without_query,
)
from streamnb.rows.records import RowsAlone, StoredColumns, of_columns
from streamnb.rows.source import Job, RawRows
from streamnb.rows.texts import PIECE_BYTES, PIECE_ROWS, Texts, of_parts

OF_RECORDS, OF_FILES = ("url", "date", "id"), ("path",)  # fields beside the text
TEXT = "text"
HTML = "text/html", "application/xhtml+xml"
Document = tuple[bytes, tuple[str, ...]]  # the text, and the fields beside it


@dataclass(frozen=True)
class DocumentPiece:
    """Documents that are read together; rows keep the fields `beside`."""

    documents: tuple[Document, ...]
    names: tuple[str, ...]  # of the fields of a document
    beside: tuple[str, ...]
    parse: bool
    first_row: int
    row: int = 0  # among all that are read together

    @property
    def n_rows(self) -> int:
        return len(self.documents)

    @property
    def nbytes(self) -> int:
        return sum(len(text) for text, _ in self.documents)

    def __call__(self) -> Any:
        """The texts, or where none is parsed, the fields alone."""
        if not self.parse:
            return RowsAlone(self)
        texts = [text for text, _ in self.documents]
        return of_parts(texts, where=self.documents[0][1][0], beside=self.fields() if self.beside else None)

    def __len__(self) -> int:
        return len(self.documents)

    def picked(self, rows: np.ndarray) -> StoredColumns:
        """The fields of the rows where a mask is true; no other text is decoded."""
        some = tuple(document for document, keep in zip(self.documents, rows.tolist(), strict=True) if keep)
        return replace(self, documents=some).fields()

    def fields(self) -> StoredColumns:
        """The fields beside the texts, as columns."""
        values: Any = [*zip(*(others for _, others in self.documents), strict=True)] or [()] * len(self.names)
        columns = {name: list(column) for name, column in zip(self.names, values, strict=True)}
        if TEXT in self.beside:
            columns[TEXT] = [self._decoded(text) for text, _ in self.documents]
        return of_columns({name: columns[name] for name in self.beside})

    def _decoded(self, text: bytes) -> str:
        try:
            return text.decode()
        except UnicodeDecodeError as error:
            raise DataError(f"a text is not UTF-8 ({error})") from error

    def cut(self, start: int, stop: int) -> "DocumentPiece":
        """The documents in [start, stop), numbered within this piece."""
        rows: Any = {"first_row": self.first_row + start, "row": self.row + start}
        return replace(self, documents=self.documents[start:stop], **rows)

    def named(self, error: Exception) -> DataError:
        """An error of this one document, with its URL or path."""
        return DataError(f"{self.documents[0][1][0]}: {str(error).removeprefix(f'{self.documents[0][1][0]}: ')}")


def pieces_of(documents: Iterable[Document], like: DocumentPiece) -> Iterator[DocumentPiece]:
    """Documents in pieces of about a megabyte, which are otherwise like one without documents."""
    some: list[Document] = []
    first_row, n_bytes = 0, 0
    for document in documents:
        some.append(document)
        n_bytes += len(document[0])
        if n_bytes >= PIECE_BYTES or len(some) == PIECE_ROWS:
            yield replace(like, documents=tuple(some), first_row=first_row)
            first_row, n_bytes, some = first_row + len(some), 0, []
    if some:
        yield replace(like, documents=tuple(some), first_row=first_row)


def documents_of_files(paths: Iterable[str]) -> Iterator[Document]:
    """The texts of whole files, packed or not."""
    for path in paths:
        yield content_of(path, compression_of(path)), (path,)


def documents_of_warc(path: str) -> Iterator[Document]:
    """The texts of the records of a WARC or WET file; of pages of HTML what a reader sees, of others nothing."""
    warc, kinds = _warc()
    try:
        with opened_file(path) if compression_of(path) != "gzip" else _Members(path) as file:
            for record in warc(file, record_types=kinds, parse_http=True):
                text = record.reader.read()
                url = record.headers.get("WARC-Target-URI") or record.record_id
                if len(text) != record.content_length:
                    raise DataError(f"{path}: the record of {url} is cut off")
                if record.is_http:
                    text = _text_of_page(text, record)
                if text:
                    date = record.record_date
                    yield text, (url, "" if date is None else date.isoformat(), record.record_id)
    except DAMAGED as error:
        raise damaged(path, error) from error


class WarcFiles(RawRows):
    """The texts of the records of WARC and WET files; each is read from its beginning."""

    def __init__(self, paths: list[str]):
        self.files, self.nbytes = with_sizes(paths), 0
        self.no_columns = f"the records of {paths[0]} have no labels"
        self._ends = [0]
        for path in paths:
            pieces = list(map(attrgetter("n_rows", "nbytes"), self._pieces(path)))
            self._ends.append(self._ends[-1] + sum(n for n, _ in pieces))
            self.nbytes += sum(n for _, n in pieces)
        self.n_rows = self._ends[-1]
        self.step = max(map(sub, self._ends[1:], self._ends))
        if not self.n_rows:
            raise DataError(f"{paths[0]} holds no record with text")

    def _pieces(self, path: str) -> Iterator[DocumentPiece]:
        return pieces_of(documents_of_warc(path), DocumentPiece((), OF_RECORDS, (), True, 0))

    def jobs(self, start: int, stop: int) -> Iterator[Job]:
        for (path, _), before, end in zip(self.files, self._ends, self._ends[1:], strict=False):
            for piece in self._pieces(path) if before < stop and end > start else ():
                first = before + piece.first_row
                here = piece.documents[max(start - first, 0) : max(stop - first, 0)]
                if here:
                    yield max(first, start), replace(piece, documents=here)


class _Members:
    """A gzip file of a member for each record, which Arrow unpacks faster than Python; fastwarc asks for places."""

    def __init__(self, path: str):
        file = read_ahead(path) if is_url(path) else path
        self._stream = pyarrow_for("a WARC file").input_stream(file, compression="gzip")
        self._place = 0

    def __enter__(self) -> "_Members":
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.close()

    def read(self, n: int) -> bytes:
        part: bytes = self._stream.read(n)
        self._place += len(part)
        return part

    def tell(self) -> int:
        return self._place


def _warc() -> tuple[Any, Any]:
    try:
        from fastwarc.warc import ArchiveIterator, WarcRecordType
    except ImportError as error:
        raise ImportError("WARC and WET files need fastwarc: pip install streamnb[warc]") from error
    return ArchiveIterator, WarcRecordType.conversion | WarcRecordType.response | WarcRecordType.resource


def _text_of_page(page: bytes, record: Any) -> bytes:
    """The visible text of a page; nothing of what is no page."""
    from resiliparse.extract.html2text import extract_plain_text

    if (record.http_content_type or "").lower() not in HTML:
        return b""
    text: str = extract_plain_text(page.decode(_codec(record.http_charset), "replace"), main_content=False)
    return text.encode()


def _codec(name: str | None) -> str:
    """The encoding that a page says it has, if Python knows it."""
    try:
        return lookup(name or "utf-8").name
    except LookupError:
        return "utf-8"


# ---- folders of texts ------------------------------------------------------------------------------------------------


def holds_text_files(X: Any) -> bool:
    """Whether X is a path of plain text files by name: ".txt", compressed or not, a pattern or folders of them."""
    if not isinstance(X, str | os.PathLike):
        return False
    path = Path(X)
    if is_url(X):
        path = Path(without_query(next(iter(files_below(os.fspath(X))), os.fspath(X))))
    elif path.is_dir():
        path = next((file for file in (*path.glob("*"), *path.glob("*/*")) if file.is_file()), path)
    elif not path.is_file() and not has_magic(str(X)):
        return False
    return path.name.removesuffix(path.suffix if path.suffix in TEXT_PACKED else "").endswith(".txt")


class TextFolders(RawRows):
    """A folder for each class, with a file for each row."""

    no_columns = "X is a folder of texts, a file a row"

    def __init__(self, folder: Path | str):
        """`folder` is a path, or a URL as a str."""
        if isinstance(folder, str):
            self.files = tuple(listed_at(folder))
            names = [relative(path, folder).partition("/")[0] for path, _ in self.files]
        else:
            classes = sorted(path for path in folder.iterdir() if path.is_dir())
            files = [(path, one.name) for one in classes for path in sorted(one.rglob("*")) if path.is_file()]
            self.files, names = with_sizes(str(path) for path, _ in files), [name for _, name in files]
        self._labels: np.ndarray | None = np.array(names)
        self.n_rows = len(names)
        self._ends = list(accumulate(size for _, size in self.files))
        self.nbytes = self._ends[-1] if names else 0

    def jobs(self, start: int, stop: int) -> Iterator[Job]:
        while start < stop:
            before = self._ends[start - 1] if start else 0
            end = min(bisect_right(self._ends, before + PIECE_BYTES), start + PIECE_ROWS, stop)
            end = max(end, start + 1)
            yield start, partial(self._texts, start, end)
            start = end

    def _texts(self, start: int, stop: int) -> Texts:
        paths = [path for path, _ in self.files[start:stop]]
        parts = of_each(lambda path: content_of(path, compression_of_text(path)).removeprefix(BOM), paths)
        labels = None if self._labels is None else self._labels[start:stop]
        return of_parts(parts, y=labels, where=f"the files from {self.files[start][0]} on")

    def without_labels(self) -> "TextFolders":
        part = copy(self)
        part._labels = None
        return part
