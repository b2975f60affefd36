"""Custom penalties of all weights together: the fixed point t = -tau R'(W(t))."""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

EXACT = 1e-12  # relative to each weight: a smaller step is the last
ROUNDING = 1e-14  # relative to the largest weight: so is a smaller step
ENOUGH = 1e-7  # relative to the largest weight and pull: how much the last step may leave
FLATTEST = 1e-9  # ridge, relative to tau
UNBOUNDED = 1e100  # larger weights are taken to diverge
MEMORY = 10  # previous steps that are combined for the next one
MOST_STEPS = 5000


@dataclass(frozen=True, slots=True, eq=False)
class FixedPoint:
    """Pulls t = -tau R'(W(t)) as start + ridge w, and the largest residual."""

    start: np.ndarray  # (R, n)
    ridge: float
    residual: float


def fixed_point_pulls(
    weights_at: Callable[[np.ndarray, float], np.ndarray],
    tau: float,
    gradient: Callable[[np.ndarray], np.ndarray],
    shape: tuple[int, int],
) -> FixedPoint:
    """Return the fixed point; `weights_at(start, ridge)` are the weights (R, n) under the pulls start + ridge w.

    A plain step maximises the likelihood minus ridge / 2 times the squared step, with R replaced by its tangent (the
    proximal gradient method); it is not slowed down by light classes or the scale of features. The ridge is the
    curvature of R along the step. Anderson acceleration (1965) is far faster if R couples weights.
    """
    nothing = np.zeros(shape)
    w = _weights(weights_at, nothing, 0.0)
    w = weights_at(nothing, tau).copy() if w is None else w
    slope = -tau * gradient(w)
    first, residual, last, converged = np.abs(slope).max(initial=0.0), np.inf, np.inf, False
    ridge = max(abs(_curvature(w, slope + tau * gradient(nothing))), FLATTEST * tau)
    start, previous = slope - ridge * w, deque[tuple[np.ndarray, np.ndarray]](maxlen=MEMORY)
    for _ in range(MOST_STEPS):
        found = _weights(weights_at, start, ridge)
        new_w = w if found is None else found
        new_slope = -tau * gradient(new_w)
        curvature = np.inf if found is None else _curvature(new_w - w, new_slope - slope)
        if curvature > 2.0 * ridge:  # return to the weights before
            ridge = min(curvature, 4.0 * ridge)
            start, last = slope - ridge * w, np.inf
            previous.clear()
            continue
        step, w, slope = new_w - w, new_w, new_slope
        error = slope - ridge * w - start
        residual = float(np.abs(error).max(initial=0.0))
        fixed_point = FixedPoint(start, ridge, residual)
        size, sizes = np.abs(step), np.abs(w)
        left, largest = size.max(initial=0.0), sizes.max(initial=0.0)
        converged = left <= ENOUGH * largest and residual <= ENOUGH * np.abs(slope).max(initial=0.0)
        if left <= ROUNDING * largest or (size <= EXACT * sizes).all() or largest > UNBOUNDED:
            break
        if residual > 2.0 * last:
            previous.clear()
        previous.append((start, error))
        start, last = _combined(previous), residual
    if converged:
        return fixed_point
    raise ValueError(
        f"penalty=Custom(gradient) does not contract at tau={tau:g}: t = -tau R'(W(t)) is not reached, the largest "
        f"difference (residual) stays {residual:.3g} where it began with {first:.3g}; take a smaller tau, or a concave "
        "R, whose gradient falls as weights rise"
    )


def _combined(previous: Sequence[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    """Return the next start from the previous ones and their residuals (Anderson acceleration)."""
    start, error = previous[-1]
    if len(previous) == 1:
        return start + error
    starts, errors = (
        np.diff(np.stack(part), axis=0).reshape(len(previous) - 1, -1) for part in zip(*previous, strict=True)
    )
    share = np.linalg.lstsq(errors.T, error.ravel(), rcond=None)[0]
    return start + error - (share @ (starts + errors)).reshape(error.shape)


def _curvature(step: np.ndarray, turn: np.ndarray) -> float:
    """Return the curvature along a step, from the change of the slopes; 0 for a step of length 0."""
    length = np.abs(step).max(initial=0.0)
    return float(np.sum(step / length * (turn / length)) / np.sum((step / length) ** 2)) if length else 0.0


def _weights(
    weights_at: Callable[[np.ndarray, float], np.ndarray], start: np.ndarray, ridge: float
) -> np.ndarray | None:
    """Return the weights under the pulls start + ridge w, or None if they are infinite."""
    try:
        with np.errstate(all="ignore"):
            w = weights_at(start, ridge).copy()
    except ValueError:  # raised for an infinite weight
        return None
    return w if np.isfinite(w).all() else None
