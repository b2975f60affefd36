"""Decorrelation of classes: coupled weights of a feature, followed from tau = 0 (Shishkova 2016, 6.2).

With S the sum of a feature's weights, class u is pulled by t_u = tau_1 sign(w_u) + p(w_u) + tau (S - w_u), p(w) being
tau_2 w and what `Separable` adds. In its weights the penalised likelihood has the Hessian -(diag(a + p' - tau) + tau
11^T), a_u = -1/W_u'(t_u). The objective is not concave everywhere and mostly unbounded; the solution
is the branch of maxima that starts at tau = 0.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from streamnb.problem.families import Gaussian
from streamnb.problem.penalties import Pull
from streamnb.solving.equations import Equations, ScalarEquations

EXACT = 1e-10  # last Newton step, relative to the largest weight of the feature; the remaining error is its square
NOISE = 1e-6  # smaller steps that no longer shrink are rounding error
SINGULAR = 1e-8  # pivots of a Hessian below this, relative to tau, count as zero
NEAR = 0.01  # a move of the weights by less than this, relative to the largest, cannot lead to another branch
SHORTEST = 1e-9  # smallest step in tau, relative to tau; a branch that needs a smaller one has ended
MOST_ITERATIONS = 10  # of Newton's method in one step
MOST_STEPS = 300


# weights (R, n), what each adds to the intercepts (R, n), and the features whose branch ended (n,)
Solution = tuple[np.ndarray, np.ndarray, np.ndarray]


def decorrelated(equations: Equations, pull: Pull) -> Solution:
    """Return weights, what they add to the intercepts, and the features whose branch ended."""
    return decorrelated_each([(equations, pull)])[0]


def decorrelated_each(points: Iterable[tuple[Equations, Pull]]) -> list[Solution]:
    """Solve `decorrelated` for several grid points and features of one family, following all branches at once."""
    solutions: list[Solution] = []
    alike: dict[Any, list[Any]] = {}  # by the slopes of `Separable`: features that are followed together
    full_solutions: dict[int, Any] = {}
    points = list(points)
    for equations, pull in points:
        weights, shifts = _some_of(equations, pull, full_solutions) if len(points) > 1 else equations.solved(pull)
        solution = weights, shifts, np.zeros(weights.shape[1], bool)
        solutions.append(solution)
        if pull.decorrelation == 0.0:
            continue
        tau = _strengths(equations, pull)
        columns = np.flatnonzero((tau > 0) & weights.any(axis=0))
        if columns.size:
            start = np.ascontiguousarray(weights[:, columns].T)
            followed = _Classes.of(equations, pull, columns), tau[columns], start
            alike.setdefault(pull.slopes, []).append(((solution, columns), followed))
    for group in alike.values():
        coupled, together = zip(*group, strict=True)
        classes, taus, starts = zip(*together, strict=True)
        with np.errstate(all="ignore"):  # steps outside the domain of a mean are detected and undone
            ends = _Classes.joined(classes).solved(np.concatenate(taus), np.concatenate(starts))
        stops = np.cumsum([len(columns) for _, columns in coupled])[:-1]
        for (solution, columns), *end in zip(coupled, *(np.split(part, stops) for part in ends), strict=True):
            for part, found in zip(solution, end, strict=True):
                part[..., columns] = found.T
    return solutions


def _some_of(equations: Equations, pull: Pull, full_solutions: dict[int, Any]) -> tuple[np.ndarray, np.ndarray]:
    """Return `Equations.solved`; if only TopK acts on single weights, all features are solved once and shared."""
    if equations.kept is None or pull.l1 > 0.0 or pull.smooth or pull.general:
        return equations.solved(pull)
    like = id(equations.t_star)
    if like not in full_solutions:
        full_solutions[like] = equations, replace(equations, kept=None).solved(pull)
    weights, shifts = (np.where(equations.kept, part, 0.0) for part in full_solutions[like][1])
    return weights, shifts


def _strengths(equations: Equations, pull: Pull) -> np.ndarray:
    """Return tau_j of each feature, (n,)."""
    if not pull.curved:
        return np.full(equations.t_star.shape[1], pull.decorrelation)
    at = equations.by_feature(slice(None))
    with np.errstate(all="ignore"):
        a = 1.0 / at.steepness(np.zeros_like(at.t_star) if equations.start is None else -equations.start.T)
    usable = equations.alive.T & np.isfinite(a) & (a > 0.0)
    lowest = np.where(usable, a, np.inf).min(axis=1)
    return np.where(np.isfinite(lowest), pull.decorrelation * lowest, 0.0)


@dataclass(frozen=True, slots=True, eq=False)
class _Hessian:
    """diag(d) + tau 11^T for each feature, with d = inf for classes that are left out; solved in O(K).

    At most one entry of d may be <= 0 if the matrix is positive definite. It is kept separate, so that nothing is
    divided by it.
    """

    first: np.ndarray  # the class of the smallest d, (n, 1)
    smallest: np.ndarray  # that d, (n, 1)
    inverse: np.ndarray  # 1 / d of the others, 0 at `first`, (n, R)
    spread: np.ndarray  # 1 + tau sum of these, (n, 1)
    pivot: np.ndarray  # the determinant over the product of the other d, (n, 1)
    tau: np.ndarray  # (n, 1)
    least: np.ndarray  # min(pivot, second smallest d), (n,): positive where definite

    @classmethod
    def of(cls, d: np.ndarray, tau: np.ndarray) -> "_Hessian":
        tau = tau[:, None]
        first = d.argmin(axis=1)[:, None]
        smallest = np.take_along_axis(d, first, axis=1)
        smallest = np.where(np.isposinf(smallest), 1.0, smallest)  # all classes are left out
        others = d.copy()
        np.put_along_axis(others, first, np.inf, axis=1)
        inverse = 1.0 / others
        spread = 1.0 + tau * inverse.sum(axis=1, keepdims=True)
        pivot = smallest * spread + tau
        return cls(first, smallest, inverse, spread, pivot, tau, np.minimum(others.min(axis=1), pivot[:, 0]))

    @property
    def definite(self) -> np.ndarray:
        """True where the matrix is positive definite and not nearly singular, (n,)."""
        return self.least > SINGULAR * self.tau[:, 0]

    def solve(self, right: np.ndarray) -> np.ndarray:
        """Solve (diag(d) + tau 11^T) x = right, both (n, R); right is 0 for classes that are left out."""
        known = (right * self.inverse).sum(axis=1, keepdims=True)
        total = (np.take_along_axis(right, self.first, axis=1) + self.smallest * known) / self.pivot
        x = (right - self.tau * total) * self.inverse
        np.put_along_axis(x, self.first, total * self.spread - known, axis=1)
        return x


@dataclass(frozen=True, slots=True, eq=False)
class _Classes:
    """The coupled equations of some features; arrays (n, R).

    `side` is the sign of the weight of a class, and 0 while it is held at zero. Without a threshold the weight may have
    either sign, and `side` is 1.
    """

    at: ScalarEquations
    threshold: np.ndarray  # tau_1
    inside: np.ndarray  # False in empty classes and where TopK leaves the feature out
    ridge: np.ndarray  # tau_2, (n, 1)
    slopes: Pull = field(default_factory=Pull)  # the part of the pull from `Separable`

    @classmethod
    def of(cls, equations: Equations, pull: Pull, columns: np.ndarray) -> "_Classes":
        inside = equations.alive if equations.kept is None else equations.alive & equations.kept
        inside = np.broadcast_to(inside, equations.t_star.shape)
        threshold = np.ascontiguousarray(pull.thresholds(equations.sd)[:, columns].T)
        ridge = np.full((len(columns), 1), pull.l2)
        inside, slopes = np.ascontiguousarray(inside[:, columns].T), Pull(slopes=pull.slopes)
        return cls(equations.by_feature(columns), threshold, inside, ridge, slopes)

    @classmethod
    def joined(cls, parts: Sequence["_Classes"]) -> "_Classes":
        """Concatenate the features of several."""
        names = "threshold", "inside", "ridge"
        threshold, inside, ridge = (np.concatenate([getattr(p, name) for p in parts]) for name in names)
        return cls(ScalarEquations.joined([p.at for p in parts]), threshold, inside, ridge, parts[0].slopes)

    def only(self, some: np.ndarray) -> "_Classes":
        """Return some of the features."""
        if len(some) == len(self.threshold):
            return self
        return _Classes(self.at.only(some), self.threshold[some], self.inside[some], self.ridge[some], self.slopes)

    def stiffness(self, w: np.ndarray) -> np.ndarray:
        """Return p'(w), the slope of the pull in the weight itself; by a difference for `Separable`."""
        if not self.slopes.slopes:
            return self.ridge
        step = 1e-6 * np.maximum(np.abs(w), 1e-3)  # away from 0, where the pull may jump
        outwards = np.where(w < 0.0, -step, step)
        rise = self.slopes.of_weights(w + outwards) - self.slopes.of_weights(w)
        return self.ridge + np.maximum(rise / outwards, 0.0)

    def solved(self, target: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Follow w from tau = 0 to `target` (n,): weights, what they add to intercepts, and where the branch ended."""
        gated = self.threshold + self.slopes.at_zero(self.at.t_star) > 0.0
        side = np.where(gated, np.sign(w), 1.0) * self.inside
        tau, ended = target.copy(), np.ones(len(w), bool)
        if isinstance(self.at.family, Gaussian) and not self.slopes.slopes:
            some = np.flatnonzero(~self.threshold.any(axis=1))
            w[some], ended[some] = self.only(some).closed_form(target[some], w[some], side[some])
        some = np.flatnonzero(ended)
        w[some], side[some], tau[some], ended[some] = self.only(some).followed(target[some], w[some], side[some])
        some, shift = w != 0.0, np.zeros_like(w)
        shift[some] = self.at.where(some).shift(self.pulls(tau, w, side)[some], w[some], smooth=True)
        return w, shift, ended

    def closed_form(self, tau: np.ndarray, w: np.ndarray, side: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return weights of Gaussian features at tau, and where they are not on the branch (w is returned there)."""
        nothing = np.zeros_like(w)
        a = self.curvature(nothing, side)
        hessian = _Hessian.of(a + self.ridge - tau[:, None], tau)
        found = hessian.solve(np.where(side != 0.0, a * self.at.weight(nothing), 0.0))
        return np.where(hessian.definite[:, None], found, w), ~hessian.definite

    def pulls(self, tau: np.ndarray, w: np.ndarray, side: np.ndarray) -> np.ndarray:
        """Return the pull t of each class."""
        own = self.threshold * side + self.ridge * w + self.slopes.of_weights(w)
        return own + tau[:, None] * (w.sum(axis=1, keepdims=True) - w)

    def curvature(self, t: np.ndarray, side: np.ndarray) -> np.ndarray:
        """Return a = -1/W'(t); inf for classes that are left out, NaN where a mean has left its domain."""
        low, high = self.at.family.mean_range
        a = 1.0 / self.at.steepness(t)
        for mean, *slack in self.at.moved(t):
            inside = (mean >= low) & (mean <= high)
            a = np.where(inside & (slack[0] >= 0.0) if slack else inside, a, np.nan)
        return np.where(side != 0.0, np.where(a > 0.0, a, np.nan), np.inf)

    def newton(self, tau: np.ndarray, w: np.ndarray, side: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the Newton step from w, and the curvature there."""
        t = self.pulls(tau, w, side)
        a = self.curvature(t, side)
        force = np.where(side != 0.0, a * (self.at.weight(t) - w), 0.0)
        return _Hessian.of(a + self.stiffness(w) - tau[:, None], tau).solve(force), a

    def switched(self, tau: np.ndarray, w: np.ndarray, side: np.ndarray) -> np.ndarray:
        """Return new sides: a class that crossed zero is held there, one pulled past its threshold is released."""
        left = self.at.t_star - tau[:, None] * w.sum(axis=1, keepdims=True)
        gate = self.threshold + self.slopes.at_zero(left)
        free = (side == 0.0) & self.inside & (np.abs(left) > gate)
        return np.where(free, np.sign(left), np.where((side * w <= 0.0) & (gate > 0.0), 0.0, side))

    def corrected(self, tau: np.ndarray, w: np.ndarray, side: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return weights, sides and curvature of the solution near w, and where one was found."""
        w, side, a = w.copy(), side.copy(), np.full(w.shape, np.nan)
        found, last = np.zeros(len(w), bool), np.full(len(w), np.inf)
        todo = np.arange(len(w))
        for _ in range(MOST_ITERATIONS):
            here = self.only(todo)
            step, a[todo] = here.newton(tau[todo], w[todo], side[todo])
            moved = w[todo] + step
            sides = here.switched(tau[todo], moved, side[todo])
            size, scale = np.abs(step).max(axis=1), np.abs(moved).max(axis=1)
            done = (size <= EXACT * scale) | ((size <= NOISE * scale) & (size >= 0.5 * last[todo]))
            done &= (sides == side[todo]).all(axis=1)
            w[todo], side[todo], last[todo] = np.where(sides != 0.0, moved, 0.0), sides, size
            found[todo] = done
            todo = todo[~done & np.isfinite(size)]
            if not todo.size:
                break
        return w, side, a, found

    def followed(self, target: np.ndarray, w: np.ndarray, side: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return weights and sides at `target` or the end of the branch, the tau reached, and where the branch ended.

        Each feature has its own step size, which depends on no other feature, and on the target only for the last step.
        """
        w, side, tau, n = w.copy(), side.copy(), np.zeros(len(w)), len(w)
        a = self.curvature(self.pulls(tau, w, side), side)
        ridge = self.stiffness(w)
        step = np.nan_to_num((a + ridge).min(axis=1), nan=1.0, posinf=1.0)
        shortest = SHORTEST * step
        least = _Hessian.of(a + ridge, tau).least
        ended, todo = np.zeros(n, bool), np.arange(n)
        for _ in range(MOST_STEPS):
            here = self.only(todo)
            start, goal = tau[todo], np.minimum(tau[todo] + step[todo], target[todo])
            trial = here.advanced(start, goal, w[todo], side[todo], a[todo])
            good = trial[-1]
            at, (new_w, new_side, new_a, new_least) = todo[good], (part[good] for part in trial[:-1])
            # near the end of a branch the square of the smallest pivot falls to zero linearly
            fall = (least[at] / new_least) ** 2 - 1.0
            ahead = np.where(fall > 0.0, (goal - start)[good] / fall, np.inf)
            w[at], side[at], a[at], tau[at], least[at] = new_w, new_side, new_a, goal[good], new_least
            shortest[at] = np.maximum(shortest[at], SHORTEST * tau[at])
            ended[todo] = ~good & (step[todo] <= shortest[todo])
            step[at] = np.maximum(np.minimum(2.0 * step[at], 0.9 * ahead), shortest[at])
            step[todo[~good]] *= 0.5
            todo = todo[~ended[todo] & (tau[todo] < target[todo])]
            if not todo.size:
                break
        ended[todo] = True
        return w, side, tau, ended

    def advanced(
        self, start: np.ndarray, goal: np.ndarray, w: np.ndarray, side: np.ndarray, a: np.ndarray
    ) -> tuple[np.ndarray, ...]:
        """Return weights, sides, curvature and smallest pivot at goal, and where these are on the branch from start.

        They are on it if the objective is concave between the two solutions and somewhat beyond, so that there can be
        no other solution, or if the two are close to each other.
        """
        active = side != 0.0
        away = np.where(active, w - w.sum(axis=1, keepdims=True), 0.0)
        ridge = self.stiffness(w)
        tangent = _Hessian.of(a + ridge - start[:, None], start).solve(away)
        new_w, new_side, new_a, found = self.corrected(goal, w + (goal - start)[:, None] * tangent, side)
        lower, upper = np.minimum(a, new_a), np.where(np.isfinite(a) & np.isfinite(new_a), np.maximum(a, new_a), 0.0)
        lower = lower - 0.25 * np.maximum(upper - lower, 0.0)
        new_ridge = self.stiffness(new_w)
        between = _Hessian.of(lower + np.minimum(ridge, new_ridge) - goal[:, None], goal)
        there = _Hessian.of(new_a + new_ridge - goal[:, None], goal)
        near = np.abs(new_w - w).max(axis=1) <= NEAR * np.abs(w).max(axis=1)
        return new_w, new_side, new_a, there.least, found & (between.definite | (there.definite & near))
