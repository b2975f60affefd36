"""Prediction intervals of regressions from residuals of held-out rows (conformal prediction)."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from operator import add
from typing import Annotated, Self

import numpy as np

from streamnb.core import persistence, row_checks
from streamnb.evaluation.score_order import Histogram
from streamnb.fits.statistic import Statistic
from streamnb.models.linear import linear_scores
from streamnb.passes.contract import Report
from streamnb.problem.losses import TweedieLoss
from streamnb.regression.target_sums import targets_of
from streamnb.rows.boundary import checked
from streamnb.rows.row_blocks import Block
from streamnb.rows.splits import Folding

N_BINS = 4096


@persistence.register
@dataclass(frozen=True, eq=False)
class Residuals(persistence.Parameters):
    """The distribution of residuals of held-out rows, divided by the deviation of the family at the prediction.

    Attributes
    ----------
    lower, upper : (n_levels,), rising
        The ends of bins of residuals.
    weight : (n_levels,)
        Of the rows in each bin.
    power : float
        The deviation of a row is its mean to the power of half of this.
    """

    lower: Annotated[np.ndarray, "f8[n_levels]"]
    upper: Annotated[np.ndarray, "f8[n_levels]"]
    weight: Annotated[np.ndarray, "f8[n_levels]"]
    power: float

    @property
    def most(self) -> float:
        """The largest level of which the rows are enough for an interval."""
        return float(1.0 - 2.0 / (self.weight.sum() + 1.0))

    def ends(self, level: float) -> tuple[float, float]:
        """The residuals between which a further row lies with this probability, and as often below them as above.

        Of n rows, the further one is equally likely to have each of n + 1 ranks (Vovk, Gammerman and Shafer 2005).
        """
        up_to, tail = np.cumsum(self.weight), 0.5 * (1.0 - level)
        rank = (up_to[-1] + 1.0) * tail * (1.0 + 1e-12)
        if rank < 1.0:
            raise ValueError(
                f"interval={level:g} needs {1.0 / tail - 1.0:,.0f} held-out rows at least, and the model was judged "
                f"on {up_to[-1]:,.0f}: take a smaller interval, or calibrate the model with more rows"
            )
        low = self.lower[np.searchsorted(up_to, np.floor(rank))]
        from_top = np.cumsum(self.weight[::-1])
        high = self.upper[::-1][np.searchsorted(from_top, np.floor(rank))]
        return float(low), float(high)

    def around(self, mean: np.ndarray, ends: tuple[float, float]) -> np.ndarray:
        """Predictions (n,), lower and upper ends, (n, 3)."""
        unit = deviations(mean, self.power)
        low, high = np.minimum(mean + ends[0] * unit, mean), np.maximum(mean + ends[1] * unit, mean)
        return np.column_stack([mean, np.maximum(low, 0.0) if self.power else low, high])


def deviations(mean: np.ndarray, power: float) -> np.ndarray:
    """Standard deviations of rows with these means but for a factor, of a family with the variance mean^power."""
    return np.maximum(mean, np.finfo(float).tiny) ** (0.5 * power) if power else np.ones_like(mean)


@dataclass(eq=False)
class HeldOutResiduals(Statistic):
    """Residuals of rows, each predicted by the model of its fold or, if there is no folding, by the only model.

    Parameters
    ----------
    loss : TweedieLoss
    offset : bool
        Whether y has a second column, of offsets.
    folding : Folding or None
    weights : (n_features + 1, n_folds or 1), intercepts last
    """

    loss: TweedieLoss
    offset: bool
    folding: Folding | None
    weights: np.ndarray
    counts: Annotated[Histogram, add]
    title = "residuals"

    @classmethod
    def asked(cls, loss: TweedieLoss, offset: bool, folding: Folding | None, weights: np.ndarray) -> Self:
        """The residuals of no rows."""
        return cls(loss, offset, folding, np.ascontiguousarray(weights), Histogram(1, 1, N_BINS))

    def add_block(self, block: Block) -> None:
        chunk, table = checked(block)[0], targets_of(block)
        if table.shape[1] - self.offset != 1:
            raise ValueError(f"y has {table.shape[1]} columns; intervals are of models of one target")
        weight = np.ones(block.n_rows) if block.weight is None else np.asarray(block.weight, np.float64)
        self.loss.check(table[:, 0], weight, block.first_row)
        scores = linear_scores(chunk, self.weights[:-1], self.weights[-1])
        own = np.zeros(block.n_rows, np.int64)
        if self.folding is not None:
            own = self.folding.numbers(block.first_row, block.n_rows, block.split, 0)
        mean = self.loss.mean(scores[np.arange(len(own)), own] + (table[:, 1] if self.offset else 0.0))
        self.add_predicted(table[:, 0], mean, weight)

    def add_predicted(self, y: np.ndarray, mean: np.ndarray, weight: np.ndarray) -> None:
        """Add targets and their held-out predictions, (n_rows,)."""
        residuals, counted = (y - mean) / deviations(mean, self.loss.power), weight > 0.0
        groups = np.zeros((int(counted.sum()), 1), np.int64)
        self.counts.add(residuals[counted][:, None, None], groups, weight[counted])

    def ended(self, report: Report) -> Self:
        row_checks.check_min_size(report.rows, 1)
        row_checks.check_total_weight(float(self.counts.counts(0).sum()))
        return self

    def found(self) -> Residuals:
        """Their distribution."""
        weight = self.counts.counts(0)[:, 0]
        lower, upper = self.counts.edges(0)
        filled = weight > 0.0
        return Residuals(lower[filled], upper[filled], weight[filled], self.loss.power)

    def about(self) -> dict[str, str]:
        known = {"the loss": repr(self.loss), "offset": repr(self.offset), "folding": repr(self.folding)}
        return {"the task": type(self).__name__, **known, "weights": sha256(self.weights.tobytes()).hexdigest()[:16]}
