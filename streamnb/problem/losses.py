r"""Losses of predicted means as functions of a linear predictor, from the exponential family.

They are values, which know nothing of estimators. A row with target y has the mean m = g^-1(s), s its linear predictor
and g the link. Half the unit deviance of the family with the variance m^p (Tweedie) is its loss (McCullagh and Nelder,
Generalized Linear Models, 1989, ch. 2; Jorgensen, Exponential dispersion models, J. R. Stat. Soc. B 49, 1987),

    l(m; y) = int_m^y (y - t) / t^p dt = y^(2-p) / ((1-p) (2-p)) - y m^(1-p) / (1-p) + m^(2-p) / (2-p),

with the limits (y - m)^2 / 2 for p = 0 (squared), y ln(y / m) - y + m for p = 1 (Poisson), and y / m - ln(y / m) - 1
for p = 2 (Gamma). Its slope in the mean is (m - y) / m^p. Quantiles have the pinball loss in place of a deviance.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from scipy.special import xlogy

from streamnb.core import arguments
from streamnb.kernels import descent

LINKS = "log", "identity"
OVERFLOWING = 300.0  # an offset beyond it is no logarithm of an exposure: exp would soon leave float64
KINDS = {0.0: "squared", 1.0: "Poisson", 2.0: "Gamma", 3.0: "inverse Gaussian"}


class Loss:
    """A loss of a row's linear predictor s and target y; arrays of both broadcast.

    `y` is that of `absorbed`, which makes an offset of s a part of the target and the weight.

    Attributes
    ----------
    power : float
        The variance of targets grows as their mean to this power.
    link : {"log", "identity"}
    """

    convex: ClassVar[bool] = True
    power: float
    link: str

    @property
    def kind(self) -> str:
        """The name of the family."""
        raise NotImplementedError

    def mean(self, s: np.ndarray) -> np.ndarray:
        """The prediction."""
        raise NotImplementedError

    def linked(self, mean: np.ndarray) -> np.ndarray:
        """The linear predictor of a mean."""
        raise NotImplementedError

    def values(self, s: np.ndarray, y: np.ndarray) -> np.ndarray:
        """The losses, at least 0, and 0 where the prediction is y; inf for means that are impossible."""
        raise NotImplementedError

    def slopes(self, s: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Their derivatives in s."""
        raise NotImplementedError

    def curvatures(self, s: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Their second derivatives in s where the loss is convex, else the expectation of these: never below 0.

        Or the curvatures of parabolas that touch the losses at s and are nowhere below them.
        """
        raise NotImplementedError

    def saturated(self, y: np.ndarray) -> np.ndarray:
        """The part of the losses that depends on y alone; the rest is linear in y."""
        raise NotImplementedError

    def level(self, y: np.ndarray) -> np.ndarray:
        """What bounds slopes and curvatures beside the losses; see `slopes_bound`."""
        raise NotImplementedError

    def evaluated(self, s: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Losses, which rounding may leave below 0, and slopes, of s (n_rows, n_models) and y (n_rows, 1)."""
        return self.values(s, y), self.slopes(s, y)

    def constant(self, y: np.ndarray, weight: np.ndarray) -> float:
        """The linear predictor of the best constant prediction for rows with targets and weights (n_rows,)."""
        raise NotImplementedError

    def slopes_bounds(self, losses: float, level: float, weight: np.ndarray) -> np.ndarray:
        """Upper bounds of weighted sums of ``abs(slope)`` over rows of these total weights; else as `slopes_bound`."""
        raise NotImplementedError

    def check(self, y: np.ndarray, weight: np.ndarray | None = None, first_row: int = 0) -> None:
        """Raise for targets that are impossible, (n_rows,)."""

    def absorbed(
        self, y: np.ndarray, weight: np.ndarray | None, offset: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray | None]:
        """Targets and weights by which s without its offset has the losses of s with it."""
        return (y if offset is None else y - offset), weight

    def check_offset(self, offset: np.ndarray, first_row: int = 0) -> None:
        """Raise for offsets that are impossible, (n_rows,)."""
        most = OVERFLOWING if self.link == "log" else 1e100
        wrong = np.flatnonzero(~(np.abs(offset) <= most))
        if wrong.size:
            raise ValueError(
                f"offset has {offset[wrong[0]]} at row {first_row + wrong[0]}; it should be finite"
                + (", the logarithm of an exposure above 0: np.log(exposure)" if self.link == "log" else "")
            )


@dataclass(frozen=True)
class TweedieLoss(Loss):
    """Half the unit deviance of the family with variance m^power.

    Attributes
    ----------
    power : float
        0, or from 1 to 3 (but for inverse Gaussian, 3, at most 2).
    link : {"log", "identity"}
    """

    power: float = 0.0
    link: str = "identity"

    def __post_init__(self) -> None:
        power = arguments.finite_number("power", self.power)
        if power not in KINDS and not 1.0 <= power <= 2.0:
            raise ValueError(
                f"power={self.power!r} should be 0 (squared), from 1 (Poisson) to 2 (Gamma), or 3 (inverse Gaussian): "
                "of others there is no family, or none that is useful for regression"
            )
        arguments.one_of("link", self.link, LINKS)
        object.__setattr__(self, "power", power)

    @property
    def convex(self) -> bool:  # type: ignore[override]
        """Whether the loss is convex in s."""
        return 1.0 <= self.power <= 2.0 if self.link == "log" else self.power == 0.0

    @property
    def kind(self) -> str:
        """The name of the family."""
        return KINDS.get(self.power, "Tweedie")

    def mean(self, s: np.ndarray) -> np.ndarray:
        return np.exp(s) if self.link == "log" else s

    def linked(self, mean: np.ndarray) -> np.ndarray:
        return np.log(mean) if self.link == "log" else mean

    def values(self, s: np.ndarray, y: np.ndarray) -> np.ndarray:
        with np.errstate(all="ignore"):
            found = self._values(s, y)
            if self.link == "identity" and self.power:
                found = np.where(s > 0.0, found, np.inf)
        return np.where(found >= 0.0, found, np.where(np.isnan(found), np.inf, 0.0))  # below 0 by rounding

    def _values(self, s: np.ndarray, y: np.ndarray) -> np.ndarray:
        p, m = self.power, self.mean(s)
        if p == 0.0:
            return 0.5 * (y - m) ** 2
        if p == 1.0:
            return self.saturated(y) + (m - y * self._log_mean(s))
        if p == 2.0:
            return self.saturated(y) + (y / m + self._log_mean(s))
        a, b = 1.0 - p, 2.0 - p
        return self.saturated(y) - y * self._power(s, a) / a + self._power(s, b) / b

    def saturated(self, y: np.ndarray) -> np.ndarray:
        p = self.power
        if p == 0.0:
            return 0.5 * y * y
        if p == 1.0:
            return xlogy(y, y) - y
        return -np.log(y) - 1.0 if p == 2.0 else y ** (2.0 - p) / ((1.0 - p) * (2.0 - p))

    def level(self, y: np.ndarray) -> np.ndarray:
        squares = self.power == 0.0 and self.link == "identity"
        return np.ones_like(y) if squares else np.abs(y) ** (2.0 - self.power)

    def _log_mean(self, s: np.ndarray) -> np.ndarray:
        return s if self.link == "log" else np.log(s)

    def _power(self, s: np.ndarray, exponent: float) -> np.ndarray:
        """The mean to a power."""
        return np.exp(exponent * s) if self.link == "log" else s**exponent

    def slopes(self, s: np.ndarray, y: np.ndarray) -> np.ndarray:
        with np.errstate(all="ignore"):
            if self.link == "identity":
                return s - y if self.power == 0.0 else (s - y) / s**self.power
            if self.power == 2.0:
                return 1.0 - y * np.exp(-s)
            return (np.exp(s) - y) * np.exp((1.0 - self.power) * s)

    def evaluated(self, s: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if self.link == "identity" or self.power not in (1.0, 2.0):
            return super().evaluated(s, y)
        y, losses, slopes = y[:, 0], np.empty(s.shape), np.empty(s.shape)
        parts = (1.0, np.ones(len(y)), y) if self.power == 1.0 else (-1.0, y, np.ones(len(y)))
        descent.exponential_rows(s, *parts, self.saturated(y), losses, slopes)
        return losses, slopes

    def curvatures(self, s: np.ndarray, y: np.ndarray) -> np.ndarray:
        p = self.power
        with np.errstate(all="ignore"):
            if self.link == "identity":
                return np.ones(np.broadcast_shapes(s.shape, y.shape)) if p == 0.0 else s**-p
            if not self.convex:
                return np.exp((2.0 - p) * s)
            return (2.0 - p) * np.exp((2.0 - p) * s) + (p - 1.0) * y * np.exp((1.0 - p) * s)

    def constant(self, y: np.ndarray, weight: np.ndarray) -> float:
        return float(self.linked(np.array([(weight * y).sum() / weight.sum()]))[0])

    def slopes_bounds(self, losses: float, level: float, weight: np.ndarray) -> np.ndarray:
        if self.link == "identity":  # by Cauchy and Schwarz, of squares
            return np.sqrt(2.0 * losses) * np.sqrt(weight)
        return np.full(len(weight), slopes_bound(losses, level))

    def check(self, y: np.ndarray, weight: np.ndarray | None = None, first_row: int = 0) -> None:
        if self.power == 0.0:
            return
        wrong = y <= 0.0 if self.power >= 2.0 else y < 0.0
        at = np.flatnonzero(wrong if weight is None else wrong & (weight > 0.0))
        if at.size:
            lowest = "above 0" if self.power >= 2.0 else "at least 0"
            cure = {
                1.0: "for other numbers take squared errors, such as snb.Ridge has",
                2.0: "with zeros among them take a Tweedie model of power 1.5, or leave out rows without an amount",
            }.get(self.power, "leave these rows out, or use another power")
            raise ValueError(
                f"y has {y[at[0]]:g} at row {first_row + at[0]}; targets of a {self.kind} model should be {lowest}: "
                + cure
            )

    def absorbed(
        self, y: np.ndarray, weight: np.ndarray | None, offset: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray | None]:
        r"""As of `Loss`.

        With the log link, ``l(e^o m; y) = e^((2 - p) o) l(m; y e^-o)``: an offset o is an exposure e^o, by which the
        target is divided and, to the power 2 - p, the weight multiplied. Squared losses subtract it from the target.
        """
        if offset is None or self.link == "identity":
            return super().absorbed(y, weight, offset)
        factor = np.exp((2.0 - self.power) * offset)
        return y * np.exp(-offset), factor if weight is None else weight * factor

    def check_offset(self, offset: np.ndarray, first_row: int = 0) -> None:
        """Raise for offsets that are impossible, (n_rows,)."""
        if self.link == "identity" and self.power:
            raise ValueError(f"offset= needs link='log', or power=0; the model has power={self.power:g} and {self}")
        super().check_offset(offset, first_row)


@dataclass(frozen=True)
class QuantileLoss(Loss):
    """Half the pinball loss of a quantile q, ``(q - [y < s]) (y - s) / 2`` (Koenker and Bassett 1978).

    Of the median it is a quarter of the absolute error. Training minimises a smooth loss, which is above it by at most
    ``width * ln(2) / 2`` (Fasiolo et al., Fast calibrated additive quantile regression, JASA 2021):

        (q (y - s) + width ln(1 + exp((s - y) / width))) / 2.

    Its second derivatives all but vanish away from y, so that curvatures are those of parabolas above it, which touch
    it at s (Jaakkola and Jordan 2000; Hunter and Lange 2000): about ``1 / 4 abs(y - s)``.

    Attributes
    ----------
    quantile : float, 0 < quantile < 1
    width : float
        Of the smooth loss, above 0 where it is trained; `values` are those of the pinball loss itself.
    """

    quantile: float = 0.5
    width: float = 0.0
    power: float = field(default=0.0, init=False, repr=False)
    link: str = field(default="identity", init=False, repr=False)

    def __post_init__(self) -> None:
        quantile = arguments.finite_number("quantile", self.quantile)
        if not 0.0 < quantile < 1.0:
            raise ValueError(f"quantile={self.quantile!r} should be between 0 and 1: 0.9 has 90 % of the numbers below")

    @property
    def kind(self) -> str:
        return "quantile"

    @property
    def steepest(self) -> float:
        """The largest slope."""
        return 0.5 * max(self.quantile, 1.0 - self.quantile)

    def mean(self, s: np.ndarray) -> np.ndarray:
        return s

    def linked(self, mean: np.ndarray) -> np.ndarray:
        return mean

    def values(self, s: np.ndarray, y: np.ndarray) -> np.ndarray:
        return 0.5 * (self.quantile * (y - s) + np.maximum(s - y, 0.0))

    def slopes(self, s: np.ndarray, y: np.ndarray) -> np.ndarray:
        return self.evaluated(s, y)[1]

    def evaluated(self, s: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        z = (s - y) / self.width
        small = np.exp(-np.abs(z))
        share = np.where(z < 0.0, small, 1.0) / (1.0 + small)
        losses = np.maximum(z, 0.0) + np.log1p(small) - self.quantile * z
        return 0.5 * self.width * losses, 0.5 * (share - self.quantile)

    def curvatures(self, s: np.ndarray, y: np.ndarray) -> np.ndarray:
        z = np.maximum(np.abs(s - y) / self.width, 1e-3)
        return np.tanh(0.5 * z) / (4.0 * self.width * z)

    def saturated(self, y: np.ndarray) -> np.ndarray:
        return 0.5 * y * y  # for `most`: no part of these losses depends on y alone

    def level(self, y: np.ndarray) -> np.ndarray:
        return np.ones_like(y)

    def constant(self, y: np.ndarray, weight: np.ndarray) -> float:
        order = np.argsort(y, kind="stable")
        up_to = np.cumsum(weight[order])
        return float(y[order[np.searchsorted(up_to, self.quantile * up_to[-1] * (1.0 - 1e-12))]])

    def slopes_bounds(self, losses: float, level: float, weight: np.ndarray) -> np.ndarray:
        return self.steepest * weight

    def most(self, squares: float, weight: float) -> float:
        """A bound of the smooth losses of rows, given half the squares of their residuals (Cauchy and Schwarz)."""
        return self.steepest * np.sqrt(2.0 * squares * weight) + 0.5 * np.log(2.0) * self.width * weight


SQUARES = TweedieLoss()  # of least squares


def slopes_bound(losses: float, level: float) -> float:
    """An upper bound of the weighted sums of ``abs(slope)`` and of curvatures, for the log link and for squares.

    Parameters
    ----------
    losses : float
        An upper bound of the weighted sum of losses.
    level : float
        The weighted sum of `Loss.level`.

    Notes
    -----
    In units of level, with t = ln(m / y) and 1 <= p <= 2: abs(l'(t)) is the integral of l'' from 0 to t, and
    l'' <= abs(l') + 1, so that abs(l') <= l + abs(t) <= 2 l + 1, as l >= abs(t) - 1. For p = 0 and 3, abs(l') is at
    most 4 l + 2.
    """
    return 4.0 * losses + 3.0 * level
