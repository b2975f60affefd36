"""Files of lines, packed or not: cut into ranges of bytes that end with a line, and read range by range."""

import lzma
import zlib
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from streamnb.core.messages import DataError
from streamnb.rows import sizes
from streamnb.rows.files import opener
from streamnb.rows.zarr_reading import Recycled

PAD = 16  # newlines behind the text, for loops that look ahead
_NEWLINE = ord("\n")
_DAMAGED = EOFError, zlib.error, lzma.LZMAError, OSError


class LineRange(NamedTuple):
    """Some lines: where they begin among the bytes of the text, how many bytes they are, and their first row."""

    offset: int
    size: int
    first_row: int


class Lines:
    """A file of lines, whose text is packed by gzip, bzip2 or xz, or lies there as it is.

    A range of packed text is reached by unpacking all that lies before it.
    """

    def __init__(self, path: Path):
        self.path, self._opener = path, opener(path)
        self.packed = self._opener is not None

    def _open(self) -> Any:
        return open(self.path, "rb", buffering=0) if self._opener is None else self._opener(self.path, "rb")

    def ranges(self) -> Iterator[tuple[int, int, np.ndarray]]:
        """Yield where each range begins, its size, and its text, ended by a newline; the next one overwrites it."""
        offset, kept, length = 0, 0, sizes.TEXT_BYTES
        buffer = np.empty(length + PAD, np.uint8)
        with self._open() as file:
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
                else:  # a line that is longer than all this
                    kept, length = length, 2 * length
                    buffer = np.concatenate([buffer[:kept], np.empty(kept + PAD, np.uint8)])

    def texts(self, ranges: Iterable[LineRange]) -> Iterator[tuple[LineRange, Callable[[], np.ndarray]]]:
        """Yield each of some ranges, in order, and a function that returns its text; threads may call it."""
        memory = Recycled()
        if not self.packed:
            for place in ranges:
                yield place, partial(self._read, place, memory)
            return
        with self._open() as file:
            for place in ranges:
                self._skip(file, place.offset - file.tell())
                text = self._text(file, place, memory)
                yield place, partial(_itself, text)

    def _read(self, place: LineRange, memory: Recycled) -> np.ndarray:
        with self._open() as file:
            file.seek(place.offset)
            return self._text(file, place, memory)

    def _text(self, file: Any, place: LineRange, memory: Recycled) -> np.ndarray:
        buffer = memory.empty((place.size + PAD,), np.dtype(np.uint8))
        if self._fill(file, buffer[: place.size]) < place.size:
            raise DataError(f"X={str(self.path)!r} has become shorter since it was opened; open it again")
        return _ended(buffer, place.size)

    def _skip(self, file: Any, n_bytes: int) -> None:
        buffer = np.empty(min(sizes.TEXT_BYTES, n_bytes), np.uint8)
        while n_bytes > 0:
            n_bytes -= self._fill(file, buffer[:n_bytes]) or n_bytes

    def _fill(self, file: Any, buffer: np.ndarray) -> int:
        """Read until the buffer is full, or the file ends; return how many bytes there were."""
        n_bytes = 0
        try:
            while n_bytes < len(buffer) and (n := file.readinto(buffer[n_bytes:].data)):
                n_bytes += n
        except _DAMAGED as error:
            raise DataError(f"X={str(self.path)!r} is damaged or cut off ({error}); copy or pack it again") from error
        return n_bytes


def _last_end(text: np.ndarray) -> int:
    """Where the last whole line ends; 0 if none does."""
    step = 1 << 12  # most lines are shorter, and not all of the text is looked at
    for stop in range(len(text), 0, -step):
        ends = np.flatnonzero(text[max(stop - step, 0) : stop] == _NEWLINE)
        if ends.size:
            return max(stop - step, 0) + int(ends[-1]) + 1
    return 0


def _itself(text: np.ndarray) -> np.ndarray:
    return text


def _ended(buffer: np.ndarray, size: int) -> np.ndarray:
    """The text, which ends with a newline; PAD bytes less one at least lie behind it."""
    buffer[size : size + PAD] = _NEWLINE
    return buffer[: size + (buffer[size - 1] != _NEWLINE)]
