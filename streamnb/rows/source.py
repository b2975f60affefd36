"""Sources, which have the shape of rows and yield them in blocks; those of raw rows compute features as they read."""

import time
from collections.abc import Callable, Iterator, Mapping
from copy import copy
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple, Self

import numpy as np
import zarr

from streamnb.core import row_checks
from streamnb.core.label_checks import names_of_labels
from streamnb.core.threads import in_order
from streamnb.rows import sizes
from streamnb.rows.block import Block
from streamnb.rows.labels import TARGETS, RowColumns, whole_column
from streamnb.rows.zarr_reading import Clock


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
    sites: Any = None  # answers passes over rows that stay at several sites; see sharing.rounds
    encoding: Any = None  # the encoding of raw rows, which fitted models keep
    opened_by_user = False  # True if users open the rows themselves, with labels and weights
    names_last = True  # False if names may differ between rows with the same columns, as those of hashed columns do
    files: tuple[tuple[str, int], ...] = ()  # paths and sizes of the files that hold rows, for workers to open
    in_memory = False
    dtype = np.dtype(np.float64)  # of an array in memory; blocks of other sources may have several dtypes
    columns: dict[str, Any]  # by name, for sources of named columns
    costly_features = False  # True if features are computed as rows are read, which takes longer than summing them
    read_once = False  # True if the rows cannot be read again, those of an iterator
    lazy = False  # True if Dask has the blocks and processes them where they are
    longer_blocks = 0  # bytes of a block, if more than BLOCK_BYTES; for rows in memory, where they cost nothing
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
        return max(-(-self.nbytes // sizes.BLOCK_BYTES), -(-self.n_rows // sizes.BLOCK_ROWS))

    def blocks(self, start: int = 0, stop: int | None = None) -> Iterator[Block]:
        """Yield every row in [start, stop) once, in order; several threads may read ranges of one source at once."""
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

    def with_columns(self, y: Any, weight: Any) -> Self:
        """A copy with labels and weights that were not given when the rows were opened."""
        if y is None and weight is None:
            return self
        part = copy(self)
        part.opened_by_user = False  # so that opening it again does not add them twice
        part._columns = self._columns.with_columns(self.named(y, "y"), self.named(weight, "sample_weight"), self.n_rows)
        part.label_names = self.label_names if y is None else names_of_labels(y)
        return part

    def with_targets(self) -> Self:
        """A copy whose y holds numbers to predict."""
        part = copy(self)
        part._columns = replace(self._columns, labelled=TARGETS)
        return part

    def with_split(self, name: str, values: Any) -> Self:
        """A copy with groups or fold numbers of the rows; or with records of a dict of such columns."""
        part = copy(self)
        if isinstance(values, dict):
            values = {key: self.named(column, key) for key, column in values.items()}
        part._columns = self._columns.with_split(name, self.named(values, name), self.n_rows, self.group)
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

    def row_columns(self, step: int) -> Iterator[dict[str, Any]]:
        """Yield labels, weights and splits by name, `step` rows at a time, without the rows themselves."""
        ask, n_rows = self._columns.reader(), self.n_rows or 0
        for start in range(0, n_rows, step):
            yield dict(zip(self._columns.names, ask(start, min(start + step, n_rows))(), strict=True))


def row_ranges(source: Source, n_bytes: int | None = None) -> list[tuple[int, Any]]:
    """Cut the rows into segments [start, stop) of about `n_bytes`, SEGMENT_BYTES by default; a stream is one segment.

    The result depends only on shapes, chunks and the number of stored values, so that it is always reproducible.
    """
    if source.n_rows is None:
        return [(0, None)]
    step = source.rows_near(max(source.n_rows * (n_bytes or sizes.SEGMENT_BYTES) // max(source.nbytes, 1), 1))
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
    """Rows as CSR arrays with SciPy's attributes; `data` is None if every value is 1."""

    data: np.ndarray | None
    indices: np.ndarray
    indptr: np.ndarray
    shape: tuple[int, int]


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

    Attributes
    ----------
    making : Clock
        Seconds spent in the step so far, summed over threads; part of `reading`.
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
        self.files, self.making = raw.files, Clock()
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
            self.reading.seconds += sum(seconds)
            self.making.seconds += seconds[1]
            y, weight, split = ask(first_row, first_row + raw.shape[0], raw.y, raw.weight)()
            if self._step is None:
                yield Block(X, y, weight, split, first_row, raw.nbytes)
            elif isinstance(X, np.ndarray):
                yield Block(X, y, weight, split, first_row, X.nbytes)
            else:
                nbytes = X.indices.nbytes + (0 if X.data is None else X.data.nbytes)
                yield Block((X.data, X.indices, X.indptr, X.shape[1]), y, weight, split, first_row, nbytes)

    def row_columns(self, step: int) -> Iterator[dict[str, Any]]:
        ask = self._columns.reader()
        for first_row, raw, _, _ in self._made(None, 0, None):
            found = ask(first_row, first_row + raw.shape[0], raw.y, raw.weight)()
            yield dict(zip(self._columns.names, found, strict=True))

    def _made(self, step: Any, start: int, stop: int | None) -> Iterator[tuple[int, Any, Any, tuple[float, float]]]:
        jobs = self.raw.jobs(start, self.raw.n_rows if stop is None else stop)
        return in_order(partial(_decoded, step), jobs, self._n_threads)

    def named(self, column: Any, name: str) -> Any:
        return self.raw.column(column, name) if isinstance(column, str) else column

    def cut(self, start: int, stop: int) -> Self:
        part = super().cut(start, stop)
        part.reading, part.making = Clock(), Clock()
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


def _decoded(step: Any, job: Job) -> tuple[int, Any, Any, tuple[float, float]]:
    """The raw rows of a job, their features, and the seconds spent on each."""
    first_row, read = job
    started = time.perf_counter()
    raw = read()
    done = time.perf_counter()
    X = raw if step is None else step(raw, first_row)
    return first_row, raw, X, (done - started, time.perf_counter() - done)
