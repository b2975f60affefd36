"""A picture of how far probabilities may be believed."""

from typing import Any, Self

import numpy as np

from streamnb.core.types import PerRow, Rows
from streamnb.evaluation.evaluation import Evaluation
from streamnb.plotting.drawing import COLOURS, QUIET, axes
from streamnb.plotting.scores import check_evaluation, evaluation


class ReliabilityDisplay:
    """How often a model was right against how sure it was; what `calibrate` brings to the diagonal.

    Parameters
    ----------
    proba, right, share : (m,)
        Of `Evaluation.reliability_curve`: mean probability of a bin, share that was right, share of the weight.
    error : float
        The expected calibration error.

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure
    line_, diagonal_ : Line2D

    Examples
    --------
    >>> import streamnb as snb
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> shown = snb.ReliabilityDisplay.from_estimator(snb.LinearNB("gaussian").fit(X, y), X, y)
    >>> len(shown.figure_.axes)
    1
    """

    def __init__(self, proba: np.ndarray, right: np.ndarray, share: np.ndarray, error: float):
        self.proba, self.right, self.share, self.error = proba, right, share, error

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Rows, y: PerRow = None, *, sample_weight: PerRow = None, **kwargs: Any
    ) -> Self:
        """Judge rows in one reading, and draw.

        Parameters
        ----------
        estimator, X, y, sample_weight
            As for `RocDisplay.from_estimator`; one that has probabilities.
        **kwargs
            Of `plot`.
        """
        return cls.from_evaluation(evaluation(estimator, X, y, sample_weight, "probabilities", "reliability"), **kwargs)

    @classmethod
    def from_evaluation(cls, evaluation: Evaluation, **kwargs: Any) -> Self:
        """Draw the reliability curve of what `snb.evaluate` returned, given proba; keywords are those of `plot`."""
        check_evaluation(evaluation)
        curve = evaluation.reliability_curve()
        return cls(*curve, error=evaluation.expected_calibration_error()).plot(**kwargs)

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib axes, optional
            New ones unless given.
        **kwargs
            Of the curve.
        """
        self.ax_ = ax = axes(ax)
        self.figure_ = ax.figure
        (self.diagonal_,) = ax.plot([0.0, 1.0], [0.0, 1.0], label="as often as said", **QUIET)
        style = {"color": COLOURS[0], "marker": "o", "label": f"calibration error {self.error:.3f}"}
        (self.line_,) = ax.plot(self.proba, self.right, **{**style, **kwargs})
        ax.set(xlabel="mean probability", ylabel="share that was right", xlim=(0.0, 1.02), ylim=(-0.02, 1.02))
        ax.legend(loc="upper left")
        return self
