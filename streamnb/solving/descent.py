"""Minimises sums over rows by L-BFGS in as few reads as possible.

J. Nocedal, Updating quasi-Newton matrices with limited storage, Math. Comp. 35 (1980); with l1 the orthant-wise steps
of G. Andrew and J. Gao, Scalable training of L1-regularized log-linear models, ICML 2007. Sums are computed by NumPy in
a fixed order, not by BLAS, whose rounding depends on its number of threads.
"""

from collections import deque
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, replace
from math import prod
from typing import Any, Self

import numpy as np

from streamnb.core.memory import return_freed
from streamnb.kernels.descent import add_multiple, divide_by_diagonal

PAIRS = 8  # steps that are remembered
FEW_PAIRS = 5  # the same of wide tables of weights, of which each step takes memory and a part of the time of a read
WIDE = 1 << 23  # bytes of these
SUFFICIENT_DECREASE = 1e-4  # share of the decrease that the gradient predicts (Armijo)
STALLED = 1e-10  # share of the objective; smaller changes are rounding
BACKTRACKS = 8  # attempts with shorter steps before a direction is given up
ROWS_AT_ONCE = 1 << 12  # rows of weights per piece


@dataclass(frozen=True)
class Penalties:
    """l2 / 2 abs(W)^2 + l1 abs(W), without the last row, the intercepts."""

    l2: float
    l1: float

    def value(self, point: np.ndarray) -> np.ndarray:
        """The penalty of each row of weights, (R,)."""
        weights = point[:-1]
        squares = 0.5 * self.l2 * np.einsum("ij,ij->j", weights, weights)
        return squares if self.l1 == 0.0 else squares + self.l1 * np.abs(weights).sum(axis=0)

    def smooth_gradient(self, point: np.ndarray, of_loss: np.ndarray) -> np.ndarray:
        """The gradient of the loss plus that of l2, added in place."""
        for rows in pieces(len(point) - 1):
            of_loss[rows] += self.l2 * point[rows]
        return of_loss

    def steepest(self, point: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        """The gradient including l1: where a weight is 0, the subgradient of least magnitude."""
        if self.l1 == 0.0:
            return gradient
        out, weights, slopes = gradient.copy(), point[:-1], gradient[:-1]
        at_zero = np.sign(slopes) * np.maximum(np.abs(slopes) - self.l1, 0.0)
        out[:-1] = np.where(weights == 0.0, at_zero, slopes + self.l1 * np.sign(weights))
        return out

    def within_orthant(self, point: np.ndarray, step: np.ndarray, steepest: np.ndarray) -> np.ndarray:
        """The step cut so that no weight changes its sign."""
        if self.l1 == 0.0:
            return step
        out, weights = step.copy(), point[:-1]
        side = np.where(weights == 0.0, -np.sign(steepest[:-1]), np.sign(weights))
        out[:-1] = np.where((weights + step[:-1]) * side > 0.0, step[:-1], -weights)
        return out


@dataclass(frozen=True, eq=False)
class Visit:
    """An evaluated point: its objective, the smooth gradient, and the subgradient with l1 (`steepest`)."""

    point: np.ndarray
    objective: float
    gradient: np.ndarray
    steepest: np.ndarray
    number: int = 0  # how many points were read before it


@dataclass(frozen=True, eq=False)
class Diagonal:
    """The diagonal of the curvature of weights (n_features + 1, R): that of the loss, and `penalty`.

    Attributes
    ----------
    spread, curvature : (n_features + 1,) and (R,)
        Their products are the curvature of the loss; infinite for weights that are not trained.
    penalty : (n_features + 1,)
    balanced : bool
        For gradients whose rows add up to 0, as those of softmax do; the rows of directions then do, too.
    """

    spread: np.ndarray
    curvature: np.ndarray
    penalty: np.ndarray
    balanced: bool = False

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.spread), len(self.curvature)

    def of_rows(self, rows: Any) -> Self:
        """That of some rows of the weights."""
        return replace(self, spread=self.spread[rows], penalty=self.penalty[rows])

    def divide(self, gradient: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """A gradient divided by the curvature, written to `out`."""
        out = np.empty_like(gradient) if out is None else out
        divide_by_diagonal(self.spread, self.curvature, self.penalty, gradient, self.balanced, out)
        return out


class Memory:
    """The last steps and the changes of the gradient along them.

    The `diagonal` approximates the curvature, unless there is a `sampled` one.
    """

    def __init__(self, diagonal: Diagonal):
        self.diagonal = diagonal
        self.sampled: Any = None  # a SampledCurvature, which depends on the point
        n_pairs = PAIRS if 8 * prod(diagonal.shape) < WIDE else FEW_PAIRS
        self._pairs: deque[tuple[np.ndarray, np.ndarray, float]] = deque(maxlen=n_pairs)

    def __len__(self) -> int:
        return len(self._pairs)

    def remember(self, step: np.ndarray, before: np.ndarray, after: np.ndarray) -> None:
        """Keep a step and the change of the gradient, if the curvature along the step is positive.

        That of all rows needs no correction by steps.
        """
        if self.sampled is not None and self.sampled.complete:
            return
        change = after - before
        curvature = dot(step, change)
        if curvature > 0.0:
            self._pairs.append((step, change, curvature))

    def take_over(self, other: Self, penalties: Penalties) -> None:
        """Keep the steps of another model of the same rows, whose objective lacks these penalties."""
        for step, change, _ in other._pairs:
            self.remember(step, np.zeros(1), penalties.smooth_gradient(step, change.copy()))

    def forget(self) -> None:
        self._pairs.clear()

    def direction(self, gradient: np.ndarray) -> np.ndarray:
        """Minus the approximate inverse Hessian times the gradient, by the two-loop recursion."""
        q, shares = np.negative(gradient, order="C"), []
        for step, change, curvature in reversed(self._pairs):
            shares.append(dot(step, q) / curvature)
            add_multiple(q.reshape(-1), -shares[-1], change.reshape(-1))
        q = self._divided(q)
        for (step, change, curvature), share in zip(self._pairs, reversed(shares), strict=True):
            add_multiple(q.reshape(-1), share - dot(change, q) / curvature, step.reshape(-1))
        return q

    def _divided(self, gradient: np.ndarray) -> np.ndarray:
        """A gradient divided by the curvature that is known without the steps."""
        if self.sampled is not None:
            if self._pairs:
                step, _, curvature = self._pairs[-1]
                self.sampled.fit_damping(step, curvature)
            return self.sampled.solve(gradient)
        step = self.diagonal.divide(gradient)
        if self._pairs:
            _, change, curvature = self._pairs[-1]
            step *= curvature / dot(change, self.diagonal.divide(change))
        return step

    def length(self, gradient: np.ndarray) -> float:
        """The norm of a gradient in units of the curvature; half its square is about the decrease still possible."""
        square = 0.0
        for rows in pieces(len(gradient)):
            square += dot(gradient[rows], self.diagonal.of_rows(rows).divide(gradient[rows]))
        return float(np.sqrt(max(square, 0.0)))


def pieces(n_rows: int, most: int = ROWS_AT_ONCE) -> Iterator[slice]:
    """Slices of at most so many rows, so that temporary arrays stay small."""
    for first in range(0, n_rows, most):
        yield slice(first, min(first + most, n_rows))


def dot(a: np.ndarray, b: np.ndarray) -> float:
    """The inner product of two arrays of one shape, summed in a fixed order."""
    return float(np.einsum("ij,ij->", a, b))


# evaluates a point; an objective above the second argument need not be exact
Read = Callable[[np.ndarray, float], Generator[Any, Any, Visit]]


@dataclass
class Descent:
    """L-BFGS from an evaluated point, with full steps that are shortened where the objective does not decrease.

    Parameters
    ----------
    memory : Memory
    penalties : Penalties
    target : float
        Converged when the norm of the gradient is at most this.
    visit : Visit
        The last point with a lower objective than the one before.
    least : float
        Converged, too, where the next step is expected to lower the objective by no more than this.
    """

    memory: Memory
    penalties: Penalties
    target: float
    visit: Visit
    least: float = 0.0
    settled: bool = False  # whether that is so

    @property
    def arrived(self) -> bool:
        return self.settled or self.memory.length(self.visit.steepest) <= self.target

    def run(self, read: Read, may_read: Callable[[], bool]) -> Generator[Any, Any, None]:
        """Descend until converged, until the objective no longer decreases in float64, or until `may_read` is False."""
        while not self.arrived:
            following = yield from self._next_point(self.visit, read, may_read)
            if following is not None:
                self.visit = following
            elif may_read() and len(self.memory):
                self.memory.forget()
            elif may_read() and self.memory.sampled is not None:
                self.memory.sampled = None
            else:  # no decrease along the gradient either: only rounding is left
                break

    def _next_point(self, visit: Visit, read: Read, may_read: Callable[[], bool]) -> Generator[Any, Any, Visit | None]:
        """The next point; None where no step decreases the objective or no read is left."""
        return_freed(visit.point.nbytes)
        direction = self.descent_direction(visit)
        self.settled = -0.5 * dot(visit.steepest, direction) <= self.least  # what a Newton step would gain
        if self.settled:
            return visit
        for _ in range(BACKTRACKS):
            if not may_read():
                return None
            step = self.penalties.within_orthant(visit.point, direction, visit.steepest)
            promised = dot(visit.steepest, step)
            tried = yield from read(visit.point + step, visit.objective)
            change = tried.objective - visit.objective
            stalled = abs(change) <= STALLED * abs(visit.objective)
            length = self.memory.length
            shorter = stalled and length(tried.steepest) < length(visit.steepest)
            if change <= SUFFICIENT_DECREASE * promised or shorter:
                self.memory.remember(step, visit.gradient, tried.gradient)
                return tried
            if stalled:
                return None
            direction *= min(max(-0.5 * promised / (change - promised), 0.1), 0.5)
        return None

    def descent_direction(self, visit: Visit) -> np.ndarray:
        """The step to where the optimum is expected."""
        if self.memory.sampled is not None:
            self.memory.sampled.move_to(visit.point)
        direction = self.memory.direction(visit.steepest)
        if self.penalties.l1:  # components that would leave the orthant of the gradient are not moved
            direction[:-1] = np.where(direction[:-1] * visit.steepest[:-1] < 0.0, direction[:-1], 0.0)
        if not dot(direction, visit.steepest) < 0.0:
            self.memory.forget()
            self.memory.sampled = None
            direction = self.memory.direction(visit.steepest)
        return direction
