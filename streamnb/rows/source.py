"""A source: the shape of its rows, and the rows block by block."""

from collections.abc import Iterator
from copy import copy
from typing import Any, Self

import numpy as np
import zarr

from streamnb.core.label_checks import names_of_labels
from streamnb.rows import sizes
from streamnb.rows.block import Block
from streamnb.rows.labels import RowColumns, whole_column
from streamnb.rows.zarr_reading import Clock


class Source:
    """Rows from somewhere. `n_rows` and `n_features` are None where only reading tells.

    `reading` is the time that went into it so far, summed over threads.
    """

    n_rows: int | None = None
    n_features: int | None = None
    n_values: int | None = None  # that are stored
    nbytes = 0  # decoded, all rows
    stored: tuple[zarr.Array, ...] = ()  # that hold rows
    group: Any = None  # the Zarr group in which columns are named
    given: Any = None  # what has the names of columns, or their number: the X that was given, or one like it
    feature_names: np.ndarray | None = None  # of columns that the source itself makes
    label_names: np.ndarray | None = None  # of an indicator of labels, where it has any
    own_groups: str | None = None  # the name of groups that come with the rows, for whoever splits them into folds
    encoding: Any = None  # what made columns of raw rows; a model that is fitted on them keeps it
    by_users = False  # True where users open the rows themselves, with what is beside them
    names_last = True  # False where other rows of the same columns may have other names, those of hashed ones
    files: tuple[tuple[str, int], ...] = ()  # paths and bytes of those that hold rows, for others to open
    in_memory = False
    dtype = np.dtype(np.float64)  # of a table in memory; of rows from elsewhere values may be of several
    columns: dict[str, Any]  # by name, where rows are columns
    making_takes = False  # True where features are made as rows are read, which takes longer than to sum them
    lazy = False  # True where blocks are made by Dask, which works on them where they are
    longer_blocks = 0  # bytes, if more than BLOCK_BYTES; of rows in memory, which take no more of it
    values_matter = True  # False lets a source that knows its values to be positive leave them out

    _columns: Any = None  # labels, weights and splits beside the rows

    def __init__(self, columns: RowColumns):
        self._columns, self.reading = columns, Clock()

    @property
    def arrays(self) -> tuple[zarr.Array, ...]:
        """Those that hold rows, and what is beside them; none where rows are in memory."""
        return (*self.stored, *self._columns.arrays) if self.stored else ()

    @property
    def n_blocks(self) -> int | None:
        """About how many blocks there will be."""
        if self.n_rows is None:
            return None
        return max(-(-self.nbytes // sizes.BLOCK_BYTES), -(-self.n_rows // sizes.BLOCK_ROWS))

    def blocks(self, start: int = 0, stop: int | None = None) -> Iterator[Block]:
        """Yield every row in [start, stop) once, in order; several threads may read ranges of one source at once."""
        raise NotImplementedError

    def cut(self, start: int, stop: int) -> Self:
        """The same, to be sent elsewhere for the rows in [start, stop): columns in memory hold those alone."""
        part = copy(self)
        part.group = part.given = None
        if self._columns is not None:
            part._columns = self._columns.cut(start, stop)
        return part

    def wanted(self, values: bool, block_bytes: int) -> Self:
        """The same for who wants values, or only their places, and so many bytes at once."""
        part = copy(self)
        part.values_matter, part.longer_blocks = values, block_bytes
        return part

    def with_beside(self, y: Any, weight: Any) -> Self:
        """The same with labels and weights that rows were opened without."""
        if y is None and weight is None:
            return self
        part = copy(self)
        part.by_users = False  # whoever opens them once more has these already
        part._columns = self._columns.with_beside(self.named(y, "y"), self.named(weight, "sample_weight"), self.n_rows)
        part.label_names = self.label_names if y is None else names_of_labels(y)
        return part

    def with_split(self, name: str, values: Any) -> Self:
        """The same with groups or fold numbers beside the rows."""
        part = copy(self)
        part._columns = self._columns.with_split(name, self.named(values, name), self.n_rows, self.group)
        return part

    def named(self, column: Any, name: str) -> Any:
        """The column that a string names, where rows have it in themselves; anything else as it is."""
        return column

    def whole_column(self, column: Any, name: str) -> np.ndarray:
        """All of a column beside the rows, in memory: an array, a lazy one, or the name of one in the group of X."""
        return whole_column(self.named(column, name), name, self.group)

    def cut_alike(self, column: Any, whole: np.ndarray) -> Any:
        """Of a column and all of it in memory, what is cut as the rows are."""
        return whole

    def check_resumable(self) -> None:
        """Refuse rows that cannot be read again from any row on."""

    def check_read_again(self, who: str) -> None:
        """Refuse rows that can be read only once."""

    def layout(self) -> dict[str, str]:
        """How what is stored lies, by what it is."""
        return {}

    def rows_near(self, n_rows: int) -> int:
        """About `n_rows` rows, whose multiples lie where chunks end if that keeps chunks from being read twice."""
        return n_rows

    def beside(self, step: int) -> Iterator[dict[str, Any]]:
        """Labels, weights and splits of all rows by name, some rows at a time, without the rows themselves."""
        ask, n_rows = self._columns.reader(), self.n_rows or 0
        for start in range(0, n_rows, step):
            yield dict(zip(self._columns.names, ask(start, min(start + step, n_rows))(), strict=True))


def row_ranges(source: Source, n_bytes: int | None = None) -> list[tuple[int, Any]]:
    """Cut the rows into segments [start, stop) of about `n_bytes`, SEGMENT_BYTES by default; a stream is one.

    It depends on shapes, chunks and the number of stored values alone, so that it is the same everywhere and always.
    """
    if source.n_rows is None:
        return [(0, None)]
    step = source.rows_near(max(source.n_rows * (n_bytes or sizes.SEGMENT_BYTES) // max(source.nbytes, 1), 1))
    return [(start, min(start + step, source.n_rows)) for start in range(0, source.n_rows, step)]


def multiple(unit: int, n_rows: int) -> int:
    return max((n_rows + unit // 2) // unit, 1) * unit
