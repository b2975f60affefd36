"""Exponential families: ln p(x | theta) = (x theta - c(theta)) / phi + h(x, phi); seed of all weights.

A family is one class: its link g (theta = g(m) of the mean m), its variance function c''(theta) = 1 / g'(m), its
cumulant c, all as functions of the mean, the conjugate prior that smooths, and its dispersion phi.
"""

from typing import Any, ClassVar

import numpy as np
from scipy.special import logit

from streamnb import _checks, persistence
from streamnb.stats.class_stats import ClassStats

FLOOR = 1e-12  # of an estimated dispersion of positive values: they do not vary within classes
COLUMN_BLOCK = 1 << 16  # features looked at at once where a whole (K, n_features) temporary can be spared


class Family(persistence.Parameters):
    """What a family has to say; subclass it and give an object wherever a family's name may stand.

    Functions of the mean take and return arrays; they need not be defined outside the domain's inside.
    """

    name: ClassVar[str]
    moment: ClassVar[str] = "sum"  # whose class sums are the sufficient statistic
    moments: ClassVar[tuple[str, ...]] = ("sum",)  # what a scan must accumulate
    lowest: float = -np.inf  # smaller values of x have no probability
    highest: float = np.inf  # nor have larger ones
    coupled: ClassVar[bool] = False  # True where the means of a class sum to one (multinomial)

    def __init_subclass__(cls) -> None:
        persistence.register(cls)  # so that a model with it can be saved

    @property
    def nonnegative(self) -> bool:
        """True where negative values have no probability."""
        return self.lowest >= 0.0

    def link(self, m: np.ndarray) -> np.ndarray:
        """theta = g(m)."""
        raise NotImplementedError

    def variance(self, m: np.ndarray) -> np.ndarray:
        """c''(theta) = 1 / g'(m)."""
        raise NotImplementedError

    def mean_slope(self, m: np.ndarray) -> np.ndarray:
        """dm / dtheta = 1 / g'(m); not the variance only where the means of a class are coupled."""
        return self.variance(m)

    def cumulant(self, m: np.ndarray) -> np.ndarray:
        """c(theta) of theta = g(m)."""
        raise NotImplementedError

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
        for columns in column_blocks(stats.n_features, COLUMN_BLOCK):
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
        return np.log(m / (1.0 + m))

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
        return np.log(m / (self.r + m))

    def variance(self, m):
        return m * (self.r + m) / self.r

    def cumulant(self, m):
        return self.r * np.log1p(m / self.r)


class _Positive(Family):
    """Positive values with a dispersion; phi is Pearson's, classes with mean 0 left out."""

    lowest = 0.0
    moments = ("sum", "sum_sq")

    def dispersion(self, stats, scale):
        weight = stats.weight
        phi = np.zeros(stats.n_features)
        for columns in column_blocks(stats.n_features, COLUMN_BLOCK):
            means = stats.table("sum").value(columns) / np.where(weight > 0, weight, 1.0)[:, None]
            if scale is not None:
                means = means * scale[columns]
            scatter = stats.scatter(columns) * (1.0 if scale is None else scale[columns] ** 2)
            ratio = np.divide(scatter, self.variance(means), out=np.zeros_like(scatter), where=means > 0)
            phi[columns] = ratio.sum(axis=0) / weight.sum()
        return np.maximum(phi, FLOOR)


class Gamma(_Positive):
    """Waiting times, sizes: g(m) = -1 / m, variance phi m^2; phi = 1 would be the exponential."""

    name = "gamma"

    def link(self, m):
        return -1.0 / m

    def variance(self, m):
        return m * m

    def cumulant(self, m):
        return np.log(m)


class InverseGaussian(_Positive):
    """First passage times: g(m) = -1 / (2 m^2), variance phi m^3."""

    name = "inverse_gaussian"

    def link(self, m):
        return -0.5 / (m * m)

    def variance(self, m):
        return m**3

    def cumulant(self, m):
        return -1.0 / m


FAMILIES: dict[str, type[Family]] = {
    f.name: f for f in (Gaussian, Poisson, Bernoulli, Multinomial, Geometric, Gamma, InverseGaussian)
}  # those that need no parameter


def as_family(family: Any) -> Family:
    """A family by name or object."""
    if isinstance(family, Family):
        return family
    if isinstance(family, type) and issubclass(family, Family):
        raise TypeError(f"family={family.__name__} is a class; give an object: {family.__name__}()")
    return FAMILIES[_checks.one_of("family", family, FAMILIES)]()


def column_blocks(n_features: int, step: int) -> list[slice]:
    """Slices that cut the features into blocks of `step`."""
    return [slice(a, min(a + step, n_features)) for a in range(0, n_features, step)]
