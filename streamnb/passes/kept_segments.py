"""Segments of rows that the workers of a Dask cluster keep from read to read, and which worker has which."""

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from streamnb.passes.checkpoint import Range
from streamnb.rows.keeping import Keeping, KeptSource
from streamnb.rows.source import Source, row_ranges

WAITING = 10.0  # seconds for workers to reserve space; those that take longer keep nothing in this read
FIRST = 20  # priority of reserving space, before any read


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
        self._keepings: dict[str, Any] = {}  # futures, by the address of the worker
        self.places: dict[Range, str] = {}

    def prepare(self, step: int) -> dict[str, int]:
        """Have workers reserve space for segments of `step` rows unless they have; return the threads of each."""
        from distributed import wait

        self.step, n_threads = step, self._client.nthreads()
        new = {
            address: self._client.submit(
                _keeping,
                *(self._name, self._space.keep, self._space.memory_limit),
                key=f"{self._name}-{address}",
                workers=[address],
                priority=FIRST,
            )
            for address in n_threads
            if address not in self._keepings
        }
        self._keepings |= new
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
        for keeping in self._keepings.values():
            keeping.release()
        self._keepings.clear()


class Note(NamedTuple):
    """The address of the worker that kept a segment of rows, None if none did, and the reason."""

    rows: Range
    address: str | None
    problem: str


class Group(NamedTuple):
    """Segments that one task reads, and its options, which name the worker that has kept them, if any has."""

    ranges: list[Range]
    options: dict[str, Any]


def _keeping(name: str, keep: str, memory_limit: int | None) -> Keeping:
    """The `Keeping` of this name in the process of this worker; a new one if there is none."""
    from distributed import get_worker

    worker = get_worker()
    limit = getattr(worker.memory_manager, "memory_limit", None)
    keeping = Keeping(keep, memory_limit, (Path(worker.local_directory), limit or None))
    return Keeping.on_workers.setdefault(name, keeping)


def grouped(source: Source, ranges: Iterable[Range], client: Any, most: int = 1) -> list[Group]:
    """The segments that each task reads; if they are to be kept, every worker has reserved space for them.

    What a worker has kept is shared among its threads, `most` segments a task; other segments are a task each.
    """
    groups, n_threads, on_worker = list[Group](), dict[str, int](), dict[str, list[Range]]()
    if source.keepers:
        rows, (start, stop) = source.keepers[0], row_ranges(source)[0]
        segments = rows.keeping.elsewhere.setdefault(rows.key, KeptSegments(rows, client))
        n_threads = segments.prepare(stop - start)
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
    """On a worker: whether the rows of a part of a source were kept; nothing if they were not to be."""
    from distributed import get_worker

    if not part.keepers:
        return []
    kept, problem = part.keepers[0].where()
    return [Note(rows, get_worker().address if kept else None, problem)]
