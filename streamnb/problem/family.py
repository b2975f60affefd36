"""The Family base class: three functions of the mean."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from streamnb.core import arguments, persistence
from streamnb.stats.class_stats import ClassStats
from streamnb.stats.moment_sums import MOMENTS, TABLE
from streamnb.stats.tables import columns_at_once

ABOVE_ZERO = np.nextafter(0.0, 1.0)  # the lowest value of families without 0
EMPIRICAL_BAYES = "empirical_bayes"  # a smoothing: `ClassSharesPrior`, as strong as the counts themselves tell
FLOOR = 1e-12  # of an estimated dispersion of positive values of mean 1; they do not vary within classes below it
_LACKS = "family={!r} has no {}; a family of your own defines link(m), variance(m) and cumulant(m), see snb.Family"


class Family(persistence.Parameters):
    """Base class of families. An object of a subclass can be given wherever a family's name can.

    Functions of the mean take and return arrays; they need only be defined for means inside the domain.

    Attributes
    ----------
    name : str
        The class name in lower case, unless a subclass sets it.
    moment : str
        The moment whose class sums are the sufficient statistic.
    moments : tuple of str
        The moments that a scan must sum.
    lowest, highest : float
        The smallest and largest possible values of x.
    centre : float
        The centre of the moment "deviation".
    coupled : bool
        Whether the means of a class sum to one, as in multinomials.
    as_one : bool
        Whether `TopK` keeps all columns of a group or none.
    coded : bool
        Whether columns hold category numbers, which become indicators.
    roomy : bool
        Whether the functions of m take a second argument, the highest mean minus m, which keeps more digits.
    covariant : bool
        Whether features have covariances.
    pooled : bool
        Whether products of features are summed over all classes together.
    points : tuple of (a, g)
        The shrinkages of covariances to try.
    map_names : tuple of str
        Maps of the columns to try; empty: the columns as they are.
    smoothing : float or "empirical_bayes"
        The meaning of smoothing="auto".
    cure : str
        Advice in messages about values outside the domain of the moment.

    Examples
    --------
    >>> import numpy as np
    >>> import streamnb as snb
    >>> class Exponential(snb.Family):
    ...     lowest = 0.0
    ...     def link(self, m):
    ...         return -1.0 / m
    ...     def variance(self, m):
    ...         return m * m
    ...     def cumulant(self, m):
    ...         return np.log(m)
    >>> snb.LinearNB(Exponential()).fit([[1.0], [2.0], [8.0]], [0, 0, 1]).predict([[1.5], [9.0]]).tolist()
    [0, 1]
    """

    name: ClassVar[str]
    moment: ClassVar[str] = "sum"
    moments: ClassVar[tuple[str, ...]] = ("sum",)
    lowest: float = -np.inf
    highest: float = np.inf
    coupled: ClassVar[bool] = False
    as_one: ClassVar[bool] = False
    coded: bool = False
    roomy: ClassVar[bool] = False
    centre: float = 0.0
    covariant: bool = False
    pooled: bool = False
    points: tuple[tuple[float, float], ...] = ()
    map_names: tuple[str, ...] = ()
    smoothing: Any = 1.0
    cure: ClassVar[str] = "drop such rows, or leave the feature out"

    def __init_subclass__(cls) -> None:
        cls.name = getattr(cls, "name", cls.__name__.lower())
        if "moment" in vars(cls) and "moments" not in vars(cls):
            cls.moments = (arguments.one_of("moment", cls.moment, MOMENTS),)
        persistence.register(cls)  # so that a model with it can be saved

    @property
    def members(self) -> tuple[Family, ...]:
        """The families of the columns: this one, or those of a `Mixed`."""
        return (self,)

    def parts(self, n_features: int) -> list[tuple[Family, Any]]:
        """Pairs of a family and its columns, a slice or sorted numbers."""
        return [(self, slice(0, n_features))]

    def groups(self, n_features: int) -> list[tuple[Family, slice]]:
        """Pairs of a family and a slice: the columns cut into independent groups."""
        return [(self, slice(0, n_features))]

    def coded_columns(self, n_features: int) -> np.ndarray:
        """The columns that hold category numbers."""
        return np.zeros(0, np.int64)

    def widened(self, firsts: np.ndarray) -> Family:
        """The same family where a step turns column j into the columns from firsts[j] to firsts[j + 1]."""
        return self

    def named(self, names: Any, kinds: Any = None) -> Family:
        """The same family where the columns have these names, (n_features,) or None.

        `kinds` are the kinds of columns that an `Encoding` makes.
        """
        return self

    @property
    def nonnegative(self) -> bool:
        """True where negative values are impossible."""
        return self.lowest >= 0.0

    @property
    def mean_range(self) -> tuple[float, float]:
        """The lowest and highest mean of its moment."""
        return (self.lowest, self.highest) if self.moment == "sum" else TABLE[self.moment].means

    def with_map(self, name: str) -> Family:
        """The family with one of its maps."""
        return self

    def at(self, point: Any) -> Family:
        """The family at a point of its own grid."""
        return self

    def link(self, m: np.ndarray) -> np.ndarray:
        """theta = g(m)."""
        raise NotImplementedError(_LACKS.format(self, "link(m)"))

    def variance(self, m: np.ndarray) -> np.ndarray:
        """c''(theta) = 1 / g'(m)."""
        raise NotImplementedError(_LACKS.format(self, "variance(m)"))

    def mean_slope(self, m: np.ndarray) -> np.ndarray:
        """dm / dtheta = 1 / g'(m); it differs from the variance only where the means of a class are coupled."""
        return self.variance(m)

    def cumulant(self, m: np.ndarray) -> np.ndarray:
        """c(theta) of theta = g(m)."""
        raise NotImplementedError(_LACKS.format(self, "cumulant(m)"))

    def cumulant_change(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """c at mean b less c at mean a; families with large c compute it without cancellation."""
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


def blocks_of(stats: ClassStats) -> list[slice]:
    """Slices that cut the features of statistics into blocks whose sums fit into the cache."""
    return column_blocks(stats.n_features, columns_at_once(len(stats.classes)))


def column_blocks(n_features: int, step: int) -> list[slice]:
    """Slices that cut the features into blocks of `step`."""
    return [slice(a, min(a + step, n_features)) for a in range(0, n_features, step)]
