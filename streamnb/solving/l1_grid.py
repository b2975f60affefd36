"""Whole grids of L1 taus at once, the tau of each number of features, and the order in which features enter."""

from __future__ import annotations

import numbers
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from streamnb.core import arguments, messages
from streamnb.kernels import roots
from streamnb.kernels.table_sums import index_of
from streamnb.problem.families import as_family
from streamnb.problem.penalties import L1, Penalty, Pull, TopK
from streamnb.problem.schemes import OneVsOne, TwoClasses, as_scheme
from streamnb.problem.sides import Sides
from streamnb.solving.decorrelation import decorrelated
from streamnb.solving.equations import Equations, Mean, cumulant_change
from streamnb.solving.multinomial import coupled_totals, leaving
from streamnb.solving.parts import FeatureBlock, Part
from streamnb.solving.weight_problem import Problem, check_penalty
from streamnb.stats.class_stats import ClassStats, check_stats

_NONE = np.empty(0, np.int32), np.empty(0, np.int8)
PIECE = 1 << 15  # weights computed at once, so that their inputs stay in the cache
Totals = dict[Part, np.ndarray]  # the sums of all pulls of coupled parts, (G, R)
MANY = 16  # fewest taus of a grid to which smaller ones are added
BEFORE = (0.125, 0.25, 0.5)  # times the first tau: the best tau for texts with many classes lies there
NEAR = 0.75  # share of all features: if the first tau leaves as many, there is no gap


@dataclass(frozen=True, eq=False)
class L1Grid:
    """G grid points of an L1 penalty alone, with ascending tau."""

    taus: np.ndarray
    scored: bool
    feature_weight: np.ndarray | None = None  # factor of the weights of each feature

    @classmethod
    def of(cls, penalty: Penalty | None, feature_weight: np.ndarray | None) -> L1Grid | None:
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
            roots.count_live(*tested, of_block, self._ends(tested, of_block, block), np.empty_like(union), rows, union)
        return np.ascontiguousarray(rows.T), union

    def _tested(self, unpulled: Equations) -> tuple[Any, ...]:
        """Return the arrays from which kernels decide whether a weight is zero."""
        return *_plain(unpulled.t_star, unpulled.pooled, unpulled.sd), self.scored, self.taus

    def _ends(self, tested: tuple[Any, ...], totals: np.ndarray, block: FeatureBlock) -> np.ndarray:
        """Count the taus, from the smallest on, that leave (coupled: may leave) a weight, (n_columns, R)."""
        ends = np.empty(tested[0].shape[::-1], np.int32)
        bounds = np.maximum.accumulate(np.abs(totals)[:, ::-1], axis=1)[:, ::-1].copy()
        roots.live_ends(*tested, bounds, 1.0 - 1e-9 if totals.any() else 1.0, index_of(self.taus), ends)
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
                n_lost += roots.put_in_order(*where, tested[0], some[1], links, phi, indptr, places, csr, shifts)
                if shifted:
                    roots.add_shifts(*where, phi if factor is None else phi / factor, shifts, added)
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
            roots.pulled_means(first, stop, t_star, sd, scored, taus, lengths, *sides, positive[i], negative[i])
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
        roots.moved_means(first, stop, *tested, totals, lengths, sides)
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
    return pairwise([0, *cuts.tolist(), len(offsets) - 1])


def _plain(*arrays: np.ndarray) -> Iterator[np.ndarray]:
    return map(np.ascontiguousarray, arrays)


def tau_for(
    stats: ClassStats,
    family: Any = "poisson",
    *,
    n_features: int,
    class_: Any = None,
    scale: str | None = None,
    scheme: str = "joint",
    reference: Any = None,
    overlap: str = "refuse",
    smoothing: Any = 1.0,
    idf: bool = False,
    estimate: str = "posterior_mean",
) -> float:
    """Return the smallest L1 tau that leaves at most `n_features` features; reads no data.

    Parameters
    ----------
    stats, family, scheme, reference, overlap, smoothing, idf, estimate
        As for `solve`.
    n_features : int
        Maximum number of features with a nonzero weight; may be 0.
    class_ : label, optional
        Count only the row of weights of this class or label (joint, ovr and reference).
    scale : {None, "score"}
        As for the L1 penalty.

    Returns
    -------
    float
        One of the breakpoints abs(t*) of (6.2), Shishkova 2016. Multinomial features are coupled: for these it is
        found by bisection over solutions, to the last digits.

    Warns
    -----
    StreamnbWarning
        Features that leave at the same tau prevent exactly that number.

    Examples
    --------
    >>> import streamnb as snb
    >>> X, y = [[2, 0], [3, 1], [0, 4], [1, 5]], ["cat", "cat", "dog", "dog"]
    >>> stats = snb.scan(X, y)
    >>> tau = snb.tau_for(stats, "poisson", n_features=1)
    >>> snb.solve(stats, "poisson", snb.L1(tau)).n_features.tolist()
    [1]
    """
    check_stats(stats)
    if not isinstance(n_features, numbers.Integral) or n_features < 0:
        raise ValueError(f"n_features={n_features!r} should be a whole number of at least 0")
    arguments.one_of("scale", scale, [None, "score"])
    checked = as_scheme(scheme, stats.classes, reference, stats.multilabel)
    problem = Problem(stats, as_family(family), checked, smoothing, None, idf, estimate, overlap)
    check_penalty(L1(0.0, scale), problem.family, checked, len(stats.classes))
    row = None if class_ is None else _row_of_class(problem, class_)
    breaks = np.append(np.sort(problem.breakpoints(scale == "score", row))[::-1], 0.0)
    if problem.family.coupled:
        tau, left = _bisected(problem, scale == "score", row, n_features, 2.0 * breaks[0])
    else:
        tau = float(breaks[min(n_features, len(breaks) - 1)])
        left = int(np.count_nonzero(breaks > tau))
    if left < min(n_features, np.count_nonzero(breaks > 0)):
        messages.warn(f"n_features={n_features}: features leave together, tau={tau:g} keeps {left}")
    return tau


def _row_of_class(problem: Problem, label: Any) -> int:
    scheme, classes = problem.scheme, problem.stats.classes
    names = [] if isinstance(scheme, OneVsOne | TwoClasses) else scheme.row_names(classes)
    if label not in names:
        raise ValueError(
            f"class_={label!r} has no row of weights of its own; it should be one of {messages.listed(classes)}, more "
            "than two, under scheme='joint' or 'ovr', or one that is compared with the reference"
        )
    return names.index(label)


def _bisected(problem: Problem, scored: bool, row: int | None, wanted: int, high: float) -> tuple[float, int]:
    def left(tau: float) -> int:
        grid = L1Grid(np.array([tau]), scored)
        rows, union = grid.counts(problem, grid.totals(problem, n_threads=1))
        return int(union[0] if row is None else rows[0, row])

    low = 0.0
    if left(low) <= wanted:
        return low, left(low)
    while high - low > 1e-15 * high:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if left(middle) <= wanted else (middle, high)
        if middle in (0.0, low + high - middle):
            break
    return high, left(high)


def taus_from_data(problem: Problem, part: L1, n_threads: int) -> np.ndarray:
    """Return L1 taus that leave k features, k geometric from all to 1, and some before the first if it leaves few.

    The features of a coupled family may return along the path, so that k is only approximate. Taus of private sums
    begin at the level of the noise, because weights below it are noise.
    """
    scored, ledger = part.scale == "score", problem.stats.privacy
    breaks = np.sort(problem.breakpoints(scored))[::-1]
    if ledger is not None and not scored:
        level = max(ledger.noise[moment] for moment in problem.moments)
        return np.geomspace(level, max(breaks[0], 2.0 * level), part.n_taus)
    n_alive = max(int(np.count_nonzero(breaks > 0)), 1)
    wanted = _numbers(n_alive, part.n_taus)
    before = part.n_taus >= MANY and wanted[-2:][0] < NEAR * n_alive
    wanted = _numbers(n_alive, part.n_taus - len(BEFORE)) if before else wanted
    taus = np.where(wanted < n_alive, breaks[wanted % len(breaks)], 0.0)
    if problem.family.coupled and taus.any():
        taus = _corrected(problem, scored, wanted, taus, n_threads)
    if before and taus.any():
        taus = np.append(taus, np.array(BEFORE) * taus[taus > 0].min())
    return np.unique(taus)


def _numbers(n_alive: int, n_taus: int) -> np.ndarray:
    """Return distinct numbers from 1 to all, spaced geometrically."""
    every = np.arange(min(n_taus, n_alive))
    wanted = np.geomspace(1, n_alive, len(every)).round().astype(int)
    return np.maximum.accumulate(wanted - every) + every  # rounding would repeat small numbers


def _corrected(problem: Problem, scored: bool, wanted: np.ndarray, taus: np.ndarray, n_threads: int) -> np.ndarray:
    """Return taus that leave about the wanted numbers of features, interpolated between tried taus."""
    every = range(problem.n_rows)
    low, high = taus[taus > 0].min(), taus.max()
    tried = np.geomspace(0.9 * low, high, len(taus) + 1)
    counts, rows = leaving(problem, tried, scored, every, n_threads)
    if counts[0] < wanted[taus > 0].max():
        lower = np.geomspace(0.05 * low, tried[0], 18)[:-1]
        left, last = leaving(problem, lower, scored, every, n_threads)
        tried, counts, rows = np.append(lower, tried), np.append(left, counts), rows if counts[0] else last
    for _ in range(2):  # a second pass, as features vanish faster and faster towards the last one
        n = int(np.count_nonzero(counts))
        if n == 0:
            return taus
        between = np.geomspace(tried[n - 1], tried[min(n, len(tried) - 1)], 18)[1:-1]
        left, rows = leaving(problem, between, scored, rows, n_threads)
        tried, counts = np.insert(tried, n, between), np.insert(counts, n, left)
    rising = np.maximum.accumulate(counts[counts > 0][::-1])
    corrected = np.exp(np.interp(np.log(wanted), np.log(rising), np.log(tried[counts > 0][::-1])))
    return np.where(taus > 0, corrected, 0.0)


@dataclass(frozen=True, eq=False)
class Entering:
    """The first grid point at which a feature is kept, or G, and its weight; (R, n_features) each."""

    points: np.ndarray
    weights: np.ndarray
    n_points: int

    @classmethod
    def of(cls, problem: Problem, penalty: Penalty | None) -> Self | None:
        """Return None for other penalties, and if weights depend on which features are kept."""
        if not isinstance(penalty, TopK) or isinstance(penalty.k, dict) or problem.on_demand:
            return None
        points = problem.ranking.entering(penalty.by, penalty.k)
        if points is None or any(part.family.coupled for part in problem.parts):
            return None
        weights = np.empty(points.shape)
        for block in problem.blocks:
            weights[:, block.columns] = decorrelated(block.equations(), Pull())[0]
        if problem.feature_weight is not None:
            weights *= problem.feature_weight
        return cls(np.where(weights != 0.0, points, len(penalty.k)), weights, len(penalty.k))

    def counts(self) -> tuple[np.ndarray, np.ndarray]:
        """Count the features of each row of weights at every point, (G, R), and those of any row, (G,)."""
        each = [np.searchsorted(np.sort(of_row), np.arange(self.n_points), "right") for of_row in self.points]
        union = np.searchsorted(np.sort(self.points.min(axis=0)), np.arange(self.n_points), "right")
        return np.stack(each, axis=1), union
