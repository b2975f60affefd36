"""Differences between two models on the same rows: intervals and tests that take the pairing into account."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from streamnb.evaluation.estimates import clustered, per_weight
from streamnb.evaluation.judging import Evaluations, JudgingTask
from streamnb.evaluation.ranking_estimates import added_by_buckets, added_by_rows
from streamnb.evaluation.tallied import check_level, decisions, losses
from streamnb.stats.row_means import RowMeans
from streamnb.stats.row_sample import SampledRows

_ROUNDED = 1e-9  # relative rounding error of a sum of weights
FEW_DISCORDANT = 25  # rows that exactly one of two models predicts correctly: fewer are tested exactly


class Difference(NamedTuple):
    """The difference of a metric, its interval, and the p-value of no difference."""

    difference: float
    low: float
    high: float
    p_value: float


def given_level(interval: Any) -> float:
    """The confidence of intervals that there are in any case."""
    level = check_level(interval)
    if level is None:
        raise ValueError("interval=None should be between 0 and 1, such as 0.95")
    return level


def of_decisions(won: float, lost: float, weight: float, level: float) -> Difference:
    """Difference of accuracy, ``(won - lost) / W``, from the weights of rows that only one of the models got right.

    The interval is Wald's after 1/2 was added to the four cells of the table of both models' hits and misses (Agresti
    and Min 2005). The p-value is McNemar's (1947): ``(won - lost)^2 / (won + lost)`` is chi-squared with one degree of
    freedom; of fewer than 25 rows it is exact, by the binomial distribution.
    """
    if not weight > 0.0:
        return Difference(np.nan, np.nan, np.nan, np.nan)
    discordant, all_rows = won + lost + 1.0, weight + 2.0
    middle = (won - lost) / all_rows
    half = stats.norm.ppf(0.5 + level / 2.0) * np.sqrt(discordant / all_rows - middle**2) / np.sqrt(all_rows)
    return Difference((won - lost) / weight, max(middle - half, -1.0), min(middle + half, 1.0), mcnemar(won, lost))


def mcnemar(won: float, lost: float) -> float:
    """The p-value of McNemar's test; see `of_decisions`."""
    n = won + lost
    if n == 0.0:
        return 1.0
    if n < FEW_DISCORDANT and won == int(won) and lost == int(lost):
        return float(stats.binomtest(int(won), int(n)).pvalue)
    return float(stats.chi2.sf((won - lost) ** 2 / n, 1))


def of_means(total: float, squares: float, weight: float, level: float) -> Difference:
    """Mean of paired differences, from their sum and the sum of their squares, by Student's t."""
    if not weight > 1.0:
        return Difference(total / weight if weight > 0.0 else np.nan, np.nan, np.nan, np.nan)
    mean = total / weight
    variance = max(squares - total * mean, 0.0) / (weight - 1.0)
    return about(mean, np.sqrt(variance / weight), level, weight - 1.0)


def about(difference: float, error: float, level: float, freedom: float = np.inf, bound: float = 0.0) -> Difference:
    """A difference with this standard error, and an interval wider by `bound`, of what else it may be wrong by."""
    if np.isnan(difference) or np.isnan(error):
        return Difference(difference, np.nan, np.nan, np.nan)
    half = stats.t.ppf(0.5 + level / 2.0, freedom) * error + bound
    beyond = max(abs(difference) - bound, 0.0)
    p_value = 2.0 * stats.t.sf(beyond / error, freedom) if error > 0.0 else float(beyond == 0.0)
    return Difference(difference, difference - half, difference + half, float(p_value))


def holm(p_values: np.ndarray) -> np.ndarray:
    """P-values of several tests, corrected so that any of them is below alpha by chance with probability alpha at most.

    The i-th smallest of m is multiplied by ``m - i + 1``, and is not smaller than those before it (Holm 1979). NaN
    stays NaN and is no test.
    """
    p_values = np.asarray(p_values, np.float64)
    adjusted, tests = np.full(len(p_values), np.nan), np.flatnonzero(~np.isnan(p_values))
    order = tests[np.argsort(p_values[tests], kind="stable")]
    adjusted[order] = np.minimum(np.maximum.accumulate(np.arange(len(order), 0, -1) * p_values[order]), 1.0)
    return adjusted


# ---- two models of a pass --------------------------------------------------------------------------------------------


class Differences:
    """Differences of each model from the first, from the sums of a pass; None where one of the two lacks the metric.

    With groups, rows are independent between groups alone: differences are summed in each bucket of groups, and their
    variance is that of the buckets, with Student's t. Of fractional weights, as many rows count as tell as much.
    """

    def __init__(self, task: JudgingTask, total: Evaluations):
        self._names, self._ranked, self._losses = [*task.models], task.ranked, task.compared_losses
        self._sums, self._sample = total.differences, total.sample
        self._of = dict(zip(task.models, total.evaluations, strict=True))
        self._first, *_ = total.evaluations
        assert self._first.level is not None
        self._level, self._rate = self._first.level, per_weight(self._first)

    def of(self, metric: str, name: str) -> Difference | None:
        """The difference of one metric."""
        if metric == "accuracy":
            return self._accuracy(name)
        if metric == "roc_auc":
            return self._area(name)
        return self._loss(metric, name)

    def _accuracy(self, name: str) -> Difference:
        if self._first.is_grouped:
            return self._clustered(decisions(self._first).means, decisions(self._of[name]).means, "right")
        at = self._sums.place(f"won {name}")
        won, lost = self._rate * self._sums.sums[0, at : at + 2]
        return of_decisions(float(won), float(lost), self._rate * self._sums.weight, self._level)

    def _loss(self, loss: str, name: str) -> Difference | None:
        if (name, loss) not in self._losses:
            return None
        if self._first.is_grouped:
            return self._clustered(losses(self._first), losses(self._of[name]), loss)
        at = self._sums.place(f"sum {loss} {name}")
        total, squares = self._rate * self._sums.sums[0, at : at + 2]
        return of_means(float(total), float(squares), self._rate * self._sums.weight, self._level)

    def _clustered(self, one: RowMeans, other: RowMeans, value: str) -> Difference:
        """The difference of the means of a value of each row, by the sums of buckets."""
        at, weight = one.place(value), one.sums[:, -1]
        differences = other.sums[:, at] - one.sums[:, at]
        mean = np.nan
        if weight.any():
            mean = float(differences.sum() / weight.sum())
        return self._by_buckets(mean, (differences - mean * weight) / weight.sum())

    def _by_buckets(self, difference: float, added: np.ndarray, bound: float = 0.0) -> Difference:
        variance, n, freedom = clustered(added)
        error = float(np.sqrt(variance)) if n > 1.0 else 0.0 if not added.any() else np.nan
        return about(difference, error, self._level, max(float(freedom), 1.0), bound)

    def _area(self, name: str) -> Difference | None:
        if not {self._names[0], name} <= {*self._ranked}:
            return None
        one, other = self._first, self._of[name]
        difference, bound = other.roc_auc() - one.roc_auc(), one.roc_auc_error + other.roc_auc_error
        if self._first.is_grouped:
            return self._by_buckets(difference, added_by_buckets(other) - added_by_buckets(one), bound)
        if np.isnan(difference):
            return about(difference, np.nan, self._level)
        assert self._sample is not None
        rows = self._sample.drawn()
        stands_for = rows.weight * (self._sums.weight / rows.weight.sum())
        added = self._added(name, rows) - self._added(self._names[0], rows)
        return about(difference, float(np.sqrt(stands_for @ added**2 / self._rate)), self._level, bound=bound)

    def _added(self, name: str, rows: SampledRows) -> np.ndarray:
        """What each sampled row adds to the area of a model."""
        at, n_columns = self._ranked.index(name), rows.X.shape[1] // len(self._ranked)
        scores = rows.X[:, at * n_columns : (at + 1) * n_columns]
        return added_by_rows(self._of[name], rows.labels.toarray(), scores)

    @property
    def n_sampled(self) -> int:
        """Rows of the sample that areas are compared by; 0 where all rows are."""
        weight = self._sums.weight
        if self._first.is_grouped or not self._ranked or not weight:
            return 0
        assert self._sample is not None
        rows = self._sample.drawn(weighed=False)
        if rows.weight.sum() >= weight * (1.0 - _ROUNDED):
            return 0
        return len(rows.key)
