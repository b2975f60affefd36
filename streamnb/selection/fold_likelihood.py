"""Judges the models of a grid by the sums of held-out folds alone, without reading a row."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import logsumexp

from streamnb.core import arguments
from streamnb.solving.weight_paths import WeightPath, weight_path
from streamnb.stats.class_stats import ClassStats

JUDGED = "bernoulli", "multinomial", "poisson"


def fold_likelihood(path: WeightPath) -> np.ndarray:
    """The mean log likelihood of held-out rows under the models of a path, from sums of folds; reads no data.

    For each fold, the same path is solved from the sums of the other folds. It is how penalties of private statistics
    are chosen: reading rows once more would tell more about them, and sums of folds cost nothing further.

    Parameters
    ----------
    path : WeightPath
        From `solve`, of statistics with folds; the family should be "bernoulli", "multinomial" or "poisson", and the
        scheme "joint".

    Returns
    -------
    (G,) float64
        The log likelihood of a row given its class, relative to that of the pooled model of all classes, one number for
        each point of ``path.grid``; the greater the better.

    Raises
    ------
    ValueError, TypeError
        The path is of another family or scheme, or its statistics have no folds.

    Notes
    -----
    Under family parameters t of the pooled rows and t + w_k of class k, the log likelihood of the rows of a fold is
    linear in their sums, ``sum_k w_k S_k - N_k (A(t + w_k) - A(t))`` with the cumulant function A. Features count as
    independent given the class, so that it is a measure of the fit of weights, and not of accuracy.

    Examples
    --------
    >>> import numpy as np
    >>> import streamnb as snb
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 3, 600)
    >>> X = rng.random((600, 90)) < np.where(np.arange(90) < 3, 0.2 + 0.5 * (np.arange(90) == y[:, None]), 0.1)
    >>> path = snb.solve(snb.scan(X.astype(float), y, folds=5), "bernoulli", snb.L1([0.0, 10.0, 1000.0]))
    >>> int(snb.fold_likelihood(path).argmax())
    1
    """
    if not isinstance(path, WeightPath) or not isinstance(path.asked, dict):
        raise TypeError(f"path is of type {type(path).__name__}; it should be what snb.solve returns")
    problem, asked = path.problem, path.asked
    name = arguments.one_of("family", problem.family.name, JUDGED)
    arguments.one_of("scheme", asked["scheme"], ["joint"])
    if not problem.stats.n_folds:
        raise ValueError("the statistics of this path have no folds; scan with folds=, and with groups= for people")
    total, weight = np.zeros(len(path)), 0.0
    for fold in range(problem.stats.n_folds):
        held_out = problem.stats.fold(fold)
        models = weight_path(problem.stats.without_fold(fold), problem.family, path.penalty, **asked)
        pooled = _pooled(models)
        for point, model in enumerate(models):
            weights = model.coef_ if len(model.coef_) > 1 else _of_two(model.coef_[0], models)
            total[point] += _log_likelihood(name, held_out, problem.family.moment, weights, pooled)
        weight += held_out.weight.sum()
    return total / weight


def _pooled(path: WeightPath) -> np.ndarray:
    """The family parameters of all rows, (n_features,), as if each column had a row more in which it is 1."""
    stats, family = path.problem.stats, path.problem.family
    sums = stats.table(family.moment).totals() + 1.0
    return family.link(sums / (sums.sum() if family.coupled else stats.total_weight + 2.0))


def _of_two(weights: np.ndarray, path: WeightPath) -> np.ndarray:
    """Weights of both classes against the pooled rows, from their difference, (2, n_features)."""
    shares = path.problem.stats.weight / path.problem.stats.total_weight
    return np.stack([-shares[1] * weights, shares[0] * weights])


def _log_likelihood(name: str, held_out: ClassStats, moment: str, weights: np.ndarray, pooled: np.ndarray) -> float:
    sums, counts = held_out.table(moment).value(), held_out.weight
    if name == "multinomial":
        changes = logsumexp(pooled + weights, axis=1) - logsumexp(pooled)
        return float((weights * sums).sum() - sums.sum(axis=1) @ changes)
    cumulant: Callable[[Any], Any] = np.exp if name == "poisson" else lambda t: np.logaddexp(0.0, t)
    return float((weights * sums).sum() - counts @ (cumulant(pooled + weights) - cumulant(pooled)).sum(axis=1))
