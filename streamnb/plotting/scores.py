"""Displays of scores along a grid and of confusion matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from sklearn import metrics
from sklearn.pipeline import Pipeline

from streamnb.core import arguments
from streamnb.core.types import PerRow, Rows
from streamnb.estimators.classifier import Classifier, model_and_rows
from streamnb.estimators.linear_nb_cv import LinearNBCV
from streamnb.estimators.trained_cv import TrainedClassifierCV
from streamnb.evaluation.evaluation import Evaluation
from streamnb.evaluation.judging import judged
from streamnb.evaluation.tallies import ratio
from streamnb.models.linear import LinearModel
from streamnb.plotting.drawing import (
    COLOURS,
    COUNTED,
    QUIET,
    axes,
    check_line_properties,
    label_ends,
    line_style,
    log_axis,
    panels,
    set_figure_title,
    set_title,
    shortened,
)
from streamnb.plotting.grid_curves import curves_of
from streamnb.problem.families import as_family
from streamnb.rows.opening import with_labels

MEANING = "mean ± standard deviation over splits"
SHARES_OF = {None: "rows", "true": "share of the true class", "pred": "share of the predicted class", "all": "share"}


class ScoreDisplay:
    """Mean cross-validated score against tau or the number of features, with its spread, and the chosen point.

    Where several penalties vary, each combination of the others has a panel, and is drawn grey in the other panels.

    Parameters
    ----------
    x, mean, std : (G,)
        One value for each point of the grid.
    lines : (G,) int
        The line of each point.
    line_names : sequence of str
    chosen, chosen_name : int, str
        The point the rule chose.
    least : float
        The lowest mean score that is good enough by the rule.
    x_name, score_name, rule : str
    train : (G,), optional
        The mean score of training rows.
    ends : (float, float), optional
        A 95 % interval of the mean score of the chosen point.

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure
        The axes with the chosen point, where there are several panels.
    lines_, train_lines_ : list of Line2D
    bands_ : list of PolyCollection
        Mean plus and minus one standard deviation over splits: in every panel; of lines in one panel, of all three at
        most, else of the one that has the chosen point.
    chosen_ : Line2D
        The mark of the chosen point.
    whisker_ : LineCollection or None
        Its interval, corrected for training sets that overlap, which is approximate.

    Examples
    --------
    >>> import streamnb as snb
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = snb.LinearNBCV("gaussian", snb.TopK([1, 2, 4]), folds=3, scoring="accuracy").fit(X, y)
    >>> shown = snb.ScoreDisplay.from_estimator(model, "n_features")
    >>> print(shown.ax_.get_title(loc="left"))  # the title says what is to be seen
    Chosen by 'best': top_k = 2, 2 features; 0.967 held out
    """

    def __init__(
        self,
        x: np.ndarray,
        mean: np.ndarray,
        std: np.ndarray,
        *,
        lines: np.ndarray,
        line_names: Sequence[str],
        chosen: int,
        chosen_name: str,
        least: float,
        x_name: str,
        score_name: str,
        rule: str,
        train: np.ndarray | None = None,
        ends: tuple[Any, Any] | None = None,
    ):
        self.x, self.mean, self.std, self.lines, self.line_names = x, mean, std, lines, line_names
        self.chosen, self.chosen_name, self.least = chosen, chosen_name, least
        self.x_name, self.score_name, self.rule, self.train, self.ends = x_name, score_name, rule, train, ends

    @classmethod
    def from_estimator(
        cls,
        estimator: LinearNBCV | TrainedClassifierCV,
        against: str | None = None,
        *,
        class_: Any = None,
        train: bool = False,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the scores from which `LinearNBCV`, or a model of several reads such as `SoftmaxRegressionCV`, chose.

        Parameters
        ----------
        estimator : LinearNBCV, SoftmaxRegressionCV, MarginClassifierCV or LeastSquaresClassifierCV
            Fitted.
        against : str, optional
            "n_features", or the kind of penalty whose tau is on the axis, such as "l1"; the kind with the most taus
            unless given. Every combination of the other taus has a panel. For models of several reads "max_passes",
            unless given: the score after each read; or "l2", "l1": after the best number of reads of each penalty.
        class_ : label, optional
            The scores of one class and its features alone, with the point that the rule chooses for it.
        train : bool
            Also draw the scores of training rows, dashed; the estimator needs ``return_train_score=True``.
        ax : matplotlib axes, optional
            Axes for all lines, which have their names at their ends. If another display is drawn on them, both stay,
            each named by its family (or `label`).
        **kwargs
            Passed to `plot`.
        """
        curves = curves_of(estimator, against, class_, train)
        if ax is not None and "label" not in kwargs:  # where others may be
            reads = isinstance(estimator, TrainedClassifierCV)
            name = type(estimator).__name__ if reads else as_family(estimator.family).name
            kwargs = {"label": name, **kwargs}
        return cls(curves.pop("x"), curves.pop("mean"), curves.pop("std"), **curves).plot(ax, **kwargs)

    def plot(self, ax: Any = None, *, n_named: int = 8, **kwargs: Any) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib axes, optional
            New ones unless given, with a panel for each of several lines.
        n_named : int
            Number of lines with a panel, or on given axes with a name and a colour: that of the chosen point, then the
            best.
        **kwargs
            Properties of the lines; `label` is put before their names.
        """
        check_line_properties(kwargs)
        label = kwargs.pop("label", None)
        main = self.lines[self.chosen]
        tops = [np.nan_to_num(self.mean[self.lines == k], nan=-np.inf).max() for k in range(len(self.line_names))]
        best = sorted(range(len(tops)), key=lambda k: (k != main, -tops[k]))
        named = sorted(best[: arguments.whole_number("n_named", n_named)])
        self.lines_, self.train_lines_, self.bands_ = list[Any](), list[Any](), list[Any]()
        if ax is None and len(named) > 1:
            self._plot_panels(named, label, kwargs)
        else:
            self._plot_together(axes(ax, (8.4, 4.8)), named, label, kwargs)
        return self

    def _plot_panels(self, named: list[int], label: str | None, kwargs: dict[str, Any]) -> None:
        """Draw each line in a panel, the others grey behind it."""
        grid = panels([self.line_names[k] for k in named])
        self.ax_ = grid[named.index(self.lines[self.chosen])]
        self.figure_, own = self.ax_.figure, dict[int, Any]()
        for ax, mine in zip(grid, named, strict=True):
            for k in range(len(self.line_names)):
                if k != mine:
                    own.setdefault(k, self._line(ax, k, {**QUIET, "label": f"_{self.line_names[k]}"}))
            style = {"color": COLOURS[0], "label": self.line_names[mine], **kwargs}
            own[mine] = self._line(ax, mine, style, band=True, train=True)
        self.lines_ = [own[k] for k in range(len(self.line_names))]
        meaning = ["shaded: ± standard deviation over splits", *self._of_whisker()]
        if level := self._level():
            meaning.append(f"dotted: {level}")
            for ax in grid:
                self._draw_level(ax)
        if self.train_lines_:
            meaning.append("dashed: training rows")
        self._ring(self.ax_)
        log_axis(self.ax_, self.x, self.x_name.startswith(COUNTED))
        self.figure_.supxlabel(self.x_name, fontsize="medium")
        self.figure_.supylabel(self.score_name, fontsize="medium")
        set_figure_title(self.figure_, f"{self._choice_text(label)}\n({', '.join(meaning)})")

    def _plot_together(self, ax: Any, named: list[int], label: str | None, kwargs: dict[str, Any]) -> None:
        """Draw all lines on the same axes, beside those that are already there."""
        self.ax_, self.figure_ = ax, ax.figure
        before = [line for line in ax.lines if line.get_gid() == "scores"]
        n_before, main = len({line.get_color() for line in before} & {*COLOURS}), self.lines[self.chosen]
        for k, line_name in enumerate(self.line_names):
            name = ", ".join(filter(None, [label, line_name])) or ("held-out rows" if self.train is not None else "_")
            style = {"label": name, **line_style(n_before + named.index(k))} if k in named else {**QUIET, "label": "_"}
            band = k == main or len(self.line_names) <= 3
            self.lines_.append(self._line(ax, k, {**style, **kwargs}, band=band, train=True))
        self._ring(ax)
        level = self._draw_level(ax) if self._level() else []
        lines = [line for line in ax.lines if line.get_gid() == "scores"]
        log_axis(ax, np.concatenate([line.get_xdata() for line in lines]), self.x_name.startswith(COUNTED))
        ax.set(
            xlabel=self.x_name,
            ylabel="\n".join([f"{self.score_name},", MEANING, *self._of_whisker()]),
        )
        label_ends(ax, [line for line in [*lines, *level] if not line.get_label().startswith("_")])
        titles = [ax.get_title("left")] if before else []
        set_title(ax, "\n".join([*titles, self._choice_text(label)]))

    def _line(self, ax: Any, k: int, style: dict[str, Any], *, band: bool = False, train: bool = False) -> Any:
        """Draw line k, with its spread (`band`) and the scores of training rows (`train`) if these are wanted."""
        points = np.flatnonzero(self.lines == k)
        points = points[np.lexsort((self.mean[points], self.x[points]))]
        x, mean, std = self.x[points], self.mean[points], self.std[points]
        quiet = style["label"].startswith("_") and not (band or train)
        style = {"marker": "" if quiet else "o", "markersize": 3.5, "linewidth": 1.5, "gid": "scores", **style}
        (line,) = ax.plot(x, mean, **style)
        if train and self.train is not None:
            name = f"{line.get_label().removesuffix('held-out rows')}, training rows".removeprefix(", ")
            dashed = {"color": line.get_color(), "linestyle": "--", "label": name}
            self.train_lines_ += ax.plot(x, self.train[points], **{**style, **dashed})
        if band:
            filled = {"color": line.get_color(), "alpha": 0.18, "linewidth": 0}
            self.bands_.append(ax.fill_between(x, mean - std, mean + std, **filled))
        return line

    def _ring(self, ax: Any) -> None:
        """Mark the chosen point."""
        mark = {"color": "k", "markersize": 15, "markerfacecolor": "none", "linestyle": "none", "zorder": 4}
        (self.chosen_,) = ax.plot([self.x[self.chosen]], [self.mean[self.chosen]], "o", **mark, label="_chosen")
        self.whisker_ = None
        if self.ends is not None and not np.isnan(self.ends).any():
            self.whisker_ = ax.vlines(self.x[self.chosen], *self.ends, color="k", linewidth=1.0, zorder=4)

    def _of_whisker(self) -> list[str]:
        return [] if self.ends is None else ["whisker: 95 % interval, approximate"]

    def _level(self) -> str:
        """The meaning of `least` in words; empty where only the best score is good enough."""
        within = {"parsimonious": "within 1 % of the best", "one_se": "within a standard error of the best"}
        return within.get(self.rule, "good enough") if self.least < np.nanmax(self.mean) else ""

    def _draw_level(self, ax: Any) -> list[Any]:
        return [ax.axhline(self.least, color="0.3", linestyle=":", linewidth=1, label=self._level())]

    def _choice_text(self, label: str | None) -> str:
        """The chosen point and its score, as text."""
        who = f"{label}: " if label else f"Chosen by {self.rule!r}: "
        return f"{who}{self.chosen_name}; {self.mean[self.chosen]:.3f} held out"


class ConfusionMatrixDisplay(metrics.ConfusionMatrixDisplay):
    """scikit-learn's display of this name, for an `Evaluation` or for any input that `fit` takes.

    Examples
    --------
    >>> import streamnb as snb
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> shown = snb.ConfusionMatrixDisplay.from_estimator(snb.LinearNB("gaussian").fit(X, y), X, y)
    >>> shown.confusion_matrix.shape
    (3, 3)
    """

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Rows, y: PerRow = None, *, sample_weight: PerRow = None, **kwargs: Any
    ) -> Self:
        """Evaluate rows in one read, and draw.

        Parameters
        ----------
        estimator, X, y, sample_weight
            As for `RocDisplay.from_estimator`.
        **kwargs
            Passed to `from_evaluation`.
        """
        return cls.from_evaluation(evaluation(estimator, X, y, sample_weight, "confusion"), **kwargs)

    @classmethod
    def from_evaluation(cls, evaluation: Evaluation, *, normalize: str | None = "true", **kwargs: Any) -> Self:
        """Draw the confusion matrix of what `snb.evaluate` returned, given y_pred.

        Parameters
        ----------
        evaluation : Evaluation
            An evaluation of rows with one label each.
        normalize : {None, "true", "pred", "all"}
            Weights, or shares of a row (the true class), of a column, or of the whole table.
        **kwargs
            Passed to scikit-learn's `plot`; numbers are written for up to 20 classes unless `include_values` is given.
        """
        check_evaluation(evaluation)
        table = evaluation.confusion_matrix()
        arguments.one_of("normalize", normalize, [None, "true", "pred", "all"])
        if normalize is not None:
            axis = {"true": 1, "pred": 0, "all": None}[normalize]
            table = ratio(table, np.broadcast_to(table.sum(axis=axis, keepdims=True), table.shape))
            kwargs.setdefault("values_format", ".2f")
        elif (table == table.round()).all():
            table = table.astype(np.int64)
        shown = cls(table, display_labels=evaluation.classes).plot(**kwargs)
        if shown.im_.colorbar is not None:
            shown.im_.colorbar.set_label(SHARES_OF[normalize])
        return shown

    def plot(self, *, ax: Any = None, **kwargs: Any) -> Self:
        """Draw; keywords are those of scikit-learn's `plot`."""
        n_classes = len(self.confusion_matrix)
        side = min(max(4.8, 0.62 * n_classes), 10.0)
        ax = axes(ax, (1.2 * side, side))
        kwargs = {"include_values": n_classes <= 20, "cmap": "Blues", **kwargs}
        kwargs.setdefault("colorbar", not kwargs["include_values"])  # numbers replace it
        if max(len(str(label)) for label in self.display_labels) > 3:
            kwargs.setdefault("xticks_rotation", "vertical")
        super().plot(ax=ax, **kwargs)
        every = -(-n_classes // 40)  # more names would overlap
        for axis in (ax.xaxis, ax.yaxis):
            axis.set_ticks(range(0, n_classes, every), [shortened(label) for label in self.display_labels[::every]])
        if self.text_ is not None:
            cell = ax.get_window_extent().width / ax.figure.dpi / n_classes
            for text in self.text_.flat:  # as large as fits into a cell
                text.set_fontsize(min(10.0, 72.0 * cell / (0.68 * max(len(text.get_text()), 2))))
            for text in self.text_[self.confusion_matrix == 0]:
                text.set_color("0.8")
        ax.set(xlabel="predicted class", ylabel="true class")
        set_title(ax, self._finding())
        return self

    def _finding(self) -> str:
        """The most common mistake, as text."""
        table = np.where(np.eye(len(self.confusion_matrix), dtype=bool), 0, self.confusion_matrix)
        true, taken = np.unravel_index(np.argmax(table), table.shape)
        if not table[true, taken] > 0:
            return "No class is taken for another"
        most = table[true, taken]
        often = f"{most:.0%}" if self.confusion_matrix.dtype.kind == "f" and table.max() <= 1.0 else f"{most:,.6g}"
        names = [shortened(self.display_labels[k]) for k in (true, taken)]
        return f"The most common mistake: {names[0]} taken for {names[1]} ({often})"


def check_evaluation(given: Any) -> None:
    """Refuse objects that are not an `Evaluation`."""
    if not isinstance(given, Evaluation):
        raise TypeError(
            f"evaluation is of type {type(given).__name__}; it should be what snb.evaluate(y_true, ..) returns"
        )


def evaluation(estimator: Any, X: Any, y: Any, sample_weight: Any, *needs: str) -> Evaluation:
    """Evaluate a fitted classifier on rows."""
    given = estimator
    X, y = with_labels(X, y)  # before the steps of a pipeline convert a data frame
    if isinstance(estimator, Pipeline):
        X = estimator[:-1].transform(X) if len(estimator) > 1 else X
        estimator = estimator[-1]
    if isinstance(estimator, Classifier):
        estimator, X = model_and_rows(estimator, X, y, sample_weight)
        y = sample_weight = None  # now part of the rows
    if not isinstance(estimator, LinearModel):
        raise TypeError(
            f"estimator={given!r} should be a fitted classifier of streamnb, or a pipeline that ends in one; for "
            "others there is from_evaluation(snb.evaluate(y_true, y_pred, scores=..))"
        )
    return judged(estimator, X, y, sample_weight, needs)
