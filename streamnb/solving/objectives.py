"""Defines the losses that models are trained with, and where training starts.

Scores are W x + b. With P the shares of the classes, S_y the class sums of x and s its sum over all rows, the gradients
at W = 0 are multiples of the score statistic t* = S_y - P_y s of the scan, so that the first direction costs no read.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import softmax

from streamnb.core import arguments, row_checks
from streamnb.kernels import descent
from streamnb.rows.row_blocks import Block
from streamnb.stats.class_stats import ClassStats
from streamnb.stats.grouping import known_codes
from streamnb.stats.second_moments import CONSTANT
from streamnb.stats.tables import by_column, scatter_about_mean, whole

MOMENTS = "sum", "sum_sq", "deviation"  # the last is about 0: the sum of abs(x)


@dataclass(frozen=True, eq=False)
class RowSums:
    """Sums of the scan for R rows of weights; features are the first axis.

    Attributes
    ----------
    features : (n_features,) their indices, ascending
    cells : (n_features, R), over the rows of the class of each row of weights, CSR or dense; `own` is dense
    own_weight : (R,), the weight of these rows
    whole : (n_features,), over all rows, and `weight` their weight
    squares, magnitudes, spread : (n_features,)
        Sums over all rows of w x^2, of w abs(x), and of w (x - mean)^2, free of cancellation.
    """

    features: np.ndarray
    cells: Any
    own_weight: np.ndarray
    whole: np.ndarray
    weight: float
    squares: np.ndarray
    magnitudes: np.ndarray
    spread: np.ndarray

    @classmethod
    def of(cls, stats: ClassStats) -> "RowSums":
        """From statistics with the moments "sum", "sum_sq" and "deviation" (about 0), or "sum" alone of indicators."""
        counted_once, k = of_rows(stats), slice(1 if one_row(stats) else 0, None)
        tables, names = counted_once.tables, (*MOMENTS, "weight")
        sums, squares, magnitudes, weight = (whole(tables.get(name, tables["sum"])).row(0) for name in names)
        spread = scatter_about_mean(sums, squares, weight)
        cells, features = by_column(stats.table("sum"))[:, k], np.arange(stats.n_features)
        moments = squares[0], magnitudes[0], spread
        return cls(features, cells, stats.weight[k], sums[0], counted_once.total_weight, *moments)

    def of_features(self, chosen: np.ndarray) -> "RowSums":
        """The sums of a subset of the features, ascending; `self` for all of them."""
        if len(chosen) == len(self.features):
            return self
        names = ("features", "cells", "whole", "squares", "magnitudes", "spread")
        return replace(self, **{name: getattr(self, name)[chosen] for name in names})

    def parting(self) -> tuple[int, int] | None:
        """A feature and a row of weights that it separates in part: never negative, and 0 in all rows of one side only.

        Its weight then grows without bound, whatever the others (quasi-separation: Albert and Anderson 1984).
        """
        seen = ((self.share > 0.0) & (self.share < 1.0))[None, :]
        never_negative = ((self.magnitudes == self.whole) & (self.whole > 0.0))[:, None]
        own = self.own
        parts = never_negative & seen & ((own == 0.0) | (own == self.whole[:, None]))
        at = int(parts.argmax())
        j, r = divmod(at, parts.shape[1])
        return (int(self.features[j]), r) if parts.flat[at] else None

    @property
    def own(self) -> np.ndarray:
        return self.cells.toarray() if sp.issparse(self.cells) else self.cells

    @property
    def filled(self) -> float:
        """A lower bound of the share of values that are not 0, by Cauchy and Schwarz, whatever form rows have."""
        most = self.weight * self.squares
        return float(np.divide(self.magnitudes**2, most, out=np.zeros_like(most), where=most > 0.0).mean())

    @property
    def share(self) -> np.ndarray:
        """The share of the class of each row of weights in the weight of all rows, (R,)."""
        return self.own_weight / self.weight


def of_rows(stats: ClassStats) -> ClassStats:
    """The same sums with each row counted once, however many labels it has."""
    return stats if stats.every is None else stats.every


def features_used(stats: ClassStats) -> np.ndarray:
    """Indices of the features that any row has, ascending."""
    tables = of_rows(stats).tables
    return np.flatnonzero(tables.get("sum_sq", tables["sum"]).totals() > 0.0)


def one_row(stats: ClassStats) -> bool:
    """Whether there is one row of weights, for the second of two classes."""
    return not stats.multilabel and len(stats.classes) == 2


class Objective:
    """A loss of a row's scores and label, convex in the weights."""

    slope = 1.0  # the gradient at the start is this multiple of -t*
    of_rows = True  # each row of weights has its own loss and its own best step
    kernel: Any = None  # writes slopes and losses, for each row of weights separately
    twice_differentiable = True  # so that second derivatives of a sample of rows stand for those of all rows
    bounded = False  # True where a loss of 0 is attained, so that weights stay bounded for any rows

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    def intercepts(self, share: np.ndarray) -> np.ndarray:
        """The best intercepts where all weights are 0, (R,)."""
        raise NotImplementedError

    def at_start(self, sums: RowSums) -> np.ndarray:
        """The loss at these intercepts, (G,): one per row of weights, or one for all."""
        raise NotImplementedError

    def curvature(self, share: np.ndarray) -> np.ndarray:
        """The approximate second derivative of a row's loss in its scores, (R,)."""
        return share * (1.0 - share) + 0.02

    def targets(self, y: Any, classes: np.ndarray, first_row: int) -> np.ndarray:
        """1 where a row of a block belongs to the class of a row of weights, else 0, (n_rows, R)."""
        if sp.issparse(y):
            if y.shape[1] != len(classes):
                raise ValueError(f"y has {y.shape[1]} columns; in the first read it had {len(classes)}")
            return y.toarray().astype(np.uint8)
        codes = known_codes(y, classes, first_row)
        return np.equal(codes[:, None], [1] if len(classes) == 2 else np.arange(len(classes))).astype(np.uint8)

    def rows(self, block: Block, classes: np.ndarray) -> tuple[Any, np.ndarray, np.ndarray]:
        """The labels of the rows of a block, their targets and weights."""
        y = row_checks.check_y(block.y)
        return y, self.targets(y, classes, block.first_row), block.weights

    def trained(self, share: np.ndarray) -> np.ndarray:
        """Whether each row of weights is trained, (R,): those of classes without rows are not."""
        return share > 0.0

    def losses(self, scores: np.ndarray, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Slopes of the losses in the scores, (n_rows, R), and the losses of rows, (n_rows, G)."""
        residual, losses = np.empty_like(scores), np.empty_like(scores)
        self.kernel(scores, targets, residual, losses)
        return residual, losses

    def sampled_targets(self, labels: Any, n_rows: int) -> np.ndarray:
        """The targets for `n_rows` rows of weights, given an indicator of the classes of rows, (n, K)."""
        return labels.toarray()[:, -n_rows:].astype(np.uint8)

    def hessian(self, scores: np.ndarray, targets: np.ndarray) -> np.ndarray:
        """The second derivatives of the losses in the scores, or the softmax that they follow from, (n_rows, R)."""
        raise NotImplementedError

    def hessian_diagonal(self, hessian: np.ndarray) -> np.ndarray:
        """The second derivative in each score, (n_rows, R)."""
        return hessian

    def hessian_product(self, hessian: np.ndarray, along: np.ndarray) -> np.ndarray:
        """How the slopes change as the scores change by `along`, (n_rows, R)."""
        return hessian * along

    def bounds(self, sums: RowSums, most: float) -> np.ndarray:
        """Upper bounds of sum abs(w slope x) for each feature and, last, x = 1, where the loss is at most `most`."""
        return np.append(sums.magnitudes, sums.weight)

    def separated(self, largest: np.ndarray, share: np.ndarray) -> bool:
        """True where all rows are on the correct side, so that longer weights would always fit better.

        `largest` (G,) are the largest losses of a row: -ln p below ln 2 means p above 1/2.
        """
        return bool(((largest < np.log(2.0)) & (share > 0.0) & (share < 1.0)).any())


class Softmax(Objective):
    """-ln p_y(x), p = softmax(s): one loss for all rows of weights."""

    of_rows = False

    def intercepts(self, share: np.ndarray) -> np.ndarray:
        with np.errstate(divide="ignore"):
            return np.log(share)

    def at_start(self, sums: RowSums) -> np.ndarray:
        seen = sums.own_weight[sums.own_weight > 0.0]
        return np.array([-(seen * np.log(seen / sums.weight)).sum()])

    def targets(self, y: Any, classes: np.ndarray, first_row: int) -> np.ndarray:
        return known_codes(y, classes, first_row)

    def losses(self, scores: np.ndarray, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        residual, losses = np.empty_like(scores), np.empty((len(scores), 1))
        descent.softmax_rows(scores, targets, residual, residual.reshape(-1), losses)
        return residual, losses

    def sampled_targets(self, labels: Any, n_rows: int) -> np.ndarray:
        return np.asarray(labels.indices, np.int64)

    def hessian(self, scores: np.ndarray, targets: np.ndarray) -> np.ndarray:
        return softmax(scores, axis=1)

    def hessian_diagonal(self, hessian: np.ndarray) -> np.ndarray:
        return hessian * (1.0 - hessian)

    def hessian_product(self, hessian: np.ndarray, along: np.ndarray) -> np.ndarray:
        return hessian * (along - np.einsum("ij,ij->i", hessian, along)[:, None])

    def separated(self, largest: np.ndarray, share: np.ndarray) -> bool:
        return bool(largest[0] < np.log(2.0))


class Logistic(Objective):
    """ln(1 + exp(-s)) for each row of weights, s positive on the correct side."""

    kernel = staticmethod(descent.logistic_rows)

    def intercepts(self, share: np.ndarray) -> np.ndarray:
        with np.errstate(divide="ignore"):
            return np.log(share) - np.log1p(-share)

    def at_start(self, sums: RowSums) -> np.ndarray:
        terms = np.zeros(len(sums.own_weight))
        for part in (sums.own_weight, sums.weight - sums.own_weight):
            terms = terms - part * np.log(np.where(part > 0.0, part / sums.weight, 1.0))
        return terms

    def hessian(self, scores: np.ndarray, targets: np.ndarray) -> np.ndarray:
        e = np.exp(-np.abs(scores))
        return e / (1.0 + e) ** 2


class Squares(Objective):
    """Squared losses, whose best intercepts are those of least squares on -1 and 1; subclasses set `slope`."""

    bounded = True

    def intercepts(self, share: np.ndarray) -> np.ndarray:
        return 2.0 * share - 1.0

    def at_start(self, sums: RowSums) -> np.ndarray:
        return self.slope * sums.own_weight * (1.0 - sums.share)

    def curvature(self, share: np.ndarray) -> np.ndarray:
        return np.full(len(share), 0.5 * self.slope)

    def bounds(self, sums: RowSums, most: float) -> np.ndarray:
        """By Cauchy-Schwarz, as the slope of a loss is at most the root of `slope` times the loss."""
        return np.sqrt(self.slope * most) * np.sqrt(np.append(sums.squares, sums.weight))


class SquaredHinge(Squares):
    """max(0, 1 - s)^2 for each row of weights, s positive on the correct side."""

    kernel = staticmethod(descent.squared_hinge_rows)
    slope = 4.0
    twice_differentiable = False  # 2 or 0, and 0 for more of the sampled rows at the optimum of these


class LeastSquares(Squares):
    """(s - c)^2 / 2 for each row of weights, c = 1 for its own class and -1 for the others.

    Its gradient is linear in the weights, so that reads only measure how it changes along a direction: `losses` are
    those of the scores along that direction, s^2 / 2, and do not depend on labels.
    """

    slope = 2.0

    def losses(self, scores: np.ndarray, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return scores, 0.5 * scores * scores


def inverse_frequency(stats: ClassStats) -> np.ndarray:
    """The factors ln((1 + N) / (1 + df_j)) + 1 of the features (idf), (n_features,); 0 of features that no row has.

    So these do not count in the length of rows either, as words outside the vocabulary do not.
    """
    frequency = of_rows(stats).table("nonzero").totals()
    return np.where(frequency > 0.0, np.log((1.0 + stats.total_weight) / (1.0 + frequency)) + 1.0, 0.0)


def scale_by_deviation(sums: RowSums) -> np.ndarray:
    """Factors that scale features to variance 1, (n_features,); 1 for constant features."""
    varies = sums.spread > CONSTANT * sums.squares
    return np.where(varies, np.sqrt(sums.weight / np.where(varies, sums.spread, 1.0)), 1.0)


def softmax_of(stats: ClassStats) -> Objective:
    """The softmax loss for several classes; the logistic loss for two classes, or for labels."""
    return Softmax() if len(stats.classes) > 2 and not stats.multilabel else Logistic()


def squared_hinge_of(stats: ClassStats) -> Objective:
    """The squared hinge loss, for any labels."""
    return SquaredHinge()


def check_strength(name: str, value: Any) -> float:
    """The strength of a penalty, checked: finite and at least 0."""
    return arguments.finite_number(name, value, minimum=0.0)
