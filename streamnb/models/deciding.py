"""Decisions of a grid of models in single precision, repeated in double where rounding matters."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from streamnb.core.memory import aligned
from streamnb.kernels import grid_scores, screen
from streamnb.kernels.scores import score_cells
from streamnb.models.grid_weights import DOUBLE, SINGLE, GridWeights
from streamnb.problem.score_logs import top_class
from streamnb.rows.boundary import Survey
from streamnb.rows.chunk import Chunk

NEAREST = 2.0**-100  # smallest distance to the highest intercept that single precision must resolve
MARGINS = 1 << 17  # margins computed at once in double precision
FEW = 128  # rows up to which weights are not laid out for scoring in double precision
TRIAL = 1000  # rows screened unconditionally; afterwards at most a quarter may be left open


def in_range(chunk: Chunk, survey: Survey | None) -> bool:
    """Return whether no product of a value and a weight of a `Decider` under- or overflows in single precision.

    `survey` has the range of the values.
    """
    if survey is not None and survey.whole:
        return survey.top <= screen.LARGEST
    return bool(screen.within_range(chunk.stored))


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
    blocks: Sequence[sp.csr_array]
    start: np.ndarray
    of_classes: np.ndarray
    most_bytes: int
    tried: list[int] = field(default_factory=lambda: [0, 0])

    @classmethod
    def of(
        cls, most_bytes: int, blocks: Sequence[sp.csr_array], intercepts: np.ndarray, of_classes: np.ndarray
    ) -> "Decider | None":
        """Lay out blocks of weights, and intercepts (R, G).

        Return None if that takes more than half of `most_bytes`, the other half being for double precision, or if the
        weights exceed the range of single precision.
        """
        start = np.concatenate([intercepts, np.zeros((1, intercepts.shape[1]))])[of_classes]
        start -= start.max(axis=0)
        below = -start[start != 0.0]
        held = ((below >= NEAREST) & (below <= screen.LARGEST)).all()
        if not held or not all(screen.within_range(block.data) for block in blocks):
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
            screen.screen_csr(tuple(arrays), weights, scratch, *form, sums, decided[where], left_open[where])

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
