"""Defines the losses that models are trained with, and where training starts.

With s = W x + b, P the shares of the classes and t* = S_y - P_y s the score statistic of the scan (S the class sums of
x, s that of all rows), at W = 0 the gradients are multiples of t*, so that the first direction costs no read.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from streamnb.core import arguments
from streamnb.kernels import descent
from streamnb.solving.least_squares import CONSTANT
from streamnb.stats.class_stats import ClassStats
from streamnb.stats.grouping import LabelCodes
from streamnb.stats.totals import by_column, spread_about_mean, whole

MOMENTS = "sum", "sum_sq", "deviation"  # the last from 0: of abs(x)


@dataclass(frozen=True, eq=False)
class RowSums:
    """What the scan tells of R rows of weights; features are the first axis.

    Attributes
    ----------
    features : (n_features,) their numbers, ascending
    own : (n_features, R), of the rows that each row of weights is for, and `own_weight` (R,) their weight
    whole : (n_features,), of all rows, and `weight` theirs
    squares, magnitudes, spread : (n_features,)
        Sums over all rows of w x^2, of w abs(x), and of w (x - mean)^2, free of cancellation.
    """

    features: np.ndarray
    own: np.ndarray
    own_weight: np.ndarray
    whole: np.ndarray
    weight: float
    squares: np.ndarray
    magnitudes: np.ndarray
    spread: np.ndarray

    @classmethod
    def of(cls, stats: ClassStats) -> "RowSums":
        """Those of statistics with the moments "sum", "sum_sq" and "deviation" (from 0)."""
        every, k = of_rows(stats), slice(1 if one_row(stats) else 0, None)
        sums, squares, magnitudes = (whole(every.table(moment)).value()[0] for moment in MOMENTS)
        own, spread = by_column(stats.table("sum"))[:, k], spread_about_mean(every)
        features = np.arange(stats.n_features)
        return cls(features, own, stats.weight[k], sums, every.total_weight, squares, magnitudes, spread)

    def of_features(self, some: np.ndarray) -> "RowSums":
        """Those of some features, ascending; themselves where these are all."""
        if len(some) == len(self.features):
            return self
        names = ("features", "own", "whole", "squares", "magnitudes", "spread")
        return replace(self, **{name: getattr(self, name)[some] for name in names})

    def parting(self) -> tuple[int, int] | None:
        """A feature, and a row of weights: it is never negative, and 0 in all rows on one side but not on the other.

        Then that weight may always be longer, whatever the others (quasi-separable: Albert and Anderson 1984).
        """
        seen = ((self.share > 0.0) & (self.share < 1.0))[None, :]
        never_negative = ((self.magnitudes == self.whole) & (self.whole > 0.0))[:, None]
        found = never_negative & seen & ((self.own == 0.0) | (self.own == self.whole[:, None]))
        at = int(found.argmax())
        j, r = divmod(at, found.shape[1])
        return (int(self.features[j]), r) if found.flat[at] else None

    @property
    def share(self) -> np.ndarray:
        """Of the weight, the part that each row of weights is for, (R,)."""
        return self.own_weight / self.weight


def of_rows(stats: ClassStats) -> ClassStats:
    """The same sums, of each row once, though it may have several labels."""
    return stats if stats.every is None else stats.every


def features_used(stats: ClassStats) -> np.ndarray:
    """Numbers of the features that any row has, ascending."""
    return np.flatnonzero(of_rows(stats).table("sum_sq").totals() > 0.0)


def one_row(stats: ClassStats) -> bool:
    """Whether there is one row of weights, for the second of two classes."""
    return not stats.multilabel and len(stats.classes) == 2


class Objective:
    """A loss of a row's scores and its label; sums over rows are convex in the weights."""

    slope = 1.0  # the gradient at the start is this multiple of -t*
    of_rows = True  # each row of weights has a loss of its own, and its best step
    kernel: Any = None  # fills in slopes and losses of each row of weights by itself
    bounded = False  # True where a loss of 0 is reached: no rows ask for weights without end

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    def intercepts(self, share: np.ndarray) -> np.ndarray:
        """The best intercepts where all weights are 0, (R,)."""
        raise NotImplementedError

    def at_start(self, sums: RowSums) -> np.ndarray:
        """The loss with these intercepts, (G,): of each row of weights, or one of all."""
        raise NotImplementedError

    def curvature(self, share: np.ndarray) -> np.ndarray:
        """About the second derivative of a row's loss by its scores, (R,)."""
        return share * (1.0 - share) + 0.02

    def targets(self, y: Any, classes: np.ndarray, first_row: int) -> np.ndarray:
        """Which rows of weights are for the rows of a block, (n_rows, R) 0 or 1."""
        if sp.issparse(y):
            if y.shape[1] != len(classes):
                raise ValueError(f"y has {y.shape[1]} columns; in the first read it had {len(classes)}")
            return y.toarray().astype(np.uint8)
        codes = class_codes(y, classes, first_row)
        return np.equal(codes[:, None], [1] if len(classes) == 2 else np.arange(len(classes))).astype(np.uint8)

    def losses(self, scores: np.ndarray, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Slopes of the losses in the scores, (n_rows, R), and the losses of rows, (n_rows, G)."""
        residual, losses = np.empty_like(scores), np.empty_like(scores)
        self.kernel(scores, targets, residual, losses)
        return residual, losses

    def bounds(self, sums: RowSums, most: float) -> np.ndarray:
        """No sum of abs(w slope x) of a feature is larger, (n_features + 1,), last for x = 1, where no loss is."""
        return np.append(sums.magnitudes, sums.weight)

    def separated(self, largest: np.ndarray, share: np.ndarray) -> bool:
        """True where all rows are on their right side, so that longer weights would always be better.

        `largest` (G,) are the largest losses of a row: -ln p below ln 2 is a p above a half.
        """
        return bool(((largest < np.log(2.0)) & (share > 0.0) & (share < 1.0)).any())


class Softmax(Objective):
    """-ln p_y(x), p = softmax(s): one loss of all rows of weights."""

    of_rows = False

    def intercepts(self, share: np.ndarray) -> np.ndarray:
        with np.errstate(divide="ignore"):
            return np.log(share)

    def at_start(self, sums: RowSums) -> np.ndarray:
        seen = sums.own_weight[sums.own_weight > 0.0]
        return np.array([-(seen * np.log(seen / sums.weight)).sum()])

    def targets(self, y: Any, classes: np.ndarray, first_row: int) -> np.ndarray:
        return class_codes(y, classes, first_row)

    def losses(self, scores: np.ndarray, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        residual, losses = np.empty_like(scores), np.empty((len(scores), 1))
        descent.below_largest(scores, targets, residual, losses)
        np.exp(residual, out=residual)  # several at once, as the loop of a kernel does not
        descent.softmax_rows(residual, targets, losses)
        return residual, losses

    def separated(self, largest: np.ndarray, share: np.ndarray) -> bool:
        return bool(largest[0] < np.log(2.0))


class Logistic(Objective):
    """ln(1 + exp(-s)) of the score on the right side, for each row of weights."""

    kernel = staticmethod(descent.logistic_rows)

    def intercepts(self, share: np.ndarray) -> np.ndarray:
        with np.errstate(divide="ignore"):
            return np.log(share) - np.log1p(-share)

    def at_start(self, sums: RowSums) -> np.ndarray:
        terms = np.zeros(len(sums.own_weight))
        for part in (sums.own_weight, sums.weight - sums.own_weight):
            terms = terms - part * np.log(np.where(part > 0.0, part / sums.weight, 1.0))
        return terms


class Squares(Objective):
    """Losses that are squares, whose best intercepts are those of least squares to -1 and 1; `slope` says of which."""

    bounded = True

    def intercepts(self, share: np.ndarray) -> np.ndarray:
        return 2.0 * share - 1.0

    def at_start(self, sums: RowSums) -> np.ndarray:
        return self.slope * sums.own_weight * (1.0 - sums.share)

    def curvature(self, share: np.ndarray) -> np.ndarray:
        return np.full(len(share), 0.5 * self.slope)

    def bounds(self, sums: RowSums, most: float) -> np.ndarray:
        """By Cauchy and Schwarz: the slope of a loss is its root times that of `slope`."""
        return np.sqrt(self.slope * most) * np.sqrt(np.append(sums.squares, sums.weight))


class SquaredHinge(Squares):
    """max(0, 1 - s)^2 of the score on the right side, for each row of weights."""

    kernel = staticmethod(descent.squared_hinge_rows)
    slope = 4.0


class LeastSquares(Squares):
    """(s - c)^2 / 2, c = 1 on the right side and -1 on the other, for each row of weights.

    Its gradient is linear in the weights, and what the rows are read for is how it changes along a direction: `losses`
    are those of scores along it, s^2 / 2, and labels do not count.
    """

    slope = 2.0

    def losses(self, scores: np.ndarray, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return scores, 0.5 * scores * scores


def class_codes(y: Any, classes: np.ndarray, first_row: int) -> np.ndarray:
    """Numbers of the classes of a block's labels."""
    if sp.issparse(y):
        raise ValueError("y is an indicator of labels here and was one label a row before; give one kind")
    return LabelCodes(classes).entries(y, first_row)[1]


def inverse_frequency(stats: ClassStats) -> np.ndarray:
    """ln((1 + N) / (1 + df_j)) + 1 (idf), what features are multiplied by, (n_features,)."""
    frequency = of_rows(stats).table("nonzero").totals()
    return np.log((1.0 + stats.total_weight) / (1.0 + frequency)) + 1.0


def scale_by_deviation(sums: RowSums) -> np.ndarray:
    """What features are multiplied by so that they vary by 1, (n_features,); 1 for those that do not vary."""
    varies = sums.spread > CONSTANT * sums.squares
    return np.where(varies, np.sqrt(sums.weight / np.where(varies, sums.spread, 1.0)), 1.0)


def softmax_of(stats: ClassStats) -> Objective:
    """The softmax loss of several classes; the logistic one of two, or of labels."""
    return Softmax() if len(stats.classes) > 2 and not stats.multilabel else Logistic()


def squared_hinge_of(stats: ClassStats) -> Objective:
    """The squared hinge, whatever the labels."""
    return SquaredHinge()


def check_strength(name: str, value: Any) -> float:
    """The strength of a penalty."""
    return arguments.finite_number(name, value, minimum=0.0)
