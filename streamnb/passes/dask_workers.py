"""Work on the workers of a Dask cluster: which cluster, tasks of bounded number in flight, results merged in a tree."""

import os
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from functools import partial, reduce
from itertools import count, islice
from operator import add
from typing import Any
from uuid import uuid4
from weakref import WeakSet

import zarr
from zarr.abc.store import Store
from zarr.storage import FsspecStore, MemoryStore, WrapperStore

from streamnb.core.messages import DataError
from streamnb.passes import stopping
from streamnb.passes.checkpoint import Checkpoint, Range
from streamnb.passes.contract import PassTask
from streamnb.passes.progress import bar as bar_of
from streamnb.passes.report import Report
from streamnb.rows.retries import ATTEMPTS, retried, with_retries
from streamnb.rows.source import Source, row_ranges
from streamnb.rows.zarr_reading import Clock, timed

FAN_IN = 8  # results merged at once
GROUP = FAN_IN**3  # results merged on the workers
IN_FLIGHT = 4  # tasks for each thread: none of them waits for another to be submitted
FEWEST = 64  # tasks in flight: enough for a cluster that grows with its load to begin with
FIRST = 10  # priority of merging, which frees memory
CONNECTING = 30  # seconds that a scheduler has to answer
COPYING = 10.0  # seconds that work waits for copies of what it takes; the scheduler goes on with them


# ---- which cluster ---------------------------------------------------------------------------------------------------


def client_for(client: Any) -> Any:
    """The client given, else the active one; None where there is none, and in a task, which works where it runs."""
    if client is not None:
        return _checked(client)
    if "distributed" not in sys.modules:
        return None
    from dask.base import get_scheduler
    from distributed import Client, get_worker

    try:
        get_worker()
    except ValueError:
        active = getattr(get_scheduler(), "__self__", None)
        return active if isinstance(active, Client) else None
    return None


@contextmanager
def connected(address: str | None) -> Iterator[Any]:
    """The client of a scheduler at an address, which is the active one meanwhile; None for None."""
    if address is None:
        yield None
        return
    from distributed import Client

    with Client(address, timeout=CONNECTING) as client:
        yield client


def _checked(client: Any) -> Any:
    from distributed import Client

    if getattr(client, "asynchronous", False):
        raise ValueError("client is asynchronous; give one made without asynchronous=True")
    if hasattr(client, "get_client"):
        client = _client_of(client)
    if not isinstance(client, Client):
        raise TypeError(
            f"client is of type {type(client).__name__}; it should be a dask.distributed.Client, "
            "such as Client(cluster) or Client('tcp://scheduler:8786'), or a cluster such as LocalCluster()"
        )
    if client.status != "running":
        raise ValueError(f"client is {client.status}; give one that is connected to its scheduler")
    return client


def _client_of(cluster: Any) -> Any:
    """The client that a cluster has already, else a new one, which becomes the active one."""
    try:
        return cluster.get_client()
    except RuntimeError as error:
        raise ValueError(f"client is a cluster that gives no client ({error}); give one that runs") from error


def reachable(source: Source) -> bool:
    """Whether workers can open what holds the rows; what is in memory is read where it is."""
    in_stores = bool(source.arrays) and not any(_in_memory(array.store) for array in source.arrays)
    return in_stores or bool(source.files)


def _in_memory(store: Store) -> bool:
    while isinstance(store, WrapperStore):
        store = store._store
    return isinstance(store, MemoryStore) or (isinstance(store, FsspecStore) and "memory" in store.fs.protocol)


@contextmanager
def aside() -> Iterator[None]:
    """Leave the thread of a worker, if this is a task there, to the tasks that it waits for."""
    from distributed import rejoin, secede

    try:
        secede()
    except (ValueError, AttributeError, KeyError):  # it is no task, not in a pool of threads, or has left it
        yield
        return
    try:
        yield
    finally:
        rejoin()


def awaited(future: Any) -> Any:
    """What a future comes to."""
    with aside():
        return future.result()


# ---- tasks -----------------------------------------------------------------------------------------------------------


class Tasks:
    """Pure tasks of one piece of work on a cluster; a context that forgets them all in the end.

    Keys name the work on the dashboard. They are new each time, for what is in a store may have changed.
    """

    def __init__(self, client: Any):
        self._client, self._token, self._numbers = client, uuid4().hex, count()
        self._what: dict[Any, str] = {}  # what each task works on, for messages
        self._alive: WeakSet = WeakSet()
        self._aside = aside()

    def __enter__(self) -> "Tasks":
        self._aside.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        for future in list(self._alive):  # those of a traceback, too
            future.release()
        self._aside.__exit__(*error)

    def submit(self, work: str, what: str, function: Callable, *args: Any, **options: Any) -> Any:
        """A future of what `function` returns."""
        import dask

        key = (f"streamnb-{work}-{self._token}", next(self._numbers))
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 PiB"}):  # one copy a worker
            future = self._client.submit(function, *args, key=key, **options)
        self._what[key] = what
        self._alive.add(future)
        return future

    def replicate(self, future: Any) -> None:
        """Copy what a future holds to all workers, once it is there: tasks go where their arguments are.

        Dask gives up when a worker is lost meanwhile, or waits for it. Tasks fetch what is not copied in the end.
        """
        future.exception()  # it waits
        copy = partial(self._client.replicate, [self._checked(future)], callback_timeout=COPYING)
        with suppress(Exception):
            retried(copy, "copies for all workers", ATTEMPTS, final=TimeoutError)

    def ended(self, work: str, jobs: Iterable[tuple[Any, ...]]) -> Iterator[Any]:
        """Submit jobs (what, function, arguments ..), not too many at a time; yield their futures as they end."""
        from distributed import as_completed

        futures, most = as_completed(loop=self._client.loop), 0
        for n, job in enumerate(jobs):
            if n % FEWEST == 0:  # clusters grow and shrink
                most = max(IN_FLIGHT * sum(self._client.nthreads().values()), FEWEST)
            if futures.count() >= most:
                yield self._checked(next(futures))
            futures.add(self.submit(work, *job))
        yield from map(self._checked, futures)

    def totals(self, futures: Iterable[Any], enough: Callable[[], bool]) -> Iterator[Any]:
        """The sums of what the futures hold, which adds up part by part; until it was `enough`, or of GROUP of them.

        These are added up in a tree on the workers: the cluster keeps in mind how to make again whatever went into a
        sum that it still holds.
        """
        futures, roots = iter(futures), deque[Any]()
        while (root := self._root(_until(enough, islice(futures, GROUP)))) is not None:
            roots.append(root)
            if len(roots) > 1:  # the last but one, that the work on the next goes on meanwhile
                yield self.result(roots.popleft())
        yield from map(self.result, roots)

    def _root(self, futures: Iterable[Any]) -> Any:
        """A future of the sum of all, None of none."""
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
            if part.status == "error":  # sooner than when all is done
                self.result(part)
        return self.submit("merge", "merging", merged, parts, priority=FIRST)

    def _checked(self, future: Any) -> Any:
        if future.status in ("error", "cancelled"):
            self.result(future)
        elif future.status == "finished":  # else a worker was lost since, and another makes it again
            self._what.pop(future.key, None)
        return future

    def result(self, future: Any) -> Any:
        """What the task returned; it says what it worked on where the cluster gave it up."""
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
        return RuntimeError(f"{self._what.get(future.key, 'merging')}: {why}")


def merged(parts: Iterable[tuple[Any, ...]]) -> tuple[Any, ...]:
    """The sums of what stands in the same place: statistics, reports, and the ranges of rows they are of."""
    return tuple(reduce(add, column) for column in zip(*parts, strict=True))


def _until(enough: Callable[[], bool], futures: Iterable[Any]) -> Iterator[Any]:
    for future in futures:
        yield future
        if enough():
            return


# ---- one pass over the rows of a store -------------------------------------------------------------------------------


def of_segments(source: Source, client: Any, title: str, function: Callable, shared: Any) -> Iterator[Any]:
    """What function(shared, rows from `start` to `stop` of the source, start, stop) makes of segments, as they end.

    It runs on workers and names segments in what it raises; `shared` is sent once to each of them.
    """
    with Tasks(client) as tasks:
        for future in tasks.ended(title, _jobs(tasks, source, row_ranges(source), title, function, shared)):
            yield tasks.result(future)


def in_order(source: Source, client: Any, title: str, function: Callable, shared: Any) -> Iterator[Any]:
    """As `of_segments`, in the order of rows: a few segments are worked on ahead of that which is due."""
    with Tasks(client) as tasks:
        ahead, most = deque[Any](), max(IN_FLIGHT * sum(client.nthreads().values()), 1)
        for job in _jobs(tasks, source, row_ranges(source), title, function, shared):
            ahead.append(tasks.submit(title, *job))
            if len(ahead) > most:
                yield tasks.result(ahead.popleft())
        yield from map(tasks.result, ahead)


def _jobs(
    tasks: Tasks, source: Source, ranges: Iterable[Range], title: str, function: Callable, shared: Any
) -> Iterator[tuple[Any, ...]]:
    _check_sendable(source)
    held = tasks.submit(f"{title}-plan", title, _itself, shared)
    tasks.replicate(held)
    for start, stop in ranges:
        what = f"{title} of rows {start} to {stop}"
        yield what, _of_segment, function, held, source.cut(start, stop), start, stop


def check_task_sendable(task: PassTask) -> None:
    """Refuse a task that cannot be pickled."""
    import cloudpickle

    try:
        cloudpickle.dumps(task)
    except Exception as error:  # a class may raise whatever it likes while it is pickled
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
        except Exception as error:  # stores raise whatever they like
            raise TypeError(
                f"the store of array {array.path!r}, {array.store}, cannot be sent to workers ({error}); give its path "
                "or URL, or read it without them: with dask.config.set(scheduler='threads')"
            ) from error


def _itself(value: Any) -> Any:
    return value


def _of_segment(function: Callable, shared: Any, source: Source, start: int, stop: int) -> Any:
    try:
        check_found(source)
        return function(shared, source, start, stop)
    except DataError as error:
        raise DataError(f"rows {start} to {stop}: {error}") from error


def on_workers(
    task: PassTask, source: Source, client: Any, progress: bool | None, checkpoint: Checkpoint | None
) -> tuple[Any, Report]:
    """Give every segment of the rows to a partial result on some worker, and add up what these end as."""
    ranges = row_ranges(source)
    left = ranges if checkpoint is None else checkpoint.remaining(ranges)
    total: Any = None
    with Tasks(client) as tasks:
        ended = tasks.ended(task.title, _jobs(tasks, source, left, task.title, _add_segment, task))
        bar = bar_of(ended, title=task.title, progress=progress, total=len(left), unit=" segments")
        for part in tasks.totals(bar, lambda: checkpoint is not None and checkpoint.due):
            if checkpoint is None:
                total = part if total is None else merged([total, part])
            else:
                checkpoint.add(*part)
                stopping.check()
    summed, report = total[:2] if checkpoint is None else checkpoint.total
    if report.rows != source.n_rows:
        raise RuntimeError(f"the segments on the workers gave {report.rows} rows in all, of {source.n_rows} of X")
    return summed, report


def _add_segment(task: PassTask, source: Source, start: int, stop: int) -> tuple[Any, Report, list[Range]]:
    """Add the rows of a segment, in this thread."""
    waiting, computing = Clock(), Clock()
    part, rows, n_bytes, n_blocks = task.partial(), 0, 0, 0
    for block in timed(source.blocks(start, stop), waiting):
        with computing:
            task.add(part, block)
        rows, n_bytes, n_blocks = rows + block.n_rows, n_bytes + block.nbytes, n_blocks + 1
    if rows != stop - start:
        raise DataError(f"{rows} rows were read in place of {stop - start}")
    with computing:
        total = part.finish()
    seconds = source.reading.lap(), computing.seconds, waiting.seconds
    return total, Report(rows, n_bytes, n_blocks, 0.0, *seconds), [(start, stop)]


def check_found(source: Source) -> None:
    """Refuse arrays that are not the same here as where the work began; zarr takes chunks it does not see for empty."""
    for path, n_bytes in source.files:
        if not os.path.isfile(path):
            raise DataError(f"a worker cannot open {path}; workers should reach files under the same path")
        if os.path.getsize(path) != n_bytes:
            raise DataError(f"a worker finds another {path}, not of {n_bytes} bytes; it should be the same for all")
    for array in source.arrays:
        where = f"array {array.path!r} in {array.store}"
        try:
            found = with_retries(partial(zarr.open_array, store=array.store, path=array.path, mode="r"), array.store)
        except Exception as error:  # stores raise whatever they like
            raise DataError(
                f"a worker cannot open {where} ({error}); workers should reach it under the same path or URL, or X "
                "should be read without them: with dask.config.set(scheduler='threads')"
            ) from error
        if found.metadata != array.metadata:
            raise DataError(f"a worker finds another {where}: {found.info}; it should be the same for all workers")
