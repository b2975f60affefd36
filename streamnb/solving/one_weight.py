"""(6.2) for weights one by one: where each stops under a pull, by its closed form or as a root."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize.elementwise import find_root

from streamnb.kernels.smooth_roots import log_roots
from streamnb.problem.family import Family
from streamnb.problem.pull import Pull
from streamnb.stats.complements import HEAVY

NODES = 0.5 + np.array([-1.0, 0.0, 1.0]) * np.sqrt(0.15)  # of Gauss's rule with three points from 0 to 1
UNFINISHED = -2  # status of SciPy's root finders after the last step allowed
SHARES = np.array([5.0, 8.0, 5.0]) / 18.0


Mean = tuple[np.ndarray, ...]  # of one side; after it what it falls short of the highest mean by, where that is known


def moved_down(mean: Mean, by: np.ndarray) -> Mean:
    """Means less a number each."""
    return mean[0] - by, *(slack + by for slack in mean[1:])


def cumulant_change(family: Family, a: Mean, b: Mean) -> np.ndarray:
    """c at the means b less c at the means a."""
    return family.cumulant_change(*a, *b) if len(a) == 1 else family.cumulant(*b) - family.cumulant(*a)


def _halved(
    rise: Callable[..., np.ndarray], a: np.ndarray, b: np.ndarray, w: np.ndarray, todo: np.ndarray
) -> np.ndarray:
    """`w` with the roots in place of some: those of `rise(w, numbers)` between a and b, of one sign.

    The number of floats between is halved, not their distance: 64 steps are enough for any.
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
    """(6.2) for some weights, a list of those that are not zero or all those of some features; arrays of one shape."""

    family: Family
    phi: np.ndarray
    m_positive: np.ndarray
    r_positive: np.ndarray
    m_negative: np.ndarray
    r_negative: np.ndarray
    t_star: np.ndarray
    pooled: np.ndarray
    close: np.ndarray
    slack: np.ndarray | None = None  # (.., 2) what both means fall short of the highest by, where that is known

    def moved(self, t: np.ndarray) -> tuple[Mean, Mean]:
        """Both means under the pull t."""
        positive, negative = self._sides()
        return moved_down(positive, t * self.r_positive), moved_down(negative, -t * self.r_negative)

    def _sides(self) -> tuple[Mean, Mean]:
        if self.slack is None:
            return (self.m_positive,), (self.m_negative,)
        return (self.m_positive, self.slack[..., 0]), (self.m_negative, self.slack[..., 1])

    def _pooled(self) -> Mean:
        """The mean at t*, its slack the sum of two numbers that are not below 0."""
        if self.slack is None:
            return (self.pooled,)
        above, below = (self.slack[..., side] for side in (0, 1))
        falls = self.t_star > 0.0
        slack = np.where(falls, above + self.t_star * self.r_positive, below - self.t_star * self.r_negative)
        return self.pooled, slack

    def weight(self, t: np.ndarray) -> np.ndarray:
        """W(t)."""
        return self._weight(*self.moved(t), self.t_star - t)

    def weight_inside(self, t: np.ndarray) -> np.ndarray:
        """W(t), without bound where the pull has not yet brought both means back to their domain."""
        (low, high), sides = self.family.mean_range, self.moved(t)
        w = self._weight(*sides, self.t_star - t)
        for mean, *slack in sides:
            beyond = (mean < low) | ((slack[0] < 0.0) if slack else mean > high)
            if beyond.any():
                w = np.where(beyond, np.copysign(np.inf, self.t_star), w)
        return w

    def _weight(self, positive: Mean, negative: Mean, left: np.ndarray) -> np.ndarray:
        """The weight of both means where the pull falls short of t* by `left`."""
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            w = (self.family.link(*positive) - self.family.link(*negative)) / self.phi
        if not self.close.any():
            return w
        short, steep = self._steep(negative, left * (self.r_positive + self.r_negative))
        return np.where(self.close & short, steep.sum(axis=0) / self.phi, w)

    def _steep(self, mean: Mean, gap: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Where g is all but straight from each mean on for the gap, and three parts of what it rises by there.

        Gauss's rule for the integral of g'. A gap that is short beside the mean keeps its digits there, where the
        difference of two links would lose them.
        """
        slopes = [self.family.mean_slope(*moved_down(mean, -at * gap)) for at in NODES]
        with np.errstate(divide="ignore", invalid="ignore"):
            steep = np.stack([share * gap / slope for share, slope in zip(SHARES, slopes, strict=True)])
            return np.ptp(slopes, axis=0) < np.abs(slopes[0]) / HEAVY, steep  # all three: m (1 - m) is symmetric

    def solved(self, pull: Pull, threshold: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The pull where each stops, its weight, and what it adds to the intercept."""
        start = np.sign(self.t_star) * threshold
        if pull.smooth:
            w = self._roots(start, pull) if not pull.slopes else self._bracketed_roots(start, pull)
            t = start + pull.of_weights(w)
        else:
            w, t = self.weight(start), start
        self._check_finite(w)
        # Next to t* rounding may leave nothing, or the wrong sign; to first order W is proportional to t* - t.
        side = np.sign(self.t_star)
        lost = np.flatnonzero(~(side * w > 0))
        if lost.size:
            flatness = self.family.mean_slope(*(part[lost] for part in self._pooled())) * self.phi[lost]
            slope = (self.r_positive + self.r_negative)[lost] / flatness
            w[lost] = side[lost] * np.maximum(np.abs(self.t_star - t)[lost] * slope, np.finfo(float).tiny)
        return t, w, self.shift(t, w, pull.smooth)

    def shift(self, t: np.ndarray, w: np.ndarray, smooth: bool) -> np.ndarray:
        """What each adds to its intercept, c(theta_-) - c(theta_+) under the pull t: -w times a mean between both.

        `smooth` is True where the pull depends on the weights, which then have more digits than t* - t.
        """
        left = self._left(t, w) if smooth else self.t_star - t
        positive, negative = self._stopped(t, left)
        change = cumulant_change(self.family, positive, negative) / self.phi
        if self.family.coupled:
            return change
        gap = left * (self.r_positive + self.r_negative)
        short, steep = self._steep(negative, gap)
        between, rise = negative[0] + NODES.reshape(3, *[1] * gap.ndim) * gap, steep.sum(axis=0)
        with np.errstate(over="ignore", invalid="ignore"):  # of means so small that g' has no number
            mean = np.divide((steep * between).sum(axis=0), rise, out=negative[0].copy(), where=rise != 0.0)
        return np.where(short & (HEAVY * np.abs(gap) < self._least()), -w * mean, change)

    def _least(self) -> np.ndarray:
        """The pooled mean, or what it falls short of the highest by where that is less."""
        size = np.abs(self.pooled)
        return size if self.slack is None else np.minimum(size, self._pooled()[1])

    def _left(self, t: np.ndarray, w: np.ndarray) -> np.ndarray:
        """What t falls short of t* by, from the weights where the difference has lost digits that a mean needs.

        That is where a light side has nearly all of its sum pulled away.
        """
        left = self.t_star - t
        reach = np.abs(self.t_star) * (self.r_positive + self.r_negative)
        lost = np.flatnonzero((np.abs(left) < np.abs(self.t_star) / HEAVY) & (reach > HEAVY * self._least()))
        if not lost.size:
            return left

        def rise(left: np.ndarray, some: np.ndarray) -> np.ndarray:
            here = self.only(some)
            return here._weight(*here._stopped(here.t_star - left, left), left) - w[some]

        most = np.abs(left) + 1e-9 * np.abs(self.t_star)  # far more than rounding has taken, within the domain of means
        return _halved(rise, np.copysign(1e-300, w), np.copysign(most, w), left, lost)

    def _stopped(self, t: np.ndarray, left: np.ndarray) -> tuple[Mean, Mean]:
        """Both means under the pull t = t* - left, from where they are at 0 or at t*: by sums, not by differences."""
        falls, moved, pooled = self.t_star > 0.0, self.moved(t), self._pooled()
        ends = moved_down(pooled, -left * self.r_positive), moved_down(pooled, left * self.r_negative)
        from_pooled = (falls, ~falls), (~falls, falls)  # of the mean and of its slack, on each side
        positive, negative = (
            tuple(np.where(those, end, start) for those, end, start in zip(where, at_end, at_start, strict=False))
            for where, at_end, at_start in zip(from_pooled, ends, moved, strict=True)
        )
        return positive, negative

    def _check_finite(self, w: np.ndarray) -> None:
        if not np.isfinite(w).all():
            raise ValueError(
                f"family={self.family.name!r}: a feature never or always occurs in a class, its weight is infinite; "
                "pass smoothing > 0 (estimate='mle' has none; 'map' may need a prior with larger parameters), or a "
                "penalty with tau > 0"
            )

    def likelihood_lost(self) -> np.ndarray:
        """sum over the sides of N (m g(m) - c(m) - m g(m_0) + c(m_0)) / phi, m_0 the pooled mean."""
        lost = np.zeros(len(self.t_star))
        link, pooled, (positive, negative) = self.family.link, self._pooled(), self._sides()
        sides = (positive, self.r_positive, self.r_negative), (negative, self.r_negative, self.r_positive)
        for sign, (means, share, other) in zip((1.0, -1.0), sides, strict=True):
            mean = means[0]
            with np.errstate(divide="ignore", invalid="ignore"):
                gain = mean * (link(*means) - link(*pooled)) + cumulant_change(self.family, means, pooled)
            # at the edge of the domain m g(m) - c(m) is 0; a pooled side (share 0) loses nothing
            gain = np.where(np.isfinite(gain), gain, self.family.cumulant(*pooled) - mean * link(*pooled))
            heavy = self.close | (HEAVY * share < other)  # its mean is next to the pooled one
            if heavy.any():
                gap = sign * self.t_star * share
                short, steep = self._steep(pooled, gap)
                lever = mean if self.family.coupled else (1.0 - NODES)[:, None] * gap  # there c is 0
                gain = np.where(heavy & short, (lever * steep).sum(axis=0), gain)
            lost += np.divide(gain, share, out=np.zeros_like(gain), where=share > 0)
        return lost / self.phi

    def _bracketed_roots(self, start: np.ndarray, pull: Pull) -> np.ndarray:
        """Roots of f(w) = w - W(t(w)) for a pull without a second derivative, by Chandrupatla's method.

        It halves distances: a root far nearer to 0 than the end of the bracket is left to `_halved`.
        """
        first = self.weight_inside(start)
        side = np.sign(self.t_star)

        def rise(w: np.ndarray, start: np.ndarray, i: np.ndarray) -> np.ndarray:
            here = self.only(i.astype(np.intp))
            t = start + pull.of_weights(w)  # beyond t* the weight would have changed sign; the means end there
            t = np.where(np.abs(t) < np.abs(here.t_star), t, here.t_star)
            return w - np.where(t == here.t_star, 0.0, here.weight_inside(t))

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
        nothing = side * rise(near, start, every) >= 0.0  # next to t* rounding may leave nothing of W
        w, left = np.where(nothing, near, found.x), np.flatnonzero(~nothing & (found.status == UNFINISHED))
        return _halved(lambda w, i: rise(w, start[i], every[i]), near, far, w, left)

    def _roots(self, start: np.ndarray, pull: Pull) -> np.ndarray:
        """Roots of f(w) = w - W(start + tau w), which rises, by Newton's method inside a shrinking bracket.

        Solved for w, not t: a weight near zero keeps all its digits.
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
        return _halved(lambda w, i: w - self.only(i).weight_inside(start[i] + tau * w), low, high, w, todo)

    def steepness(self, t: np.ndarray) -> np.ndarray:
        """-W'(t)."""
        positive, negative = self.moved(t)
        slope = self.family.mean_slope
        return (self.r_positive / slope(*positive) + self.r_negative / slope(*negative)) / self.phi

    @classmethod
    def joined(cls, parts: Sequence["ScalarEquations"]) -> "ScalarEquations":
        """The equations of several lists of one family, one after the other."""
        arrays = {name: np.concatenate([getattr(part, name) for part in parts]) for name in cls.__slots__[1:-1]}
        slacks = [part.slack for part in parts if part.slack is not None]
        return cls(parts[0].family, **arrays, slack=np.concatenate(slacks) if slacks else None)

    def only(self, some: np.ndarray) -> "ScalarEquations":
        return self if len(some) == len(self.t_star) else self.where(some)

    def where(self, some: np.ndarray) -> "ScalarEquations":
        """A list of those at some places, or where an array of the shape of all is True."""
        arrays = {name: getattr(self, name)[some] for name in self.__slots__[1:-1]}
        return ScalarEquations(self.family, **arrays, slack=None if self.slack is None else self.slack[some])
