"""A whole grid of L1 taus at once, computing only nonzero weights."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

from streamnb.kernels import paths
from streamnb.kernels.steps import scratch
from streamnb.problem.penalties import L1, Penalty, Pull
from streamnb.problem.sides import Sides
from streamnb.solving.equations import Equations
from streamnb.solving.multinomial import coupled_totals
from streamnb.solving.one_weight import Mean, cumulant_change
from streamnb.solving.parts import FeatureBlock, Part
from streamnb.solving.weight_problem import Problem

_NONE = np.empty(0, np.int32), np.empty(0, np.int8)
PIECE = 1 << 15  # weights computed at once, so that their inputs stay in the cache
Totals = dict[Part, np.ndarray]  # the sums of all pulls of coupled parts, (G, R)


@dataclass(frozen=True, eq=False)
class L1Grid:
    """G grid points of an L1 penalty alone, with ascending tau."""

    taus: np.ndarray
    scored: bool
    feature_weight: np.ndarray | None = None  # factor of the weights of each feature

    @classmethod
    def of(cls, penalty: Penalty | None, feature_weight: np.ndarray | None) -> "L1Grid | None":
        """Return the grid of a penalty that is L1 alone, else None."""
        if not isinstance(penalty, L1) or penalty.tau is None:
            return None
        return cls(penalty.tau, penalty.scale == "score", feature_weight)

    def totals(self, problem: Problem, n_threads: int) -> Totals:
        """Return the sums of all pulls, which couple the features of a class."""
        return coupled_totals(problem, [Pull(tau, self.scored) for tau in self.taus.tolist()], None, n_threads)

    def counts(self, problem: Problem, totals: Totals) -> tuple[np.ndarray, np.ndarray]:
        """Count the nonzero weights of each row, (G, R), and the features that have any, (G,)."""
        rows, union = np.zeros((problem.n_rows, len(self.taus)), np.int64), np.zeros(len(self.taus), np.int64)
        for block in problem.blocks:
            tested, of_block = self._tested(block.equations()), self._of_block(totals, block)
            paths.count_live(*tested, of_block, self._ends(tested, of_block, block), np.empty_like(union), rows, union)
        return np.ascontiguousarray(rows.T), union

    def _tested(self, unpulled: Equations) -> tuple[Any, ...]:
        """Return the arrays from which kernels decide whether a weight is zero."""
        return *_plain(unpulled.t_star, unpulled.pooled, unpulled.sd), self.scored, self.taus

    def _ends(self, tested: tuple[Any, ...], totals: np.ndarray, block: FeatureBlock) -> np.ndarray:
        """Count the taus, from the smallest on, that leave (coupled: may leave) a weight, (n_columns, R)."""
        ends = np.empty(tested[0].shape[::-1], np.int32)
        bounds = np.maximum.accumulate(np.abs(totals)[:, ::-1], axis=1)[:, ::-1].copy()
        paths.live_ends(*tested, bounds, 1.0 - 1e-9 if totals.any() else 1.0, scratch(), ends)
        if self.feature_weight is not None:
            ends[self.feature_weight[block.columns] == 0.0] = 0
        return ends

    def weights(self, block: FeatureBlock, totals: Totals, shifted: bool = True) -> tuple[sp.csr_array, np.ndarray]:
        """Return weights of a block, (n_columns, G * R), and what they add to intercepts, (G, R), 0 unless `shifted`.

        They are computed in pieces that stay in the cache.
        """
        of_block, sides = self._of_block(totals, block), block.part.sides(block.local)
        unpulled = Equations.of(sides, block.part.family, block.part.phi(block.local), None)
        family, phi = unpulled.family, np.ascontiguousarray(np.atleast_2d(unpulled.phi))
        tested, known = self._tested(unpulled), _both_sides(unpulled, sides)
        shifted = shifted and not family.coupled  # the cumulant of a coupled family is 0
        lengths = self._ends(tested, of_block, block)
        offsets = np.append(0, lengths.sum(axis=1, dtype=np.int64).cumsum())
        indptr, csr = np.zeros(len(offsets), np.int64), (np.empty(offsets[-1], np.int32), np.empty(offsets[-1]))
        places, added = np.zeros(len(self.taus), np.int64), np.zeros(of_block.shape)
        n_lost, factor = 0, None if self.feature_weight is None else self.feature_weight[block.columns]
        with np.errstate(all="ignore"):  # non-finite weights are handled below
            of_pooled = family.link(*(negative[0][0] for _, negative, _ in known)) if sides.pooled else None
            for piece in _pieces(offsets):
                # any weights of a coupled row may be nonzero, and t* may change its sign
                if family.coupled:
                    some, positive, negative = self._moved(piece, tested, of_block, lengths, *known)
                else:
                    some, positive, negative = _NONE, *self._pulled(piece, tested, lengths, known)
                shifts = cumulant_change(family, positive, negative) if shifted else np.empty(0)
                of_positive = family.link(*positive)
                of_negative = family.link(*negative) if of_pooled is None else of_pooled
                links = of_positive, of_negative, sides.pooled, unpulled.close
                where = *piece, lengths, family.coupled, some[0]
                n_lost += paths.put_in_order(*where, tested[0], some[1], links, phi, indptr, places, csr, shifts)
                if shifted:
                    paths.add_shifts(*where, phi if factor is None else phi / factor, shifts, added)
        if n_lost:
            self._find_lost(indptr, *csr, unpulled, sides, of_block, added, factor)
        n = indptr[-1]
        if factor is not None:
            csr[1][:n] *= np.repeat(factor, np.diff(indptr))
        found = sp.csr_array((csr[1][:n], csr[0][:n], indptr), shape=(len(lengths), added.size))
        found.has_canonical_format = True
        return found, added.T

    def _pulled(
        self, piece: tuple[int, int], tested: tuple[Any, ...], lengths: np.ndarray, known: list[tuple[Any, ...]]
    ) -> tuple[Mean, Mean]:
        """Return the means of both sides for each weight of some features, with their slack if it is known."""
        (first, stop), (t_star, _, sd, scored, taus) = piece, tested
        positive, negative = np.empty((2, len(known), lengths[first:stop].sum(dtype=np.int64)))
        for i, sides in enumerate(known):
            paths.pulled_means(first, stop, t_star, sd, scored, taus, lengths, *sides, positive[i], negative[i])
        return tuple(positive), tuple(negative)

    def _moved(
        self,
        piece: tuple[int, int],
        tested: tuple[Any, ...],
        totals: np.ndarray,
        lengths: np.ndarray,
        known: tuple[Any, ...],
    ) -> tuple[tuple[np.ndarray, np.ndarray], Mean, Mean]:
        """Return the same for coupled features, after the tau of each weight and the sign of t*."""
        first, stop = piece
        most = lengths[first:stop].sum(dtype=np.int64) + 1
        some, (positive, negative) = (np.empty(most, np.int32), np.empty(most, np.int8)), np.empty((2, most))
        plus, minus, fixed = known
        sides = plus, minus, fixed, *some, positive, negative
        paths.moved_means(first, stop, *tested, totals, lengths, sides)
        n = lengths[first:stop].sum(dtype=np.int64)
        return some, (positive[:n],), (negative[:n],)

    def _find_lost(
        self,
        indptr: np.ndarray,
        indices: np.ndarray,
        weights: np.ndarray,
        unpulled: Equations,
        sides: Sides,
        totals: np.ndarray,
        added: np.ndarray,
        factor: np.ndarray | None,
    ) -> None:
        """Solve weights one by one where rounding left none, and update what they add to the intercepts."""
        lost = np.flatnonzero(np.isnan(weights[: indptr[-1]]))
        columns = np.searchsorted(indptr, lost, side="right") - 1
        points, rows = np.divmod(indices[lost], len(totals))

        def pick(values: np.ndarray) -> Any:
            return np.broadcast_to(values, unpulled.t_star.shape)[rows, columns]

        total = totals[rows, points] if unpulled.family.coupled else None
        moved = Equations.of(sides.picked(pick), unpulled.family, pick(unpulled.phi), total)
        thresholds = self.taus[points] * (moved.sd if self.scored else 1.0)
        _, weights[lost], shifts = moved.scalar().solved(Pull(), thresholds)
        np.add.at(added, (rows, points), shifts if factor is None else shifts * factor[columns])

    def _of_block(self, totals: Totals, block: FeatureBlock) -> np.ndarray:
        """Return totals as the kernels take them, (R, G)."""
        n_points = len(self.taus)
        return (
            np.ascontiguousarray(totals[block.part].T) if block.part in totals else np.zeros((block.n_rows, n_points))
        )


def _both_sides(unpulled: Equations, sides: Sides) -> list[tuple[Any, ...]]:
    """Return both sides as the kernels take them: sums and counts if totals move these, else means and 1 / counts.

    The slack of the means follows if it is known; it grows as they fall.
    """
    if unpulled.family.coupled:
        plus, minus = (sides.positive, sides.n_positive), (sides.negative, sides.n_negative)
    else:
        plus, minus = (unpulled.m_positive, unpulled.r_positive), (unpulled.m_negative, unpulled.r_negative)
    if sides.pooled:  # the pooled side is not pulled
        minus = unpulled.m_negative, minus[1]
    known = [(plus, minus)]
    if unpulled.slack is not None:
        known += [((unpulled.slack[0], -plus[1]), (unpulled.slack[1], -minus[1]))]
    return [(tuple(_plain(*plus)), tuple(_plain(*minus)), sides.pooled) for plus, minus in known]


def _pieces(offsets: np.ndarray) -> Iterator[tuple[int, int]]:
    """Cut features into pieces with about PIECE weights each; `offsets[j]` weights precede feature j."""
    cuts = np.flatnonzero(np.diff(offsets[:-1] // PIECE)) + 1
    edges = [0, *cuts.tolist(), len(offsets) - 1]
    return pairwise(edges)


def _plain(*arrays: np.ndarray) -> Iterator[np.ndarray]:
    return map(np.ascontiguousarray, arrays)
