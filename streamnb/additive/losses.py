"""Losses of additive models, of classes and of numbers, and how models without a fold are judged by them.

Models are trained side by side in lanes, one for each row of weights. A model leaves out the rows of a fold, whose
weight counts as 0.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, Self

import numpy as np

from streamnb.core import row_checks
from streamnb.estimators.judged import HeldOutResiduals, Residuals
from streamnb.estimators.newton import Exposed, LossTotals
from streamnb.evaluation.scorers import Scorer, check_scorer
from streamnb.kernels import terms as kernels
from streamnb.kernels.descent import add_intercepts
from streamnb.problem.losses import SQUARES, Loss, QuantileLoss
from streamnb.problem.schemes import as_scheme
from streamnb.rows.row_blocks import Block
from streamnb.selection.fold_models import results_of
from streamnb.selection.folded_scan import FoldJudge
from streamnb.solving.learner import check_seen
from streamnb.solving.objectives import Logistic, Softmax
from streamnb.stats.grouping import known_codes
from streamnb.stats.row_sample import SampledRows

ROWS = 1024  # of a batch, whose scores stay in the cache; their number does not depend on the models
CONSTANT = 1e-24  # deviance, in units of that of a prediction of twice the mean; less is rounding
EXPLAINED = 1e-6  # share of the deviance that is left where nothing more is to be gained
LEAST_WIDTH = 1e-9  # where nothing is left
SMOOTH = 0.1  # width of the smooth loss of quantiles, in units of the mean absolute residual
NO_ROWS = LossTotals(0.0, 0.0, 0.0, 0.0, 0.0)
NumberScoring = tuple[Callable[..., list[float]], list[str]]  # a function of predictions, and names of its scores


class LaneRows(NamedTuple):
    """The targets, weights and folds of rows, (n_rows,), and the fold that each lane leaves out, (L,)."""

    targets: np.ndarray
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


@dataclass(frozen=True, eq=False)
class ClassLosses:
    """Logistic losses of two classes, or the softmax losses of more, in the scores of a model.

    A model takes `width` lanes; classes without rows have none. Targets are (n_rows,). Arrays of scores and slopes are
    (n_rows, L), and slopes are those of weighted losses.

    Attributes
    ----------
    classes : (K,)
    weight : (K,)
        The weight of the rows of each class.
    """

    classes: np.ndarray
    weight: np.ndarray

    @cached_property
    def seen(self) -> np.ndarray:
        """The numbers of the classes that have rows."""
        return np.flatnonzero(self.weight > 0.0)

    @property
    def width(self) -> int:
        """The rows of weights of a model, R: one for two classes, else one for each class that has rows."""
        return 1 if len(self.seen) == 2 else len(self.seen)

    def sampled(self, rows: SampledRows) -> np.ndarray:
        """The targets of sampled rows."""
        return self.targets(np.asarray(rows.labels.indices, np.int64))

    def targets(self, codes: np.ndarray) -> np.ndarray:
        """The number of each row's class among those that have rows, given that among all."""
        return np.minimum(np.searchsorted(self.seen, codes), len(self.seen) - 1)  # rows of weight 0 have any

    def of_rows(self, block: Block) -> tuple[np.ndarray, np.ndarray]:
        """The targets and weights of the rows of a block."""
        codes = known_codes(row_checks.check_y(block.y), self.classes, block.first_row)
        return self.targets(codes), block.weights

    def evaluated(self, scores: np.ndarray, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Slopes of the losses in the scores (n_rows, R), and the losses (n_rows, 1), of rows of weight 1."""
        if self.width == 1:
            return Logistic().losses(scores, targets[:, None].astype(np.uint8))
        return Softmax().losses(scores, targets)

    @property
    def _share(self) -> np.ndarray:
        return self.weight[self.seen] / self.weight.sum()

    def at_start(self) -> float:
        """The losses of all rows where models have no terms."""
        return -float(self.weight[self.seen] @ np.log(self._share))

    def curvature(self) -> float:
        """The second derivative of a row's loss there."""
        return float((self._share * (1.0 - self._share)).mean())

    def bounds(self, counts: np.ndarray, most: float) -> np.ndarray:
        """Upper bounds of sums of ``abs(slope)`` over rows of these weights, where all losses are at most `most`."""
        return counts

    def intercepts(
        self, targets: np.ndarray, weight: np.ndarray, fold: np.ndarray, folds: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """The weight of the rows outside each fold, (n_folds,), and the best intercepts, (n_folds, R)."""
        n_classes = len(self.seen)
        of_class = np.array([np.bincount(targets, weight * (fold != one), n_classes) for one in folds])
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
        """Add the losses at ``scores + length * step`` to `losses`, in the first lane of each model; write slopes."""
        if self.width == 1:
            kernels.logistic_lanes(scores, step, length, *rows, slopes, work, losses)
        else:
            kernels.softmax_lanes(scores, step, length, *rows, slopes, len(self.seen), losses)

    def curvatures(self, scores: np.ndarray, slopes: np.ndarray, rows: LaneRows, out: np.ndarray) -> None:
        """Write the second derivatives in each score, given the slopes there."""
        kernels.curvatures(slopes, rows.weight, rows.fold, rows.without, out)

    def curve(self, scores: np.ndarray, slopes: np.ndarray, step: np.ndarray, rows: LaneRows, out: np.ndarray) -> None:
        """Add the second derivatives along a step, in the first lane of each model."""
        if self.width == 1:
            kernels.curve_logistic(slopes, step, rows.weight, rows.fold, rows.without, out)
        else:
            kernels.curve_softmax(slopes, step, *rows, len(self.seen), out)

    def derivatives(self, scores: np.ndarray, targets: np.ndarray, weight: np.ndarray) -> Derivatives:
        """Those of the losses of rows, (n_rows, R), times their weights."""
        slopes, _ = self.evaluated(scores, targets)
        if self.width == 1:
            curvatures = Logistic().hessian(scores, targets)
        else:
            curvatures = Softmax().hessian_diagonal(Softmax().hessian(scores, targets))
        return Derivatives(slopes * weight[:, None], curvatures * weight[:, None])

    def of_classes(self, scores: np.ndarray, signs: tuple[float, float] = (-0.5, 0.5)) -> np.ndarray:
        """Scores (n, R) of the classes that have rows, for all classes: 0 for others; of two, half of it each."""
        if len(self.seen) == len(self.classes):
            return scores
        found = np.zeros((len(scores), len(self.classes)))
        found[:, self.seen] = scores * np.array(signs) if self.width == 1 else scores
        return found

    def size(self, objective: np.ndarray, n_rows: np.ndarray) -> np.ndarray:
        """What gains are compared with, (n_models,), given the objectives and the weight of the rows."""
        return n_rows


@dataclass(frozen=True, eq=False)
class NumberLosses:
    """Losses of predicted numbers in units of the deviance of a constant prediction, with the methods of `ClassLosses`.

    Attributes
    ----------
    loss : Loss
        Convex in the scores.
    offset : bool
        Whether y has offsets beside it.
    totals : LossTotals
        Of y as it is given, once it has been read.
    unit : float
        What losses are divided by, so that units of y and of exposures do not matter.
    centre, scale : float
        Linear predictors times the scale, plus the centre, are those of y as it is given.
    """

    loss: Loss
    offset: bool
    totals: LossTotals = NO_ROWS
    unit: float = 1.0
    centre: float = 0.0
    scale: float = 1.0
    width = 1

    def __repr__(self) -> str:
        return f"{type(self).__name__}{(self.loss, self.offset, self.totals, self.unit, self.centre, self.scale)}"

    @property
    def exposure(self) -> float:
        """The mean of what the weights of rows were multiplied by."""
        return self.totals.exposed / self.totals.weight

    @property
    def middle(self) -> np.ndarray:
        """The linear predictor of the mean target, (1,)."""
        return self.loss.linked(np.array([self._mean]))

    @property
    def _mean(self) -> float:
        return (self.totals.mean - self.centre) / self.scale

    @property
    def of_quantile(self) -> bool:
        return isinstance(self.loss, QuantileLoss)

    def sampled(self, rows: SampledRows) -> np.ndarray:
        return self.targets(rows.labels.data)

    def targets(self, y: np.ndarray) -> np.ndarray:
        """Targets in units of the losses."""
        return (y - self.centre) / self.scale

    def of_rows(self, block: Block) -> tuple[np.ndarray, np.ndarray]:
        """The targets of a block and weights, of mean 1 if rows have no others, by which scores have no offset."""
        rows = Exposed.of(self.loss, self.offset, block)
        return self.targets(rows.y), rows.weight / self.exposure

    def check(self) -> None:
        """Raise where all targets are 0, and the logarithm of their mean is not finite."""
        if self.loss.link == "log" and not self.totals.mean > 0.0:
            raise ValueError(
                f"y is 0 in every row, so that the mean of a {self.loss.kind} model has no finite logarithm; use rows "
                "with other targets, or loss='squared'"
            )

    def in_units_of(self, rows: SampledRows) -> Self:
        """The same in units of the deviance of a constant prediction, by sampled rows; of squares, y is standardised.

        Of quantiles, y is in units of its mean distance from the quantile. Where y is constant, its units stay.
        """
        y, mean = rows.labels.data, self.totals.mean
        if isinstance(self.loss, QuantileLoss):
            centre = self.loss.constant(y, rows.weight)
            scale = float(rows.weight @ np.abs(y - centre) / rows.weight.sum())
            scale = scale or CONSTANT * abs(centre) or 1.0
            unit = 2.0 * float(rows.weight @ self.loss.values(np.zeros(1), (y - centre) / scale) / rows.weight.sum())
            return replace(self, loss=replace(self.loss, width=SMOOTH), centre=centre, scale=scale, unit=unit or 1.0)
        losses = float(rows.weight @ self.loss.values(self.middle, y))
        unit = 2.0 * losses / float(rows.weight.sum())
        if not unit > CONSTANT * abs(mean) ** (2.0 - self.loss.power):
            unit = 1.0
        if self.loss.link == "identity":
            return replace(self, centre=mean, scale=float(np.sqrt(unit)))
        return replace(self, unit=unit)

    def evaluated(self, scores: np.ndarray, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        losses, slopes = self.loss.evaluated(scores, targets[:, None])
        return slopes / self.unit, np.maximum(losses, 0.0) / self.unit

    def at_start(self) -> float:
        """As of `ClassLosses`; of quantiles, a bound."""
        if isinstance(self.loss, QuantileLoss):
            squares = self.totals.loss_at(SQUARES, np.array([self.centre])) / self.scale**2
            return self.loss.most(squares, self.totals.exposed) / (self.exposure * self.unit)
        at_mean = self.totals.loss_at(self.loss, self.loss.linked(np.array([self.totals.mean])))
        return at_mean / (self.exposure * self.unit * self.scale**2)

    def curvature(self) -> float:
        away = 1.0 if self.of_quantile else 0.0  # as far as rows are on average
        return float(self.loss.curvatures(self.middle, np.array([self._mean + away]))[0]) / self.unit

    def bounds(self, counts: np.ndarray, most: float) -> np.ndarray:
        return self.loss.slopes_bounds(most * self.unit, self.totals.level / self.exposure, counts) / self.unit

    def intercepts(
        self, targets: np.ndarray, weight: np.ndarray, fold: np.ndarray, folds: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        known, of_model = np.unique(folds, return_inverse=True)
        outside = weight * (fold != known[:, None])
        best = np.array([[self.loss.constant(targets, of_fold)] for of_fold in outside])
        return outside.sum(axis=1)[of_model], best[of_model]

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
            found, slope = self.loss.evaluated(scores[some] + length * step[some], rows.targets[some, None])
            weight = self._weight(rows, some)
            slopes[some] = np.where(weight > 0.0, weight * slope, 0.0)
            add_intercepts(np.where(weight > 0.0, weight * found, 0.0), np.zeros_like(losses), losses)

    def curvatures(self, scores: np.ndarray, slopes: np.ndarray, rows: LaneRows, out: np.ndarray) -> None:
        for some in self._batches(scores):
            weight, curvatures = self._weight(rows, some), self.loss.curvatures(scores[some], rows.targets[some, None])
            out[some] = np.where(weight > 0.0, weight * curvatures, 0.0)

    def curve(self, scores: np.ndarray, slopes: np.ndarray, step: np.ndarray, rows: LaneRows, out: np.ndarray) -> None:
        for some in self._batches(scores):
            weight, along = self._weight(rows, some), step[some] * step[some]
            along *= self.loss.curvatures(scores[some], rows.targets[some, None])
            add_intercepts(np.where(weight > 0.0, weight * along, 0.0), np.zeros_like(out), out)

    def derivatives(self, scores: np.ndarray, targets: np.ndarray, weight: np.ndarray) -> Derivatives:
        weight = weight[:, None] / self.unit
        slopes = weight * self.loss.slopes(scores, targets[:, None])
        curvatures = weight * self.loss.curvatures(scores, targets[:, None])
        of_rows = np.divide(slopes**2, curvatures, out=np.zeros_like(slopes), where=curvatures > 0.0)
        dispersion = float(of_rows.sum() / weight.sum()) / self.unit or 1.0
        return Derivatives(slopes / dispersion, curvatures / dispersion, dispersion)

    def size(self, objective: np.ndarray, n_rows: np.ndarray) -> np.ndarray:
        # twice the objective is that weight for a constant prediction, and much less where y is explained
        return np.maximum(2.0 * objective, EXPLAINED * n_rows)

    def predictions(self, scores: np.ndarray) -> np.ndarray:
        """The numbers that scores stand for."""
        return self.loss.mean(scores * self.scale + self.centre)

    def _batches(self, scores: np.ndarray) -> list[slice]:
        return [slice(first, first + ROWS) for first in range(0, len(scores), ROWS)]

    def _weight(self, rows: LaneRows, some: slice) -> np.ndarray:
        """The weight of rows in each lane, in units of the loss, and 0 for those left out."""
        return (rows.weight[some] / self.unit)[:, None] * (rows.fold[some, None] != rows.without)


TermLosses = ClassLosses | NumberLosses


# ---- judging ---------------------------------------------------------------------------------------------------------


class ClassJudge:
    """What models of sampled rows minimise, and how probabilities of classes are judged on the rows of a fold.

    Parameters
    ----------
    name : str
        That of the estimator, for messages.
    rows : SampledRows
    losses : ClassLosses
    n_folds : int
    scorer : Scorer

    Attributes
    ----------
    names : list of str
        Of the scorers, the one that decides first.
    targets : (n_rows,)
    """

    def __init__(self, name: str, rows: SampledRows, losses: ClassLosses, n_folds: int, scorer: Scorer):
        self.names, self.rows = [one.name for one in scorer.each], rows
        self.targets = losses.sampled(rows)
        self.losses, self._name, self._scorer, self._n_folds = losses, name, scorer, n_folds
        self._classes = losses.classes[losses.seen]
        self._scheme = as_scheme("joint", self._classes)
        self._judge = FoldJudge(self._classes, scorer.needs, n_folds)  # of one model of a fold at a time

    def check(self) -> None:
        """Raise where models without a fold, or scores of them, are not defined for these rows."""
        check_scorer(self._scorer, self._judge.evaluation(self._scheme, 1))
        for fold in range(self._n_folds):
            counted = self.rows.weight * (self.rows.fold != fold)
            seen = self._classes[np.bincount(self.targets, counted, len(self._classes)) > 0.0]
            check_seen(seen.tolist(), self._name, fold)

    def scores(self, scores: np.ndarray, some: np.ndarray) -> list[float]:
        """What each scorer finds of the scores (n, R) of `some` rows."""
        evaluation = self._judge.evaluation(self._scheme, 1)
        evaluation.add_margins(self._scheme, scores[:, :, None], self.targets[some], self.rows.weight[some])
        return [value for value, _, _ in results_of(self._scorer, evaluation)[0]]

    def penalty(self, l2: float, fold: int) -> float:
        """The penalty of the lanes of a model without a fold."""
        if self.losses.width > 1 and len(np.unique(self.targets[self.rows.fold != fold])) == 2:
            return 2.0 * l2  # weights w / 2 and -w / 2 have half the penalty of the one row w of a model of two classes
        return l2


class NumberJudge:
    """The same of numbers, by the share of the deviance that they explain, or by scores of a search.

    Parameters
    ----------
    rows : SampledRows
    losses : NumberLosses
        Whose unit is the mean deviance of a constant prediction.
    scoring : NumberScoring, optional
        A function that returns scores, given predictions, targets and weights of rows, and the names of its scores, of
        which the first chooses.
    """

    def __init__(self, rows: SampledRows, losses: NumberLosses, scoring: NumberScoring | None = None):
        self.rows, self.targets = rows, losses.sampled(rows)
        self.losses = losses
        self._scoring, self.names = scoring, ["d2"] if scoring is None else scoring[1]

    def scores(self, scores: np.ndarray, some: np.ndarray) -> list[float]:
        losses, weight = self.losses, self.rows.weight[some]
        if self._scoring is not None:
            scored, _ = self._scoring
            return scored(losses.predictions(scores[:, 0]), self.rows.labels.data[some], weight)
        of_rows = losses.loss.values(scores[:, 0], self.targets[some])
        total = losses.unit * float(weight.sum())
        return [1.0 - 2.0 * float(weight @ of_rows) / total if total > 0.0 else np.nan]

    def sharpened(self, scores: np.ndarray) -> Self:
        """Of quantiles, with a smooth loss that suits the residuals of rows with these held-out scores (n_rows, 1)."""
        weight, loss = self.rows.weight, self.losses.loss
        assert isinstance(loss, QuantileLoss)
        width = SMOOTH * float(weight @ np.abs(self.targets - scores[:, 0]) / weight.sum())
        losses = replace(self.losses, loss=replace(loss, width=max(width, LEAST_WIDTH)))
        return type(self)(self.rows, losses, self._scoring)

    def shift(self, scores: np.ndarray) -> float:
        """What, added to held-out scores (n_rows, 1), puts the share of the quantile of rows below them; else 0."""
        losses = self.losses
        return losses.loss.constant(self.targets - scores[:, 0], self.rows.weight) if losses.of_quantile else 0.0

    def residuals(self, scores: np.ndarray) -> Residuals | None:
        if self.losses.offset:  # which a sample does not keep
            return None
        scores = scores + self.shift(scores)
        held_out = HeldOutResiduals.asked(self.losses.loss, False, None, np.zeros((1, 1)))
        held_out.add_predicted(self.rows.labels.data, self.losses.predictions(scores[:, 0]), self.rows.weight)
        return held_out.found()

    def penalty(self, l2: float, fold: int) -> float:
        return l2


TermJudge = ClassJudge | NumberJudge
