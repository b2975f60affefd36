"""Families of positive values with an estimated dispersion."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from scipy.optimize.elementwise import find_root
from scipy.special import digamma

from streamnb.core import arguments
from streamnb.problem.family import ABOVE_ZERO, FLOOR, Family, blocks_of


class _Positive(Family):
    """Positive values with a dispersion, estimated by Pearson's statistic or by maximum likelihood."""

    _function: ClassVar[str]  # the moment that maximum likelihood needs as well as the sum
    cure = "take dispersion='pearson', which zeros do not mind"

    def __init__(self, dispersion: str = "pearson"):
        self.by = arguments.one_of("dispersion", dispersion, ["pearson", "ml"])

    @property
    def moments(self):  # type: ignore[override]
        return ("sum", self._function if self.by == "ml" else "sum_sq")

    @property
    def lowest(self):  # type: ignore[override]
        return ABOVE_ZERO if self.by == "ml" else 0.0

    def _to_state(self) -> dict[str, Any]:
        return {"dispersion": self.by}

    def __repr__(self) -> str:
        return f"{type(self).__name__}(dispersion={self.by!r})"

    def dispersion(self, stats, scale):
        weight = stats.weight
        phi = np.zeros(stats.n_features)
        for columns in blocks_of(stats):
            factor = 1.0 if scale is None else scale[columns]
            means = stats.table("sum").value(columns) / np.where(weight > 0, weight, 1.0)[:, None] * factor
            if self.by == "ml":
                functions = stats.table(self._function).value(columns) / np.where(weight > 0, weight, 1.0)[:, None]
                phi[columns] = self.most_likely(weight @ self.excess(means, functions, factor) / weight.sum())
            else:
                # classes with mean 0 are left out
                scatter = stats.scatter(columns) * factor**2
                ratio = np.divide(scatter, self.variance(means), out=np.zeros_like(scatter), where=means > 0)
                phi[columns] = ratio.sum(axis=0) / weight.sum()
            phi[columns] = np.maximum(phi[columns], self.floor(weight @ means / weight.sum()))
        return phi

    def floor(self, mean: np.ndarray) -> Any:
        """The smallest phi of features with these means over all rows."""
        return FLOOR

    def excess(self, means: np.ndarray, functions: np.ndarray, factor: Any) -> np.ndarray:
        """The function of the mean less the mean of the function, up to sign; x is multiplied by `factor`."""
        raise NotImplementedError

    def most_likely(self, excess: np.ndarray) -> np.ndarray:
        """The maximum-likelihood phi for a mean excess."""
        raise NotImplementedError


class Gamma(_Positive):
    """Waiting times, sizes: g(m) = -1 / m, variance phi m^2; phi = 1 would be the exponential.

    Parameters
    ----------
    dispersion : {"pearson", "ml"}
        phi by Pearson's statistic, or by maximum likelihood: the shape k = 1 / phi is the root of
        ``ln k - psi(k) = sum_y N_y / N (ln m_y - <ln x>_y)`` (Minka, 2002), for values above 0.

    Examples
    --------
    >>> import streamnb as snb
    >>> model = snb.LinearNB(snb.Gamma()).fit([[0.5], [1.5], [9.0], [14.0]], [0, 0, 1, 1])
    >>> model.predict([[1.0], [10.0]]).tolist()
    [0, 1]
    """

    name = "gamma"
    _function = "log_sum"

    def excess(self, means, functions, factor):
        return np.where(means > 0, np.log(np.where(means > 0, means, 1.0)) - functions - np.log(factor), 0.0)

    def most_likely(self, excess):
        return 1.0 / _shape(np.maximum(excess, FLOOR / 4.0))

    def link(self, m):
        return -1.0 / m

    def variance(self, m):
        return m * m

    def cumulant(self, m):
        return np.log(m)


class InverseGaussian(_Positive):
    """First passage times: g(m) = -1 / (2 m^2), variance phi m^3.

    Parameters
    ----------
    dispersion : {"pearson", "ml"}
        phi by Pearson's statistic, or by maximum likelihood: ``phi = sum_y N_y / N (<1/x>_y - 1 / m_y)`` (Tweedie,
        1957), for values above 0.

    Examples
    --------
    >>> import streamnb as snb
    >>> model = snb.LinearNB(snb.InverseGaussian()).fit([[0.5], [1.5], [9.0], [14.0]], [0, 0, 1, 1])
    >>> model.predict([[1.0], [10.0]]).tolist()
    [0, 1]
    """

    name = "inverse_gaussian"
    _function = "inv_sum"

    def excess(self, means, functions, factor):
        return np.where(means > 0, functions / factor - 1.0 / np.where(means > 0, means, 1.0), 0.0)

    def most_likely(self, excess):
        return excess

    def floor(self, mean):
        return FLOOR / np.where(mean > 0, mean, 1.0)  # phi is in units of 1 / x

    def link(self, m):
        return -0.5 / (m * m)

    def variance(self, m):
        return m**3

    def cumulant(self, m):
        return -1.0 / m


def _shape(excess: np.ndarray) -> np.ndarray:
    """The root k of ln k - psi(k) = excess > 0, which lies between 1 / (2 excess) and 1 / excess."""

    def rise(k: np.ndarray, wanted: np.ndarray) -> np.ndarray:
        series = 1.0 / (2.0 * k) + 1.0 / (12.0 * k**2) - 1.0 / (120.0 * k**4) + 1.0 / (252.0 * k**6)
        return wanted - np.where(k > 100.0, series, np.log(k) - digamma(k))  # where ln k and psi(k) would cancel

    return find_root(rise, (0.5 / excess, 1.0 / excess), args=(excess,)).x
