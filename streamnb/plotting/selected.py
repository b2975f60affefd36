"""Displays the score of a feature search against the number of features kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from streamnb.estimators.selector import FeatureSelector
from streamnb.plotting.drawing import COLOURS, axes, check_fitted, set_title, shortened
from streamnb.selection.feature_ranking import FeatureRanking
from streamnb.selection.features import as_search

NAMED = 25  # features at most whose names are below the axis


class SelectionDisplay:
    """Accuracy on held-out rows against the number of features that a search keeps, and the number that it chose.

    Parameters
    ----------
    curve : (n_steps, n_folds)
        As in `FeatureRanking`: row i holds the scores of i + 1 features.
    n_chosen : int
    by : str
        The search.
    names : sequence of str, optional
        The feature that each step adds, where steps build on each other.

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure
    line_, chosen_ : Line2D
        The mean, and the mark of the chosen number.
    band_ : PolyCollection
        The mean plus and minus one standard deviation over folds.

    Examples
    --------
    >>> import numpy as np, streamnb as snb
    >>> X, y = np.eye(4)[[0, 0, 1, 1, 2, 2, 3, 3] * 5], [0, 0, 1, 1] * 10
    >>> selector = snb.FeatureSelector("sfs", k="auto", family="bernoulli").fit(X, y)
    >>> snb.SelectionDisplay.from_estimator(selector).line_.get_xdata().tolist()  # features kept
    [1, 2, 3, 4]
    """

    def __init__(self, curve: np.ndarray, n_chosen: int, by: str, names: Sequence[str] | None = None):
        self.curve, self.n_chosen, self.by, self.names = curve, n_chosen, by, names

    @classmethod
    def from_estimator(cls, estimator: FeatureSelector, *, ax: Any = None, **kwargs: Any) -> Self:
        """Draw the results of a fitted `FeatureSelector` whose search evaluates models.

        Parameters
        ----------
        estimator : FeatureSelector
            Fitted, with by="sfs", "iwss", "backward" or "exhaustive".
        ax : matplotlib axes, optional
            If another display is drawn on them, both stay, each named by its search.
        **kwargs
            Properties of the line.
        """
        check_fitted(estimator, FeatureSelector, "a fitted snb.FeatureSelector", "stats_")
        search, names = as_search(estimator.by), getattr(estimator, "feature_names_in_", None)
        by = estimator.by if search is None else search.name
        return cls._of(by, estimator.ranking_, estimator.chosen_, estimator.curve_, names).plot(ax, **kwargs)

    @classmethod
    def from_ranking(cls, ranking: FeatureRanking, *, feature_names: Any = None, ax: Any = None, **kwargs: Any) -> Self:
        """Draw the results of `rank_features` by such a search; `feature_names` are those of all features."""
        if not isinstance(ranking, FeatureRanking):
            raise TypeError(f"ranking is of type {type(ranking).__name__}; it should be what rank_features returns")
        results = ranking.ranking, ranking.chosen, ranking.curve
        return cls._of(ranking.by, *results, feature_names).plot(ax, **kwargs)

    @classmethod
    def _of(cls, by: str, ranking: np.ndarray, chosen: Any, curve: Any, feature_names: Any) -> Self:
        if curve is None or chosen is None:
            raise ValueError(f"by={by!r} judges no models: take 'sfs', 'iwss', 'backward' or 'exhaustive'")
        names = None
        if by != "exhaustive":  # whose subsets need not be nested
            steps = ranking[: len(curve)].tolist()
            names = [f"x{j}" if feature_names is None else str(feature_names[j]) for j in steps]
        return cls(curve, len(chosen), by, names)

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib axes, optional
            New ones unless given.
        **kwargs
            Properties of the line.
        """
        below = self.names is not None and len(self.curve) <= NAMED
        self.ax_ = ax = axes(ax, (8.0, 6.4 if below else 4.8))
        self.figure_, shared = ax.figure, bool(ax.lines)
        n_before = len({line.get_color() for line in ax.lines} & {*COLOURS})
        mean, std = self.curve.mean(axis=1), self.curve.std(axis=1)
        x, at = np.arange(1, len(mean) + 1), self.n_chosen - 1
        style = {"marker": "o", "markersize": 3.5, "color": COLOURS[n_before % len(COLOURS)], "label": self.by}
        (self.line_,) = ax.plot(x, mean, **{**style, **kwargs})
        colour = self.line_.get_color()
        self.band_ = ax.fill_between(x, mean - std, mean + std, color=colour, alpha=0.15, linewidth=0.0)
        name = f"{self.n_chosen} kept, {mean[at]:.3f}"
        (self.chosen_,) = ax.plot(x[at], mean[at], "o", color=colour, fillstyle="none", markersize=11.0, label=name)
        ax.set(xlabel="features kept", ylabel="accuracy on held-out rows")
        ax.set_ylim(top=min(ax.get_ylim()[1], 1.01))  # a standard deviation can exceed the largest accuracy
        named = self.names if below and not shared else None
        _number(ax, x, named)
        if shared:
            ax.legend()
        else:
            set_title(ax, f"{self.n_chosen} of {len(x)} features are enough: {mean[at]:.1%} right")
        return self


def _number(ax: Any, x: np.ndarray, names: Sequence[str] | None) -> None:
    """Label the axis with whole numbers, or with the name of the feature that each step adds."""
    from matplotlib import ticker

    ax.tick_params(axis="x", labelrotation=0 if names is None else 90)
    if names is not None:
        ax.set_xticks(x, [f"{shortened(name)}  {n}" for n, name in zip(x, names, strict=True)])
        return
    ax.xaxis.set_major_locator(ticker.MaxNLocator(integer=True))
    ax.xaxis.set_major_formatter(ticker.ScalarFormatter())
