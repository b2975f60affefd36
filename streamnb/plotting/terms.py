"""The terms of additive models: curves, bars and heat maps of scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from streamnb.estimators.additive import AdditiveClassifier
from streamnb.plotting.drawing import COLOURS, QUIET, figure_of_panels

N_TERMS = 6
MOST_LEVELS = 20  # of a category, the most frequent ones
BANDS = 2.0  # standard deviations on each side
BELOW = 0.16  # share of the height for the distribution of rows


class AdditiveDisplay:
    """The terms of an additive model, each in axes of its own.

    A number has a curve of steps with a band of two standard deviations over the models without each fold, and the
    distribution of the training rows below it; missing values stand apart on the right. A category has a bar for each
    level. A pair has a heat map.

    Parameters
    ----------
    tables : list of (name or (name, name), pandas.DataFrame)
        As from `AdditiveClassifier.term`.
    class_ : label
        The class whose scores are shown.
    column : str
        The ending of the columns of that class, "" or " label".

    Attributes
    ----------
    axes_ : list of matplotlib axes
    figure_ : matplotlib figure

    Examples
    --------
    >>> import streamnb as snb
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> shown = snb.AdditiveDisplay.from_estimator(snb.AdditiveClassifier().fit(X, y), ["x2"], class_=1)
    >>> shown.axes_[0].get_xlabel(), shown.axes_[0].get_ylabel()
    ('x2', 'score of 1')
    """

    def __init__(self, tables: list[tuple[Any, Any]], class_: Any, column: str = ""):
        self.tables, self.class_, self.column = tables, class_, column

    @classmethod
    def from_estimator(
        cls, estimator: AdditiveClassifier, terms: Sequence[Any] | None = None, *, class_: Any = None, **kwargs: Any
    ) -> Self:
        """Draw terms of a fitted model.

        Parameters
        ----------
        estimator : AdditiveClassifier
        terms : list of str or (str, str), optional
            Features and pairs; by default the six most important terms.
        class_ : label, optional
            The class whose scores are shown, with more than two classes; the first by default. With two, scores are
            those of the second.
        **kwargs
            Passed to `plot`.
        """
        if not isinstance(estimator, AdditiveClassifier):
            raise TypeError(
                f"estimator is of type {type(estimator).__name__}; it should be an AdditiveClassifier, whose terms are "
                "curves"
            )
        known, classes = list(estimator.term_scores_), estimator.classes_.tolist()
        terms = estimator.terms_["name"][:N_TERMS].tolist() if terms is None else terms
        if isinstance(terms, str) or not isinstance(terms, Sequence) or not terms:
            raise TypeError(f"terms={terms!r} should be a list of features, or of pairs of them")
        if len(classes) == 2:
            class_, column = classes[1], ""
        else:
            class_ = classes[0] if class_ is None else class_
            column = f" {class_}"
            if class_ not in classes:
                raise ValueError(f"class_={class_!r} is not one of the classes {classes}")
        names = [tuple(one) if isinstance(one, list) else one for one in terms]
        names = [one[::-1] if isinstance(one, tuple) and one[::-1] in known else one for one in names]
        tables = [(one, estimator.term(*(one if isinstance(one, tuple) else (one,)))) for one in names]
        return cls(tables, class_, column).plot(**kwargs)

    def plot(self, *, figsize: tuple[float, float] | None = None) -> Self:
        """Draw.

        Parameters
        ----------
        figsize : (float, float), optional
            Inches; by default three terms in a row.
        """
        self.axes_ = figure_of_panels(len(self.tables), figsize)
        self.figure_ = self.axes_[0].figure
        score = f"score of {self.class_}"
        for ax, (name, table) in zip(self.axes_, self.tables, strict=True):
            if isinstance(name, tuple):
                self._pair(ax, name, table, score)
            elif "level" in table:
                self._levels(ax, name, table, score)
            else:
                self._curve(ax, name, table, score)
        return self

    def _curve(self, ax: Any, name: str, table: Any, score: str) -> None:
        """The steps of a number, with a band, the rows below, and missing values on the right."""
        known, missing = table[table["lower"].notna()], table[table["lower"].isna()]
        ends = _finite_ends(known["lower"].to_numpy(), known["upper"].to_numpy())
        scores, std = (known[part + self.column].to_numpy() for part in ("score", "std"))
        ax.axhline(0.0, **QUIET)
        self._band(ax, ends, scores, std)
        ax.stairs(scores, ends, baseline=None, color=COLOURS[0], linewidth=1.5)
        if len(missing):
            at = ends[-1] + 0.08 * (ends[-1] - ends[0])
            value, spread = (missing[part + self.column].to_numpy() for part in ("score", "std"))
            ax.errorbar([at], value, BANDS * np.nan_to_num(spread), fmt="o", color=COLOURS[1], capsize=3)
            ax.annotate("missing", (at, value[0]), (0, 6), textcoords="offset points", ha="center", fontsize="small")
        ax.set(xlabel=name, ylabel=score)
        low, high = ax.get_ylim()
        ax.set_ylim(low - BELOW * (high - low), high)
        density = known["count"].to_numpy() / np.diff(ends)
        floor, height = ax.get_ylim()[0], BELOW * (high - low)
        tops = floor + height * density / max(float(density.max(initial=0.0)), np.finfo(float).tiny)
        ax.stairs(tops, ends, baseline=floor, fill=True, color="0.85", zorder=0)

    def _band(self, ax: Any, ends: np.ndarray, scores: np.ndarray, std: np.ndarray) -> None:
        """The band of two standard deviations, where they are known."""
        std = np.nan_to_num(std)
        low, high = (np.append(scores + side * BANDS * std, 0.0) for side in (-1.0, 1.0))
        low[-1], high[-1] = low[-2], high[-2]
        ax.fill_between(ends, low, high, step="post", color=COLOURS[0], alpha=0.2, linewidth=0.0)

    def _levels(self, ax: Any, name: str, table: Any, score: str) -> None:
        """A bar for each level, the most frequent ones, in the order of scores."""
        some = table.nlargest(MOST_LEVELS, "count", keep="first").sort_values("score" + self.column)
        places = np.arange(len(some))
        missing = some["level"].isna()
        colours = np.where(missing, COLOURS[1], COLOURS[0]).tolist()
        spread = BANDS * np.nan_to_num(some["std" + self.column].to_numpy())
        ax.barh(places, some["score" + self.column], xerr=spread, color=colours, alpha=0.8, ecolor="0.4")
        names = np.where(missing, "missing", some["level"])
        labels = [f"{level} ({count:,.0f})" for level, count in zip(names, some["count"], strict=True)]
        ax.set_yticks(places, labels)
        ax.axvline(0.0, **QUIET)
        ax.set(xlabel=score, title=name if len(some) == len(table) else f"{name}, the {len(some)} most frequent")

    def _pair(self, ax: Any, names: Sequence[str], table: Any, score: str) -> None:
        """A heat map of the cells of a pair; cells without rows are left out."""
        sides = [_side(table, name) for name in names]
        shape = tuple(len(labels) for labels, _ in sides)
        values = table["score" + self.column].to_numpy().reshape(shape)
        values = np.where(table["count"].to_numpy().reshape(shape) > 0.0, values, np.nan)
        largest = float(np.nanmax(np.abs(values), initial=0.0)) or 1.0
        image = ax.imshow(values.T, origin="lower", aspect="auto", cmap="PuOr", vmin=-largest, vmax=largest)
        for axis, (labels, places), name in zip((ax.xaxis, ax.yaxis), sides, names, strict=True):
            axis.set_ticks(places, [labels[place] for place in places])
            axis.set_label_text(name)
        ax.tick_params(axis="x", rotation=45)
        ax.figure.colorbar(image, ax=ax, label=score)


def _side(table: Any, name: str) -> tuple[list[str], list[int]]:
    """The labels of the steps of a feature in a pair, and which of them are shown."""
    if f"{name} level" in table:
        labels = table[f"{name} level"].drop_duplicates()
        return labels.fillna("missing").tolist(), list(range(len(labels)))
    ends = table[[f"{name} lower", f"{name} upper"]].drop_duplicates().to_numpy()
    labels = ["missing" if np.isnan(low) else f"to {high:.4g}" if np.isfinite(high) else "more" for low, high in ends]
    step = max(len(labels) // 6, 1)
    return labels, [*range(0, len(labels), step)]


def _finite_ends(lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """The ends of bins, the outer ones as far out as bins are wide in the middle."""
    inner = upper[:-1]
    width = float(np.median(np.diff(inner))) if len(inner) > 1 else 1.0
    if not len(inner):
        return np.array([-1.0, 1.0])
    return np.concatenate([[inner[0] - width], inner, [inner[-1] + width]])
