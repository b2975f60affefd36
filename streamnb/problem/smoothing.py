"""Conjugate priors as pseudo-sums and pseudo-counts, smoothing by a prior under an estimate, and class probabilities.

The posterior mean is that of the data with pseudo-rows added. The posterior mode also changes sum and count by
constants of the family: Beta(a, b) gives the mean (S + a) / (N + a + b) and the mode (S + a - 1) / (N + a + b - 2).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import gammaln

from streamnb.core import arguments, persistence
from streamnb.problem.family import EMPIRICAL_BAYES, Family, blocks_of
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


# ---- smoothing -------------------------------------------------------------------------------------------------------

WEAKEST = 0.01  # strength: pseudo-rows of each value
ESTIMATES = ("posterior_mean", "map", "mle")
EVIDENCE = "evidence"  # in place of a number: the smoothing under which the rows are most probable
AUTO = "auto"


class ClassSharesPrior(Prior):
    """Dirichlet prior under which values carry no information on the class: pseudo-rows split like the classes.

    Class y has `strength` * share_y pseudo-rows of each value. So classes compare by the posterior mean of their shares
    among the rows with value c, (S_yc + strength share_y) / (n_c + strength), as in target encoding: a rare value
    carries little information and an unseen one none, however unequal the classes are.

    Parameters
    ----------
    strength : float
    shares : (n_classes,)
    """

    families = ("multinomial", "categorical")

    def __init__(self, strength: float, shares: Any):
        self.strength = arguments.finite_number("strength", strength, minimum=np.finfo(float).tiny)
        self.shares = arguments.positive_numbers("shares", shares)

    @classmethod
    def of_counts(cls, stats: ClassStats, moment: str) -> ClassSharesPrior:
        """Empirical Bayes: the strength under which the classes of the rows are most probable given their values.

        The classes of the rows with a value are then Dirichlet-multinomial: type-II maximum likelihood. A row of weight
        w counts as w rows.
        """
        table, found = stats.table(moment), []
        of_classes, of_values = np.zeros(len(stats.classes)), np.empty(stats.n_features)
        for columns in blocks_of(stats):
            sums = table.value(columns)
            of_classes += sums.sum(axis=1)
            of_values[columns] = sums.sum(axis=0)
            cells = np.nonzero(sums)
            found.append((cells[0], sums[cells]))
        total = float(of_classes.sum())
        if total <= 0.0:
            return cls(1.0, np.full(len(of_classes), 1.0 / len(of_classes)))
        shares = np.where(of_classes > 0.0, of_classes, 1.0) / total
        k, counts, times = _distinct(*map(np.concatenate, zip(*found, strict=True)))
        of_values, n_times = np.unique(of_values, return_counts=True)

        def loss(log_strength: float) -> float:
            a = np.exp(log_strength)
            rows = n_times @ (gammaln(a + of_values) - gammaln(a))
            return float(rows - times @ (gammaln(a * shares[k] + counts) - gammaln(a * shares[k])))

        bounds = np.log(WEAKEST), np.log(max(total, 1.0))  # up to as many pseudo-rows of each value as there are rows
        return cls(float(np.exp(minimize_scalar(loss, bounds=bounds, method="bounded").x)), shares)

    @property
    def by_class(self) -> bool:
        return True

    def check_length(
        self, n: int, what: str = "feature", several: str = "features", n_classes: int | None = None
    ) -> None:
        pass  # it was made of the statistics

    def of_columns(self, columns: Any) -> ClassSharesPrior:
        return self

    def pseudo(self, family: Family, columns: slice, n_features: int) -> tuple[Any, Any]:
        rows = self.strength * self.shares[:, None]
        return rows, rows * n_features


def _distinct(k: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The distinct pairs of a class and a count, and how often each occurs."""
    order = np.lexsort((counts, k))
    k, counts = k[order], counts[order]
    first = np.flatnonzero(np.append(True, (np.diff(k) != 0) | (np.diff(counts) != 0.0)))
    return k[first], counts[first], np.diff(np.append(first, len(k)))


@dataclass(frozen=True, slots=True, eq=False)
class Smoothing:
    """A prior, given as an object or by a number, and an estimate."""

    family: Family
    given: Any  # a float or a Prior; EVIDENCE where it is only checked, EMPIRICAL_BAYES until `learned`
    estimate: str

    @classmethod
    def of(
        cls,
        family: Family,
        smoothing: Any,
        estimate: str,
        n_features: int | None = None,
        n_classes: int | None = None,
    ) -> Smoothing:
        """Check that family, smoothing and estimate fit; numbers of features and classes may be unknown (None)."""
        arguments.one_of("estimate", estimate, ESTIMATES)
        fitting = conjugate(family)
        if isinstance(smoothing, type) and issubclass(smoothing, Prior):
            raise TypeError(f"smoothing={smoothing.__name__} is a class; give an instance: {smoothing.__name__}(..)")
        if isinstance(smoothing, str):
            if smoothing not in (AUTO, EVIDENCE, EMPIRICAL_BAYES):
                raise TypeError(
                    f"smoothing={smoothing!r} should be {AUTO!r}, a number, a prior such as GammaPrior, {EVIDENCE!r} "
                    f"or {EMPIRICAL_BAYES!r}"
                )
            if smoothing == EVIDENCE and fitting is None:
                raise ValueError(
                    f"smoothing={EVIDENCE!r} needs a family with a conjugate prior ({_have()}), not {family.name!r}; "
                    "give a number"
                )
            if smoothing == EMPIRICAL_BAYES and estimate == "map":
                raise ValueError(
                    f"smoothing={EMPIRICAL_BAYES!r} has pseudo-counts below 1, under which there is no mode; leave "
                    "estimate='posterior_mean'"
                )
            smoothing = 1.0 if smoothing == AUTO else smoothing
        elif not isinstance(smoothing, Prior):
            smoothing = arguments.finite_number("smoothing", smoothing, minimum=0.0)
        elif type(smoothing) is not fitting:
            also = f" or a {fitting.__name__}" if fitting else "; it has no conjugate prior here"
            raise ValueError(
                f"smoothing={smoothing!r} is no prior of family={family.name!r}; it should be a number{also}"
            )
        elif n_features is not None:
            smoothing.check_length(n_features, n_classes=n_classes)
        if estimate == "map" and fitting is None:
            raise ValueError(
                f"estimate='map' needs a family with a conjugate prior ({_have()}), not {family.name!r}; "
                "leave estimate='posterior_mean'"
            )
        return cls(family, smoothing, estimate)

    def learned(self, stats: ClassStats) -> Smoothing:
        """The same with the prior that "empirical_bayes" finds in the statistics of the family's features."""
        if not isinstance(self.given, str):
            return self
        found = (
            ClassSharesPrior.of_counts(stats, self.family.moment)
            if self.family.coupled and not stats.multilabel
            else 1.0
        )
        return replace(self, given=found)

    @property
    def none(self) -> bool:
        """True where there is no prior at all."""
        return self.estimate == "mle" or (not isinstance(self.given, Prior) and self.given == 0.0)

    def mirrored(self) -> Smoothing:
        """The same for k - x in place of x."""
        return replace(self, given=self.given.mirrored()) if isinstance(self.given, BetaPrior) else self

    @property
    def by_class(self) -> bool:
        """True where each class has a prior of its own."""
        return not self.none and isinstance(self.given, Prior) and self.given.by_class

    def of_columns(self, columns: Any) -> Smoothing:
        """The same for some features, given as a slice or numbers."""
        return replace(self, given=self.given.of_columns(columns)) if isinstance(self.given, Prior) else self

    def of_class(self, k: int) -> Smoothing:
        """The same for the k-th class, if each class has a prior of its own."""
        if not self.by_class:
            return self
        rows = {name: value[k] if np.ndim(value) == 2 else value for name, value in vars(self.given).items()}
        return replace(self, given=type(self.given)(**rows))

    def pseudo(self, mean: np.ndarray, columns: Any, n_features: int) -> Pseudo:
        """Pseudo-sums and -counts of a side; `mean` (n_columns,) is the raw mean over all rows."""
        if self.none:
            return Pseudo(0.0, 0.0)
        pseudo: Sequence[Any]
        if isinstance(self.given, Prior):
            pseudo = self.given.pseudo(self.family, columns, n_features)
        else:
            pseudo = self.family.prior(mean, self.given, n_features)
        if self.by_class:  # both with a row for each class, for indexing
            tables = [np.atleast_2d(part) for part in pseudo]
            n_classes = max(map(len, tables))
            pseudo = [np.repeat(table, n_classes // len(table), axis=0) for table in tables]
        fitting = conjugate(self.family)
        if self.estimate != "map" or fitting is None:
            divided = isinstance(self.given, ClassSharesPrior)
            return Pseudo(pseudo[0], pseudo[1], by_class=self.by_class, divided=divided)
        more_sum, more_count, highest = fitting.mode(self.family, n_features)
        return Pseudo(pseudo[0] + more_sum, pseudo[1] + more_count, highest, self.by_class)

    def dispersion(self, stats: ClassStats, scale: np.ndarray | None) -> np.ndarray:
        """phi of each feature, (n_features,)."""
        given = isinstance(self.given, Prior) and not self.none
        phi = self.given.dispersion(stats, scale, self.estimate) if given else None
        return self.family.dispersion(stats, scale) if phi is None else phi

    def check_mode(self, pseudo: Pseudo, sums: np.ndarray, counts: np.ndarray) -> None:
        """Refuse sums (K, n_columns) and counts (K,) of classes if a posterior has no mode."""
        if self.estimate != "map" or self.none:
            return
        nowhere = (counts[:, None] + pseudo.count <= 0.0).any()
        if nowhere or (self.family.coupled and (sums + pseudo.sum < 0.0).any()):
            raise ValueError(
                f"estimate='map': the posterior of a class has no mode under smoothing={self.given!r}, its density "
                "grows without bound; give a prior with parameters of at least 1, or estimate='posterior_mean'"
            )


def chosen(smoothing: Any, family: Family, estimate: str) -> Any:
    """The smoothing that "auto" stands for: that of the family; 1 where the estimate has no such prior."""
    if not isinstance(smoothing, str) or smoothing != AUTO:
        return smoothing
    return family.smoothing if estimate == "posterior_mean" else 1.0


def _have() -> str:
    return ", ".join(repr(name) for prior in PRIORS for name in prior.families)


def log_class_priors(priors: Any, stats: ClassStats, estimate: str) -> np.ndarray:
    """Logs of class probabilities, (K,); -inf for classes without rows."""
    with np.errstate(divide="ignore"):
        return np.where(stats.weight > 0.0, np.log(class_probabilities(priors, stats, estimate)), -np.inf)


def class_probabilities(priors: Any, stats: ClassStats, estimate: str) -> np.ndarray:
    """Class probabilities (K,): as given by `priors`, or the estimate under a Dirichlet prior."""
    classes, weight = stats.classes, stats.weight
    if not isinstance(priors, Prior):
        return arguments.check_priors(priors, classes, weight / stats.total_weight, stats.multilabel)
    if not isinstance(priors, DirichletPrior):
        raise TypeError(f"priors={priors!r} should be None, 'uniform', numbers, or a DirichletPrior")
    if stats.multilabel:
        raise ValueError(
            f"priors={priors!r} is for one label a row; where rows bear any number of labels give None, 'uniform' or "
            "a probability of each label"
        )
    priors.check_length(len(classes), "class", "classes")
    if estimate == "mle":
        return weight / weight.sum()
    more = 1.0 if estimate == "map" else 0.0
    counts = weight + priors.alpha - more
    if (counts < 0.0).any() or not counts.any():
        label = classes[np.argmin(counts)].item()
        raise ValueError(
            f"priors={priors!r} with estimate='map' has no mode: class {label!r} has weight "
            f"{weight[counts.argmin()]:g}; give an alpha of at least 1, or estimate='posterior_mean'"
        )
    return counts / counts.sum()
