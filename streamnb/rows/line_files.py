"""Files of lines, indexed once so that they can be read from any row; among them those of sequences (FASTA, FASTQ)."""

import io
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate
from typing import Any

import numpy as np

from streamnb.core.messages import DataError
from streamnb.core.stored_files import StoredFile
from streamnb.core.threads import in_order
from streamnb.rows.files import (
    BOM,
    CSV,
    DAMAGED,
    JSON,
    LINES,
    by_name,
    compression_of_text,
    damaged,
    opened_file,
    size_of,
    stored,
    unpacked_file,
)
from streamnb.rows.line_formats import SHOWN, Format, Infer, text_format
from streamnb.rows.source import Job, RawRows
from streamnb.rows.texts import PIECE_BYTES, Texts

UTF16 = b"\xff\xfe", b"\xfe\xff"  # its byte-order marks
LONGEST = 1 << 30  # bytes of a line; Arrow has 32-bit offsets in a piece
NEWLINE, RETURN, PLUS = 10, 13, 43
FASTA, FASTQ = b">", b"@"  # the first byte of each record
FASTQ_LINES = 4  # of a record


@dataclass(frozen=True)
class LineFile:
    """An indexed file of lines; piece k of whole rows starts at byte offsets[k] and row rows[k]."""

    stored: StoredFile
    form: Any  # a `Format`, or what parses rows in its place
    packed: str | None
    offsets: tuple[int, ...]
    rows: tuple[int, ...]

    @property
    def path(self) -> str:
        return self.stored.path

    def pieces(self, start: int) -> Iterator["LinePiece"]:
        """Yield pieces from the one with row `start` on."""
        first = bisect_right(self.rows, start) - 1
        with unpacked_file(self.path, self.packed, self.stored) as file:
            if self.packed:  # everything before is decompressed
                left = self.offsets[first]
                while left > 0 and (part := _read_exactly(file, min(left, PIECE_BYTES), self.path)):
                    left -= len(part)
            else:
                file.seek(self.offsets[first])
            for k in range(first, len(self.rows) - 1):
                size = self.offsets[k + 1] - self.offsets[k]
                piece = _read_exactly(file, size, self.path)
                if len(piece) != size:
                    raise DataError(f"X={self.path!r} has become shorter since it was opened; open it again")
                n_rows = self.rows[k + 1] - self.rows[k]
                yield LinePiece(self.form, self.path, piece, n_rows, self.rows[k], self.offsets[k])


def _index(infer: Infer, compression: Callable[[str], str | None], path: str) -> LineFile:
    """Index the rows of a file; `infer` finds its format and where rows begin, `compression` how it is compressed."""
    file_now, offsets, rows = stored(path), [0], [0]
    packed = compression(path)
    with unpacked_file(path, packed, file_now) as file:
        form, offsets[0], rest = _read_head(infer, file, path)
        for n, piece in _whole_pieces(form, file, rest, path):
            form = form.grown(piece, infer, path) if isinstance(form, Format) else form
            if n:
                offsets.append(offsets[-1] + len(piece))
                rows.append(rows[-1] + n)
            else:  # only blank lines
                offsets[-1] += len(piece)
    return LineFile(file_now, form, packed, tuple(offsets), tuple(rows))


def _read_head(infer: Infer, file: Any, path: str) -> tuple[Format, int, bytes]:
    """Read the first lines of a file: its format, where its rows begin, and the text of rows read so far."""
    rest = more = _read_exactly(file, PIECE_BYTES, path)
    while more and b"\n" not in rest:  # labels and columns are inferred from a whole line
        rest += (more := _read_exactly(file, max(PIECE_BYTES, len(rest)), path))
    begin = len(BOM) if rest.startswith(BOM) else 0
    kind = by_name(path)
    kind = kind if kind in (CSV, JSON) else LINES
    if kind != LINES and rest.startswith(UTF16):
        raise DataError(f"{path} is UTF-16, as its first bytes say; write it as UTF-8: iconv -f UTF-16 -t UTF-8")
    if kind != LINES and b"\r" in rest and b"\n" not in rest:
        raise DataError(
            f"{path} has lines that end in a carriage return alone, as on old Macs; write it with newlines: "
            "tr '\\r' '\\n'"
        )
    form, after = infer(rest[begin:], kind, path)
    return form, begin + after, rest[begin + after :]


def _whole_pieces(form: Format, file: Any, rest: bytes, path: str) -> Iterator[tuple[int, bytes]]:
    """Yield pieces of whole lines, about PIECE_BYTES each, with their numbers of rows; `rest` was read already."""
    n_before = 0
    while True:
        n, end = form.whole_rows(rest)
        more = _read_exactly(file, max(PIECE_BYTES, len(rest) - end), path)
        if not more:
            n, end = n + form.last_rows(rest[end:]), len(rest)
        elif len(rest) - end > LONGEST:
            raise DataError(f"{path}: row {n_before + n} is longer than {LONGEST:,} bytes; is each row a line?")
        n_before += n
        yield n, rest[:end]
        rest = rest[end:] + more
        if not more:
            return


@dataclass(frozen=True)
class LinePiece:
    """Whole lines of a file; `place` is their offset in its unpacked bytes."""

    form: Any
    path: str
    piece: bytes
    n_rows: int
    first_row: int
    place: int
    row: int = 0  # the number of the first row among all files that are read together

    def __call__(self) -> Any:
        """Parse the rows."""
        rows = self.form.rows(self.piece, self.first_row, self.path)
        if rows.shape[0] != self.n_rows:
            raise DataError(
                f"{self.path}: rows {self.first_row} to {self.first_row + self.n_rows} were read as {rows.shape[0]}; "
                "are there blank lines among them, or records of several lines?"
            )
        return rows

    def part(self, start: int, stop: int) -> Any:
        """Parse the rows in [start, stop), numbered within the file."""
        return self().picked(slice(start - self.first_row, stop - self.first_row))

    def cut(self, start: int, stop: int) -> "LinePiece":
        """The rows in [start, stop), numbered within this piece."""
        places = np.append(self.form.stored(self.piece).starts, len(self.piece))
        places[0] = 0  # blank lines before the first row go with it
        first, last = places[[start, stop]].tolist()
        rows: Any = {"n_rows": stop - start, "first_row": self.first_row + start, "row": self.row + start}
        return replace(self, piece=self.piece[first:last], place=self.place + first, **rows)

    @property
    def nbytes(self) -> int:
        return len(self.piece)

    def named(self, error: Exception) -> DataError:
        """The error of a piece of one row, with its file and line."""
        return DataError(f"{self.path}, line {self._line}: {str(error).removeprefix(f'{self.path}: ')}")

    @property
    def _line(self) -> int:
        """The number of the first row's line in the file, from 1 on."""
        starts, left, lines = self.form.stored(self.piece).starts, self.place, 1
        with opened_file(self.path) as file:
            while left > 0 and (part := _read_exactly(file, min(left, PIECE_BYTES), self.path)):
                lines, left = lines + part.count(b"\n"), left - len(part)
        return lines + self.piece.count(b"\n", 0, int(starts[0]) if len(starts) else 0)


@dataclass(frozen=True)
class LinesOfFile:
    """The lines of a file without an index, or those that begin in one of `n_parts` equal parts of its bytes."""

    path: str
    infer: Infer
    part: int = 0
    n_parts: int = 1

    def pieces(self) -> Iterator[LinePiece]:
        """Yield the rows piece by piece, in order."""
        with unpacked_file(self.path, compression_of_text(self.path)) as file:
            form, place, rest = _read_head(self.infer, file, self.path)
            if self.n_parts > 1:
                begin, end = (size_of(self.path) * k // self.n_parts for k in (self.part, self.part + 1))
                lines = io.BufferedReader(file)
                if self.part:  # from the first line that begins in this part
                    lines.seek(max(begin, place) - 1)
                    lines.readline()
                    place = lines.tell()
                else:
                    lines.seek(place)
                file, rest = _Window(lines, end - 1 - place), b""
                if place >= end:
                    return
            first_row = 0
            for n_rows, piece in _whole_pieces(form, file, rest, self.path):
                if n_rows:
                    yield LinePiece(form, self.path, piece, n_rows, first_row, place)
                first_row, place = first_row + n_rows, place + len(piece)


class _Window:
    """A file that ends with the line in which the byte after the next `left` ones lies."""

    def __init__(self, file: Any, left: int):
        self._file, self._left = file, left

    def read(self, n: int) -> bytes:
        if self._left > 0:
            part: bytes = self._file.read(min(n, self._left))
            self._left -= len(part)
            return part
        file, self._file = self._file, io.BytesIO()
        return file.readline()


def _read_exactly(file: Any, n: int, path: str) -> bytes:
    """Read `n` bytes, fewer only at the end of the file."""
    parts = []
    try:
        while n > 0 and (part := file.read(n)):
            parts.append(part)
            n -= len(part)
    except DAMAGED as error:
        raise damaged(path, error) from error
    return b"".join(parts) if len(parts) != 1 else parts[0]


class LineFiles(RawRows):
    """Files whose rows are lines, one after the other; the format of each parses its lines."""

    def __init__(
        self,
        paths: list[str],
        infer: Infer,
        n_threads: int,
        compression: Callable[[str], str | None] = compression_of_text,
    ):
        files = list(in_order(partial(_index, infer, compression), paths, n_threads))
        self._files, self._firsts = files, list(accumulate((file.rows[-1] for file in files), initial=0))
        self.n_rows, self.files = self._firsts[-1], tuple((file.path, file.stored.size) for file in files)
        self.nbytes = sum(file.offsets[-1] for file in files)
        self.step = max((file.rows[-1] for file in files if file.packed), default=1)

    def jobs(self, start: int, stop: int) -> Iterator[Job]:
        for file, before in zip(self._files, self._firsts, strict=False):
            if before + file.rows[-1] <= start or before >= stop:
                continue
            for piece in file.pieces(max(start - before, 0)):
                if before + piece.first_row >= stop:
                    break
                first, last = max(piece.first_row, start - before), min(piece.first_row + piece.n_rows, stop - before)
                yield before + first, partial(piece.part, first, last)


# ---- texts -----------------------------------------------------------------------------------------------------------


class TextFiles(LineFiles):
    """Texts in files with a row in each line or record; `named` has the fields of `text`, `y` and `weight`."""

    no_columns = "lines of text have none; give an array"

    def __init__(self, paths: list[str], named: dict[str, str | None], n_threads: int, labels: str = "y"):
        self._named, self._n_threads = named, n_threads
        super().__init__(paths, partial(text_format, named, labels), n_threads)
        first, *others = [file for file in self._files if file.rows[-1]] or self._files
        for file in others:
            for name, kind in file.form.types.items():
                if kind != first.form.types[name]:
                    other = f"{first.form.types[name]} in {first.path}"
                    raise DataError(f"{file.path}: {name!r} is of type {kind}, but {other}; make them of one type")
        if not self.n_rows:
            raise DataError(f"{paths[0]} holds no rows of text" if len(paths) == 1 else "X: the files hold no rows")

    def column(self, column: str, name: str) -> np.ndarray:
        if self._named["text"] is None:
            return super().column(column, name)
        named = {**self._named, "y": column, "weight": None}
        files = TextFiles([path for path, _ in self.files], named, self._n_threads, name)
        jobs = files.jobs(0, files.n_rows)
        return np.concatenate(list(in_order(lambda job: job[1]().y, jobs, self._n_threads)))


@dataclass(frozen=True)
class SequenceFormat:
    """How the records of a file begin; see `Format` for the same of lines."""

    begin: bytes

    def whole_rows(self, text: bytes) -> tuple[int, int]:
        """The number of whole records, and the end of the last; one of FASTA ends where another begins."""
        if self.begin == FASTA:
            end = text.rfind(b"\n>") + 1
            return (int(text.startswith(FASTA)) + text.count(b"\n>", 0, end) if end else 0), end
        ends = np.flatnonzero(np.frombuffer(text, np.uint8) == NEWLINE)
        n = len(ends) // FASTQ_LINES
        return n, int(ends[FASTQ_LINES * n - 1]) + 1 if n else 0

    def last_rows(self, text: bytes) -> int:
        """The number of records after the last whole one, 0 or 1."""
        return int(bool(text.strip()))

    def rows(self, piece: bytes, first_row: int, where: str) -> Texts:
        """The sequences of whole records, with their headers `beside`; line breaks are still among the letters."""
        buffer = np.frombuffer(piece, np.uint8)
        parts = self._fasta(buffer) if self.begin == FASTA else _fastq(piece, buffer, first_row, where)
        headers = Texts(buffer, parts[0], parts[1], where=where)
        numbers = np.arange(first_row, first_row + len(parts[0]))
        return Texts(buffer, parts[2], parts[3], where=where, beside=headers, numbers=numbers)

    def _fasta(self, buffer: np.ndarray) -> tuple[np.ndarray, ...]:
        """Where headers, without ">", begin and end, and their sequences."""
        begins = np.flatnonzero(buffer == FASTA[0])
        begins = begins[(begins == 0) | (buffer[begins - 1] == NEWLINE)]
        ends = np.append(np.flatnonzero(buffer == NEWLINE), len(buffer))
        ends = ends[np.searchsorted(ends, begins)]
        return begins + 1, ends, np.minimum(ends + 1, len(buffer)), np.append(begins[1:], len(buffer))


def _fastq(piece: bytes, buffer: np.ndarray, first_row: int, where: str) -> tuple[np.ndarray, ...]:
    """As `_fasta`, of records of four lines each."""
    stops = np.append(np.flatnonzero(buffer[: len(piece.rstrip())] == NEWLINE), len(piece.rstrip()))
    n = -(-len(stops) // FASTQ_LINES)
    if len(stops) < FASTQ_LINES * n:
        raise DataError(f"{where}: record {first_row + n - 1} has fewer than four lines; is the file cut off?")
    starts = np.append(0, stops[:-1] + 1)
    stops = stops - (buffer[np.maximum(stops - 1, 0)] == RETURN)
    lengths = (stops - starts).reshape(n, FASTQ_LINES)
    (headers, letters, pluses, _), ends = starts.reshape(n, FASTQ_LINES).T, stops.reshape(n, FASTQ_LINES).T
    wrong = (buffer[headers] != FASTQ[0]) | (buffer[pluses] != PLUS) | (lengths[:, 1] != lengths[:, 3])
    if wrong.any():
        row = int(np.argmax(wrong))
        line = piece[headers[row] : ends[0][row]][:SHOWN].decode("utf-8", "replace")
        raise DataError(
            f"{where}: record {first_row + row} is not FASTQ: it begins with {line!r}. Each record has four lines: a "
            "header with '@', the letters, '+', and a sign of quality for each letter"
        )
    return headers + 1, ends[0], letters, ends[1]


def sequence_format(head: bytes, kind: str, where: str) -> tuple[SequenceFormat, int]:
    """The format of a file by its first record, and where that begins."""
    text = head.lstrip()
    if not text:
        raise DataError(f"{where} is empty; it should have sequences, as FASTA or FASTQ")
    if text[:1] not in (FASTA, FASTQ):
        line = text[:SHOWN].partition(b"\n")[0].decode("utf-8", "replace")
        raise DataError(
            f"{where} is neither FASTA nor FASTQ, whose records begin with '>' or '@'; it begins with {line!r}"
        )
    return SequenceFormat(text[:1]), len(head) - len(text)


class SequenceFiles(LineFiles):
    """FASTA and FASTQ files, one after the other; each record is a row."""

    no_columns = "sequences have none; give an array"

    def __init__(self, paths: list[str], n_threads: int):
        super().__init__(paths, sequence_format, n_threads)
        self._n_threads = n_threads

    def headers(self) -> Iterator[tuple[str, str]]:
        """The identifier of each record, and the rest of its header."""
        jobs = self.jobs(0, self.n_rows)
        for texts in in_order(lambda job: job[1](), jobs, self._n_threads):
            yield from map(header_of, [texts] * texts.shape[0], range(texts.shape[0]))

    def place_of(self, row: int) -> tuple[str, int]:
        """The path of the file with a record, and the number of the record there."""
        at = bisect_right(self._firsts, row) - 1
        return self.files[at][0], row - self._firsts[at]


def header_of(sequences: Texts, row: int) -> tuple[str, str]:
    """The identifier of a sequence, and the rest of its header; without a header, the number of the row."""
    if sequences.beside is None:
        return str(row), ""
    identifier, *rest = sequences.beside.decoded(row, "replace").split(None, 1)[:2] or [""]
    return identifier, rest[0].strip() if rest else ""
