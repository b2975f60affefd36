"""The weights of all models of a grid, laid out to score rows; see `kernels.grid_scores`."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from streamnb.data.chunk import Chunk
from streamnb.kernels import grid_scores
from streamnb.kernels.grid_scores import LANES
from streamnb.memory import PAGE, aligned

FEW_COLUMNS = 64  # are one table, which rows are read once for
IN_HEAD, LISTING = 0.35, 1.0  # what LANES weights of the head cost, and looking for units, against adding a unit


def room(n_points: int) -> int:
    """What the scores of so many models take beside each other."""
    return -(-n_points // LANES) * LANES


def _head_lanes(depth: Any, n_rows: int) -> Any:
    """How many times LANES columns the head has, of so many points."""
    return -(-depth * n_rows // LANES)


def _shape(blocks: Sequence[sp.csr_array], n_rows: int) -> tuple[int, int]:
    """How many points the head has, less than LANES or a multiple of them, and how many units there are beside it."""
    n_features, ends = sum(block.shape[0] for block in blocks), np.zeros(room(blocks[0].shape[1] // n_rows), np.int64)
    for block in blocks:
        grid_scores.count_units(*_places(block), n_rows, np.full((2, n_rows), -1), ends)
    n_units = np.append(np.cumsum(ends[::-1])[::-1], 0)  # by depth
    depths = np.arange(len(n_units))
    depths = depths[(depths < LANES) | (depths % LANES == 0)]
    beside, in_head = n_units[depths], IN_HEAD * _head_lanes(depths, n_rows)
    best = np.argmin(n_features * (in_head + LISTING * (beside > 0)) + beside)
    return int(depths[best]), int(beside[best])


def _places(weights: sp.csr_array) -> tuple[np.ndarray, np.ndarray]:
    return weights.indices.astype(np.int32, copy=False), weights.indptr.astype(np.int64, copy=False)


@dataclass(frozen=True, eq=False)
class GridWeights:
    """Weights (n_features, G * R) of G models of R rows, for scores that lie as (R, room(G))."""

    arrays: tuple[np.ndarray, ...]
    n_whole: int  # points of which the head has tables for LANES each; 0 where it is one table

    @classmethod
    def of(cls, weights: sp.csr_array, n_rows: int) -> "GridWeights":
        """Lay out weights whose columns are ascending and lie point by point."""
        return cls._of_shape([weights], n_rows, *_shape([weights], n_rows))

    @classmethod
    def within(cls, most_bytes: int, blocks: Sequence[sp.csr_array], n_rows: int) -> "GridWeights | None":
        """The same of one block of features after the other; None where it would take more than so many bytes.

        What it keeps of each feature does not count.
        """
        depth, n_units = _shape(blocks, n_rows)
        n_features = sum(block.shape[0] for block in blocks)
        fits = 8 * LANES * (n_features * _head_lanes(depth, n_rows) + n_units) <= most_bytes
        return cls._of_shape(blocks, n_rows, depth, n_units) if fits else None

    @classmethod
    def _of_shape(cls, blocks: Sequence[sp.csr_array], n_rows: int, depth: int, n_units: int) -> "GridWeights":
        n_features, n_points = sum(block.shape[0] for block in blocks), blocks[0].shape[1] // n_rows
        point, r = np.divmod(np.arange(depth * n_rows), n_rows)
        whole = depth * n_rows > FEW_COLUMNS and depth % LANES == 0
        if not whole:
            n_tables, width = min(depth, 1), _head_lanes(depth, n_rows) * LANES
            places = np.stack([np.zeros(len(r), np.int64), np.arange(len(r))], axis=1)
        else:
            n_tables, width = depth // LANES, n_rows * LANES
            places = np.stack([point // LANES, r * LANES + point % LANES], axis=1)
        spots = np.empty((n_tables, len(r) // max(n_tables, 1)), np.int64)
        spots[places[:, 0], places[:, 1]] = r * room(n_points) + point
        head, units = aligned(n_tables * n_features, width), aligned(n_units, LANES)
        head[:], units[:] = 0.0, 0.0
        head = head.reshape(n_tables, n_features, width)
        begins, columns = np.zeros(n_features + 1, np.int32), np.empty(n_units, np.int32)
        first = 0
        for block in blocks:
            stop, t = first + block.shape[0], begins[first]
            form = n_rows, room(n_points), places, np.full(n_rows, -1), first
            put = head, begins[first : stop + 1], columns[t:], units[t:]
            grid_scores.fill_units(block.data, *_places(block), *form, *put)
            begins[first : stop + 1] += t
            first = stop
        arrays = head, spots, begins, columns, units
        for array in arrays:
            array.setflags(write=False)
        return cls(arrays, depth if whole else 0)

    def add_scores(self, chunk: Chunk, rows: np.ndarray, out: np.ndarray) -> None:
        """Add the scores of those rows of a block to out (len(rows), R * room(G)), in C order."""
        for some, arrays in chunk.sparse(rows):
            grid_scores.add_csr(tuple(arrays), self.arrays, self._spare(), out[some])

    def decide(self, chunk: Chunk, rows: np.ndarray, start: np.ndarray, of_classes: np.ndarray) -> np.ndarray:
        """The first class of the highest score of those rows, (len(rows), room(G)).

        Scores (n, room(G)) begin with those of `start`; the rows of weights add to the first R of them, and class k
        has the one of number of_classes[k].
        """
        scores = aligned(grid_scores.ROWS_AT_ONCE, start.size)
        decided = np.empty((len(rows), start.shape[1]), np.int32)
        places = np.outer([LANES, start.shape[1]], of_classes)
        form = self.n_whole, start.reshape(-1), places, scores
        for some, arrays in chunk.sparse(rows):
            grid_scores.decide_csr(tuple(arrays), self.arrays, self._spare(), *form, decided[some])
        return decided

    def _spare(self) -> tuple[np.ndarray, ...]:
        """Room for the kernels to work in."""
        listed, factors = (aligned(1, grid_scores.ROOM, dtype, PAGE)[0] for dtype in (np.int32, np.float64))
        listed[:] = 0
        top = aligned(1, self.arrays[0].shape[2] + LANES)
        top[:] = 0.0
        return top, listed, factors
