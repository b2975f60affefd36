"""Displays the scores along a grid from which an estimator chose: of all classes or one, held out and in training."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from streamnb.core import arguments
from streamnb.estimators.linear_nb_cv import LinearNBCV, judged_grid
from streamnb.estimators.selector import FeatureSelector
from streamnb.estimators.trained import TrainedClassifierCV, judged_reads
from streamnb.problem.families import as_family
from streamnb.reporting.drawing import (
    COLOURS,
    COUNTED,
    QUIET,
    Drawn,
    axes,
    check_fitted,
    check_line_properties,
    label_ends,
    line_style,
    log_axis,
    panels,
    point_text,
    scoring_name,
    set_figure_title,
    set_title,
    shortened,
    tau_name,
)
from streamnb.selection.feature_ranking import FeatureRanking
from streamnb.selection.features import as_search
from streamnb.selection.score_table import GridScores, split_interval

MEANING = "mean ± standard deviation over splits"
NAMED = 25  # features at most whose names are below the axis


class ScoreDisplay(Drawn):
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
        The point that the rule chose.
    least : float
        The lowest mean score that the rule accepts.
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
        Mean plus and minus one standard deviation over splits: in every panel; with all lines in one panel, for up to
        three lines, otherwise only for the one with the chosen point.
    chosen_ : Line2D
        The mark of the chosen point.
    whisker_ : LineCollection or None
        Its interval, corrected for overlapping training sets, which is approximate.

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
        """Draw the scores from which `LinearNBCV`, or an iterative model such as `SoftmaxRegressionCV`, chose.

        Parameters
        ----------
        estimator : LinearNBCV, SoftmaxRegressionCV, MarginClassifierCV or LeastSquaresClassifierCV
            Fitted.
        against : str, optional
            "n_features", or the kind of penalty whose tau is on the axis, such as "l1"; the kind with the most taus
            unless given. Every combination of the other taus has a panel. For iterative models "max_passes", unless
            given: the score after each read; or "l2", "l1": after the best number of reads of each penalty.
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
        return cls(**curves).plot(ax, **kwargs)

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
        line_of = dict[int, Any]()
        for ax, mine in zip(grid, named, strict=True):
            for k in range(len(self.line_names)):
                if k != mine:
                    line_of.setdefault(k, self._line(ax, k, {**QUIET, "label": f"_{self.line_names[k]}"}))
            style = {"color": COLOURS[0], "label": self.line_names[mine], **kwargs}
            line_of[mine] = self._line(ax, mine, style, band=True, train=True)
        self.lines_ = [line_of[k] for k in range(len(self.line_names))]
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
        self.ax_ = ax
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


def curves_of(estimator: Any, against: str | None, class_: Any, train: bool) -> dict[str, Any]:
    """The arguments of a `ScoreDisplay`, by name."""
    kinds_of_models = LinearNBCV, TrainedClassifierCV
    check_fitted(estimator, kinds_of_models, "a fitted snb.LinearNBCV, SoftmaxRegressionCV or the like", "cv_results_")
    if isinstance(estimator, TrainedClassifierCV):
        return _of_reads(estimator, against, class_, train)
    (scores, grid), table = judged_grid(estimator), estimator.cv_results_
    kinds = sorted(scores.grid[0], key=lambda kind: -len(set(map(str, table[f"param_{kind}"].tolist()))))
    against = kinds[0] if against is None else arguments.one_of("against", against, [*kinds, "n_features"])
    axis = kinds[0] if against == "n_features" else against
    rest = [point_text({kind: point[kind] for kind in kinds if kind != axis}) for point in scores.grid]
    names, of_class = list(dict.fromkeys(rest)), ""
    chosen, shown = scores.best(estimator.rule), scores
    chosen_name = f"{point_text(scores.grid[chosen])}, {scores.n_features[chosen]:,} features"
    if class_ is not None:
        shown, chosen, chosen_name = _of_class(scores, class_, estimator.rule)
        of_class = f" of class {class_}"
    elif estimator.rule == "per_split":
        chosen_name = "a number for each class; the best for all"
    if train and shown.train is None:
        raise ValueError("train=True needs scores of training rows; fit with return_train_score=True")
    return {
        "x": np.asarray(shown.n_features if against == "n_features" else table[f"param_{against}"], dtype=np.float64),
        "mean": shown.mean,
        "std": shown.std,
        "lines": np.array([names.index(name) for name in rest]),
        "line_names": names,
        "chosen": chosen,
        "chosen_name": chosen_name,
        "ends": split_interval(shown.scores[chosen], shown.scores.shape[1] // estimator.repeats),
        "least": shown.least(estimator.rule),
        "x_name": tau_name(against, grid) + (of_class.replace("of", "for") if against == "n_features" else ""),
        "score_name": scoring_name(estimator) + of_class,
        "rule": estimator.rule,
        "train": shown.train.mean if train and shown.train is not None else None,
    }


def _of_reads(estimator: TrainedClassifierCV, against: str | None, class_: Any, train: bool) -> dict[str, Any]:
    """The scores after each read, with a line for each penalty; against a penalty, those after its best read."""
    if train:
        raise ValueError(f"train=True: {type(estimator).__name__} does not judge training rows")
    scores, chosen = judged_reads(estimator)
    of_class = "" if class_ is None else f" of class {class_}"
    if class_ is not None:
        scores, chosen = judged_reads(estimator, _number_of(scores, class_))
    kinds = [*scores.grid[0]][::-1]  # max_passes, then the penalties
    usual = kinds[np.unique([point["max_passes"] for point in scores.grid]).size == 1]  # products take no reads
    against = usual if against is None else arguments.one_of("against", against, [*kinds, "n_features"])
    left_out = {against, "max_passes"}
    tables = {kind: np.array([point[kind] for point in scores.grid], dtype=np.float64) for kind in kinds}
    varied = [kind for kind in kinds[::-1] if kind not in left_out and len(np.unique(tables[kind])) > 1]
    shown = np.arange(len(scores.grid))
    if against != "max_passes":  # each penalty has a point for each read; keep its best
        order = np.lexsort([-scores.mean, shown != chosen, *(tables[kind] for kind in kinds[1:])])
        points = np.array([tables[kind][order] for kind in kinds[1:]]).T
        shown = np.sort(order[np.append(True, (points[1:] != points[:-1]).any(axis=1))])
    rest = [point_text({kind: scores.grid[i][kind] for kind in varied}) for i in shown.tolist()]
    names = list(dict.fromkeys(rest))
    return {
        "x": (scores.n_features if against == "n_features" else tables[against])[shown].astype(np.float64),
        "mean": scores.mean[shown],
        "std": scores.std[shown],
        "lines": np.array([names.index(name) for name in rest]),
        "line_names": names,
        "chosen": int(np.flatnonzero(shown == chosen)[0]),
        "chosen_name": f"{point_text(scores.grid[chosen])}, {scores.n_features[chosen]:,} features",
        "ends": split_interval(scores.scores[chosen], scores.scores.shape[1]),
        "least": scores.least(estimator.rule),
        "x_name": {"max_passes": "reads of the rows", "l1": "L1 penalty", "l2": "L2 penalty"}.get(against)
        or tau_name(against, None),
        "score_name": scoring_name(estimator) + of_class,
        "rule": estimator.rule,
    }


def _number_of(scores: GridScores, label: Any) -> int:
    """The index of a class."""
    labels = scores.classes.tolist()
    if scores.class_scores is None:
        raise ValueError(f"class_={label!r}: there is no score of each class; use a scoring that has one")
    if label not in labels:
        raise ValueError(f"class_={label!r} is not a class; it should be one of {', '.join(map(repr, labels))}")
    return labels.index(label)


def _of_class(scores: GridScores, label: Any, rule: str) -> tuple[GridScores, int, str]:
    """The scores of one class with its features, and the index and name of the point that the rule chooses for it."""
    k = _number_of(scores, label)
    chosen = int(scores.class_best(rule)[k])
    if chosen < 0:
        raise ValueError(f"class_={label!r} has no score in any split")
    n_features, point = scores.n_features_per_class[chosen, k], scores.grid[chosen]
    if rule == "per_split":  # its number of features need not be on the grid
        n_features = scores.per_split()[0][k]
        point = {**point, "top_k": int(n_features)}
    return scores.of_class(k), chosen, f"{point_text(point)}, {n_features:,} features"


class SelectionDisplay(Drawn):
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
            raise ValueError(f"by={by!r} judges no models: use 'sfs', 'iwss', 'backward' or 'exhaustive'")
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
        ax = self._begun(ax, (8.0, 6.4 if below else 4.8))
        shared = bool(ax.lines)
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
