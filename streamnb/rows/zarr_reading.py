"""Reading Zarr arrays in order: large aligned slices, each chunk decoded once, a few blocks ahead of need."""

import asyncio
import math
import os
import threading
import time
import warnings
import weakref
from collections import deque
from collections.abc import Callable, Coroutine, Generator, Iterable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from typing import Any, TypeVar, TypeVarTuple

import numpy as np
import zarr
from zarr.buffer.cpu import NDBuffer
from zarr.codecs import Crc32cCodec, ShardingCodec
from zarr.core.sync import sync
from zarr.storage import LocalStore

from streamnb.core import memory
from streamnb.core.messages import DataError
from streamnb.rows.retries import attempts_at, persistently


def check_layout(array: zarr.Array) -> zarr.Array:
    """Return an array whose shape and chunks are possible, and of which a chunk fits into memory."""
    where = f"array {array.path!r} in {array.store}"
    try:
        shape, chunks, dtype = tuple(array.shape), (*array.chunks, *(array.shards or ())), array.dtype
    except Exception as error:  # grids and types that zarr cannot put into these words
        raise DataError(f"the metadata of {where} is broken: {error!r}") from error
    if any(length < 0 for length in shape) or math.prod(shape) * dtype.itemsize >= 2**63:
        raise DataError(f"the metadata of {where} is broken: no array has the shape {shape}")
    if any(length < 1 for length in chunks):
        raise DataError(f"the metadata of {where} is broken: it has chunks of shape {array.chunks}")
    taken = math.prod(array.chunks) * dtype.itemsize
    if taken > memory.free_memory():
        raise MemoryError(
            f"one chunk of {where}, of shape {array.chunks}, takes {memory.size(taken)}, and "
            f"{memory.size(memory.free_memory())} are free; write the array with smaller chunks"
        )
    return array


def chunks_bear_checksums(array: zarr.Array) -> bool:
    """True where every chunk ends with its checksum, as `write_csr` leaves them."""
    return any(isinstance(codec, Crc32cCodec) for codec in _codecs(array))


def shards_bear_checksums(array: zarr.Array) -> bool:
    """False where the index of a shard may be damaged unseen, so that it leads anywhere; True without shards."""
    sharding = (codec for codec in _codecs(array) if isinstance(codec, ShardingCodec))
    return all(any(isinstance(inner, Crc32cCodec) for inner in codec.index_codecs) for codec in sharding)


def _codecs(array: zarr.Array) -> Any:
    return getattr(array.metadata, "codecs", ())


T = TypeVar("T")
Ts = TypeVarTuple("Ts")
AHEAD = 2  # blocks that are read before they are needed
N_READERS = 4  # a thread for each array of those blocks
WHOLE_BYTES = 1 << 26  # of a last chunk without checksum that is read to its end, beyond that of the array
_PIPELINE = {"codec_pipeline.path": "zarrs.ZarrsCodecPipeline", "codec_pipeline.validate_checksums": True}
_lock = threading.Lock()  # zarr's configuration is one for the whole process, a clock one for several readers
_processes: set[int] = set()  # in which zarrs was used, of this one and those it was forked from


def with_fast_codecs(array: zarr.Array) -> zarr.Array:
    """Open the same array again behind the zarrs codec pipeline, which zarr binds when an array is opened."""
    if _processes | {os.getpid()} != {os.getpid()}:
        return array  # zarrs would wait for threads that a fork has left behind
    if not array.dtype.isnative or not shards_bear_checksums(array):
        return array  # zarrs reads the machine's own byte order only, and a damaged index of a shard ends the process
    # zarrs warns where it leaves an array, such as one of strings, to zarr's own pipeline, or opens a store anew
    _processes.add(os.getpid())
    with _lock, zarr.config.set(_PIPELINE), warnings.catch_warnings(action="ignore"):
        opened, metadata = array.async_array, array.metadata
        if chunks_bear_checksums(array) or math.prod(array.chunks) * array.dtype.itemsize <= WHOLE_BYTES:
            # zarrs verifies checksums and sizes where chunks are read as a whole, and so shall the last
            length = -(-array.shape[0] // array.chunks[0]) * array.chunks[0]
            metadata = metadata.update_shape((length, *array.shape[1:]))
        return zarr.Array(type(opened)(metadata=metadata, store_path=opened.store_path))


def check_complete(*arrays: zarr.Array) -> None:
    """Refuse arrays of one store with chunks missing there: zarr would read them as the fill value."""
    found = persistently(lambda: sync(_stored_keys(arrays)), arrays[0].store)
    for array, there in zip(arrays, found, strict=True):
        grid = [-(-length // unit) for length, unit in zip(array.shape, array.shards or array.chunks, strict=True)]
        n_chunks = math.prod(grid)
        missing = n_chunks - len(there)
        if missing <= 0:  # there may be files that are no chunks
            folder = f"{array.path}/" if array.path else ""
            missing = sum(folder + array.metadata.encode_chunk_key(at) not in there for at in np.ndindex(*grid))
        if missing > 0:
            raise DataError(
                f"array {array.path!r} in {array.store} lacks {missing} of its {n_chunks} chunks; copy the store "
                "again, or write it anew with snb.write_csr (zarr leaves out chunks of zeros unless told "
                "write_empty_chunks=True)"
            )


async def _stored_keys(arrays: Iterable[zarr.Array]) -> list[set[str]]:
    """What is stored of each array, its metadata left out; all are asked for at once."""

    async def of_one(array: zarr.Array) -> set[str]:
        prefix = array.store_path.path
        keys = {key async for key in array.store.list_prefix(f"{prefix}/" if prefix else "")}
        return {key for key in keys if not key.rpartition("/")[2].startswith((".z", "zarr.json"))}

    return await asyncio.gather(*map(of_one, arrays))


class Cursor:
    """Reads an array in order from the element `start` on; every chunk is read and decoded once.

    Chunks are read whole, whose checksums are verified then; what the caller does not take yet is kept. `readers`,
    where given, read what is asked for meanwhile.
    """

    def __init__(self, array: zarr.Array, start: int = 0, readers: "Readers | None" = None):
        self._array = with_fast_codecs(array)
        self._unit = max(array.chunks[0], 1)
        self._length = array.shape[0]
        self._submit = _at_once if readers is None else readers.submit
        self._run = readers.run if readers is not None and _read_by_zarrs(self._array) else sync
        self._start = start
        self._first = self._end = start // self._unit * self._unit  # what is held or on its way: [first, end)
        self._memory = Recycled()
        self._held = _at_once(np.empty, (0, *array.shape[1:]), array.dtype)

    def aligned(self, stop: int) -> int:
        """The chunk boundary nearest to `stop`, or `stop` where none is within half the way there."""
        boundary = (stop + self._unit // 2) // self._unit * self._unit
        near = 2 * abs(boundary - stop) <= stop - self._start
        return min(boundary if near else stop, self._length)

    def peek(self, stop: int) -> np.ndarray:
        """The elements from the present position up to `stop`, without moving on."""
        return self._part(stop)()

    def take(self, stop: int) -> np.ndarray:
        """The elements from the present position up to `stop`, and move there."""
        return self.ask(stop)()

    def ask(self, stop: int) -> Callable[[], np.ndarray]:
        """Move to `stop`; the function returned waits for the elements passed, and gives them."""
        part = self._part(stop)
        self._start = min(stop, self._length)
        return part

    def _part(self, stop: int) -> Callable[[], np.ndarray]:
        stop = min(stop, self._length)
        if stop > self._end:
            first, end = min(self._start, self._end), -(-stop // self._unit) * self._unit
            end = min(end, self._array.shape[0])  # beyond the length where the last chunk is read as a whole
            self._held = self._submit(self._longer, self._held, self._end - first, self._end, end)
            self._first, self._end = first, end
        held, first, last = self._held, self._start - self._first, stop - self._first
        return lambda: held.result()[first:last]

    def _longer(self, held: "Future[np.ndarray]", n_kept: int, start: int, stop: int) -> np.ndarray:
        """The last `n_kept` elements of what is held, and behind them those of the array from `start` to `stop`."""
        array = self._array
        try:
            longer = self._memory.empty((n_kept + stop - start, *array.shape[1:]), array.dtype)
            persistently(lambda: self._run(_read_into(longer[n_kept:], array, start, stop)), array.store)
        except Exception as error:  # codecs and stores raise whatever they like
            chunk, reason = _first_bad_chunk(array, start, stop, error)
            attempts = attempts_at(array.store)
            tried = f" in {attempts} attempts" if attempts > 1 else ""
            raise DataError(
                f"array {array.path!r} in {array.store}: chunk {chunk} cannot be read{tried} "
                f"({type(reason).__name__}: {reason}); restore that chunk or write the store anew"
            ) from error
        if n_kept:
            longer[:n_kept] = held.result()[-n_kept:]
        return longer


class Recycled:
    """Memory that is used again once no array made of it is left, so that the system need not clear new pages."""

    def __init__(self) -> None:
        self._free: list[memoryview] = []

    def empty(self, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        """An array of any values; whatever is made of it, down to the part of a part, keeps its memory."""
        size = math.prod(shape)
        if dtype.kind not in "biuf" or not size:
            return np.empty(shape, dtype)
        memory = self._take(size * dtype.itemsize)
        array = np.frombuffer(memory, dtype, size)  # not an owner, hence itself the base of every part
        weakref.finalize(array, self._free.append, memory).atexit = False
        return array.reshape(shape)

    def _take(self, n_bytes: int) -> memoryview:
        try:
            while len(memory := self._free.pop()) < n_bytes:
                pass  # too small for what comes now: let it go
        except IndexError:  # none is free
            return np.empty(n_bytes + n_bytes // 32, np.uint8).data  # what comes next may be a little longer
        return memory


async def _read_into(out: np.ndarray, array: zarr.Array, start: int, stop: int) -> None:
    await array.async_array.get_orthogonal_selection(slice(start, stop), out=NDBuffer.from_numpy_array(out))


def _read_by_zarrs(array: zarr.Array) -> bool:
    """True where zarrs reads files by itself: nothing is waited for then that another thread could do meanwhile."""
    return isinstance(array.store, LocalStore) and getattr(array.async_array.codec_pipeline, "impl", None) is not None


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
        try:
            with clock:
                item = next(iterator)
        except StopIteration:
            return
        yield item
        del item  # so that its memory serves the next


class _Here(asyncio.SelectorEventLoop):
    """Does at once, in the thread that runs it, what coroutines would have other threads do."""

    def run_in_executor(self, executor: Executor | None, func: Callable[[*Ts], T], *args: *Ts) -> "asyncio.Future[T]":
        future = self.create_future()
        try:
            future.set_result(func(*args))
        except Exception as error:
            future.set_exception(error)
        return future


class Readers:
    """Threads that read what blocks are made of, begun in the order in which it is asked for; a context manager."""

    def __init__(self, clock: Clock, n_threads: int = N_READERS):
        self._pool = ThreadPoolExecutor(n_threads, "streamnb-reader")
        self._clock = clock
        self._own = threading.local()
        self._loops: list[_Here] = []

    def __enter__(self) -> "Readers":
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown(cancel_futures=True)
        for loop in self._loops:
            loop.close()

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine to its end in the thread that calls, one of these.

        By way of zarr's own loop, and threads of that, each read would be handed over four times more.
        """
        if not hasattr(self._own, "loop"):
            self._own.loop = _Here()
            self._loops.append(self._own.loop)
        return self._own.loop.run_until_complete(coroutine)

    def submit(self, function: Callable[..., T], *arguments: Any) -> "Future[T]":
        return self._pool.submit(self._run, function, *arguments)

    def _run(self, function: Callable[..., T], *arguments: Any) -> T:
        with Clock() as own:
            done = function(*arguments)
        with _lock:
            self._clock.seconds += own.seconds
        return done


def _at_once(function: Callable[..., T], *arguments: Any) -> "Future[T]":
    """What a pool would promise, done already."""
    future: Future[T] = Future()
    future.set_result(function(*arguments))
    return future


def ahead(asked: Iterable[Callable[[], T]], n: int = AHEAD) -> Generator[T]:
    """Yield what each function returns; n further ones exist by then, so that readers are at work on theirs."""
    waiting: deque[Callable[[], T]] = deque()
    for item in asked:
        waiting.append(item)
        if len(waiting) > n:
            yield waiting.popleft()()
    while waiting:
        yield waiting.popleft()()
