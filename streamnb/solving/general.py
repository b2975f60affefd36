"""Regularisers of all weights together: the pulls at which nothing moves any more, t = -tau R'(W(t))."""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from streamnb.problem.family import Family
from streamnb.problem.penalties import Custom, Penalty

EXACT = 1e-12  # of each weight: a shorter step is the last
ROUNDING = 1e-14  # of the largest weight: so is a step that is shorter than this
ENOUGH = 1e-7  # of the largest weight, and of the largest pull: what the last step may leave
FLATTEST = 1e-9  # ridge, relative to tau
UNBOUNDED = 1e100  # weights that have come so far do not stop
MEMORY = 10  # steps that the next one is combined of
MOST_STEPS = 5000


def check_general(penalty: Penalty | None, family: Family) -> None:
    """Refuse a `Custom` for features that are coupled already."""
    part = next((p for p in (penalty.parts if penalty else ()) if p.kind == Custom.kind), None)
    coupled = [member.name for member in family.members if member.coupled]
    if part is not None and coupled:
        raise ValueError(
            f"penalty={part!r} is not defined for family={coupled[0]!r}, whose features are coupled already; take "
            "another family, 'poisson' for counts"
        )


@dataclass(frozen=True, slots=True, eq=False)
class FixedPoint:
    """Pulls t = -tau R'(W(t)) as start + ridge w, and the largest difference that is left."""

    start: np.ndarray  # (R, n)
    ridge: float
    residual: float


def fixed_point_pulls(
    weights_at: Callable[[np.ndarray, float], np.ndarray],
    tau: float,
    gradient: Callable[[np.ndarray], np.ndarray],
    shape: tuple[int, int],
) -> FixedPoint:
    """Pulls that stand; `weights_at(start, ridge)` are the weights (R, n) under the pulls start + ridge w.

    A plain step maximises the likelihood, less ridge / 2 times the squared step, with R replaced by its tangent (the
    proximal gradient method): neither light classes nor features of any scale slow it down. The ridge is what R bends
    by along such a step. Anderson's (1965) combination of the last steps is far faster where R ties weights together.
    """
    nothing = np.zeros(shape)
    w = _weights(weights_at, nothing, 0.0)
    w = weights_at(nothing, tau).copy() if w is None else w
    slope = -tau * gradient(w)
    first, residual, last, stands = np.abs(slope).max(initial=0.0), np.inf, np.inf, False
    ridge = max(abs(_bend(w, slope + tau * gradient(nothing))), FLATTEST * tau)
    start, known = slope - ridge * w, deque[tuple[np.ndarray, np.ndarray]](maxlen=MEMORY)
    for _ in range(MOST_STEPS):
        found = _weights(weights_at, start, ridge)
        new_w = w if found is None else found
        new_slope = -tau * gradient(new_w)
        bend = np.inf if found is None else _bend(new_w - w, new_slope - slope)
        if bend > 2.0 * ridge:  # back to the weights before
            ridge = min(bend, 4.0 * ridge)
            start, last = slope - ridge * w, np.inf
            known.clear()
            continue
        step, w, slope = new_w - w, new_w, new_slope
        off = slope - ridge * w - start
        residual = float(np.abs(off).max(initial=0.0))
        fixed_point = FixedPoint(start, ridge, residual)
        size, sizes = np.abs(step), np.abs(w)
        left, largest = size.max(initial=0.0), sizes.max(initial=0.0)
        stands = left <= ENOUGH * largest and residual <= ENOUGH * np.abs(slope).max(initial=0.0)
        if left <= ROUNDING * largest or (size <= EXACT * sizes).all() or largest > UNBOUNDED:
            break
        if residual > 2.0 * last:
            known.clear()
        known.append((start, off))
        start, last = _combined(known), residual
    if stands:
        return fixed_point
    raise ValueError(
        f"penalty=Custom(gradient) does not contract at tau={tau:g}: t = -tau R'(W(t)) is not reached, the largest "
        f"difference (residual) stays {residual:.3g} where it began with {first:.3g}; take a smaller tau, or a concave "
        "R, whose gradient falls as weights rise"
    )


def _combined(known: Sequence[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    """The next start from the last ones and what these were off by."""
    start, off = known[-1]
    if len(known) == 1:
        return start + off
    starts, offs = (np.diff(np.stack(part), axis=0).reshape(len(known) - 1, -1) for part in zip(*known, strict=True))
    share = np.linalg.lstsq(offs.T, off.ravel(), rcond=None)[0]
    return start + off - (share @ (starts + offs)).reshape(off.shape)


def _bend(step: np.ndarray, turn: np.ndarray) -> float:
    """How much slopes change along a step, by its length; 0 where it has none."""
    length = np.abs(step).max(initial=0.0)
    return float(np.sum(step / length * (turn / length)) / np.sum((step / length) ** 2)) if length else 0.0


def _weights(
    weights_at: Callable[[np.ndarray, float], np.ndarray], start: np.ndarray, ridge: float
) -> np.ndarray | None:
    """Weights under the pulls start + ridge w, None where they are infinite."""
    try:
        with np.errstate(all="ignore"):
            w = weights_at(start, ridge).copy()
    except ValueError:  # of an infinite weight
        return None
    return w if np.isfinite(w).all() else None
