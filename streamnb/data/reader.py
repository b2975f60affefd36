"""Reading Zarr arrays in order: large aligned slices, each chunk decoded once, the next block ahead of need."""

import threading
import time
import warnings
from collections.abc import Generator, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np
import zarr
from zarr.codecs import Crc32cCodec

from streamnb._checks import DataError
from streamnb.data.stores import attempts_at, persistently

T = TypeVar("T")
_PIPELINE = {"codec_pipeline.path": "zarrs.ZarrsCodecPipeline", "codec_pipeline.validate_checksums": True}
_lock = threading.Lock()  # zarr's configuration is one for the whole process


def with_fast_codecs(array: zarr.Array) -> zarr.Array:
    """Open the same array again behind the zarrs codec pipeline, which zarr binds when an array is opened."""
    if not array.dtype.isnative:
        return array  # zarrs reads the machine's own byte order only
    # zarrs warns where it leaves an array, such as one of strings, to zarr's own pipeline, or opens a store anew
    with _lock, zarr.config.set(_PIPELINE), warnings.catch_warnings(action="ignore"):
        opened, metadata = array.async_array, array.metadata
        if has_checksums(array):  # its last chunk too shall be read as a whole
            length = -(-array.shape[0] // array.chunks[0]) * array.chunks[0]
            metadata = metadata.update_shape((length, *array.shape[1:]))
        return zarr.Array(type(opened)(metadata=metadata, store_path=opened.store_path))


def has_checksums(array: zarr.Array) -> bool:
    """True where every chunk ends with its checksum; zarrs verifies it only where the chunk is read as a whole."""
    return any(isinstance(codec, Crc32cCodec) for codec in getattr(array.metadata, "codecs", ()))


def rows_of(array: zarr.Array, start: int, stop: int) -> Any:
    """array[start:stop], checksums verified."""
    unit = array.chunks[0]
    if not has_checksums(array) or start % unit == stop % unit == 0:
        return array[start:stop]
    first = start // unit * unit
    whole: Any = array[first : -(-stop // unit) * unit]
    return whole[start - first : stop - first]


def check_complete(array: zarr.Array) -> None:
    """Refuse an array with chunks missing from its store: zarr would read them as the fill value."""
    missing = array.nchunks - persistently(lambda: array.nchunks_initialized, array.store)
    if missing > 0:
        raise DataError(
            f"array {array.path!r} in {array.store} lacks {missing} of its {array.nchunks} chunks; copy the store "
            "again, or write it anew with snb.write_csr (zarr leaves out chunks of zeros unless told "
            "write_empty_chunks=True)"
        )


class Cursor:
    """Reads an array in order from the element `start` on; every chunk is read and decoded once.

    Slices are aligned to the chunks along the first axis; what the caller does not take yet is kept.
    """

    def __init__(self, array: zarr.Array, start: int = 0):
        self._array = with_fast_codecs(array)
        self._unit = max(array.chunks[0], 1)
        self._length = array.shape[0]
        self._start = start  # where the kept part begins
        self._kept = np.empty((0, *array.shape[1:]), array.dtype)

    def aligned(self, stop: int) -> int:
        """The chunk boundary nearest to `stop`, or `stop` where none is within half the way there."""
        boundary = (stop + self._unit // 2) // self._unit * self._unit
        near = 2 * abs(boundary - stop) <= stop - self._start
        return min(boundary if near else stop, self._length)

    def peek(self, stop: int) -> np.ndarray:
        """The elements from the present position up to `stop`, without moving on."""
        stop = min(stop, self._length)
        end = self._start + len(self._kept)
        if stop > end:
            new = self._read(end, min(-(-stop // self._unit) * self._unit, self._length))
            self._kept = np.concatenate([self._kept, new]) if len(self._kept) else new
        return self._kept[: stop - self._start]

    def take(self, stop: int) -> np.ndarray:
        """The elements from the present position up to `stop`, and move there."""
        taken = self.peek(stop)
        self._kept = self._kept[len(taken) :]
        self._start += len(taken)
        return taken

    def _read(self, start: int, stop: int) -> np.ndarray:
        array = self._array
        try:
            return np.asarray(persistently(lambda: rows_of(array, start, stop), array.store))
        except Exception as error:  # codecs and stores raise whatever they like
            chunk, reason = _first_bad_chunk(array, start, stop, error)
            attempts = attempts_at(array.store)
            tried = f" in {attempts} attempts" if attempts > 1 else ""
            raise DataError(
                f"array {array.path!r} in {array.store}: chunk {chunk} cannot be read{tried} "
                f"({type(reason).__name__}: {reason}); restore that chunk or write the store anew"
            ) from error


def _first_bad_chunk(array: zarr.Array, start: int, stop: int, error: Exception) -> tuple[int, Exception]:
    unit = array.chunks[0]
    for first in range(start - start % unit, stop, unit):
        try:
            array[first : min(first + unit, array.shape[0])]
        except Exception as reason:
            return first // unit, reason
    return start // unit, error


class Clock:
    """Seconds spent in a part of the work."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __enter__(self) -> "Clock":
        self._since = time.perf_counter()
        return self

    def __exit__(self, *_: object) -> None:
        self.seconds += time.perf_counter() - self._since

    def lap(self) -> float:
        """The seconds so far; the clock starts again at 0."""
        seconds, self.seconds = self.seconds, 0.0
        return seconds


def timed(items: Iterable[T], clock: Clock) -> Generator[T]:
    """Yield from `items`; the clock runs while the next one is made."""
    iterator = iter(items)
    while True:
        with clock:
            item = next(iterator, None)
        if item is None:
            return
        yield item


def one_ahead(items: Iterable[T]) -> Generator[T]:
    """Yield from `items`; a thread makes the next one while the last is being used."""
    iterator = iter(items)
    with ThreadPoolExecutor(1, "streamnb-reader") as pool:
        pending = pool.submit(next, iterator, None)
        while (item := pending.result()) is not None:
            pending = pool.submit(next, iterator, None)
            yield item
