"""Tells of values for which an additive model has no score: new ones, and missing ones where none were missing."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from streamnb.core import messages
from streamnb.encoding.terms import TermColumns
from streamnb.rows.block import Block
from streamnb.rows.derived_sources import WrappedSource
from streamnb.rows.source import Source


class AbsentCountingSource(WrappedSource):
    """Indicators of terms; after all rows have been read, one warning has the number of absent values of each feature.

    Parameters
    ----------
    rows : Source
        Blocks as `columns` makes them.
    columns : TermColumns
    names : names of the features
    """

    def __init__(self, rows: Source, columns: TermColumns, names: Sequence[str]):
        super().__init__(rows)
        self._columns, self._names = columns, names

    def blocks(self, start: int = 0, stop: int | None = None) -> Iterator[Block]:
        absent, n_rows = np.zeros(len(self._names), np.int64), 0
        for block in self._rows.blocks(start, stop):
            yield block
            absent, n_rows = absent + self._absent(block.X, block.n_rows), n_rows + block.n_rows
        if absent.any() and start == 0 and stop in (None, self.n_rows):  # workers read parts, and would warn of each
            each = [f"{n:,} of {name!r}" for n, name in zip(absent.tolist(), self._names, strict=True) if n]
            messages.warn(
                f"X has values that add nothing to the scores, as they are new, or missing where none was at fit: "
                f"{', '.join(each)}, in {n_rows:,} rows"
            )

    def _absent(self, X: Any, n_rows: int) -> np.ndarray:
        """The number of rows without an indicator of each feature."""
        _, indices, _, _ = X
        found = np.zeros(len(self._names), np.int64)
        columns = self._columns
        if len(indices) < n_rows * len(columns.features):
            terms = np.searchsorted(columns.starts, indices, side="right") - 1
            there = np.bincount(terms, minlength=len(columns.features))
            mains = np.flatnonzero(columns.features[:, 1] < 0)
            found[columns.features[mains, 0]] = n_rows - there[mains]
        return found
