"""One pass over the rows of a Dask array: runs of blocks folded where they are, merged in a tree."""

import numbers
from collections.abc import Callable, Iterable
from functools import partial, reduce
from itertools import chain
from operator import add
from typing import Any
from uuid import uuid4

import numpy as np
import scipy.sparse as sp

from streamnb import _checks
from streamnb._sparse import as_csr
from streamnb.data import sources
from streamnb.data.chunk import as_matrix
from streamnb.data.reader import Clock
from streamnb.data.sources import Block
from streamnb.report import Report

Split = tuple[str, Any] | None  # the name and the values of groups or fold numbers beside the rows


def fold_dask(
    plan: Any, X: Any, y: Any, sample_weight: Any, split: Split, progress: bool | None, client: Any
) -> tuple[Any, Report]:
    """Fold runs of blocks of X where they are, merge the statistics in a tree, under the scheduler that is active."""
    check_dask(X)
    beside = {"y": y, "sample_weight": sample_weight, **dict([split] if split else [])}
    held = [name for name, column in beside.items() if column is not None and not sources.is_dask(column)]
    if held and np.isnan(X.shape[0]):
        X = _counted(X, held[0], client)
    columns = [_beside(X, column, name) for name, column in beside.items()]
    if y is None:
        _checks.check_labels(y)
    arrays = [X, _first_rows(X, columns[0]), *columns]
    if client is not None:
        return _on_workers(plan, arrays, tuple(beside), progress, client)
    total = in_a_tree(partial(_packed, names=tuple(beside)), arrays, partial(_fold_run, plan=plan))
    if not progress:
        return total.compute().item()
    from tqdm.dask import TqdmCallback

    with TqdmCallback(desc=plan.title, unit=" tasks"):
        return total.compute().item()


def _on_workers(plan: Any, arrays: list[Any], names: tuple[str, ...], progress: bool | None, client: Any) -> Any:
    """Blocks are summed one by one, on the workers that hold them: tables travel, rows do not."""
    import dask
    from distributed import progress as show

    shared = dask.delayed(plan, name=f"streamnb-plan-{uuid4().hex}", traverse=False)  # sent once to each worker
    total = in_a_tree(partial(_folded, names=names), arrays, partial(_fold_run, plan=None), plan=shared)
    future = client.compute(total)
    if progress:
        show(future, notebook=False)
    return future.result().item()


def in_a_tree(pack: Callable, arrays: Iterable[Any], merge: Callable, **shared: Any) -> Any:
    """A lazy value: `pack` makes an object of each block of rows, `merge` one object of a list of up to eight.

    `arrays` are cut into the same blocks of rows, and have one chunk across; None stands for itself. `shared`, which
    may be lazy, is given to `pack`.
    """
    import dask.array as da

    indexed = [(array, None if array is None else "ik"[: array.ndim]) for array in arrays]
    parts = da.blockwise(
        partial(_boxed_block, pack=pack),
        "i",
        *chain.from_iterable(indexed),
        adjust_chunks={"i": 1},
        align_arrays=False,
        dtype=object,
        concatenate=None,
        meta=np.empty(0, object),
        token="streamnb-block",
        **shared,
    )
    step = partial(_boxed_merge, merge=merge)
    return da.reduction(
        parts,
        chunk=lambda part, axis, keepdims: part,
        combine=step,
        aggregate=step,
        axis=0,
        split_every=8,
        concatenate=False,
        dtype=object,
        meta=np.empty((), object),
        name="streamnb-merge",
    )


def _boxed_block(*blocks: Any, pack: Callable, **shared: Any) -> np.ndarray:
    # what is 2-D comes as a list over its one chunk across
    return _boxed(pack(*(block[0] if isinstance(block, list) else block for block in blocks), **shared), (1,))


def _boxed_merge(parts: Any, axis: Any, keepdims: bool, *, merge: Callable) -> np.ndarray:
    return _boxed(merge(list(_flat(parts))), (1,) if keepdims else ())


def _first_rows(X: Any, y: Any) -> Any:
    """The number of the first row of each block; where X does not know its own, from the lengths of y."""
    import dask.array as da

    known = np.array(X.chunks[0])
    if not np.isnan(known).any():
        return da.from_array((np.cumsum(known) - known).astype(np.int64), chunks=1)
    lengths = _lengths(y)
    return da.cumsum(lengths, axis=0) - lengths


def _counted(X: Any, held: str, client: Any) -> Any:
    """X with its row-chunk sizes, which cutting what is in memory beside it takes."""
    import dask.array as da

    _checks.warn(
        f"X has unknown row-chunk sizes and {held} is in memory: all blocks of X are made once more, to count their "
        "rows; X.compute_chunk_sizes() beforehand, or a Dask array with the same blocks, saves that"
    )
    lengths = _lengths(X)
    counted = lengths.compute() if client is None else client.compute(lengths).result()
    return da.Array(X.dask, X.name, (tuple(counted.tolist()), X.chunks[1]), meta=X._meta)


def _lengths(array: Any) -> Any:
    """The number of rows of each block, lazy, (n_blocks,)."""
    chunks, across = ((1,) * array.numblocks[0],), list(range(1, array.ndim))
    return array.map_blocks(_length, chunks=chunks, drop_axis=across, dtype=np.int64, meta=np.empty(0, np.int64))


def _length(block: Any) -> np.ndarray:
    return np.array([block.shape[0]])


def check_dask(X: Any) -> None:
    """Refuse a Dask array that is not 2-D or has its features in several chunks."""
    if X.ndim != 2:
        raise ValueError(f"Expected 2D array, got {X.ndim}D array instead: X should have shape (n_rows, n_features)")
    if X.numblocks[1] > 1:
        raise ValueError(f"X has its features in {X.numblocks[1]} chunks; put them in one with X.rechunk({{1: -1}})")
    if not np.isnan(X.shape[0]):
        _checks.check_min_size(*X.shape)


def _beside(X: Any, column: Any, name: str) -> Any:
    """Labels or weights as a Dask array with the row chunks of X."""
    import dask.array as da

    if column is None:
        return None
    lengths = X.chunks[0]
    known = not np.isnan(lengths).any()
    if not sources.is_dask(column):
        values = _check_column(name, column[:] if hasattr(column, "store") else column, int(X.shape[0]))
        _checks.check_lengths(int(X.shape[0]), values.shape[0], name)
        return da.from_array(values, chunks=(lengths, *((n,) for n in values.shape[1:])), asarray=False)
    column = sources.dask_array(column)
    if column.ndim == 2 and column.shape[1] == 1:
        column = column[:, 0]
    if column.ndim != 1 and not (column.ndim == 2 and name == "y"):
        raise ValueError(f"{name} should be a 1d array, got an array of shape {column.shape} instead.")
    if column.ndim == 2 and column.numblocks[1] > 1:
        raise ValueError(f"{name} has its labels in {column.numblocks[1]} chunks; put them in one: rechunk({{1: -1}})")
    if known and not np.isnan(column.shape[0]):
        _checks.check_lengths(int(X.shape[0]), int(column.shape[0]), name)
        return column.rechunk({0: lengths})
    if column.numblocks[0] != X.numblocks[0]:
        raise ValueError(
            f"{name} has {column.numblocks[0]} blocks and X, of unknown row-chunk sizes, {X.numblocks[0]}; "
            "give both the same blocks, or call X.compute_chunk_sizes() first"
        )
    return column


def _check_column(name: str, values: Any, n_rows: int | None = None, first_row: int = 0) -> Any:
    """Labels, weights or splits of rows, checked; one weight for all only where n_rows is given."""
    if name == "y":
        return _checks.check_y(values, first_row)
    if name != "sample_weight":
        return _checks.check_labels(values, name, first_row)
    if isinstance(values, numbers.Real) and n_rows is not None:
        values = np.full(n_rows, values)
    return _checks.check_weights(values, first_row)


def _packed(matrix: Any, start: np.ndarray, *columns: Any, names: tuple[str, ...]) -> Block:
    """A block of X with what belongs to its rows, still to be summed."""
    matrix, first_row = as_csr(matrix, "X") if sp.issparse(matrix) else as_matrix(matrix), int(start[0])
    beside = []
    for name, column in zip(names, columns, strict=True):
        if column is not None:
            column = _check_column(name, column, first_row=first_row)
            _checks.check_lengths(matrix.shape[0], column.shape[0], name)
        beside.append(column)
    n_bytes = matrix.data.nbytes + matrix.indices.nbytes if sp.issparse(matrix) else matrix.nbytes
    y, weight, split = (*beside, None)[:3]
    return Block(matrix, y, weight, split, first_row, n_bytes)


def _folded(*parts: Any, names: tuple[str, ...], plan: Any) -> tuple[Any, Report]:
    return _fold_run([_packed(*parts, names=names)], plan=plan)


def _fold_run(items: list[Any], *, plan: Any) -> tuple[Any, Report]:
    """Sum the blocks of a run into one table, and merge with statistics of other runs."""
    blocks = [item for item in items if isinstance(item, Block)]
    merged = [item for item in items if not isinstance(item, Block)]
    if blocks:
        clock, accumulator = Clock(), plan.accumulator()
        with clock:
            for block in blocks:
                plan.add(accumulator, block)
            stats = accumulator.finish()
        n_rows, n_bytes = sum(b.X.shape[0] for b in blocks), sum(b.nbytes for b in blocks)
        merged.append((stats, Report(n_rows, n_bytes, len(blocks), seconds_computing=clock.seconds)))
    return reduce(add, (stats for stats, _ in merged)), reduce(add, (report for _, report in merged))


def _flat(parts: Any) -> Iterable[Any]:
    if isinstance(parts, list):
        for part in parts:
            yield from _flat(part)
    else:
        yield parts.item()


def _boxed(value: Any, shape: tuple[int, ...]) -> np.ndarray:
    box = np.empty(shape, object)
    box[...] = None
    box.reshape(-1)[0] = value
    return box
