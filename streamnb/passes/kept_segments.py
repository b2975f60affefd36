"""Segments of rows that the workers of a Dask cluster keep from read to read, and which worker has which."""

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from streamnb.passes.checkpoint import Range
from streamnb.rows.keeping import Keeping, KeptSource
from streamnb.rows.source import Source, row_ranges

WAITING = 10.0  # seconds for workers to make room; those that take longer keep nothing in this read
FIRST = 20  # priority of making room, before any read


class KeptSegments:
    """The segments of a source that workers have kept.

    Each worker has a `Keeping`, the result of a task of its own. So the cluster frees what was kept when this is
    closed, also if the process of the fit is gone, and a worker that comes later gets one with the next read.

    Attributes
    ----------
    step : int
        Rows of a segment in the latest read, and so in the next.
    places : dict
        By the rows of a segment, the address of the worker that has it.
    """

    step: int

    def __init__(self, rows: KeptSource, client: Any):
        self._client, self._name, self._space = client, rows.name, rows.keeping.space
        self._rooms: dict[str, Any] = {}  # futures, by the address of the worker
        self.places: dict[Range, str] = {}

    def make_room(self, step: int) -> dict[str, int]:
        """Have every worker that has no room yet make some, for segments of so many rows; the threads of each."""
        from distributed import wait

        self.step, n_threads = step, self._client.nthreads()
        new = {
            address: self._client.submit(
                _room,
                *(self._name, self._space.keep, self._space.memory_limit),
                key=f"{self._name}-{address}",
                workers=[address],
                priority=FIRST,
            )
            for address in n_threads
            if address not in self._rooms
        }
        self._rooms |= new
        if new:
            with suppress(TimeoutError):
                wait(list(new.values()), timeout=WAITING)
        return n_threads

    def add(self, note: "Note") -> None:
        """Remember where a segment was kept; a worker that failed to keep it is warned of."""
        if note.address is not None:
            self.places[note.rows] = note.address
        if note.problem:
            self._space.warn(f"on a worker, {note.problem}")

    def close(self) -> None:
        """Have workers free what they kept."""
        for room in self._rooms.values():
            room.release()
        self._rooms.clear()


class Note(NamedTuple):
    """Where a segment of rows was kept, None for nowhere, and what was the matter."""

    rows: Range
    address: str | None
    problem: str


class Group(NamedTuple):
    """Segments that one task reads, and its options, which name the worker that has kept them, if any has."""

    ranges: list[Range]
    options: dict[str, Any]


def _room(name: str, keep: str, memory_limit: int | None) -> Keeping:
    """A `Keeping` of this worker; the one of this name that its process has, if any."""
    from distributed import get_worker

    worker = get_worker()
    limit = getattr(worker.memory_manager, "memory_limit", None)
    keeping = Keeping(keep, memory_limit, (Path(worker.local_directory), limit or None))
    return Keeping.on_workers.setdefault(name, keeping)


def grouped(source: Source, ranges: Iterable[Range], client: Any, most: int = 1) -> list[Group]:
    """The segments that each task reads; every worker has room for them by then, if they are to be kept.

    What a worker has kept is shared among its threads, `most` segments a task; other segments are a task each.
    """
    groups, n_threads, on_worker = list[Group](), dict[str, int](), dict[str, list[Range]]()
    if source.keepers:
        rows, (start, stop) = source.keepers[0], row_ranges(source)[0]
        segments = rows.keeping.elsewhere.setdefault(rows.key, KeptSegments(rows, client))
        n_threads = segments.make_room(stop - start)
    places = [keeper.segments.places for keeper in source.keepers if keeper.segments is not None]
    for segment in ranges:
        address = next((held[segment] for held in places if segment in held), None)
        if address in n_threads:
            on_worker.setdefault(address, []).append(segment)
        else:
            groups.append(Group([segment], {}))
    for address, kept in on_worker.items():
        step = min(-(-len(kept) // n_threads[address]), most)
        where = {"workers": [address], "allow_other_workers": True}
        groups += [Group(kept[first : first + step], where) for first in range(0, len(kept), step)]
    return sorted(groups)  # so that all workers begin at once


def remember(source: Source, notes: list[Note]) -> None:
    """Remember where segments of a source were kept in this read; workers that failed to are warned of."""
    for note in notes:
        source.keepers[0].segments.add(note)


def notes_of(part: Source, rows: Range) -> list[Note]:
    """On a worker: what has become of the rows of a part of a source; none where it is not to be kept."""
    from distributed import get_worker

    if not part.keepers:
        return []
    kept, problem = part.keepers[0].where()
    return [Note(rows, get_worker().address if kept else None, problem)]
