"""The weights of all models of a grid, laid out to score rows; see `kernels.grid_scores`."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from streamnb.kernels import grid_scores
from streamnb.kernels.grid_scores import LANES
from streamnb.memory import aligned

UNIT_BYTES = 8 * LANES
IN_HEAD, LISTING = 0.35, 1.0  # what LANES weights of the head cost, and looking for units, against adding a unit


def room(n_points: int) -> int:
    """What the scores of so many models take beside each other."""
    return -(-n_points // LANES) * LANES


def unit_ends(weights: sp.csr_array, n_rows: int) -> np.ndarray:
    """Of weights (n_features, G * R), the number of units that end with each point, (G,)."""
    ends = np.zeros(weights.shape[1] // n_rows, np.int64)
    grid_scores.count_units(*_places(weights), n_rows, np.full(n_rows, -1), ends)
    return ends


def _places(weights: sp.csr_array) -> tuple[np.ndarray, np.ndarray]:
    return weights.indices.astype(np.int32), weights.indptr.astype(np.int64)


@dataclass(frozen=True, eq=False)
class GridWeights:
    """Weights (n_features, G * R) of G models of R rows, for scores that lie as (R, room(G))."""

    arrays: tuple[np.ndarray, ...]

    @classmethod
    def of(cls, weights: sp.csr_array, n_rows: int) -> "GridWeights":
        """Lay out weights whose columns are ascending and lie point by point."""
        n_features, width = weights.shape
        n_points = width // n_rows
        n_units = np.append(np.cumsum(unit_ends(weights, n_rows)[::-1])[::-1], 0)  # with a head of so many points
        n_head = np.arange(n_points + 1) * n_rows
        n_lanes = -(-n_head // LANES)
        depth = int(np.argmin(n_features * (IN_HEAD * n_lanes + LISTING * (n_units > 0)) + n_units))
        head, units = aligned(n_features, int(n_lanes[depth]) * LANES), aligned(int(n_units[depth]), LANES)
        head[:], units[:] = 0.0, 0.0
        begins, columns = np.empty(n_features + 1, np.int32), np.empty(n_units[depth], np.int32)
        latest = np.full(n_rows, -1)
        form = n_rows, room(n_points), n_head[depth], latest
        grid_scores.fill_units(weights.data, *_places(weights), *form, head, begins, columns, units)
        point, r = np.divmod(np.arange(n_head[depth]), n_rows)
        arrays = head, r * room(n_points) + point, begins, columns, units
        for array in arrays:
            array.setflags(write=False)
        return cls(arrays)

    def add_scores(self, data: np.ndarray, indices: np.ndarray, indptr: np.ndarray, rows: Any, out: np.ndarray) -> None:
        """Add the scores of some rows of CSR to out (len(rows), R * room(G))."""
        spare = aligned(1, self.arrays[0].shape[1]), np.zeros(grid_scores.ROOM, np.int32), np.empty(grid_scores.ROOM)
        grid_scores.add_csr(data, indices, indptr, rows, *self.arrays, *spare, out)
