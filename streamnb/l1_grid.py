"""A grid of L1 taus, all at once: only the weights that are not zero are looked at, and only these are computed."""

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
        return self._live(self._tested(at_rest), totals)

    def _tested(self, at_rest: Equations) -> tuple[Any, ...]:
        """What tells whether a weight is zero, as the kernels take it."""
        shape = at_rest.t_star.shape
        return *(_by_feature(v, shape) for v in (at_rest.t_star, at_rest.pooled, at_rest.sd)), self.scored, self.taus

    def _live(self, tested: tuple[Any, ...], totals: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        bounds = np.maximum.accumulate(np.abs(totals)[::-1])[::-1].copy()
        ends = np.empty(tested[0].shape, np.int32)
        paths.live_ends(*tested, bounds, ends)
        indptr, indices = np.zeros(len(ends) + 1, np.int64), np.empty(ends.sum(dtype=np.int64), np.int32)
        paths.live_weights(*tested, totals, ends, indptr, indices)
        return indptr, indices[: indptr[-1]]

    def weights(self, block: Block, totals: Totals) -> tuple[sp.csr_array, np.ndarray]:
        """Weights of a block, (n_columns, G * R), and what they add to the intercepts, (G, R)."""
        part, sides = block.part, block.part.sides(block.local)
        family, phi, of_block = part.family, np.atleast_2d(part.phi(block.local)), self._of_block(totals, block)
        at_rest = Equations.of(sides, family, phi, None)
        shape, tested = at_rest.t_star.shape, self._tested(at_rest)
        indptr, indices = self._live(tested, of_block)
        plus, minus = (
            np.stack([_by_feature(values, shape) for values in side])
            for side in ((sides.positive, sides.n_positive), (sides.negative, sides.n_negative))
        )
        side, positive, negative = np.empty((3, len(indices)))
        paths.moved_means(indptr, indices, *tested, of_block, plus, minus, sides.pooled, side, positive, negative)
        with np.errstate(all="ignore"):  # what is not finite is noticed below
            weights, shifts = family.link(positive) - family.link(negative), family.cumulant_change(positive, negative)
            if (phi != 1.0).any():
                places = np.repeat(np.arange(shape[1]), np.diff(indptr)), indices % shape[0]
                of_each = _by_feature(phi, shape)[places]
                weights, shifts = weights / of_each, shifts / of_each
            side *= weights
        lost = np.flatnonzero(~((side > 0.0) & (side < np.inf)))
        if lost.size:
            weights[lost], shifts[lost] = self._one_by_one(lost, (indptr, indices), sides, family, phi, of_block)
        size = len(self.taus) * shape[0]
        added = np.bincount(indices, weights=shifts, minlength=size).reshape(-1, shape[0])
        return sp.csr_array((weights, indices, indptr), shape=(shape[1], size)), added

    def _one_by_one(
        self, some: np.ndarray, csr: tuple[np.ndarray, np.ndarray], sides: Sides, family: Any, phi: Any, totals: Any
    ) -> tuple[np.ndarray, np.ndarray]:
        """Some weights of the CSR, and what they add to the intercepts, where rounding leaves nothing or too much."""
        indptr, indices = csr
        columns = np.searchsorted(indptr, some, side="right") - 1
        points, rows = np.divmod(indices[some], totals.shape[1])
        shape = sides.positive.shape

        def pick(values: np.ndarray) -> Any:
            return np.broadcast_to(values, shape)[rows, columns]

        means = pick(sides.positive), pick(sides.n_positive), pick(sides.negative), pick(sides.n_negative)
        total = totals[points, rows] if family.coupled else None
        moved = Equations.of(Sides(*means, pick(sides.alive), sides.pooled), family, pick(phi), total)
        thresholds = self.taus[points] * (moved.sd if self.scored else 1.0)
        return moved.scalar().solved(Pull(), thresholds)[1:]

    def _of_block(self, totals: Totals, block: Block) -> np.ndarray:
        return totals[block.part] if block.part in totals else np.zeros((len(self.taus), block.n_rows))


def _by_feature(values: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    """Values that broadcast to (R, n) as the kernels take them, (n, R)."""
    return np.ascontiguousarray(np.broadcast_to(values, shape).T)
