"""A picture of what a search has found."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from streamnb.plotting.drawing import COLOURS, axes


class SearchDisplay:
    """Candidates of `snb.search`, the best on top: the mean score, and that of each fold.

    Parameters
    ----------
    names : sequence of str
    scores : sequence of (S,) arrays
    scoring : str

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure
    means_, folds_ : Line2D

    Examples
    --------
    >>> import streamnb as snb
    >>> X, y = [[2, 0], [3, 1], [1, 4], [0, 5]] * 3, ["cat", "cat", "dog", "dog"] * 3
    >>> families = {"families": ["poisson", "bernoulli"], "penalties": [None]}
    >>> shown = snb.search(X, y, **families, folds=2, scoring="accuracy", show=False).plot()
    >>> type(shown).__name__
    'SearchDisplay'
    """

    def __init__(self, names: Sequence[str], scores: Sequence[np.ndarray], scoring: str):
        self.names, self.scores, self.scoring = list(names), list(scores), scoring

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib axes, optional
            New ones unless given.
        **kwargs
            Of the means.
        """
        places = np.arange(len(self.names))[::-1]
        self.ax_ = ax = axes(ax, (8.0, 1.2 + 0.3 * len(self.names)))
        self.figure_ = ax.figure
        of_folds, at = np.concatenate(self.scores), np.repeat(places, list(map(len, self.scores)))
        style: dict[str, Any] = {"linestyle": "none", "marker": "o"}
        (self.folds_,) = ax.plot(of_folds, at, label="of each fold", color="0.78", markersize=4, **style)
        means = [np.nanmean(scores) for scores in self.scores]
        (self.means_,) = ax.plot(means, places, **{"label": "mean", "color": COLOURS[0], **style, **kwargs})
        ax.set(yticks=places, xlabel=self.scoring)
        ax.set_yticklabels(self.names)
        ax.legend()
        return self
