"""Cumulative weights of a class and of the others along sorted scores."""

from dataclasses import dataclass

import numpy as np

from streamnb.kernels import ranks


@dataclass(frozen=True, eq=False)
class Levels:
    """One class against others, by score from the highest: distinct scores, or bins whose rows count as tied.

    Attributes
    ----------
    positive, negative : (m,)
        Weight of the rows of the class, and of the others, at each level; one of the two is above 0.
    thresholds : (m,)
        The lowest score of the rows at this level or above.
    blurred : (m,) bool
        Whether the level may hold different scores.
    """

    positive: np.ndarray
    negative: np.ndarray
    thresholds: np.ndarray
    blurred: np.ndarray

    @property
    def defined(self) -> bool:
        """True if there are rows of the class and others."""
        return bool(self.positive.any() and self.negative.any())

    def auc(self) -> float:
        """Area under the ROC curve: probability that a row of the class scores above another, ties counted half."""
        return float(areas(np.column_stack([self.negative[::-1], self.positive[::-1]])[None])[0, 0])

    def auc_error(self) -> float:
        """Bound on the error of `auc`: pairs that share a bin are each off by at most a half.

        ``1/2 sum_b p_b n_b / (P N)`` over the bins b that may hold different scores, p positive and n negative weight.
        """
        if not self.defined:
            return np.nan
        return float(0.5 * (self.positive * self.negative) @ self.blurred / (self.positive.sum() * self.negative.sum()))

    def average_precision(self) -> float:
        """Mean precision over positive rows: ``sum_l p_l T_l / (T_l + F_l) / P``, T and F the sums down to level l."""
        if not self.defined:
            return np.nan
        hits = np.cumsum(self.positive)
        value = self.positive @ (hits / (hits + np.cumsum(self.negative))) / hits[-1]
        return min(float(value), 1.0)  # rounding may exceed it

    def average_precision_error(self) -> float:
        """Bound on the error of `average_precision`, from the best and the worst order inside bins.

        With weights T of positive and F of negative rows above a bin of weights p and n, the precision of a row in it
        is at most ``(T + p) / (T + p + F)``: positive rows first, tied. A row whose positive weight ends at t has at
        least ``t / (t + F + n)``, and a sum of these over any cut of p into rows is at least their integral,
        ``p - (F + n) ln((T + p + F + n) / (T + F + n))``.
        """
        if not self.defined:
            return np.nan
        after, others = np.cumsum(self.positive), np.cumsum(self.negative)
        before, others_before = after - self.positive, others - self.negative
        tied = self.positive * after / (after + others)
        best = self.positive * after / np.maximum(after + others_before, np.finfo(float).tiny)
        with np.errstate(divide="ignore", invalid="ignore"):
            lost = others * np.log1p(self.positive / (before + others))
        worst = self.positive - np.where(others > 0.0, lost, 0.0)
        return float(max((best - tied) @ self.blurred, (tied - worst) @ self.blurred, 0.0) / after[-1])

    def roc_curve(self, drop_intermediate: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """False and true positive rates from (0, 0) on, and thresholds from infinity on; NaN rates where undefined."""
        false, true, thresholds = np.cumsum(self.negative), np.cumsum(self.positive), self.thresholds
        if drop_intermediate and len(true) > 2:
            corner = np.ones(len(true), bool)  # points on a straight line are redundant
            corner[1:-1] = (np.diff(false, 2) != 0) | (np.diff(true, 2) != 0)
            false, true, thresholds = false[corner], true[corner], thresholds[corner]
        false, true = (np.append(0.0, x / x[-1]) if x.any() else np.full(len(x) + 1, np.nan) for x in (false, true))
        return false, true, np.append(np.inf, thresholds)


def areas(table: np.ndarray) -> np.ndarray:
    """`auc` and `auc_error` of columns of bins, (2, columns).

    The table (columns, bins, 2) has the weight of negative and of positive rows by rising score; the outermost bins of
    a column hold one score each.
    """
    found = np.empty((2, len(table)))
    ranks.areas(table, found)
    return found


def exact_areas(scores: np.ndarray, positive: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """`auc` of each column of scores (n, k), where positive (n, k) says which rows are of its class.

    The bits are those of `exact_levels`, which takes ten times as long for a few hundred rows.
    """
    falling = -scores.T
    weight = np.ldexp(weight, -np.frexp(weight.max(initial=0.0))[1])  # about 1, as products of tiny weights underflow
    order = np.argsort(falling, axis=1, kind="stable")
    ranks.areas_of_rows(np.take_along_axis(falling, order, 1), order, positive, weight, found := np.empty(len(order)))
    return found


def exact_levels(scores: np.ndarray, positive: np.ndarray, negative: np.ndarray) -> Levels:
    """Levels of rows (n,) with their weights as positive and as negative rows."""
    kept = positive + negative > 0.0
    scores, positive, negative = scores[kept], positive[kept], negative[kept]
    thresholds, level = np.unique(-scores, return_inverse=True)
    positive, negative = (np.bincount(level, weights=w, minlength=len(thresholds)) for w in (positive, negative))
    return Levels(positive, negative, -thresholds, np.zeros(len(positive), bool))
