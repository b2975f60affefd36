"""Conjugate priors as pseudo-sums and pseudo-counts.

The posterior mean is that of the data with pseudo-rows added. The posterior mode also changes sum and count by
constants of the family: Beta(a, b) gives the mean (S + a) / (N + a + b) and the mode (S + a - 1) / (N + a + b - 2).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from streamnb.core import arguments, persistence
from streamnb.problem.family import Family, blocks_of
from streamnb.stats.class_stats import ClassStats


@dataclass(frozen=True, slots=True, eq=False)
class Pseudo:
    """Pseudo-sum and pseudo-count that smooth a side, each a number or (n_columns,).

    At a mode, `highest` is the highest possible mean: sums are clipped to means from 0 to it. Where the prior has a row
    for each class, `sum` is (K, n_columns), `count` that or (K, 1), and `of`, `of_others` and `of_all` return those of
    a side. `divided` is True where these are parts of one prior, those of several classes add up.
    """

    sum: Any
    count: Any
    highest: float | None = None
    by_class: bool = False
    divided: bool = False

    def of(self, classes: Any) -> Pseudo:
        """Pseudo-sums and -counts of some classes, a row for each."""
        return Pseudo(self.sum[classes], self.count[classes], self.highest) if self.by_class else self

    def of_others(self, classes: Any) -> Pseudo:
        """Pseudo-sums and -counts of the rows outside each class: the mean, or sum, of those of the other classes."""
        if not self.by_class:
            return self
        n_others = 1 if self.divided else max(len(self.sum) - 1, 1)
        more_sum, more_count = ((table.sum(axis=0) - table[classes]) / n_others for table in (self.sum, self.count))
        return Pseudo(more_sum, more_count, self.highest)

    def of_all(self, classes: np.ndarray) -> Pseudo:
        """Pseudo-sums and -counts of several classes together, each smoothed by itself."""
        if not self.by_class:
            return Pseudo(len(classes) * self.sum, len(classes) * self.count)
        return Pseudo(self.sum[classes].sum(axis=0), self.count[classes].sum(axis=0))

    def smoothed(self, sums: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Smoothed sums (R, n_columns) and counts (R, 1)."""
        sums, counts = sums + self.sum, counts + self.count
        return (sums if self.highest is None else np.clip(sums, 0.0, self.highest * counts)), counts


class Prior(persistence.Parameters):
    """A conjugate prior; parameters are numbers, or arrays for each feature, or for each class and feature.

    Rows of (n_classes, n_features) are the classes in sorted order. The rest in one-vs-rest has the mean of the
    pseudo-sums and -counts of the other classes. Each label of a 2-D y has its row on both sides.

    Attributes
    ----------
    families : tuple of str
        Names of the families that it is conjugate to.
    """

    families: ClassVar[tuple[str, ...]]

    def __init_subclass__(cls) -> None:
        persistence.register(cls)  # so that a model with it can be saved

    @property
    def by_class(self) -> bool:
        """True where a parameter has a row for each class."""
        return any(np.ndim(value) == 2 for value in vars(self).values())

    def check_length(
        self, n: int, what: str = "feature", several: str = "features", n_classes: int | None = None
    ) -> None:
        """Refuse arrays that do not have one entry for each of the `n` features or classes."""
        for name, value in vars(self).items():
            if np.ndim(value) == 2 and value.shape != (n_classes, n):
                shape = f"({'n_classes' if n_classes is None else n_classes}, {n})"
                raise ValueError(
                    f"{type(self).__name__}({name}=) has shape {value.shape}; it should be a number, ({n},) with one "
                    f"for each {what}" + (f", or {shape} with a row for each class too" if what == "feature" else "")
                )
            if np.ndim(value) == 1 and len(value) != n:
                raise ValueError(
                    f"{type(self).__name__}({name}=) has {len(value)} entries for {n} {several}; "
                    f"give one number, or one for each {what}"
                )

    def of_columns(self, columns: Any) -> Prior:
        """The prior of some features, given as a slice or numbers."""
        return type(self)(**{name: _of(value, columns) for name, value in vars(self).items()})

    def pseudo(self, family: Family, columns: slice, n_features: int) -> tuple[Any, Any]:
        """Pseudo-sum and pseudo-count of some features: the posterior mean is (S + sum) / (N + count)."""
        raise NotImplementedError

    @staticmethod
    def mode(family: Family, n_features: int) -> tuple[float, float, float | None]:
        """Terms that the mode adds to pseudo-sum and -count, and the highest possible mean (None: sums of any sign)."""
        raise NotImplementedError

    def dispersion(self, stats: ClassStats, scale: np.ndarray | None, estimate: str) -> np.ndarray | None:
        """phi of each feature, (n_features,), if the prior includes it, else None."""
        return None

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and all(np.array_equal(v, vars(other)[k]) for k, v in vars(self).items())

    def __hash__(self) -> int:
        return hash((type(self), tuple(np.asarray(v).tobytes() for v in vars(self).values())))

    def __repr__(self) -> str:
        sizes = {k: " x ".join(map(str, np.shape(v))) for k, v in vars(self).items()}
        shown = (f"{k}={f'<{sizes[k]} numbers>' if sizes[k] else v}" for k, v in vars(self).items())
        return f"{type(self).__name__}({', '.join(shown)})"


class BetaPrior(Prior):
    """Beta(a, b) of the probability of presence (Bernoulli) or of success (`Binomial(k)`).

    With S successes in N trials: posterior mean (S + a) / (N + a + b); mode (S + a - 1) / (N + a + b - 2), clipped to
    [0, 1].

    Parameters
    ----------
    a, b : float, (n_features,) or (n_classes, n_features)
        Positive: pseudo-successes and pseudo-failures.

    Examples
    --------
    The feature is present in both rows of "a" and absent in that of "b"; the prior expects it in a quarter of rows:

    >>> import streamnb as snb
    >>> model = snb.LinearNB("bernoulli", smoothing=snb.BetaPrior(1.0, 3.0)).fit([[1], [1], [0]], ["a", "a", "b"])
    >>> model.posterior()["mean"].round(3).tolist()
    [0.5, 0.2]
    """

    families = ("bernoulli", "binomial")

    def __init__(self, a: Any, b: Any):
        self.a = arguments.positive_numbers("a", a, by_class=True)
        self.b = arguments.positive_numbers("b", b, by_class=True)

    def pseudo(self, family, columns, n_features):
        a, b = _of(self.a, columns), _of(self.b, columns)
        return a, (a + b) / _trials(family)

    def mirrored(self) -> BetaPrior:
        """The prior of k - x for values x."""
        return BetaPrior(self.b, self.a)

    @staticmethod
    def mode(family, n_features):
        return -1.0, -2.0 / _trials(family), _trials(family)


class DirichletPrior(Prior):
    """Dirichlet(alpha) of the probabilities of a multinomial row, or of the classes (`priors=`).

    Posterior mean (S_j + alpha_j) / (S + sum alpha); mode (S_j + alpha_j - 1) / (S + sum alpha - n), which exists only
    where no S_j + alpha_j is below 1.

    Parameters
    ----------
    alpha : float, (n_features,) or (n_classes, n_features); (n_classes,) for classes
        Positive: pseudo-counts.

    Examples
    --------
    >>> import streamnb as snb
    >>> model = snb.LinearNB("multinomial", smoothing=snb.DirichletPrior([1.0, 3.0])).fit([[4, 0], [0, 2]], ["a", "b"])
    >>> model.posterior()["mean"].round(3).tolist()
    [0.625, 0.167, 0.375, 0.833]
    """

    families = ("multinomial", "categorical")

    def __init__(self, alpha: Any):
        self.alpha = arguments.positive_numbers("alpha", alpha, by_class=True)

    def pseudo(self, family, columns, n_features):
        return _of(self.alpha, columns), self.total(n_features)

    def total(self, n: int) -> Any:
        """Sum of the pseudo-counts of n features or classes; (K, 1) with a row for each class."""
        if np.ndim(self.alpha) == 2:
            return self.alpha.sum(axis=1, keepdims=True)
        return float(np.sum(self.alpha)) if np.ndim(self.alpha) else self.alpha * n

    @staticmethod
    def mode(family, n_features):
        return -1.0, -float(n_features), None


class GammaPrior(Prior):
    """Gamma with shape a and rate b, of the mean of a Poisson feature.

    Posterior mean (S + a) / (N + b); mode (S + a - 1) / (N + b), or 0 where that is negative.

    Parameters
    ----------
    a, b : float, (n_features,) or (n_classes, n_features)
        Positive: pseudo-events in b pseudo-rows.

    Examples
    --------
    >>> import streamnb as snb
    >>> model = snb.LinearNB("poisson", smoothing=snb.GammaPrior(2.0, 1.0)).fit([[4], [5], [0]], ["a", "a", "b"])
    >>> model.posterior()["mean"].round(3).tolist()
    [3.667, 1.0]
    """

    families = ("poisson",)

    def __init__(self, a: Any, b: Any):
        self.a = arguments.positive_numbers("a", a, by_class=True)
        self.b = arguments.positive_numbers("b", b, by_class=True)

    def pseudo(self, family, columns, n_features):
        return _of(self.a, columns), _of(self.b, columns)

    @staticmethod
    def mode(family, n_features):
        return -1.0, 0.0, np.inf


class NormalInverseGamma(Prior):
    """Of a Gaussian feature: variance v ~ inverse gamma(a, b), mean given v ~ Normal(mean, v / n0).

    Posterior mean and mode of the mean of a class are (S + n0 mean) / (N + n0). The linear model's variance, which
    all K classes share, has a' = a + N / 2 and b' = b + sum_y [ sum_i (x_i - m_y)^2 + n0 N_y (m_y - mean)^2 / (N_y +
    n0) ] / 2 over the raw class means m_y: its posterior mean is b' / (a' - 1), the joint mode b' / (a' + 1 + K / 2).
    It takes the place of `var_smoothing`.

    Parameters
    ----------
    mean : float, (n_features,) or (n_classes, n_features)
    n0 : float, (n_features,) or (n_classes, n_features)
        Positive: pseudo-rows at the mean.
    a, b : float or (n_features,)
        Positive: shape and scale of the variance.

    Examples
    --------
    >>> import streamnb as snb
    >>> prior = snb.NormalInverseGamma(mean=0.0, n0=1.0, a=2.0, b=1.0)
    >>> model = snb.LinearNB("gaussian", smoothing=prior).fit([[4.0], [5.0], [0.0], [1.0]], ["a", "a", "b", "b"])
    >>> model.predict([[3.5], [-1.0]]).tolist()
    ['a', 'b']
    """

    families = ("gaussian",)

    def __init__(self, mean: Any, n0: Any, a: Any, b: Any):
        self.mean = arguments.numbers_for_features("mean", mean, by_class=True)
        self.n0 = arguments.positive_numbers("n0", n0, by_class=True)
        self.a = arguments.positive_numbers("a", a)
        self.b = arguments.positive_numbers("b", b)

    def pseudo(self, family, columns, n_features):
        n0 = _of(self.n0, columns)
        return n0 * _of(self.mean, columns), n0

    @staticmethod
    def mode(family, n_features):
        return 0.0, 0.0, None

    def spread(self, stats: ClassStats, columns: slice, scale: np.ndarray | None = None) -> np.ndarray:
        """Twice the amount that the rows of each class add to b, (K, columns)."""
        factor = 1.0 if scale is None else scale[columns]
        weight, n0 = stats.weight[:, None], _of(self.n0, columns)
        means = stats.table("sum").value(columns) * factor / np.where(weight > 0, weight, 1.0)
        off = n0 * weight / (n0 + weight) * (means - _of(self.mean, columns)) ** 2
        return stats.scatter(columns) * factor**2 + off

    def dispersion(self, stats, scale, estimate):
        n_seen, phi = np.count_nonzero(stats.weight > 0), np.empty(stats.n_features)
        for columns in blocks_of(stats):
            a = _of(self.a, columns) + stats.weight.sum() / 2.0
            b = _of(self.b, columns) + self.spread(stats, columns, scale).sum(axis=0) / 2.0
            if estimate == "posterior_mean" and np.min(a) <= 1.0:
                raise ValueError(
                    f"smoothing={self!r}: with rows of weight {stats.weight.sum():g} the variance has no posterior "
                    "mean; give a larger a, or estimate='map'"
                )
            phi[columns] = b / (a - 1.0 if estimate == "posterior_mean" else a + 1.0 + n_seen / 2.0)
        return phi


PRIORS: tuple[type[Prior], ...] = (BetaPrior, DirichletPrior, GammaPrior, NormalInverseGamma)


def _of(value: Any, columns: Any) -> Any:
    return value[..., columns] if np.ndim(value) else value


def _trials(family: Family) -> float:
    return float(getattr(family, "k", 1))


def conjugate(family: Family) -> type[Prior] | None:
    """The class of priors that are conjugate to a family, or None."""
    return next((prior for prior in PRIORS if family.name in prior.families), None)
