"""Variances of metrics of decisions, by the gradient of each metric with respect to counts."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from streamnb.evaluation import metrics
from streamnb.evaluation.estimates import Estimate, of_buckets, per_weight, spread_of
from streamnb.evaluation.spread import GroupSpread, RowSpread
from streamnb.evaluation.tallied import Tallied, decisions
from streamnb.evaluation.tallies import ratio


@dataclass(frozen=True)
class Gradient:
    """What one row adds to a metric.

    A row of class i that is predicted as j adds ``[i = j] hit_i + true_i + predicted_j + sum_k row_k``; its square,
    averaged over rows, is the variance of the metric (delta method). With several labels a row, it adds this for all
    of them.

    Attributes
    ----------
    hit, true, predicted, row : (K,)
    """

    hit: np.ndarray
    true: np.ndarray
    predicted: np.ndarray
    row: np.ndarray

    def cells(self) -> tuple[np.ndarray, ...]:
        """What a row adds for one class that is hit, missed, wrongly predicted, or neither, each (K,)."""
        return (
            self.hit + self.true + self.predicted + self.row,
            self.true + self.row,
            self.predicted + self.row,
            self.row,
        )

    def scaled(self, factor: Any) -> "Gradient":
        """The gradient of a multiple of the metric, or of multiples for each class."""
        return Gradient(factor * self.hit, factor * self.true, factor * self.predicted, factor * self.row)


def estimate(
    judged: Tallied, value: float, gradient: Gradient, n_rows: float, low: float = 0.0, is_share: bool = False
) -> Estimate:
    """The estimate of one number."""
    spread = spread_of(judged)
    if isinstance(spread, GroupSpread):
        hit, true, predicted = spread.counts.sums
        weight = spread.total.sums[:, -1]
        sums = hit @ gradient.hit + true @ gradient.true + predicted @ gradient.predicted
        sums += weight * gradient.row.sum()
        return of_buckets(spread, value, sums, low=low)
    added = _squares_of_labels(judged, gradient, spread) if judged.multilabel else _squares(judged, gradient, spread)
    rate = per_weight(judged)
    return Estimate(value, max(added, 0.0) / rate, n_rows * rate, low, is_share=is_share)


def estimates(judged: Tallied, values: np.ndarray, gradient: Gradient, n_rows: np.ndarray) -> Estimate:
    """The estimates of a value for each class, of which each depends on the counts of that class alone."""
    spread, rate = spread_of(judged), per_weight(judged)
    values = np.where(n_rows > 0.0, values, np.nan)
    if isinstance(spread, GroupSpread):
        hit, true, predicted = spread.counts.sums
        sums = hit * gradient.hit + true * gradient.true + predicted * gradient.predicted
        return of_buckets(spread, values, sums + spread.total.sums[:, -1:] * gradient.row)
    added = sum(n * np.square(cell) for n, cell in zip(_cells(judged), gradient.cells(), strict=True))
    return Estimate(values, added / rate, n_rows * rate)


def _cells(judged: Tallied) -> tuple[np.ndarray, ...]:
    """Weight of the rows of each class that are hit, missed, wrongly predicted, or neither."""
    tally = decisions(judged)
    return tally.hit, tally.missed, tally.wrong, judged.weight - tally.hit - tally.missed - tally.wrong


def _squares(judged: Tallied, gradient: Gradient, spread: RowSpread) -> float:
    """The sum over rows with one label each of the square of what each adds."""
    tally, c = decisions(judged), gradient.row.sum()
    hit, of_true = gradient.hit + gradient.true + gradient.predicted + c, gradient.true + c
    squares = tally.hit @ hit**2 + tally.missed @ of_true**2
    squares += tally.wrong @ gradient.predicted**2 + 2.0 * c * (tally.wrong @ gradient.predicted)
    if gradient.true.any() and gradient.predicted.any():
        squares += 2.0 * _pairs(judged, gradient, spread)
    return float(squares)


def _pairs(judged: Tallied, gradient: Gradient, spread: RowSpread) -> float:
    """The sum over wrong decisions of ``true_i predicted_j``: from the table, or from a sample of the rows."""
    tally = decisions(judged)
    if tally.table is not None:
        wrong = tally.table - np.diag(np.diag(tally.table))
        return float(gradient.true @ wrong @ gradient.predicted)
    if judged.n_classes == 2:
        return float(tally.missed @ (gradient.true * gradient.predicted[::-1]))
    sample = spread.sampled_rows()
    true, predicted = sample.parts["labels"], sample.parts["predicted"]
    added = np.where(true != predicted, gradient.true[true] * gradient.predicted[predicted], 0.0)
    return sample.scaled_sum(added, tally.true.sum())


def _squares_of_labels(judged: Tallied, gradient: Gradient, spread: RowSpread) -> float:
    """The same of rows with several labels: exact for each label; how labels go together, from a sample of the rows."""
    cells = gradient.cells()
    squares = float(sum(n @ np.square(cell) for n, cell in zip(_cells(judged), cells, strict=True)))
    sample = spread.sampled_rows()
    true, predicted = (sp.csr_array(sample.parts[name], dtype=np.float64) for name in ("labels", "predicted"))
    hit = true.multiply(predicted).tocsr()
    added = hit @ gradient.hit + true @ gradient.true + predicted @ gradient.predicted + gradient.row.sum()
    of_hit, of_missed, of_wrong, of_none = map(np.square, cells)
    alone = hit @ (of_hit - of_missed - of_wrong + of_none) + true @ (of_missed - of_none)
    alone += predicted @ (of_wrong - of_none) + of_none.sum()
    return squares + sample.scaled_sum(added**2 - alone, judged.weight)


# ---- metrics ---------------------------------------------------------------------------------------------------------


def rate(judged: Tallied, kind: str, average: str | None, beta: float = 1.0) -> Estimate:
    """A rate of decisions: `precision`, `recall`, `specificity` or `f_score`."""
    value = metrics.rate(judged, kind, average, beta)
    tally, K = decisions(judged), judged.n_classes
    counts = np.stack([tally.hit, tally.true, tally.predicted, np.full(K, judged.weight)])
    if average == "micro":
        counts = counts.sum(axis=1, keepdims=True)
    over, under = np.array(metrics.parts_of_rate(kind, beta, *np.eye(4)))  # the coefficient of each count
    n_rows = under @ counts
    values = ratio(over @ counts, n_rows)
    parts = (ratio(o - values * u, n_rows) for o, u in zip(over, under, strict=True))
    hit, true, predicted, row = (np.broadcast_to(part, K) for part in parts)
    gradient = Gradient(hit, true, predicted, row)
    if kind == "f_score":
        n_rows = n_rows / (1.0 + beta**2)
    if average is None:
        return estimates(judged, value, gradient, n_rows)
    if average == "micro":
        return estimate(judged, value, gradient, float(n_rows[0]), is_share=True)
    if average == "binary":
        one = np.arange(2) == 1
        return estimate(judged, value, gradient.scaled(one), float(n_rows[1]), is_share=kind != "f_score")
    if average == "weighted" and tally.true.any():
        share = tally.true / tally.true.sum()
        gradient = gradient.scaled(share)
        of_share = (values - value) / tally.true.sum()
        gradient = Gradient(gradient.hit, gradient.true + of_share, gradient.predicted, gradient.row)
    else:
        occurs = metrics.occurring(judged)
        share = ratio(occurs.astype(np.float64), np.full(K, float(occurs.sum())))
        gradient = gradient.scaled(share)
    return estimate(judged, value, gradient, _together(share, n_rows))


def _together(share: np.ndarray, n_rows: np.ndarray) -> float:
    """The rows of a share as sure as a mean of shares of so many rows."""
    defined = (share > 0.0) & (n_rows > 0.0)
    return float(1.0 / (share[defined] ** 2 / n_rows[defined]).sum()) if defined.any() else 0.0


def balanced_accuracy(judged: Tallied) -> Estimate:
    """Mean recall over the classes that have rows."""
    tally = decisions(judged)
    occurs = tally.true > 0.0
    share = occurs / max(occurs.sum(), 1)
    recall = ratio(tally.hit, tally.true)
    zero, hit = np.zeros(judged.n_classes), ratio(share, tally.true)
    gradient = Gradient(hit, -recall * hit, zero, zero)
    return estimate(judged, metrics.balanced_accuracy(judged), gradient, _together(share, tally.true))


def matthews_corrcoef(judged: Tallied) -> Estimate:
    """The derivative of ``(h W - t p) / sqrt((W^2 - t t) (W^2 - p p))`` with respect to the counts of each row."""
    value = metrics.matthews_corrcoef(judged)
    right, true, predicted, whole = metrics.shares(judged, "matthews_corrcoef")
    a, b = whole**2 - true @ true, whole**2 - predicted @ predicted
    root = np.sqrt(a * b) if a * b > 0.0 else np.inf
    by_true = -predicted / root + value * ratio(true, np.full(true.shape, a))
    by_predicted = -true / root + value * ratio(predicted, np.full(true.shape, b))
    by_row = right / root - value * whole * float(ratio(np.ones(2), np.array([a, b])).sum())
    return _of_agreement(judged, value, whole / root, by_true, by_predicted, by_row)


def cohen_kappa(judged: Tallied) -> Estimate:
    """The derivative of ``(h W - t p) / (W^2 - t p)`` likewise."""
    value = metrics.cohen_kappa(judged)
    right, true, predicted, whole = metrics.shares(judged, "cohen_kappa")
    under = whole**2 - true @ predicted
    under = under if under > 0.0 else np.inf
    by_true, by_predicted = (-(1.0 - value) * other / under for other in (predicted, true))
    return _of_agreement(judged, value, whole / under, by_true, by_predicted, (right - 2.0 * value * whole) / under)


def _of_agreement(judged: Tallied, value: float, hit: float, true: Any, predicted: Any, row: float) -> Estimate:
    K = judged.n_classes
    every_row = np.where(np.arange(K) == 0, row, 0.0)  # once a row, whichever class it stands with
    gradient = Gradient(np.full(K, hit), true, predicted, every_row)
    return estimate(judged, value, gradient, judged.weight, low=-1.0)
