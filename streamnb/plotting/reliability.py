"""Reliability diagrams: predicted probabilities against observed frequencies."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from streamnb.core.types import PerRow, Rows
from streamnb.evaluation.differences import given_level
from streamnb.evaluation.evaluation import Evaluation
from streamnb.evaluation.intervals import rows_per_weight
from streamnb.plotting.drawing import COLOURS, QUIET, axes, set_title, share_interval
from streamnb.plotting.scores import check_evaluation, evaluation


class ReliabilityDisplay:
    """Share of correct predictions against predicted probability; `calibrate` brings the curve to the diagonal.

    Parameters
    ----------
    proba, right, share : (m,)
        From `Evaluation.reliability_curve`: mean probability of a bin, share that was right, share of the weight.
    error : float
        The expected calibration error.
    n_rows : float, optional
        Equal rows, by which whiskers are drawn. They are not known of rows in groups or with several labels, and of
        weights in an evaluation without `interval`.

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure
    line_, diagonal_ : Line2D
    points_ : PathCollection
        Their areas grow with the share of rows in them.
    whiskers_ : LineCollection or None

    Examples
    --------
    >>> import streamnb as snb
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> shown = snb.ReliabilityDisplay.from_estimator(snb.LinearNB("gaussian").fit(X, y), X, y)
    >>> " ".join(shown.ax_.get_title(loc="left").split())  # the title says what is to be seen
    'The model is too sure: it says 98.2%, 96.0% are right (larger points: more rows; whiskers: 95 %)'
    """

    def __init__(
        self, proba: np.ndarray, right: np.ndarray, share: np.ndarray, error: float, *, n_rows: float | None = None
    ):
        self.proba, self.right, self.share, self.error, self.n_rows = proba, right, share, error, n_rows

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Rows, y: PerRow = None, *, sample_weight: PerRow = None, **kwargs: Any
    ) -> Self:
        """Evaluate rows in one read, and draw.

        Parameters
        ----------
        estimator, X, y, sample_weight
            As for `RocDisplay.from_estimator`; the estimator has probabilities.
        **kwargs
            Passed to `plot`.
        """
        return cls.from_evaluation(evaluation(estimator, X, y, sample_weight, "probabilities", "reliability"), **kwargs)

    @classmethod
    def from_evaluation(cls, evaluation: Evaluation, **kwargs: Any) -> Self:
        """Draw the reliability curve of what `snb.evaluate` returned, given proba; keywords are those of `plot`."""
        check_evaluation(evaluation)
        curve = evaluation.reliability_curve()
        rate = rows_per_weight(evaluation)
        n_rows = None if rate is None or evaluation.multilabel else rate * evaluation.weight
        return cls(*curve, error=evaluation.expected_calibration_error(), n_rows=n_rows).plot(**kwargs)

    def plot(self, ax: Any = None, *, interval: float | None = 0.95, **kwargs: Any) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib axes, optional
            New ones unless given.
        interval : float, optional
            Confidence of the whiskers, Wilson's (1927) for the share of each bin, of independent rows; None draws none.
        **kwargs
            Properties of the curve.
        """
        self.ax_ = ax = axes(ax)
        self.figure_ = ax.figure
        (self.diagonal_,) = ax.plot([0.0, 1.0], [0.0, 1.0], **QUIET)
        ax.annotate("as often as said", (0.03, 0.03), (8, 0), textcoords="offset points", va="top", color="0.4")
        style = {"color": COLOURS[0], "linewidth": 1.0, "label": f"calibration error {self.error:.3f}"}
        (self.line_,) = ax.plot(self.proba, self.right, **{**style, **kwargs})
        share = np.asarray(self.share, dtype=np.float64)
        sizes = 12.0 + 220.0 * share / max(float(share.max(initial=0.0)), np.finfo(float).tiny)
        self.points_ = ax.scatter(self.proba, self.right, sizes, color=self.line_.get_color(), zorder=3)
        self.whiskers_ = None
        if interval is not None and self.n_rows is not None:
            low, high = share_interval(np.clip(self.right, 0.0, 1.0), share * self.n_rows, given_level(interval))
            self.whiskers_ = ax.vlines(self.proba, low, high, color=self.line_.get_color(), linewidth=1.2, zorder=2)
        ax.set(xlim=(0.0, 1.04), ylim=(-0.04, 1.04))
        ax.set(xlabel="probability that the model gave", ylabel="share that was right")
        set_title(ax, self._finding(interval if self.whiskers_ else None))
        return self

    def _finding(self, interval: float | None) -> str:
        """Whether the predicted probabilities are too high or too low on average."""
        mean, right = (float(np.average(x, weights=self.share)) for x in (self.proba, self.right))
        meaning = "larger points: more rows" + (f"; whiskers: {100 * interval:.4g} %" if interval else "")
        way = "too sure" if mean > right + 0.01 else "too cautious" if mean < right - 0.01 else "as sure as right"
        return f"The model is {way}: it says {mean:.1%}, {right:.1%} are right\n({meaning})"
