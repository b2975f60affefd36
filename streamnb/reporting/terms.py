"""The terms of additive models: curves, bars and heat maps of scores."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.special import expit

from streamnb.additive.classifier import AdditiveClassifier
from streamnb.additive.model import AdditiveModel
from streamnb.reporting.drawing import COLOURS, QUIET, figure_of_panels, on_lines, plain_numbers, shortened

N_TERMS = 6
MOST_LEVELS = 20  # of a category, the most frequent ones
BANDS = 2.0  # standard deviations on each side
BELOW = 0.16  # share of the height for the distribution of rows
N_BARS = 40  # of that distribution
MOST_LETTERS_OF_TICKS = 24  # on an axis
SHORT = 3  # letters of a tick that leave room for another one
PILED = 0.25  # share of an axis with half of the rows, up to which it is logarithmic
WIDE = 8.0  # the least ratio of the ends of a logarithmic axis
APART = 0.12  # share of the width between numbers and missing values
MOST_LETTERS = 20  # of levels beside each other
FACTOR = "log of a factor"  # what scores of losses with a log link are


class AdditiveDisplay:
    """The terms of an additive model, each in axes of its own.

    A number has a curve of steps with a band of two standard deviations over the models without each fold, and the
    distribution of the training rows below it; missing values stand apart on the right. A category has a bar for each
    level. Curves and bars have one scale, so that they may be compared. A pair has a heat map, grey where no row was.

    Parameters
    ----------
    tables : list of (name or (name, name), pandas.DataFrame)
        As from `AdditiveClassifier.term`.
    class_ : label or None
        The class whose scores are shown; None for numbers.
    column : str
        The ending of the columns of that class, "" or " label".
    score : str, optional
        Label of the scores; by default those of the class.
    intercept : float, optional
        For two classes: also label axes with the probability where all other terms are 0, as they are on average.

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
    >>> shown.axes_[0].get_title(), shown.axes_[0].get_ylabel()
    ('x2', 'score of 1')
    """

    def __init__(
        self,
        tables: list[tuple[Any, Any]],
        class_: Any,
        column: str = "",
        score: str | None = None,
        intercept: float | None = None,
    ):
        self.tables, self.class_, self.column, self.intercept = tables, class_, column, intercept
        self.score = score or (f"score of {class_}" if column else f"log-odds of {class_}")

    @classmethod
    def from_estimator(
        cls, estimator: AdditiveModel, terms: Sequence[Any] | None = None, *, class_: Any = None, **kwargs: Any
    ) -> Self:
        """Draw terms of a fitted model.

        Parameters
        ----------
        estimator : AdditiveClassifier or AdditiveRegressor
        terms : list of str or (str, str), optional
            Features and pairs; by default the six most important terms.
        class_ : label, optional
            The class whose scores are shown, with more than two classes; the first by default. With two, scores are
            those of the second.
        **kwargs
            Passed to `plot`.
        """
        if not isinstance(estimator, AdditiveModel):
            raise TypeError(
                f"estimator is of type {type(estimator).__name__}; it should be an AdditiveClassifier or an "
                "AdditiveRegressor, whose terms are curves"
            )
        known, score, intercept = list(estimator.term_scores_), None, None
        terms = estimator.terms_["name"][:N_TERMS].tolist() if terms is None else terms
        if isinstance(terms, str) or not isinstance(terms, Sequence) or not terms:
            raise TypeError(f"terms={terms!r} should be a list of features, or of pairs of them")
        if isinstance(estimator, AdditiveClassifier):
            class_, column = _class_shown(estimator.classes_.tolist(), class_)
            intercept = None if column else float(estimator.intercept_[0])
        elif class_ is None:
            added = vars(estimator)["loss"] not in ("poisson", "gamma", "tweedie")
            column, score = "", "change of the prediction" if added else FACTOR
        else:
            raise ValueError(
                f"class_={class_!r} is given, and {type(estimator).__name__} predicts numbers: leave it out"
            )
        names = [tuple(one) if isinstance(one, list) else one for one in terms]
        names = [one[::-1] if isinstance(one, tuple) and one[::-1] in known else one for one in names]
        tables = [(one, estimator.term(*(one if isinstance(one, tuple) else (one,)))) for one in names]
        return cls(tables, class_, column, score, intercept).plot(**kwargs)

    def plot(self, *, figsize: tuple[float, float] | None = None) -> Self:
        """Draw.

        Parameters
        ----------
        figsize : (float, float), optional
            Inches; by default three terms in a row.
        """
        self.axes_ = figure_of_panels(len(self.tables), figsize)
        self.figure_ = self.axes_[0].figure
        scores = [0.0]  # with their bands
        for ax, (name, table) in zip(self.axes_, self.tables, strict=True):
            if isinstance(name, tuple):
                self._pair(ax, name, table)
                continue
            spread = BANDS * np.nan_to_num(table["std" + self.column].to_numpy())
            scores += [*(table["score" + self.column] - spread), *(table["score" + self.column] + spread)]
        margin = 0.05 * (max(scores) - min(scores) or 1.0)
        ends = float(min(scores) - margin), float(max(scores) + margin)
        for ax, (name, table) in zip(self.axes_, self.tables, strict=True):
            if isinstance(name, tuple):
                continue
            if "level" in table:
                self._levels(ax, name, table, ends)
            else:
                self._curve(ax, name, table, ends)
        return self

    def _curve(self, ax: Any, name: str, table: Any, span: tuple[float, float]) -> None:
        """The steps of a number, with a band, the rows below, and missing values on the right."""
        known, missing = table[table["lower"].notna()], table[table["lower"].isna()]
        counts = known["count"].to_numpy()
        ends = _finite_ends(known["lower"].to_numpy(), known["upper"].to_numpy())
        piled = _are_piled(ends, counts)
        to, back = (np.log10, lambda place: 10.0**place) if piled else (np.positive, np.positive)
        scores, std = (known[part + self.column].to_numpy() for part in ("score", "std"))
        ax.axhline(0.0, **QUIET)
        self._band(ax, ends, scores, std)
        ax.stairs(scores, ends, baseline=None, color=COLOURS[0], linewidth=1.5)
        height = BELOW * (span[1] - span[0])
        floor = span[0] - height
        # of one width, as bins of few values may be very narrow
        n_bars = min(N_BARS, round(ends[-1] - ends[0])) if _are_whole(ends) and not piled else N_BARS
        places = back(np.linspace(to(ends[0]), to(ends[-1]), n_bars + 1))
        rows = np.diff(np.interp(to(places), to(ends), np.append(0.0, np.cumsum(counts))))
        tops = floor + 0.9 * height * rows / max(float(rows.max(initial=0.0)), np.finfo(float).tiny)
        ax.stairs(tops, places, baseline=floor, fill=True, color="0.85", zorder=0)
        if len(missing):
            value, spread = (missing[part + self.column].to_numpy() for part in ("score", "std"))
            apart = APART * (to(ends[-1]) - to(ends[0])) * np.array([0.5, 1.0, 1.5])
            between, at, right = back(to(ends[-1]) + apart)
            ax.axvline(between, **QUIET)
            ax.errorbar([at], value, BANDS * np.nan_to_num(spread), fmt="o", color=COLOURS[1], capsize=3)
        if piled:
            ax.set_xscale("log")
        _label_numbers(ax.xaxis, ends, at if len(missing) else None, piled)
        ax.set_xlim(ends[0], right if len(missing) else ends[-1])
        ax.set_ylim(floor, span[1])
        self._label_scores(ax.yaxis)
        ax.set_title(shortened(name), fontsize="medium")

    def _label_scores(self, axis: Any) -> None:
        """Write probabilities beside log-odds, where they are known, and changes in percent beside logs of factors."""
        gap = "\n" if axis.axis_name == "x" else " "
        if self.intercept is not None:
            intercept = self.intercept
            axis.set_label_text(f"{self.score}{gap}(probability)")
            axis.set_major_formatter(lambda score, _: f"{score:g}{gap}({expit(intercept + score):.0%})")
        elif self.score == FACTOR:
            axis.set_label_text(f"{self.score}{gap}(change)")
            axis.set_major_formatter(lambda score, _: f"{score:g}{gap}({math.expm1(score):+.0%})")
        else:
            axis.set_label_text(self.score)

    def _band(self, ax: Any, ends: np.ndarray, scores: np.ndarray, std: np.ndarray) -> None:
        """The band of two standard deviations, where they are known."""
        std = np.nan_to_num(std)
        low, high = (np.append(scores + side * BANDS * std, 0.0) for side in (-1.0, 1.0))
        low[-1], high[-1] = low[-2], high[-2]
        ax.fill_between(ends, low, high, step="post", color=COLOURS[0], alpha=0.2, linewidth=0.0)

    def _levels(self, ax: Any, name: str, table: Any, span: tuple[float, float]) -> None:
        """A bar for each level, the most frequent ones, in the order of scores."""
        from matplotlib.ticker import MaxNLocator

        frequent = table.nlargest(MOST_LEVELS, "count", keep="first").sort_values("score" + self.column)
        places = np.arange(len(frequent))
        missing = frequent["level"].isna()
        spread = BANDS * np.nan_to_num(frequent["std" + self.column].to_numpy())
        colours = np.where(missing, COLOURS[1], COLOURS[0]).tolist()
        ax.barh(places, frequent["score" + self.column], xerr=spread, color=colours, alpha=0.8, ecolor="0.4")
        names = np.where(missing, "missing", frequent["level"])
        counts = frequent["count"].tolist()
        labels = [on_lines(f"{level} ({count:,.0f})") for level, count in zip(names, counts, strict=True)]
        ax.set_yticks(places, labels, fontsize="medium" if len(places) <= MOST_LEVELS // 2 else "x-small")
        ax.axvline(0.0, **QUIET)
        ax.set_xlim(span)
        ax.xaxis.set_major_locator(MaxNLocator(3))
        self._label_scores(ax.xaxis)
        which = "" if len(frequent) == len(table) else f", the {len(frequent)} most frequent"
        ax.set_title(f"{shortened(name)}{which}", fontsize="medium")

    def _pair(self, ax: Any, names: Sequence[str], table: Any) -> None:
        """A heat map of the cells of a pair; cells without rows are grey."""
        from matplotlib import colormaps

        sides = [_Side.of(table, name) for name in names]
        shape = tuple(len(side.cells) for side in sides)
        values = table["score" + self.column].to_numpy().reshape(shape)
        values = np.where(table["count"].to_numpy().reshape(shape) > 0.0, values, np.nan)
        largest = float(np.nanmax(np.abs(values), initial=0.0)) or 1.0
        cells = np.full([len(side.ends) - 1 for side in sides], np.nan)
        cells[np.ix_(*(side.cells for side in sides))] = values
        x, y = (side.ends for side in sides)
        colours = colormaps["PuOr_r"].with_extremes(bad="0.85")
        joined = {"edgecolors": "face", "linewidth": 0.2}  # without which viewers show seams between cells
        image = ax.pcolormesh(x, y, cells.T, cmap=colours, vmin=-largest, vmax=largest, **joined)
        for axis, side, name in zip((ax.xaxis, ax.yaxis), sides, names, strict=True):
            side.label(axis)
            axis.set_label_text(shortened(name))
        ax.set_title(" and ".join(map(shortened, names)), fontsize="medium")
        ax.figure.colorbar(image, ax=ax, label=self.score)


def _class_shown(classes: list[Any], class_: Any) -> tuple[Any, str]:
    """The class whose scores are shown, and the ending of their columns."""
    if len(classes) == 2:
        return classes[1], ""
    class_ = classes[0] if class_ is None else class_
    if class_ not in classes:
        raise ValueError(f"class_={class_!r} is not one of the classes {classes}")
    return class_, f" {class_}"


@dataclass(frozen=True)
class _Side:
    """An axis of a heat map: the ends of its cells, which of them the steps of a feature are, and names of levels."""

    ends: np.ndarray
    cells: np.ndarray
    levels: list[str] | None
    missing: bool

    @classmethod
    def of(cls, table: Any, name: str) -> _Side:
        if f"{name} level" in table:
            labels = table[f"{name} level"].drop_duplicates().fillna("missing").tolist()
            return cls(np.arange(len(labels) + 1) - 0.5, np.arange(len(labels)), labels, False)
        lower, upper = table[[f"{name} lower", f"{name} upper"]].drop_duplicates().to_numpy().T
        missing = bool(np.isnan(lower[-1]))
        ends = _finite_ends(lower[: len(lower) - missing], upper[: len(upper) - missing])
        cells, n = np.arange(len(lower)), len(ends) - 1
        if missing:  # apart from the others, behind an empty cell
            ends = np.append(ends, ends[-1] + APART * (ends[-1] - ends[0]) * np.array([0.5, 1.5]))
            cells[-1] = n + 1
        return cls(ends, cells, None, missing)

    def label(self, axis: Any) -> None:
        """Name the levels, or missing values beside the numbers."""
        if self.levels is not None:
            long = axis.axis_name == "x" and sum(map(len, self.levels)) > MOST_LETTERS
            size = "medium" if len(self.levels) <= MOST_LEVELS // 2 else "x-small"
            axis.set_ticks(np.arange(len(self.levels)), self.levels, rotation=45 if long else 0, fontsize=size)
        elif self.missing:
            _label_numbers(axis, self.ends[:-2], 0.5 * (self.ends[-2] + self.ends[-1]))
        else:
            _label_numbers(axis, self.ends, None)


def _label_numbers(axis: Any, ends: np.ndarray, missing: float | None, logarithmic: bool = False) -> None:
    """Ticks at whole numbers where values are, with commas; and one where missing values are, behind the last."""
    from matplotlib import ticker

    locators: list[Any] = [ticker.MaxNLocator(5, integer=_are_whole(ends), steps=[1, 2, 5, 10])]
    if logarithmic:
        locators = [ticker.LogLocator(subs=subs, numticks=6) for subs in ((1.0, 2.0, 5.0), (1.0, 3.0), (1.0,))]
    for locator in locators:
        ticks = [one for one in locator.tick_values(ends[0], ends[-1]) if ends[0] <= one <= ends[-1]]
        labels = plain_numbers(ticks)
        if sum(map(len, labels)) <= MOST_LETTERS_OF_TICKS:
            break
    if missing is not None:
        free = ticks[: max(len(ticks) - 1, 1)] if len(labels[-1:]) and len(labels[-1]) > SHORT else ticks
        ticks, labels = [*free, missing], [*labels[: len(free)], "missing"]
    axis.set_ticks(ticks, labels)
    axis.set_minor_locator(ticker.NullLocator())


def _are_whole(ends: np.ndarray) -> bool:
    """Whether bins end between whole numbers."""
    return bool((ends[1:-1] % 1.0 == 0.5).all())


def _are_piled(ends: np.ndarray, counts: np.ndarray) -> bool:
    """Whether half of the rows are in a small part of the axis, at its beginning, and all values are above 0."""
    middle = float(np.interp(0.5 * counts.sum(), np.append(0.0, np.cumsum(counts)), ends))
    return bool(ends[0] > 0.0 and ends[-1] > WIDE * ends[0] and middle - ends[0] < PILED * (ends[-1] - ends[0]))


def _finite_ends(lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """The ends of bins, the outer ones as far out as bins are wide in the middle."""
    inner = upper[:-1]
    width = float(np.median(np.diff(inner))) if len(inner) > 1 else 1.0
    if not len(inner):
        return np.array([-1.0, 1.0])
    first = inner[0] - width
    if first <= 0.0 < inner[0] and not _are_whole(upper):  # may be on a logarithmic axis
        first = 0.5 * inner[0]
    return np.concatenate([[first], inner, [inner[-1] + width]])
