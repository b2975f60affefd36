"""Errors of a regression's predictions, from one read of the rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from streamnb.models.linear import linear_scores
from streamnb.passes.contract import PassTask, Wants
from streamnb.problem.losses import SQUARES, TweedieLoss
from streamnb.regression.exposed import Exposed, LossTotals
from streamnb.regression.systems import System
from streamnb.regression.target_sums import TargetScan, TargetSums, targets_of
from streamnb.rows.boundary import checked
from streamnb.rows.row_blocks import Block


@dataclass(frozen=True, eq=False, kw_only=True)
class ResidualScan(TargetScan):
    """The task that sums residuals, their absolute values and targets, and products of these.

    Attributes
    ----------
    weights : (n_features, n_targets)
    intercepts : (n_targets,)
    loss : TweedieLoss
        Of the predictions. Losses other than squares are summed, too, and what those of a constant prediction need.
    offset : bool
        Whether y has a column of offsets, the last one.
    """

    weights: np.ndarray
    intercepts: np.ndarray
    loss: TweedieLoss = SQUARES
    offset: bool = False
    exact: bool = True
    title = "evaluate"

    def wants(self, n_rows: int | None, n_features: int | None) -> Wants:
        return Wants()  # sums are of targets alone

    def about(self) -> dict[str, str]:
        return PassTask.about(self)

    def add(self, partial: Any, block: Block) -> None:
        chunk, y = checked(block)[0], targets_of(block)
        if y.shape[1] - self.offset != len(self.intercepts):
            raise ValueError(f"y has {y.shape[1]} columns, and the model predicts {len(self.intercepts)} targets")
        scores = linear_scores(chunk, self.weights, self.intercepts)
        if self.loss == SQUARES and not self.offset:
            residuals = y - scores
            super().add(partial, replace(block, X=np.hstack([residuals, np.abs(residuals)])))
            return
        rows = Exposed.of(self.loss, self.offset, block)
        losses = rows.factor * self.loss.values(scores[:, 0], rows.y)
        if self.offset:
            y, scores = y[:, :1], scores + y[:, 1:]
        residuals = y - self.loss.mean(scores)
        beside = losses, rows.factor * rows.y, rows.factor * self.loss.saturated(rows.y), rows.factor
        columns = np.column_stack([residuals, np.abs(residuals), *beside])
        super().add(partial, replace(block, X=columns, y=y))


@dataclass(frozen=True)
class RegressionEvaluation:
    """Errors of predictions on some rows; numbers for one target, arrays (n_targets,) for several.

    Attributes
    ----------
    n_rows : int
    r2 : float
        1 - sum of squared errors / sum of squares of y about its mean.
    rmse, mae : float
        Root of the mean squared error, and mean absolute error.
    mean_error : float
        Mean of y less its prediction: above 0 where predictions are too low.
    d2 : float
        1 - deviance / deviance of the mean, the share of the deviance that is explained; r2 for squared errors.
    mean_deviance : float
        The mean unit deviance: the mean squared error, or that of the family of a generalised model.

    Examples
    --------
    >>> import streamnb as snb
    >>> model = snb.Ridge(0.0).fit([[0.0], [1.0], [2.0]], [0.0, 2.0, 1.0])
    >>> errors = model.evaluate([[0.0], [1.0], [2.0]], [0.0, 2.0, 1.0])
    >>> round(errors.r2, 3), round(errors.rmse, 3)
    (0.25, 0.707)
    """

    n_rows: int
    r2: Any
    rmse: Any
    mae: Any
    mean_error: Any
    d2: Any
    mean_deviance: Any

    @classmethod
    def of(cls, sums: TargetSums, loss: TweedieLoss = SQUARES) -> Self:
        """The errors, from sums of residuals, their absolute values, and targets."""
        n, weight = sums.n_targets, sums.total_weight
        means = sums.joined.sum[0] / weight
        squared = np.diagonal(sums.joined.gram)[:n]
        about = System(sums).of_targets
        r2 = 1.0 - np.divide(squared, about, out=np.where(squared > 0.0, 1.0, 0.0), where=about > 0.0)
        d2, deviance = r2, squared / weight
        if len(means) > 3 * n:  # with those of another loss
            of_loss, target, constant, exposed = (weight * means[2:6]).tolist()
            totals = LossTotals(weight, exposed, target, constant, 0.0)
            of_mean = totals.loss_at(loss, loss.linked(np.array([totals.mean])))
            d2 = np.array([1.0 - of_loss / of_mean if of_mean > 0.0 else float(of_loss <= 0.0)])
            deviance = np.array([2.0 * of_loss / weight])
        errors = r2, np.sqrt(squared / weight), means[n : 2 * n], means[:n], d2, deviance
        return cls(sums.n_rows, *(float(values[0]) if n == 1 else values for values in errors))
