"""Conjugate priors of the features' parameters, and what an estimate makes of them: pseudo-sums and pseudo-counts.

The posterior of a mean is that of pseudo-rows more; the mode of the posterior moves its sum and count once more by
what the density of the family takes off. math: Beta(a, b) gives (S + a) / (N + a + b), and at the mode
(S + a - 1) / (N + a + b - 2).
"""

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from streamnb.core import arguments, persistence
from streamnb.problem.family import Family, column_blocks
from streamnb.stats.class_stats import ClassStats
from streamnb.stats.tables import columns_at_once

ESTIMATES = ("posterior_mean", "map", "mle")


@dataclass(frozen=True, slots=True, eq=False)
class Pseudo:
    """What smooths the sums of a side and their count: each a number or (n_columns,).

    At a mode `highest` is the highest mean there is: sums are cut off at 0 and at what would be more.
    """

    sum: Any
    count: Any
    highest: float | None = None

    def smoothed(self, sums: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Sums (R, n_columns) and counts (R, 1), smoothed."""
        sums, counts = sums + self.sum, counts + self.count
        return (sums if self.highest is None else np.clip(sums, 0.0, self.highest * counts)), counts


class Prior(persistence.Parameters):
    """A conjugate prior; parameters are numbers, or arrays (n_features,) with one for each feature."""

    families: ClassVar[tuple[str, ...]]  # that it is conjugate to

    def __init_subclass__(cls) -> None:
        persistence.register(cls)  # so that a model with it can be saved

    def check_length(self, n: int, what: str = "feature", several: str = "features") -> None:
        """Refuse arrays that do not hold one entry for each of the `n`."""
        for name, value in vars(self).items():
            if np.ndim(value) and len(value) != n:
                raise ValueError(
                    f"{type(self).__name__}({name}=) has {len(value)} entries for {n} {several}; "
                    f"give one number, or one for each {what}"
                )

    def of_columns(self, columns: Any) -> "Prior":
        """The prior of some features, a slice or numbers."""
        return type(self)(**{name: _of(value, columns) for name, value in vars(self).items()})

    def pseudo(self, family: Family, columns: slice, n_features: int) -> tuple[Any, Any]:
        """Pseudo-sum and pseudo-count of some features: the posterior mean is (S + sum) / (N + count)."""
        raise NotImplementedError

    @staticmethod
    def mode(family: Family, n_features: int) -> tuple[float, float, float | None]:
        """What the mode adds to the pseudo-sum and -count, and the highest mean there is (None: sums of any sign)."""
        raise NotImplementedError

    def dispersion(self, stats: ClassStats, scale: np.ndarray | None, estimate: str) -> np.ndarray | None:
        """phi of each feature where the prior speaks of it, (n_features,)."""
        return None

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and all(np.array_equal(v, vars(other)[k]) for k, v in vars(self).items())

    def __hash__(self) -> int:
        return hash((type(self), tuple(np.asarray(v).tobytes() for v in vars(self).values())))

    def __repr__(self) -> str:
        shown = (f"{k}={v if np.ndim(v) == 0 else f'<{len(v)} numbers>'}" for k, v in vars(self).items())
        return f"{type(self).__name__}({', '.join(shown)})"


class BetaPrior(Prior):
    """Beta(a, b) of the probability of presence (Bernoulli) or of success (`Binomial(k)`).

    With S successes in N trials: posterior mean (S + a) / (N + a + b); mode (S + a - 1) / (N + a + b - 2), cut off at
    0 and 1.

    Parameters
    ----------
    a, b : float or (n_features,)
        Positive: pseudo-successes and pseudo-failures.
    """

    families = ("bernoulli", "binomial")

    def __init__(self, a: Any, b: Any):
        self.a = arguments.positive_numbers("a", a)
        self.b = arguments.positive_numbers("b", b)

    def pseudo(self, family, columns, n_features):
        a, b = _of(self.a, columns), _of(self.b, columns)
        return a, (a + b) / _trials(family)

    def mirrored(self) -> "BetaPrior":
        """That of what values fall short of the highest by."""
        return BetaPrior(self.b, self.a)

    @staticmethod
    def mode(family, n_features):
        return -1.0, -2.0 / _trials(family), _trials(family)


class DirichletPrior(Prior):
    """Dirichlet(alpha) of the probabilities of a multinomial row, or of the classes (`priors=`).

    Posterior mean (S_j + alpha_j) / (S + sum alpha); mode (S_j + alpha_j - 1) / (S + sum alpha - n), which there is
    only where no S_j + alpha_j is below 1.

    Parameters
    ----------
    alpha : float or (n_features,), or (n_classes,) for classes
        Positive: pseudo-counts.
    """

    families = ("multinomial",)

    def __init__(self, alpha: Any):
        self.alpha = arguments.positive_numbers("alpha", alpha)

    def pseudo(self, family, columns, n_features):
        return _of(self.alpha, columns), self.total(n_features)

    def total(self, n: int) -> float:
        """Sum of the pseudo-counts of n features or classes."""
        return float(np.sum(self.alpha)) if np.ndim(self.alpha) else self.alpha * n

    @staticmethod
    def mode(family, n_features):
        return -1.0, -float(n_features), None


class GammaPrior(Prior):
    """Gamma with shape a and rate b, of the mean of a Poisson feature.

    Posterior mean (S + a) / (N + b); mode (S + a - 1) / (N + b), cut off at 0.

    Parameters
    ----------
    a, b : float or (n_features,)
        Positive: pseudo-events in b pseudo-rows.
    """

    families = ("poisson",)

    def __init__(self, a: Any, b: Any):
        self.a = arguments.positive_numbers("a", a)
        self.b = arguments.positive_numbers("b", b)

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
    mean : float or (n_features,)
    n0, a, b : float or (n_features,)
        Positive: pseudo-rows at the mean; shape and scale of the variance.
    """

    families = ("gaussian",)

    def __init__(self, mean: Any, n0: Any, a: Any, b: Any):
        self.mean = arguments.numbers_for_features("mean", mean)
        self.n0 = arguments.positive_numbers("n0", n0)
        self.a = arguments.positive_numbers("a", a)
        self.b = arguments.positive_numbers("b", b)

    def pseudo(self, family, columns, n_features):
        n0 = _of(self.n0, columns)
        return n0 * _of(self.mean, columns), n0

    @staticmethod
    def mode(family, n_features):
        return 0.0, 0.0, None

    def spread(self, stats: ClassStats, columns: slice, scale: np.ndarray | None = None) -> np.ndarray:
        """Twice what the rows of each class add to b, (K, columns)."""
        factor = 1.0 if scale is None else scale[columns]
        weight, n0 = stats.weight[:, None], _of(self.n0, columns)
        means = stats.table("sum").value(columns) * factor / np.where(weight > 0, weight, 1.0)
        off = n0 * weight / (n0 + weight) * (means - _of(self.mean, columns)) ** 2
        return stats.scatter(columns) * factor**2 + off

    def dispersion(self, stats, scale, estimate):
        n_seen, phi = np.count_nonzero(stats.weight > 0), np.empty(stats.n_features)
        for columns in column_blocks(stats.n_features, columns_at_once(len(stats.classes))):
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
    return value[columns] if np.ndim(value) else value


def _trials(family: Family) -> float:
    return float(getattr(family, "k", 1))


def conjugate(family: Family) -> type[Prior] | None:
    """The kind of prior that is conjugate to the family."""
    return next((prior for prior in PRIORS if family.name in prior.families), None)


# ---- what smooths ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Smoothing:
    """A prior, given or meant by a number, under an estimate."""

    family: Family
    given: Any  # a float, or a Prior
    estimate: str

    @classmethod
    def of(cls, family: Family, smoothing: Any, estimate: str, n_features: int | None = None) -> "Smoothing":
        """Check what goes together; `n_features` is None where it is not known yet."""
        arguments.one_of("estimate", estimate, ESTIMATES)
        fitting = conjugate(family)
        if isinstance(smoothing, type) and issubclass(smoothing, Prior):
            raise TypeError(f"smoothing={smoothing.__name__} is a class; give an object: {smoothing.__name__}(..)")
        if not isinstance(smoothing, Prior):
            smoothing = arguments.finite_number("smoothing", smoothing, minimum=0.0)
        elif type(smoothing) is not fitting:
            also = f" or a {fitting.__name__}" if fitting else "; it has no conjugate prior here"
            raise ValueError(
                f"smoothing={smoothing!r} is no prior of family={family.name!r}; it should be a number{also}"
            )
        elif n_features is not None:
            smoothing.check_length(n_features)
        if estimate == "map" and fitting is None:
            have = ", ".join(repr(name) for prior in PRIORS for name in prior.families)
            raise ValueError(
                f"estimate='map' needs a family with a conjugate prior ({have}), not {family.name!r}; "
                "leave estimate='posterior_mean'"
            )
        return cls(family, smoothing, estimate)

    @property
    def none(self) -> bool:
        """True where there is no prior at all."""
        return self.estimate == "mle" or (not isinstance(self.given, Prior) and self.given == 0.0)

    def of_columns(self, columns: Any) -> "Smoothing":
        """The same for some features, a slice or numbers."""
        return replace(self, given=self.given.of_columns(columns)) if isinstance(self.given, Prior) else self

    def mirrored(self) -> "Smoothing":
        """The same for what values fall short of the highest by."""
        return replace(self, given=self.given.mirrored()) if isinstance(self.given, BetaPrior) else self

    def pseudo(self, mean: np.ndarray, columns: Any, n_features: int) -> Pseudo:
        """What to add to the sums and counts of a side; `mean` (n_columns,) is the raw mean over all rows."""
        if self.none:
            return Pseudo(0.0, 0.0)
        if isinstance(self.given, Prior):
            pseudo = self.given.pseudo(self.family, columns, n_features)
        else:
            pseudo = self.family.prior(mean, self.given, n_features)
        fitting = conjugate(self.family)
        if self.estimate != "map" or fitting is None:
            return Pseudo(*pseudo)
        more_sum, more_count, highest = fitting.mode(self.family, n_features)
        return Pseudo(pseudo[0] + more_sum, pseudo[1] + more_count, highest)

    def dispersion(self, stats: ClassStats, scale: np.ndarray | None) -> np.ndarray:
        """phi of each feature, (n_features,)."""
        given = isinstance(self.given, Prior) and not self.none
        phi = self.given.dispersion(stats, scale, self.estimate) if given else None
        return self.family.dispersion(stats, scale) if phi is None else phi

    def check_mode(self, pseudo: Pseudo, sums: np.ndarray, counts: np.ndarray) -> None:
        """Refuse classes, sums (K, n_columns) and counts (K,), whose posterior has no mode."""
        if self.estimate != "map" or self.none:
            return
        nowhere = (counts[:, None] + pseudo.count <= 0.0).any()
        if nowhere or (self.family.coupled and (sums + pseudo.sum < 0.0).any()):
            raise ValueError(
                f"estimate='map': the posterior of a class has no mode under smoothing={self.given!r}, its density "
                "grows without bound; give a prior with parameters of at least 1, or estimate='posterior_mean'"
            )


def class_probabilities(priors: Any, stats: ClassStats, estimate: str) -> np.ndarray:
    """Class probabilities (K,): as `priors` says, or by the estimate under a Dirichlet prior of them."""
    classes, weight = stats.classes, stats.weight
    if not isinstance(priors, Prior):
        check = arguments.check_label_priors if stats.multilabel else arguments.check_priors
        return check(priors, classes, weight / stats.total_weight)
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
