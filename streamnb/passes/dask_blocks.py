"""One pass over the blocks of a Dask array, merged in a tree."""

from collections.abc import Callable
from functools import partial, reduce
from operator import add
from typing import Any
from uuid import uuid4

import numpy as np
import scipy.sparse as sp

from streamnb.core import messages, row_checks
from streamnb.core.csr import as_csr
from streamnb.passes.contract import PassTask, Report, shape
from streamnb.passes.dask_workers import FAN_IN, result_of
from streamnb.rows.boundary import as_chunk, as_matrix, dask_array, is_dask, made_by
from streamnb.rows.labels import check_column, records, whole_column
from streamnb.rows.row_blocks import Block, block_of
from streamnb.rows.zarr_reading import Clock


def on_dask_blocks(task: PassTask, rows: Any, progress: bool | None, client: Any) -> tuple[Any, Report]:
    """Add runs of blocks where they are, and merge the totals in a tree, on a client or the active scheduler."""
    pack, arrays = _pack_columns(rows) if rows.X is None else _pack_rows(rows, client)
    if client is not None:
        return _on_workers(task, pack, arrays, progress, client)
    total = in_a_tree(pack, arrays, partial(_total_of_run, task=task))
    if not progress:
        return total.compute()
    from tqdm.dask import TqdmCallback

    with TqdmCallback(desc=task.title, unit=" tasks", **shape()):
        return total.compute()


def _pack_rows(rows: Any, client: Any) -> tuple[Callable, list[Any]]:
    """A function that packs a block of X and of the columns beside it, and its arguments as Dask arrays."""
    X, named = rows.X, rows.columns
    held = [name for name, column in named.items() if column is not None and not is_dask(column)]
    if held and np.isnan(X.shape[0]):
        X = _counted(X, held[0], client)
    columns = [_beside(X, column, name, rows.check_y) for name, column in named.items()]
    return partial(_packed, names=tuple(named), check_y=rows.check_y), [X, _first_rows(X, columns[0]), *columns]


def _pack_columns(rows: Any) -> tuple[Callable, list[Any]]:
    """The same for columns without X."""
    import dask.array as da

    lengths = rows.columns[rows.lead].chunks[0]
    ends = np.nan_to_num(np.cumsum(lengths))  # first rows appear in messages; 0 where unknown
    first_rows = da.from_array(np.append(0, ends[:-1]).astype(np.int64), chunks=1)
    whole = {name: c if is_dask(c) or c.ndim > 1 else whole_column(c, name) for name, c in rows.columns.items()}
    cut = [_cut(name, column, rows.lead, lengths) for name, column in whole.items()]
    return partial(_packed_columns, names=tuple(rows.columns)), [first_rows, *cut]


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


def _packed_columns(first_row: np.ndarray, *parts: Any, names: tuple[str, ...]) -> Block:
    return Block(dict(zip(names, parts, strict=True)), None, None, None, int(first_row[0]), 0)


def _on_workers(task: PassTask, pack: Callable, arrays: list[Any], progress: bool | None, client: Any) -> Any:
    """Add blocks one by one on the workers that hold them, so that only totals are transferred."""
    import dask
    from distributed import progress as show

    shared = dask.delayed(task, name=f"streamnb-plan-{uuid4().hex}", traverse=False)  # sent once to each worker
    total = in_a_tree(partial(_total, pack=pack), arrays, partial(_total_of_run, task=None), shared)
    future = client.compute(total)
    if progress:
        show(future, notebook=False)
    return result_of(future)


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


def in_a_tree(pack: Callable, arrays: list[Any], merge: Callable, *shared: Any) -> Any:
    """A lazy value: `pack` makes an object from each block of rows, `merge` one object from a list of up to eight.

    `arrays` have the same blocks of rows and one chunk of columns; None is passed on as it is. `pack` also gets
    `shared` values, which are lazy.
    """
    import dask
    from dask.delayed import Delayed
    from dask.highlevelgraph import HighLevelGraph

    optimised: Any = dask.optimize(*arrays)
    token = uuid4().hex
    graph: dict[Any, Any] = {}
    for k in range(optimised[0].numblocks[0]):
        block = [None if array is None else (array.name, k, 0)[: 1 + array.ndim] for array in optimised]
        graph[f"streamnb-block-{token}", k] = (pack, *block, *(one.key for one in shared))
    parts, level = list(graph), 0
    while level == 0 or len(parts) > 1:
        level += 1
        groups = [parts[first : first + FAN_IN] for first in range(0, len(parts), FAN_IN)]
        parts = [(f"streamnb-merge-{token}", level, k) for k in range(len(groups))]
        graph |= {part: (merge, group) for part, group in zip(parts, groups, strict=True)}
    lazy = [one for one in (*optimised, *shared) if one is not None]
    return Delayed(parts[0], HighLevelGraph.from_collections(token, graph, lazy), layer=token)


def _first_rows(X: Any, y: Any) -> Any:
    """The number of the first row of each block; from the lengths of y where those of X are unknown."""
    import dask.array as da

    known = np.array(X.chunks[0])
    if not np.isnan(known).any():
        return da.from_array((np.cumsum(known) - known).astype(np.int64), chunks=1)
    lengths = _lengths(y)
    return da.cumsum(lengths, axis=0) - lengths


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
    counted = _computed(_lengths(X), client)
    return da.Array(X.dask, X.name, (tuple(counted.tolist()), X.chunks[1]), meta=X._meta)


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
    if column.ndim != 1 and not (column.ndim == 2 and name == "y"):
        raise ValueError(f"{name} should be a 1d array, got an array of shape {column.shape} instead.")
    if column.ndim == 2 and column.numblocks[1] > 1:
        raise ValueError(f"{name} has its labels in {column.numblocks[1]} chunks; put them in one: rechunk({{1: -1}})")
    return _cut(name, column, "X", X.chunks[0])


def _packed(
    matrix: Any, start: np.ndarray, *columns: Any, names: tuple[str, ...], check_y: Callable[..., Any]
) -> Block:
    """A block of X with the columns beside it."""
    first_row = int(start[0])
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


def _total(*parts_and_task: Any, pack: Callable) -> tuple[Any, Report]:
    *parts, task = parts_and_task
    return _total_of_run([pack(*parts)], task=task)


def _total_of_run(items: list[Any], *, task: Any) -> tuple[Any, Report]:
    """Add the blocks of a run to one partial result, and merge its total with those of other runs."""
    blocks = [item for item in items if isinstance(item, Block)]
    merged = [item for item in items if not isinstance(item, Block)]
    if blocks:
        clock, part = Clock(), task.partial()
        with clock:
            for block in blocks:
                task.add(part, block)
            total = part.finish()
        merged.append((total, reduce(add, map(Report.of_block, blocks), Report(seconds_computing=clock.seconds))))
    return reduce(add, (total for total, _ in merged)), reduce(add, (report for _, report in merged))


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
