"""What a classifier of several reads is trained on: how rows are read, what the scan told of them, and the rows."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from streamnb.core import memory
from streamnb.passes.dask_workers import client_for
from streamnb.passes.options import RunOptions
from streamnb.rows.kept import KeptSource, NarrowSource, kept
from streamnb.rows.preparing import RowOptions
from streamnb.rows.source import Source
from streamnb.rows.tiles import in_tiles
from streamnb.training.objectives import RowSums
from streamnb.training.reading import ReadTask

TILE_ROWS = 1 << 12  # of texts, which come in smaller blocks: more values of a column go together
KEPT = 8  # of the memory that may be taken, the part for rows that are read again


@dataclass(frozen=True, eq=False)
class Posed:
    """What a model is trained on: reads of rows, sums, factors of features, and weights to start towards."""

    task: ReadTask
    sums: RowSums
    scale: Any
    towards: np.ndarray | None

    def narrowed(self, rows: Source, options: RunOptions) -> tuple["Posed", Source]:
        """The same of the features that any row has, and the rows as it takes them, kept where there is room."""
        features, n_features = np.flatnonzero(self.sums.squares > 0.0), len(self.sums.squares)
        in_memory = rows.in_memory and len(features) == n_features
        if in_memory or rows.lazy or client_for(options.client) is not None:  # workers keep no rows from read to read
            return self, rows
        few, used = NarrowSource(rows, self.task.options, features, n_features), np.append(features, n_features)
        zeros, ones = np.zeros((len(used), self.task.weights.shape[1])), np.ones(len(used))
        scale = None if self.scale is None else self.scale[features]
        towards = None if self.towards is None else self.towards[used]
        task = replace(self.task, options=RowOptions(), weights=zeros, grid=ones)
        posed = replace(self, task=task, sums=self.sums.of_features(features), scale=scale, towards=towards)
        return posed, KeptSource(in_tiles(few, TILE_ROWS), room_for_rows(options))


def read_often(rows: Source, options: RunOptions) -> Source:
    """Rows that are scanned and then read, whose features are made once where there is room."""
    return kept(rows, room_for_rows(options))


def room_for_rows(options: RunOptions) -> int:
    """Bytes of rows that may be kept, twice: as they are made, and as they are trained on."""
    return memory.allowed(options.memory_limit) // KEPT
