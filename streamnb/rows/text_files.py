"""Text files, indexed once so that they can be read from any row."""

import gzip
import io
import os
import zlib
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from glob import has_magic
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np

from streamnb.core.messages import DataError
from streamnb.core.threads import in_order
from streamnb.kernels.ngrams import count_lines
from streamnb.rows.files import unpacked_name
from streamnb.rows.text_formats import BOM, ENDINGS, LINES, Format, read_format
from streamnb.rows.texts import PIECE_BYTES, PIECE_ROWS, Job, Texts, of_parts, pyarrow_for

LONGEST = 1 << 30  # bytes of a line; Arrow has 32-bit offsets in a piece
PACKED = {".gz": "gzip", ".zst": "zstd"}
MAGIC = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
OTHERS = {b"PAR1": "Parquet", b"\x89HDF": "HDF5", b"PK\x03\x04": "a zip", b"ARROW1": "Arrow", b"BZh": "bzip2"}


@contextmanager
def opened_file(path: str) -> Iterator[Any]:
    """Open a file for reading, decompressed on the fly."""
    packed = _compression(path)
    if packed is None:
        with open(path, "rb", buffering=0) as file:
            yield file
    elif packed == "gzip":
        with gzip.open(path) as file:
            yield file
    else:
        with pyarrow_for(".zst files").input_stream(path, compression="zstd") as file:
            yield file


def _compression(path: str) -> str | None:
    """The compression of a file, by its first bytes; raises if its name says otherwise."""
    with open(path, "rb") as file:
        head = file.read(8)
    found = next((name for magic, name in MAGIC.items() if head.startswith(magic)), None)
    said = next((name for end, name in PACKED.items() if path.endswith(end)), None)
    other = next((name for magic, name in OTHERS.items() if head.startswith(magic)), None)
    if said is not None and found != said:
        raise DataError(f"{path} is not a {said} file, as its name says; it begins with the bytes {head!r}")
    if other is not None:
        raise DataError(f"{path} is {other}, not a text file; give JSON lines, CSV or lines of text")
    return found


def read_exactly(file: Any, n: int, path: str) -> bytes:
    """Read `n` bytes, fewer only at the end of the file."""
    parts = []
    try:
        while n > 0 and (part := file.read(n)):
            parts.append(part)
            n -= len(part)
    except (OSError, EOFError, zlib.error) as error:  # the file is truncated or damaged
        raise DataError(f"{path} cannot be unpacked to its end ({error}); it is cut off or damaged") from error
    return b"".join(parts) if len(parts) != 1 else parts[0]


def _skip(file: Any, n: int, path: str) -> None:
    """Move to offset `n` of the file; in compressed files everything before it is decompressed."""
    if isinstance(file, io.RawIOBase):
        file.seek(n)
        return
    while n > 0 and (part := read_exactly(file, min(n, PIECE_BYTES), path)):
        n -= len(part)


@dataclass(frozen=True)
class TextFile:
    """A file whose rows are lines; piece k of whole rows starts at byte offsets[k] and row rows[k]."""

    path: str
    form: Format
    offsets: tuple[int, ...]
    rows: tuple[int, ...]

    @property
    def packed(self) -> bool:
        return _compression(self.path) is not None

    def pieces(self, start: int) -> Iterator[tuple[int, int, bytes]]:
        """Yield pieces from the one with row `start` on: the first row, the end row and the bytes."""
        first = bisect_right(self.rows, start) - 1
        with opened_file(self.path) as file:
            _skip(file, self.offsets[first], self.path)
            for k in range(first, len(self.rows) - 1):
                size = self.offsets[k + 1] - self.offsets[k]
                piece = read_exactly(file, size, self.path)
                if len(piece) != size:
                    raise DataError(f"{self.path} is shorter than it was when it was opened")
                yield self.rows[k], self.rows[k + 1], piece


def index_file(path: str, kind: str | None, named: Any, labels: str = "y", read: Callable = read_format) -> TextFile:
    """Index the rows of a file; `read` infers its format and where the rows begin."""
    offsets, rows = [0], [0]
    with opened_file(path) as file:
        rest = more = read_exactly(file, PIECE_BYTES, path)
        while more and b"\n" not in rest:  # labels and columns are inferred from a whole line
            rest += (more := read_exactly(file, max(PIECE_BYTES, len(rest)), path))
        form, begin = read(rest, kind or kind_of(path), named, path)
        begin = max(begin, len(BOM) if rest.startswith(BOM) else 0)
        offsets[0], rest = begin, rest[begin:]
        while True:
            n, end = _rows_in(rest, form)
            more = read_exactly(file, max(PIECE_BYTES, len(rest) - end), path)
            if not more:
                n += any(byte >= form.smallest and byte != 13 for byte in rest[end:])
                end = len(rest)
            elif len(rest) - end > LONGEST:
                raise DataError(f"{path}: row {rows[-1] + n} is longer than {LONGEST:,} bytes; are its rows lines?")
            if n:
                offsets.append(offsets[-1] + end)
                rows.append(rows[-1] + n)
                rest = rest[end:]
            elif end:  # only blank lines
                offsets[-1], rest = offsets[-1] + end, rest[end:]
            if not more:
                return TextFile(path, replace(form, labels=labels), tuple(offsets), tuple(rows))
            rest += more


def holds_text_files(X: Any) -> bool:
    """Whether X is a path of plain text files by name: ".txt", compressed or not, a pattern or folders of them."""
    if not isinstance(X, str | os.PathLike):
        return False
    path = Path(X)
    if path.is_dir():
        inside = (one for one in (*path.glob("*"), *path.glob("*/*")) if one.is_file())
        path = next(inside, path)
    elif not path.is_file() and not has_magic(str(X)):
        return False
    return path.name.removesuffix(path.suffix if path.suffix in PACKED else "").endswith(".txt")


def _rows_in(text: bytes, form: Format) -> tuple[int, int]:
    """The number of rows in whole lines, and the end of the last whole line."""
    letters = np.frombuffer(text, np.uint8)
    if not form.quoted:
        ends = np.flatnonzero(letters == 10)
        if not len(ends):
            return 0, 0
        begins = np.concatenate([[0], ends[:-1] + 1])
        if form.smallest == 0 or (letters[begins] >= form.smallest).all():  # no line is blank
            return len(ends), int(ends[-1]) + 1
    n, end, _ = count_lines(letters, form.quoted, form.smallest, False)
    return int(n), int(end)


def with_sizes(paths: Iterable[str]) -> tuple[tuple[str, int], ...]:
    return tuple((path, os.path.getsize(path)) for path in paths)


def kind_of(path: str) -> str:
    """The format of a file, by its name."""
    return ENDINGS.get(Path(unpacked_name(path, PACKED)).suffix, LINES)


class LineFiles:
    """Files whose rows are lines, one after the other; the `form` of each parses its lines."""

    _files: list[Any]

    def __init__(self, files: list[TextFile]):
        self._files, self._firsts = files, list(accumulate((file.rows[-1] for file in files), initial=0))
        self.n_rows, self.files = self._firsts[-1], with_sizes(file.path for file in files)
        self.nbytes = sum(file.offsets[-1] for file in files)
        self.step = max((file.rows[-1] for file in files if file.packed), default=1)

    def jobs(self, start: int, stop: int) -> Iterator[Job]:
        """Yield the number of a first row and a function that reads rows from there, for the rows in [start, stop)."""
        for file, before in zip(self._files, self._firsts, strict=False):
            if before + file.rows[-1] <= start or before >= stop:
                continue
            for first, last, piece in file.pieces(max(start - before, 0)):
                if before + first >= stop:
                    break
                here = max(first, start - before), min(last, stop - before)
                yield before + here[0], partial(_texts_of, file, piece, (first, last), here)


class TextFiles(LineFiles):
    """Texts in files with a row in each line or record."""

    def __init__(self, paths: list[str], named: dict[str, str | None], n_threads: int, labels: str = "y"):
        self._named, self._n_threads = named, n_threads
        index = partial(index_file, kind=None, named=named, labels=labels)
        super().__init__(list(in_order(index, paths, n_threads)))
        self._check_alike()
        if not self.n_rows:
            raise DataError(f"{paths[0]} holds no rows of text" if len(paths) == 1 else "X: the files hold no rows")

    def _check_alike(self) -> None:
        """Refuse files whose labels have different types."""
        first, *others = self._files
        for file in others:
            for name, kind in file.form.types.items():
                if kind != first.form.types[name]:
                    there = f"{first.form.types[name]} in {first.path}"
                    raise DataError(f"{file.path}: {name!r} is of type {kind}, but {there}; make them of one type")

    def column(self, column: str, name: str) -> np.ndarray:
        """All values of a field, read like labels."""
        if self._named["text"] is None:
            raise ValueError(f"{name}={column!r} names a field, but lines of text have none; give an array")
        paths, named = [path for path, _ in self.files], {**self._named, "y": column, "weight": None}
        files = TextFiles(paths, named, self._n_threads, name)
        parts = in_order(_labels_of, files.jobs(0, files.n_rows), self._n_threads)
        return np.concatenate(list(parts))


def _texts_of(file: TextFile, piece: bytes, whole: tuple[int, int], part: tuple[int, int]) -> Texts:
    texts = file.form.texts(piece, whole[0], file.path)
    if texts.shape[0] != whole[1] - whole[0]:
        raise DataError(
            f"{file.path}: rows {whole[0]} to {whole[1]} were read as {texts.shape[0]}; blank lines among them, or "
            "records that are not a line each?"
        )
    return texts[part[0] - whole[0] : part[1] - whole[0]]


def _labels_of(job: Job) -> Any:
    return job[1]().y


class TextFolders:
    """A folder for each class, with a file for each row."""

    step = 1

    def __init__(self, folder: Path):
        classes = sorted(path for path in folder.iterdir() if path.is_dir())
        files = [(path, one.name) for one in classes for path in sorted(one.rglob("*")) if path.is_file()]
        self.files = with_sizes(str(path) for path, _ in files)
        self._labels: np.ndarray | None = np.array([name for _, name in files])
        self.n_rows = len(files)
        sizes = [size for _, size in self.files]
        self._ends, self.nbytes = list(accumulate(sizes)), sum(sizes)

    def jobs(self, start: int, stop: int) -> Iterator[Job]:
        while start < stop:
            before = self._ends[start - 1] if start else 0
            end = min(bisect_right(self._ends, before + PIECE_BYTES), start + PIECE_ROWS, stop)
            end = max(end, start + 1)
            yield start, partial(self._texts, start, end)
            start = end

    def _texts(self, start: int, stop: int) -> Texts:
        parts = []
        for path, _ in self.files[start:stop]:
            with opened_file(path) as file:
                parts.append(read_exactly(file, LONGEST, path).removeprefix(BOM))
        labels = None if self._labels is None else self._labels[start:stop]
        return of_parts(parts, y=labels, where=f"the files from {self.files[start][0]} on")

    def column(self, column: str, name: str) -> np.ndarray:
        raise ValueError(f"{name}={column!r} names a field, but X is a folder of texts, a file a row")

    def without_labels(self) -> "TextFolders":
        part = copy(self)
        part._labels = None
        return part
