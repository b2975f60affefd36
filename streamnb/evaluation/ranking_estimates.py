"""Variances of metrics of rankings, by what each row adds to them at its score."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
import scipy.sparse as sp

from streamnb.core import arguments
from streamnb.evaluation import metrics
from streamnb.evaluation.estimates import Estimate, of_buckets, per_weight, sampled_rows
from streamnb.evaluation.score_order import Histogram, Levels, Ranking
from streamnb.evaluation.tallied import (
    Tallied,
    is_binary,
    kept,
    ranked_classes,
    ranking,
    ranking_by_margin,
    ranking_name,
)
from streamnb.evaluation.tallies import BUCKETS


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
        levels = np.searchsorted(-self.levels.thresholds, -scores)
        return np.minimum(levels, len(self.levels.thresholds) - 1)

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
    return float(np.sqrt(n / (n - 1.0))) if 1.0 < n < np.inf else 1.0


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


def _rate(judged: Tallied) -> float:
    """Equal rows for each unit of weight; infinite for rows in groups, whose variance is corrected by their number."""
    return np.inf if judged.is_grouped else per_weight(judged)


Influence = Callable[[Levels, float], tuple[float, np.ndarray, np.ndarray]]


def estimate(judged: Tallied, kind: Influence, ranked: Ranking, average: str | None) -> Estimate:
    """The estimate of a metric of one class against the rest, or of its average over classes."""
    arguments.one_of("average", average, metrics.AVERAGES)
    rate = _rate(judged)
    if average == "micro":
        levels = ranked.all_levels()
        if not levels.defined:
            return Estimate(np.nan, np.nan)
        value, positive, negative = kind(levels, rate)
        columns = [1] if is_binary(judged) else range(judged.n_classes)
        placed = [Placed(k, None, levels, positive, negative, float(k == columns[0])) for k in columns]
        return _estimate(judged, ranked, value, placed)
    if average is None:
        return _of_each(judged, kind, ranked)
    if is_binary(judged) and judged.positive == 0:
        return _of_class(judged, kind, ranked, 0)
    parts = []
    for k in ranked_classes(judged):
        levels = ranked.levels(k)
        if levels.defined:
            parts.append((k, levels, *kind(levels, rate)))
    if not parts:
        return Estimate(np.nan, np.nan)
    weights = np.array([levels.positive.sum() if average == "weighted" else 1.0 for _, levels, *_ in parts])
    value = float(np.average([part[2] for part in parts], weights=weights))
    placed = []
    for (k, levels, one, positive, negative), weight in zip(parts, weights / weights.sum(), strict=True):
        positive, negative = weight * positive, weight * negative
        if average == "weighted":
            positive = positive + (one - value) / weights.sum()
        placed.append(Placed(k, None, levels, positive, negative, weight))
    return _estimate(judged, ranked, value, placed)


def _of_each(judged: Tallied, kind: Influence, ranked: Ranking) -> Estimate:
    """The estimate of each class."""
    of_classes = [_of_class(judged, kind, ranked, k) for k in range(judged.n_classes)]
    parts = (
        [getattr(each, name) for each in of_classes] for name in ("value", "variance", "n_rows", "df", "unseen_df")
    )
    values, variances, n_rows, df, unseen_df = (np.array(part, np.float64) for part in parts)
    return Estimate(values, variances, n_rows, df=df, unseen_df=unseen_df, is_share=False)


def _of_class(judged: Tallied, kind: Influence, ranked: Ranking, k: int) -> Estimate:
    """The estimate of one class; of two, rows are those of the second by the scores of that class."""
    binary = is_binary(judged)
    levels = ranked.levels(1 if binary else k)
    if not levels.defined:
        return Estimate(np.nan, np.nan)
    turned = _turned(levels) if binary and k == 0 else levels
    value, positive, negative = kind(turned, _rate(judged))
    if turned is not levels:
        positive, negative = negative[::-1], positive[::-1]
    placed = Placed(1 if binary else k, None, levels, positive, negative)
    return _estimate(judged, ranked, value, [placed])


def _turned(levels: Levels) -> Levels:
    """The levels of the other class, ranked by minus the score."""
    return Levels(levels.negative[::-1], levels.positive[::-1], -levels.thresholds[::-1], levels.blurred[::-1])


def of_pairs(judged: Tallied, average: str | None) -> Estimate:
    """The estimate of the area one against one."""
    ranked, rate = ranking(judged, "pairs"), _rate(judged)
    parts = []
    for k, other in combinations(range(judged.n_classes), 2):
        both = ranked.levels(k, other), ranked.levels(other, k)
        if both[0].defined:
            sides = [of_auc(levels, rate) for levels in both]
            weight = both[0].positive.sum() + both[0].negative.sum() if average == "weighted" else 1.0
            parts.append(((k, other), both, sides, weight))
    if not parts:
        return Estimate(np.nan, np.nan)
    total = sum(weight for *_, weight in parts)
    value = sum(weight * (one[0] + two[0]) / 2.0 for _, _, (one, two), weight in parts) / total
    placed = []
    for (k, other), both, sides, weight in parts:
        share, more = weight / total, 0.0
        if average == "weighted":
            more = (0.5 * (sides[0][0] + sides[1][0]) - value) / total
        for column, versus, levels, (_, positive, negative) in zip((k, other), (other, k), both, sides, strict=True):
            positive, negative = 0.5 * share * positive + more, 0.5 * share * negative
            placed.append(Placed(column, versus, levels, positive, negative, share / np.sqrt(2.0)))
    return _estimate(judged, ranked, value, placed)


def _estimate(judged: Tallied, ranked: Ranking, value: float, placed: list[Placed]) -> Estimate:
    """The estimate with the variance of what rows, or buckets of groups, add to it.

    Degrees of freedom are Satterthwaite's, of variances from as many rows as each class has.
    """
    rate = per_weight(judged)
    if judged.is_grouped:
        of_levels = [_of_buckets(judged, ranked, one) for one in placed]
        least = 1.0 / float(sum(one.share**2 / max(n, 1) for one, (_, n) in zip(placed, of_levels, strict=True)))
        added = np.sum([sums for sums, _ in of_levels], axis=0)
        return replace(of_buckets(judged, value, added, is_share=False), n_rows=least)
    counted = [one for one in placed if one.share]
    squares, n = np.array([one.squares() for one in counted]), np.array([one.n_rows() for one in counted]) * rate
    share = np.array([one.share for one in counted])
    total, n_rows = squares.sum(), 1.0 / float((share**2 / n.min(axis=1)).sum())
    df = total**2 / max((squares**2 / np.maximum(n - 1.0, 0.5)).sum(), 1e-300) if total else np.inf
    if len(placed) > 1:
        total += _products(judged, ranked, placed)
    return Estimate(value, max(total, 0.0) / rate, n_rows, df=max(df, 1.0), is_share=False)


def _products(judged: Tallied, ranked: Ranking, placed: list[Placed]) -> float:
    """Sum over rows of the products of what a row adds by its scores for different classes, from a sample of them."""
    sample = sampled_rows(judged)
    labels, scores = sample.parts["labels"], sample.parts[ranking_name(judged, ranked)]
    labels = labels.toarray() if sp.issparse(labels) else labels
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
    column = 0 if is_binary(judged) else one.column
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
    ranked, parts = ranking(judged), []
    for k in ranked_classes(judged):
        levels = ranked.levels(k)
        if levels.defined:
            _, positive, negative = of_auc(levels, per_weight(judged))
            parts.append(Placed(k, None, levels, positive, negative))
    return [replace(part, positive=part.positive / len(parts), negative=part.negative / len(parts)) for part in parts]


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
    return estimate(judged, of_auc, ranking(judged), average)


def roc_auc_margin(judged: Tallied, average: str | None = "macro") -> Estimate:
    """The area under the ROC curve by raw scores."""
    return estimate(judged, of_auc, ranking_by_margin(judged), average)


def average_precision(judged: Tallied, average: str | None = "macro") -> Estimate:
    """Average precision."""
    return estimate(judged, of_average_precision, ranking(judged), average)
