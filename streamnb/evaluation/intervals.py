"""Intervals of the metrics of an `Evaluation`, and variances of those of rankings, by what each row adds to them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
import scipy.sparse as sp

from streamnb.core import arguments
from streamnb.evaluation import estimates, metrics
from streamnb.evaluation.estimates import (
    CalibrationEstimate,
    Estimate,
    effective_rows,
    filled_buckets,
    has_whole_weights,
    of_buckets,
    per_weight,
    sampled_rows,
)
from streamnb.evaluation.score_order import Histogram, Levels, Ranking
from streamnb.evaluation.tallied import (
    Tallied,
    check_intervals,
    is_binary,
    kept,
    ranking,
    ranking_by_margin,
    ranking_name,
)
from streamnb.evaluation.tallies import BUCKETS

ONE_GROUP = (
    "groups has one group, or two or three that were hashed alike; an interval needs rows of several groups, the more "
    "the better"
)


def interval(judged: Tallied, metric: str, *args: Any, **options: Any) -> tuple[Any, Any]:
    """Interval of a metric, which holds its true value with the confidence that `interval=` named.

    "True" is the value of all rows like these: of the population that the rows, or groups, were drawn from. The model
    is what it is; how it would vary if it were trained again is not part of the interval.

    Parameters
    ----------
    metric : str
        The name of a method that is a metric, such as "roc_auc".
    *args, **options
        Those of the method, such as ``average=None`` for an interval of each class.

    Returns
    -------
    (low, high)
        Floats, or (K,) each with ``average=None``; NaN where the metric is undefined, and for classes without rows.

    Raises
    ------
    ValueError
        The evaluation was made without intervals, lacks what the metric needs, or has rows of one group only; or there
        is no metric of this name, which the message lists.

    Examples
    --------
    >>> import streamnb as snb
    >>> judged = snb.evaluate(["a", "b"] * 50, ["a", "b"] * 45 + ["b", "a"] * 5, interval=0.95)
    >>> low, high = judged.interval("accuracy")
    >>> round(low, 3), round(high, 3)
    (0.826, 0.945)
    """
    if metric not in ESTIMATES:
        listed = ", ".join(map(repr, sorted(ESTIMATES)))
        raise ValueError(f"there is no interval of {metric!r}; it should be one of {listed}")
    check_groups(judged)
    return interval_if_any(judged, metric, *args, **options)


def interval_if_any(judged: Tallied, metric: str, *args: Any, **options: Any) -> tuple[Any, Any]:
    """The same for tables: NaN where rows are of one group alone."""
    estimate = ESTIMATES[metric](judged, *args, **options)
    assert judged.level is not None
    return estimate.bounds(judged.level)


def check_groups(judged: Tallied) -> None:
    """Refuse intervals of rows of one group alone."""
    check_intervals(judged)
    if judged.is_grouped and filled_buckets(judged) == 1:
        raise ValueError(ONE_GROUP)


def rows_per_weight(judged: Tallied) -> float | None:
    """Equal rows for each unit of weight; None of rows in groups, and of weights that may be no counts."""
    if judged.level is None:
        if judged.weight == judged.n_rows:
            return 1.0
        return None
    if judged.is_grouped:
        return None
    return per_weight(judged)


def described(judged: Tallied) -> str:
    """What intervals are of, in words."""
    start = f"{100.0 * (judged.level or 0.0):g} % intervals of "
    if judged.is_grouped:
        n = filled_buckets(judged)
        if n == 1:
            return "no intervals: all rows are of one group"
        return start + (f"{n} groups" if n < BUCKETS // 8 else f"groups in {n} buckets")
    if has_whole_weights(judged):
        return start + "independent rows"
    return start + f"rows with fractional weights, as many as {effective_rows(judged):,.0f} of equal weight"


def _rate(kind: str) -> Callable[..., Estimate]:
    def of(judged: Tallied, average: str | None = "binary", **options: Any) -> Estimate:
        value = getattr(metrics, kind)(judged, average, **options)  # refuses what it does not take
        if average == "samples":
            return estimates.of_rows(judged, value, "decisions", kind)
        return estimates.rate(judged, kind, average, **options)

    return of


def _mean(name: str, tally: str, metric: Callable[..., float], judged: Tallied, **options: Any) -> Estimate:
    """The estimate of a metric that is the mean over rows of a value with this name in a tally."""
    return estimates.of_rows(judged, metric(judged, **options), tally, name)  # the metric refuses options


# ---- metrics of rankings ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Placed:
    """What rows add to an area or an average precision by their level, a column of scores at a time.

    Attributes
    ----------
    column : int
        The class by whose scores rows are placed.
    versus : int or None
        The one other class whose rows are compared; all others without.
    levels : Levels
    positive, negative : (m,)
        What a row of the class adds at each level, and another row.
    share : float
        Of these levels in the metric; 0 if they were counted with another column.
    """

    column: int
    versus: int | None
    levels: Levels
    positive: np.ndarray
    negative: np.ndarray
    share: float = 1.0

    def at(self, scores: np.ndarray) -> np.ndarray:
        """The level of each score."""
        return np.minimum(np.searchsorted(-self.levels.thresholds, -scores), len(self.levels.thresholds) - 1)

    def added(self, labels: np.ndarray, scores: np.ndarray) -> np.ndarray:
        """What rows add, (n,), by class numbers (n,) or an indicator of labels, and their scores for the class."""
        positive = labels[:, self.column] > 0 if labels.ndim == 2 else labels == self.column
        negative = ~positive if self.versus is None else labels == self.versus
        level = self.at(scores)
        return positive * self.positive[level] + negative * self.negative[level]

    def squares(self) -> np.ndarray:
        """The sum of squares of what rows of the class add, and others, (2,)."""
        return np.array([self.levels.positive @ self.positive**2, self.levels.negative @ self.negative**2])

    def n_rows(self) -> np.ndarray:
        """Weight of the rows of the class, and of others, (2,)."""
        return np.array([self.levels.positive.sum(), self.levels.negative.sum()])


def of_auc(levels: Levels, rate: float) -> tuple[float, np.ndarray, np.ndarray]:
    """The area, and what rows add to it: their placement among the rows of the other kind (DeLong et al. 1988)."""
    n_positive, n_negative = levels.positive.sum(), levels.negative.sum()
    above_positive = np.cumsum(levels.positive) - 0.5 * levels.positive
    above_negative = np.cumsum(levels.negative) - 0.5 * levels.negative
    value = levels.auc()
    positive = (1.0 - above_negative / n_negative - value) / n_positive * _unbiased(n_positive * rate)
    return value, positive, (above_positive / n_positive - value) / n_negative * _unbiased(n_negative * rate)


def _unbiased(n: float) -> float:
    """The factor of deviations whose mean was estimated from the same n rows."""
    if 1.0 < n < np.inf:
        return float(np.sqrt(n / (n - 1.0)))
    return 1.0


def of_average_precision(levels: Levels, rate: float) -> tuple[float, np.ndarray, np.ndarray]:
    """The average precision, and its derivative by the weight of rows at each level.

    ``sum_l p_l T_l / (T_l + F_l) / P``: a row adds its precision, and changes that of all levels below.
    """
    n_positive, hits, others = levels.positive.sum(), np.cumsum(levels.positive), np.cumsum(levels.negative)
    all_ = hits + others
    value = levels.average_precision()
    by_hit = np.cumsum((levels.positive * others / all_**2)[::-1])[::-1]
    by_other = np.cumsum((levels.positive * hits / all_**2)[::-1])[::-1]
    return value, (hits / all_ - value + by_hit) / n_positive, -by_other / n_positive


def _rows_per_weight(judged: Tallied) -> float:
    """Equal rows for each unit of weight; infinite for rows in groups, whose variance is corrected by their number."""
    if judged.is_grouped:
        return np.inf
    return per_weight(judged)


Influence = Callable[[Levels, float], tuple[float, np.ndarray, np.ndarray]]
ClassSide = tuple[int, int | None, Levels]  # a class, the other one that it is compared with or None, and their rows


def _of_ranking(judged: Tallied, kind: Influence, ranked: Ranking, average: str | None) -> Estimate:
    """The estimate of a metric of one class against the rest, or of its average over classes."""
    arguments.one_of("average", average, metrics.AVERAGES)
    if average == "micro":
        levels = ranked.all_levels()
        if not levels.defined:
            return Estimate(np.nan, np.nan)
        value, positive, negative = kind(levels, _rows_per_weight(judged))
        columns = [1] if is_binary(judged) else range(judged.n_classes)
        placed = [Placed(k, None, levels, positive, negative, float(k == columns[0])) for k in columns]
        return _estimate(judged, ranked, value, placed)
    if average is None:
        return _of_each(judged, kind, ranked)
    if is_binary(judged):
        return _of_class(judged, kind, ranked, judged.positive)
    units: list[list[ClassSide]] = [[(k, None, ranked.levels(k))] for k in range(judged.n_classes)]
    value, placed = _mean_of_units(units, kind, _rows_per_weight(judged), average == "weighted")
    return _estimate(judged, ranked, value, placed)


def of_pairs(judged: Tallied, average: str | None) -> Estimate:
    """The estimate of the area one against one."""
    ranked = ranking(judged, "pairs")
    units: list[list[ClassSide]] = []
    for k, other in combinations(range(judged.n_classes), 2):
        units.append([(k, other, ranked.levels(k, other)), (other, k, ranked.levels(other, k))])
    value, placed = _mean_of_units(units, of_auc, _rows_per_weight(judged), average == "weighted")
    return _estimate(judged, ranked, value, placed)


def _mean_of_units(
    units: list[list[ClassSide]], kind: Influence, rate: float, weighted: bool
) -> tuple[float, list[Placed]]:
    """The mean over units, each the mean of its sides, plain or by the rows of their classes; and what rows add."""
    known, values, weights = [], [], []
    for sides in units:
        if not sides[0][2].defined:
            continue
        found = [kind(levels, rate) for *_, levels in sides]
        known.append(list(zip(sides, found, strict=True)))
        values.append(np.mean([value for value, *_ in found]))
        weights.append(sum(levels.positive.sum() for *_, levels in sides) if weighted else 1.0)
    if not known:
        return np.nan, []
    total, value, placed = np.sum(weights), float(np.average(values, weights=weights)), []
    for unit, own, weight in zip(known, values, weights, strict=True):
        share = weight / total / len(unit)
        for (column, versus, levels), (_, positive, negative) in unit:
            positive, negative = share * positive, share * negative
            if weighted:  # a row of the class also raises the weight of the unit
                positive = positive + (own - value) / total
            placed.append(Placed(column, versus, levels, positive, negative, share * np.sqrt(len(unit))))
    return value, placed


def _of_each(judged: Tallied, kind: Influence, ranked: Ranking) -> Estimate:
    """The estimate of each class."""
    of_classes = [_of_class(judged, kind, ranked, k) for k in range(judged.n_classes)]
    parts = [(each.value, each.variance, each.n_rows, each.df, each.unseen_df) for each in of_classes]
    values, variances, n_rows, df, unseen_df = np.array(parts, np.float64).T
    return Estimate(values, variances, n_rows, df=df, unseen_df=unseen_df, is_share=False)


def _of_class(judged: Tallied, kind: Influence, ranked: Ranking, k: int) -> Estimate:
    """The estimate of one class; of two, rows are those of the second by the scores of that class."""
    column = 1
    if not is_binary(judged):
        column = k
    levels = ranked.levels(column)
    if not levels.defined:
        return Estimate(np.nan, np.nan)
    if column == k:
        value, positive, negative = kind(levels, _rows_per_weight(judged))
    else:  # the other class, ranked by minus the score
        turned = Levels(levels.negative[::-1], levels.positive[::-1], -levels.thresholds[::-1], levels.blurred[::-1])
        value, positive, negative = kind(turned, _rows_per_weight(judged))
        positive, negative = negative[::-1], positive[::-1]
    return _estimate(judged, ranked, value, [Placed(column, None, levels, positive, negative)])


def _estimate(judged: Tallied, ranked: Ranking, value: float, placed: list[Placed]) -> Estimate:
    """The estimate with the variance of what rows, or buckets of groups, add to it.

    Degrees of freedom are Satterthwaite's, of variances from as many rows as each class has.
    """
    rate = per_weight(judged)
    if not placed:
        return Estimate(np.nan, np.nan)
    if judged.is_grouped:
        of_levels = [_of_buckets(judged, ranked, one) for one in placed]
        least = 1.0 / float(sum(one.share**2 / max(n, 1) for one, (_, n) in zip(placed, of_levels, strict=True)))
        added = np.sum([sums for sums, _ in of_levels], axis=0)
        return replace(of_buckets(judged, value, added, is_share=False), n_rows=least)
    counted = [one for one in placed if one.share]
    squares, n = np.array([one.squares() for one in counted]), np.array([one.n_rows() for one in counted]) * rate
    share = np.array([one.share for one in counted])
    total, n_rows = squares.sum(), 1.0 / float((share**2 / n.min(axis=1)).sum())
    df = np.inf
    if total:
        df = total**2 / max((squares**2 / np.maximum(n - 1.0, 0.5)).sum(), 1e-300)
    if len(placed) > 1:
        total += _products(judged, ranked, placed)
    return Estimate(value, max(total, 0.0) / rate, n_rows, df=max(df, 1.0), is_share=False)


def _products(judged: Tallied, ranked: Ranking, placed: list[Placed]) -> float:
    """Sum over rows of the products of what a row adds by its scores for different classes, from a sample of them."""
    sample = sampled_rows(judged)
    labels, scores = sample.parts["labels"], sample.parts[ranking_name(judged, ranked)]
    if sp.issparse(labels):
        labels = labels.toarray()
    added, squares = np.zeros((2, len(sample.weight)))
    for one in placed:
        of_row = one.added(labels, scores[:, one.column])
        added += of_row
        squares += np.square(of_row)
    levels = ranking(judged).levels(1 if is_binary(judged) else 0)
    return sample.scaled_sum(added**2 - squares, levels.positive.sum() + levels.negative.sum())


def _of_buckets(judged: Tallied, ranked: Ranking, one: Placed) -> tuple[np.ndarray, int]:
    """What the rows of each bucket add, by the bins of their scores; and in how many the rarer of the two kinds is."""
    name = ranking_name(judged, ranked)
    histogram: Histogram = kept(judged, f"{name} by bucket", name)
    column = 0
    if not is_binary(judged):
        column = one.column
    table = histogram.counts(column)
    table = table.reshape(len(table), BUCKETS, -1)
    used = table.any(axis=(1, 2))
    table, level = table[used], one.at(histogram.tops(column)[used])
    positive: Any = one.column
    negative: Any = [one.versus]
    if table.shape[2] == 2:
        positive, negative = 1, [0]
    elif one.versus is None:
        negative = [k for k in range(table.shape[2]) if k != one.column]
    of_class, of_others = table[:, :, positive].T, table[:, :, negative].sum(axis=2).T  # (buckets, bins)
    n_buckets = min(int(kind.any(axis=1).sum()) for kind in (of_class, of_others))
    return of_class @ one.positive[level] + of_others @ one.negative[level], n_buckets


def _areas(judged: Tallied) -> list[Placed]:
    """What rows add to the mean area over classes, by the scores for each class."""
    ranked = ranking(judged)
    classes = range(judged.n_classes)[is_binary(judged) :]  # of two, the second alone
    units: list[list[ClassSide]] = [[(k, None, ranked.levels(k))] for k in classes]
    return _mean_of_units(units, of_auc, per_weight(judged), weighted=False)[1]


def added_by_rows(judged: Tallied, labels: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """What some rows add to the mean area over classes, (n,), by an indicator of labels and the scores of classes."""
    added = np.zeros(len(labels))
    for one in _areas(judged):
        added += one.added(labels, scores[:, 0 if is_binary(judged) else one.column])
    return added


def added_by_buckets(judged: Tallied) -> np.ndarray:
    """What the rows of each bucket of groups add to the mean area over classes, (buckets,)."""
    ranked, added = ranking(judged), np.zeros(BUCKETS)
    for one in _areas(judged):
        added += _of_buckets(judged, ranked, one)[0]
    return added


# ---- metrics ---------------------------------------------------------------------------------------------------------


def roc_auc(judged: Tallied, average: str | None = "macro", multi_class: str = "ovr") -> Estimate:
    """The area under the ROC curve."""
    if metrics.compares_pairs(judged, average, multi_class):
        return of_pairs(judged, average)
    return _of_ranking(judged, of_auc, ranking(judged), average)


def roc_auc_margin(judged: Tallied, average: str | None = "macro") -> Estimate:
    """The area under the ROC curve by raw scores."""
    return _of_ranking(judged, of_auc, ranking_by_margin(judged), average)


def average_precision(judged: Tallied, average: str | None = "macro") -> Estimate:
    """Average precision."""
    return _of_ranking(judged, of_average_precision, ranking(judged), average)


ESTIMATES: dict[str, Callable[..., Estimate | CalibrationEstimate]] = {
    "accuracy": partial(_mean, "right", "decisions", metrics.accuracy),
    "balanced_accuracy": estimates.balanced_accuracy,
    **{kind: _rate(kind) for kind in ("precision", "recall", "specificity", "f_score")},
    "matthews_corrcoef": estimates.matthews_corrcoef,
    "cohen_kappa": estimates.cohen_kappa,
    "hamming_loss": partial(_mean, "hamming", "decisions", metrics.hamming_loss),
    "jaccard": partial(_mean, "jaccard", "decisions", metrics.jaccard),
    "subset_accuracy": partial(_mean, "right", "decisions", metrics.subset_accuracy),
    "ranking_loss": partial(_mean, "ranking_loss", "ranking_loss", metrics.ranking_loss),
    "log_loss": partial(estimates.loss, name="log_loss"),
    "brier": partial(estimates.loss, name="brier"),
    "expected_calibration_error": estimates.expected_calibration_error,
    "roc_auc": roc_auc,
    "roc_auc_margin": roc_auc_margin,
    "average_precision": average_precision,
}
