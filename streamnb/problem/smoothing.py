"""Smoothing: a prior under an estimate, and the class probabilities."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from streamnb.core import arguments
from streamnb.problem.class_shares import ClassSharesPrior
from streamnb.problem.family import EMPIRICAL_BAYES, Family
from streamnb.problem.priors import PRIORS, BetaPrior, DirichletPrior, Prior, Pseudo, conjugate
from streamnb.stats.class_stats import ClassStats

ESTIMATES = ("posterior_mean", "map", "mle")
EVIDENCE = "evidence"  # in place of a number: the smoothing under which the rows are most probable
AUTO = "auto"


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
    ) -> "Smoothing":
        """Check that family, smoothing and estimate fit; numbers of features and classes may be unknown (None)."""
        arguments.one_of("estimate", estimate, ESTIMATES)
        fitting = conjugate(family)
        if isinstance(smoothing, type) and issubclass(smoothing, Prior):
            raise TypeError(f"smoothing={smoothing.__name__} is a class; give an object: {smoothing.__name__}(..)")
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

    def learned(self, stats: ClassStats) -> "Smoothing":
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

    def mirrored(self) -> "Smoothing":
        """The same for k - x in place of x."""
        return replace(self, given=self.given.mirrored()) if isinstance(self.given, BetaPrior) else self

    @property
    def by_class(self) -> bool:
        """True where each class has a prior of its own."""
        return not self.none and isinstance(self.given, Prior) and self.given.by_class

    def of_columns(self, columns: Any) -> "Smoothing":
        """The same for some features, given as a slice or numbers."""
        return replace(self, given=self.given.of_columns(columns)) if isinstance(self.given, Prior) else self

    def of_class(self, k: int) -> "Smoothing":
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
