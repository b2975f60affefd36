"""The pull t = -R'(w) of a penalty; those of several penalties add."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Pull:
    """The pull of penalties at one point of their grids: t = tau_1 sign(w) + tau_2 w - sum of strength * r'(w).

    Attributes
    ----------
    l1, scored : float, bool
        tau_1, in units of sqrt(v) where `scored`.
    l2 : float
        tau_2.
    slopes : tuple of (strength, r')
        r' takes an array of weights; it never increases, and has the opposite sign of w.
    general : tuple of (strength, R')
        R' takes all weights (R, n_features) and returns an array of the same shape.
    top_k, by : int, {label: int} or None, str
        The number of features kept in each row of weights, or in the row of each label, and the criterion.
    decorrelation, curved : float, bool
        A multiple of the weights of the other classes, in units of min a where `curved`.
    """

    l1: float = 0.0
    scored: bool = False
    l2: float = 0.0
    slopes: tuple[tuple[float, Callable[[np.ndarray], np.ndarray]], ...] = ()
    general: tuple[tuple[float, Callable[[np.ndarray], np.ndarray]], ...] = ()
    top_k: int | Mapping[Any, int] | None = None
    by: str = "weight"
    decorrelation: float = 0.0
    curved: bool = False

    def __add__(self, other: "Pull") -> "Pull":
        keeps = self if other.top_k is None else other
        return Pull(
            self.l1 + other.l1,
            self.scored or other.scored,
            self.l2 + other.l2,
            self.slopes + other.slopes,
            self.general + other.general,
            keeps.top_k,
            keeps.by,
            self.decorrelation + other.decorrelation,
            self.curved or other.curved,
        )

    @property
    def none(self) -> bool:
        """True where no mean is moved and no feature is left out."""
        alone = self.l1 == self.l2 == self.decorrelation == 0.0 and self.top_k is None
        return alone and not self.slopes and not self.general

    @property
    def smooth(self) -> bool:
        """True where the pull depends on the weight."""
        return self.l2 > 0.0 or bool(self.slopes)

    def thresholds(self, sd: np.ndarray) -> np.ndarray:
        """tau_1 of each feature; `sd` is sqrt(v) of its score statistic."""
        return self.l1 * sd if self.scored else np.full(sd.shape, self.l1)

    def at_zero(self, t_star: np.ndarray) -> Any:
        """The additional pull on a weight next to zero on the side of t*: -tau r'(0+) or tau r'(0-)."""
        further: Any = 0.0
        for strength, slope in self.slopes:
            below, above = np.abs(slope(np.array([-1e-300, 1e-300])))
            further = further + strength * np.where(t_star > 0.0, above, below)
        return further

    def of_weights(self, w: np.ndarray) -> np.ndarray:
        """The part of the pull that depends on the weight, tau_2 w - sum of tau r'(w)."""
        pull = self.l2 * w
        for strength, slope in self.slopes:
            pull = pull - strength * slope(w)
        return pull
