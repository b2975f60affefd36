"""Displays of judged predictions of numbers: against the true numbers, their errors, and tenths of the rows."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from streamnb.core import arguments
from streamnb.plotting.drawing import (
    axes,
    check_line_properties,
    legend_beside,
    line_style,
    number_axis,
    number_text,
    set_title,
)
from streamnb.regression.errors import RegressionEvaluation

KINDS = "predicted", "errors"
TAIL = 0.005  # share of the rows at each end that axes leave out
UNEQUAL = 1.5  # errors of high and of low predictions that differ by this factor are pointed out
TENTHS = "lowest", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth"
WIDE = 100.0  # the largest over the smallest number, from which an axis is logarithmic


class _OfNumbers:
    """How displays are made from evaluations of regressions."""

    def __init__(self, evaluation: RegressionEvaluation):
        if not isinstance(evaluation, RegressionEvaluation):
            what = type(evaluation).__name__
            raise TypeError(
                f"evaluation is of type {what}; it should be what snb.evaluate(model, X, y) returns for a regression"
            )
        self.evaluation = evaluation

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: Any = None, sample_weight: Any = None, **kwargs: Any) -> Self:
        """Evaluate a fitted regression on rows of any kind, in one read, and draw; keywords are those of `plot`."""
        return cls(estimator.evaluate(X, y, sample_weight)).plot(**kwargs)

    @classmethod
    def from_evaluation(cls, evaluation: RegressionEvaluation, **kwargs: Any) -> Self:
        """Draw what `snb.evaluate` returned for a regression; keywords are those of `plot`."""
        return cls(evaluation).plot(**kwargs)

    def plot(self, **kwargs: Any) -> Self:
        """Draw."""
        raise NotImplementedError


class PredictionErrorDisplay(_OfNumbers):
    """True numbers against predicted ones, or their differences, of a sample of up to 1,000 different rows.

    Parameters
    ----------
    evaluation : RegressionEvaluation

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure
    points_ : Line2D
        A point a row, or several rows that are alike, which the title counts.
    line_ : Line2D
        Where predictions are right.

    Examples
    --------
    >>> import streamnb as snb
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> shown = snb.PredictionErrorDisplay.from_estimator(snb.Ridge().fit(X[::2], y[::2]), X[1::2], y[1::2])
    >>> " ".join(shown.ax_.get_title(loc="left").split())  # the title says what is to be seen
    'Half of the rows are off by 45.39 or less, one in ten by more than 90.54'
    """

    def plot(self, ax: Any = None, *, kind: str = "predicted", **kwargs: Any) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib axes, optional
            New ones unless given.
        kind : {"predicted", "errors"}
            True numbers against predictions, or true less predicted against predictions.
        **kwargs
            Properties of the points.
        """
        arguments.one_of("kind", kind, KINDS)
        check_line_properties(kwargs)
        (true, predicted), weight = self.evaluation.sample.T, self.evaluation.sample_weight
        self.ax_ = ax = axes(ax)
        self.figure_ = ax.figure
        errors = true - predicted
        x_ends = _ends(predicted)
        both = np.append(true, predicted)
        wide = kind == "predicted" and both.min(initial=1.0) > 0.0 and _ends(both)[1] > WIDE * _ends(both)[0]
        style = {**line_style(0), "linestyle": "none", "marker": "o", "markersize": 2.5, "alpha": 0.4}
        values = true if kind == "predicted" else errors
        n_rows = self.evaluation.n_rows
        label = "a row" if len(true) == n_rows else f"{len(true):,} different ones of {n_rows:,} rows"
        (self.points_,) = ax.plot(predicted, values, **{**style, "label": label, **kwargs})
        ends = np.array(_ends(both) if kind == "predicted" else x_ends)
        right = ends if kind == "predicted" else np.zeros(2)
        (self.line_,) = ax.plot(ends, right, color="0.5", linestyle="--", label="right")
        if wide:
            ax.set(xscale="log", yscale="log")
        ax.set(xlim=ends, ylim=ends if kind == "predicted" else _ends(errors))
        ax.set(xlabel="predicted", ylabel="true" if kind == "predicted" else "true less predicted")
        for axis in (ax.xaxis, ax.yaxis):
            number_axis(axis)
        set_title(ax, _sizes(errors, weight) if kind == "predicted" else _spread(errors, predicted, weight))
        legend_beside(ax, [self.points_, self.line_])
        return self


def _ends(values: np.ndarray) -> tuple[float, float]:
    """The ends of an axis, without the tails of the values."""
    finite = values[np.isfinite(values)]
    low, high = np.quantile(finite, [TAIL, 1.0 - TAIL]).tolist() if len(finite) else (0.0, 1.0)
    return (low, high) if high > low else (low - 0.5, low + 0.5)


def weighted_quantiles(values: np.ndarray, weight: np.ndarray, shares: list[float]) -> list[float]:
    """Quantiles of weighted values; zeros of no values."""
    if not len(values):
        return [0.0] * len(shares)
    if (weight == weight[0]).all():
        return np.quantile(values, shares).tolist()
    return np.quantile(values, shares, weights=weight, method="inverted_cdf").tolist()


def _sizes(errors: np.ndarray, weight: np.ndarray) -> str:
    """How large errors are, in a sentence."""
    half, most = weighted_quantiles(np.abs(errors), weight, [0.5, 0.9])
    return f"Half of the rows are off by {number_text(half)} or less, one in ten by more than {number_text(most)}"


def _spread(errors: np.ndarray, predicted: np.ndarray, weight: np.ndarray) -> str:
    """Whether errors depend on the prediction, in a sentence."""
    low, high = weighted_quantiles(predicted, weight, [1.0 / 3.0, 2.0 / 3.0])
    of_low, of_high = (
        weighted_quantiles(np.abs(errors[some]), weight[some], [0.5])[0]
        for some in (predicted <= low, predicted >= high)
    )
    if not min(of_low, of_high) > 0.0 or max(of_low, of_high) < UNEQUAL * min(of_low, of_high):
        return "Errors are about as large for low as for high predictions"
    larger = "high" if of_high > of_low else "low"
    times = max(of_low, of_high) / min(of_low, of_high)
    return f"Errors of the third of {larger} predictions are {times:.1f} times those of the opposite third"


class DecileDisplay(_OfNumbers):
    """Mean true and predicted number of each tenth of the rows, by rising prediction: calibration and lift.

    Parameters
    ----------
    evaluation : RegressionEvaluation

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure
    true_, predicted_ : Line2D

    Examples
    --------
    >>> import streamnb as snb
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> shown = snb.DecileDisplay.from_estimator(snb.Ridge().fit(X[::2], y[::2]), X[1::2], y[1::2])
    >>> " ".join(shown.ax_.get_title(loc="left").split())
    'The fifth tenth is predicted too high by the most: 152.5 on average, and it is 97.14'
    """

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib axes, optional
            New ones unless given.
        **kwargs
            Properties of the line of true numbers.
        """
        check_line_properties(kwargs)
        self.ax_ = ax = axes(ax)
        self.figure_ = ax.figure
        deciles = self.evaluation.deciles
        tenth = np.arange(1, len(deciles) + 1)
        marks = {"marker": "o", "markersize": 5.0}
        (self.true_,) = ax.plot(tenth, deciles["true"], **{**line_style(0), **marks, "label": "true", **kwargs})
        style = {**line_style(1), "linestyle": "--", "marker": "s", "markersize": 4.0, "label": "predicted"}
        (self.predicted_,) = ax.plot(tenth, deciles["predicted"], **style)
        ax.set(xlabel="tenth of the rows, by rising prediction", ylabel="mean", xticks=tenth)
        number_axis(ax.yaxis)
        set_title(ax, _calibration(deciles["true"].to_numpy(), deciles["predicted"].to_numpy()))
        legend_beside(ax, [self.true_, self.predicted_])
        return self


def _calibration(true: np.ndarray, predicted: np.ndarray) -> str:
    """Where the means differ most, in a sentence."""
    worst = int(np.argmax(np.abs(true - predicted)))
    where = "highest" if worst == len(true) - 1 else TENTHS[worst]
    too = "low" if true[worst] > predicted[worst] else "high"
    return (
        f"The {where} tenth is predicted too {too} by the most: {number_text(predicted[worst])} on average, "
        f"and it is {number_text(true[worst])}"
    )
