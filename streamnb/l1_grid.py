"""A grid of L1 taus, all at once: only the weights that are not zero are looked at, and only these are computed."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from streamnb.coupling import coupled_totals
from streamnb.equations import Equations
from streamnb.kernels import paths
from streamnb.penalties import L1, Penalty, Pull
from streamnb.problem import Block, Part, Problem
from streamnb.schemes import Sides

Totals = dict[Part, np.ndarray]  # the sums of all pulls, (G, R), of coupled parts


@dataclass(frozen=True, eq=False)
class L1Grid:
    """G points of L1 alone, tau ascending, for one problem."""

    taus: np.ndarray
    scored: bool

    @classmethod
    def of(cls, penalty: Penalty | None) -> "L1Grid | None":
        """The grid of a penalty with taus, where L1 is all there is to it."""
        return (
            cls(penalty.tau, penalty.scale == "score") if isinstance(penalty, L1) and penalty.tau is not None else None
        )

    def totals(self, problem: Problem) -> Totals:
        """What couples the features of a class."""
        return coupled_totals(problem, [Pull(tau, self.scored) for tau in self.taus.tolist()])

    def counts(self, problem: Problem, totals: Totals | None = None) -> tuple[np.ndarray, np.ndarray]:
        """How many weights of each row are not zero, (G, R), and how many features have any, (G,)."""
        n_points, n_rows = len(self.taus), problem.n_rows
        rows, union = np.zeros(n_points * n_rows, np.int64), np.zeros(n_points, np.int64)
        totals = self.totals(problem) if totals is None else totals
        for block in problem.blocks:
            indptr, indices = self.live(block.equations(), self._of_block(totals, block))
            rows += np.bincount(indices, minlength=len(rows))
            points = indices // n_rows
            first = np.append(True, np.diff(points) != 0)
            first[indptr[:-1][np.diff(indptr) > 0]] = True
            union += np.bincount(points[first[: len(points)]], minlength=n_points)
        return rows.reshape(n_points, n_rows), union

    def live(self, at_rest: Equations, totals: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """CSR (n_columns, G * R) of the weights that are not zero: its indptr and indices."""
        n_rows, n_columns = at_rest.t_star.shape
        t_star, pooled, sd = (
            np.ascontiguousarray(np.broadcast_to(values, at_rest.t_star.shape).T)
            for values in (at_rest.t_star, at_rest.pooled, at_rest.sd)
        )
        bounds = np.maximum.accumulate(np.abs(totals)[::-1])[::-1].copy()
        ends = np.empty((n_columns, n_rows), np.int32)
        paths.live_ends(t_star, pooled, sd, self.scored, self.taus, bounds, ends)
        indptr, indices = np.zeros(n_columns + 1, np.int64), np.empty(ends.sum(dtype=np.int64), np.int32)
        paths.live_weights(t_star, pooled, sd, self.scored, self.taus, totals, ends, indptr, indices)
        return indptr, indices[: indptr[-1]]

    def weights(self, block: Block, totals: Totals) -> tuple[sp.csr_array, np.ndarray]:
        """Weights of a block, (n_columns, G * R), and what they add to the intercepts, (G, R)."""
        part, sides = block.part, block.part.sides(block.local)
        phi = part.phi(block.local)
        at_rest = Equations.of(sides, part.family, phi, None)
        of_block = self._of_block(totals, block)
        indptr, indices = self.live(at_rest, of_block)
        n_columns, n_rows = len(indptr) - 1, at_rest.t_star.shape[0]
        columns = np.repeat(np.arange(n_columns), np.diff(indptr))
        points, rows = np.divmod(indices, n_rows)
        pick = _picker(rows, columns, at_rest.t_star.shape)
        means = pick(sides.positive), pick(sides.n_positive), pick(sides.negative), pick(sides.n_negative)
        picked = Sides(*means, pick(sides.alive), sides.pooled)
        total = of_block.ravel()[indices] if part.family.coupled else None
        moved = Equations.of(picked, part.family, pick(np.atleast_2d(phi)), total)
        thresholds = self.taus[points] * (moved.sd if self.scored else 1.0)
        _, weights, shifts = moved.scalar().solved(Pull(), thresholds)
        size = len(self.taus) * n_rows
        added = np.bincount(indices, weights=shifts, minlength=size).reshape(-1, n_rows)
        return sp.csr_array((weights, indices, indptr), shape=(n_columns, size)), added

    def _of_block(self, totals: Totals, block: Block) -> np.ndarray:
        return totals[block.part] if block.part in totals else np.zeros((len(self.taus), block.n_rows))


def _picker(rows: np.ndarray, columns: np.ndarray, shape: tuple[int, int]) -> Callable[[np.ndarray], np.ndarray]:
    """Takes some entries of arrays that broadcast to a shape (R, n)."""
    flat = rows * np.int64(shape[1]) + columns

    def pick(values: np.ndarray) -> Any:
        if values.shape == shape:
            return values.reshape(-1)[flat]
        return values[rows if len(values) > 1 else 0, columns if values.shape[1] > 1 else 0]

    return pick
