"""Rows whose blocks begin and end at multiples of some number of rows, however they are stored."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from streamnb.rows.block import Block
from streamnb.rows.of_another import SourceOfAnother
from streamnb.rows.source import Source, multiple


def in_tiles(rows: Any, n_rows: int) -> Any:
    """The same rows in blocks that cut none of the tiles [t n_rows, (t + 1) n_rows)."""
    if n_rows == 1:
        return rows
    return rows.in_tiles(n_rows) if rows.lazy else TiledSource(rows, n_rows)


class TiledSource(SourceOfAnother):
    """A source whose blocks begin and end at multiples of `tile` rows, but for the first and the last row asked for.

    Only rows of tiles that the blocks of `rows` cut are copied.
    """

    def __init__(self, rows: Source, tile: int):
        self._rows, self._tile = rows, tile
        for name in ("n_rows", "n_features", "n_values", "nbytes", "stored", "reading", "group", "in_memory", "dtype"):
            setattr(self, name, getattr(rows, name))

    def blocks(self, start: int = 0, stop: int | None = None) -> Iterator[Block]:
        tile, held = self._tile, list[Block]()  # what has come of a tile so far
        for block in self._rows.blocks(start, stop):
            row, end = block.first_row, block.first_row + block.n_rows
            first = min(-(-row // tile) * tile, end)
            last = max(end // tile * tile, first)
            if first > row or (held and row == end):
                held.append(rows_of(block, row, first))
                if first % tile == 0:
                    yield from _joined(held)
                    held = []
            if last > first or (not held and row == end):
                yield rows_of(block, first, last)
            if end > last:
                held.append(rows_of(block, last, end))
        yield from _joined(held)

    def rows_near(self, n_rows: int) -> int:
        return multiple(self._tile, super().rows_near(n_rows))


def rows_of(block: Block, start: int, stop: int) -> Block:
    """Rows of a block, numbered as in all rows."""
    n_rows, first, last = block.n_rows, start - block.first_row, stop - block.first_row
    if last - first == n_rows:
        return block
    X: Any = _of_arrays(block.X, first, last) if isinstance(block.X, tuple) else block.X[first:last]
    beside = {name: getattr(block, name) for name in ("y", "weight", "split")}
    beside = {name: part if part is None else part[first:last] for name, part in beside.items()}
    nbytes = block.nbytes * last // n_rows - block.nbytes * first // n_rows
    return replace(block, X=X, **beside, first_row=start, nbytes=nbytes)


def _of_arrays(X: Any, first: int, last: int) -> Any:
    data, indices, indptr, n_features = X
    stored = slice(int(indptr[first] - indptr[0]), int(indptr[last] - indptr[0]))
    return None if data is None else data[stored], indices[stored], indptr[first : last + 1], n_features


def _joined(blocks: list[Block]) -> Iterator[Block]:
    """Neighbours as one block; as they are where they are of several kinds, which is for others to refuse."""
    if len(blocks) < 2 or len({_kind(block) for block in blocks}) > 1:
        yield from blocks
        return
    X: Any = [block.X for block in blocks]
    if isinstance(X[0], tuple):
        data, indices, indptr, n_features = zip(*X, strict=True)
        counts = [np.diff(each) for each in indptr]
        joined: Any = None if data[0] is None else np.concatenate(data)
        X = joined, np.concatenate(indices), np.concatenate([[0], np.cumsum(np.concatenate(counts))]), n_features[0]
    else:
        X = _stacked(X)
    beside = {name: _stacked([getattr(block, name) for block in blocks]) for name in ("y", "weight", "split")}
    yield replace(blocks[0], X=X, **beside, nbytes=sum(block.nbytes for block in blocks))


def _stacked(parts: list[Any]) -> Any:
    if parts[0] is None:
        return None
    return sp.vstack(parts, format="csr") if sp.issparse(parts[0]) else np.concatenate(parts)


def _kind(block: Block) -> tuple[Any, ...]:
    """What neighbours have to have in common."""
    arrays = isinstance(block.X, tuple)
    of_rows = (arrays, sp.issparse(block.X), *((block.X[3], block.X[0] is None) if arrays else (block.X.shape[1],)))
    return of_rows + tuple(
        None if part is None else (sp.issparse(part), part.dtype.kind, *part.shape[1:])
        for part in (block.y, block.weight, block.split)
    )
