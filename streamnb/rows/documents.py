"""Documents as rows: the records of WARC and WET files, and whole files of text, also in a folder for each class."""

import re
import zlib
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate
from operator import attrgetter, sub
from pathlib import Path
from typing import Any

import numpy as np

from streamnb.core.messages import DataError
from streamnb.core.stored_files import is_url, relative
from streamnb.rows.files import (
    BOM,
    DAMAGED,
    HEAD,
    by_magic,
    compression_of,
    compression_of_text,
    content_of,
    damaged,
    head_of,
    listed_at,
    of_each,
    opened_file,
    pyarrow_for,
    read_ahead,
    with_sizes,
)
from streamnb.rows.records import RowsAlone, StoredColumns, of_columns
from streamnb.rows.source import Job, RawRows
from streamnb.rows.texts import PIECE_BYTES, PIECE_ROWS, Texts, of_parts

OF_RECORDS, OF_FILES = ("url", "date", "id"), ("path",)  # fields beside the text
TEXT = "text"
HTML = "text/html", "application/xhtml+xml"
WITH_TEXT = "conversion", "response", "resource"  # types of records
ZLIB_CODINGS, ARROW_CODINGS = ("gzip", "x-gzip", "deflate"), {"br": "brotli", "zstd": "zstd"}  # of bodies
DICTIONARY = b"\x5d\x2a\x4d\x18"  # begins a WARC file of zstd with the dictionary that its records are packed by
CHUNK = re.compile(rb"\s*([0-9a-fA-F]+)[ \t]*(?:;[^\r\n]*)?\r?\n")
COMMENT, META = re.compile(rb"<!--.*?-->", re.DOTALL), re.compile(rb"<meta\s[^>]*>", re.IGNORECASE)
XML = re.compile(rb"^\s*<\?xml\s[^>]*>", re.IGNORECASE)
CHARSET = re.compile(rb"""(?:charset|encoding)\s*=\s*["']?\s*([^\s"'/>;]+)""", re.IGNORECASE)
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
    records = _warc()
    try:
        with _Archive(path) as archive:
            for record in records(archive, parse_http=False, quirks_mode=archive.ends_lines_with_lf):
                url = record.headers.get("WARC-Target-URI") or record.record_id
                if "Content-Length" not in record.headers:
                    raise DataError(f"{path}: the header of the record of {url} is cut off")
                if str(record.record_type) not in WITH_TEXT:
                    continue
                record.parse_http(quirks_mode=True)  # some servers end the lines of headers with a line feed alone
                body = record.reader.read()
                if len(body) != record.content_length:
                    raise DataError(f"{path}: the record of {url} is cut off")
                text = _text_of_record(record, body)
                if text is not None:
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


class _Archive:
    """The bytes of a WARC file from front to back, with the places that fastwarc asks for."""

    def __init__(self, path: str):
        self._stream = _with_dictionary(path) if head_of(path).startswith(DICTIONARY) else opened_file(path)
        self._place = 0
        self._head = self._stream.read(HEAD)
        first_line = self._head.lstrip().partition(b"\n")[0]
        if first_line and not first_line.startswith(b"WARC/"):
            raise DataError(f"{path} is not a WARC or WET file: it begins with {first_line[:40]!r}, not with WARC/1.0")
        self.ends_lines_with_lf = not first_line.endswith(b"\r")

    def __enter__(self) -> "_Archive":
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.close()

    def read(self, n: int) -> bytes:
        part: bytes = self._head[:n] or self._stream.read(n)
        self._head = self._head[n:]
        self._place += len(part)
        return part

    def tell(self) -> int:
        return self._place


def _with_dictionary(path: str) -> Any:
    try:
        from fastwarc.stream_io import ZstdReader
    except ImportError as error:
        raise ImportError(
            f"{path} is packed by a dictionary, which needs fastwarc 2: pip install -U fastwarc"
        ) from error
    return ZstdReader(read_ahead(path) if is_url(path) else path)


def _warc() -> Any:
    try:
        from fastwarc.warc import ArchiveIterator
    except ImportError as error:
        raise ImportError("WARC and WET files need fastwarc: pip install streamnb[warc]") from error
    return ArchiveIterator


def _text_of_record(record: Any, body: bytes) -> bytes | None:
    """The text of a record, the visible one of a page of HTML; None where it holds none."""
    if str(record.record_type) == "conversion":
        return body
    headers = record.http_headers if record.is_http else record.headers
    content_type = (headers.get("Content-Type") or "").lower()
    kind = content_type.partition(";")[0].strip()
    if kind in HTML:
        return _text_of_page(_without_codings(body, headers), content_type.encode()) or None
    return None if record.is_http or kind not in ("", "text/plain") else body


def _without_codings(body: bytes, headers: Any) -> bytes:
    """A body as it was before the server cut it into chunks and packed it, which it may be in the archive or not."""
    if "chunked" in (headers.get("Transfer-Encoding") or "").lower():
        body = _joined_chunks(body)
    codings = (headers.get("Content-Encoding") or "").lower().replace(" ", "").split(",")
    for coding in reversed(codings):
        if coding in ZLIB_CODINGS or coding in ARROW_CODINGS:
            stored_unpacked = body.lstrip(b" \t\r\n" + BOM).startswith(b"<")
            body = body if stored_unpacked else _unpacked_body(body, coding)
    return body


def _unpacked_body(body: bytes, coding: str) -> bytes:
    """What can be unpacked of a body: all before the place where it is cut off, and nothing if it is not packed so."""
    if coding in ARROW_CODINGS:
        stream = pyarrow_for("a WARC file").input_stream(memoryview(body), compression=ARROW_CODINGS[coding])
        parts: list[bytes] = []
        with suppress(OSError):
            parts.extend(iter(lambda: stream.read(HEAD), b""))
        return b"".join(parts)
    for window in (47, -15) if coding == "deflate" else (47,):  # with a header of gzip or zlib, and without
        with suppress(zlib.error):
            return zlib.decompressobj(window).decompress(body)
    return b""


def _joined_chunks(body: bytes) -> bytes:
    """The chunks of a body, each after a line with its length; a body that has none of these as it is."""
    parts, place = [], 0
    while line := CHUNK.match(body, place):
        place = line.end() + int(line[1], 16)
        parts.append(body[line.end() : place])
        if place == line.end():  # the last chunk is empty
            break
    return b"".join(parts) if parts else body


def _text_of_page(page: bytes, content_type: bytes) -> bytes:
    """The visible text of a page of HTML."""
    from resiliparse.extract.html2text import extract_plain_text

    html = page.decode(_encoding_of(page, content_type), "replace").removeprefix("\ufeff")
    text: str = extract_plain_text(html, main_content=False)
    return text.encode()


def _encoding_of(page: bytes, content_type: bytes) -> str:
    """The encoding of a page, found in the order of browsers: marked, of the server, declared, or like the bytes."""
    from resiliparse.parse.encoding import detect_encoding, map_encoding_to_html5

    marked = by_magic(page, {BOM: "utf-8", b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"})
    if marked:
        return marked
    head = COMMENT.sub(b"", page[:HEAD])
    for place in (content_type, *META.findall(head), *XML.findall(head)):
        named = CHARSET.search(place)
        known = map_encoding_to_html5(named[1].decode("latin-1"), fallback_utf8=False) if named else None
        if known:
            in_ascii = known.startswith("utf-16") and place is not content_type
            return "utf-8" if in_ascii else str(known)
    try:
        page.decode()
    except UnicodeDecodeError:
        return str(detect_encoding(page))
    return "utf-8"


# ---- folders of texts ------------------------------------------------------------------------------------------------


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
