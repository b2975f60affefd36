"""Keeps rows that are read several times, in memory or in a scratch file, as the first read prepared them."""

import io
import pickle
import threading
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, ClassVar, Self
from uuid import uuid4
from weakref import WeakValueDictionary, finalize

import numpy as np

from streamnb.core import arguments, memory, messages, scratch
from streamnb.rows.row_blocks import Block, Forms
from streamnb.rows.source import OutsideFolds, Source, WrappedSource
from streamnb.rows.zarr_reading import timed

OF_INTEGERS = np.uint8, np.int8, np.uint16, np.int16, np.uint32, np.int32
OF_FLOATS = np.uint8, np.uint16, np.float32
KEEP = "auto", "memory", "disk", "no"
SHARE = 4  # one part in so many of the memory allowed is for rows that are read again


def packed(block: Block) -> list[memoryview]:
    """The block as buffers: a header first, then one for each array."""
    file, arrays = io.BytesIO(), list[pickle.PickleBuffer]()
    _Pickler(file, protocol=5, buffer_callback=arrays.append).dump(block)
    return [file.getbuffer(), *(array.raw() for array in arrays)]


def unpacked(parts: list[memoryview]) -> Block:
    """The block, whose arrays have the types and values that they had; they lie in the buffers where they can."""
    block: Block = pickle.loads(parts[0], buffers=parts[1:])
    return replace(block, kept=True)


class _Pickler(pickle.Pickler):
    """Packs arrays of numbers in the narrowest type, those of one value as that value, those of most 1 as the rest."""

    def reducer_override(self, value: Any) -> Any:
        if type(value) is not np.ndarray or value.dtype.kind not in "iuf" or value.size < 2:
            return NotImplemented
        value = np.ascontiguousarray(value)
        bits = value.view(f"u{value.itemsize}").reshape(-1)
        if bits[0] == bits[-1] and (bits == bits[0]).all():
            return _repeated, (value.reshape(-1)[:1], value.shape)
        for dtype in OF_FLOATS if value.dtype.kind == "f" else OF_INTEGERS:
            if np.dtype(dtype).itemsize < value.itemsize and (narrow := _narrowed(value, bits, dtype)) is not None:
                return np.ndarray.astype, (narrow, value.dtype.str)
        places = np.flatnonzero(value != 1)
        if value.ndim == 1 and 2 * len(places) < len(value):
            return _mostly_ones, (value.size, np.diff(places, prepend=0), value[places])
        return NotImplemented


def _narrowed(value: np.ndarray, bits: np.ndarray, dtype: Any) -> np.ndarray | None:
    """The array in another type; None if a bit of any value would be lost, such as the sign of -0.0."""
    with np.errstate(all="ignore"):
        if (value[..., :1].astype(dtype) != value[..., :1]).any():  # before the whole is converted
            return None
        narrow = value.astype(dtype)
        again = narrow.astype(value.dtype).view(bits.dtype).reshape(-1)
    return narrow if np.array_equal(again, bits) else None


def _repeated(value: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    return np.full(shape, value[0], value.dtype)


def _mostly_ones(size: int, steps: np.ndarray, others: np.ndarray) -> np.ndarray:
    value = np.ones(size, others.dtype)
    value[np.cumsum(steps, dtype=np.intp)] = others
    return value


class Space:
    """The memory and the disk that kept rows may take.

    Parameters
    ----------
    keep : {"auto", "memory", "disk", "no"}
    memory_limit : int or str, optional
        Bytes, of which one in `SHARE` may be taken.
    worker : (path, int or None), optional
        On a worker of a cluster: its folder, for scratch files where no other was set, and its memory limit, of which
        all fits together may take one part in `SHARE`.
    """

    taken_by_all = 0  # bytes of memory, in this process
    lock = threading.RLock()  # the collector may free kept rows while a thread holds it

    def __init__(self, keep: Any = "auto", memory_limit: Any = None, worker: tuple[Path, int | None] | None = None):
        self.keep = arguments.one_of("keep", keep, KEEP)
        self.memory_limit, self._worker = memory.check_memory_limit(memory_limit), worker
        self._most: int | None = None  # bytes of memory
        self._taken = 0
        self.problem = ""  # why rows could not be kept

    @property
    def folder(self) -> Path | None:
        """The folder of scratch files; None where there is to be none, or a default that does not suit."""
        if self.keep in ("memory", "no"):
            return None
        chosen = scratch.chosen_by_user()
        where = scratch.folder() if chosen or self._worker is None else self._worker[0]
        unasked = self.keep == "auto" and not chosen
        return None if unasked and (scratch.drawback(where) or not scratch.space(where)) else where

    @property
    def memory_left(self) -> int:
        """Bytes that may still be kept in memory."""
        if self._most is None:
            self._most = memory.allowed(self.memory_limit) // SHARE if self.keep in ("auto", "memory") else 0
        left = self._most - self._taken
        of_worker = None if self._worker is None else self._worker[1]
        return left if of_worker is None else min(left, of_worker // SHARE - Space.taken_by_all)

    def takes(self, n_bytes: int) -> bool:
        """Take memory, if there is so much; several threads may ask."""
        with Space.lock:
            if n_bytes > self.memory_left:
                return False
            self._taken += n_bytes
            Space.taken_by_all += n_bytes
            return True

    def give_back(self, n_bytes: int) -> None:
        """Give memory back."""
        with Space.lock:
            self._taken -= n_bytes
            Space.taken_by_all -= n_bytes

    def warn(self, why: object) -> None:
        """Say once that rows are not kept; a worker leaves that to the process of the fit."""
        if not self.problem:
            self.problem = str(why)
            if self._worker is None:
                messages.warn(f"{why}; where rows are not kept, each read takes them from their source again")


class Keeping:
    """The rows that a fit keeps; a context manager, at whose end all of them are freed.

    Each worker of a cluster has one, too, for each source: it finds it in `on_workers` by its name, and it is freed
    when the cluster forgets it.

    Parameters
    ----------
    keep, memory_limit, worker
        As for `Space`.

    Attributes
    ----------
    elsewhere : dict
        By the key of a source, what holds its rows on the workers of a cluster, until it is closed.
    """

    on_workers: ClassVar["WeakValueDictionary[str, Keeping]"] = WeakValueDictionary()

    def __init__(self, keep: Any = "auto", memory_limit: Any = None, worker: tuple[Path, int | None] | None = None):
        self.space, self.keep = Space(keep, memory_limit, worker), keep
        self.new_keys, self._closed = count(), False  # a key for each source that is to be kept
        self._kept: dict[Any, KeptRows | None] = {}  # None of rows that are not to be kept
        self.elsewhere: dict[Any, Any] = {}
        self._free_all = finalize(self, _close, self._kept, self.elsewhere)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._closed = True
        self._free_all()

    def __reduce__(self) -> Any:
        """Nothing is sent with it: where a cluster moves it, or puts it aside for want of memory, rows are freed."""
        return Keeping, ("no",)

    def kept(self, rows: Source, costly: bool | None = None) -> Source:
        """Rows that are to be read again: as they are, or kept by their first read.

        Where the user leaves it open, only rows that are `costly` to make are kept.
        """
        if self.keep == "no" or rows.lazy or isinstance(rows, KeptSource):
            return rows
        if isinstance(rows, OutsideFolds):
            return rows.with_each(partial(self.kept, costly=costly))
        costly = rows.costly_features if costly is None else costly
        return KeptSource(rows, self) if costly or (self.keep != "auto" and not rows.in_memory) else rows

    def find(self, key: Any) -> "KeptRows | None":
        """The rows that were kept."""
        return self._kept.get(key)

    def starts(self, key: Any, rows: Source) -> "KeptRows | None":
        """Room for rows that are about to be read; None if they are not to be kept."""
        may_use_disk = self.keep == "disk" or not rows.in_memory
        return None if key in self._kept else KeptRows(self.space, may_use_disk, rows.narrow, rows.n_rows)

    def ends(self, key: Any, rows: "KeptRows") -> None:
        """Keep rows that have been read to their end, unless another thread was faster."""
        if key in self._kept or self._closed:
            rows.close()
        else:
            self._kept[key] = rows if rows.complete else None

    def drop(self, key: Any, why: object) -> None:
        """Free rows, which are read from their source from now on."""
        self.free(key)
        self._kept[key] = None
        self.space.warn(why)

    def free(self, key: Any) -> None:
        """Free rows, here and on workers."""
        for held in (self._kept.pop(key, None), self.elsewhere.pop(key, None)):
            if held is not None:
                held.close()


def _close(*held: dict[Any, Any]) -> None:
    for by_key in held:
        while by_key:
            rows = by_key.popitem()[1]
            if rows is not None:
                rows.close()


class KeptRows:
    """Blocks of consecutive rows, in memory as long as they fit, else in a scratch file."""

    def __init__(self, space: Space, may_use_disk: bool, narrow: bool = False, n_rows: int | None = None):
        self._space, self._may_use_disk, self.complete, self.why = space, may_use_disk, True, ""
        self._narrow, self._n_rows = narrow, n_rows
        self._ranges: list[tuple[int, int]] = []  # of rows, of each block
        self._blocks: list[Any] = []  # packed where they are narrow
        self._file: scratch.ScratchFile | None = None
        self._taken = 0

    def add(self, block: Block) -> None:
        """Keep a block, if all blocks so far could be kept."""
        if not self.complete:
            return
        self._ranges.append((block.first_row, block.stop))
        held: Any = (
            packed(block) if self._narrow else replace(block, kept=True, forms=Forms(block.X, self._space.takes))
        )
        n_bytes = sum(part.nbytes for part in held) if self._narrow else block.nbytes
        if self._file is None and self._space.takes(n_bytes):
            self._blocks.append(held)
            self._taken += n_bytes
            return
        try:
            self._write(held)
        except OSError as error:
            self.give_up(error)

    def _write(self, held: Any) -> None:
        if self._file is None:
            where = self._space.folder
            if where is None or not self._may_use_disk:
                self.give_up(None)
                return
            self._file = scratch.ScratchFile(where)
            earlier, self._blocks = self._blocks, []
            self._give_back()
            for one in earlier:
                self._write(one)
        self._file.append(held if self._narrow else packed(replace(held, forms=None)))

    def _give_back(self) -> None:
        self._space.give_back(self._taken)
        self._taken = 0

    def give_up(self, error: OSError | None) -> None:
        """Free everything, because the rest cannot be kept."""
        self.complete, self.why = False, "no folder for scratch files"
        if error is not None:
            where = self._space.folder if self._file is None else self._file.where
            self.why = f"no scratch in {where}: {error}"
            cure = f"snb.set_scratch(path, limit=..) gives more space{self._needed()}"
            self._space.warn(f"rows cannot be kept on disk in {where} ({error}); {cure}")
        self.close()

    def _needed(self) -> str:
        """How much all rows take, as far as those that were written tell."""
        if self._file is None or not self._n_rows or not self._file.nbytes:
            return ""
        written = self._ranges[len(self._file) - 1][1]
        return f", of which all rows need about {memory.size(self._file.nbytes * self._n_rows / written)}"

    def finish(self) -> None:
        """Say that no block follows."""
        try:
            if self._file is not None:
                self._file.close_writing()
        except OSError as error:
            self.give_up(error)

    def blocks(self, start: int, stop: int | None) -> Iterator[Block]:
        """The rows in [start, stop); OSError if the disk fails, or what it holds has changed."""
        for number, (first, end) in enumerate(self._ranges):
            if end > start and (stop is None or first < stop):
                held = self._blocks[number] if self._file is None else self._file.read(number)
                block = held if isinstance(held, Block) else unpacked(held)
                yield block.cut(max(first, start), end if stop is None else min(end, stop))

    def close(self) -> None:
        """Free memory and disk."""
        self._taken += sum(held.forms.nbytes for held in self._blocks if not self._narrow)
        self._ranges, self._blocks = [], []
        self._give_back()
        if self._file is not None:
            self._file.close()
            self._file = None


class Owner:
    """An object that lives as long as any copy of a source."""


class KeptSource(WrappedSource):
    """A source whose rows are kept by the first read of all of them, and come from there in later reads.

    A part for a worker of a cluster is kept there, where there is a `Keeping` of its `name`.
    """

    keeping: Any  # where rows are kept; None in a part for a worker, which has a place of its own
    _owner: Owner | None

    def __init__(self, rows: Source, keeping: Keeping):
        super().__init__(rows)
        self.given, self.label = rows.given, rows.label
        self.feature_names, self.names_last = rows.feature_names, rows.names_last
        self.encoding, self.keeping, self.read_once = rows.encoding, keeping, False
        self._all: tuple[int, int | None] = 0, rows.n_rows
        self._own(keeping)

    def _own(self, keeping: Keeping) -> None:
        """Keep rows anew, which are freed with this source and its copies, if not at the end of the fit."""
        self.key: Any = next(keeping.new_keys)
        self.name, self._owner = f"streamnb-keep-{uuid4().hex}", Owner()
        finalize(self._owner, keeping.free, self.key)

    @property
    def here(self) -> Keeping | None:
        """Where this process keeps the rows; None on a worker that has no place for them."""
        return Keeping.on_workers.get(self.name) if self.keeping is None else self.keeping

    @property
    def keepers(self) -> "tuple[KeptSource, ...]":
        return self, *self._rows.keepers

    @property
    def segments(self) -> Any:
        """What workers keep of these rows, and where; None where no worker has read them."""
        return None if self.keeping is None else self.keeping.elsewhere.get(self.key)

    def blocks(self, start: int = 0, stop: int | None = None) -> Iterator[Block]:
        stop = self.n_rows if stop is None else stop  # None for a stream
        keeping = self.here
        if keeping is None:
            yield from self._from_source(start, stop)
        elif (rows := keeping.find(self.key)) is not None:
            yield from self._again(keeping, rows, start, stop)
        elif (start, stop) == self._all and (room := keeping.starts(self.key, self)) is not None:
            yield from self._first(keeping, room)
        else:
            yield from self._from_source(start, stop)

    def _first(self, keeping: Keeping, room: KeptRows) -> Iterator[Block]:
        """All rows, kept as they are read."""
        try:
            for block in self._rows.blocks(*self._all):
                room.add(block)
                if self._rows.read_once and not room.complete:
                    raise self._lost(f"its rows fit neither into memory nor into scratch ({room.why})")
                yield block
            room.finish()
        except BaseException:  # also where the reader stops early
            room.close()
            raise
        keeping.ends(self.key, room)

    def _again(self, keeping: Keeping, rows: KeptRows, start: int, stop: int | None) -> Iterator[Block]:
        done = start
        try:
            for block in timed(rows.blocks(start, stop), self.reading):
                done = block.stop
                yield block
            return
        except OSError as error:
            if self._rows.read_once:
                raise self._lost(f"what was kept of it is lost ({error})") from error
            keeping.drop(self.key, error)
        yield from self._from_source(done, stop)

    def _from_source(self, start: int, stop: int | None) -> Iterator[Block]:
        """Rows of the source, which if it is a stream begins with its first row again."""
        if self.n_rows is not None or start == 0:
            yield from self._rows.blocks(start, stop)
            return
        for block in self._rows.blocks():
            end = block.stop
            if end > start:
                yield block.cut(max(block.first_row, start), end)

    def _lost(self, why: str) -> ValueError:
        return ValueError(
            f"X is an iterator, which can be read once, and {why}; pass a callable that returns a fresh iterator, or "
            "give more space with snb.set_scratch(path, limit=..)"
        )

    def check_read_again(self, who: str) -> None:
        """Rows that can be read once are kept, or refused while they are read."""
        if not self._rows.read_once:
            self._rows.check_read_again(who)

    def wanted(self, values: bool, block_bytes: int) -> Self:
        part = super().wanted(True, block_bytes)  # later reads may want them
        part.values_matter = values
        return part

    def with_columns(self, *labels: Any, targets: bool = False, **columns: Any) -> Self:
        part = super().with_columns(*labels, targets=targets, **columns)
        if self.keeping is not None and any(column is not None for column in (*labels, *columns.values())):
            part._own(self.keeping)  # what was kept lacks the new columns
        return part

    def rows_near(self, n_rows: int) -> int:
        """The step of what workers have kept, if any."""
        return super().rows_near(n_rows) if self.segments is None else self.segments.step

    def cut(self, start: int, stop: int) -> Self:
        part = super().cut(start, stop)
        part.keeping, part._owner, part.key, part._all = None, None, (start, stop), (start, stop)
        return part

    def where(self) -> tuple[bool, str]:
        """Whether this process has kept the rows, and what was the matter if it has not."""
        keeping = self.here
        return (False, "") if keeping is None else (keeping.find(self.key) is not None, keeping.space.problem)
