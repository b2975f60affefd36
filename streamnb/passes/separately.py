"""Runs pieces of work that do not depend on each other, in threads here or on the workers of a cluster."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from operator import call
from typing import Any

from streamnb.core.threads import in_order
from streamnb.passes import stopping
from streamnb.passes.dask_workers import Tasks, check_task_sendable, client_for
from streamnb.passes.options import RunOptions
from streamnb.passes.progress import bar as bar_of


def separately(work: Any, items: Sequence[Any], options: RunOptions) -> Iterator[Any]:
    """Yield work(item, n_threads) for each item as it ends; `work` has a `title`, and is sent to each worker once.

    If it is to be done `here`, it is in this process, whether or not there is a cluster.

    In this process each thread takes an item of its own; if there are fewer items, several threads share one.
    """
    client = None if work.here else client_for(options.client)
    if client is None:
        outer = max(min(options.threads, len(items)), 1)
        made: Iterator[Any] = in_order(partial(_here, work, options.threads // outer), items, outer)
        with stopping.checkpointing(True):
            yield from bar_of(made, title=work.title, progress=options.progress, total=len(items), unit=" parts")
        return
    check_task_sendable(work)
    with Tasks(client) as tasks:
        remote = tasks.on_every_worker(work.title, work)
        jobs: Iterator[Callable[[], Any]] = (
            partial(tasks.submit, work.title, f"{work.title} of {item}", call, remote, item, 1) for item in items
        )
        ended = map(tasks.result, tasks.ended(jobs))
        with stopping.checkpointing(True):
            for found in bar_of(ended, title=work.title, progress=options.progress, total=len(items), unit=" parts"):
                yield found
                stopping.check()


def _here(work: Any, n_threads: int, item: Any) -> Any:
    stopping.check()
    return work(item, n_threads)
