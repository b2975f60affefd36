"""Sources that wrap another source and change its blocks: prepared rows, rows of a fold, tiles, narrow rows."""

from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import replace
from typing import Any, Self

import numpy as np

from streamnb.core import row_checks
from streamnb.core.descriptions import described
from streamnb.rows.block import Block, joined
from streamnb.rows.boundary import checked
from streamnb.rows.chunk import CSRChunk, frozen
from streamnb.rows.preparing import RowOptions, transformed
from streamnb.rows.source import Source, multiple
from streamnb.rows.splits import Folding

SHARED = (
    *("n_rows", "n_features", "n_values", "nbytes", "stored", "files", "reading", "group", "in_memory", "dtype"),
    *("read_once", "own_groups", "own_folding", "sites", "label_names"),
)


class WrappedSource(Source):
    """Base of sources that wrap another source, except Dask; a subclass defines how its blocks are changed."""

    needs_values = False  # True if blocks cannot be made of the positions of values alone

    def __init__(self, rows: Source):
        self._rows = rows
        for name in SHARED:
            setattr(self, name, getattr(rows, name))

    @property
    def arrays(self) -> Any:
        return self._rows.arrays

    @property
    def keepers(self) -> tuple[Any, ...]:
        return self._rows.keepers

    def _wrapping(self, rows: Source) -> Self:
        part = copy(self)
        part._rows = rows
        return part

    def changed(self, blocks: Iterator[Block]) -> Iterator[Block]:
        return self._rows.changed(blocks)

    def cut(self, start: int, stop: int) -> Self:
        part = self._wrapping(self._rows.cut(start, stop))
        part.group = None
        return part

    def wanted(self, values: bool, block_bytes: int) -> Self:
        part = self._wrapping(self._rows.wanted(values or self.needs_values, block_bytes))
        part.values_matter, part.longer_blocks = values, block_bytes
        return part

    def with_columns(self, y: Any, weight: Any) -> Self:
        part = self._wrapping(self._rows.with_columns(y, weight))
        part.label_names = part._rows.label_names
        return part

    def with_split(self, name: str, values: Any) -> Self:
        return self._wrapping(self._rows.with_split(name, values))

    def whole_column(self, column: Any, name: str) -> np.ndarray:
        return self._rows.whole_column(column, name)

    def cut_alike(self, column: Any, whole: np.ndarray) -> Any:
        return self._rows.cut_alike(column, whole)

    def check_resumable(self) -> None:
        self._rows.check_resumable()

    def check_read_again(self, who: str) -> None:
        self._rows.check_read_again(who)

    def layout(self) -> dict[str, str]:
        return self._rows.layout()

    def rows_near(self, n_rows: int) -> int:
        return self._rows.rows_near(n_rows)

    def row_columns(self, step: int) -> Iterator[dict[str, Any]]:
        return self._rows.row_columns(step)


class PreparedSource(WrappedSource):
    """A source whose blocks, CSR or dense, are those of another source with `step` applied.

    Parameters
    ----------
    rows : Source
    step : callable
        Maps a chunk, with NaN for missing values in dense ones, to a matrix (n_rows, n_features); picklable.
    n_features : int
        Number of columns of the step's output.
    about : str
        Identifies the step, in checkpoints.
    at_once : int, optional
        Maximum number of rows given to the step at once.
    """

    costly_features = needs_values = True

    def __init__(self, rows: Source, step: Callable, n_features: int, about: str, at_once: int | None = None):
        super().__init__(rows)
        self._step, self._about, self._at_once = step, about, at_once
        self.n_features, self.n_values, self.in_memory, self.dtype = n_features, None, False, Source.dtype

    def blocks(self, start: int = 0, stop: int | None = None) -> Iterator[Block]:
        return self._stepped(self._rows.blocks(start, stop))

    def changed(self, blocks: Iterator[Block]) -> Iterator[Block]:
        return self._stepped(self._rows.changed(blocks))

    def _stepped(self, blocks: Iterator[Block]) -> Iterator[Block]:
        for whole in blocks:
            first, end = whole.first_row, whole.first_row + whole.n_rows
            at_once = self._at_once or max(whole.n_rows, 1)  # the step's output may be large
            for row in range(first, max(end, first + 1), at_once):
                block = whole.cut(row, min(row + at_once, end))
                X = self._step(checked(block, missing=True)[0])
                yield replace(block, X=X if isinstance(X, np.ndarray) else (X.data, X.indices, X.indptr, X.shape[1]))

    def layout(self) -> dict[str, str]:
        return {**super().layout(), "the step": self._about}


class FoldRows(WrappedSource):
    """A source that sets the weight of rows to 0 outside a fold, or inside it.

    Parameters
    ----------
    rows : Source
        With groups or fold numbers for each row if the folding needs them.
    folding : Folding
    fold : int
    inside : bool
    """

    def __init__(self, rows: Source, folding: Folding, fold: int, inside: bool):
        if rows.lazy:
            raise ValueError("X is a Dask array, from which no fold can be taken; pass the Zarr store that it reads")
        super().__init__(rows)
        self._folding, self._fold, self._inside = folding, fold, inside

    def blocks(self, start: int = 0, stop: int | None = None) -> Iterator[Block]:
        for block in self._rows.blocks(start, stop):
            yield replace(block, weight=self._weights(block.first_row, block.n_rows, block.weight, block.split))

    def row_columns(self, step: int) -> Iterator[dict[str, Any]]:
        first = 0
        for columns in self._rows.row_columns(step):
            n_rows = columns["y"].shape[0]
            split = columns.get("groups", columns.get("folds"))
            weight = self._weights(first, n_rows, columns.get("sample_weight"), split)
            yield {**columns, "sample_weight": weight}
            first += n_rows

    def _weights(self, first_row: int, n_rows: int, weight: Any, split: Any) -> np.ndarray:
        own = self._folding.numbers(first_row, n_rows, split, 0) == self._fold
        weight = np.ones(n_rows) if weight is None else np.asarray(weight, np.float64)
        return np.where(own == self._inside, weight, 0.0)


def in_tiles(rows: Any, n_rows: int) -> Any:
    """The same rows in blocks that do not cut any tile [t n_rows, (t + 1) n_rows)."""
    if n_rows == 1:
        return rows
    return rows.in_tiles(n_rows) if rows.lazy else TiledSource(rows, n_rows)


class TiledSource(WrappedSource):
    """A source whose blocks begin and end at multiples of `tile` rows, except at both ends of the requested range.

    Rows are copied only in tiles that the blocks of `rows` cut. Segments for workers cut no tile either, unless `whole`
    is False.
    """

    def __init__(self, rows: Source, tile: int, whole: bool = True):
        super().__init__(rows)
        self._tile, self._whole = tile, whole

    def blocks(self, start: int = 0, stop: int | None = None) -> Iterator[Block]:
        tile, held = self._tile, list[Block]()  # blocks of an unfinished tile
        for block in self._rows.blocks(start, stop):
            row, end = block.first_row, block.first_row + block.n_rows
            first = min(-(-row // tile) * tile, end)
            last = max(end // tile * tile, first)
            if first > row or (held and row == end):
                held.append(block.cut(row, first))
                if first % tile == 0:
                    yield from joined(held)
                    held = []
            if last > first or (not held and row == end):
                yield block.cut(first, last)
            if end > last:
                held.append(block.cut(last, end))
        yield from joined(held)

    def rows_near(self, n_rows: int) -> int:
        return multiple(self._tile if self._whole else 1, super().rows_near(n_rows))


class NarrowSource(WrappedSource):
    """Rows as they enter a model: prepared, and without the columns that are all 0.

    Of 2^18 hashed columns about a fifth is in use, and every read allocates arrays with an entry for each column.

    Parameters
    ----------
    rows : Source
    options : RowOptions
        Transformations of the rows.
    columns : (n_columns,) ints, ascending
    n_features : int
        Number of columns of `rows`, all 0 except `columns`.
    """

    def __init__(self, rows: Source, options: RowOptions, columns: np.ndarray, n_features: int):
        super().__init__(rows)
        self._options, self._columns, self._n_wide = options, columns, n_features
        self.n_features = len(columns)

    def blocks(self, start: int = 0, stop: int | None = None) -> Iterator[Block]:
        place_of = np.full(self._n_wide, -1, np.int32)  # not sent to workers with each segment
        place_of[self._columns] = np.arange(len(self._columns), dtype=np.int32)
        for block in self._rows.blocks(start, stop):
            chunk, survey = checked(block)
            row_checks.check_n_features(chunk.shape[1], self._n_wide, "the first read")
            chunk, _ = transformed(chunk, survey, self._options)
            if isinstance(chunk, CSRChunk):
                places = place_of[chunk.indices]
                if (places < 0).any():  # values without effect: zeros, and those of rows of weight 0
                    chunk = chunk.of_columns(self._columns)
                    places = chunk.indices
                arrays = None if chunk.ones else chunk.data, frozen(places), chunk.indptr
                nbytes = sum(0 if array is None else array.nbytes for array in arrays)
                yield replace(block, X=(*arrays, len(self._columns)), nbytes=nbytes)
            else:
                values = chunk.of_columns(self._columns).values
                yield replace(block, X=values, nbytes=values.nbytes)

    def layout(self) -> dict[str, str]:
        columns = f"{len(self._columns)} of {self._n_wide}"
        return {**super().layout(), "columns": columns, "options": described(self._options)}
