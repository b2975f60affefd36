"""Equation (6.2) of Shishkova 2016: for single weights, and where between 0 and t* the pull of a feature lies."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.optimize.elementwise import find_root

from streamnb.kernels.roots import log_roots
from streamnb.problem.families import Together
from streamnb.problem.family import Family
from streamnb.problem.penalties import Pull
from streamnb.problem.sides import Sides
from streamnb.stats.complements import HEAVY

NODES = 0.5 + np.array([-1.0, 0.0, 1.0]) * np.sqrt(0.15)  # of the three-point Gauss rule on [0, 1]
UNFINISHED = -2  # status of SciPy's root finders after the maximum number of steps
SHARES = np.array([5.0, 8.0, 5.0]) / 18.0
Mean = tuple[np.ndarray, ...]  # the mean of one side, and its slack to the highest mean if that is known


def moved_down(mean: Mean, by: np.ndarray) -> Mean:
    """Subtract a number from each mean."""
    return mean[0] - by, *(slack + by for slack in mean[1:])


def cumulant_change(family: Family, a: Mean, b: Mean) -> np.ndarray:
    """Return c at the means b minus c at the means a."""
    return family.cumulant_change(*a, *b) if len(a) == 1 else family.cumulant(*b) - family.cumulant(*a)


def _bisected(
    rise: Callable[..., np.ndarray], a: np.ndarray, b: np.ndarray, w: np.ndarray, todo: np.ndarray
) -> np.ndarray:
    """Replace some weights by the roots of `rise(w, numbers)` between a and b, which have the same sign.

    Bisection halves the number of floats between, not their distance: 64 steps always suffice.
    """
    side = np.sign(a + b)[todo]
    low, high = (np.sort(np.abs([a[todo], b[todo]]), axis=0)).view(np.int64)
    while todo.size and (high - low > 1).any():
        middle = low + (high - low) // 2
        beyond = side * rise(side * middle.view(np.float64), todo) >= 0.0
        low, high = np.where(beyond, low, middle), np.where(beyond, middle, high)
    w[todo] = side * high.view(np.float64)
    return w


@dataclass(frozen=True, slots=True, eq=False)
class ScalarEquations:
    """(6.2) for a list of nonzero weights or for all weights of some features; all arrays have the same shape."""

    family: Family
    phi: np.ndarray
    m_positive: np.ndarray
    r_positive: np.ndarray
    m_negative: np.ndarray
    r_negative: np.ndarray
    t_star: np.ndarray
    pooled: np.ndarray
    close: np.ndarray
    slack: np.ndarray | None = None  # (.., 2) highest mean minus both means, if that is known

    def moved(self, t: np.ndarray) -> tuple[Mean, Mean]:
        """Return both means under the pull t."""
        positive, negative = self._sides()
        return moved_down(positive, t * self.r_positive), moved_down(negative, -t * self.r_negative)

    def _sides(self) -> tuple[Mean, Mean]:
        if self.slack is None:
            return (self.m_positive,), (self.m_negative,)
        return (self.m_positive, self.slack[..., 0]), (self.m_negative, self.slack[..., 1])

    def _pooled(self) -> Mean:
        """Return the mean at t*; its slack is a sum of nonnegative numbers."""
        if self.slack is None:
            return (self.pooled,)
        above, below = (self.slack[..., side] for side in (0, 1))
        falls = self.t_star > 0.0
        slack = np.where(falls, above + self.t_star * self.r_positive, below - self.t_star * self.r_negative)
        return self.pooled, slack

    def weight(self, t: np.ndarray) -> np.ndarray:
        """Return W(t)."""
        return self._weight(*self.moved(t), self.t_star - t)

    def weight_inside(self, t: np.ndarray) -> np.ndarray:
        """Return W(t), infinite where the pull has not yet brought both means back into their domain."""
        (low, high), sides = self.family.mean_range, self.moved(t)
        high = np.inf if self.family.coupled else high  # means of coupled features are shares only at the root of all
        w = self._weight(*sides, self.t_star - t)
        for mean, *slack in sides:
            beyond = (mean < low) | ((slack[0] < 0.0) if slack else mean > high)
            if beyond.any():
                w = np.where(beyond, np.copysign(np.inf, self.t_star), w)
        return w

    def _weight(self, positive: Mean, negative: Mean, left: np.ndarray) -> np.ndarray:
        """Return the weight for both means, where `left` is t* minus the pull."""
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            w = (self.family.link(*positive) - self.family.link(*negative)) / self.phi
        if not self.close.any():
            return w
        short, steep = self._steep(negative, left * (self.r_positive + self.r_negative))
        return np.where(self.close & short, steep.sum(axis=0) / self.phi, w)

    def _steep(self, mean: Mean, gap: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return where g is almost linear over the gap above each mean, and the three terms of its rise there.

        This is the Gauss rule for the integral of g'. For a gap that is small relative to the mean it keeps the digits
        that the difference of two links would lose.
        """
        slopes = [self.family.mean_slope(*moved_down(mean, -at * gap)) for at in NODES]
        with np.errstate(divide="ignore", invalid="ignore"):
            steep = np.stack([share * gap / slope for share, slope in zip(SHARES, slopes, strict=True)])
            linear = np.ptp(slopes, axis=0) < np.abs(slopes[0]) / HEAVY  # of all three, as m (1 - m) is symmetric
        return linear, steep

    def solved(self, pull: Pull, threshold: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the pull at each solution, the weight, and what it adds to the intercept."""
        start = np.sign(self.t_star) * threshold
        if pull.smooth:
            w = self._roots(start, pull) if not pull.slopes else self._bracketed_roots(start, pull)
            t = start + pull.of_weights(w)
        else:
            w, t = self.weight(start), start
        if not np.isfinite(w).all():
            raise ValueError(
                f"family={self.family.name!r}: a feature never or always occurs in a class, its weight is infinite; "
                "pass smoothing > 0 (estimate='mle' has none; 'map' may need a prior with larger parameters), or a "
                "penalty with tau > 0"
            )
        # Near t* rounding may leave zero or the wrong sign; to first order W is proportional to t* - t.
        side = np.sign(self.t_star)
        lost = np.flatnonzero(~(side * w > 0))
        if lost.size:
            flatness = self.family.mean_slope(*(part[lost] for part in self._pooled())) * self.phi[lost]
            slope = (self.r_positive + self.r_negative)[lost] / flatness
            w[lost] = side[lost] * np.maximum(np.abs(self.t_star - t)[lost] * slope, np.finfo(float).tiny)
        return t, w, self.shift(t, w, pull.smooth)

    def shift(self, t: np.ndarray, w: np.ndarray, smooth: bool) -> np.ndarray:
        """Return what each adds to its intercept under the pull t, c(theta_-) - c(theta_+): -w times a mean in between.

        `smooth` is True if the pull depends on the weights, which then have more digits than t* - t.
        """
        if self.family.coupled:  # c is 0: the shares of a class sum to one
            return np.zeros(w.shape)
        left = self._left(t, w) if smooth else self.t_star - t
        positive, negative = self._stopped(t, left)
        change = cumulant_change(self.family, positive, negative) / self.phi
        gap = left * (self.r_positive + self.r_negative)
        meet = HEAVY * np.abs(gap) < self._least()
        if not meet.any():
            return change
        short, steep = self._steep(negative, gap)
        between, rise = negative[0] + NODES.reshape(3, *[1] * gap.ndim) * gap, steep.sum(axis=0)
        with np.errstate(over="ignore", invalid="ignore"):  # g' of tiny means overflows
            mean = np.divide((steep * between).sum(axis=0), rise, out=negative[0].copy(), where=rise != 0.0)
        return np.where(short & meet, -w * mean, change)

    def _least(self) -> np.ndarray:
        """Return the smaller of the pooled mean and its slack."""
        size = np.abs(self.pooled)
        return size if self.slack is None else np.minimum(size, self._pooled()[1])

    def _left(self, t: np.ndarray, w: np.ndarray) -> np.ndarray:
        """Return t* - t, recovered from the weights where the difference has lost digits that a mean needs.

        This happens if the pull takes nearly the whole sum of a light side.
        """
        left = self.t_star - t
        reach = np.abs(self.t_star) * (self.r_positive + self.r_negative)
        lost = np.flatnonzero((np.abs(left) < np.abs(self.t_star) / HEAVY) & (reach > HEAVY * self._least()))
        if not lost.size:
            return left

        def rise(left: np.ndarray, some: np.ndarray) -> np.ndarray:
            here = self.only(some)
            return here._weight(*here._stopped(here.t_star - left, left), left) - w[some]

        most = np.abs(left) + 1e-9 * np.abs(self.t_star)  # far more than the rounding error, within the domain of means
        return _bisected(rise, np.copysign(1e-300, w), np.copysign(most, w), left, lost)

    def _stopped(self, t: np.ndarray, left: np.ndarray) -> tuple[Mean, Mean]:
        """Return both means under the pull t = t* - left, from those at 0 or at t*: by sums, not differences."""
        falls, moved, pooled = self.t_star > 0.0, self.moved(t), self._pooled()
        ends = moved_down(pooled, -left * self.r_positive), moved_down(pooled, left * self.r_negative)
        from_pooled = (falls, ~falls), (~falls, falls)  # for the mean and its slack, on each side
        positive, negative = (
            tuple(np.where(those, end, start) for those, end, start in zip(where, at_end, at_start, strict=False))
            for where, at_end, at_start in zip(from_pooled, ends, moved, strict=True)
        )
        return positive, negative

    def likelihood_lost(self) -> np.ndarray:
        """Return the sum over both sides of N (m g(m) - c(m) - m g(m_0) + c(m_0)) / phi, m_0 being the pooled mean."""
        lost = np.zeros(len(self.t_star))
        link, pooled, (positive, negative) = self.family.link, self._pooled(), self._sides()
        sides = (positive, self.r_positive, self.r_negative), (negative, self.r_negative, self.r_positive)
        for sign, (means, share, other) in zip((1.0, -1.0), sides, strict=True):
            mean = means[0]
            with np.errstate(divide="ignore", invalid="ignore"):
                gain = mean * (link(*means) - link(*pooled)) + cumulant_change(self.family, means, pooled)
            # at the edge of the domain m g(m) - c(m) is 0; a pooled side (share 0) loses nothing
            gain = np.where(np.isfinite(gain), gain, self.family.cumulant(*pooled) - mean * link(*pooled))
            heavy = self.close | (HEAVY * share < other)  # its mean is close to the pooled one
            if heavy.any():
                gap = sign * self.t_star * share
                short, steep = self._steep(pooled, gap)
                lever = mean if self.family.coupled else (1.0 - NODES)[:, None] * gap  # c is 0 there
                gain = np.where(heavy & short, (lever * steep).sum(axis=0), gain)
            lost += np.divide(gain, share, out=np.zeros_like(gain), where=share > 0)
        return lost / self.phi

    def _bracketed_roots(self, start: np.ndarray, pull: Pull) -> np.ndarray:
        """Return the roots of f(w) = w - W(t(w)) for a pull without a second derivative, by Chandrupatla's method.

        It bisects distances; roots much closer to 0 than the end of the bracket are left to `_bisected`.
        """
        first = self.weight_inside(start)
        side = np.sign(self.t_star)

        def rise(w: np.ndarray, start: np.ndarray, i: np.ndarray) -> np.ndarray:
            here = self.only(i.astype(np.intp))
            t = start + pull.of_weights(w)  # clip at t*, where the weight is 0
            t = np.where(np.abs(t) < np.abs(here.t_star), t, here.t_star)
            away = w - np.where(t == here.t_star, 0.0, here.weight_inside(t))
            return np.clip(away, -1e300, 1e300)  # what has no bound would leave no number

        near, every = side * 1e-300, np.arange(len(side), dtype=np.float64)
        far = np.where(np.isfinite(first), first, side * 1e3)
        open_ended = ~np.isfinite(first)
        while (short := open_ended & (side * rise(far, start, every) < 0.0) & (np.abs(far) < 1e300)).any():
            far = np.where(short, 1e3 * far, far)
        found = find_root(
            rise,
            (near, far),
            args=(start, every),
            tolerances={"xatol": 0.0, "xrtol": 2.0**-52, "fatol": 0.0, "frtol": 0.0},
            maxiter=200,
        )
        vanishes = side * rise(near, start, every) >= 0.0  # near t* W may round to 0
        w, left = np.where(vanishes, near, found.x), np.flatnonzero(~vanishes & (found.status == UNFINISHED))
        return _bisected(lambda w, i: rise(w, start[i], every[i]), near, far, w, left)

    def _roots(self, start: np.ndarray, pull: Pull) -> np.ndarray:
        """Return the roots of the increasing f(w) = w - W(start + tau w), by Newton's method in a shrinking bracket.

        It is solved for w, not t, so that weights near zero keep all digits.
        """
        tau = pull.l2
        if self.family.coupled and not self.close.any():
            w = np.zeros(self.t_star.shape)
            log_roots(self.m_positive, self.r_positive, self.m_negative, self.r_negative, start, tau, self.t_star, w)
            return w
        first, far = self.weight_inside(start), (self.t_star - start) / tau
        far = np.where(np.abs(first) < np.abs(far), first, far)
        low, high, w = np.minimum(0.0, far), np.maximum(0.0, far), 0.5 * far
        todo = np.arange(len(w))
        for _ in range(200):
            here, at = self.only(todo), w[todo]
            t = start[todo] + tau * at
            f = at - here.weight_inside(t)
            low[todo] = np.where(f < 0, at, low[todo])
            high[todo] = np.where(f > 0, at, high[todo])
            with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
                step = at - f / (1.0 + tau * here.steepness(t))
            inside = (step > low[todo]) & (step < high[todo])
            step = np.where(inside, step, 0.5 * (low[todo] + high[todo]))
            w[todo] = np.where(f == 0, at, step)
            todo = todo[(f != 0) & (np.abs(step - at) > 2.0**-52 * np.abs(step))]
            if not todo.size:
                break
        return _bisected(lambda w, i: w - self.only(i).weight_inside(start[i] + tau * w), low, high, w, todo)

    def steepness(self, t: np.ndarray) -> np.ndarray:
        """Return -W'(t)."""
        positive, negative = self.moved(t)
        slope = self.family.mean_slope
        return (self.r_positive / slope(*positive) + self.r_negative / slope(*negative)) / self.phi

    @classmethod
    def joined(cls, parts: Sequence["ScalarEquations"]) -> "ScalarEquations":
        """Concatenate the equations of several lists of one family."""
        arrays = {name: np.concatenate([getattr(part, name) for part in parts]) for name in cls.__slots__[1:-1]}
        slacks = [part.slack for part in parts if part.slack is not None]
        return cls(parts[0].family, **arrays, slack=np.concatenate(slacks) if slacks else None)

    def only(self, some: np.ndarray) -> "ScalarEquations":
        return self if len(some) == len(self.t_star) else self.where(some)

    def where(self, some: np.ndarray) -> "ScalarEquations":
        """Return the list of equations at some places, or where a boolean array is True."""
        arrays = {name: getattr(self, name)[some] for name in self.__slots__[1:-1]}
        return ScalarEquations(self.family, **arrays, slack=None if self.slack is None else self.slack[some])


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
            return parameters.reshape(means.shape), family.log_normaliser(parameters).reshape(len(means), -1)

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
