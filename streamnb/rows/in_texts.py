"""Rows of text, whose features are made as they are read."""

import time
from collections.abc import Callable, Iterator
from copy import copy
from typing import Any, Self

from streamnb.core import row_checks
from streamnb.core.threads import in_order
from streamnb.rows.block import Block
from streamnb.rows.columns import RowColumns
from streamnb.rows.reading import Clock
from streamnb.rows.source import Source
from streamnb.rows.texts import Job, Texts


class TextSource(Source):
    """Texts, of which `step` makes CSR.

    Parameters
    ----------
    texts : TextsInMemory, TextFiles or TextFolders
    columns : RowColumns
        Labels, weights and splits that are not in the files themselves.
    step : callable, optional
        Of `Texts` and the number of the first row: SciPy CSR (n_rows, n_features); picklable. Without it the blocks
        hold `Texts`.
    n_features : int, optional
        Columns of what it makes.
    about : str
        What tells the step from others.
    n_threads : int
        That read and make features.

    Attributes
    ----------
    making : Clock
        Seconds that the step took so far, summed over threads; they are part of `reading`.
    """

    by_users = True

    def __init__(
        self,
        texts: Any,
        columns: RowColumns,
        step: Callable[[Texts, int], Any] | None = None,
        n_features: int | None = None,
        about: str = "",
        n_threads: int = 1,
    ):
        super().__init__(columns)
        self._texts, self._step, self._about, self._n_threads = texts, step, about, n_threads
        self.n_rows, self.n_features, self.nbytes = texts.n_rows, n_features, texts.nbytes
        self.files, self.making = texts.files, Clock()
        row_checks.check_min_size(texts.n_rows, 1)

    def __repr__(self) -> str:
        where = f" of {self.files[0][0]}" + (" .." if len(self.files) > 1 else "") if self.files else ""
        return f"<{type(self).__name__}: {self.n_rows} rows{where}, {self.n_features} features>"

    def blocks(self, start: int = 0, stop: int | None = None) -> Iterator[Block]:
        ask = self._columns.reader(start)
        for first_row, texts, X, seconds in self._made(self._step, start, stop):
            self.reading.seconds += sum(seconds)
            self.making.seconds += seconds[1]
            y, weight, split = ask(first_row, first_row + texts.shape[0], texts.y, texts.weight)()
            if self._step is None:
                yield Block(X, y, weight, split, first_row, len(texts.buffer))
            else:
                nbytes = X.data.nbytes + X.indices.nbytes
                yield Block((X.data, X.indices, X.indptr, X.shape[1]), y, weight, split, first_row, nbytes)

    def beside(self, step: int) -> Iterator[dict[str, Any]]:
        ask = self._columns.reader()
        for first_row, texts, _, _ in self._made(None, 0, None):
            found = ask(first_row, first_row + texts.shape[0], texts.y, texts.weight)()
            yield dict(zip(self._columns.names, found, strict=True))

    def _made(self, step: Any, start: int, stop: int | None) -> Iterator[tuple[int, Texts, Any, tuple[float, float]]]:
        jobs = self._texts.jobs(start, self.n_rows if stop is None else stop)
        return in_order(_Making(step), jobs, self._n_threads)

    def cut(self, start: int, stop: int) -> Self:
        part = super().cut(start, stop)
        part._texts, part.reading, part.making = self._texts.cut(start, stop), Clock(), Clock()
        return part

    def named(self, column: Any, name: str) -> Any:
        return self._texts.column(column, name) if isinstance(column, str) else column

    def rows_near(self, n_rows: int) -> int:
        return max(n_rows, self._texts.unpacked_rows)

    def layout(self) -> dict[str, str]:
        return {"the features": self._about}

    @property
    def vocabulary(self) -> tuple[str, ...] | None:
        """The n-grams that have a column each, None where columns are hashed."""
        return getattr(self._step, "vocabulary", None)

    def with_step(
        self, step: Any, n_features: int, about: str, feature_names: Any = None, encoding: Any = None
    ) -> "TextSource":
        """The same texts with other features."""
        part = copy(self)
        part.encoding = encoding
        part._step, part.n_features, part._about, part.feature_names = step, n_features, about, feature_names
        part.names_last = part.vocabulary is not None
        return part


class _Making:
    """The texts of a job, and what is made of them; the time of both."""

    def __init__(self, step: Any):
        self._step = step

    def __call__(self, job: Job) -> tuple[int, Texts, Any, tuple[float, float]]:
        first_row, make = job
        started = time.perf_counter()
        texts = make()
        read = time.perf_counter()
        X = texts if self._step is None else self._step(texts, first_row)
        return first_row, texts, X, (read - started, time.perf_counter() - read)
