"""Regularisers R(w): what pulls the means of the two sides together, -R'(w) being the pull."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from streamnb import _checks, persistence


class Penalty(persistence.Parameters):
    """One regulariser, or a sum of some; `+` adds (additive regularisation)."""

    @property
    def parts(self) -> tuple[Any, ...]:
        return (self,)

    def __add__(self, other: "Penalty") -> "Penalty":
        if not isinstance(other, Penalty):
            return NotImplemented
        return _Sum(self.parts + other.parts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Penalty) and repr(self) == repr(other)

    def __hash__(self) -> int:
        return hash(repr(self))


@persistence.register
class L1(Penalty):
    """R = -sum_j tau_j abs(w_j): weights shrink and the weaker ones are exactly zero; closed form.

    Parameters
    ----------
    tau : float, grid of floats, or None
        None: a grid from the data, the taus that leave k features, k geometric from all to 1.
    scale : {None, "score"}
        None: tau_j = tau. "score": tau_j = tau sqrt(v_j), v_j the null variance of the score statistic, so that
        tau is a threshold on the z-score of the feature.
    n_taus : int
        Size of the grid from the data.
    """

    kind: ClassVar[str] = "l1"

    def __init__(self, tau: Any = None, scale: str | None = None, *, n_taus: int = 20):
        self.tau = None if tau is None else _checks.tau_grid("tau", tau)
        self.scale = _checks.one_of("scale", scale, [None, "score"])
        self.n_taus = _checks.positive_integer("n_taus", n_taus)

    def __repr__(self) -> str:
        return f"L1({_shown(self.tau)}, scale={self.scale!r}, n_taus={self.n_taus})"


@persistence.register
class L2(Penalty):
    """R = -(tau / 2) sum_j w_j^2: weights shrink, none is zero.

    Parameters
    ----------
    tau : float or grid of floats
    """

    kind: ClassVar[str] = "l2"

    def __init__(self, tau: Any):
        if tau is None:
            raise TypeError("tau=None should be a number or a grid of numbers: only L1 takes its grid from the data")
        self.tau = _checks.tau_grid("tau", tau)

    def __repr__(self) -> str:
        return f"L2({_shown(self.tau)})"


KINDS = (L1.kind, L2.kind)  # the order of the grid, slowest first


@persistence.register
class _Sum(Penalty):
    def __init__(self, parts: Any):
        kinds = [p.kind for p in parts]
        twice = [k for k in kinds if kinds.count(k) > 1]
        if twice:
            raise ValueError(f"penalty has {twice[0]!r} twice; put its taus into one grid")
        self._parts = tuple(sorted(parts, key=lambda p: KINDS.index(p.kind)))

    @property
    def parts(self) -> tuple[Any, ...]:
        return self._parts

    def __repr__(self) -> str:
        return " + ".join(map(repr, self._parts))

    def to_state(self) -> dict[str, Any]:
        return {"parts": list(self._parts)}


@dataclass(frozen=True)
class Pull:
    """The pull at one grid point: t = tau_1 sign(w) + tau_2 w, with tau_1 in units of sqrt(v) where `scored`."""

    l1: float = 0.0
    scored: bool = False
    l2: float = 0.0

    def thresholds(self, variance: np.ndarray) -> np.ndarray:
        """A feature is at zero while abs(t*) does not exceed this; `variance` is v of the score statistic."""
        return self.l1 * np.sqrt(variance) if self.scored else np.full(variance.shape, self.l1)


def as_penalty(penalty: Any) -> Penalty | None:
    """A penalty object or None; anything else is an error."""
    if penalty is None or isinstance(penalty, Penalty):
        return penalty
    raise TypeError(f"penalty={penalty!r} is unknown; it should be None, snb.L1(tau), snb.L2(tau) or a sum of these")


def pull_at(penalty: Penalty | None, point: dict[str, float]) -> Pull:
    """The pull of a penalty at a point of its grid."""
    scored = any(getattr(part, "scale", None) == "score" for part in (penalty.parts if penalty else ()))
    return Pull(point.get("l1", 0.0), scored, point.get("l2", 0.0))


def _shown(tau: np.ndarray | None) -> Any:
    return None if tau is None else tau.tolist() if len(tau) > 1 else float(tau[0])
