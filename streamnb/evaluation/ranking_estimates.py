"""Variances of metrics of rankings, by what each row adds to them at its score."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
import scipy.sparse as sp

from streamnb.evaluation import metrics
from streamnb.evaluation.estimates import Estimate, of_buckets, per_weight, spread_of
from streamnb.evaluation.levels import Levels
from streamnb.evaluation.score_order import Ranking
from streamnb.evaluation.spread import BUCKETS, GroupSpread, RowSpread
from streamnb.evaluation.tallied import Tallied, is_binary, ranked_classes, ranking, ranking_by_margin, ranking_name


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
    own, rest : (m,)
        What a row of the class adds at each level, and another.
    share : float
        Of these levels in the metric; 0 if they were counted with another column.
    """

    column: int
    versus: int | None
    levels: Levels
    own: np.ndarray
    rest: np.ndarray
    share: float = 1.0

    def at(self, scores: np.ndarray) -> np.ndarray:
        """The level of each score."""
        levels = np.searchsorted(-self.levels.thresholds, -scores)
        return np.minimum(levels, len(self.levels.thresholds) - 1)

    def squares(self) -> np.ndarray:
        """The sum of squares of what rows of the class add, and others, (2,)."""
        return np.array([self.levels.own @ self.own**2, self.levels.rest @ self.rest**2])

    def n_rows(self) -> np.ndarray:
        """Weight of the rows of the class, and of others, (2,)."""
        return np.array([self.levels.own.sum(), self.levels.rest.sum()])


def of_auc(levels: Levels, rate: float) -> tuple[float, np.ndarray, np.ndarray]:
    """The area, and what rows add to it: their placement among the rows of the other kind (DeLong et al. 1988)."""
    n_own, n_rest = levels.own.sum(), levels.rest.sum()
    above_own = np.cumsum(levels.own) - 0.5 * levels.own
    above_rest = np.cumsum(levels.rest) - 0.5 * levels.rest
    value = levels.auc()
    own = (1.0 - above_rest / n_rest - value) / n_own * _unbiased(n_own * rate)
    return value, own, (above_own / n_own - value) / n_rest * _unbiased(n_rest * rate)


def _unbiased(n: float) -> float:
    """The factor of deviations whose mean was estimated from the same n rows."""
    return float(np.sqrt(n / (n - 1.0))) if 1.0 < n < np.inf else 1.0


def of_average_precision(levels: Levels, rate: float) -> tuple[float, np.ndarray, np.ndarray]:
    """The average precision, and its derivative by the weight of rows at each level.

    ``P = sum_l own_l T_l / (T_l + F_l) / own``: a row adds its own precision, and changes that of all levels below.
    """
    n_own, hits, others = levels.own.sum(), np.cumsum(levels.own), np.cumsum(levels.rest)
    all_ = hits + others
    value = levels.average_precision()
    by_hit = np.cumsum((levels.own * others / all_**2)[::-1])[::-1]
    by_other = np.cumsum((levels.own * hits / all_**2)[::-1])[::-1]
    return value, (hits / all_ - value + by_hit) / n_own, -by_other / n_own


def _rate(judged: Tallied) -> float:
    """Equal rows for each unit of weight; infinite for rows in groups, whose variance is corrected by their number."""
    return np.inf if isinstance(spread_of(judged), GroupSpread) else per_weight(judged)


Influence = Callable[[Levels, float], tuple[float, np.ndarray, np.ndarray]]


def estimate(judged: Tallied, kind: Influence, ranked: Ranking, average: str | None) -> Estimate:
    """The estimate of a metric of one class against the rest, or of its average over classes."""
    rate = _rate(judged)
    if average == "micro":
        levels = ranked.all_levels()
        if not levels.defined:
            return Estimate(np.nan, np.nan)
        value, own, rest = kind(levels, rate)
        columns = [1] if is_binary(judged) else range(judged.n_classes)
        placed = [Placed(k, None, levels, own, rest, float(k == columns[0])) for k in columns]
        return _estimate(judged, ranked, value, placed)
    if average is None:
        return _of_each(judged, kind, ranked)
    parts = []
    for k in ranked_classes(judged):
        levels = ranked.levels(k)
        if levels.defined:
            parts.append((k, levels, *kind(levels, rate)))
    if not parts:
        return Estimate(np.nan, np.nan)
    weights = np.array([levels.own.sum() if average == "weighted" else 1.0 for _, levels, *_ in parts])
    value = float(np.average([part[2] for part in parts], weights=weights))
    placed = []
    for (k, levels, one, own, rest), weight in zip(parts, weights / weights.sum(), strict=True):
        own, rest = weight * own, weight * rest
        if average == "weighted":
            own = own + (one - value) / weights.sum()
        placed.append(Placed(k, None, levels, own, rest, weight))
    return _estimate(judged, ranked, value, placed)


def _of_each(judged: Tallied, kind: Influence, ranked: Ranking) -> Estimate:
    """The estimate of each class."""
    found = []
    for k in range(judged.n_classes):
        binary = is_binary(judged)
        levels = ranked.levels(1 if binary else k)
        if not levels.defined:
            found.append(Estimate(np.nan, np.nan))
            continue
        turned = _turned(levels) if binary and k == 0 else levels
        value, own, rest = kind(turned, _rate(judged))
        if turned is not levels:  # of the second class by its own scores
            own, rest = rest[::-1], own[::-1]
        found.append(_estimate(judged, ranked, value, [Placed(1 if binary else k, None, levels, own, rest)]))
    parts = ([getattr(one, name) for one in found] for name in ("value", "variance", "n_rows", "df"))
    values, variances, n_rows, df = (np.array(part, np.float64) for part in parts)
    return Estimate(values, variances, n_rows, df=df, is_share=False)


def _turned(levels: Levels) -> Levels:
    """The levels of the other class, ranked by minus the score."""
    return Levels(levels.rest[::-1], levels.own[::-1], -levels.thresholds[::-1], levels.blurred[::-1])


def of_pairs(judged: Tallied, average: str | None) -> Estimate:
    """The estimate of the area one against one."""
    ranked, rate = ranking(judged, "pairs"), _rate(judged)
    parts = []
    for k, other in combinations(range(judged.n_classes), 2):
        both = ranked.levels(k, other), ranked.levels(other, k)
        if both[0].defined:
            sides = [of_auc(levels, rate) for levels in both]
            weight = both[0].own.sum() + both[0].rest.sum() if average == "weighted" else 1.0
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
        for column, versus, levels, (_, own, rest) in zip((k, other), (other, k), both, sides, strict=True):
            own, rest = 0.5 * share * own + more, 0.5 * share * rest
            placed.append(Placed(column, versus, levels, own, rest, share / np.sqrt(2.0)))
    return _estimate(judged, ranked, value, placed)


def _estimate(judged: Tallied, ranked: Ranking, value: float, placed: list[Placed]) -> Estimate:
    """The estimate with the variance of what rows, or buckets of groups, add to it.

    Degrees of freedom are Satterthwaite's, of variances from as many rows as each class has.
    """
    spread, rate = spread_of(judged), per_weight(judged)
    squares = np.array([one.squares() for one in placed if one.share])
    n = np.array([one.n_rows() for one in placed if one.share]) * rate
    share = np.array([one.share for one in placed if one.share])
    if isinstance(spread, GroupSpread):
        found = [_of_buckets(judged, ranked, spread, one) for one in placed]
        least = 1.0 / float(sum(one.share**2 / max(n, 1) for one, (_, n) in zip(placed, found, strict=True)))
        added = np.sum([sums for sums, _ in found], axis=0)
        return replace(of_buckets(spread, value, added, is_share=False), n_rows=least)
    total, n_rows = squares.sum(), 1.0 / float((share**2 / n.min(axis=1)).sum())
    df = total**2 / max((squares**2 / np.maximum(n - 1.0, 0.5)).sum(), 1e-300) if total else np.inf
    if len(placed) > 1:
        total += _products(judged, ranked, spread, placed)
    return Estimate(value, max(total, 0.0) / rate, n_rows, df=max(df, 1.0), is_share=False)


def _products(judged: Tallied, ranked: Ranking, spread: RowSpread, placed: list[Placed]) -> float:
    """Sum over rows of the products of what a row adds by its scores for different classes, from a sample of them."""
    sample = spread.sampled_rows()
    labels, scores = sample.parts["labels"], sample.parts[ranking_name(judged, ranked)]
    labels = labels.toarray() if sp.issparse(labels) else labels
    added, squares = np.zeros((2, len(sample.weight)))
    for one in placed:
        own, rest = _sides(labels, one)
        level = one.at(scores[:, one.column])
        of_row = own * one.own[level] + rest * one.rest[level]
        added += of_row
        squares += np.square(of_row)
    levels = ranking(judged).levels(1 if is_binary(judged) else 0)
    return sample.scaled_sum(added**2 - squares, levels.own.sum() + levels.rest.sum())


def _sides(labels: np.ndarray, one: Placed) -> tuple[np.ndarray, np.ndarray]:
    """Which rows are of the class, and which others it is compared with."""
    if labels.ndim == 2:
        own = labels[:, one.column] > 0
        return own, ~own
    own = labels == one.column
    return own, ~own if one.versus is None else labels == one.versus


def _of_buckets(judged: Tallied, ranked: Ranking, spread: GroupSpread, one: Placed) -> tuple[np.ndarray, int]:
    """What the rows of each bucket add, by the bins of their scores; and in how many the rarer of the two kinds is."""
    histogram = spread.scores[ranking_name(judged, ranked)]
    column = 0 if is_binary(judged) else one.column
    table = histogram.table[column].reshape(len(histogram.table[column]), BUCKETS, -1)
    used = table.any(axis=(1, 2))
    table, level = table[used].astype(np.float64), one.at(histogram.tops(column)[used])
    own, others = (1, [0]) if table.shape[2] == 2 else (one.column, _others(table.shape[2], one))
    of_class, of_others = table[:, :, own].T, table[:, :, others].sum(axis=2).T  # (buckets, bins)
    n_buckets = min(int(kind.any(axis=1).sum()) for kind in (of_class, of_others))
    return of_class @ one.own[level] + of_others @ one.rest[level], n_buckets


def _others(n_classes: int, one: Placed) -> list[int]:
    return [k for k in range(n_classes) if k != one.column] if one.versus is None else [one.versus]


def _areas(judged: Tallied) -> list[Placed]:
    """What rows add to the mean area over classes, by the scores for each class."""
    ranked, parts = ranking(judged), []
    for k in ranked_classes(judged):
        levels = ranked.levels(k)
        if levels.defined:
            _, own, rest = of_auc(levels, per_weight(judged))
            parts.append(Placed(k, None, levels, own, rest))
    return [replace(part, own=part.own / len(parts), rest=part.rest / len(parts)) for part in parts]


def added_by_rows(judged: Tallied, labels: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """What some rows add to the mean area over classes, (n,), by an indicator of labels and the scores of classes."""
    added = np.zeros(len(labels))
    for one in _areas(judged):
        own, rest = _sides(labels, one)
        level = one.at(scores[:, 0 if is_binary(judged) else one.column])
        added += own * one.own[level] + rest * one.rest[level]
    return added


def added_by_buckets(judged: Tallied) -> np.ndarray:
    """What the rows of each bucket of groups add to the mean area over classes, (buckets,)."""
    spread, ranked, added = spread_of(judged), ranking(judged), np.zeros(BUCKETS)
    assert isinstance(spread, GroupSpread)
    for one in _areas(judged):
        added += _of_buckets(judged, ranked, spread, one)[0]
    return added


# ---- metrics ---------------------------------------------------------------------------------------------------------


def roc_auc(judged: Tallied, average: str | None = "macro", multi_class: str = "ovr") -> Estimate:
    """The area under the ROC curve."""
    metrics.roc_auc(judged, average, multi_class)  # refuses what it does not take
    if multi_class == "ovo" and not is_binary(judged):
        return of_pairs(judged, average)
    return estimate(judged, of_auc, ranking(judged), average)


def roc_auc_margin(judged: Tallied, average: str | None = "macro") -> Estimate:
    """The area under the ROC curve by raw scores."""
    metrics.roc_auc_margin(judged, average)
    return estimate(judged, of_auc, ranking_by_margin(judged), average)


def average_precision(judged: Tallied, average: str | None = "macro") -> Estimate:
    """Average precision."""
    metrics.average_precision(judged, average)
    return estimate(judged, of_average_precision, ranking(judged), average)
