"""Errors of a regression's predictions, from one read of the rows."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from streamnb.core import frames
from streamnb.core.frames import pandas_for
from streamnb.evaluation.breakdowns import COLUMNS
from streamnb.evaluation.slices import Slices
from streamnb.evaluation.tallies import ContentSample
from streamnb.models.linear import linear_scores
from streamnb.passes.contract import PassTask, Wants
from streamnb.problem.losses import SQUARES, TweedieLoss
from streamnb.regression.judged import METRICS, JudgedNumbers, NumberTallies, sliced
from streamnb.regression.newton import Exposed, LossTotals
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
    judge : TweedieLoss, optional
        The family whose losses are summed in place of those of the model; rows whose losses are infinite are counted.
    """

    weights: np.ndarray
    intercepts: np.ndarray
    loss: TweedieLoss = SQUARES
    offset: bool = False
    judge: TweedieLoss | None = None
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
        judge = self.loss if self.judge is None else self.judge
        if judge == SQUARES and not self.offset:
            residuals = y - self.loss.mean(scores)
            super().add(partial, replace(block, X=np.hstack([residuals, np.abs(residuals)])))
            return
        rows = Exposed.of(judge, self.offset, block)
        if self.judge is None:
            losses = rows.factor * judge.values(scores[:, 0], rows.y)
        else:
            losses = rows.factor * replace(judge, link="identity").values(self.loss.mean(scores[:, 0]), rows.y)
        if self.offset:
            y, scores = y[:, :1], scores + y[:, 1:]
        residuals, infinite = y - self.loss.mean(scores), np.isinf(losses)
        constant = rows.factor * judge.saturated(rows.y)
        beside = np.where(infinite, 0.0, losses), rows.factor * rows.y, constant, rows.factor, infinite
        columns = np.column_stack([residuals, np.abs(residuals), *beside])
        super().add(partial, replace(block, X=columns, y=y))


@dataclass(frozen=True, repr=False)
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
    judged : JudgedNumbers or None
        What deciles, the Gini index, coverage, intervals and slices are computed from; None of several targets.

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
    judged: JudgedNumbers | None = field(default=None, compare=False)  # of one target

    def interval(self, metric: str) -> tuple[float, float]:
        """The ends of the interval of a metric such as "rmse", with the confidence that `interval=` named.

        It holds the value of all rows, or groups, like these, with that confidence; the model is what it is.
        """
        return self._tallies("interval").interval(metric)

    @property
    def deciles(self) -> Any:
        """Calibration and lift: tenths of the rows by rising prediction, as a data frame.

        "weight" of the rows, exposures included; "predicted" and "true", means of a unit of it; and "lift", the true
        mean over that of all rows. Rows that are predicted nearly alike stay together.
        """
        columns = "weight", "predicted", "true", "lift"
        return pandas_for("deciles").DataFrame(self._tallies("deciles").deciles(), columns=columns)

    @property
    def gini(self) -> float:
        """The Gini index of the targets in the order of the predictions, 0 for guesses; NaN for targets below 0.

        Twice the area between the diagonal and the Lorenz curve: the share of all claims, amounts and the like that
        the rows below each prediction have.
        """
        return self._tallies("gini").gini()

    @property
    def coverage(self) -> Any:
        """Of the model's intervals of 50, 80, 90 and 95 %: the "share" of rows inside, and the mean "width".

        A data frame; "low" and "high" are an interval of the share. No rows where the model has no intervals: see
        `Ridge.calibrate`.
        """
        columns = "level", "share", "low", "high", "width"
        return pandas_for("coverage").DataFrame(list(self._tallies("coverage").coverage()), columns=columns)

    @property
    def sample(self) -> np.ndarray:
        """True and predicted numbers of up to 1,000 different rows, the same for any cuts of the rows, (n, 2)."""
        return self._sample.parts["rows"]

    @property
    def sample_weight(self) -> np.ndarray:
        """For each row of `sample` the weight of all rows with these two numbers, (n,)."""
        return self._sample.weight

    @property
    def _sample(self) -> ContentSample:
        sample = self._tallies("sample").sample
        assert sample is not None
        return sample.prune()

    @property
    def slices(self) -> Any:
        """Metrics of each slice with intervals, as `Evaluation.slices`; the worst first."""
        rows = list(sliced(self._slices(), {name: getattr(self, name) for name in METRICS}))
        rows.sort(key=lambda row: np.inf if np.isnan(row[-1]) else row[-1])
        return pandas_for("slices").DataFrame(rows, columns=COLUMNS)

    def summary(self) -> dict[str, float]:
        """The metrics by name; with intervals, their ends as "rmse low", "rmse high"."""
        values: dict[str, float] = {}
        for name in self._metrics:
            values[name] = getattr(self, name)
            if self._level is not None:
                values |= dict(zip((f"{name} low", f"{name} high"), self.interval(name), strict=True))
        if self.judged is not None and not np.isnan(self.gini):
            values["gini"] = self.gini
        return values

    def __repr__(self) -> str:
        return "\n".join([self._title(), *(f"  {name:18} {value}" for name, value in self._lines())])

    def _repr_html_(self) -> str:
        return frames.table(self._title(), self._lines())

    @property
    def _metrics(self) -> tuple[str, ...]:
        """The metrics that differ: those of squared errors are the deviance, too."""
        squares = self.judged is None or self.judged.tallies.loss.power == 0.0
        return METRICS[:4] if squares else METRICS

    def _title(self) -> str:
        if self.judged is None or self._level is None:
            return f"Evaluation of {self.n_rows:,} rows"
        return f"Evaluation of {self.n_rows:,} rows, {self.intervals_of}"

    @property
    def intervals_of(self) -> str:
        """What intervals are of, in words."""
        tallies = self._tallies("intervals_of")
        of_what = f"{tallies.n_buckets} groups" if tallies.grouped else "independent rows"
        return f"{100.0 * (tallies.level or 0.0):g} % intervals of {of_what}"

    def _lines(self) -> list[tuple[str, str]]:
        """Names and values, with intervals."""
        values, lines = self.summary(), []
        for name in (*self._metrics, "gini"):
            if name not in values:
                continue
            text = ", ".join(f"{value:.6g}" for value in np.atleast_1d(values[name]))
            if f"{name} low" in values:
                text += f"  [{values[f'{name} low']:.6g}, {values[f'{name} high']:.6g}]"
            lines.append((name, text))
        if self.judged is not None:
            for level, share, low, high, _ in self.judged.tallies.coverage():
                ends = "" if np.isnan(low) else f"  [{low:.4f}, {high:.4f}]"
                lines.append((f"in {100.0 * level:g} % intervals", f"{share:.4f}{ends}"))
        return lines

    @property
    def _level(self) -> float | None:
        return None if self.judged is None else self.judged.tallies.level

    def _tallies(self, name: str) -> NumberTallies:
        if self.judged is None:
            raise ValueError(f"{name} is of models of one target: fit one for each")
        return self.judged.tallies

    def _slices(self) -> Slices:
        if self.judged is None or self.judged.slices is None:
            raise ValueError("this evaluation was made without slices; give by= where it is made")
        return self.judged.slices

    @classmethod
    def of(cls, sums: TargetSums, loss: TweedieLoss = SQUARES, judged: JudgedNumbers | None = None) -> Self:
        """The errors, from sums of residuals, their absolute values, and targets."""
        n, weight = sums.n_targets, sums.total_weight
        means = sums.joined.sum[0] / weight
        squared = np.diagonal(sums.joined.gram)[:n]
        about = System(sums).of_targets
        r2 = 1.0 - np.divide(squared, about, out=np.where(squared > 0.0, 1.0, 0.0), where=about > 0.0)
        d2, deviance = r2, squared / weight
        if len(means) > 3 * n:  # with those of another loss
            of_loss, target, constant, exposed, n_infinite = (weight * means[2:7]).tolist()
            totals = LossTotals(weight, exposed, target, constant, 0.0)
            of_mean = totals.loss_at(loss, loss.linked(np.array([totals.mean])))
            of_loss = np.inf if n_infinite else of_loss
            d2 = np.array([1.0 - of_loss / of_mean if of_mean > 0.0 else float(of_loss <= 0.0)])
            deviance = np.array([2.0 * of_loss / weight])
        errors = r2, np.sqrt(squared / weight), means[n : 2 * n], means[:n], d2, deviance
        named = zip(METRICS, errors, strict=True)
        return cls(sums.n_rows, judged=judged, **{name: float(each[0]) if n == 1 else each for name, each in named})
