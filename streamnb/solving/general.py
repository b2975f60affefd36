"""Regularisers of all weights together: the pulls at which nothing moves any more, t = -tau R'(W(t))."""

from collections.abc import Callable

import numpy as np

from streamnb.problem.family import Family
from streamnb.problem.penalties import Custom, Penalty

EXACT = 1e-11  # of the largest pull: less than that is no residual
ENOUGH = 1e-7  # what rounding may leave
MOST_STEPS = 5000
SHORTEST = 2.0**-30  # a step that must be shorter leads nowhere


def check_general(penalty: Penalty | None, family: Family) -> None:
    """Refuse a `Custom` for features that are coupled already."""
    part = next((p for p in (penalty.parts if penalty else ()) if p.kind == Custom.kind), None)
    coupled = [member.name for member in family.members if member.coupled]
    if part is not None and coupled:
        raise ValueError(
            f"penalty={part!r} is not defined for family={coupled[0]!r}, whose features are coupled already; take "
            "another family, 'poisson' for counts"
        )


def standing_pulls(
    weights_at: Callable[[np.ndarray], np.ndarray],
    tau: float,
    gradient: Callable[[np.ndarray], np.ndarray],
    shape: tuple[int, int],
) -> tuple[np.ndarray, float]:
    """Pulls t (R, n) with t = -tau R'(W(t)), and the largest difference that is left.

    t is the slope of the likelihood at W(t), so that the difference d = -tau R' - t is the slope of the penalised one,
    and t + s d is a step uphill. From t = 0, that is from tau = 0; the step is that of Barzilai and Borwein (1988), at
    most 1, and is halved where the slope along it has grown (no maximum lies there) or turned too far.
    """
    t, step = np.zeros(shape), 1.0
    w = weights_at(t).copy()
    off = -tau * gradient(w) - t
    residual = first = np.abs(off).max(initial=0.0)
    for _ in range(MOST_STEPS):
        if residual <= EXACT * max(np.abs(t).max(initial=0.0), first) or step < SHORTEST:
            break
        new_w = _weights(weights_at, t + step * off)
        if new_w is None:
            step *= 0.5
            continue
        new_off = -tau * gradient(new_w) - (t + step * off)
        before, after = (float(np.sum(slope * (w - new_w))) for slope in (off, new_off))
        if not -before <= after <= before:
            step *= 0.5
            continue
        t, w, off, residual = t + step * off, new_w, new_off, np.abs(new_off).max(initial=0.0)
        step = min(1.0, step * before / (before - after)) if before > after else step
    if residual <= ENOUGH * max(np.abs(t).max(initial=0.0), first):
        return t, float(residual)
    raise ValueError(
        f"penalty=Custom(gradient) does not contract at tau={tau:g}: t = -tau R'(W(t)) is not reached, the largest "
        f"difference (residual) stays {residual:.3g} where it began with {first:.3g}; take a smaller tau, or a concave "
        "R, whose gradient falls as weights rise"
    )


def _weights(weights_at: Callable[[np.ndarray], np.ndarray], t: np.ndarray) -> np.ndarray | None:
    """Weights under the pulls t, None where a mean has left its domain."""
    try:
        with np.errstate(all="ignore"):
            w = weights_at(t).copy()
    except ValueError:  # of an infinite weight
        return None
    return w if np.isfinite(w).all() else None
