"""Losses of additive models in training, on sampled rows: those of classes, and those of numbers.

Models are trained side by side in lanes, one for each row of weights. A model leaves out the rows of a fold, whose
weight counts as 0.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from streamnb.kernels import terms as kernels
from streamnb.problem.losses import TweedieLoss
from streamnb.training.objectives import Logistic, Softmax

ROWS = 1024  # of a batch, whose scores stay in the cache; their number does not depend on the models


class LaneRows(NamedTuple):
    """The weights and folds of rows, (n_rows,), and the fold that each lane leaves out, (L,)."""

    weight: np.ndarray
    fold: np.ndarray
    without: np.ndarray


class Derivatives(NamedTuple):
    """First and second derivatives of losses in the scores, (n_rows, R), in units of the dispersion.

    That is about the mean of ``slope^2 / curvature``, which would be 1 for the negative log-likelihood of the rows.
    """

    slopes: np.ndarray
    curvatures: np.ndarray
    dispersion: float = 1.0


class TermLosses:
    """The losses of sampled rows in the scores of a model, which takes `width` lanes.

    Arrays of scores and slopes are (n_rows, L), and slopes are those of weighted losses.
    """

    width: int

    def intercepts(self, weight: np.ndarray, fold: np.ndarray, folds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The weight of the rows outside each fold, (n_folds,), and the best intercepts, (n_folds, R)."""
        raise NotImplementedError

    def add(
        self,
        scores: np.ndarray,
        step: np.ndarray,
        length: np.ndarray,
        rows: LaneRows,
        slopes: np.ndarray,
        work: np.ndarray,
        losses: np.ndarray,
    ) -> None:
        """Add the losses at ``scores + length * step`` to `losses`, in the first lane of each model; write slopes."""
        raise NotImplementedError

    def curvatures(self, scores: np.ndarray, slopes: np.ndarray, rows: LaneRows, out: np.ndarray) -> None:
        """Write the second derivatives in each score, given the slopes there."""
        raise NotImplementedError

    def curve(self, scores: np.ndarray, slopes: np.ndarray, step: np.ndarray, rows: LaneRows, out: np.ndarray) -> None:
        """Add the second derivatives along a step, in the first lane of each model."""
        raise NotImplementedError

    def derivatives(self, scores: np.ndarray, weight: np.ndarray) -> Derivatives:
        """Those of the losses of rows, (n_rows, R), times their weights."""
        raise NotImplementedError

    def size(self, objective: np.ndarray, n_rows: np.ndarray) -> np.ndarray:
        """What gains are compared with, (n_models,), given the objectives and the weight of the rows."""
        return n_rows


@dataclass(frozen=True, eq=False)
class ClassLosses(TermLosses):
    """Logistic losses of two classes, or the softmax losses of more.

    Attributes
    ----------
    own : (n_rows,)
        The number of each row's class, of `n_classes`.
    """

    own: np.ndarray
    n_classes: int

    @property
    def width(self) -> int:  # type: ignore[override]
        return 1 if self.n_classes == 2 else self.n_classes

    def intercepts(self, weight: np.ndarray, fold: np.ndarray, folds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        of_class = np.array([np.bincount(self.own, weight * (fold != one), self.n_classes) for one in folds])
        n_rows = of_class.sum(axis=1)
        share = of_class / n_rows[:, None]
        with np.errstate(divide="ignore"):
            return n_rows, np.log(share[:, 1:] / share[:, :1]) if self.width == 1 else np.log(share)

    def add(
        self,
        scores: np.ndarray,
        step: np.ndarray,
        length: np.ndarray,
        rows: LaneRows,
        slopes: np.ndarray,
        work: np.ndarray,
        losses: np.ndarray,
    ) -> None:
        given = scores, step, length, self.own, rows.weight, rows.fold, rows.without, slopes
        if self.width == 1:
            kernels.logistic_lanes(*given, work, losses)
        else:
            kernels.softmax_lanes(*given, self.n_classes, losses)

    def curvatures(self, scores: np.ndarray, slopes: np.ndarray, rows: LaneRows, out: np.ndarray) -> None:
        kernels.curvatures(slopes, rows.weight, rows.fold, rows.without, out)

    def curve(self, scores: np.ndarray, slopes: np.ndarray, step: np.ndarray, rows: LaneRows, out: np.ndarray) -> None:
        if self.width == 1:
            kernels.curve_logistic(slopes, step, rows.weight, rows.fold, rows.without, out)
        else:
            kernels.curve_softmax(slopes, step, self.own, rows.weight, rows.fold, rows.without, self.n_classes, out)

    def derivatives(self, scores: np.ndarray, weight: np.ndarray) -> Derivatives:
        if self.width == 1:
            slopes, _ = Logistic().losses(scores, self.own[:, None].astype(np.uint8))
            curvatures = Logistic().hessian(scores, self.own)
        else:
            slopes, _ = Softmax().losses(scores, self.own)
            curvatures = Softmax().hessian_diagonal(Softmax().hessian(scores, self.own))
        return Derivatives(slopes * weight[:, None], curvatures * weight[:, None])


@dataclass(frozen=True, eq=False)
class NumberLosses(TermLosses):
    """Losses of predicted numbers.

    Attributes
    ----------
    loss : TweedieLoss
        Convex in the scores.
    unit : float
        What losses are divided by.
    y : (n_rows,)
        Numbers to predict.
    """

    loss: TweedieLoss
    unit: float
    y: np.ndarray
    width = 1

    def intercepts(self, weight: np.ndarray, fold: np.ndarray, folds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        outside = weight * (fold != folds[:, None])
        n_rows = outside.sum(axis=1)
        means = (outside * self.y).sum(axis=1) / n_rows
        return n_rows, self.loss.linked(means)[:, None]

    def add(
        self,
        scores: np.ndarray,
        step: np.ndarray,
        length: np.ndarray,
        rows: LaneRows,
        slopes: np.ndarray,
        work: np.ndarray,
        losses: np.ndarray,
    ) -> None:
        for some in self._batches(scores):
            found, slope = self.loss.evaluated(scores[some] + length * step[some], self.y[some, None])
            weight = self._weight(rows, some)
            slopes[some] = np.where(weight > 0.0, weight * slope, 0.0)
            losses += np.where(weight > 0.0, weight * found, 0.0).sum(axis=0)

    def curvatures(self, scores: np.ndarray, slopes: np.ndarray, rows: LaneRows, out: np.ndarray) -> None:
        for some in self._batches(scores):
            weight = self._weight(rows, some)
            out[some] = np.where(weight > 0.0, weight * self.loss.curvatures(scores[some], self.y[some, None]), 0.0)

    def curve(self, scores: np.ndarray, slopes: np.ndarray, step: np.ndarray, rows: LaneRows, out: np.ndarray) -> None:
        for some in self._batches(scores):
            weight, along = self._weight(rows, some), step[some] * step[some]
            along *= self.loss.curvatures(scores[some], self.y[some, None])
            out += np.where(weight > 0.0, weight * along, 0.0).sum(axis=0)

    def derivatives(self, scores: np.ndarray, weight: np.ndarray) -> Derivatives:
        weight = weight[:, None] / self.unit
        slopes = weight * self.loss.slopes(scores, self.y[:, None])
        curvatures = weight * self.loss.curvatures(scores, self.y[:, None])
        of_rows = np.divide(slopes**2, curvatures, out=np.zeros_like(slopes), where=curvatures > 0.0)
        dispersion = float(of_rows.sum() / weight.sum()) / self.unit or 1.0
        return Derivatives(slopes / dispersion, curvatures / dispersion, dispersion)

    def size(self, objective: np.ndarray, n_rows: np.ndarray) -> np.ndarray:
        return 2.0 * objective  # which is that weight for a constant prediction, and much less where y is explained

    def _batches(self, scores: np.ndarray) -> list[slice]:
        return [slice(first, first + ROWS) for first in range(0, len(scores), ROWS)]

    def _weight(self, rows: LaneRows, some: slice) -> np.ndarray:
        """The weight of rows in each lane, in units of the loss, and 0 for those left out."""
        return (rows.weight[some] / self.unit)[:, None] * (rows.fold[some, None] != rows.without)
