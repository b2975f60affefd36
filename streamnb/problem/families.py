"""The exponential families, and their registry."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from scipy.optimize.elementwise import find_root
from scipy.special import digamma, gammaln, logit, polygamma

from streamnb.core import arguments
from streamnb.problem.family import ABOVE_ZERO, FLOOR, Family, blocks_of
from streamnb.problem.multinomial import Categorical, Multinomial
from streamnb.problem.points import COVARIANCES, LEDOIT_WOLF, as_maps, as_shrinkage, points_of
from streamnb.rows.preparing import MAPS
from streamnb.stats.complements import HEAVY

Formula = Callable[[], np.ndarray]


class _Positive(Family):
    """Positive values with a dispersion, estimated by Pearson's statistic or by maximum likelihood."""

    _function: ClassVar[str]  # the moment that maximum likelihood needs as well as the sum
    cure = "use dispersion='pearson', which accepts zeros"

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


def _chosen(m: np.ndarray, room: np.ndarray | None, plain: Formula, roomy: Formula) -> np.ndarray:
    """A function of means: `roomy`, from highest mean - m, where m is close to the highest mean, else `plain`."""
    if room is None:
        return plain()
    with np.errstate(divide="ignore", invalid="ignore"):  # where a mean is rounded to the highest mean or above
        return np.where(HEAVY * room < m, roomy(), plain())


class Gaussian(Family):
    """Normal features with one variance per feature, pooled within classes ((5.4), Shishkova 2016).

    Or normal rows: dependent features, with one covariance for all classes (linear discriminant analysis) or one for
    each (quadratic), from products of features summed in one scan (``moments=["gram"]``). This needs scheme="joint",
    one label per row, no penalty and no idf. Constant features are left out.

    Parameters
    ----------
    var_smoothing : float
        This fraction of the largest feature variance is added to every phi, as in scikit-learn; for "diagonal" and
        "own".
    covariance : {"diagonal", "own", "pooled", "full"}
        "own": a variance for each class and feature, as scikit-learn's `GaussianNB` has it. Scores are then quadratic:
        ``ln P_y - sum_j [(x_j - m_yj)^2 / v_yj + ln(2 pi v_yj)] / 2``; there is no `coef_`, and no penalty.
        "pooled": a covariance of all classes, with linear scores; "full": one of each class, with quadratic ones.
    shrinkage : None, (a, g), a list of these, "auto" or "ledoit_wolf"
        ``Sigma_y(a, g) = (1 - g) M + g (tr M / n) I``, ``M = (1 - a) Sigma_y + a Sigma_pooled`` (regularised
        discriminant analysis, Friedman 1989, of covariances, n features): a = 1 is linear, a = 0 quadratic
        discriminant analysis. A number is g. `LinearNBCV` scores all points of a list, or those of "auto", in a single
        scan. "ledoit_wolf" computes g from the rows, of each class or of all about their class means, as
        `sklearn.covariance.ledoit_wolf` does (Ledoit and Wolf 2004): it also sums products of squares, at four times
        the memory and time.
    maps : None, name, list of names or "auto"
        A map that is applied to every column first, for "pooled" and "full": "none", "log1p" or "quantile_normal";
        "auto" means all three. `LinearNBCV` compares them: products under all maps are summed in one read, after one
        that learns the distributions of columns. "log1p" leaves a column with values of -1 or less as it is.

    Examples
    --------
    >>> import streamnb as snb
    >>> X = [[0, 0], [2, 0], [1, 3], [4, 4], [6, 4], [5, 7]]
    >>> model = snb.LinearNB(snb.Gaussian(covariance="pooled")).fit(X, [0, 0, 0, 1, 1, 1])
    >>> model.coef_.round(6), model.intercept_.round(6)
    (array([[6., 2.]]), array([-24.]))
    """

    name = "gaussian"
    covariance: str = "diagonal"
    shrinkage: Any = None
    maps: Any = None

    def __init__(
        self,
        var_smoothing: float = 1e-9,
        covariance: str = "diagonal",
        shrinkage: Any = None,
        maps: Any = None,
    ):
        self.var_smoothing = arguments.finite_number("var_smoothing", var_smoothing, minimum=0.0)
        self.covariance = arguments.one_of("covariance", covariance, COVARIANCES)
        shrinkage = as_shrinkage(shrinkage, covariance)
        if shrinkage is not None:
            self.shrinkage = shrinkage
        maps = as_maps(maps, covariance)
        if maps is not None:
            self.maps = maps

    @property
    def moments(self):  # type: ignore[override]
        if any(g == LEDOIT_WOLF for _, g in self.points):
            return ("sum", "gram", "gram_sq")
        return ("sum", "gram") if self.covariant else ("sum", "sum_sq")

    @property
    def covariant(self):  # type: ignore[override]
        return self.covariance in ("pooled", "full")

    @property
    def pooled(self):  # type: ignore[override]
        return self.covariance == "pooled" and "gram_sq" not in self.moments

    @property
    def points(self):  # type: ignore[override]
        return points_of(self.shrinkage, self.covariance) if self.covariant else ()

    @property
    def map_names(self):  # type: ignore[override]
        return MAPS if self.maps == "auto" else self.maps or ()

    def with_map(self, name):
        return Gaussian(self.var_smoothing, self.covariance, self.shrinkage, name)

    def at(self, point):
        if not self.covariant:
            return self
        return Gaussian(self.var_smoothing, self.covariance, (point["a"], point["g"]), point.get("map"))

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
        for columns in blocks_of(stats):
            within[columns] = stats.scatter(columns).sum(axis=0) / total
            sums = stats.table("sum").value(columns)
            means = sums / np.where(weight > 0, weight, 1.0)[:, None]
            centred = means - sums.sum(axis=0) / total
            overall[columns] = within[columns] + weight @ centred**2 / total
        if scale is not None:
            within, overall = within * scale**2, overall * scale**2
        largest = overall.max()
        # Without this floor, a feature that is constant within its classes would have an infinite weight.
        return np.maximum(within + self.var_smoothing * largest, max(1e-15 * largest, np.finfo(float).tiny))


class Poisson(Family):
    """Counts: g(m) = ln m, phi = 1. Smoothed by pseudo-rows at the raw mean of all rows.

    Examples
    --------
    >>> import streamnb as snb
    >>> model = snb.LinearNB(snb.Poisson()).fit([[1, 6], [2, 4], [5, 0]], [0, 0, 1])
    >>> model.predict([[1, 3], [4, 0]]).tolist()
    [0, 1]
    """

    name = "poisson"
    lowest = 0.0

    def link(self, m):
        return np.log(m)

    def variance(self, m):
        return m

    def cumulant(self, m):
        return m


class _Shares(Family):
    """g(m) = ln(m / (k - m)), phi = 1: successes in k trials.

    `room` is k - m, which keeps digits that are lost in m where it is close to k.
    """

    k: float = 1.0
    roomy = True

    def link(self, m, room=None):
        return _chosen(m, room, lambda: logit(m / self.k), lambda: np.log(m / room))

    def variance(self, m, room=None):
        return _chosen(m, room, lambda: m * (self.k - m) / self.k, lambda: m * room / self.k)

    def mean_slope(self, m, room=None):
        return self.variance(m, room)

    def cumulant(self, m, room=None):
        return _chosen(m, room, lambda: -self.k * np.log1p(-m / self.k), lambda: -self.k * np.log(room / self.k))


class Bernoulli(_Shares):
    """Presence, x > binarize: g(m) = ln(m / (1 - m)), phi = 1. Smoothed by Beta(s, s).

    Examples
    --------
    >>> import streamnb as snb
    >>> model = snb.LinearNB(snb.Bernoulli()).fit([[1, 0], [1, 1], [0, 1]], [0, 0, 1])
    >>> model.predict([[1, 0], [0, 1]]).tolist()
    [0, 1]
    """

    name = "bernoulli"
    moment = "above"

    def prior(self, mean, smoothing, n_features):
        return smoothing, 2.0 * smoothing


class Binomial(_Shares):
    """Successes in k trials: g(m) = ln(m / (k - m)), phi = 1. Smoothed by pseudo-rows at the mean of all rows.

    Parameters
    ----------
    k : int
        Trials in each value; no value may be larger.

    Examples
    --------
    >>> import streamnb as snb
    >>> model = snb.LinearNB(snb.Binomial(3)).fit([[3, 1], [2, 0], [0, 2]], [0, 0, 1])
    >>> model.predict([[2, 1], [1, 3]]).tolist()
    [0, 1]
    """

    name = "binomial"
    lowest = 0.0

    def __init__(self, k: int):
        self.k = arguments.positive_integer("k", k)

    @property
    def highest(self):  # type: ignore[override]
        return self.k


class NegativeBinomial(Family):
    """Overdispersed counts: g(m) = ln(m / (r + m)), phi = 1.

    Parameters
    ----------
    r : float
        Failures waited for; the variance of a count is m + m^2 / r.

    Examples
    --------
    >>> import streamnb as snb
    >>> model = snb.LinearNB(snb.NegativeBinomial(2.0)).fit([[0], [2], [9]], [0, 0, 1])
    >>> model.predict([[1], [8]]).tolist()
    [0, 1]
    """

    name = "negative_binomial"
    lowest = 0.0

    def __init__(self, r: float):
        self.r = arguments.finite_number("r", r, minimum=np.finfo(float).tiny)

    def link(self, m):
        return -np.log1p(self.r / m)  # keeps the digits of large means

    def variance(self, m):
        return m * (self.r + m) / self.r

    def cumulant(self, m):
        return self.r * np.log1p(m / self.r)


class Geometric(Family):
    """Failures before a success, x = 0, 1, ..: g(m) = ln(m / (1 + m)), phi = 1.

    Examples
    --------
    >>> import streamnb as snb
    >>> model = snb.LinearNB(snb.Geometric()).fit([[0], [2], [9]], [0, 0, 1])
    >>> model.predict([[1], [8]]).tolist()
    [0, 1]
    """

    name = "geometric"
    lowest = 0.0
    r = 1.0
    link, variance, cumulant = NegativeBinomial.link, NegativeBinomial.variance, NegativeBinomial.cumulant


class Laplace(Family):
    """Distances from a fixed centre a, T = abs(x - a), which are exponential: g(m) = -1 / m, phi = 1.

    Linear in T, not in x; smoothed by pseudo-rows at the mean T of all rows.

    Parameters
    ----------
    centre : float
        a; statistics should be scanned with ``scan(..., centre=a)``.

    Examples
    --------
    >>> import streamnb as snb
    >>> model = snb.LinearNB(snb.Laplace(5.0)).fit([[4.0], [5.5], [0.0], [11.0]], [0, 0, 1, 1])
    >>> model.predict([[5.0], [12.0], [-1.0]]).tolist()
    [0, 1, 1]
    """

    name = "laplace"
    moment = "deviation"

    def __init__(self, centre: float = 0.0):
        self.centre = arguments.finite_number("centre", centre)

    link, variance, cumulant = Gamma.link, Gamma.variance, Gamma.cumulant  # distances are exponential


class ChiSquared(Family):
    """Chi-squared with degrees of freedom of each class: T = ln x, theta half of them.

    ``c(theta) = ln Gamma(theta) + theta ln 2``, g the inverse of ``psi(theta) + ln 2``. Linear in ln x, so every value
    should be above 0; smoothed by pseudo-rows at the mean of ln x over all rows.

    Examples
    --------
    >>> import streamnb as snb
    >>> model = snb.LinearNB(snb.ChiSquared()).fit([[0.5], [1.5], [9.0], [12.0]], [0, 0, 1, 1])
    >>> model.predict([[1.0], [10.0]]).tolist()
    [0, 1]
    """

    name = "chi_squared"
    lowest = ABOVE_ZERO
    moment = "log_sum"

    def link(self, m):
        return inverse_digamma(m - np.log(2.0))

    def variance(self, m):
        return polygamma(1, self.link(m))

    def cumulant(self, m):
        theta = self.link(m)
        return gammaln(theta) + theta * np.log(2.0)


def inverse_digamma(value: np.ndarray) -> np.ndarray:
    """The root x > 0 of psi(x) = value, by Newton's method from a start near or below the root (Minka, 2000)."""
    value = np.asarray(value, dtype=np.float64)
    x = np.where(
        value >= -2.22, np.exp(np.maximum(value, -2.22)) + 0.5, -1.0 / (np.minimum(value, -2.22) + np.euler_gamma)
    )
    for _ in range(6):
        x = x - (digamma(x) - value) / polygamma(1, x)
    return x


FAMILIES: dict[str, type[Family]] = {
    f.name: f
    for f in (
        Gaussian,
        Poisson,
        Bernoulli,
        Multinomial,
        Categorical,
        Geometric,
        Gamma,
        InverseGaussian,
        Laplace,
        ChiSquared,
    )
}  # those that need no parameter


def as_family(family: Any) -> Family:
    """Return a family, given by name or as an object."""
    if isinstance(family, Family):
        return family
    return FAMILIES[arguments.family_name(family, FAMILIES)]()


NO_MAXIMUM = 1e-13  # rows are all the same if sum exp(mean of ln x_j) is nearer to 1 than this


class Together(Family):
    """A family whose parameters are fitted together; means and parameters of a group lie along the last axis.

    For Dirichlet and beta, ``ln p(x | a) = ln Gamma(sum a) - sum ln Gamma(a_j) + sum (a_j - 1) ln x_j`` is linear in
    ln x_j, whose means are ``psi(a_j) - psi(sum a)``: one equation for each parameter, coupled by their sum (Minka,
    2000, "Estimating a Dirichlet distribution").

    Attributes
    ----------
    second : Family or None
        The family of a second function of x that has weights of its own.
    no_maximum : str
        A message on why no parameters are most likely, and what to do; {} stands for the feature.
    """

    second: ClassVar[Family | None] = None
    no_maximum: ClassVar[str]
    moment = "log_sum"
    lowest = ABOVE_ZERO

    def parameters(self, means: np.ndarray, feature: Callable[[int], int]) -> np.ndarray:
        """The parameters for means of ln x, both (groups, size); `feature` of a group is for messages."""
        lost = np.flatnonzero(np.exp(means).sum(axis=1) > 1.0 - NO_MAXIMUM)
        if lost.size:
            raise ValueError(f"family={self.name!r}: {self.no_maximum.format(feature(int(lost[0])))}")
        return dirichlet_parameters(means)

    def log_normaliser(self, parameters: np.ndarray) -> np.ndarray:
        """c, (groups,): the log of the normalising constant of the density."""
        return gammaln(parameters).sum(axis=1) - gammaln(parameters.sum(axis=1))


class Dirichlet(Together):
    """Compositions: all columns of the model, or its columns in a `Mixed`, are positive and sum to one in each row.

    Linear in ln x; parameters of a class are fitted jointly from its smoothed means of ln x. Use normalize="l1" for
    rows that do not sum to one. No penalty is possible.

    Examples
    --------
    >>> import streamnb as snb
    >>> X = [[0.7, 0.2, 0.1], [0.6, 0.3, 0.1], [0.1, 0.2, 0.7], [0.2, 0.3, 0.5]]
    >>> model = snb.LinearNB(snb.Dirichlet()).fit(X, [0, 0, 1, 1])
    >>> model.predict([[0.8, 0.1, 0.1], [0.1, 0.3, 0.6]]).tolist()
    [0, 1]
    """

    name = "dirichlet"
    no_maximum = (
        "a class has no most likely parameters; its columns of a row should sum to 1, and rows of a class should "
        "differ: pass smoothing > 0, or give it more rows"
    )

    def parts(self, n_features: int) -> list[tuple[Family, Any]]:
        if n_features == 1:
            raise ValueError(
                "family='dirichlet' is for compositions of two columns or more, X has 1; a single share takes "
                "family='beta'"
            )
        return super().parts(n_features)


class _Complement(Family):
    """The other half of `Beta`: 1 - x."""

    name = "beta"
    moment = "log1m_sum"


class Beta(Together):
    """Values inside (0, 1), each column with two parameters: the Dirichlet of (x, 1 - x).

    Linear in ln x and ln(1 - x): `coef_` holds the weights of ln x, `LinearModel.second` those of ln(1 - x). Smoothed
    by pseudo-rows at the means of both over all rows. Without penalty only.

    Examples
    --------
    >>> import streamnb as snb
    >>> model = snb.LinearNB(snb.Beta()).fit([[0.8], [0.9], [0.2], [0.4]], [0, 0, 1, 1])
    >>> model.predict([[0.7], [0.1]]).tolist()
    [0, 1]
    """

    name = "beta"
    highest = np.nextafter(1.0, 0.0)
    moments = ("log_sum", "log1m_sum")
    second = _Complement()
    no_maximum = (
        "feature {} has no most likely parameters in a class, for its values there are all the same: "
        "pass smoothing > 0, or leave the feature out where it is the same in all rows"
    )


FAMILIES.update({family.name: family for family in (Dirichlet, Beta)})


def dirichlet_parameters(means: np.ndarray) -> np.ndarray:
    """a > 0 with psi(a_j) - psi(sum a) = means[j], (groups, size) both, where sum exp(means) < 1.

    Given their sum A, a_j is the inverse digamma of psi(A) + means[j]: one root of sum_j a_j(A) = A a group. Newton's
    method for all a_j (its Hessian is a diagonal plus rank one) then adds the last digits.
    """

    def surplus(log_sum: np.ndarray, group: np.ndarray) -> np.ndarray:
        own = means[group.astype(np.intp)]
        with np.errstate(over="ignore"):
            sums = inverse_digamma(digamma(np.exp(log_sum))[..., None] + own).sum(axis=-1)
        return np.log(sums) - log_sum

    groups, size = means.shape
    if groups == 0:
        return np.empty(means.shape)
    gap = -np.expm1(np.log(np.exp(means).sum(axis=1)))
    low, high = np.log(1e-3 / (1.0 - means.min(axis=1))), np.log(10.0 * size / gap)
    log_sum = find_root(surplus, (low, high), args=(np.arange(groups, dtype=np.float64),)).x
    a = inverse_digamma(digamma(np.exp(log_sum))[:, None] + means)
    for _ in range(2):
        slope, shared = polygamma(1, a), polygamma(1, a.sum(axis=1, keepdims=True))
        force = digamma(a) - digamma(a.sum(axis=1, keepdims=True)) - means
        common = (force / slope).sum(axis=1, keepdims=True) / (1.0 / shared - (1.0 / slope).sum(axis=1, keepdims=True))
        step = (force + common) / slope
        a = np.where(np.abs(step) < 0.5 * a, a - step, a)
    return a
