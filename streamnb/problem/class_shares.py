"""Empirical Bayes of the values of columns: pseudo-rows of each value, divided as the classes are."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import gammaln

from streamnb.core import arguments
from streamnb.problem.family import Family, blocks_of
from streamnb.problem.priors import Prior
from streamnb.stats.class_stats import ClassStats

WEAKEST = 0.01  # strength: pseudo-rows of each value


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
