"""Errors of a regression's predictions, from one read of the rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from streamnb.core import frames
from streamnb.core.frames import pandas_for
from streamnb.estimators.judged import METRICS, JudgedNumbers, NumberTallies, sliced
from streamnb.evaluation.breakdowns import worst_first
from streamnb.evaluation.slices import Slices
from streamnb.evaluation.tallies import ContentSample
from streamnb.problem.losses import SQUARES


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
        1 - deviance / deviance of the best constant: the share of the deviance that is explained, r2 for squares.
    mean_deviance : float
        The mean unit deviance: the mean squared error, or that of the family of a generalised model, or the mean
        pinball loss of a quantile.
    judged : JudgedNumbers or None
        What deciles, the Gini index, coverage, intervals and slices are computed from; None for several targets.

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
        """The interval of a metric such as "rmse", with the confidence given as `interval=`: its two ends.

        It covers the value over all rows, or groups, of this kind with that confidence; the model is taken as fixed.
        NaN for "d2" of quantiles.
        """
        return self._tallies("interval").interval(metric)

    @property
    def deciles(self) -> Any:
        """Calibration and lift: tenths of the rows by rising prediction, as a data frame.

        "weight" of the rows, exposures included; "predicted" and "true", means per unit of weight; and "lift", the true
        mean divided by that of all rows. Rows with nearly equal predictions stay together.
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
        """Coverage of the model's 50, 80, 90 and 95 % intervals: the "share" of rows inside, and the mean "width".

        A data frame; "low" and "high" are an interval of the share. It is empty if the model has no intervals: see
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
        return worst_first(sliced(self._slices(), {name: getattr(self, name) for name in METRICS}))

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
        squares = self.judged is None or self.judged.tallies[0].loss.kind == SQUARES.kind
        if squares:
            return METRICS[:4]
        return METRICS

    def _title(self) -> str:
        if self.judged is None or self._level is None:
            return f"Evaluation of {self.n_rows:,} rows"
        return f"Evaluation of {self.n_rows:,} rows, {self.intervals_of}"

    @property
    def intervals_of(self) -> str:
        """What intervals refer to, in words."""
        tallies = self._tallies("intervals_of")
        of_what = "independent rows"
        if tallies.grouped:
            of_what = f"{tallies.n_buckets} groups"
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
            for level, share, low, high, _ in self.judged.tallies[0].coverage():
                ends = ""
                if not np.isnan(low):
                    ends = f"  [{low:.4f}, {high:.4f}]"
                lines.append((f"in {100.0 * level:g} % intervals", f"{share:.4f}{ends}"))
        return lines

    @property
    def _level(self) -> float | None:
        if self.judged is None:
            return None
        return self.judged.tallies[0].level

    def _tallies(self, name: str) -> NumberTallies:
        if self.judged is None:
            raise ValueError(f"{name} is of models of one target: fit one for each")
        return self.judged.tallies[0]

    def _slices(self) -> Slices:
        if self.judged is None or self.judged.slices is None:
            raise ValueError("this evaluation was made without slices; give by= where it is made")
        return self.judged.slices

    @classmethod
    def of(cls, judged: JudgedNumbers) -> Self:
        """The errors of judged predictions."""
        found = [tallies.metrics() for tallies in judged.tallies]
        if judged.judge == SQUARES and not judged.offset:
            found = [{**of_target, "d2": of_target["r2"]} for of_target in found]  # whose rounding is less
        if len(found) == 1:
            return cls(judged.n_rows, judged=judged, **found[0])
        values: dict[str, Any] = {name: np.array([of_target[name] for of_target in found]) for name in METRICS}
        return cls(judged.n_rows, **values)
