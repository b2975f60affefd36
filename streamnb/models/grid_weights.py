"""The weights of a grid of models, laid out for scoring, and the decisions of all of them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from streamnb.core import memory
from streamnb.core.memory import PAGE, aligned
from streamnb.kernels import decisions, grid_scores
from streamnb.kernels.lanes import LANES, SINGLES
from streamnb.kernels.scores import score_cells
from streamnb.problem.schemes import top_class
from streamnb.rows.boundary import Survey
from streamnb.rows.row_blocks import Chunk, SparseRows

CLOSE_SCORES = 1 << 14  # scores that stay in the cache until they are counted
FEW_COLUMNS = 64  # columns up to which the head is one table, for which rows are read once
Weights = Sequence[sp.csr_array]  # of blocks of features
NEAREST = 2.0**-100  # smallest distance to the highest intercept that single precision must resolve
MARGINS = 1 << 17  # margins computed at once in double precision
FEW = 128  # rows up to which weights are not laid out for scoring in double precision
TRIAL = 1000  # rows screened unconditionally; afterwards at most a quarter may be left open


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

    def n_units(self, blocks: Weights, n_rows: int) -> np.ndarray:
        """Return the number of units outside a head of 0, 1, .. points."""
        n_points = blocks[0].shape[1] // n_rows
        ends, where = np.zeros(self.padded(n_points), np.int64), self.where(n_points, n_rows)
        for block in blocks:
            grid_scores.count_units(*_places(block), where, np.full((2, n_rows), -1), ends)
        return np.append(np.cumsum(ends[::-1])[::-1], 0)

    def shape(self, blocks: Weights, n_rows: int) -> tuple[int, int]:
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


def size_of(blocks: Weights, n_rows: int, layout: Layout = DOUBLE) -> int:
    """Return the bytes of laid out blocks of weights, without the arrays by feature."""
    return _bytes_of_shape(layout, blocks, n_rows, *layout.shape(blocks, n_rows))


def _bytes_of_shape(layout: Layout, blocks: Weights, n_rows: int, depth: int, n_units: int) -> int:
    n_features = sum(block.shape[0] for block in blocks)
    return int(memory.LINE * (n_features * layout.head_lanes(depth, n_rows) + n_units))


@dataclass(frozen=True, eq=False)
class GridWeights:
    """Weights (n_features, G * R) of G models with R rows, for scores in the layout (R, padded G)."""

    arrays: tuple[np.ndarray, ...]
    n_whole: int  # points of a head with one table for `lanes` points each; 0 if it is a single table
    layout: Layout

    @classmethod
    def of(cls, blocks: Weights, n_rows: int) -> "GridWeights":
        """Lay out weights, given in blocks of features with ascending columns, ordered point by point."""
        return cls._of_shape(DOUBLE, blocks, n_rows, *DOUBLE.shape(blocks, n_rows))

    @classmethod
    def in_units(cls, blocks: Weights, n_rows: int) -> "GridWeights":
        """Lay out weights as units only; sums then run feature by feature, whatever other weights there are."""
        return cls._of_shape(DOUBLE, blocks, n_rows, 0, int(DOUBLE.n_units(blocks, n_rows)[0]))

    @classmethod
    def within(cls, most_bytes: int, blocks: Weights, n_rows: int, layout: Layout = DOUBLE) -> "GridWeights | None":
        """Lay out weights, or return None if that takes more than `most_bytes`.

        Arrays by feature do not count.
        """
        shape = layout.shape(blocks, n_rows)
        if _bytes_of_shape(layout, blocks, n_rows, *shape) > most_bytes:
            return None
        return cls._of_shape(layout, blocks, n_rows, *shape)

    @classmethod
    def _of_shape(cls, layout: Layout, blocks: Weights, n_rows: int, depth: int, n_units: int) -> "GridWeights":
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


def in_range(chunk: Chunk, survey: Survey | None) -> bool:
    """Return whether no product of a value and a weight of a `Decider` under- or overflows in single precision.

    `survey` has the range of the values.
    """
    if survey is not None and survey.whole:
        return survey.top <= decisions.LARGEST
    return bool(decisions.within_range(chunk.stored))


@dataclass(frozen=True, eq=False)
class Decider:
    """Decides among K classes by G models with R rows of weights each.

    Attributes
    ----------
    weights : GridWeights
        In single precision.
    blocks : matrices (n_columns, G * R)
        Weights in double precision, point by point, in the order of features.
    start : (K, G)
        Initial scores of classes, relative to the highest of a point.
    of_classes : (K,)
        The row of weights of each class, R if it has none.
    most_bytes : int
        Memory limit of the weights in both layouts.
    tried : [int, int]
        Number of rows screened so far, and of those left undecided.
    """

    weights: GridWeights
    blocks: Weights
    start: np.ndarray
    of_classes: np.ndarray
    most_bytes: int
    tried: list[int] = field(default_factory=lambda: [0, 0])

    @classmethod
    def of(cls, most_bytes: int, blocks: Weights, intercepts: np.ndarray, of_classes: np.ndarray) -> "Decider | None":
        """Lay out blocks of weights, and intercepts (R, G).

        Return None if that takes more than half of `most_bytes`, the other half being for double precision, or if the
        weights exceed the range of single precision.
        """
        start = np.concatenate([intercepts, np.zeros((1, intercepts.shape[1]))])[of_classes]
        start -= start.max(axis=0)
        below = -start[start != 0.0]
        held = ((below >= NEAREST) & (below <= decisions.LARGEST)).all()
        if not held or not all(decisions.within_range(block.data) for block in blocks):
            return None
        weights = GridWeights.within(most_bytes // 2, blocks, len(intercepts), SINGLE)
        return None if weights is None else cls(weights, blocks, start, of_classes, most_bytes // 2)

    def decide(self, chunk: Chunk, rows: np.ndarray, screened: bool) -> np.ndarray:
        """The first class of the highest score of `rows` of a block at each point, (len(rows), G) padded.

        `screened` says whether the block is `in_range`. Otherwise, or if single precision leaves too many rows open, as
        when large terms cancel, all is computed in double precision.
        """
        n_points = self.start.shape[1]
        decided, left_open = np.empty((len(rows), SINGLE.padded(n_points)), self._number), np.ones(len(rows), np.bool_)
        if screened and 4 * self.tried[1] <= max(self.tried[0], TRIAL):
            self._screen(chunk, rows, decided, left_open)
            self.tried[0] += len(rows)
            self.tried[1] += int(np.count_nonzero(left_open))
        open_rows = np.flatnonzero(left_open)
        laid_out = None if len(open_rows) <= FEW else self._doubles
        add_scores = self._add_each if laid_out is None else laid_out.add_scores
        step = max(MARGINS // self.start.size, 1)
        for first in range(0, len(open_rows), step):
            at_once = open_rows[first : first + step]
            decided[at_once, :n_points] = self._in_double(chunk, rows[at_once], add_scores)
        return decided

    @property
    def _number(self) -> np.dtype:
        """The dtype of class numbers: small, so that decisions take little of the cache."""
        return np.min_scalar_type(len(self.start) - 1)

    def _screen(self, chunk: Chunk, rows: np.ndarray, decided: np.ndarray, left_open: np.ndarray) -> None:
        weights, form = self._form
        sums = aligned(2, int(form[-1].max()) + decided.shape[1], np.float32)
        scratch = (*self.weights.scratch(2), np.empty(grid_scores.LISTED, np.int64))
        for where, arrays in chunk.sparse(rows):
            decisions.screen_csr(tuple(arrays), weights, scratch, *form, sums, decided[where], left_open[where])

    @cached_property
    def _form(self) -> tuple[tuple, tuple]:
        """The arrays of weights and scores that the kernel takes."""
        (n_classes, n_points), (head, spots, begins, columns, units) = self.start.shape, self.weights.arrays
        start = np.zeros((n_classes, SINGLE.padded(n_points)), np.float32)
        start[:, :n_points] = self.start
        has_units = (np.diff(begins) > 0).astype(np.uint8)
        in_place = len(spots) == 1 and bool((spots[0] == np.arange(spots.shape[1])).all())
        places = np.outer([SINGLE.lanes, start.shape[1]], self.of_classes)
        return (head, spots, has_units, begins, columns, units), (self.weights.n_whole, in_place, start, places)

    def _in_double(self, chunk: Chunk, rows: np.ndarray, add_scores: Callable) -> np.ndarray:
        (n_classes, n_points), width = self.start.shape, DOUBLE.padded(self.start.shape[1])
        n_rows = self.blocks[0].shape[1] // n_points
        flat = aligned(len(rows), (n_rows + 1) * width)  # the last row is for classes without weights
        scores = flat.reshape(len(rows), n_rows + 1, width)
        flat[:] = 0.0
        scores[:, self.of_classes, :n_points] = self.start
        add_scores(chunk, rows, flat)
        in_order = np.array_equal(self.of_classes, np.arange(n_classes))
        of_classes = scores[:, :n_classes] if in_order else scores[:, self.of_classes]
        return top_class(of_classes)[:, :n_points]

    @cached_property
    def _doubles(self) -> GridWeights | None:
        """The weights laid out in double precision, or None if they exceed the memory limit."""
        return GridWeights.within(self.most_bytes, self.blocks, self.blocks[0].shape[1] // self.start.shape[1])

    def _add_each(self, chunk: Chunk, rows: np.ndarray, out: np.ndarray) -> None:
        """Add the scores of those rows to out, (len(rows), (R + 1) * padded G), weight by weight."""
        n_points, first = self.start.shape[1], 0
        sums = np.zeros((len(rows), self.blocks[0].shape[1]))
        for block in self.blocks:
            for where, arrays in chunk.sparse(rows):
                score_cells(*arrays, block.data, block.indices, block.indptr, first, sums[where])
            first += block.shape[0]
        by_row = sums.reshape(len(rows), n_points, -1).swapaxes(1, 2)
        out.reshape(len(rows), by_row.shape[1] + 1, -1)[:, :-1, :n_points] += by_row
