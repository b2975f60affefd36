"""Runs one pass: in threads here, on Dask blocks, or on the workers of a cluster."""

import time
from collections.abc import Generator, Iterable
from contextlib import closing
from dataclasses import replace
from functools import reduce
from itertools import chain, starmap
from operator import add
from typing import Any

from streamnb.passes import stopping
from streamnb.passes.checkpoint import Checkpoint, Range
from streamnb.passes.contract import PassTask
from streamnb.passes.dask_blocks import on_dask_blocks
from streamnb.passes.dask_workers import check_task_sendable, client_for, on_workers, reachable
from streamnb.passes.options import RunOptions
from streamnb.passes.progress import bar as bar_of
from streamnb.passes.report import Report
from streamnb.passes.team import Alone, Team
from streamnb.rows.block import Block
from streamnb.rows.derived_sources import in_tiles
from streamnb.rows.source import Source
from streamnb.rows.zarr_reading import Clock, timed


def run(task: PassTask, rows: Source, options: RunOptions) -> tuple[Any, Report]:
    """Add every block of rows to partial results of a task, and merge their totals.

    Parameters
    ----------
    task : PassTask
    rows : Source
        As `rows.opening.opened` returns it.
    options : RunOptions

    Returns
    -------
    total, report
        The total of all rows, which does not depend on blocks, threads or workers, and the report of the pass.
    """
    made = run_here if rows.sites is None else rows.sites
    total, report = made(task, rows, options)
    return task.ended(total, report), report


def run_here(task: PassTask, rows: Source, options: RunOptions) -> tuple[Any, Report]:
    """The same for rows that can be read here, without the task's checks of all rows."""
    started, earlier = time.perf_counter(), 0.0
    client = client_for(options.client)
    if options.checkpoint is not None:
        rows.check_resumable()
    wants = task.wants(rows.n_rows, rows.n_features)
    quarter_of_thread = rows.nbytes // (4 * options.threads)  # so that each thread has four blocks or more
    rows = rows.wanted(wants.values, min(wants.block_bytes, quarter_of_thread))
    if client is not None and (rows.lazy or reachable(rows)):
        check_task_sendable(task)
    if rows.lazy:
        total, report = on_dask_blocks(task, in_tiles(rows, wants.tile_rows), options.progress, client)
    else:
        checkpoint = None if options.checkpoint is None else Checkpoint.open(options.checkpoint, task, rows)
        rows = in_tiles(rows, wants.tile_rows)
        earlier = 0.0 if checkpoint is None else checkpoint.report.seconds  # of the runs before this one
        with stopping.checkpointing(checkpoint is not None):
            if client is not None and reachable(rows):
                total, report = on_workers(task, rows, client, options.progress, checkpoint)
            else:
                total, report = _in_threads(task, rows, options, checkpoint)
    seconds, all_kept = earlier + time.perf_counter() - started, 0 < report.bytes == report.bytes_kept
    return total, replace(report, seconds=seconds, reads=1, reads_kept=int(all_kept))


def _in_threads(task: PassTask, rows: Source, options: RunOptions, checkpoint: Checkpoint | None) -> tuple[Any, Report]:
    waiting = Clock()
    ranges: Any = [(0, rows.n_rows)]
    ranges = ranges if checkpoint is None else checkpoint.remaining(ranges)
    blocks: Generator[Block] = timed(chain.from_iterable(starmap(rows.blocks, ranges)), waiting)
    n_rows = rows.n_rows or task.n_rows
    bar = bar_of(title=task.title, progress=options.progress, total=n_rows, unit=" rows", unit_scale=True)
    with closing(blocks), bar:
        bar.update(0 if checkpoint is None else checkpoint.report.rows)
        while True:
            alone = options.threads == 1 and rows.in_memory
            team = Alone(task) if alone else Team(task, options.threads)
            total, report, done = _add_blocks(team, blocks, bar, checkpoint)
            report = replace(report, seconds_reading=rows.reading.lap(), seconds_waiting=waiting.lap())
            if checkpoint is None:
                return total, report
            if not done:
                return checkpoint.total
            checkpoint.add(total, report, done)
            stopping.check()


def _add_blocks(
    team: Alone | Team, blocks: Iterable[Block], bar: Any, checkpoint: Checkpoint | None
) -> tuple[Any, Report, list[Range]]:
    """Add blocks until the last, or until a checkpoint is due; return their total, a report and the ranges of rows."""
    done: list[Range] = []
    report = Report()
    with team:
        for block in blocks:
            team.add(block)
            report += Report.of_block(block)
            done.append((block.first_row, block.first_row + block.n_rows))
            bar.update(block.n_rows)
            del block  # so that the next block can use its memory
            if checkpoint is None:
                stopping.check()
            elif checkpoint.due:
                break
        total = reduce(add, team.totals())
    return total, replace(report, seconds_computing=team.seconds), done
