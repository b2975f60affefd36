"""Minimises sums over rows by L-BFGS in as few reads as possible.

J. Nocedal, Updating quasi-Newton matrices with limited storage, Math. Comp. 35 (1980); with l1 the orthant-wise steps
of G. Andrew and J. Gao, Scalable training of L1-regularized log-linear models, ICML 2007. Sums here are NumPy's own, of
fixed order, and no products of BLAS, whose bits depend on its threads.
"""

from collections import deque
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from streamnb.kernels.directions import add_multiple, scale_balanced

PAIRS = 8  # steps that are remembered
ENOUGH = 1e-4  # of the fall that the gradient promises (Armijo)
STALLED = 1e-10  # of the objective: less is rounding
BACKTRACKS = 8  # shorter and shorter, before a step is given up
AT_ONCE = 1 << 12  # rows of weights


@dataclass(frozen=True)
class Penalties:
    """l2 / 2 abs(W)^2 + l1 abs(W), without the last row, the intercepts."""

    l2: float
    l1: float

    def value(self, point: np.ndarray) -> np.ndarray:
        """That of each row of weights, (R,)."""
        weights = point[:-1]
        squares = 0.5 * self.l2 * np.einsum("ij,ij->j", weights, weights)
        return squares if self.l1 == 0.0 else squares + self.l1 * np.abs(weights).sum(axis=0)

    def smooth_gradient(self, point: np.ndarray, of_loss: np.ndarray) -> np.ndarray:
        """The gradient of the loss, with that of l2 added in place."""
        for some in pieces(len(point) - 1):
            of_loss[some] += self.l2 * point[some]
        return of_loss

    def steepest(self, point: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        """The gradient with that of l1: at a weight of 0 the least of its subgradients."""
        if self.l1 == 0.0:
            return gradient
        out, weights, slopes = gradient.copy(), point[:-1], gradient[:-1]
        at_zero = np.sign(slopes) * np.maximum(np.abs(slopes) - self.l1, 0.0)
        out[:-1] = np.where(weights == 0.0, at_zero, slopes + self.l1 * np.sign(weights))
        return out

    def stepped(self, point: np.ndarray, step: np.ndarray, steepest: np.ndarray) -> np.ndarray:
        """The step that ends where a weight would change its sign."""
        if self.l1 == 0.0:
            return step
        out, weights = step.copy(), point[:-1]
        side = np.where(weights == 0.0, -np.sign(steepest[:-1]), np.sign(weights))
        out[:-1] = np.where((weights + step[:-1]) * side > 0.0, step[:-1], -weights)
        return out


@dataclass(frozen=True, eq=False)
class Visit:
    """A point that was read: the objective there, its smooth gradient, and the steepest one, with l1."""

    point: np.ndarray
    objective: float
    gradient: np.ndarray
    steepest: np.ndarray
    number: int = 0  # of the points that were read before it


class Memory:
    """The last steps and what they did to the gradient; `scale` (n_features + 1, R) is about the inverse curvature.

    `balanced` is for gradients whose rows add up to 0, as those of softmax do: so do the directions then.
    """

    def __init__(self, scale: np.ndarray, balanced: bool = False):
        self.scale, self._balanced = scale, balanced
        self._pairs: deque[tuple[np.ndarray, np.ndarray, float]] = deque(maxlen=PAIRS)

    def __len__(self) -> int:
        return len(self._pairs)

    def remember(self, step: np.ndarray, change: np.ndarray) -> None:
        """Keep a step and the change of the gradient, unless the curvature between is none."""
        curvature = dot(step, change)
        if curvature > 0.0:
            self._pairs.append((step, change, curvature))

    def forget(self) -> None:
        self._pairs.clear()

    def direction(self, gradient: np.ndarray) -> np.ndarray:
        """About minus the inverse Hessian times the gradient (two loops)."""
        q, shares = np.negative(gradient, order="C"), []
        for step, change, curvature in reversed(self._pairs):
            shares.append(dot(step, q) / curvature)
            add_multiple(q.reshape(-1), -shares[-1], change.reshape(-1))
        q = self.scaled(q)
        if self._pairs:
            _, change, curvature = self._pairs[-1]
            q *= curvature / dot(change, self.scaled(change))
        for (step, change, curvature), share in zip(self._pairs, reversed(shares), strict=True):
            add_multiple(q.reshape(-1), share - dot(change, q) / curvature, step.reshape(-1))
        return q

    def length(self, gradient: np.ndarray) -> float:
        """The length of a gradient, in units of the curvature: half its square is about what is left to fall."""
        square = sum(dot(gradient[some], self.scaled(gradient[some], some)) for some in pieces(len(gradient)))
        return float(np.sqrt(max(square, 0.0)))

    def scaled(self, gradient: np.ndarray, some: slice = slice(None)) -> np.ndarray:
        """A gradient, or some of its rows, divided by the curvature."""
        scale = self.scale[some]
        if not self._balanced:
            return scale * gradient
        step = np.empty_like(gradient)
        scale_balanced(scale, gradient, step)
        return step


def pieces(n_rows: int) -> Iterator[slice]:
    """Rows of weights, few at a time: what is made of all at once would take memory anew."""
    for first in range(0, n_rows, AT_ONCE):
        yield slice(first, min(first + AT_ONCE, n_rows))


def dot(a: np.ndarray, b: np.ndarray) -> float:
    """Of two arrays of one shape, summed in a fixed order."""
    return float(np.einsum("ij,ij->", a, b))


# asks for what it needs and returns the visit of a point, given the objective above which nothing matters
Read = Callable[[np.ndarray, float], Generator[Any, Any, Visit]]


@dataclass
class Descent:
    """Descends from a visited point by full steps of L-BFGS, shortened where they do not fall.

    Parameters
    ----------
    memory : Memory
    penalties : Penalties
    target : float
        A gradient that is no longer than this is none.
    visit : Visit
        The last point that fell below the one before.
    """

    memory: Memory
    penalties: Penalties
    target: float
    visit: Visit

    @property
    def arrived(self) -> bool:
        return self.memory.length(self.visit.steepest) <= self.target

    def run(self, read: Read, goes_on: Callable[[], bool]) -> Generator[Any, Any, None]:
        """Go on until the gradient is none, the objective no longer falls in float64, or `goes_on` says no."""
        while not self.arrived:
            better = yield from self._better(self.visit, read, goes_on)
            if better is not None:
                self.visit = better
            elif goes_on() and len(self.memory):
                self.memory.forget()
            else:  # not along the gradient itself either: the rest is rounding
                break

    def _better(self, visit: Visit, read: Read, goes_on: Callable[[], bool]) -> Generator[Any, Any, Visit | None]:
        """The next point, None where no step falls or no read is left."""
        direction = self._descending(visit)
        for _ in range(BACKTRACKS):
            if not goes_on():
                return None
            step = self.penalties.stepped(visit.point, direction, visit.steepest)
            promised = dot(visit.steepest, step)
            found = yield from read(visit.point + step, visit.objective)
            change = found.objective - visit.objective
            stalled = abs(change) <= STALLED * abs(visit.objective)
            if change <= ENOUGH * promised or (stalled and self._shorter(found, visit)):
                self.memory.remember(step, found.gradient - visit.gradient)
                return found
            if stalled:
                return None
            direction *= min(max(-0.5 * promised / (change - promised), 0.1), 0.5)
        return None

    def _shorter(self, found: Visit, visit: Visit) -> bool:
        return self.memory.length(found.steepest) < self.memory.length(visit.steepest)

    def _descending(self, visit: Visit) -> np.ndarray:
        direction = self.memory.direction(visit.steepest)
        if self.penalties.l1:  # what would leave the orthant of the gradient waits
            direction[:-1] = np.where(direction[:-1] * visit.steepest[:-1] < 0.0, direction[:-1], 0.0)
        if not dot(direction, visit.steepest) < 0.0:
            self.memory.forget()
            direction = self.memory.direction(visit.steepest)
        return direction
