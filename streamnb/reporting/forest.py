"""Values with their intervals, one below the other: candidates of a search, slices of rows, differences of models."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from streamnb.core import arguments
from streamnb.evaluation.evaluation import Evaluation
from streamnb.reporting.drawing import (
    COLOURS,
    Drawn,
    check_evaluation,
    scoring_label,
    set_title,
    shortened,
)
from streamnb.selection.score_table import split_interval

SURE = 0.05  # corrected p-values of differences that the title names are smaller
LONGEST = 40  # slices; more names would not fit
MOST_LETTERS = 64  # of the name of a candidate
SAME_IN_WORDS = {"encoding=as usual": "", "encoding=bins=None": "numbers as they are", "penalty=None": "no penalty"}


class Forest(Drawn):
    """Values with intervals, one below the other, against a line.

    Parameters
    ----------
    names : sequence of str
        From top to bottom.
    value, low, high : (n,)
    line : float
        The value to compare with.
    axis, finding : str
        The label of the axis, and the title.

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure
    points_, line_ : Line2D
    whiskers_ : LineCollection
        Intervals; those that do not reach the line are drawn in colour.
    """

    def __init__(
        self,
        names: Sequence[str],
        value: np.ndarray,
        low: np.ndarray,
        high: np.ndarray,
        *,
        line: float,
        axis: str,
        finding: str,
    ):
        self.names, self.line, self.axis, self.finding = list(names), line, axis, finding
        self.value, self.low, self.high = (np.asarray(part, np.float64) for part in (value, low, high))

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib axes, optional
            New ones unless given.
        **kwargs
            Properties of the points.
        """
        places = np.arange(len(self.names))[::-1]
        ax = self._begun(ax, (7.2, 1.5 + 0.28 * len(self.names)), kwargs)
        self.line_ = ax.axvline(self.line, color="0.3", linestyle=":", linewidth=1.0)
        apart = (self.low > self.line) | (self.high < self.line)
        colours = np.where(apart, COLOURS[1], COLOURS[0]).tolist()
        self.whiskers_ = ax.hlines(places, self.low, self.high, colors=colours, linewidth=1.6)
        style = {"color": "k", "linestyle": "none", "marker": "o", "markersize": 4.5}
        (self.points_,) = ax.plot(self.value, places, **{**style, **kwargs})
        numbers = zip(self.value, self.low, self.high, strict=True)
        _end_rows(ax, places, ["{:.3f} [{:.3f}, {:.3f}]".format(*each) for each in numbers], 1.015, fontsize="small")
        ax.set_yticks(places, self.names, fontsize="small")
        ax.set(ylim=(-0.7, len(places) - 0.3), xlabel=self.axis)
        set_title(ax, self.finding)
        return self


class SlicesDisplay(Forest):
    """A metric of each slice of the rows with its interval, the worst on top, against that of all rows.

    Parameters and attributes are those of a forest plot: `names`, `value`, `low` and `high` of the slices, and `line`,
    the value of all rows; `ax_`, `figure_`, `points_`, `whiskers_` and `line_`. Whiskers that do not reach the line are
    orange.

    Examples
    --------
    >>> import streamnb as snb
    >>> ward = ["A"] * 200 + ["B"] * 200
    >>> judged = snb.evaluate([0, 1] * 200, [0, 1] * 100 + [0, 0, 0, 1] * 50, by={"ward": ward})
    >>> shown = snb.SlicesDisplay.from_evaluation(judged)
    >>> " ".join(shown.ax_.get_title(loc="left").split())
    'accuracy is worst for ward = B: 0.750 [0.686, 0.805], against 0.875 for all rows'
    """

    @classmethod
    def from_evaluation(
        cls, evaluation: Evaluation, *, metric: str = "accuracy", ax: Any = None, **kwargs: Any
    ) -> Self:
        """Draw a metric of the slices of what ``evaluate(.., by=..)`` returned.

        Parameters
        ----------
        evaluation : Evaluation
        metric : str
            One of the metrics in `evaluation.slices`.
        ax : matplotlib axes, optional
        **kwargs
            Properties of the points.
        """
        check_evaluation(evaluation)
        return cls.from_frame(evaluation.slices, metric=metric, ax=ax, **kwargs)

    @classmethod
    def from_frame(cls, slices: Any, *, metric: str = "accuracy", ax: Any = None, **kwargs: Any) -> Self:
        """The same of the data frame `Evaluation.slices`, or of some of its rows."""
        arguments.one_of("metric", metric, slices["metric"].unique().tolist())
        of_metric = slices[(slices["metric"] == metric) & slices["value"].notna()]
        if not len(of_metric):
            raise ValueError(f"metric={metric!r} has no value for any slice")
        shown = of_metric.head(LONGEST)
        named = list(zip(shown["column"], shown["slice"], strict=True))
        names = [
            f"{shortened(f'{by} = {level}')} ({n:,} rows)"
            for (by, level), n in zip(named, shown["n_rows"], strict=True)
        ]
        value, low, high = (shown[name].to_numpy(np.float64) for name in ("value", "low", "high"))
        whole, metric_name = float(shown["whole"].iloc[0]), scoring_label(metric)
        worst = f"{shortened(named[0][0])} = {shortened(named[0][1])}: {value[0]:.3f} [{low[0]:.3f}, {high[0]:.3f}]"
        finding = f"{metric_name} is worst for {worst}, against {whole:.3f} for all rows"
        if len(of_metric) > len(shown):
            finding += f" ({len(of_metric) - len(shown):,} better slices are not shown)"
        axis = f"{metric_name} (dotted: all rows)"
        return cls(names, value, low, high, line=whole, axis=axis, finding=finding).plot(ax, **kwargs)


class DifferencesDisplay(Forest):
    """Differences of models from a baseline with their intervals; `ModelComparison.plot` draws it.

    Parameters and attributes are those of a forest plot: `names`, `value`, `low` and `high` of the differences, and
    `line`, 0; `ax_`, `figure_`, `points_`, `whiskers_` and `line_`. Whiskers that do not reach 0 are orange; the title
    counts differences whose corrected p-values are below .05.

    Examples
    --------
    >>> import streamnb as snb
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> models = {family: snb.LinearNB(family).fit(X[:900], y[:900]) for family in ("poisson", "multinomial")}
    >>> shown = snb.compare_models(models, X[900:], y[900:], metrics="brier").plot()
    >>> " ".join(shown.ax_.get_title(loc="left").split())
    'brier: multinomial differs from poisson, by -0.009 [-0.017, -0.001] (p < 0.05, Holm)'
    """

    @classmethod
    def from_differences(cls, differences: Any, *, metric: str, ax: Any = None, **kwargs: Any) -> Self:
        """Draw a metric of the data frame `ModelComparison.differences`."""
        arguments.one_of("metric", metric, differences["metric"].unique().tolist())
        shown = differences[differences["metric"] == metric]
        names = [shortened(name) for name in shown["model"]]
        value, low, high = (shown[name].to_numpy(np.float64) for name in ("difference", "low", "high"))
        baseline, metric_name = shortened(shown["versus"].iloc[0]), scoring_label(metric)
        apart = np.flatnonzero(shown["p_adjusted"].to_numpy() < SURE)
        most = apart[np.argmax(np.abs(value[apart]))] if len(apart) else 0
        who = f"{names[most]} differs" if len(apart) == 1 else f"{len(apart)} models differ"
        by = f"by {value[most]:.3f} [{low[most]:.3f}, {high[most]:.3f}]"
        by = by if len(apart) == 1 else f"{names[most]} most, {by}"
        finding = f"{who} from {baseline}, {by}" if len(apart) else f"no model is known to differ from {baseline}"
        finding += f" (p < {SURE}, Holm)" if len(apart) else ""
        axis = f"{metric_name}: difference from {baseline}"
        return cls(names, value, low, high, line=0.0, axis=axis, finding=f"{metric_name}: {finding}").plot(ax, **kwargs)


class SearchDisplay(Drawn):
    """Candidates of `snb.search`, the best on top: the mean score, and that of each fold.

    Parameters
    ----------
    names : sequence of str
    scores : sequence of (S,) arrays
    scoring : str
    n_candidates : int
        Number of all candidates, including those not shown.

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure
    means_, folds_ : Line2D
    whiskers_ : LineCollection
        A 95 % interval of each mean, corrected for overlapping training sets, which is approximate.

    Examples
    --------
    >>> import streamnb as snb
    >>> X, y = [[2, 0], [3, 1], [1, 4], [0, 5]] * 3, ["cat", "cat", "dog", "dog"] * 3
    >>> families = {"families": ["poisson", "bernoulli"], "penalties": [None]}
    >>> shown = snb.search(X, y, **families, folds=2, scoring="accuracy", show=False).plot()
    >>> type(shown).__name__
    'SearchDisplay'
    """

    def __init__(self, names: Sequence[str], scores: Sequence[np.ndarray], scoring: str, n_candidates: int = 0):
        self.names, self.scores, self.scoring = list(names), list(scores), scoring
        self.n_candidates = max(n_candidates, len(self.names))

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
        ax = self._begun(ax, (7.2, 1.2 + 0.42 * len(self.names)))
        of_folds, at = np.concatenate(self.scores), np.repeat(places, list(map(len, self.scores)))
        style: dict[str, Any] = {"linestyle": "none", "marker": "o"}
        (self.folds_,) = ax.plot(of_folds, at, color="0.78", markersize=4, zorder=2.5, **style)
        means = [np.nanmean(scores) for scores in self.scores]
        (self.means_,) = ax.plot(means, places, **{"color": COLOURS[0], **style, **kwargs})
        ends = np.array([split_interval(scores, len(scores)) for scores in self.scores]).T
        self.whiskers_ = ax.hlines(places, *ends, color=self.means_.get_color(), linewidth=1.2, alpha=0.6)
        _end_rows(ax, places, [f"{mean:.3f}" for mean in means], 1.01)
        ax.set(yticks=places + 0.14, ylim=(-0.5, len(places) - 0.2))
        ax.tick_params(axis="y", pad=-3)
        names = [shortened(name, MOST_LETTERS) for name in in_words(self.names)]
        for label in ax.set_yticklabels(names, fontsize="small"):
            label.set(ha="left", va="bottom", in_layout=False)  # above its points, so that it takes no space from them
        ax.hlines(places, 0.0, 1.0, transform=ax.get_yaxis_transform(), color="0.92", linewidth=0.8, zorder=0)
        ax.set_xlabel(f"{scoring_label(self.scoring)}\nmean, 95 % (approximate), and each fold (grey)")
        set_title(ax, self._finding(np.asarray(means)))
        return self

    def _finding(self, means: np.ndarray) -> str:
        """The mean score of the best, and how many others reach the score of its worst fold."""
        best = int(np.nanargmax(means)) if not np.isnan(means).all() else 0
        close = int(np.count_nonzero(means >= np.nanmin(self.scores[best]))) - 1
        others = {0: "no other comes", 1: "one other comes"}.get(close, f"{close} others come")
        shown = "" if self.n_candidates == len(means) else f" ({len(means)} of {self.n_candidates} are shown)"
        return f"The best has {means[best]:.3f}; {others} up to its worst fold{shown}"


def in_words(names: Sequence[str]) -> list[str]:
    """Names of candidates without their grids, unless they differ only in these."""
    short = [re.sub(r"\([^()]*\)", "", name) for name in names]
    for code, words in SAME_IN_WORDS.items():
        short = [name.replace(f", {code}", f", {words}" if words else "") for name in short]
    return [given if short.count(name) > 1 else name for given, name in zip(names, short, strict=True)]


def _end_rows(ax: Any, places: np.ndarray, texts: Sequence[str], x: float, **style: Any) -> None:
    """Write a text at the end of each row, and leave out the frame and the ticks of rows."""
    style = {"xycoords": ("axes fraction", "data"), "va": "center", "annotation_clip": False, **style}
    for place, text in zip(places, texts, strict=True):
        ax.annotate(text, (x, place), **style)
    ax.tick_params(axis="y", length=0)
    ax.spines[["left", "right", "top"]].set_visible(False)
