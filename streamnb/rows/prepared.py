"""Rows that a step has been applied to: other columns of the same rows, made block by block as they are read."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Self

import numpy as np

from streamnb.rows.block import Block
from streamnb.rows.boundary import checked
from streamnb.rows.of_another import SourceOfAnother
from streamnb.rows.source import Source
from streamnb.rows.tiles import rows_of


class PreparedSource(SourceOfAnother):
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
    at_once : int, optional
        Rows that the step is given at most.
    """

    making_takes = True

    def __init__(self, rows: Source, step: Callable, n_features: int, about: str, at_once: int | None = None):
        self._rows, self._step, self._about, self._at_once = rows, step, about, at_once
        self.n_rows, self.n_features = rows.n_rows, n_features
        self.nbytes, self.stored, self.reading, self.group = rows.nbytes, rows.stored, rows.reading, rows.group

    def blocks(self, start: int = 0, stop: int | None = None) -> Iterator[Block]:
        for block in self._few(start, stop):
            X = self._step(checked(block, missing=True)[0])
            yield replace(block, X=X if isinstance(X, np.ndarray) else (X.data, X.indices, X.indptr, X.shape[1]))

    def _few(self, start: int, stop: int | None) -> Iterator[Block]:
        """Blocks of the other source, cut where what the step makes of them would be large."""
        for block in self._rows.blocks(start, stop):
            first, end = block.first_row, block.first_row + block.n_rows
            step = self._at_once or max(block.n_rows, 1)
            for row in range(first, max(end, first + 1), step):
                yield rows_of(block, row, min(row + step, end))

    def wanted(self, values: bool, block_bytes: int) -> Self:
        part = super().wanted(True, block_bytes)  # the step looks at them in any case
        part.values_matter = values
        return part

    def layout(self) -> dict[str, str]:
        return {**super().layout(), "the step": self._about}
