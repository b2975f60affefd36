"""Displays the candidates of a search."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from streamnb.plotting.drawing import COLOURS, axes, scoring_label, set_title
from streamnb.selection.split_intervals import split_interval

MOST_LETTERS = 64  # of the name of a candidate


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
    whiskers_ : LineCollection
        A 95 % interval of each mean, corrected for training sets that overlap, which is approximate.

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
            Properties of the markers of the means.
        """
        places = np.arange(len(self.names))[::-1]
        self.ax_ = ax = axes(ax, (7.2, 1.2 + 0.42 * len(self.names)))
        self.figure_ = ax.figure
        of_folds, at = np.concatenate(self.scores), np.repeat(places, list(map(len, self.scores)))
        style: dict[str, Any] = {"linestyle": "none", "marker": "o"}
        (self.folds_,) = ax.plot(of_folds, at, color="0.78", markersize=4, zorder=2.5, **style)
        means = [np.nanmean(scores) for scores in self.scores]
        (self.means_,) = ax.plot(means, places, **{"color": COLOURS[0], **style, **kwargs})
        ends = np.array([split_interval(scores, len(scores)) for scores in self.scores]).T
        self.whiskers_ = ax.hlines(places, *ends, color=self.means_.get_color(), linewidth=1.2, alpha=0.6)
        for mean, place in zip(means, places, strict=True):
            at_the_end = {"xycoords": ("axes fraction", "data"), "va": "center", "annotation_clip": False}
            ax.annotate(f"{mean:.3f}", (1.01, place), **at_the_end)
        ax.set(yticks=places + 0.14, ylim=(-0.5, len(places) - 0.2))
        ax.tick_params(axis="y", length=0, pad=-3)
        for label in ax.set_yticklabels([_cut(name) for name in self.names], fontsize="small"):
            label.set(ha="left", va="bottom", in_layout=False)  # above its points, so that it takes no space from them
        ax.hlines(places, 0.0, 1.0, transform=ax.get_yaxis_transform(), color="0.92", linewidth=0.8, zorder=0)
        ax.spines[["left", "right", "top"]].set_visible(False)
        ax.set_xlabel(f"{scoring_label(self.scoring)}\nmean, 95 % (approximate), and each fold (grey)")
        set_title(ax, self._finding(np.asarray(means)))
        return self

    def _finding(self, means: np.ndarray) -> str:
        """The mean score of the best, and how many others reach the score of its worst fold."""
        best = int(np.nanargmax(means)) if not np.isnan(means).all() else 0
        close = int(np.count_nonzero(means >= np.nanmin(self.scores[best]))) - 1
        others = {0: "no other comes", 1: "one other comes"}.get(close, f"{close} others come")
        return f"The best has {means[best]:.3f}; {others} up to its worst fold"


def _cut(name: str) -> str:
    """A name cut to the width of the axes."""
    return name if len(name) <= MOST_LETTERS else f"{name[: MOST_LETTERS - 1]}…"
