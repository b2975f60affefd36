"""Equation (6.2) of Shishkova 2016 for one scalar per feature: where between 0 and t* the pull stops.

With the pull t of a feature, W(t) = (g(m_+ - t/N_+) - g(m_- + t/N_-)) / phi falls from the unregularised
weight at t = 0 to zero at t*, where both means equal the pooled mean. A penalty only determines where to stop.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from streamnb.problem.family import Family
from streamnb.problem.penalties import Pull
from streamnb.problem.sides import Sides
from streamnb.problem.together import Together
from streamnb.solving.one_weight import Mean, ScalarEquations, cumulant_change, moved_down
from streamnb.stats.complements import HEAVY


@dataclass(frozen=True, eq=False)
class Equations:
    """(6.2) for R rows of weights and some features: means m, effects r = 1/N of a unit of pull, and t*."""

    family: Family
    phi: np.ndarray  # (n,)
    positive: np.ndarray  # sums S (R, n) and counts N (R, 1), less the sum of all pulls, of both sides
    n_positive: np.ndarray
    negative: np.ndarray
    n_negative: np.ndarray
    held: bool  # True where the negative side is not pulled
    t_star: np.ndarray  # (R, n)
    pooled: np.ndarray  # the mean at t*
    variance: np.ndarray  # v of the score statistic t*, (R, n)
    alive: np.ndarray  # (R, 1) False if a side has no weight at all
    close: np.ndarray  # (R, 1) True if a class outweighs all others, so that its means are close to the pooled ones
    kept: np.ndarray | None = None  # (R, n) False if TopK drops the feature
    slack: tuple[np.ndarray, np.ndarray] | None = None  # (R, n) highest mean minus the means of both sides
    start: np.ndarray | None = None  # (R, n) the pull that is already part of the sums
    _merits: dict[str, np.ndarray] = field(default_factory=dict, init=False)

    @classmethod
    def of(cls, sides: Sides, family: Family, phi: np.ndarray, total: np.ndarray | None) -> "Equations":
        n_pos, n_neg = _safe(sides.n_positive), _safe(sides.n_negative)
        close, n_least = np.zeros((1,) * n_pos.ndim, bool), n_pos
        if sides.pooled:
            spread = n_pos * np.maximum(n_neg - n_pos, 0.0) / n_neg
            if sides.apart is not None:
                close, _, n_others = sides.apart
                spread = np.where(close, n_pos * n_others / n_neg, spread)
                n_least = np.where(close, HEAVY * n_others, n_pos)
        else:
            spread = n_pos * n_neg / (n_pos + n_neg)
            n_least = np.minimum(n_pos, HEAVY * n_neg)
        pooled, t_star = _pooled(sides, n_pos, n_neg)
        means: Mean = (pooled,)
        least, slack = np.abs(pooled), None
        if sides.room is not None:
            slack_pooled, from_above = _pooled(sides.room, n_pos, n_neg)
            t_star = np.where(HEAVY * slack_pooled < pooled, -from_above, t_star)
            means, least = (pooled, slack_pooled), np.minimum(least, slack_pooled)
            slack = sides.room.positive / n_pos, sides.room.negative / n_neg
        rounding = 8.0 * np.finfo(float).eps * least  # differences of equal means by rounding, for a unit of counts
        t_star[~(sides.alive & (np.abs(t_star) > n_least * rounding))] = 0.0
        variance = phi * family.variance(*means) * spread
        if not sides.alive.all():
            variance = np.where(sides.alive, variance, 0.0)
        if total is not None:
            n_pos, n_neg = n_pos - total, n_neg if sides.pooled else n_neg + total
            t_star = t_star + total * pooled
            t_star[~(sides.alive & (np.abs(t_star) > (n_least + np.abs(total)) * rounding))] = 0.0
        both = sides.positive, n_pos, sides.negative, n_neg, sides.pooled
        return cls(family, phi, *both, t_star, pooled, variance, sides.alive, close, slack=slack)

    def pulled(self, start: np.ndarray) -> "Equations":
        """Return the equations after a pull of each feature, (R, n); means may leave their domain."""
        slack = self.slack and (self.slack[0] + start * self.r_positive, self.slack[1] - start * self.r_negative)
        negative = self.negative if self.held else self.negative + start
        t_star = np.where(self.alive, self.t_star - start, 0.0)
        return replace(self, positive=self.positive - start, negative=negative, t_star=t_star, slack=slack, start=start)

    @property
    def m_positive(self) -> np.ndarray:
        """The means S / N of the positive side, (R, n)."""
        return self.positive / self.n_positive

    @property
    def r_positive(self) -> np.ndarray:
        """The decrease of these means for a unit of pull, 1 / N, (R, 1)."""
        return 1.0 / self.n_positive

    @property
    def m_negative(self) -> np.ndarray:
        """The means of the negative side, (R, n), or one row shared by all."""
        return self.negative / self.n_negative

    @property
    def r_negative(self) -> np.ndarray:
        """The increase of these means for a unit of pull, (R, 1); 0 if this side is not pulled."""
        return np.zeros_like(self.n_positive) if self.held else 1.0 / self.n_negative

    @cached_property
    def sd(self) -> np.ndarray:
        """sqrt(v), (R, n)."""
        return np.sqrt(self.variance)

    @property
    def n_weights(self) -> int:
        """R times n."""
        return self.t_star.size

    def breakpoints(self, scored: bool) -> np.ndarray:
        """Return abs(t*), or abs(z) if scored, (R, n); 0 where v is 0."""
        size = np.abs(self.t_star)
        return np.divide(size, self.sd, out=np.zeros_like(size), where=self.sd > 0) if scored else size

    def active(self, pull: Pull) -> np.ndarray:
        """Return where weights are not zero, (R, n); under L1 tested against the breakpoints, to the last digit."""
        active = self.breakpoints(pull.scored) > pull.l1
        if pull.slopes:
            active &= np.abs(self.t_star) > pull.thresholds(self.sd) + pull.at_zero(self.t_star)
        return active if self.kept is None else active & self.kept

    def merit(self, by: str) -> np.ndarray:
        """Return what TopK ranks features by, (R, n): weight, score, or the likelihood lost without the feature.

        It is cached, as it serves every number of features.
        """
        if by not in self._merits:
            if by == "score":
                merit = self.breakpoints(True)
            else:
                active = self.t_star != 0.0
                at, merit = self._at(active), np.zeros(active.shape)
                merit[active] = np.abs(at.weight(np.zeros(len(at.t_star)))) if by == "weight" else at.likelihood_lost()
            self._merits[by] = merit
        return self._merits[by]

    def solved(self, pull: Pull) -> tuple[np.ndarray, np.ndarray]:
        """Return weights and what each adds to its intercept, both (R, n)."""
        active = self.active(pull)
        threshold = pull.thresholds(self.sd) if pull.l1 > 0.0 else np.broadcast_to(0.0, active.shape)
        if pull.smooth:
            todo, weights, shifts = active, np.zeros(active.shape), np.zeros(active.shape)
        else:
            todo, weights, shifts = self._closed(active, threshold if pull.l1 > 0.0 else None)
        if todo.any():
            _, weights[todo], shifts[todo] = self._at(todo).solved(pull, threshold[todo])
        return weights, shifts

    def _closed(self, active: np.ndarray, threshold: np.ndarray | None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return weights and shifts by the closed form for all features, and where it fails.

        `threshold` is None if means are not pulled.
        """
        more: list[Mean] = [()] * 2 if self.slack is None else [(side,) for side in self.slack]
        positive, negative = (self.m_positive, *more[0]), (self.m_negative, *more[1])
        if threshold is not None:
            t = np.sign(self.t_star) * threshold
            positive = moved_down(positive, t * self.r_positive)
            negative = moved_down(negative, -t * self.r_negative) if self.r_negative.any() else negative
        with np.errstate(all="ignore"):  # means of zero weights may be outside their domain
            weights = (self.family.link(*positive) - self.family.link(*negative)) / self.phi
            shifts = cumulant_change(self.family, positive, negative) / self.phi
            right = (self.t_star > 0.0) & (weights > 0.0) | (self.t_star < 0.0) & (weights < 0.0)
            good = active & right & np.isfinite(weights) & ~self.close
        bad = ~good
        if bad.any():  # usually none is, and indexing takes a third as long as a logarithm
            weights[bad] = 0.0
        return active & bad, weights, np.where(good, shifts, 0.0)  # shifts may have fewer numbers, to be broadcast

    def pulls(self, pull: Pull) -> np.ndarray:
        """Return the pull of each feature at its solution, (R, n)."""
        active = self.active(pull)
        t = self.t_star.copy()  # the pull of a zero weight is t*
        t[active] = self._at(active).solved(pull, pull.thresholds(self.sd)[active])[0]
        return t

    def scalar(self) -> "ScalarEquations":
        """Return the equations as a list of weights."""
        return self._picked(lambda values: values)

    def by_feature(self, columns: Any) -> "ScalarEquations":
        """Return the equations of some features, each array (n_columns, R)."""
        return self._picked(lambda values: np.ascontiguousarray(values[:, columns].T))

    def _at(self, active: np.ndarray) -> "ScalarEquations":
        return self._picked(lambda values: values[active])

    def _picked(self, pick: Callable[[np.ndarray], np.ndarray]) -> "ScalarEquations":
        def picked(values: np.ndarray) -> np.ndarray:
            return pick(np.broadcast_to(values, self.t_star.shape))

        arrays = {name: picked(getattr(self, name)) for name in ScalarEquations.__slots__[1:-1]}
        slack = None if self.slack is None else np.stack([picked(side) for side in self.slack], axis=-1)
        return ScalarEquations(self.family, **arrays, slack=slack)


@dataclass(frozen=True, slots=True, eq=False)
class Fitted:
    """Takes the place of (6.2) for densities whose parameters are fitted together: their differences.

    Arrays (R, n): the weights of one function of x and, for beta, of a second; and what each feature adds to the
    intercepts.
    """

    first: np.ndarray
    second: np.ndarray | None
    shifts: np.ndarray

    @classmethod
    def of(cls, sides: Sequence[Sides], family: Together, number: Callable[[int], int]) -> "Fitted":
        """Fit all features; there are `sides` for each function of x, and `number` maps a place to a feature."""
        alive = sides[0].alive[:, 0]
        shape = len(alive), sides[0].positive.shape[1]
        positive = np.stack([s.positive / _safe(s.n_positive) for s in sides], axis=-1)
        negative = np.stack([s.negative / _safe(s.n_negative) for s in sides], axis=-1)

        def fitted(means: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            # a group of parameters is a row of weights or, with two functions of x, a feature
            means = means if len(means) == 1 else means[alive]
            groups = means.reshape(-1, len(sides) if len(sides) > 1 else shape[1])
            parameters = family.parameters(groups, lambda group: number(group % shape[1]))
            normaliser = family.log_normaliser(parameters).reshape(len(means), -1)
            return parameters.reshape(means.shape), normaliser

        weights, shifts = np.zeros((*shape, len(sides))), np.zeros(shape)
        if alive.any():
            (plus, c_plus), (minus, c_minus) = fitted(positive), fitted(negative)
            weights[alive] = plus - minus
            shifts[alive] = (c_minus - c_plus) / (shape[1] if len(sides) == 1 else 1)
        return cls(weights[..., 0], weights[..., 1] if len(sides) > 1 else None, shifts)

    @property
    def n_weights(self) -> int:
        """R times n."""
        return self.first.size

    def take(self, columns: Any, rows: slice) -> "Fitted":
        """Return the weights of some features and rows."""
        second = None if self.second is None else self.second[rows, columns]
        return Fitted(self.first[rows, columns], second, self.shifts[rows, columns])

    def solved(self, pull: Pull) -> tuple[np.ndarray, np.ndarray]:
        """Return weights and what each adds to its intercept, both (R, n); the pull is ignored."""
        return self.first, self.shifts

    def active(self, pull: Pull) -> np.ndarray:
        """Return where weights are not zero, (R, n)."""
        return (self.first != 0.0) | (False if self.second is None else self.second != 0.0)

    def breakpoints(self, scored: bool) -> np.ndarray:
        raise ValueError("families 'dirichlet' and 'beta' have no breakpoints, as they take no penalty")


def _pooled(sides: Sides, n_pos: np.ndarray, n_neg: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the pooled mean and t*."""
    if not sides.pooled:
        pooled = (sides.positive + sides.negative) / (n_pos + n_neg)
        return pooled, _score(sides.positive, n_pos, sides.negative, n_neg)
    pooled = sides.negative / n_neg
    t_star = sides.positive - n_pos * pooled
    if sides.apart is not None:
        close, others, n_others = sides.apart
        t_star = np.where(close, _score(sides.positive, n_pos, others, n_others), t_star)
    return pooled, t_star


def _score(positive: np.ndarray, n_positive: np.ndarray, negative: np.ndarray, n_negative: np.ndarray) -> np.ndarray:
    """Return (S_+ N_- - S_- N_+) / (N_+ + N_-), scaled by a power of two so that no product overflows."""
    unit = np.ldexp(1.0, -np.frexp(np.maximum(n_positive, n_negative))[1])
    n_positive, n_negative = n_positive * unit, n_negative * unit
    return (positive * n_negative - negative * n_positive) / (n_positive + n_negative)


def _safe(counts: np.ndarray) -> np.ndarray:
    """Return counts to divide by, 1 for empty sides."""
    return np.where(counts > 0, counts, 1.0)
