"""One pass over the blocks of a Dask array, merged in a tree."""

from collections.abc import Callable
from functools import partial, reduce
from itertools import chain
from operator import add
from typing import Any
from uuid import uuid4

import numpy as np
import scipy.sparse as sp

from streamnb.core import messages, row_checks
from streamnb.core.csr import as_csr
from streamnb.passes.contract import PassTask, Report, RunOptions, shape
from streamnb.passes.dask_workers import FAN_IN, LEAST_BYTES, PER_THREAD, merged, result_of
from streamnb.rows.boundary import as_chunk, as_matrix, dask_array, is_dask, made_by
from streamnb.rows.labels import check_column, check_column_shape, records, whole_column
from streamnb.rows.row_blocks import Block, block_of
from streamnb.rows.zarr_reading import Clock


def on_dask_blocks(task: PassTask, rows: Any, options: RunOptions, client: Any) -> tuple[Any, Report]:
    """Add runs of blocks where they are, and merge the totals in a tree, on a client or the active scheduler."""
    import dask

    pack, arrays = _pack_columns(rows) if rows.X is None else _pack_rows(rows, client)
    n_blocks = arrays[0].numblocks[0]
    n_threads = options.threads if client is None else sum(client.nthreads().values()) or 1
    small = LEAST_BYTES // (rows.nbytes // n_blocks or LEAST_BYTES)  # blocks with the bytes of a segment
    together = min(small, n_blocks // (PER_THREAD * n_threads)) or 1
    shared = dask.delayed(task, name=f"streamnb-plan-{uuid4().hex}", traverse=False)  # sent once to each worker
    total = in_a_tree(pack, arrays, shared, together)
    if client is not None:
        future = client.compute(total)
        if options.progress:
            from distributed import progress

            progress(future, notebook=False)
        return result_of(future)
    if not options.progress:
        return total.compute()
    from tqdm.dask import TqdmCallback

    with TqdmCallback(desc=options.title or task.title, leave=not options.title, unit=" tasks", **shape()):
        return total.compute()


def _pack_rows(rows: Any, client: Any) -> tuple[Callable, list[Any]]:
    """A function that packs a block of X and of the columns beside it, and its arguments as Dask arrays."""
    X = rows.X
    named = rows.columns
    held = [name for name, column in named.items() if column is not None and not is_dask(column)]
    if held and np.isnan(X.shape[0]):
        X = _counted(X, held[0], client)
    columns = [_beside(X, column, name, rows.check_y) for name, column in named.items()]
    return partial(_packed, names=tuple(named), check_y=rows.check_y), [X, _first_rows(X, columns[0]), *columns]


def _pack_columns(rows: Any) -> tuple[Callable, list[Any]]:
    """The same for columns without X."""
    lengths = rows.columns[rows.lead].chunks[0]
    whole = {name: c if is_dask(c) or c.ndim > 1 else whole_column(c, name) for name, c in rows.columns.items()}
    cut = [_cut(name, column, rows.lead, lengths) for name, column in whole.items()]
    return partial(_packed_columns, names=tuple(rows.columns)), [_numbers(lengths), *cut]


def _cut(name: str, column: Any, lead: str, lengths: tuple[float, ...]) -> Any:
    """A column as a Dask array with these row chunks, those of `lead`, and one chunk of columns."""
    import dask.array as da

    known = not np.isnan([*lengths, column.shape[0]]).any()
    if known:
        row_checks.check_lengths(int(np.sum(lengths)), int(column.shape[0]), name, lead)
        if not is_dask(column):
            return da.from_array(column, chunks=(lengths, *column.shape[1:]), asarray=False)
    elif not is_dask(column) or column.numblocks[0] != len(lengths):
        n_blocks = f"{column.numblocks[0]} blocks" if is_dask(column) else "no blocks"
        raise ValueError(
            f"{name} has {n_blocks} and {lead}, of unknown row-chunk sizes, {len(lengths)}; give both the same blocks, "
            f"or call {lead}.compute_chunk_sizes() first"
        )
    if column.ndim == 2:
        column = column.rechunk({1: -1})
    return column.rechunk({0: lengths}) if known else column


def _packed_columns(first_row: Any, *parts: Any, names: tuple[str, ...]) -> Block:
    return Block(dict(zip(names, parts, strict=True)), None, None, None, int(first_row), 0)


def map_rows(
    function: Callable, rows: Any, beside: tuple[int, ...], dtype: Any, meta: Any = None, missing: bool = False
) -> Any:
    """A lazy array of the results of a function for each checked block; arguments as those of `answer`.

    `beside` are the lengths of the axes after that of rows.
    """
    import dask

    X = rows.X
    shape: dict[str, Any] = {"chunks": (X.chunks[0], *((n,) for n in beside))} if beside else {"drop_axis": 1}
    if len(beside) > 1:
        shape["new_axis"] = [*range(2, 1 + len(beside))]
    in_kind = dtype is None and meta is None
    if meta is None:
        meta = X._meta if dtype is None else np.empty((0,) * (1 + len(beside)), dtype)
    shared = dask.delayed(function, pure=True)  # one copy in the graph, not one per block
    return X.map_blocks(
        _mapped, function=shared, in_kind=in_kind, missing=missing, dtype=meta.dtype, meta=meta, **shape
    )


def _mapped(X: Any, function: Callable, in_kind: bool, missing: bool, block_info: Any = None) -> Any:
    first = block_info[0]["array-location"][0][0] if block_info else 0
    answer = function(*as_chunk(X, 0 if np.isnan(first) else first, missing))  # unknown: numbered in the block
    return type(X)(answer) if in_kind and sp.issparse(X) else answer


def in_a_tree(pack: Callable, arrays: list[Any], task: Any, together: int) -> Any:
    """A lazy total: `pack` makes a block of each chunk of rows, blocks are added, and totals merged eight at a time.

    `arrays` have the same chunks of rows and one chunk of columns; None is passed on as it is. A lazy `task` adds up to
    `together` consecutive blocks in the task that makes them.
    """
    import dask
    import dask.array as da
    from dask._task_spec import List, Task, TaskRef
    from dask.core import get_deps
    from dask.delayed import Delayed
    from dask.highlevelgraph import HighLevelGraph

    token = uuid4().hex
    axes = (None if array is None else (0, n)[: len(array.numblocks)] for n, array in enumerate(arrays, 1))
    given = chain.from_iterable(zip(arrays, axes, strict=True))
    meta = np.empty(0, object)
    (blocks,) = dask.optimize(da.blockwise(partial(_of_block, pack), (0,), *given, align_arrays=False, meta=meta))
    made = dict(blocks.dask)
    users = get_deps(made)[1]
    keys = blocks.__dask_keys__()
    graph: dict[Any, Any] = {}
    for first in range(0, len(keys), together):
        run = keys[first : first + together]
        key = f"streamnb-sum-{token}", first
        total = Task(key, _total_of_run, List(*map(TaskRef, run)), task=TaskRef(task.key))
        graph[key] = Task.fuse(total, *(made[one] for block in run for one in _leading_to(block, made, users)))
    parts = list(graph)
    while len(parts) > 1:
        level = {
            (f"streamnb-merge-{token}", len(graph), k): (merged, parts[k : k + FAN_IN])
            for k in range(0, len(parts), FAN_IN)
        }
        graph |= level
        parts = list(level)
    return Delayed(parts[0], HighLevelGraph.from_collections(token, graph, [blocks, task]), layer=token)


def _leading_to(key: Any, tasks: Any, users: Any) -> Any:
    """A task and all those whose results go nowhere else."""
    from dask._task_spec import GraphNode

    found = {key}
    left = [key]
    while left:
        new = {
            one
            for one in tasks[left.pop()].dependencies - found
            if isinstance(tasks.get(one), GraphNode) and users[one] <= found
        }
        found |= new
        left += new
    return found


def _of_block(pack: Callable, *parts: Any) -> Any:
    """What `pack` makes of a block; Dask gives lists of the chunks of columns, which are one each."""
    return pack(*(part[0] if isinstance(part, list) else part for part in parts))


def _first_rows(X: Any, y: Any) -> Any:
    """The number of the first row of each block; where lengths of X are unknown, from those of y, if there is one."""
    import dask.array as da

    if not np.isnan(X.shape[0]):
        return _numbers(X.chunks[0])
    lengths = _lengths(X if y is None else y)
    return da.cumsum(lengths, axis=0) - lengths


def _numbers(lengths: Any) -> Any:
    """The number of the first row of each block, which no task of its own computes; 0 where it is unknown."""
    from dask.layers import ArrayValuesDep

    return ArrayValuesDep((lengths,), np.nan_to_num(np.cumsum([0, *lengths])).astype(int))


def n_rows_of(rows: Any, client: Any) -> int:
    """The number of rows of a Dask source, which computes its labels where no lengths of blocks are known."""
    if rows.n_rows is not None:
        return int(rows.n_rows)
    y = rows.columns.get("y")
    return int(_computed(_lengths(dask_array(y) if is_dask(y) else rows.X), client).sum())


def _computed(lengths: Any, client: Any) -> np.ndarray:
    return lengths.compute() if client is None else result_of(client.compute(lengths))


def _counted(X: Any, held: str, client: Any) -> Any:
    """X with known row-chunk sizes, by which columns in memory are cut."""
    import dask.array as da

    messages.warn(
        f"X has unknown row-chunk sizes and {held} is in memory: all blocks of X are computed once more, to count "
        "their rows; to avoid that, call X.compute_chunk_sizes() first, or pass a Dask array with the same blocks"
    )
    return da.Array(X.dask, X.name, (tuple(_computed(_lengths(X), client).tolist()), X.chunks[1]), meta=X._meta)


def _lengths(array: Any) -> Any:
    """The number of rows of each block, lazy, (n_blocks,)."""
    chunks, across = ((1,) * array.numblocks[0],), list(range(1, array.ndim))
    return array.map_blocks(_length, chunks=chunks, drop_axis=across, dtype=np.int64, meta=np.empty(0, np.int64))


def _length(block: Any) -> np.ndarray:
    return np.array([block.shape[0]])


def _beside(X: Any, column: Any, name: str, check_y: Callable[..., Any]) -> Any:
    """Labels or weights as a Dask array with the row chunks of X."""
    if column is None:
        return None
    if not is_dask(column):
        values = column[:] if hasattr(column, "store") else column
        return _cut(name, check_column(name, values, check_y, int(X.shape[0])), "X", X.chunks[0])
    column = dask_array(column)
    if column.ndim == 2 and column.shape[1] == 1:
        column = column[:, 0]
    check_column_shape(column, name)
    if column.ndim == 2 and column.numblocks[1] > 1:
        raise ValueError(f"{name} has its labels in {column.numblocks[1]} chunks; put them in one: rechunk({{1: -1}})")
    return _cut(name, column, "X", X.chunks[0])


def _packed(matrix: Any, start: Any, *columns: Any, names: tuple[str, ...], check_y: Callable[..., Any]) -> Block:
    """A block of X with the columns beside it."""
    first_row = int(np.max(start))  # an array of one, where no lengths are known
    matrix = as_csr(matrix, "X") if sp.issparse(matrix) else as_matrix(matrix, first_row)
    splits: dict[str, Any] = {}
    for name, column in zip(names, columns, strict=True):
        if column is not None:
            column = check_column(name, column, check_y, first_row=first_row)
            row_checks.check_lengths(matrix.shape[0], column.shape[0], name)
        splits[name] = column
    y, weight, offset = (splits.pop(name, None) for name in ("y", "sample_weight", "offset"))
    y = y if offset is None else row_checks.with_offset(y, offset, first_row)
    split = records(splits, first_row) if len(splits) > 1 else next(iter(splits.values()), None)
    return block_of(matrix, (y, weight, split), first_row)


def _total_of_run(blocks: Any, task: Any) -> tuple[Any, Report]:
    """Add the blocks of a run."""
    clock, part = Clock(), task.partial()
    with clock:
        for block in blocks:
            task.add(part, block)
        total = part.finish()
    return total, reduce(add, map(Report.of_block, blocks), Report(seconds_computing=clock.seconds))


def of_partitions(function: Callable, frame: Any, empty: Any) -> Any:
    """A Dask array of what a function makes of each partition of a Dask data frame; `empty` is that of no rows."""
    import dask.array as da
    from dask import delayed

    blocks = [delayed(function)(part) for part in frame.to_delayed()]
    return da.concatenate([da.from_delayed(block, (np.nan, empty.shape[1]), meta=empty) for block in blocks])


def fingerprint_of(table: Any) -> str:
    """The same for equal tables of pandas and Arrow, and for Dask frames that are made in the same way."""
    from dask.base import tokenize

    if made_by(table, "pandas"):  # whose columns are together in memory in one way or another
        table = [table.iloc[:, j].reset_index(drop=True) for j in range(table.shape[1])]
    return str(tokenize(table))
