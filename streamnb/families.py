"""Exponential families: ln p(x | theta) = (x theta - c(theta)) / phi + h(x, phi); seed of all weights.

A family is one class: its link g (theta = g(m) of the mean m), its variance function c''(theta) = 1 / g'(m), its
cumulant c, all as functions of the mean, the conjugate prior that smooths, and its dispersion phi.
"""

from typing import Any, ClassVar

import numpy as np
from scipy.optimize.elementwise import find_root
from scipy.special import digamma, gammaln, logit, polygamma

from streamnb import _checks, persistence
from streamnb.stats.class_stats import MOMENTS, ClassStats

MEANS = {"above": (0.0, 1.0), "deviation": (0.0, np.inf)}  # between which the means of a moment other than x lie
ABOVE_ZERO = np.nextafter(0.0, 1.0)  # the lowest value of families without 0
FLOOR = 1e-12  # of an estimated dispersion of positive values of mean 1: they do not vary within classes
_LACKS = "family={!r} has no {}; a family of your own defines link(m), variance(m) and cumulant(m), see snb.Family"


class Family(persistence.Parameters):
    """What a family has to say; subclass it and give an object wherever a family's name may stand.

    Functions of the mean take and return arrays; they need not be defined outside the domain's inside.
    """

    name: ClassVar[str]
    moment: ClassVar[str] = "sum"  # whose class sums are the sufficient statistic
    moments: ClassVar[tuple[str, ...]] = ("sum",)  # what a scan must accumulate
    lowest: float = -np.inf  # smaller values of x have no probability
    highest: float = np.inf  # nor have larger ones
    coupled: ClassVar[bool] = False  # True where the means of a class sum to one (multinomial); c is 0
    centre: float = 0.0  # that of the moment "deviation"
    cure: ClassVar[str] = "drop such rows, or leave the feature out"  # of a moment that is NaN

    def __init_subclass__(cls) -> None:
        cls.name = getattr(cls, "name", cls.__name__.lower())
        if "moment" in vars(cls) and "moments" not in vars(cls):
            cls.moments = (_checks.one_of("moment", cls.moment, MOMENTS),)
        persistence.register(cls)  # so that a model with it can be saved

    @property
    def members(self) -> tuple["Family", ...]:
        """The families of the columns: this one, or those of a `Mixed`."""
        return (self,)

    def parts(self, n_features: int) -> list[tuple["Family", Any]]:
        """Families with their columns, each a slice or sorted numbers."""
        return [(self, slice(0, n_features))]

    def named(self, names: Any) -> "Family":
        """The same where the columns have these names, (n_features,) or None."""
        return self

    @property
    def nonnegative(self) -> bool:
        """True where negative values have no probability."""
        return self.lowest >= 0.0

    @property
    def mean_range(self) -> tuple[float, float]:
        """The lowest and highest mean of its moment."""
        return (self.lowest, self.highest) if self.moment == "sum" else MEANS.get(self.moment, (-np.inf, np.inf))

    def link(self, m: np.ndarray) -> np.ndarray:
        """theta = g(m)."""
        raise NotImplementedError(_LACKS.format(self, "link(m)"))

    def variance(self, m: np.ndarray) -> np.ndarray:
        """c''(theta) = 1 / g'(m)."""
        raise NotImplementedError(_LACKS.format(self, "variance(m)"))

    def mean_slope(self, m: np.ndarray) -> np.ndarray:
        """dm / dtheta = 1 / g'(m); not the variance only where the means of a class are coupled."""
        return self.variance(m)

    def cumulant(self, m: np.ndarray) -> np.ndarray:
        """c(theta) of theta = g(m)."""
        raise NotImplementedError(_LACKS.format(self, "cumulant(m)"))

    def cumulant_change(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """c at mean b less c at mean a; a family whose c is large says how without cancellation."""
        return self.cumulant(b) - self.cumulant(a)

    def prior(self, mean: np.ndarray, smoothing: float, n_features: int) -> tuple[Any, float]:
        """Pseudo-sum, (n_columns,) or scalar, and pseudo-count added to each side.

        By default `smoothing` pseudo-rows at `mean`, the raw mean over all rows.
        """
        return smoothing * mean, smoothing

    def dispersion(self, stats: ClassStats, scale: np.ndarray | None) -> np.ndarray:
        """phi of each feature, (n_features,); `scale` is what the columns are multiplied by (idf), or None."""
        return np.ones(stats.n_features)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash((type(self), tuple(sorted(vars(self).items()))))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in vars(self).items())})"


class Gaussian(Family):
    """Normal features with one variance per feature, pooled within classes ((5.4), Shishkova 2016).

    Parameters
    ----------
    var_smoothing : float
        This part of the largest feature variance is added to every phi, as in scikit-learn.
    """

    name = "gaussian"
    moments = ("sum", "sum_sq")

    def __init__(self, var_smoothing: float = 1e-9):
        self.var_smoothing = _checks.finite_number("var_smoothing", var_smoothing, minimum=0.0)

    def link(self, m):
        return m

    def variance(self, m):
        return np.ones_like(m)

    def cumulant(self, m):
        return m * m / 2.0

    def cumulant_change(self, a, b):
        return (b - a) * (b + a) / 2.0

    def prior(self, mean, smoothing, n_features):
        return 0.0, 0.0

    def dispersion(self, stats, scale):
        weight = stats.weight
        total = weight.sum()
        within = np.empty(stats.n_features)
        overall = np.empty(stats.n_features)
        for columns in column_blocks(stats.n_features, stats.columns_at_once):
            within[columns] = stats.scatter(columns).sum(axis=0) / total
            sums = stats.table("sum").value(columns)
            means = sums / np.where(weight > 0, weight, 1.0)[:, None]
            centred = means - sums.sum(axis=0) / total
            overall[columns] = within[columns] + weight @ centred**2 / total
        if scale is not None:
            within, overall = within * scale**2, overall * scale**2
        largest = overall.max()
        # The floor keeps a feature that is constant within its classes from a weight without bound.
        return np.maximum(within + self.var_smoothing * largest, max(1e-15 * largest, np.finfo(float).tiny))


class Poisson(Family):
    """Counts: g(m) = ln m, phi = 1. Smoothed by pseudo-rows at the raw mean of all rows."""

    name = "poisson"
    lowest = 0.0

    def link(self, m):
        return np.log(m)

    def variance(self, m):
        return m

    def cumulant(self, m):
        return m


class Bernoulli(Family):
    """Presence, x > binarize: g(m) = ln(m / (1 - m)), phi = 1. Smoothed by Beta(s, s)."""

    name = "bernoulli"
    moment = "above"
    moments = ("above",)

    def link(self, m):
        return logit(m)

    def variance(self, m):
        return m * (1.0 - m)

    def cumulant(self, m):
        return -np.log1p(-m)

    def prior(self, mean, smoothing, n_features):
        return smoothing, 2.0 * smoothing


class Multinomial(Family):
    """Counts given their number in the row: g(p) = ln p, probabilities of a class sum to one.

    Smoothed by alpha = s for each feature. Its "number of rows" of a class is the sum of all its counts.
    """

    name = "multinomial"
    lowest = 0.0
    coupled = True

    def link(self, m):
        return np.log(m)

    def variance(self, m):
        return m * (1.0 - m)

    def mean_slope(self, m):
        return m

    def cumulant(self, m):
        return np.zeros_like(m)

    def prior(self, mean, smoothing, n_features):
        return smoothing, smoothing * n_features


class Binomial(Family):
    """Successes in k trials: g(m) = ln(m / (k - m)), phi = 1. Smoothed by pseudo-rows at the mean of all rows.

    Parameters
    ----------
    k : int
        Trials in each value; no value may be larger.
    """

    name = "binomial"
    lowest = 0.0

    def __init__(self, k: int):
        self.k = _checks.positive_integer("k", k)

    @property
    def highest(self):  # type: ignore[override]
        return self.k

    def link(self, m):
        return np.log(m / (self.k - m))

    def variance(self, m):
        return m * (self.k - m) / self.k

    def cumulant(self, m):
        return -self.k * np.log1p(-m / self.k)


class Geometric(Family):
    """Failures before a success, x = 0, 1, ..: g(m) = ln(m / (1 + m)), phi = 1."""

    name = "geometric"
    lowest = 0.0

    def link(self, m):
        return -np.log1p(1.0 / m)  # keeps the digits of large means

    def variance(self, m):
        return m * (1.0 + m)

    def cumulant(self, m):
        return np.log1p(m)


class NegativeBinomial(Family):
    """Overdispersed counts: g(m) = ln(m / (r + m)), phi = 1.

    Parameters
    ----------
    r : float
        Failures waited for; the variance of a count is m + m^2 / r.
    """

    name = "negative_binomial"
    lowest = 0.0

    def __init__(self, r: float):
        self.r = _checks.finite_number("r", r, minimum=np.finfo(float).tiny)

    def link(self, m):
        return -np.log1p(self.r / m)

    def variance(self, m):
        return m * (self.r + m) / self.r

    def cumulant(self, m):
        return self.r * np.log1p(m / self.r)


class _Positive(Family):
    """Positive values with a dispersion, by Pearson's statistic or by maximum likelihood."""

    function: ClassVar[str]  # the moment that maximum likelihood needs beside the sum
    cure = "take dispersion='pearson', which zeros do not mind"

    def __init__(self, dispersion: str = "pearson"):
        self.by = _checks.one_of("dispersion", dispersion, ["pearson", "ml"])

    @property
    def moments(self):  # type: ignore[override]
        return ("sum", self.function if self.by == "ml" else "sum_sq")

    @property
    def lowest(self):  # type: ignore[override]
        return ABOVE_ZERO if self.by == "ml" else 0.0

    def to_state(self) -> dict[str, Any]:
        return {"dispersion": self.by}

    def __repr__(self) -> str:
        return f"{type(self).__name__}(dispersion={self.by!r})"

    def dispersion(self, stats, scale):
        weight = stats.weight
        phi = np.zeros(stats.n_features)
        for columns in column_blocks(stats.n_features, stats.columns_at_once):
            factor = 1.0 if scale is None else scale[columns]
            means = stats.table("sum").value(columns) / np.where(weight > 0, weight, 1.0)[:, None] * factor
            if self.by == "ml":
                functions = stats.table(self.function).value(columns) / np.where(weight > 0, weight, 1.0)[:, None]
                phi[columns] = self.most_likely(weight @ self.excess(means, functions, factor) / weight.sum())
            else:
                # classes with mean 0 are left out
                scatter = stats.scatter(columns) * factor**2
                ratio = np.divide(scatter, self.variance(means), out=np.zeros_like(scatter), where=means > 0)
                phi[columns] = ratio.sum(axis=0) / weight.sum()
            phi[columns] = np.maximum(phi[columns], self.floor(weight @ means / weight.sum()))
        return phi

    def floor(self, mean: np.ndarray) -> Any:
        """The least phi of features with these means over all rows."""
        return FLOOR

    def excess(self, means: np.ndarray, functions: np.ndarray, factor: Any) -> np.ndarray:
        """How far the function of the mean lies from the mean of the function; `factor` is what x is multiplied by."""
        raise NotImplementedError

    def most_likely(self, excess: np.ndarray) -> np.ndarray:
        """phi of the mean excess."""
        raise NotImplementedError


class Gamma(_Positive):
    """Waiting times, sizes: g(m) = -1 / m, variance phi m^2; phi = 1 would be the exponential.

    Parameters
    ----------
    dispersion : {"pearson", "ml"}
        phi by Pearson's statistic, or by maximum likelihood: the shape k = 1 / phi is the root of
        ``ln k - psi(k) = sum_y N_y / N (ln m_y - <ln x>_y)`` (Minka, 2002), for values above 0.
    """

    name = "gamma"
    function = "log_sum"

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
    """

    name = "inverse_gaussian"
    function = "inv_sum"

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


class Laplace(Family):
    """Distances from a fixed centre a, T = abs(x - a), which are exponential: g(m) = -1 / m, phi = 1.

    Linear in T, not in x; smoothed by pseudo-rows at the mean T of all rows.

    Parameters
    ----------
    centre : float
        a; statistics should be scanned with ``scan(..., centre=a)``.
    """

    name = "laplace"
    moment = "deviation"
    moments = ("deviation",)

    def __init__(self, centre: float = 0.0):
        self.centre = _checks.finite_number("centre", centre)

    def link(self, m):
        return -1.0 / m

    def variance(self, m):
        return m * m

    def cumulant(self, m):
        return np.log(m)


class ChiSquared(Family):
    """Chi-squared with degrees of freedom of each class: T = ln x, theta half of them.

    ``c(theta) = ln Gamma(theta) + theta ln 2``, g the inverse of ``psi(theta) + ln 2``. Linear in ln x, so every value
    should be above 0; smoothed by pseudo-rows at the mean of ln x over all rows.
    """

    name = "chi_squared"
    lowest = ABOVE_ZERO
    moment = "log_sum"
    moments = ("log_sum",)

    def link(self, m):
        return inverse_digamma(m - np.log(2.0))

    def variance(self, m):
        return polygamma(1, self.link(m))

    def cumulant(self, m):
        theta = self.link(m)
        return gammaln(theta) + theta * np.log(2.0)


def inverse_digamma(value: np.ndarray) -> np.ndarray:
    """The root x > 0 of psi(x) = value, by Newton's method from below the root or next to it (Minka, 2000)."""
    value = np.asarray(value, dtype=np.float64)
    x = np.where(
        value >= -2.22, np.exp(np.maximum(value, -2.22)) + 0.5, -1.0 / (np.minimum(value, -2.22) + np.euler_gamma)
    )
    for _ in range(6):
        x = x - (digamma(x) - value) / polygamma(1, x)
    return x


def _shape(excess: np.ndarray) -> np.ndarray:
    """The root k of ln k - psi(k) = excess > 0, which lies between 1 / (2 excess) and 1 / excess."""

    def rise(k: np.ndarray, wanted: np.ndarray) -> np.ndarray:
        series = 1.0 / (2.0 * k) + 1.0 / (12.0 * k**2) - 1.0 / (120.0 * k**4) + 1.0 / (252.0 * k**6)
        return wanted - np.where(k > 100.0, series, np.log(k) - digamma(k))  # where the two logs would cancel

    return find_root(rise, (0.5 / excess, 1.0 / excess), args=(excess,)).x


FAMILIES: dict[str, type[Family]] = {
    f.name: f
    for f in (
        Gaussian,
        Poisson,
        Bernoulli,
        Multinomial,
        Geometric,
        Gamma,
        InverseGaussian,
        Laplace,
        ChiSquared,
    )
}  # those that need no parameter


def as_family(family: Any) -> Family:
    """A family by name or object."""
    if isinstance(family, Family):
        return family
    return FAMILIES[_checks.family_name(family, FAMILIES)]()


def column_blocks(n_features: int, step: int) -> list[slice]:
    """Slices that cut the features into blocks of `step`."""
    return [slice(a, min(a + step, n_features)) for a in range(0, n_features, step)]
