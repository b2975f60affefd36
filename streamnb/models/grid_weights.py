"""The weights of a grid of models, laid out for scoring; see `kernels.grid_scores`."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from streamnb.core import memory
from streamnb.core.memory import PAGE, aligned
from streamnb.kernels import grid_scores
from streamnb.kernels.lanes import LANES, SINGLES
from streamnb.rows.chunk import Chunk, SparseRows

CLOSE_SCORES = 1 << 14  # scores that stay in the cache until they are counted
FEW_COLUMNS = 64  # columns up to which the head is one table, for which rows are read once


@dataclass(frozen=True)
class Layout:
    """A number type, how many of them a vector or cache line holds, and the costs of adding them.

    `in_head` is the cost of `lanes` weights of the head, and `listing` of listing units, relative to adding a unit.
    """

    dtype: type
    lanes: int
    in_head: float
    listing: float

    def padded(self, n_points: int) -> int:
        """Return the number of models rounded up to a multiple of `lanes`."""
        return -(-n_points // self.lanes) * self.lanes

    def head_lanes(self, depth: Any, n_rows: int) -> Any:
        """Return the columns of a head with `depth` points, in units of `lanes`."""
        return -(-depth * n_rows // self.lanes)

    def where(self, n_points: int, n_rows: int) -> np.ndarray:
        """Return point and row of weights of each column, the offset of its unit and the lane in it."""
        point, row = np.divmod(np.arange(n_points * n_rows), n_rows)
        lane = point % self.lanes
        return np.stack([point, row, row * self.padded(n_points) + point - lane, lane])

    def n_units(self, blocks: Sequence[sp.csr_array], n_rows: int) -> np.ndarray:
        """Return the number of units outside a head of 0, 1, .. points."""
        n_points = blocks[0].shape[1] // n_rows
        ends, where = np.zeros(self.padded(n_points), np.int64), self.where(n_points, n_rows)
        for block in blocks:
            grid_scores.count_units(*_places(block), where, np.full((2, n_rows), -1), ends)
        return np.append(np.cumsum(ends[::-1])[::-1], 0)

    def shape(self, blocks: Sequence[sp.csr_array], n_rows: int) -> tuple[int, int]:
        """Choose the points of the head, fewer than `lanes` or a multiple of it; also return the units outside it."""
        n_features, n_units = sum(block.shape[0] for block in blocks), self.n_units(blocks, n_rows)
        depths = np.arange(len(n_units))
        depths = depths[(depths < self.lanes) | (depths % self.lanes == 0)]
        outside, in_head = n_units[depths], self.in_head * self.head_lanes(depths, n_rows)
        best = np.argmin(n_features * (in_head + self.listing * (outside > 0)) + outside)
        return int(depths[best]), int(outside[best])


DOUBLE = Layout(np.float64, LANES, 0.35, 1.0)
SINGLE = Layout(np.float32, SINGLES, 0.3, 0.4)


def _places(weights: sp.csr_array) -> tuple[np.ndarray, np.ndarray]:
    return weights.indices.astype(np.int32, copy=False), weights.indptr.astype(np.int64, copy=False)


def _index(n: int) -> np.dtype:
    """Return a small dtype for numbers below n, since units are accessed at random."""
    return np.dtype(np.uint16 if n <= 1 << 16 else np.int32)


def size_of(blocks: Sequence[sp.csr_array], n_rows: int, layout: Layout = DOUBLE) -> int:
    """Return the bytes of laid out blocks of weights, without the arrays by feature."""
    return _bytes_of_shape(layout, blocks, n_rows, *layout.shape(blocks, n_rows))


def _bytes_of_shape(layout: Layout, blocks: Sequence[sp.csr_array], n_rows: int, depth: int, n_units: int) -> int:
    n_features = sum(block.shape[0] for block in blocks)
    return int(memory.LINE * (n_features * layout.head_lanes(depth, n_rows) + n_units))


@dataclass(frozen=True, eq=False)
class GridWeights:
    """Weights (n_features, G * R) of G models with R rows, for scores in the layout (R, padded G)."""

    arrays: tuple[np.ndarray, ...]
    n_whole: int  # points of a head with one table for `lanes` points each; 0 if it is a single table
    layout: Layout

    @classmethod
    def of(cls, blocks: Sequence[sp.csr_array], n_rows: int) -> "GridWeights":
        """Lay out weights, given in blocks of features with ascending columns, ordered point by point."""
        return cls._of_shape(DOUBLE, blocks, n_rows, *DOUBLE.shape(blocks, n_rows))

    @classmethod
    def in_units(cls, blocks: Sequence[sp.csr_array], n_rows: int) -> "GridWeights":
        """Lay out weights as units only; sums then run feature by feature, whatever other weights there are."""
        return cls._of_shape(DOUBLE, blocks, n_rows, 0, int(DOUBLE.n_units(blocks, n_rows)[0]))

    @classmethod
    def within(
        cls, most_bytes: int, blocks: Sequence[sp.csr_array], n_rows: int, layout: Layout = DOUBLE
    ) -> "GridWeights | None":
        """Lay out weights, or return None if that takes more than `most_bytes`.

        Arrays by feature do not count.
        """
        shape = layout.shape(blocks, n_rows)
        if _bytes_of_shape(layout, blocks, n_rows, *shape) > most_bytes:
            return None
        return cls._of_shape(layout, blocks, n_rows, *shape)

    @classmethod
    def _of_shape(
        cls, layout: Layout, blocks: Sequence[sp.csr_array], n_rows: int, depth: int, n_units: int
    ) -> "GridWeights":
        n_features, n_points = sum(block.shape[0] for block in blocks), blocks[0].shape[1] // n_rows
        lanes, where = layout.lanes, layout.where(n_points, n_rows)
        point, r = np.divmod(np.arange(depth * n_rows), n_rows)
        whole = depth * n_rows > FEW_COLUMNS and depth % lanes == 0
        if not whole:
            n_tables, width = min(depth, 1), layout.head_lanes(depth, n_rows) * lanes
            places = np.stack([np.zeros(len(r), np.int64), np.arange(len(r))], axis=1)
        else:
            n_tables, width = depth // lanes, n_rows * lanes
            places = np.stack([point // lanes, r * lanes + point % lanes], axis=1)
        spots = np.empty((n_tables, len(r) // max(n_tables, 1)), np.int64)
        spots[places[:, 0], places[:, 1]] = r * layout.padded(n_points) + point
        head, units = aligned(n_tables * n_features, width, layout.dtype), aligned(n_units, lanes, layout.dtype)
        head[:], units[:] = 0.0, 0.0
        head = head.reshape(n_tables, n_features, width)
        begins, columns = (
            np.zeros(n_features + 1, np.int32),
            np.empty(n_units, _index(n_rows * layout.padded(n_points))),
        )
        first = 0
        for block in blocks:
            stop, t = first + block.shape[0], begins[first]
            indices, indptr = _places(block)
            put = head, begins[first : stop + 1], columns[t:], units[t:]
            grid_scores.fill_units(block.data, indices, indptr, where, places, np.full(n_rows, -1), first, *put)
            begins[first : stop + 1] += t
            first = stop
        arrays = head, spots, begins, columns, units
        for array in arrays:
            array.setflags(write=False)
        return cls(arrays, depth if whole else 0, layout)

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in self.arrays)

    def add_scores(self, chunk: Chunk, rows: np.ndarray, out: np.ndarray) -> None:
        """Add the scores of some rows of a block to out (len(rows), R * padded G or wider), in C order."""
        for where, arrays in chunk.sparse(rows):
            self.add_sparse(arrays, out[where])

    def add_sparse(self, rows: SparseRows, out: np.ndarray) -> None:
        """Add the scores of sparse rows."""
        grid_scores.add_csr(tuple(rows), self.arrays, self.scratch(1), out)

    def count_sparse(
        self, rows: SparseRows, intercepts: np.ndarray, groups: np.ndarray, weight: np.ndarray, counted: Any
    ) -> bool:
        """Count scores of rows in a histogram, starting from `intercepts` (padded G,); return whether one is NaN.

        `counted` are the bounds, table and scratch arrays of a histogram; see `kernels.ranks`.
        """
        out = aligned(max(min(CLOSE_SCORES // len(intercepts), len(weight)), 1), len(intercepts))
        return grid_scores.count_csr(
            tuple(rows), self.arrays, self.scratch(1), intercepts, groups, weight, *counted, out
        )

    def scratch(self, n: int) -> tuple[np.ndarray, ...]:
        """Return scratch arrays for the kernels: n rows of a table of the head, and a list of units."""
        listed, factors = (aligned(1, grid_scores.ROOM, dtype, PAGE)[0] for dtype in (np.int32, self.layout.dtype))
        listed[:] = 0
        top = aligned(n, self.arrays[0].shape[2] + self.layout.lanes, self.layout.dtype)
        top[:] = 0.0
        return top, listed, factors
