"""Reads svmlight files, `label index:value ..`, by byte ranges in several threads."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from copy import copy
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from streamnb.core import arguments
from streamnb.core.messages import DataError
from streamnb.core.persistence import check_place
from streamnb.core.threads import n_cores
from streamnb.kernels.svmlight import NO_FEATURE, RIGHT, TOO_HIGH, read_lines, survey_lines
from streamnb.rows import sizes
from streamnb.rows.block import cut_csr
from streamnb.rows.files import CALLED, DAMAGED, compression_of, kind_of, raw_file, stored, unpacked_file
from streamnb.rows.labels import RowColumns
from streamnb.rows.raw import EncodedRows, RawSource
from streamnb.rows.source import Source
from streamnb.rows.zarr_reading import BufferPool

WIDEST = 2**31 - 1  # features; indices are int32
LONGEST = 1 << 10  # characters of a number that are read
_ROW, _QUERY = re.compile(rb"\s*[^\s#]"), re.compile(rb"\s*(?:[^\s:#]+\s+)?qid:(\d+)(?![^\s#])")


def svmlight(path: Any, *, n_features: int | None = None, zero_based: Any = "auto", multilabel: bool = False) -> Any:
    r"""Open a svmlight (libsvm) file, to be given as X; it is read block by block in each pass, never as a whole.

    Each line is a row, ``label qid:query index:value index:value ..  # comment``. The query is optional; with
    ``groups="qid"`` it is the group of the row. Opening scans the file once for the number of rows and the
    highest index, several times faster than reading it.

    Parameters
    ----------
    path : path or URL
        The file may be compressed by gzip, bzip2, xz or (with pyarrow) zstd, recognised by its first bytes.
    n_features : int, optional
        One more than the highest index by default. Set it if other files have to have the same number.
    zero_based : {"auto", True, False}
        Whether the first feature has index 0 or 1; "auto" means 0 if that index occurs.
    multilabel : bool
        Whether rows have any number of labels, separated by commas; y is then an indicator matrix, (n_rows,
        n_labels), whose columns are the `labels` in ascending order.

    Returns
    -------
    SvmlightFile
        Rows that come with labels: ``fit(rows)``, ``score(rows)``; ``fit(rows, y)`` uses others. It has `n_rows`,
        `n_features`, `zero_based` and `labels` (None unless `multilabel`).

    Raises
    ------
    OSError
        The file cannot be opened.
    DataError
        It is empty, truncated or of another format or, during a read, a line is wrong. The message names the row.
    ValueError
        An index is beyond `n_features`.

    Examples
    --------
    >>> import streamnb as snb
    >>> with open("four.svm", "w") as file:
    ...     _ = file.write("1 1:3\n2 2:3\n2 1:2 2:2\n1 1:1\n")
    >>> rows = snb.svmlight("four.svm")
    >>> rows.shape
    (4, 2)
    >>> snb.LinearNB().fit(rows).score(rows)
    1.0
    """
    arguments.one_of("zero_based", zero_based, ["auto", True, False])
    arguments.one_of("multilabel", multilabel, [False, True])
    if n_features is not None and arguments.positive_integer("n_features", n_features) > WIDEST:
        raise ValueError(f"n_features={n_features} is beyond {WIDEST}, the most that a svmlight file is read with")
    return SvmlightFile(path, n_features, zero_based, multilabel)


_DTYPES = "f8", "i8", "i8", "i4", "f8", "i8"  # labels, their ends, indptr, indices, values, numbers left to Python
_NEW = (np,) * len(_DTYPES)


class SvmlightFile:
    """An indexed svmlight file: its `shape`, its ranges of lines, and the labels that occur if rows have several."""

    ndim = 2
    own_labels = True  # whether rows that are read bring their labels

    def __init__(self, path: Any, n_features: int | None = None, zero_based: Any = "auto", multilabel: bool = False):
        self.path, self.multilabel = check_place("path", path), multilabel
        self.lines, self.ranges = Lines(self.path), list[LineRange]()
        self.n_rows, lowest, highest, labels = 0, WIDEST, -1, np.empty(0)
        try:
            for offset, size, text in self.lines.ranges():
                n_rows, low, high, more = self._survey(text)
                self.ranges.append(LineRange(offset, size, self.n_rows))
                self.n_rows, lowest, highest = self.n_rows + n_rows, min(lowest, low), max(highest, high)
                labels = np.union1d(labels, more)
        except DataError as error:
            raise DataError(f"{error} (after row {self.n_rows})") from error
        self.zero_based = lowest == 0 if zero_based == "auto" else zero_based
        self.labels = labels if multilabel else None
        if not self.n_rows:
            raise DataError(f"X={str(self.path)!r} holds no rows; a row is a line 'label index:value index:value ..'")
        self.n_features = self._width(n_features, highest)
        self.shape = self.n_rows, self.n_features
        self.files = ((str(self.path), self.lines.stored.size),)
        self.nbytes = sum(place.size for place in self.ranges)  # about the size of the parsed values and indices
        # in a packed file, everything before a range would be decompressed again
        self.step = self.n_rows if self.lines.packed else -(-self.n_rows // len(self.ranges))

    def __repr__(self) -> str:
        return f"svmlight({str(self.path)!r}: {self.n_rows:,} rows, {self.n_features:,} features)"

    def _width(self, given: int | None, highest: int) -> int:
        found = highest + int(self.zero_based)
        about = f"X={str(self.path)!r} has the feature index {highest}"
        if given is not None and found > given:
            raise ValueError(
                f"n_features={given}, but {about}, which makes {found} features; give that number or more, the same "
                "for all files that go together"
            )
        if found > WIDEST:
            raise DataError(f"{about}, beyond {WIDEST}; number the features anew, or hash them")
        return max(found, 1) if given is None else given

    def _survey(self, text: np.ndarray) -> tuple[int, int, int, np.ndarray]:
        """The number of rows, the lowest and highest feature index, and the distinct labels if rows have several."""
        if not self.multilabel:
            n_rows, low, high = survey_lines(text, len(text))
            if n_rows >= 0:
                return n_rows, low, high, np.empty(0)
        X, labels, _ = parsed(self, text, self.n_rows, 0, WIDEST)
        return len(X[2]) - 1, int(X[1].min(initial=WIDEST)), int(X[1].max(initial=-1)), np.unique(labels)

    def jobs(self, start: int, stop: int) -> Iterator[tuple[int, Any]]:
        """Yield the number of a first row and a function that reads rows from there, for the rows in [start, stop)."""
        memory = [BufferPool() for _ in _DTYPES]
        ends = [*(place.first_row for place in self.ranges[1:]), self.n_rows]
        wanted = [place for place, end in zip(self.ranges, ends, strict=True) if place.first_row < stop and start < end]
        for place, text in self.lines.texts(wanted):
            first = max(start, place.first_row)
            yield first, partial(self._read, place, text, first, stop, memory)

    def _read(self, place: LineRange, text: Callable[[], np.ndarray], first: int, stop: int, memory: Any) -> ParsedRows:
        """The rows in [first, stop) of a range."""
        base = 1 - int(self.zero_based)
        arrays, labels, ends = parsed(self, text(), place.first_row, base, self.n_features, memory)
        data, indices, indptr = arrays
        here, last = first - place.first_row, min(stop - place.first_row, len(ends) - 1)
        y = self._labels(labels, ends[here : last + 1], first) if self.own_labels else None
        shape = last - here, self.n_features
        return ParsedRows(EncodedRows(*cut_csr(data, indices, indptr, here, last), shape), y)

    def column(self, column: str, name: str) -> np.ndarray:
        """The query numbers of all rows."""
        if column != "qid":
            raise ValueError(f"{name}={column!r} should be an array or 'qid', all that svmlight rows have beside")
        return np.concatenate([_queries(self, place, text()) for place, text in self.lines.texts(self.ranges)])

    def _labels(self, labels: np.ndarray, ends: np.ndarray, row: int) -> Any:
        """The labels of rows from `row` on, or their indicator matrix."""
        here = labels[ends[0] : ends[-1]]
        if self.labels is None:
            return here
        columns = np.searchsorted(self.labels, here)
        shape = len(ends) - 1, len(self.labels)
        indicator = sp.csr_array((np.ones(len(columns), np.uint8), columns, ends - ends[0]), shape=shape)
        indicator.sum_duplicates()
        indicator.data[:] = 1  # a row may repeat a label
        return indicator


class ParsedRows(NamedTuple):
    """Rows of a range of lines, with their labels."""

    X: EncodedRows
    y: Any
    weight: None = None

    @property
    def shape(self) -> tuple[int, int]:
        return self.X.shape

    @property
    def nbytes(self) -> int:
        return self.X.indices.nbytes


def parsed(
    file: SvmlightFile, text: np.ndarray, first_row: int, base: int, n_features: int, memory: Any = _NEW
) -> tuple[tuple[np.ndarray, ...], np.ndarray, np.ndarray]:
    """Parse lines of text: CSR arrays of the features, all labels in a row, and where those of each row end.

    `base` is the lowest index. `memory` allocates the buffers: most of each is never touched, the rest is reused.
    """
    size = len(text)
    n_labels, n_ends, n_values = (size if file.multilabel else size // 2) + 1, size // 2 + 2, size // 3 + 1
    shapes = (n_labels,), (n_ends,), (n_ends,), (n_values,), (n_values,), (n_labels + n_values, 2)
    new = (each.empty(shape, np.dtype(t)) for each, shape, t in zip(memory, shapes, _DTYPES, strict=True))
    arrays = labels, label_ends, indptr, indices, values, odd = tuple(new)
    n_rows, n_odd, wrong, at = read_lines(text, size, file.multilabel, base, n_features, *arrays)
    label_ends, indptr = label_ends[: n_rows + 1], indptr[: n_rows + 1]
    for place, begin in odd[:n_odd].tolist():
        out, ends, i = (values, indptr, place) if place >= 0 else (labels, label_ends, -1 - place)
        token = _token(text, begin, file.multilabel and place < 0)
        try:
            out[i] = float(token)
        except ValueError:
            row = first_row + int(np.searchsorted(ends, i, side="right")) - 1
            what = "value" if place >= 0 else "label"
            cure = "; give multilabel=True" if place < 0 and "," in token else ""
            raise DataError(_wrong(file, row, f"the {what} {token!r}, which is not a number{cure}")) from None
    if wrong != RIGHT:
        raise DataError(_wrong(file, first_row + n_rows, _why(wrong, _token(text, at), base, n_features)))
    n_values, n_labels = int(indptr[-1]), int(label_ends[-1])
    return (values[:n_values], indices[:n_values], indptr), labels[:n_labels], label_ends


def _token(text: np.ndarray, begin: int, several: bool = False) -> str:
    """The token at `begin`: up to a blank, a comment or, among several labels, a comma."""
    token = text[begin : begin + LONGEST].tobytes().decode("latin-1")
    return re.split(r"[\0-\x20#,]" if several else r"[\0-\x20#]", token, maxsplit=1)[0]


def _why(wrong: int, token: str, base: int, n_features: int) -> str:
    if wrong == NO_FEATURE:
        return f"{token!r} where a feature 'index:value' should be"
    index = int(token.partition(":")[0])
    if wrong == TOO_HIGH and n_features == WIDEST:
        return f"the feature index {index}, beyond {WIDEST}; number the features anew, or hash them"
    if index < base:
        return "the feature index 0, but is read with zero_based=False; give True, or number features from 1"
    where = "before a lower one" if wrong == TOO_HIGH else "after one that is not lower"  # indices rise
    return f"the feature index {index} {where}; sort the features of each row, each once"


def _wrong(file: SvmlightFile, row: int, what: str) -> str:
    kind = kind_of(str(file.path))
    instead = f" (it looks like {CALLED[kind]})" if kind else ""
    return f"X={str(file.path)!r}: row {row} has {what}{instead}"


def _queries(file: SvmlightFile, place: LineRange, text: np.ndarray) -> np.ndarray:
    """The query numbers of a range of rows."""
    rows = [line for line in text.tobytes().split(b"\n") if _ROW.match(line)]
    found = [_QUERY.match(line) for line in rows]
    if None in found:
        row = place.first_row + found.index(None)
        raise DataError(_wrong(file, row, "no qid:number after its label, which groups='qid' asks for"))
    return np.array([int(match[1]) for match in found if match], np.int64)


class SvmlightSource(RawSource):
    """Rows of a svmlight file; see `RawSource`."""

    opened_by_user = costly_features = False

    def __init__(self, file: SvmlightFile, columns: RowColumns, own_labels: bool):
        raw = copy(file)
        raw.own_labels = own_labels
        super().__init__(raw, columns, _features, file.n_features, n_threads=n_cores())
        self.file = file

    def layout(self) -> dict[str, str]:
        return {"the file": f"svmlight with {self.nbytes} bytes of text, zero_based={self.file.zero_based}"}

    def row_columns(self, step: int) -> Iterator[dict[str, Any]]:
        return super().row_columns(step) if self._raw.own_labels else Source.row_columns(self, step)


def _features(rows: ParsedRows, first_row: int) -> EncodedRows:
    return rows.X


PAD = 16  # newlines after the text, for loops that read ahead
_NEWLINE = ord("\n")


class LineRange(NamedTuple):
    """A range of whole lines: its byte offset in the text, its size in bytes, and its first row."""

    offset: int
    size: int
    first_row: int


class Lines:
    """A file of lines, plain or compressed by gzip, bzip2, xz or zstd.

    A range of compressed text is reached by decompressing everything before it.
    """

    def __init__(self, path: Path | str):
        self.path, self.stored, self._packing = path, stored(path), compression_of(path)
        self.packed = self._packing is not None

    def ranges(self) -> Iterator[tuple[int, int, np.ndarray]]:
        """Yield the offset, size and text of each range, ended by a newline; the next range overwrites the text."""
        offset, kept, length = 0, 0, sizes.TEXT_BYTES
        buffer = np.empty(length + PAD, np.uint8)
        with self._opened() as file:
            while True:
                n_bytes = kept + self._fill(file, buffer[kept:length])
                if not n_bytes:
                    return
                stop = n_bytes if n_bytes < length else _last_end(buffer[:length])
                if stop:
                    rest = buffer[stop:n_bytes].copy()
                    yield offset, stop, _ended(buffer, stop)
                    buffer[: len(rest)] = rest
                    offset, kept = offset + stop, len(rest)
                else:  # a line longer than the buffer
                    kept, length = length, 2 * length
                    buffer = np.concatenate([buffer[:kept], np.empty(kept + PAD, np.uint8)])

    def texts(self, ranges: Iterable[LineRange]) -> Iterator[tuple[LineRange, Callable[[], np.ndarray]]]:
        """Yield each range, in order, with a function that returns its text; threads may call it."""
        memory = BufferPool()
        if not self.packed:
            for place in ranges:
                yield place, partial(self._read, place, memory)
            return
        at = 0
        with self._opened() as file:
            for place in ranges:
                self._skip(file, place.offset - at)
                text, at = self._text(file, place, memory), place.offset + place.size
                yield place, partial(np.asarray, text)

    def _opened(self) -> Any:
        return unpacked_file(self.path, self._packing, self.stored)

    def _read(self, place: LineRange, memory: BufferPool) -> np.ndarray:
        with raw_file(self.path, self.stored) as file:
            file.seek(place.offset)
            return self._text(file, place, memory)

    def _text(self, file: Any, place: LineRange, memory: BufferPool) -> np.ndarray:
        buffer = memory.empty((place.size + PAD,), np.dtype(np.uint8))
        if self._fill(file, buffer[: place.size]) < place.size:
            raise DataError(f"X={str(self.path)!r} has become shorter since it was opened; open it again")
        return _ended(buffer, place.size)

    def _skip(self, file: Any, n_bytes: int) -> None:
        buffer = np.empty(min(sizes.TEXT_BYTES, n_bytes), np.uint8)
        while n_bytes > 0:
            n_bytes -= self._fill(file, buffer[:n_bytes]) or n_bytes

    def _fill(self, file: Any, buffer: np.ndarray) -> int:
        """Read until the buffer is full or the file ends; return the number of bytes read."""
        n_bytes = 0
        try:
            while n_bytes < len(buffer) and (n := file.readinto(buffer[n_bytes:].data)):
                n_bytes += n
        except DAMAGED as error:
            raise DataError(f"X={str(self.path)!r} is damaged or cut off ({error}); copy or pack it again") from error
        return n_bytes


def _last_end(text: np.ndarray) -> int:
    """The end of the last whole line; 0 if there is none."""
    step = 1 << 12  # most lines are shorter, so that only the tail of the text is searched
    for stop in range(len(text), 0, -step):
        ends = np.flatnonzero(text[max(stop - step, 0) : stop] == _NEWLINE)
        if ends.size:
            return max(stop - step, 0) + int(ends[-1]) + 1
    return 0


def _ended(buffer: np.ndarray, size: int) -> np.ndarray:
    """The text, ended by a newline and followed by at least PAD - 1 bytes."""
    buffer[size : size + PAD] = _NEWLINE
    return buffer[: size + (buffer[size - 1] != _NEWLINE)]
