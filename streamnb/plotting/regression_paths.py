"""Displays the path of a regression: weights along alpha, and the errors on held-out rows by which it was chosen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from streamnb.core import arguments
from streamnb.explaining.weights import PER_DEVIATION
from streamnb.plotting.drawing import (
    axes,
    check_fitted,
    check_line_properties,
    feature_names_of,
    figure_of_panels,
    label_ends,
    log_axis,
    set_title,
    shortened,
    style_of,
)
from streamnb.regression.chosen import ElasticNetCV
from streamnb.regression.regressor import deviations_of_columns

RULES = {"best": "the least error", "one_se": "within a standard error of the least"}


class RegressionPathDisplay:
    """Weights of a regression along alpha, and its mean squared error on held-out rows with one standard error.

    Alpha falls from left to right, so that features enter on the way.

    Parameters
    ----------
    alphas : (n_alphas,)
    coefs : (n_features, n_alphas)
    mse : (n_alphas, n_folds)
    chosen : float
        The alpha that was chosen, one of `alphas`.
    feature_names : sequence of str, optional
    rule : {"best", "one_se"}
    unit : str
        Of `coefs`. `from_estimator` draws weights per standard deviation of their features.

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure
        The axes with the weights.
    errors_ax_ : matplotlib axes
    lines_ : list of Line2D
        A line of weights for each feature.
    errors_ : ErrorbarContainer
        Mean squared errors, with bars of one standard error over folds.
    chosen_ : list of Line2D
        The chosen alpha in both axes.

    Examples
    --------
    >>> import streamnb as snb
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = snb.ElasticNetCV(l1_ratio=1.0, rule="one_se").fit(X, y)
    >>> shown = snb.RegressionPathDisplay.from_estimator(model)
    >>> print(shown.ax_.get_title(loc="left"))  # the title says what is to be seen
    Largest weights: bmi, s5, bp
    """

    def __init__(
        self,
        alphas: np.ndarray,
        coefs: np.ndarray,
        mse: np.ndarray,
        *,
        chosen: float,
        feature_names: Sequence[Any] | None = None,
        rule: str = "best",
        unit: str = "weight",
    ):
        order = np.argsort(-np.asarray(alphas), kind="stable")
        self.alphas, self.coefs, self.mse = (
            np.asarray(alphas)[order],
            np.asarray(coefs)[:, order],
            np.asarray(mse)[order],
        )
        self.feature_names = feature_names_of(feature_names, None, len(self.coefs))
        self.chosen, self.rule, self.unit = float(chosen), arguments.one_of("rule", rule, [*RULES]), unit

    @classmethod
    def from_estimator(cls, estimator: Any, target: int = 0, *, ax: Any = None, **kwargs: Any) -> Self:
        """Draw what `ElasticNetCV` chose from; of several values of `l1_ratio`, the path of the chosen one.

        Parameters
        ----------
        estimator : ElasticNetCV
            Fitted.
        target : int
            The number of the target whose weights are drawn; the errors are those of all.
        ax : pair of matplotlib axes, optional
        **kwargs
            Passed to `plot`.
        """
        check_fitted(estimator, ElasticNetCV, "a fitted snb.ElasticNetCV")
        coefs, alphas, mse = estimator.coefs_path_, estimator.alphas_, estimator.mse_path_
        n_targets = 1 if coefs.ndim == 2 else len(coefs)
        if arguments.whole_number("target", target) >= n_targets:
            raise ValueError(f"target={target} should be below {n_targets}, the number of targets")
        if alphas.ndim > 1:
            at = [float(ratio) for ratio in estimator.l1_ratio].index(estimator.l1_ratio_)
            alphas, mse = alphas[at], mse[at]
        names = feature_names_of(None, estimator, estimator.n_features_in_)
        known: dict[str, Any] = {"chosen": estimator.alpha_, "feature_names": names, "rule": estimator.rule}
        per_deviation = (coefs if coefs.ndim == 2 else coefs[target]) * deviations_of_columns(estimator)[:, None]
        return cls(alphas, per_deviation, mse, unit=PER_DEVIATION, **known).plot(ax, **kwargs)

    def plot(self, ax: Any = None, *, n_named: int = 8, **kwargs: Any) -> Self:
        """Draw.

        Parameters
        ----------
        ax : pair of matplotlib axes, optional
            New ones unless given: for the weights, and for the errors.
        n_named : int
            Number of features with a name and a colour: those with the largest weights at the chosen alpha.
        **kwargs
            Properties of the lines of weights.
        """
        check_line_properties(kwargs)
        arguments.whole_number("n_named", n_named)
        if ax is None:
            ax = figure_of_panels(2, (10.4, 4.4))
        if np.size(ax) != 2:
            raise TypeError("ax should be two axes of matplotlib, for the weights and for the errors")
        self.ax_, self.errors_ax_ = (axes(one) for one in np.ravel(ax))
        self.figure_ = self.ax_.figure
        at = int(np.abs(self.alphas - self.chosen).argmin())
        size = np.abs(self.coefs[:, at])
        strongest = np.lexsort((-np.abs(self.coefs).max(axis=1), -size))[: min(n_named, len(size))].tolist()
        self.lines_ = []
        for j, weights in enumerate(self.coefs):
            style = style_of(j, strongest, self.feature_names[j])
            self.lines_ += self.ax_.plot(self.alphas, weights, **{**style, **kwargs})
        self._draw_errors()
        self.chosen_ = [one.axvline(self.alphas[at], color="0.3", linestyle=":") for one in (self.ax_, self.errors_ax_)]
        for one in (self.ax_, self.errors_ax_):
            log_axis(one, self.alphas)
            one.invert_xaxis()
            one.set_xlabel("alpha (dotted: chosen)")
        self.ax_.set_ylabel(self.unit)
        self.errors_ax_.set_ylabel("mean squared error\n(bars: one standard error over folds)")
        label_ends(self.ax_, [self.lines_[j] for j in strongest])
        first = ", ".join(shortened(self.feature_names[j]) for j in strongest[:3] if size[j] > 0.0)
        set_title(self.ax_, f"Largest weights: {first}" if first else "No feature has a weight")
        error = self.mse[at].mean()
        set_title(self.errors_ax_, f"alpha = {self.alphas[at]:.3g}, {RULES[self.rule]}: {error:.4g}")
        return self

    def _draw_errors(self) -> None:
        n_folds = self.mse.shape[1]
        spread = self.mse.std(axis=1, ddof=1) / np.sqrt(n_folds) if n_folds > 1 else np.zeros(len(self.mse))
        style = {"color": "#0072B2", "ecolor": "0.7", "marker": "o", "markersize": 3.0, "linewidth": 1.2}
        self.errors_ = self.errors_ax_.errorbar(self.alphas, self.mse.mean(axis=1), spread, **style)
