"""All rows, of which those of one fold, or those outside it, weigh nothing."""

from collections.abc import Iterator
from dataclasses import replace

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
            own = self._folding.numbers(block.first_row, block.n_rows, block.split, 0) == self._fold
            weight = np.ones(block.n_rows) if block.weight is None else np.asarray(block.weight, np.float64)
            yield replace(block, weight=np.where(own == self._inside, weight, 0.0))
