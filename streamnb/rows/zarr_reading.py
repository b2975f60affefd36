"""Reads Zarr arrays sequentially, and CSR matrices of them in the layout of AnnData.

Large aligned slices are read, each chunk decoded once, some blocks ahead.
"""

import asyncio
import math
import os
import threading
import time
import warnings
import weakref
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice, product
from typing import Any, NamedTuple, TypeVar

import numpy as np
import zarr
from zarr.buffer.cpu import NDBuffer
from zarr.codecs import Crc32cCodec, ShardingCodec
from zarr.core.sync import sync
from zarr.storage import LocalStore, MemoryStore, WrapperStore, ZipStore

from streamnb.core import memory, stored_files
from streamnb.core.messages import DataError, listed, warn

EMPTY_CHUNKS = "write_empty_chunks"  # an attribute of arrays: False says that chunks of the fill value are not written
ALL_FOUND = "streamnb_all_chunks_found"  # an attribute of opened arrays, never written, that had all chunks
T = TypeVar("T")
FEATURE_NAMES = "feature_names"  # an array of strings in a group written by `write_csr`, if names were given
CSRArrays = tuple[np.ndarray | None, np.ndarray, np.ndarray]  # data, indices, indptr


def with_retries(action: Callable[[], T], store: Any) -> T:
    """Read or write a store by `action`, several times if it is remote and fails; `store` may be a path or URL."""
    return stored_files.retried(action, store, attempts_at(store))


def attempts_at(store: Any) -> int:
    """The number of attempts for a store: one if it is local, where an error means damaged data."""
    return stored_files.ATTEMPTS if is_remote(store) else 1


def is_remote(store: Any) -> bool:
    """Whether a store, or what is at a path or URL, answers through a network, as far as one can know."""
    while isinstance(store, WrapperStore):
        store = store._store
    if isinstance(store, str):
        return "://" in store and not store.startswith("file://")
    return hasattr(store, "get") and not isinstance(store, (LocalStore, MemoryStore, ZipStore))


def check_layout(array: zarr.Array) -> zarr.Array:
    """Check that shape and chunks of an array are valid and that a chunk fits into memory; return the array."""
    where = f"array {array.path!r} in {array.store}"
    try:
        shape, chunks, dtype = tuple(array.shape), (*array.chunks, *(array.shards or ())), array.dtype
        attributes = {**array.metadata.attributes}  # none but a mapping
    except NotImplementedError as error:
        raise DataError(
            f"{where} has chunks of several sizes (a rectilinear grid, of zarr 3.4 on), which are not read; write it "
            "again with chunks of one size"
        ) from error
    except Exception as error:  # dtypes without these attributes
        raise DataError(f"the metadata of {where} is broken: {error!r}") from error
    if min(shape, default=0) < 0 or math.prod(shape) * dtype.itemsize >= 2**63:
        raise DataError(f"the metadata of {where} is broken: no array has the shape {shape}")
    if min(chunks, default=1) < 1:
        raise DataError(f"the metadata of {where} is broken: it has chunks of shape {array.chunks}")
    _check_not_packed(where, attributes)
    taken = math.prod(array.chunks) * dtype.itemsize
    if taken > memory.free_memory():
        raise MemoryError(
            f"one chunk of {where}, of shape {array.chunks}, takes {memory.size(taken)}, and "
            f"{memory.size(memory.free_memory())} are free; write the array with smaller chunks"
        )
    return array


def _check_not_packed(where: str, attributes: dict[str, Any]) -> None:
    """Refuse numbers that stand for others by the conventions of NetCDF, which xarray follows and zarr does not.

    A fill value of NaN, which xarray gives floats, is a string in version 3 of the format.
    """
    plain = {"scale_factor": 1, "add_offset": 0}
    packing = {name: attributes[name] for name in plain if attributes.get(name, plain[name]) != plain[name]}
    for name in ("_FillValue", "missing_value"):
        if isinstance(attributes.get(name), int | float) and not math.isnan(attributes[name]):
            packing[name] = attributes[name]
    if packing:
        raise DataError(
            f"{where} is packed: its attributes {packing} say that the stored numbers stand for others, or for missing "
            "ones; give the array as xarray reads it: xarray.open_zarr(store)[name]"
        )


def chunks_bear_checksums(array: zarr.Array) -> bool:
    """Whether every chunk ends with its checksum, as `write_csr` writes them."""
    return any(isinstance(codec, Crc32cCodec) for codec in getattr(array.metadata, "codecs", ()))


def shards_bear_checksums(array: zarr.Array) -> bool:
    """Whether shard indices have checksums, without which damage could go unnoticed; True without shards."""
    for codec in getattr(array.metadata, "codecs", ()):
        if isinstance(codec, ShardingCodec) and not any(isinstance(one, Crc32cCodec) for one in codec.index_codecs):
            return False
    return True


AT_ONCE = 256  # chunks that a store without lists is asked for
AHEAD = 2  # blocks that are read in advance
N_READERS = 4  # one thread for each array of those blocks
REMOTE_AHEAD, N_REMOTE_READERS = 16, 32  # of a store whose answers take their time: some 100 MB are on their way
WHOLE_BYTES = 1 << 26  # limit of a shard that is read whole, and of a last chunk without checksum beyond the array
_PIPELINE = {"codec_pipeline.path": "zarrs.ZarrsCodecPipeline", "codec_pipeline.validate_checksums": True}
_lock = threading.Lock()  # zarr's configuration is global, and several readers share a clock
_processes: set[int] = set()  # this process and its ancestors, if they used zarrs before a fork


def with_fast_codecs(array: zarr.Array) -> zarr.Array:
    """Reopen a local array with the zarrs codec pipeline, which zarr binds when an array is opened."""
    if _processes | {os.getpid()} != {os.getpid()}:
        return array  # zarrs would wait for threads that did not survive the fork
    if is_remote(array.store):
        return array  # zarrs waits for as many answers at a time as there are cores, and zarr for many
    if not array.dtype.isnative or not shards_bear_checksums(array):
        return array  # zarrs reads only native byte order, and crashes on a damaged shard index
    # zarrs warns if it falls back to zarr's own pipeline, as for strings, or reopens a store
    _processes.add(os.getpid())
    with _lock, zarr.config.set(_PIPELINE), warnings.catch_warnings(action="ignore"):
        opened, metadata = array.async_array, array.metadata
        if chunks_bear_checksums(array) or math.prod(array.chunks) * array.dtype.itemsize <= WHOLE_BYTES:
            # zarrs verifies checksums and sizes of chunks that are read whole, so the last one is, too
            length = -(-array.shape[0] // array.chunks[0]) * array.chunks[0]
            metadata = metadata.update_shape((length, *array.shape[1:]))
        return zarr.Array(type(opened)(metadata=metadata, store_path=opened.store_path))


def check_complete(store: "CSRStore") -> "CSRStore":
    """Refuse missing chunks of a CSR matrix, which zarr reads as zeros, unless its writer may have left out zeros.

    The store is returned, with a note on each array that has all chunks.
    """
    found = with_retries(lambda: sync(_stored_keys(store.arrays)), store.data.store)
    noted: dict[str, Any] = {}
    for name, array, stored in zip(("data", "indices", "indptr"), store.arrays, found, strict=True):
        if array.attrs.get(EMPTY_CHUNKS) is False:
            continue
        missing = _missing(array, stored)
        if not missing:
            noted[name] = _with_all_found(array)
            continue
        what = (
            f"{_lacking(array, len(missing))}; copy the store again, or write it anew with snb.write_csr (zarr leaves "
        )
        what += "out chunks of zeros unless told write_empty_chunks=True)"
        unit = (array.shards or array.chunks)[0]
        if store.ours:
            raise DataError(what)
        if array is store.indices and _are_first_columns(store, missing, unit):
            warn(f"X: {what}. Its rows count as having column 0; if they do, set array.attrs['{EMPTY_CHUNKS}'] = False")
        elif array is not store.indptr or not _are_empty_rows(store, missing, unit):
            raise DataError(what)
    return store._replace(**noted)


def _with_all_found(array: zarr.Array) -> zarr.Array:
    """The array, with the note that no chunk was missing."""
    opened = array.async_array
    metadata = opened.metadata.update_attributes({**array.attrs, ALL_FOUND: True})
    return zarr.Array(type(opened)(metadata=metadata, store_path=opened.store_path))


def _are_empty_rows(store: "CSRStore", missing: list[tuple[int, ...]], unit: int) -> bool:
    """Whether chunks of `indptr` that are missing can be zeros: they come first, and the next row has its values."""
    n_zeros = len(missing) * unit
    if missing[-1][0] >= len(missing):
        return False
    if n_zeros >= store.indptr.shape[0]:
        return store.data.shape[0] == 0
    end: Any = store.indptr[n_zeros]
    return bool(end <= store.shape[1] and len(np.unique(store.indices[:end])) == end)


def _are_first_columns(store: "CSRStore", missing: list[tuple[int, ...]], unit: int) -> bool:
    """Whether chunks of `indices` that are missing can be zeros: no row has two values there."""
    ends = store.indptr[:]
    inside = [np.arange(at * unit + 1, min((at + 1) * unit, store.indices.shape[0])) for (at,) in missing]
    return bool(np.isin(np.concatenate(inside), ends).all())


def check_filled(array: zarr.Array, name: str) -> zarr.Array:
    """Refuse labels, weights or groups that lack chunks, which zarr would read as the fill value; warn of rows that do.

    A column of AnnData is warned of, too: its stores are written without empty chunks. An array whose attributes say
    that empty chunks are not written is taken as it is. The array is returned, with a note if it has all chunks.
    """
    if array.attrs.get(EMPTY_CHUNKS) is False:
        return array
    stored = with_retries(lambda: sync(_stored_keys([array])), array.store)[0]
    missing = len(_missing(array, stored))
    if missing == 0 or not (stored or is_remote(array.store)):  # who reads a local store that is gone names it
        return _with_all_found(array)
    fill = repr(np.asarray(array.fill_value).item())
    what = f"{name}: {_lacking(array, missing)}, whose values count as {fill}; copy the store again"
    cure = f"if its writer left out chunks of {fill}, say so: array.attrs['{EMPTY_CHUNKS}'] = False"
    if name == "X" or "encoding-type" in array.attrs:
        warn(f"{what}, or {cure}")
    else:
        raise DataError(f"{what}; {cure}, or pass {name}=array[:]")
    return array


def _lacking(array: zarr.Array, missing: int) -> str:
    n_chunks = math.prod(_grid(array))
    return f"array {array.path!r} in {array.store} lacks {missing} of its {n_chunks} chunks"


def _grid(array: zarr.Array) -> list[int]:
    """The number of stored chunks along each axis."""
    return [-(-length // unit) for length, unit in zip(array.shape, array.shards or array.chunks, strict=True)]


def _missing(array: zarr.Array, stored: set[str]) -> list[tuple[int, ...]]:
    """The places of chunks that are not among the stored keys."""
    return [at for at in np.ndindex(*_grid(array)) if _key(array, at) not in stored]


def _key(array: zarr.Array, at: tuple[int, ...]) -> str:
    """Where a chunk is stored."""
    folder = f"{array.path}/" if array.path else ""
    return folder + array.metadata.encode_chunk_key(at)


async def _stored_keys(arrays: Iterable[zarr.Array]) -> list[set[str]]:
    """The stored keys of each array, listed concurrently; each chunk is asked for where a web server lists nothing."""

    async def of_one(array: zarr.Array) -> set[str]:
        prefix = array.store_path.path
        try:
            listed = {key async for key in array.store.list_prefix(f"{prefix}/" if prefix else "")}
        except Exception:  # of any type, where a server has no lists
            listed = set()
        everywhere = np.ndindex(*_grid(array))
        return await _answered_keys(array, everywhere) if not listed and is_remote(array.store) else listed

    return await asyncio.gather(*map(of_one, arrays))


async def _answered_keys(array: zarr.Array, places: Iterable[tuple[int, ...]]) -> set[str]:
    """The keys of those chunks that a store tells the size of."""
    keys = (_key(array, at) for at in places)
    found = set()
    while some := list(islice(keys, AT_ONCE)):
        sizes = await asyncio.gather(*map(array.store.getsize, some), return_exceptions=True)
        for key, size in zip(some, sizes, strict=True):
            if isinstance(size, int):
                found.add(key)
            elif not isinstance(size, FileNotFoundError):
                raise size
    return found


class Cursor:
    """Reads an array sequentially from element `start` on; every chunk is read and decoded once.

    Chunks are read whole, so that checksums are verified, and shards of a remote store, so that one request brings
    them; elements not taken yet are kept. `readers`, if given, read requested elements in the background.
    """

    def __init__(self, array: zarr.Array, start: int = 0, readers: "Readers | None" = None):
        self._array = with_fast_codecs(array)
        whole = array.shards or array.chunks
        in_one_request = is_remote(array.store) and math.prod(whole) * array.dtype.itemsize <= WHOLE_BYTES
        self._unit = max(whole[0] if in_one_request else array.chunks[0], 1)
        self._length = array.shape[0]
        self._submit = _finished_future if readers is None else readers.submit
        self._start = start
        self._first = self._end = start // self._unit * self._unit  # held or requested elements: [first, end)
        self._memory = BufferPool()
        self._held = _finished_future(np.empty, (0, *array.shape[1:]), array.dtype)

    def aligned(self, stop: int) -> int:
        """The chunk boundary nearest to `stop`, or `stop` if none is within half the distance."""
        boundary = (stop + self._unit // 2) // self._unit * self._unit
        near = 2 * abs(boundary - stop) <= stop - self._start
        return min(boundary if near else stop, self._length)

    def peek(self, stop: int) -> np.ndarray:
        """Return the elements from the current position up to `stop`, without moving."""
        return self._part(stop)()

    def take(self, stop: int) -> np.ndarray:
        """Return the elements from the current position up to `stop`, and move there."""
        return self.ask(stop)()

    def ask(self, stop: int) -> Callable[[], np.ndarray]:
        """Move to `stop`; return a function that waits for the elements passed and returns them."""
        part = self._part(stop)
        self._start = min(stop, self._length)
        return part

    def _part(self, stop: int) -> Callable[[], np.ndarray]:
        stop = min(stop, self._length)
        if stop > self._end:
            first, end = min(self._start, self._end), -(-stop // self._unit) * self._unit
            end = min(end, self._array.shape[0])  # beyond the length if the last chunk is read whole
            self._held = self._submit(self._extended, self._held, self._end - first, self._end, end)
            self._first, self._end = first, end
        held, first, last = self._held, self._start - self._first, stop - self._first
        return lambda: held.result()[first:last]

    def _extended(self, held: "Future[np.ndarray]", n_kept: int, start: int, stop: int) -> np.ndarray:
        """The last `n_kept` held elements, followed by the elements [start, stop) of the array."""
        array = self._array
        try:
            longer = self._memory.empty((n_kept + stop - start, *array.shape[1:]), array.dtype)
            out, some = NDBuffer.from_numpy_array(longer[n_kept:]), slice(start, stop)
            with_retries(lambda: sync(array.async_array.get_orthogonal_selection(some, out=out)), array.store)
        except Exception as error:  # codecs and stores raise errors of any type
            chunk, reason = _first_bad_chunk(array, start, stop, error)
            tried = cure = ""
            if is_remote(array.store):
                tried, cure = f" in {stored_files.ATTEMPTS} attempts", "try again later, "
            raise DataError(
                f"array {array.path!r} in {array.store}: chunk {chunk} cannot be read{tried} "
                f"({type(reason).__name__}: {reason}); {cure}restore that chunk or write the store anew"
            ) from error
        if array.attrs.get(ALL_FOUND):
            _check_still_there(array, start, longer[n_kept:])
        if n_kept:
            longer[:n_kept] = held.result()[-n_kept:]
        return longer


class BufferPool:
    """Buffers that are reused once no array refers to them, which saves the system from clearing new pages."""

    def __init__(self) -> None:
        self._free: list[memoryview] = []

    def empty(self, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        """An uninitialised array; it and all its views keep the memory alive."""
        size = math.prod(shape)
        if dtype.kind not in "biuf" or not size:
            return np.empty(shape, dtype)
        n_bytes = size * dtype.itemsize
        try:
            while len(memory := self._free.pop()) < n_bytes:
                pass  # too small: release it
        except IndexError:  # no memory is free
            memory = np.empty(n_bytes + n_bytes // 32, np.uint8).data  # the next request may be slightly larger
        array = np.frombuffer(memory, dtype, size)  # does not own its memory, hence is the base of every view
        weakref.finalize(array, self._free.append, memory).atexit = False
        return array.reshape(shape)


def _check_still_there(array: zarr.Array, start: int, read: np.ndarray) -> None:
    """Refuse chunks that are gone since the array was opened, which zarr reads as the fill value.

    Of the elements that were read, from `start` on, only chunks that hold nothing but this value are asked for.
    """
    unit, *widths = array.shards or array.chunks
    _, *across = map(range, _grid(array))
    filled = []
    for at in product(range(start // unit, -(-(start + len(read)) // unit)), *across):
        part = read[max(at[0] * unit - start, 0) : (at[0] + 1) * unit - start]
        for k, width in zip(at[1:], widths, strict=True):
            part = part[:, k * width : (k + 1) * width]
        value = part.flat[0]
        if array.fill_value not in (None, value) or (part[::64] != value).any():  # most differ within few values
            continue
        if not (part != value).any():
            filled.append(at)
    if not filled:
        return
    found = with_retries(lambda: sync(_answered_keys(array, filled)), array.store)
    if gone := [_key(array, at) for at in filled if _key(array, at) not in found]:
        raise DataError(
            f"array {array.path!r} in {array.store} has lost {listed(gone)} since it was opened, whose values would "
            f"count as {array.fill_value}; restore the store, and do not change it while it is read"
        )


def _first_bad_chunk(array: zarr.Array, start: int, stop: int, error: Exception) -> tuple[int, Exception]:
    unit = array.chunks[0]
    for first in range(start - start % unit, stop, unit):
        try:
            array[first : min(first + unit, array.shape[0])]
        except Exception as reason:
            return first // unit, reason
    return start // unit, error


class Clock:
    """A stopwatch that sums seconds."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __enter__(self) -> "Clock":
        self._since = time.perf_counter()
        return self

    def __exit__(self, *_: object) -> None:
        self.seconds += time.perf_counter() - self._since

    def lap(self) -> float:
        """Return the seconds so far and reset the clock."""
        seconds, self.seconds = self.seconds, 0.0
        return seconds


def timed(items: Iterable[T], clock: Clock) -> Generator[T]:
    """Yield from `items`; the clock runs while the next one is computed."""
    iterator = iter(items)
    while True:
        try:
            with clock:
                item = next(iterator)
        except StopIteration:
            return
        yield item
        del item  # so that its memory can be reused


class Readers:
    """Threads that read the arrays of blocks, started in the order of requests; a context manager."""

    def __init__(self, clock: Clock, arrays: Iterable[Any] = ()):
        remote = any(is_remote(array.store) for array in arrays)
        self._ahead = REMOTE_AHEAD if remote else AHEAD
        self._pool = ThreadPoolExecutor(N_REMOTE_READERS if remote else N_READERS, "streamnb-reader")
        self._clock = clock

    def __enter__(self) -> "Readers":
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown(cancel_futures=True)

    def submit(self, function: Callable[..., T], *arguments: Any) -> "Future[T]":
        return self._pool.submit(self._run, function, *arguments)

    def ahead(self, requests: Iterable[Callable[[], T]]) -> Generator[T]:
        """Yield the result of each function in order, while some later requests are already in progress."""
        waiting: deque[Callable[[], T]] = deque()
        for item in requests:
            waiting.append(item)
            if len(waiting) > self._ahead:
                yield waiting.popleft()()
        while waiting:
            yield waiting.popleft()()

    def _run(self, function: Callable[..., T], *arguments: Any) -> T:
        with Clock() as own:
            done = function(*arguments)
        with _lock:
            self._clock.seconds += own.seconds
        return done


def _finished_future(function: Callable[..., T], *arguments: Any) -> "Future[T]":
    """Run a function at once and return a finished future, like that of a pool."""
    future: Future[T] = Future()
    future.set_result(function(*arguments))
    return future


class CSRStore(NamedTuple):
    """An open CSR group whose shapes agree; `positive` if every stored value is known to be above zero.

    `ours` says whether `write_csr` has written it, which writes every chunk.
    """

    where: str
    shape: tuple[int, int]
    data: zarr.Array
    indices: zarr.Array
    indptr: zarr.Array
    positive: bool
    ours: bool

    @property
    def arrays(self) -> tuple[zarr.Array, zarr.Array, zarr.Array]:
        return self.data, self.indices, self.indptr


def open_csr(group: zarr.Group) -> CSRStore:
    """Check the layout of a group and open its three arrays."""
    attrs = dict(group.attrs)
    kind = attrs.get("encoding-type")
    where = f"group {group.path or '/'!r} in {group.store}"
    if kind == "csc_matrix":
        raise ValueError(f"X: {where} is a csc_matrix; convert it to CSR (rows must lie together), e.g. X.tocsr()")
    if kind is None and "indices" in group:
        raise DataError(
            f"X: {where} is incomplete: encoding-type, 'csr_matrix', is written last and missing; write it anew"
        )
    if kind != "csr_matrix":
        raise ValueError(
            f"X: {where} has encoding-type {kind!r}; it should be 'csr_matrix' (AnnData layout: arrays data, "
            "indices, indptr; attributes encoding-type, encoding-version, shape), or hold the rows in an array 'X'; "
            "give the path of another array, such as 'rows.zarr/values'"
        )
    version = attrs.get("encoding-version")
    if version != "0.1.0":
        raise ValueError(
            f"X: {where} has encoding-version {version!r}; it should be '0.1.0', the CSR layout of AnnData"
        )
    shape: Any = attrs.get("shape")
    if not (isinstance(shape, (list, tuple)) and len(shape) == 2 and all(isinstance(s, int) and s >= 0 for s in shape)):
        raise ValueError(f"X: {where} has shape attribute {shape!r}; it should be [n_rows, n_features]")
    arrays = {}
    for name in ("data", "indices", "indptr"):
        member = member_of(group, name)
        if not isinstance(member, zarr.Array) or member.ndim != 1:
            raise ValueError(f"X: {where} lacks the 1-D array {name!r} of the AnnData CSR layout")
        if name != "data" and member.dtype.kind not in "iu":
            raise ValueError(f"X: array {name!r} of {where} has dtype {member.dtype}; it should hold integers")
        arrays[name] = member
    n_ends, data, indices = arrays["indptr"].shape[0], arrays["data"], arrays["indices"]
    if n_ends != shape[0] + 1:
        raise DataError(f"X: {where}: indptr has {n_ends} entries; {shape[0]} rows need {shape[0] + 1}")
    if data.shape != indices.shape:
        raise DataError(f"X: {where}: data has {data.shape[0]} entries and indices {indices.shape[0]}")
    known: Any = attrs.get("streamnb")
    positive = isinstance(known, dict) and known.get("non_negative") is True and known.get("explicit_zeros") is False
    return CSRStore(where, (int(shape[0]), int(shape[1])), **arrays, positive=positive, ours=known is not None)


def member_of(group: zarr.Group, path: str) -> Any:
    """An array or group inside a group, None where there is none."""
    try:
        member = with_retries(lambda: group.get(path), group.store)
    except Exception as error:  # broken metadata raises many kinds of errors
        raise DataError(
            f"the metadata of {path!r} in group {group.path or '/'!r} of {group.store} is broken: {error!r}"
        ) from error
    return check_layout(member) if isinstance(member, zarr.Array) else member


class CSRCursor:
    """Reads rows of a store in order, from row `start` on; without `values`, `data` is not read."""

    def __init__(self, store: CSRStore, start: int, values: bool = True, readers: Readers | None = None):
        self._store, self.row = store, start
        self._indptr = Cursor(store.indptr, start)
        self.position = int(self._ends(start)[0])  # offset of the row in data and indices
        self._indices = Cursor(store.indices, self.position, readers)
        self._data = Cursor(store.data, self.position, readers) if values else None

    def row_near(self, n_values: int, most: int) -> int:
        """The row, at most `most`, up to which there are about `n_values`, or those to the end of a chunk nearby."""
        position = (self._data or self._indices).aligned(self.position + n_values)
        ends = self._indptr.peek(most + 1)
        return self.row + max(bisect_right(ends, position) - 1, 1)  # np.searchsorted would cast the whole array

    def _ends(self, stop: int) -> np.ndarray:
        """Offsets of the rows up to `stop`, and the end of the last; impossible ones are refused."""
        ends, n_values, row = self._indptr.peek(stop + 1).astype(np.int64), self._store.data.shape[0], self.row
        falls = np.flatnonzero(np.diff(ends) < 0)
        if ends[0] < 0 or (row == 0 and ends[0] > 0) or falls.size or ends[-1] > n_values:
            at = row + int(falls[0]) if falls.size else row
            raise DataError(
                f"X: {self._store.where}: indptr is wrong near row {at}: it should start at 0, never fall, and end at "
                f"{n_values}, the number of values"
            )
        return ends

    def ask(self, stop: int) -> Callable[[], CSRArrays]:
        """Move to row `stop`; return a function that waits for the rows passed and returns their arrays."""
        ends = self._ends(stop)
        self._indptr.take(stop)
        self.row, self.position = stop, int(ends[-1])
        data = (lambda: None) if self._data is None else self._data.ask(self.position)
        indices = self._indices.ask(self.position)
        return lambda: (data(), indices(), ends)
