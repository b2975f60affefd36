"""Rows that a step has been applied to: other columns of the same rows, made block by block as they are read."""

from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import replace
from typing import Any, Self

import numpy as np

from streamnb.rows.block import Block
from streamnb.rows.boundary import checked
from streamnb.rows.source import Source


class PreparedSource(Source):
    """A source whose blocks are matrices, CSR or dense, that `step` makes of those of another.

    Parameters
    ----------
    rows : Source
        Not of Dask, which prepares its own blocks.
    step : callable
        Of a chunk, dense ones with NaN where values are missing: (n_rows, n_features); picklable.
    n_features : int
        Columns of what it makes.
    about : str
        What tells the step from others.
    """

    def __init__(self, rows: Source, step: Callable, n_features: int, about: str):
        self._rows, self._step, self._about = rows, step, about
        self.n_rows, self.n_features = rows.n_rows, n_features
        self.nbytes, self.stored, self.reading, self.group = rows.nbytes, rows.stored, rows.reading, rows.group

    @property
    def arrays(self) -> Any:
        return self._rows.arrays

    @property
    def n_blocks(self) -> int | None:
        return self._rows.n_blocks

    def blocks(self, start: int = 0, stop: int | None = None) -> Iterator[Block]:
        for block in self._rows.blocks(start, stop):
            X = self._step(checked(block, missing=True)[0])
            yield replace(block, X=X if isinstance(X, np.ndarray) else (X.data, X.indices, X.indptr, X.shape[1]))

    def _of(self, rows: Source) -> Self:
        part = copy(self)
        part._rows = rows
        return part

    def cut(self, start: int, stop: int) -> Self:
        part = self._of(self._rows.cut(start, stop))
        part.group = None
        return part

    def wanted(self, values: bool, block_bytes: int) -> Self:
        part = self._of(self._rows.wanted(True, block_bytes))
        part.values_matter, part.longer_blocks = values, block_bytes
        return part

    def with_split(self, name: str, values: Any) -> Self:
        return self._of(self._rows.with_split(name, values))

    def whole_column(self, column: Any, name: str) -> np.ndarray:
        return self._rows.whole_column(column, name)

    def cut_alike(self, column: Any, whole: np.ndarray) -> Any:
        return self._rows.cut_alike(column, whole)

    def check_resumable(self) -> None:
        self._rows.check_resumable()

    def check_read_again(self, who: str) -> None:
        self._rows.check_read_again(who)

    def layout(self) -> dict[str, str]:
        return {**self._rows.layout(), "the step": self._about}

    def rows_near(self, n_rows: int) -> int:
        return self._rows.rows_near(n_rows)

    def beside(self, step: int) -> Iterator[dict[str, Any]]:
        return self._rows.beside(step)
