"""Smoothing: a prior under an estimate, and the class probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import gammaln

from streamnb.core import arguments
from streamnb.problem.family import EMPIRICAL_BAYES, Family, blocks_of
from streamnb.problem.priors import PRIORS, BetaPrior, DirichletPrior, Prior, Pseudo, conjugate
from streamnb.stats.class_stats import ClassStats

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
