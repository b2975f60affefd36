"""All rows, of which those of one fold, or those outside it, weigh nothing."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from streamnb.rows.block import Block
from streamnb.rows.of_another import SourceOfAnother
from streamnb.rows.source import Source
from streamnb.rows.splits import Folding


class FoldRows(SourceOfAnother):
    """A source whose rows have their weight inside a fold, or outside it, and none elsewhere.

    Parameters
    ----------
    rows : Source
        Not of Dask; with groups or fold numbers beside the rows where the folding asks for them.
    folding : Folding
    fold : int
    inside : bool
    """

    def __init__(self, rows: Source, folding: Folding, fold: int, inside: bool):
        if rows.lazy:
            raise ValueError("X is in Dask, whose rows no fold can be taken from; give the Zarr store behind it")
        self._rows, self._folding, self._fold, self._inside = rows, folding, fold, inside
        for name in ("n_rows", "n_features", "n_values", "nbytes", "stored", "reading", "group", "in_memory", "dtype"):
            setattr(self, name, getattr(rows, name))

    def blocks(self, start: int = 0, stop: int | None = None) -> Iterator[Block]:
        for block in self._rows.blocks(start, stop):
            yield replace(block, weight=self._weights(block.first_row, block.n_rows, block.weight, block.split))

    def beside(self, step: int) -> Iterator[dict[str, Any]]:
        first = 0
        for columns in self._rows.beside(step):
            n_rows = columns["y"].shape[0]
            split = columns.get("groups", columns.get("folds"))
            weight = self._weights(first, n_rows, columns.get("sample_weight"), split)
            yield {**columns, "sample_weight": weight}
            first += n_rows

    def _weights(self, first_row: int, n_rows: int, weight: Any, split: Any) -> np.ndarray:
        own = self._folding.numbers(first_row, n_rows, split, 0) == self._fold
        weight = np.ones(n_rows) if weight is None else np.asarray(weight, np.float64)
        return np.where(own == self._inside, weight, 0.0)
