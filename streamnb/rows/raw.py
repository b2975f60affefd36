"""Raw rows (texts, tables), whose features are computed as they are read."""

import time
from collections.abc import Callable, Iterator, Mapping
from copy import copy
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np

from streamnb.core import row_checks
from streamnb.core.threads import in_order
from streamnb.rows.block import Block
from streamnb.rows.labels import RowColumns, open_columns
from streamnb.rows.source import Source, multiple
from streamnb.rows.tables import Fields, Tables, check_has
from streamnb.rows.zarr_reading import Clock


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
    raw : any
        Holds the rows: `n_rows`, `nbytes`, `files`; `step`, rows at whose multiples reading can start without reading
        those before; `jobs(start, stop)`, which yields the number of a first row and a function that reads rows
        from there on, with their `shape`, `nbytes`, `y` and `weight`; and `column(name, argument)`, all values beside.
    columns : RowColumns
        Labels, weights and splits that do not come with the raw rows.
    step : callable, optional
        Maps raw rows and the number of the first one to SciPy CSR (n_rows, n_features) or `EncodedRows`; picklable.
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
        raw: Any,
        columns: RowColumns,
        step: Callable[[Any, int], Any] | None = None,
        n_features: int | None = None,
        about: str = "",
        n_threads: int = 1,
    ):
        super().__init__(columns)
        self._raw, self._step, self._about, self._n_threads = raw, step, about, n_threads
        self.n_rows, self.n_features, self.nbytes = raw.n_rows, n_features, raw.nbytes
        self.files, self.making = raw.files, Clock()
        row_checks.check_min_size(raw.n_rows, 1)

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
            else:
                nbytes = X.indices.nbytes + (0 if X.data is None else X.data.nbytes)
                yield Block((X.data, X.indices, X.indptr, X.shape[1]), y, weight, split, first_row, nbytes)

    def row_columns(self, step: int) -> Iterator[dict[str, Any]]:
        ask = self._columns.reader()
        for first_row, raw, _, _ in self._made(None, 0, None):
            found = ask(first_row, first_row + raw.shape[0], raw.y, raw.weight)()
            yield dict(zip(self._columns.names, found, strict=True))

    def _made(self, step: Any, start: int, stop: int | None) -> Iterator[tuple[int, Any, Any, tuple[float, float]]]:
        jobs = self._raw.jobs(start, self.n_rows if stop is None else stop)
        return in_order(partial(_decoded, step), jobs, self._n_threads)

    def named(self, column: Any, name: str) -> Any:
        return self._raw.column(column, name) if isinstance(column, str) else column

    def cut(self, start: int, stop: int) -> Self:
        part = super().cut(start, stop)
        part.reading, part.making = Clock(), Clock()
        return part

    def layout(self) -> dict[str, str]:
        return {"the features": self._about}

    def rows_near(self, n_rows: int) -> int:
        return multiple(self._raw.step, n_rows)

    def with_step(
        self, step: Any, n_features: int, about: str, feature_names: Any = None, encoding: Any = None
    ) -> Self:
        """A copy with the same rows and other features."""
        part = copy(self)
        part.encoding = encoding
        part._step, part.n_features, part._about, part.feature_names = step, n_features, about, feature_names
        return part


def _decoded(step: Any, job: tuple[int, Any]) -> tuple[int, Any, Any, tuple[float, float]]:
    """The raw rows of a job, their features, and the seconds spent on each."""
    first_row, read = job
    started = time.perf_counter()
    raw = read()
    done = time.perf_counter()
    X = raw if step is None else step(raw, first_row)
    return first_row, raw, X, (done - started, time.perf_counter() - done)


class TableSource(RawSource):
    """Rows of `Tables`; see `RawSource`. Groups and fold numbers may be columns of the table, by name."""

    unknown: Any = None  # counts values for which the encoding has no column

    @classmethod
    def of_columns(
        cls,
        tables: Tables,
        kinds: Mapping[str, str | None],
        zones: Mapping[str, str] | None,
        y: Any,
        weight: Any,
        n_threads: int,
    ) -> Self:
        """Rows whose blocks hold these columns of a table; `kinds` and `zones` as in `Fields`.

        Labels and weights are names of columns, or arrays.
        """
        labels, weights = (name if isinstance(name, str) else None for name in (y, weight))
        for argument, name in (("y", labels), ("weight", weights)):
            check_has(tables.schema, [name], argument)
        here = tuple(name for name in kinds if name in tables.schema.names)
        fields = Fields(here, labels, weights, kinds=None if zones is None else kinds, zones=zones)
        y, weight = (None if isinstance(one, str) else one for one in (y, weight))
        columns = open_columns(y, weight, tables.n_rows, False)
        return cls(tables.selected(fields), columns, n_threads=n_threads)

    def blocks(self, start: int = 0, stop: int | None = None) -> Iterator[Block]:
        yield from super().blocks(start, stop)
        if self.unknown is not None:
            self.unknown.warn_of_most(self.n_rows)

    def whole_column(self, column: Any, name: str) -> np.ndarray:
        return self.tables.values(column, name) if isinstance(column, str) else super().whole_column(column, name)

    @property
    def tables(self) -> Tables:
        """The table that holds the rows."""
        return self._raw


class TextSource(RawSource):
    """Texts, in `TextsInMemory`, `TextFiles`, `TextFolders` or `SequenceFiles`; see `RawSource`."""

    @property
    def texts(self) -> Any:
        """What holds the texts."""
        return self._raw

    @property
    def vocabulary(self) -> tuple[str, ...] | None:
        """The n-grams with a column each; None if columns are hashed."""
        return getattr(self._step, "vocabulary", None)
