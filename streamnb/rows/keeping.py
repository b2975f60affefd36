"""Keeps rows that are read several times, in memory or in a scratch file, as the first read prepared them."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any, Self
from weakref import finalize

from streamnb.core import arguments, memory, messages, scratch
from streamnb.rows.block import Block
from streamnb.rows.derived_sources import WrappedSource
from streamnb.rows.packing import packed, unpacked
from streamnb.rows.source import Source
from streamnb.rows.zarr_reading import timed

KEEP = "auto", "memory", "disk", "no"
SHARE = 4  # one part in so many of the memory allowed is for rows that are read again


class Keeping:
    """What a fit keeps of its rows in this process; a context manager, at whose end all of it is freed.

    Parameters
    ----------
    keep : {"auto", "memory", "disk", "no"}
    memory_limit : int or str, optional
        Bytes, of which one in `SHARE` may be kept in memory.
    """

    def __init__(self, keep: Any = "auto", memory_limit: Any = None):
        self.keep = arguments.one_of("keep", keep, KEEP)
        self._memory_limit, self._numbers, self._warned = memory.check_memory_limit(memory_limit), count(), False
        self._left: int | None = None  # bytes in memory
        self._kept: dict[int, KeptRows | None] = {}  # None of rows that are not to be kept
        self._closed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._closed = True
        kept, self._kept = self._kept, {}
        for rows in kept.values():
            if rows is not None:
                rows.close()

    def kept(self, rows: Source, costly: bool | None = None) -> Source:
        """Rows that are to be read again: as they are, or kept by their first read.

        Where the user leaves it open, only rows that are `costly` to make are kept.
        """
        if self.keep == "no" or rows.lazy or isinstance(rows, KeptSource):
            return rows
        costly = rows.costly_features if costly is None else costly
        return KeptSource(rows, self) if costly or (self.keep != "auto" and not rows.in_memory) else rows

    def new_key(self) -> int:
        """The key of a source that is to be kept."""
        return next(self._numbers)

    def find(self, key: int) -> "KeptRows | None":
        """The rows that were kept."""
        return self._kept.get(key)

    def starts(self, key: int, in_memory: bool) -> "KeptRows | None":
        """Room for rows that are about to be read; None if they are not to be kept."""
        return None if key in self._kept else KeptRows(self, self.keep == "disk" or not in_memory)

    def ends(self, key: int, rows: "KeptRows") -> None:
        """Keep rows that have been read to their end, unless another thread was faster."""
        if key in self._kept or self._closed:
            rows.close()
        else:
            self._kept[key] = rows if rows.complete else None

    def drop(self, key: int, why: object) -> None:
        """Free rows, which are read from their source from now on."""
        self.free(key)
        self._kept[key] = None
        self.warn(why)

    def free(self, key: int) -> None:
        """Free rows."""
        rows = self._kept.pop(key, None)
        if rows is not None:
            rows.close()

    def warn(self, why: object) -> None:
        """Say once that rows are not kept."""
        if not self._warned:
            self._warned = True
            messages.warn(f"{why}; where rows are not kept, each read takes them from their source again")

    @property
    def on_disk(self) -> Path | None:
        """The folder of scratch files; None where there is to be none, or a default that does not suit."""
        if self.keep in ("memory", "no"):
            return None
        where = scratch.folder()
        unasked = self.keep == "auto" and not scratch.chosen_by_user()
        return None if unasked and (scratch.drawback(where) or not scratch.space(where)) else where

    @property
    def memory_left(self) -> int:
        """Bytes that may still be kept in memory."""
        if self._left is None:
            self._left = memory.allowed(self._memory_limit) // SHARE if self.keep in ("auto", "memory") else 0
        return self._left

    def take(self, n_bytes: int) -> None:
        """Count bytes of memory."""
        self._left = self.memory_left - n_bytes


class KeptRows:
    """Blocks of consecutive rows, in memory as long as they fit, else in a scratch file."""

    def __init__(self, keeping: Keeping, may_use_disk: bool):
        self._keeping, self._may_use_disk, self.complete, self.why = keeping, may_use_disk, True, ""
        self._ranges: list[tuple[int, int]] = []  # of rows, of each block
        self._blocks: list[Block] = []
        self._file: scratch.ScratchFile | None = None
        self._taken = 0

    def add(self, block: Block) -> None:
        """Keep a block, if all blocks so far could be kept."""
        if not self.complete:
            return
        self._ranges.append((block.first_row, block.first_row + block.n_rows))
        if self._file is None and block.nbytes <= self._keeping.memory_left:
            self._blocks.append(replace(block, kept=True))
            self._take(block.nbytes)
            return
        try:
            self._write(block)
        except OSError as error:
            self.give_up(error)

    def _write(self, block: Block) -> None:
        if self._file is None:
            where = self._keeping.on_disk
            if where is None or not self._may_use_disk:
                self.give_up(None)
                return
            self._file = scratch.ScratchFile(where)
            earlier, self._blocks = self._blocks, []
            self._take(-self._taken)
            for one in earlier:
                self._write(one)
        self._file.append(packed(block))

    def _take(self, n_bytes: int) -> None:
        self._taken += n_bytes
        self._keeping.take(n_bytes)

    def give_up(self, error: OSError | None) -> None:
        """Free everything, because the rest cannot be kept."""
        self.close()
        self.complete, self.why = False, f"no scratch: {error}" if error else "no folder for scratch files"
        if error is not None:
            self._keeping.warn(f"rows cannot be kept on disk ({error})")

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
                block = self._blocks[number] if self._file is None else unpacked(self._file.read(number))
                yield block.cut(max(first, start), end if stop is None else min(end, stop))

    def close(self) -> None:
        """Free memory and disk."""
        self._ranges, self._blocks = [], []
        self._take(-self._taken)
        if self._file is not None:
            self._file.close()
            self._file = None


class Owner:
    """An object that lives as long as any copy of a source."""


class KeptSource(WrappedSource):
    """A source whose rows are kept by the first read of all of them, and come from there in later reads."""

    def __init__(self, rows: Source, keeping: Keeping):
        super().__init__(rows)
        self.given, self.feature_names, self.names_last = rows.given, rows.feature_names, rows.names_last
        self.encoding, self.keeping, self.read_once = rows.encoding, keeping, False
        self._owner: Owner | None = None
        self._own(keeping.new_key())

    def _own(self, key: int) -> None:
        """Have what is kept freed with this source and its copies, if not at the end of the fit."""
        owner = Owner()
        finalize(owner, self.keeping.free, key)
        self._key, self._owner = key, owner

    def blocks(self, start: int = 0, stop: int | None = None) -> Iterator[Block]:
        stop = self.n_rows if stop is None else stop  # None for a stream
        rows = self.keeping.find(self._key)
        if rows is not None:
            yield from self._again(rows, start, stop)
        elif (start, stop) == (0, self.n_rows) and (room := self.keeping.starts(self._key, self.in_memory)) is not None:
            yield from self._first(room)
        else:
            yield from self._from_source(start, stop)

    def _first(self, room: KeptRows) -> Iterator[Block]:
        """All rows, kept as they are read."""
        try:
            for block in self._rows.blocks(0, self.n_rows):
                room.add(block)
                if self._rows.read_once and not room.complete:
                    raise self._lost(f"its rows fit neither into memory nor into scratch ({room.why})")
                yield block
            room.finish()
        except BaseException:  # also where the reader stops early
            room.close()
            raise
        self.keeping.ends(self._key, room)

    def _again(self, rows: KeptRows, start: int, stop: int | None) -> Iterator[Block]:
        done = start
        try:
            for block in timed(rows.blocks(start, stop), self.reading):
                done = block.first_row + block.n_rows
                yield block
            return
        except OSError as error:
            if self._rows.read_once:
                raise self._lost(f"what was kept of it is lost ({error})") from error
            self.keeping.drop(self._key, error)
        yield from self._from_source(done, stop)

    def _from_source(self, start: int, stop: int | None) -> Iterator[Block]:
        """Rows of the source, which if it is a stream begins with its first row again."""
        if self.n_rows is not None or start == 0:
            yield from self._rows.blocks(start, stop)
            return
        for block in self._rows.blocks():
            end = block.first_row + block.n_rows
            if end > start:
                yield block.cut(max(block.first_row, start), end)

    def _lost(self, why: str) -> ValueError:
        return ValueError(
            f"X is an iterator, which can be read once, and {why}; pass a callable that returns a fresh iterator, or "
            "give more space with snb.set_scratch(path, limit=..)"
        )

    def check_read_again(self, who: str) -> None:
        """Nothing to check: rows that can be read once are kept, or refused while they are read."""

    def wanted(self, values: bool, block_bytes: int) -> Self:
        part = super().wanted(True, block_bytes)  # later reads may want them
        part.values_matter = values
        return part

    def with_split(self, name: str, values: Any) -> Self:
        part = super().with_split(name, values)
        part._own(self.keeping.new_key())  # what is kept lacks the new split
        return part

    def cut(self, start: int, stop: int) -> Any:
        """Rows of the source, for a worker of a cluster, which keeps nothing."""
        return self._rows.cut(start, stop)
