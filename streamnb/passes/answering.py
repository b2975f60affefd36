"""Applies functions to blocks of rows, or to independent pieces of work, and returns the result of each."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from operator import call
from typing import Any

import numpy as np

from streamnb.core import arguments, row_checks
from streamnb.core.threads import in_order
from streamnb.passes import stopping
from streamnb.passes.contract import RunOptions, client_for
from streamnb.passes.contract import bar as bar_of
from streamnb.passes.dask_blocks import map_rows
from streamnb.passes.dask_workers import Tasks, check_task_sendable, of_segments, reachable
from streamnb.rows.boundary import checked
from streamnb.rows.row_blocks import Block
from streamnb.rows.source import Source


def answer(
    function: Callable,
    rows: Source,
    width: int | tuple[int, ...] | None,
    dtype: np.dtype | None,
    *,
    out: Any = None,
    join: Callable = np.concatenate,
    meta: Any = None,
    missing: bool = False,
) -> Any:
    """Apply a function to each block of rows; the result is lazy for Dask, else an array.

    Parameters
    ----------
    function : callable
        Maps a checked block (chunk, survey) to (n_rows,) or (n_rows, width); picklable.
    rows : Source
    width : int, tuple of int or None
        Columns of the result, or all of its axes after that of rows; None where it is 1-D.
    dtype : dtype or None
        Of the result; None where it is of the kind of the rows, dense or sparse.
    out : array-like, optional
        Anything that takes slices of rows: the result is written to it block by block, and it is returned.
    join : callable
        Joins the results of all blocks where no array can be allocated beforehand.
    meta : array-like, optional
        An empty result, where it has no `dtype` and is not of the kind of the rows.
    missing : bool
        Whether the function accepts NaN in dense rows.
    """
    if rows.one_row is not None:
        return rows.one_row(partial(_of_block, function, missing), rows)
    beside = () if width is None else width if isinstance(width, tuple) else (width,)
    if rows.lazy:
        if out is not None:
            raise ValueError("out: X is a Dask array and its answer lazy; write that with its store or to_zarr")
        return map_rows(function, rows, beside, dtype, meta, missing)
    if out is not None and dtype is not None:
        arguments.check_out(out, rows.n_rows, beside, dtype)
    elif rows.n_rows is not None and dtype is not None:
        out = np.empty((rows.n_rows, *beside), dtype)
    pieces = {}
    for first_row, piece in _results(function, rows, missing):
        if out is None:
            pieces[first_row] = piece
        else:
            out[first_row : first_row + piece.shape[0]] = piece
    if out is not None:
        return out
    row_checks.check_min_size(len(pieces), rows.n_features or 1)
    return join([pieces[first_row] for first_row in sorted(pieces)])


def _of_block(function: Callable, missing: bool, block: Block) -> Any:
    return function(*checked(block, missing))


def _results(function: Callable, rows: Source, missing: bool) -> Iterator[tuple[int, Any]]:
    """Yield the number of the first row and the result of each block; those of workers in any order."""
    client = client_for(None)
    if client is not None and reachable(rows):
        for start, pieces in of_segments(rows, client, "prediction", _segment_results, (function, missing)):
            for piece in pieces:
                yield start, piece
                start += piece.shape[0]
        return
    for block in rows.blocks():
        stopping.check()
        yield block.first_row, function(*checked(block, missing))


def _segment_results(shared: tuple[Callable, bool], rows: Source, start: int, stop: int) -> tuple[int, list[Any]]:
    function, missing = shared
    return start, [function(*checked(block, missing)) for block in rows.blocks(start, stop)]


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
