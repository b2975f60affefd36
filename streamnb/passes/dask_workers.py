"""One pass on the workers of a Dask cluster: a bounded number of tasks in flight, merged in a tree."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from functools import partial, reduce
from itertools import count, islice
from operator import add
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4
from weakref import WeakSet

import zarr
from zarr.abc.store import Store
from zarr.storage import FsspecStore, MemoryStore, WrapperStore

from streamnb.core.messages import DataError
from streamnb.core.stored_files import ATTEMPTS, retried
from streamnb.passes import stopping
from streamnb.passes.checkpoint import Checkpoint, PartDone, Range, part_of
from streamnb.passes.contract import PassTask, Report, RunOptions
from streamnb.rows import row_blocks
from streamnb.rows.files import check_file
from streamnb.rows.keeping import Keeping, KeptSource
from streamnb.rows.source import Source, row_ranges
from streamnb.rows.zarr_reading import Clock, timed, with_retries

WAITING = 10.0  # seconds for workers to reserve space; those that take longer keep nothing in this read
RESERVING = 20  # priority of reserving space, before any read
FAN_IN = 8  # results merged at once, or kept segments that one task sums
GROUP = FAN_IN**3  # results merged on the workers before one is fetched
PER_THREAD = 4  # segments at least, so that all threads work, and none for long after the others
LEAST_BYTES = 16 << 20  # of a segment, which takes longer than sending it
IN_FLIGHT = 4  # tasks for each thread, so that no thread waits for the next to be submitted
FEWEST = 64  # tasks in flight at least, so that an adaptive cluster starts to grow
FIRST = 10  # priority of merging, which frees memory
CONNECTING = 30  # seconds within which a scheduler should answer
COPYING = 10.0  # seconds to wait for copies of shared data; the scheduler goes on copying afterwards


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
                priority=RESERVING,
            )
            for address in n_threads
            if address not in self._keepings
        }
        self._keepings |= new
        if new:
            with suppress(TimeoutError), self._client.as_current():  # it need not be the default one
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


def segments_for(source: Source, client: Any) -> list[Range]:
    """The segments of a source for the workers there are: several for each thread, unless they would be tiny."""
    for_each = source.nbytes // (PER_THREAD * max(sum(client.nthreads().values()), 1))
    return row_ranges(source, min(max(for_each, LEAST_BYTES), row_blocks.SEGMENT_BYTES))


def grouped(source: Source, client: Any, most: int = 1, checkpoint: Checkpoint | None = None) -> list[Group]:
    """The segments that each task reads; if they are to be kept, every worker has reserved space for them.

    What a worker has kept is shared among its threads, `most` segments a task; other segments are a task each. Those
    that a checkpoint has are left out.
    """
    groups, n_threads, on_worker = list[Group](), dict[str, int](), dict[str, list[Range]]()
    segments = segments_for(source, client)
    for rows in _outermost(source):
        start, stop = segments[0]
        kept_there = rows.keeping.elsewhere.setdefault(rows.key, KeptSegments(rows, client))
        n_threads = kept_there.prepare(stop - start)
    places = [keeper.segments.places for keeper in source.keepers if keeper.segments is not None]
    for segment in segments if checkpoint is None else checkpoint.remaining(segments):
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
    for keeper in _outermost(source):
        for note in notes:
            keeper.segments.add(note)


def _outermost(source: Source) -> list[Any]:
    """What keeps the rows of a source; of each fold, where each has columns of its own."""
    return [each.keepers[0] for each in list(source.by_fold.values()) or [source] if each.keepers]


def notes_of(part: Source, rows: Range) -> list[Note]:
    """On a worker: whether the rows of a part of a source were kept; nothing if they were not to be."""
    from distributed import get_worker

    found = [keeper.where() for keeper in _outermost(part)]
    if not found:
        return []
    problem = next((problem for _, problem in found if problem), "")
    kept = all(kept for kept, _ in found)
    return [Note(rows, get_worker().address if kept else None, problem)]


# ---- which cluster ---------------------------------------------------------------------------------------------------


@contextmanager
def connected(address: str | None) -> Iterator[Any]:
    """Connect to the scheduler at an address and yield its client, which is active meanwhile; None for None."""
    if address is None:
        yield None
        return
    from distributed import Client

    with Client(address, timeout=CONNECTING) as client:
        yield client


def reachable(source: Source) -> bool:
    """Whether workers can open the stores or files of the rows; rows in memory are read in this process."""
    in_stores = bool(source.arrays) and not any(_in_memory(array.store) for array in source.arrays)
    return in_stores or (bool(source.files) and not source.files[0][0].startswith("memory://"))


def _in_memory(store: Store) -> bool:
    while isinstance(store, WrapperStore):
        store = store._store
    return isinstance(store, MemoryStore) or (isinstance(store, FsspecStore) and "memory" in store.fs.protocol)


@contextmanager
def seceded() -> Iterator[None]:
    """Within a task, release the thread of the worker for the tasks that this one waits for."""
    from distributed import rejoin, secede

    try:
        secede()
    except (ValueError, AttributeError, KeyError):  # not a task, not in a thread pool, or already released
        yield
        return
    try:
        yield
    finally:
        rejoin()


def result_of(future: Any) -> Any:
    """The result of a future."""
    with seceded():
        return future.result()


# ---- tasks -----------------------------------------------------------------------------------------------------------


class Tasks:
    """Submits pure tasks to a cluster; as a context manager, releases all of them at its end.

    Keys show the kind of work on the dashboard. They are new each time, because a store may have changed.
    """

    def __init__(self, client: Any):
        self._client, self._token, self._numbers = client, uuid4().hex, count()
        self._descriptions: dict[Any, str] = {}  # of each task, for messages
        self._alive: WeakSet = WeakSet()
        self._seceded = seceded()

    def __enter__(self) -> "Tasks":
        self._seceded.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        for future in list(self._alive):  # also those that a traceback refers to
            future.release()
        self._seceded.__exit__(*error)

    def submit(self, work: str, what: str, function: Callable, *args: Any, **options: Any) -> Any:
        """A future of what `function` returns."""
        import dask

        key = (f"streamnb-{work}-{self._token}", next(self._numbers))
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 PiB"}):  # one copy per worker
            future = self._client.submit(function, *args, key=key, **options)
        self._descriptions[key] = what
        self._alive.add(future)
        return future

    def on_every_worker(self, work: str, value: Any) -> Any:
        """A future of a value that many tasks need, copied to all workers, because tasks go where their arguments are.

        Dask gives up, or waits, when a worker is lost meanwhile. Tasks fetch themselves whatever was not copied.
        """
        future = self.submit(f"{work}-plan", work, _itself, value)
        future.exception()  # waits for the end
        copy = partial(self._client.replicate, [self._checked(future)], callback_timeout=COPYING)
        with suppress(Exception):
            retried(copy, "copies for all workers", ATTEMPTS, final=TimeoutError)
        return future

    def ended(self, jobs: Iterable[Callable[[], Any]]) -> Iterator[Any]:
        """Start jobs, which return futures, a bounded number at a time; yield futures as they end."""
        from distributed import as_completed

        futures, most = as_completed(loop=self._client.loop), 0
        for n, job in enumerate(jobs):
            if n % FEWEST == 0:  # clusters grow and shrink
                most = max(IN_FLIGHT * sum(self._client.nthreads().values()), FEWEST)
            if futures.count() >= most:
                yield self._checked(next(futures))
            futures.add(job())
        yield from map(self._checked, futures)

    def totals(self, futures: Iterable[Any], enough: Callable[[], bool]) -> Iterator[Any]:
        """Yield sums of the results of futures, part by part: each of GROUP futures, or of fewer once `enough()`.

        Each sum is merged in a tree on the workers. A cluster remembers how to recompute everything that went into a
        sum that it still holds, so sums are fetched in parts.
        """
        futures, roots = iter(futures), deque[Any]()
        while (root := self._root(_until(enough, islice(futures, GROUP)))) is not None:
            roots.append(root)
            if len(roots) > 1:  # fetch the last but one, so that work on the next goes on meanwhile
                yield self.result(roots.popleft())
        yield from map(self.result, roots)

    def _root(self, futures: Iterable[Any]) -> Any:
        """A future of the sum of all; None where there are none."""
        levels: list[list[Any]] = []
        for future in futures:
            for level in count():
                if level == len(levels):
                    levels.append([])
                levels[level].append(future)
                if len(levels[level]) < FAN_IN:
                    break
                future, levels[level] = self._merged(levels[level]), []
        parts = [future for level in levels for future in level]
        while len(parts) > 1:
            parts = [self._merged(parts[first : first + FAN_IN]) for first in range(0, len(parts), FAN_IN)]
        return parts[0] if parts else None

    def _merged(self, parts: list[Any]) -> Any:
        for part in parts:
            if part.status == "error":  # raise at once, not when all are done
                self.result(part)
        return self.submit("merge", "merging", merged, parts, priority=FIRST)

    def _checked(self, future: Any) -> Any:
        if future.status in ("error", "cancelled"):
            self.result(future)
        elif future.status == "finished":  # else a worker was lost since, and another recomputes it
            self._descriptions.pop(future.key, None)
        return future

    def result(self, future: Any) -> Any:
        """The result of a task; if the cluster gave the task up, the error describes it."""
        from distributed import KilledWorker

        try:
            return future.result()
        except KilledWorker as error:
            why = f"the cluster gave the task up; workers that die again and again mostly lack memory: {error}"
            raise self._named(future, why) from error
        except CancelledError as error:
            why = f"the task was cancelled ({error}); the client should stay open, as its scheduler, until all is done"
            raise self._named(future, why) from error

    def _named(self, future: Any, why: str) -> RuntimeError:
        return RuntimeError(f"{self._descriptions.get(future.key, 'merging')}: {why}")


def merged(parts: Iterable[tuple[Any, ...]]) -> tuple[Any, ...]:
    """Sums of the elements of tuples, place by place: totals, reports, and their ranges of rows."""
    return tuple(reduce(add, column) for column in zip(*parts, strict=True))


def _until(enough: Callable[[], bool], futures: Iterable[Any]) -> Iterator[Any]:
    for future in futures:
        yield future
        if enough():
            return


# ---- one pass over the rows of a store -------------------------------------------------------------------------------


def of_segments(source: Source, client: Any, title: str, function: Callable, shared: Any) -> Iterator[Any]:
    """Yield function(shared, segment of the source, start, stop) of all segments of rows, in the order they finish.

    The function runs on workers, and its errors name the segment; `shared` is sent to each worker once.
    """
    with Tasks(client) as tasks:
        jobs = _jobs(tasks, source, grouped(source, client), title, function, shared)
        yield from map(tasks.result, tasks.ended(jobs))


def in_order(source: Source, client: Any, title: str, function: Callable, shared: Any) -> Iterator[Any]:
    """As `of_segments`, in the order of rows, working a few segments ahead."""
    with Tasks(client) as tasks:
        ahead, most = deque[Any](), max(IN_FLIGHT * sum(client.nthreads().values()), 1)
        groups = grouped(source, client)
        for job in _jobs(tasks, source, groups, title, function, shared):
            ahead.append(job())
            if len(ahead) > most:
                yield tasks.result(ahead.popleft())
        yield from map(tasks.result, ahead)


def _jobs(
    tasks: Tasks, source: Source, groups: Iterable[Group], title: str, function: Callable, shared: Any
) -> Iterator[Callable[[], Any]]:
    """What submits a task for each group of segments, to the worker that has kept them if any has."""
    _check_sendable(source)
    remote = tasks.on_every_worker(title, shared)
    for ranges, where in groups:
        what = f"{title} of rows {', '.join(f'{start} to {stop}' for start, stop in ranges)}"
        segments = [(source.cut(*rows), *rows) for rows in ranges]
        yield partial(tasks.submit, title, what, _on_segments, function, remote, segments, **where)


def check_task_sendable(task: PassTask) -> None:
    """Refuse a task that cannot be pickled."""
    import cloudpickle

    try:
        cloudpickle.dumps(task)
    except Exception as error:  # pickling a class can raise anything
        raise TypeError(
            f"the task {task.name} cannot be sent to workers ({error}); give it fields that pickle, or read the rows "
            "without workers: with dask.config.set(scheduler='threads')"
        ) from error


def _check_sendable(source: Source) -> None:
    """Refuse stores that cannot be pickled."""
    import cloudpickle

    for array in source.arrays:
        try:
            cloudpickle.dumps(array.store)
        except Exception as error:  # stores can raise anything
            raise TypeError(
                f"the store of array {array.path!r}, {array.store}, cannot be sent to workers ({error}); give its path "
                "or URL, or read it without them: with dask.config.set(scheduler='threads')"
            ) from error


def _itself(value: Any) -> Any:
    return value


def _on_segments(function: Callable, shared: Any, segments: list[tuple[Source, int, int]]) -> Any:
    """What a function makes of a segment, or the sum for several."""
    total: Any = None
    for source, start, stop in segments:
        try:
            check_found(source)
            part = function(shared, source, start, stop)
        except DataError as error:
            raise DataError(f"rows {start} to {stop}: {error}") from error
        total = part if total is None else merged([total, part])
    return total


def on_workers(
    task: PassTask, source: Source, client: Any, options: RunOptions, checkpoint: Checkpoint | None
) -> tuple[Any, Report]:
    """Add every segment of rows to a partial result on some worker, and merge their totals."""
    total: Any = None
    with Tasks(client) as tasks:
        groups = grouped(source, client, FAN_IN, checkpoint)
        add_segment = partial(_add_segment, checkpoint is not None)
        ended = tasks.ended(_jobs(tasks, source, groups, task.title, add_segment, task))
        bar = options.bar(task, ended, total=len(groups), unit=" tasks")
        for *part, notes in tasks.totals(bar, lambda: checkpoint is not None and checkpoint.due):
            remember(source, notes)
            if checkpoint is None:
                total = part if total is None else merged([total, part])
            else:
                checkpoint.add(*part)
                stopping.check()
    summed, report = total[:2] if checkpoint is None else checkpoint.total
    if report.rows != source.n_rows:
        raise RuntimeError(f"the segments on the workers gave {report.rows} rows in all, of {source.n_rows} of X")
    return summed, report


def _add_segment(
    resumable: bool, task: PassTask, source: Source, start: int, stop: int
) -> tuple[Any, Report, list[PartDone], list[Note]]:
    """Add the rows of a segment, in this thread."""
    waiting, computing = Clock(), Clock()
    part, report, done = task.partial(), Report(), list[PartDone]()
    for block in timed(source.blocks(start, stop), waiting):
        with computing:
            task.add(part, block)
        report += Report.of_block(block)
        if resumable:
            done.append(part_of(block))
    if report.rows != stop - start:
        raise DataError(f"{report.rows} rows were read instead of {stop - start}")
    with computing:
        total = part.finish()
    report += Report(
        seconds_reading=source.reading.lap(), seconds_computing=computing.seconds, seconds_waiting=waiting.seconds
    )
    return total, report, done, notes_of(source, (start, stop))


def check_found(source: Source) -> None:
    """Refuse arrays that differ from those where the pass began; zarr would read missing chunks as empty."""
    for path, n_bytes in source.files:
        check_file(path, n_bytes)
    for array in source.arrays:
        where = f"array {array.path!r} in {array.store}"
        try:
            found = with_retries(partial(zarr.open_array, store=array.store, path=array.path, mode="r"), array.store)
        except Exception as error:  # stores can raise anything
            raise DataError(
                f"a worker cannot open {where} ({error}); workers should reach it under the same path or URL, or X "
                "should be read without them: with dask.config.set(scheduler='threads')"
            ) from error
        if found.metadata.update_attributes({}) != array.metadata.update_attributes({}):
            raise DataError(f"a worker finds another {where}: {found.info}; it should be the same for all workers")
