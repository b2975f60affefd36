"""Sources, which have the shape of rows and yield them in blocks; those of raw rows compute features as they read.

Further ones wrap a source and change its blocks: prepared rows, rows of a fold, columns in use.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from copy import copy
from dataclasses import replace
from functools import partial
from operator import methodcaller
from types import MappingProxyType
from typing import Any, NamedTuple, Self

import numpy as np
import zarr

from streamnb.core import row_checks
from streamnb.core.persistence import described
from streamnb.core.row_checks import names_of_labels
from streamnb.core.threads import in_order
from streamnb.rows import row_blocks
from streamnb.rows.boundary import checked
from streamnb.rows.labels import RowColumns, whole_column
from streamnb.rows.preparing import RowOptions, transformed
from streamnb.rows.row_blocks import Block, CSRChunk, block_of, cut_csr, frozen, joined
from streamnb.rows.splits import Folding
from streamnb.rows.zarr_reading import Clock, Readers

SHARED = (
    *("n_rows", "n_features", "n_values", "nbytes", "stored", "files", "reading", "group", "in_memory", "dtype"),
    *("read_once", "own_groups", "own_folding", "sites", "label_names", "one_row", "unknown"),
)

Piece = tuple[int, int, Any]  # the first row, the end row and X of a block


class Source:
    """A source of rows. `n_rows` and `n_features` are None if only reading can tell.

    `reading` is the time that went into it so far, summed over threads.
    """

    n_rows: int | None = None
    n_features: int | None = None
    n_values: int | None = None  # stored values
    nbytes = 0  # of all rows, decoded
    stored: tuple[zarr.Array, ...] = ()  # Zarr arrays that hold the rows
    group: Any = None  # the Zarr group in which columns are named
    given: Any = None  # an object with the names or the number of columns: the given X, or one like it
    feature_names: np.ndarray | None = None  # names of columns that the source itself makes
    label: str | None = None  # the name of the column of a table of numbers that holds the labels
    label_names: np.ndarray | None = None  # names of the columns of an indicator matrix of labels, if any
    beside: Mapping[str, Any] = MappingProxyType({})  # columns by name that were taken out of X, such as groups
    own_groups: str | None = None  # the name of groups that come with the rows, for folds
    own_folding: Any = None  # the folding of rows that come with their fold numbers
    declared_folding: Any = None  # the folding of the rows of each site, if their schema names one
    sites: Any = None  # answers passes over rows that stay at several sites; see sharing.rounds
    encoding: Any = None  # the encoding of raw rows, which fitted models keep
    unknown: Any = None  # counts the values of raw rows for which the encoding has no column
    opened_by_user = False  # True if users open the rows themselves, with labels and weights
    names_last = True  # False if names may differ between rows with the same columns, as those of hashed columns do
    files: tuple[tuple[str, int], ...] = ()  # paths and sizes of the files that hold rows, for workers to open
    in_memory = False
    dtype = np.dtype(np.float64)  # of an array in memory; blocks of other sources may have several dtypes
    columns: dict[str, Any]  # by name, for sources of named columns
    costly_features = False  # True if features are computed as rows are read, which takes longer than summing them
    read_once = False  # True if the rows cannot be read again, those of an iterator
    by_fold: Mapping[int, "Source"] = MappingProxyType({})  # the rows without each fold, if it has own columns
    one_row: Callable | None = None  # takes the function that answers for blocks, of rows that come one at a time
    lazy = False  # True if Dask has the blocks and processes them where they are
    longer_blocks = 0  # bytes of a block, if more than BLOCK_BYTES; for rows in memory, where they cost nothing
    narrow = False  # True if rows that are kept should take less memory, without other forms, and more time to read
    values_matter = True  # False lets a source whose values are known to be positive skip reading them

    _columns: Any = None  # labels, weights and splits of the rows

    def __init__(self, columns: RowColumns):
        self._columns, self.reading = columns, Clock()

    @property
    def keepers(self) -> tuple[Any, ...]:
        """The sources in this one that keep their rows, outermost first."""
        return ()

    @property
    def arrays(self) -> tuple[zarr.Array, ...]:
        """The Zarr arrays that are read, with those of labels and weights; none if rows are in memory."""
        return (*self.stored, *self._columns.arrays) if self.stored else ()

    @property
    def n_blocks(self) -> int | None:
        """The approximate number of blocks."""
        if self.n_rows is None:
            return None
        return max(-(-self.nbytes // row_blocks.BLOCK_BYTES), -(-self.n_rows // row_blocks.BLOCK_ROWS))

    def blocks(self, start: int = 0, stop: int | None = None) -> Iterator[Block]:
        """Yield every row in [start, stop) once, in order; several threads may read ranges of one source at once."""
        ask = self._columns.reader(start)
        for row, until, X in self.pieces(start, (self.n_rows or 0) if stop is None else stop):
            yield block_of(X, ask(row, until)(), row)

    def pieces(self, start: int, stop: int) -> Iterator[Piece]:
        """Yield the first row, the end row and the `X` of each block in [start, stop), for `blocks`."""
        raise NotImplementedError

    def changed(self, blocks: Iterator[Block]) -> Iterator[Block]:
        """Blocks of other rows, changed as those of the rows that this source wraps."""
        return blocks

    def cut(self, start: int, stop: int) -> Self:
        """A copy to be sent to a worker that reads the rows in [start, stop); columns in memory are cut to these."""
        part = copy(self)
        part.group = part.given = None
        if self._columns is not None:
            part._columns = self._columns.cut(start, stop)
        return part

    def wanted(self, values: bool, block_bytes: int) -> Self:
        """A copy that reads values, or only their positions, in blocks of up to `block_bytes`."""
        part = copy(self)
        part.values_matter, part.longer_blocks = values, block_bytes
        return part

    def with_columns(
        self, y: Any = None, sample_weight: Any = None, *, offset: Any = None, split: Any = None, targets: bool = False
    ) -> Self:
        """A copy with columns that were not given when the rows were opened.

        Parameters
        ----------
        y, sample_weight : (n_rows,), optional
        offset : (n_rows,), optional
            An offset of each target, which is the last column of y.
        split : dict of (n_rows,), optional
            Groups or fold numbers by name; blocks have records of several.
        targets : bool
            Whether y holds numbers to predict.
        """
        part, given = copy(self), {"y": y, "sample_weight": sample_weight, "offset": offset}
        if y is not None:
            part.label_names = names_of_labels(y)
        if y is not None or sample_weight is not None:
            part.opened_by_user = False  # so that opening it again does not add them twice
        columns = {name: self.named(column, name) for name, column in given.items() if column is not None}
        split = {name: self.named(column, name) for name, column in (split or {}).items()}
        part._columns = self._columns.with_columns(columns, split, targets, self.n_rows, self.group)
        return part

    def named(self, column: Any, name: str) -> Any:
        """The column that a string names, if the rows themselves have it; anything else unchanged."""
        return self.beside.get(column, column) if isinstance(column, str) else column

    def whole_column(self, column: Any, name: str) -> np.ndarray:
        """Read a whole column into memory: an array, a lazy array, or the name of an array in the group of X."""
        return whole_column(self.named(column, name), name, self.group)

    def cut_alike(self, column: Any, whole: np.ndarray) -> Any:
        """Of a column and its values in memory, the one that is cut along with the rows."""
        return whole

    def check_given(self, n_rows: int) -> None:
        """Raise if a read gave another number of rows than those before."""

    def check_resumable(self) -> None:
        """Raise unless rows can be read again from any row on."""

    def check_read_again(self, who: str) -> None:
        """Raise if rows can be read only once."""

    def layout(self) -> dict[str, str]:
        """Descriptions of the stored arrays by their role, for reports and checkpoints."""
        return {}

    def rows_near(self, n_rows: int) -> int:
        """A step of about `n_rows` rows, aligned with chunks if that avoids reading chunks twice."""
        return n_rows

    def row_columns(self) -> Iterator[Block]:
        """Yield labels, weights and splits of all rows, as blocks whose `X` is a column of zeros."""
        columns, n_rows, step = self._columns, self.n_rows or 0, row_blocks.BLOCK_ROWS
        with Readers(Clock(), columns.arrays) as readers:
            ask, starts = columns.reader(readers=readers), range(0, n_rows, step)
            found = readers.ahead(ask(start, min(start + step, n_rows)) for start in starts)
            for start, beside in zip(starts, found, strict=True):
                yield block_of(np.zeros((min(step, n_rows - start), 1), np.int8), beside, start)


def row_ranges(source: Source, n_bytes: int | None = None) -> list[tuple[int, Any]]:
    """Cut the rows into segments [start, stop) of about `n_bytes`, SEGMENT_BYTES by default; a stream is one segment.

    The result depends only on shapes, chunks and the number of stored values, so that it is always reproducible.
    """
    if source.n_rows is None:
        return [(0, None)]
    step = source.rows_near(max(source.n_rows * (n_bytes or row_blocks.SEGMENT_BYTES) // max(source.nbytes, 1), 1))
    return [(start, min(start + step, source.n_rows)) for start in range(0, source.n_rows, step)]


def multiple(unit: int, n_rows: int) -> int:
    return max((n_rows + unit // 2) // unit, 1) * unit


# ---- raw rows -------------------------------------------------------------------------------------------------------

Job = tuple[int, Callable[[], Any]]  # the number of a first row, and a function that reads rows from there on


class RawRows:
    """Raw rows, such as texts and tables, whose features a `RawSource` computes.

    The rows that a job reads have `shape`, `nbytes`, `y` and `weight`.
    """

    n_rows = 0
    nbytes = 0
    files: tuple[tuple[str, int], ...] = ()  # paths and sizes of files that workers can open
    step = 1  # reading can start at multiples of it without reading the rows before
    no_columns = ""  # why no column can be named, where rows have none

    def jobs(self, start: int, stop: int) -> Iterator[Job]:
        """Yield functions that read the rows in [start, stop), piece by piece in order; threads may call them."""
        raise NotImplementedError

    def column(self, column: str, name: str) -> Any:
        """All values of a column, read like labels; `name` is the argument that names it."""
        raise ValueError(f"{name}={column!r} names a column, but {self.no_columns}")


class EncodedRows(NamedTuple):
    """Rows as CSR arrays with SciPy's attributes; `data` is None if every value is 1. Labels may come with them."""

    data: np.ndarray | None
    indices: np.ndarray
    indptr: np.ndarray
    shape: tuple[int, int]
    y: Any = None
    weight: Any = None

    def picked(self, rows: slice) -> "EncodedRows":
        """The rows in a slice, with their labels."""
        start, stop, _ = rows.indices(self.shape[0])
        arrays = cut_csr(self.data, self.indices, self.indptr, start, stop)
        y = None if self.y is None else self.y[rows]
        return EncodedRows(*arrays, (stop - start, self.shape[1]), y)


class RawSource(Source):
    """Raw rows that `step` encodes as CSR.

    Parameters
    ----------
    raw : RawRows
    columns : RowColumns
        Labels, weights and splits that do not come with the raw rows.
    step : callable, optional
        Maps raw rows and the number of the first one to SciPy CSR (n_rows, n_features), `EncodedRows` or an array;
        picklable.
        Without it, blocks hold the raw rows.
    n_features : int, optional
        Number of columns of the step's output.
    about : str
        Identifies the step, in checkpoints.
    n_threads : int
        Threads that read rows and compute features.
    """

    opened_by_user = costly_features = True

    def __init__(
        self,
        raw: RawRows,
        columns: RowColumns,
        step: Callable[[Any, int], Any] | None = None,
        n_features: int | None = None,
        about: str = "",
        n_threads: int = 1,
    ):
        super().__init__(columns)
        self.raw, self._step, self._about, self._n_threads = raw, step, about, n_threads
        self.n_rows, self.n_features, self.nbytes = raw.n_rows, n_features, raw.nbytes
        self.files = raw.files
        empty = "X has"
        if len(raw.files) == 1:
            empty = f"{raw.files[0][0]} holds"
        elif raw.files:
            empty = "the files hold"
        row_checks.check_min_size(raw.n_rows, 1, f"{empty} no rows")

    def __repr__(self) -> str:
        where = f" of {self.files[0][0]}" + (" .." if len(self.files) > 1 else "") if self.files else ""
        return f"<{type(self).__name__}: {self.n_rows} rows{where}, {self.n_features} features>"

    def blocks(self, start: int = 0, stop: int | None = None) -> Iterator[Block]:
        ask = self._columns.reader(start)
        for first_row, raw, X, seconds in self._made(self._step, start, stop):
            self.reading.seconds += seconds
            columns = ask(first_row, first_row + raw.shape[0], raw.y, raw.weight)()
            if self._step is not None and not isinstance(X, np.ndarray):
                X = X.data, X.indices, X.indptr, X.shape[1]
            yield block_of(X, columns, first_row)

    def row_columns(self) -> Iterator[Block]:
        ask = self._columns.reader()
        for first_row, raw, _, _ in self._made(None, 0, None):
            beside = ask(first_row, first_row + raw.shape[0], raw.y, raw.weight)()
            yield block_of(np.zeros((raw.shape[0], 1), np.int8), beside, first_row)

    def _made(self, step: Any, start: int, stop: int | None) -> Iterator[tuple[int, Any, Any, float]]:
        jobs = self.raw.jobs(start, self.raw.n_rows if stop is None else stop)
        return in_order(partial(_decoded, step), jobs, self._n_threads)

    def named(self, column: Any, name: str) -> Any:
        return self.raw.column(column, name) if isinstance(column, str) else column

    def cut(self, start: int, stop: int) -> Self:
        part = super().cut(start, stop)
        part.reading = Clock()
        return part

    def layout(self) -> dict[str, str]:
        return {"the features": self._about}

    def rows_near(self, n_rows: int) -> int:
        return multiple(self.raw.step, n_rows)

    def with_step(
        self, step: Any, n_features: int, about: str, feature_names: Any = None, encoding: Any = None
    ) -> Self:
        """A copy with the same rows and other features."""
        part = copy(self)
        part.encoding = encoding
        part._step, part.n_features, part._about, part.feature_names = step, n_features, about, feature_names
        return part


def _decoded(step: Any, job: Job) -> tuple[int, Any, Any, float]:
    """The raw rows of a job, their features, and the seconds spent on both."""
    first_row, read = job
    started = time.perf_counter()
    raw = read()
    X = raw if step is None else step(raw, first_row)
    return first_row, raw, X, time.perf_counter() - started


class WrappedSource(Source):
    """Base of sources that wrap another source, except Dask; a subclass says how it changes blocks."""

    needs_values = False  # True if blocks cannot be made of the positions of values alone

    def __init__(self, rows: Source):
        self._rows = rows
        for name in SHARED:
            setattr(self, name, getattr(rows, name))

    def change(self, blocks: Iterator[Block]) -> Iterator[Block]:
        """Blocks of the wrapped rows, changed."""
        return blocks

    def blocks(self, start: int = 0, stop: int | None = None) -> Iterator[Block]:
        return self.change(self._rows.blocks(start, stop))

    def changed(self, blocks: Iterator[Block]) -> Iterator[Block]:
        return self.change(self._rows.changed(blocks))

    @property
    def arrays(self) -> Any:
        return self._rows.arrays

    @property
    def keepers(self) -> tuple[Any, ...]:
        return self._rows.keepers

    def with_each(self, change: Callable[[Source], Source]) -> Self:
        """A copy with the rows that it wraps changed."""
        part = copy(self)
        part._rows = change(self._rows)
        return part

    def cut(self, start: int, stop: int) -> Self:
        part = self.with_each(methodcaller("cut", start, stop))
        part.group = part.given = None
        return part

    def wanted(self, values: bool, block_bytes: int) -> Self:
        part = self.with_each(methodcaller("wanted", values or self.needs_values, block_bytes))
        part.values_matter, part.longer_blocks = values, block_bytes
        return part

    def with_columns(self, *labels: Any, **columns: Any) -> Self:
        part = self.with_each(methodcaller("with_columns", *labels, **columns))
        part.label_names = part._rows.label_names
        return part

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

    def row_columns(self) -> Iterator[Block]:
        return self._rows.row_columns()


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

    def change(self, blocks: Iterator[Block]) -> Iterator[Block]:
        for whole in blocks:
            first, end = whole.first_row, whole.stop
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

    def change(self, blocks: Iterator[Block]) -> Iterator[Block]:
        for block in blocks:
            counted = self._folding.numbers(block.first_row, block.n_rows, block.split, 0) == self._fold
            weight = np.where(counted == self._inside, 1.0 if block.weight is None else block.weight, 0.0)
            yield replace(block, weight=weight)

    def row_columns(self) -> Iterator[Block]:
        return self.change(self._rows.row_columns())


class OutsideFolds(WrappedSource):
    """The same rows once for each of several folds, with columns that were learned outside it; read side by side.

    Blocks are those without the first fold, and have those of every fold as `by_fold`. The rows of each fold are kept
    apart.
    """

    def __init__(self, by_fold: Mapping[int, Source]):
        sources = list(by_fold.values())
        super().__init__(sources[0])
        self.by_fold = by_fold
        self.nbytes = sum(each.nbytes for each in sources)

    @property
    def keepers(self) -> tuple[Any, ...]:
        return sum((each.keepers for each in self.by_fold.values()), ())

    def blocks(self, start: int = 0, stop: int | None = None) -> Iterator[Block]:
        streams = {fold: rows.blocks(start, stop) for fold, rows in self.by_fold.items()}
        held: dict[int, Any] = {fold: next(stream, None) for fold, stream in streams.items()}
        while None not in held.values():
            end = min(block.stop for block in held.values())
            parts = {fold: block.cut(block.first_row, end) for fold, block in held.items()}
            nbytes = sum(part.nbytes for part in parts.values())
            yield replace(next(iter(parts.values())), nbytes=nbytes, by_fold=parts)
            for fold, block in held.items():
                held[fold] = block.cut(end, block.stop) if block.stop > end else next(streams[fold], None)

    def with_each(self, change: Callable[[Source], Source]) -> Self:
        """A copy with the rows of every fold changed."""
        part = copy(self)
        part.by_fold = {fold: change(rows) for fold, rows in self.by_fold.items()}
        part._rows = next(iter(part.by_fold.values()))
        return part


def in_tiles(rows: Any, n_rows: int) -> Any:
    """The same rows in blocks that do not cut any tile [t n_rows, (t + 1) n_rows)."""
    if n_rows == 1:
        return rows
    if rows.by_fold:
        return rows.with_each(partial(in_tiles, n_rows=n_rows))
    return rows.in_tiles(n_rows) if rows.lazy else TiledSource(rows, n_rows)


class TiledSource(WrappedSource):
    """A source whose blocks begin and end at multiples of `tile` rows, except at both ends of the requested range.

    Rows are copied only in tiles that the blocks of `rows` cut. Segments for workers cut no tile either, unless `whole`
    is False.
    """

    def __init__(self, rows: Source, tile: int, whole: bool = True):
        super().__init__(rows)
        self._tile, self._whole = tile, whole

    def change(self, blocks: Iterator[Block]) -> Iterator[Block]:
        tile, held = self._tile, list[Block]()  # blocks of an unfinished tile
        for block in blocks:
            row, end = block.first_row, block.stop
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

    def change(self, blocks: Iterator[Block]) -> Iterator[Block]:
        place_of = np.full(self._n_wide, -1, np.int32)  # not sent to workers with each segment
        place_of[self._columns] = np.arange(len(self._columns), dtype=np.int32)
        for block in blocks:
            chunk, survey = checked(block)
            row_checks.check_n_features(chunk.shape[1], self._n_wide, "the first read")
            chunk, _ = transformed(chunk, survey, self._options)
            if isinstance(chunk, CSRChunk):
                places = place_of[chunk.indices]
                if (places < 0).any():  # values without effect: zeros, and those of rows of weight 0
                    chunk = chunk.of_columns(self._columns)
                    places = chunk.indices
                X: Any = None if chunk.ones else chunk.data, frozen(places), chunk.indptr, len(self._columns)
            else:
                X = chunk.of_columns(self._columns).values
            made = block_of(X, (block.y, block.weight, block.split), block.first_row)
            yield replace(made, kept=block.kept)

    def layout(self) -> dict[str, str]:
        columns = f"{len(self._columns)} of {self._n_wide}"
        return {**super().layout(), "columns": columns, "options": described(self._options)}
