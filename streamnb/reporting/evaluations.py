"""Displays of evaluations: ROC curves, reliability diagrams and confusion matrices, and predictions of numbers."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from sklearn import metrics
from sklearn.pipeline import Pipeline

from streamnb.core import arguments
from streamnb.core.arguments import PerRow, Rows
from streamnb.estimators.classifier import Classifier, model_and_rows
from streamnb.estimators.errors import RegressionEvaluation
from streamnb.evaluation.evaluation import Evaluation
from streamnb.evaluation.intervals import rows_per_weight
from streamnb.evaluation.judging import judged
from streamnb.evaluation.tallied import given_level, is_binary, ranking
from streamnb.evaluation.tallies import ratio
from streamnb.models.linear import LinearModel
from streamnb.reporting.drawing import (
    COLOURS,
    QUIET,
    Drawn,
    axes,
    check_evaluation,
    classes_by_area,
    legend_beside,
    line_style,
    number_axis,
    number_text,
    set_title,
    share_interval,
    shortened,
)
from streamnb.rows.opening import with_labels

MOST_BANDS = 3  # curves with bands, which would cover each other if there were more
MOST_CURVES = 100  # ROC curves; more cannot be distinguished
SHARES_OF = {None: "rows", "true": "share of the true class", "pred": "share of the predicted class", "all": "share"}


class DrawsEvaluation:
    """A display of what `snb.evaluate` returns, which can also evaluate a model itself."""

    _needs: ClassVar[tuple[str, ...]]  # what the evaluation has to tally

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Rows, y: PerRow = None, *, sample_weight: PerRow = None, ax: Any = None, **kwargs: Any
    ) -> Self:
        """Evaluate rows in one read, and draw.

        Parameters
        ----------
        estimator : a fitted classifier of streamnb, a model of a path, or a pipeline that ends in a classifier
        X, y, sample_weight
            Any input that `fit` takes.
        ax : matplotlib axes, optional
        **kwargs
            Passed to `from_evaluation`.
        """
        model: Any = estimator
        X, y = with_labels(X, y)  # before the steps of a pipeline convert a data frame
        if isinstance(model, Pipeline):
            X = model[:-1].transform(X) if len(model) > 1 else X
            model = model[-1]
        if isinstance(model, Classifier):
            model, X = model_and_rows(model, X, y, sample_weight)
            y = sample_weight = None  # now part of the rows
        if not isinstance(model, LinearModel):
            raise TypeError(
                f"estimator={estimator!r} should be a fitted classifier of streamnb, or a pipeline that ends in one; "
                "for others there is from_evaluation(snb.evaluate(y_true, y_pred, scores=..))"
            )
        return cls.from_evaluation(judged(model, X, y, sample_weight, cls._needs), ax=ax, **kwargs)

    @classmethod
    def from_evaluation(cls, evaluation: Evaluation, **kwargs: Any) -> Self:
        """Draw what `snb.evaluate` returned."""
        raise NotImplementedError


class RocDisplay(Drawn, DrawsEvaluation):
    """ROC curve of each class against the others, their mean, and chance.

    Parameters
    ----------
    curves : dict of label to ((m,) false, (m,) true positive rates)
        The curves drawn: at most 100, evenly spaced from the worst class to the best.
    roc_auc : dict of label to float
        Areas of all classes that have rows, the best first.
    mean : ((m,), (m,)), optional
        False, and mean true positive rates over all classes.
    error : float
        Bound on the error of the areas; 0 where they are exact.
    n_rows : dict of label to (float, float), optional
        Equal rows of a class and others, by which bands are drawn. They are unknown for rows in groups, and for weights
        in an evaluation without `interval`.

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure
    lines_ : dict of label to Line2D
    bands_ : dict of label to PolyCollection
        Where both rates at a threshold lie, for up to three curves.
    mean_, chance_ : Line2D, the first None for two classes

    Examples
    --------
    >>> import streamnb as snb
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> shown = snb.RocDisplay.from_estimator(snb.LinearNB("gaussian").fit(X, y), X, y)
    >>> print(shown.ax_.get_title(loc="left"))  # the title says what is to be seen
    0 is separated best (area 1.000), 2 worst (0.993) (magnified)
    """

    _needs = ("ranking",)

    def __init__(
        self,
        curves: dict[Any, tuple[np.ndarray, np.ndarray]],
        roc_auc: dict[Any, float],
        *,
        mean: tuple[np.ndarray, np.ndarray] | None = None,
        error: float = 0.0,
        n_rows: dict[Any, tuple[float, float]] | None = None,
    ):
        self.curves, self.roc_auc, self.mean, self.error, self.n_rows = curves, roc_auc, mean, error, n_rows or {}

    @classmethod
    def from_evaluation(cls, evaluation: Evaluation, *, ax: Any = None, **kwargs: Any) -> Self:
        """Draw what `snb.evaluate` returned, given scores or probabilities.

        Raises
        ------
        ValueError
            The evaluation keeps no ranking, or no class has both rows of its own and others.
        """
        check_evaluation(evaluation)
        areas, labels = evaluation.roc_auc(average=None), evaluation.classes.tolist()
        order, rate = classes_by_area(evaluation, areas), rows_per_weight(evaluation)
        if not order:
            raise ValueError("no class has both rows of its own and others, so there is no ROC curve")
        drawn = {order[i] for i in np.linspace(0, len(order) - 1, min(len(order), MOST_CURVES)).round().astype(int)}
        at, total, curves, n_rows = np.linspace(0.0, 1.0, 1001), 0.0, {}, {}
        for k in order:
            false, true, _ = evaluation.roc_curve(evaluation.classes[k])
            total = total + np.interp(at, false, true)
            if k in drawn:
                curves[labels[k]] = false, true
                levels = ranking(evaluation).levels(k)
                n_positive, n_negative = float(levels.positive.sum()), float(levels.negative.sum())
                n_rows[labels[k]] = (rate or 0.0) * n_positive, (rate or 0.0) * n_negative
        mean = None if is_binary(evaluation) else (np.append(0.0, at), np.append(0.0, total / len(order)))
        roc_auc = {labels[k]: float(areas[k]) for k in order}
        known = {"error": evaluation.roc_auc_error, "n_rows": n_rows if rate else None}
        return cls(curves, roc_auc, mean=mean, **known).plot(ax, **kwargs)

    def plot(
        self, ax: Any = None, *, n_named: int = 6, zoom: bool = True, interval: float | None = 0.95, **kwargs: Any
    ) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib axes, optional
            New ones unless given.
        n_named : int
            Number of classes with a colour and a name; if there are more, the best and the worst get them.
        zoom : bool
            Magnify the corner where the curves differ, if they reach nearly all rows of a class early.
        interval : float, optional
            Confidence of the bands: at each threshold the two rates lie in them together. They are Wilson's (1927), for
            independent rows, and drawn for up to three curves; None draws none.
        **kwargs
            Properties of the curves.
        """
        ax = self._begun(ax, (7.4, 4.8), kwargs)
        self.lines_, self.bands_ = dict[Any, Any](), dict[Any, Any]()
        labels = list(self.curves)
        best = -(-min(arguments.whole_number("n_named", n_named), len(labels)) // 2)
        worst = min(n_named, len(labels)) - best
        named = labels[:best] + labels[len(labels) - worst :]
        for label, (false, true) in self.curves.items():
            style = line_style(named.index(label)) if label in named else QUIET
            name = f"{shortened(label)} ({self.roc_auc[label]:.3f})"
            self.lines_[label] = ax.plot(false, true, **{**style, "label": name, **kwargs})[0]
            if interval is not None and len(labels) <= MOST_BANDS and label in self.n_rows:
                self.bands_[label] = self._band(ax, label, given_level(interval))
        handles = [self.lines_[label] for label in named]
        if len(labels) > len(named):
            others = next(line for label, line in self.lines_.items() if label not in named)
            others.set_label(f"{len(self.roc_auc) - len(named):,} other classes between")
            handles.insert(best, others)
        self.mean_ = None
        if self.mean is not None:
            name = f"mean ({np.mean(list(self.roc_auc.values())):.3f})"
            self.mean_ = ax.plot(*self.mean, color="k", linewidth=2.0, linestyle=(0, (4, 1)), label=name)[0]
            handles.append(self.mean_)
        self.chance_ = ax.plot([0, 1], [0, 1], color="0.5", linestyle=":", label="chance (0.5)")[0]
        right, low = self._corner() if zoom else (1.0, 0.0)
        ax.set(xlim=(-0.01 * right, 1.01 * right), ylim=(low - 0.01 * (1.0 - low), 1.0 + 0.01 * (1.0 - low)))
        ax.set_aspect("equal" if (right, low) == (1.0, 0.0) else "auto")
        ax.set(xlabel="share of other rows taken for the class", ylabel="share of the class that is found")
        set_title(ax, self._finding() + (" (magnified)" if right < 1.0 else ""))
        handles += [self.chance_] if right == 1.0 else []  # outside the magnified corner
        notes = [f"areas within {self.error:.1g}"] if self.error else []
        notes += [f"shaded: {100 * interval:.4g} % for both rates"] if interval and self.bands_ else []
        legend_beside(ax, handles, "\n".join(["class (area)", *notes]))
        return self

    def _band(self, ax: Any, label: Any, level: float) -> Any:
        """Shade where the rates of a curve lie: from the least false and most true rates to the reverse."""
        (false, true), (n_own, n_rest) = self.curves[label], self.n_rows[label]
        true_ends, false_ends = (share_interval(*of, np.sqrt(level)) for of in ((true, n_own), (false, n_rest)))
        upper, lower = (false_ends[0], true_ends[1]), (false_ends[1], true_ends[0])
        at = np.unique(np.concatenate([upper[0], lower[0], [0.0, 1.0]]))
        ends = (np.interp(at, *curve, left=end) for curve, end in ((lower, 0.0), (upper, None)))
        style = {"color": self.lines_[label].get_color(), "alpha": 0.18, "linewidth": 0, "zorder": 0.5}
        return ax.fill_between(at, *ends, **style)

    def _corner(self) -> tuple[float, float]:
        """Right and lower limits of the magnified corner, which holds 95 % of every class; (1, 0) for no corner."""
        reached = [float(false[np.argmax(true >= 0.95)]) for false, true in self.curves.values()]
        right = max(1.25 * max(reached), 0.02)
        if right > 0.5:
            return 1.0, 0.0
        heights = [float(np.interp(0.02 * right, *curve)) for curve in self.curves.values()]
        return right, max(np.floor(10.0 * min(heights)) / 10.0 - 0.1, 0.0)

    def _finding(self) -> str:
        """The classes that are separated best and worst."""
        (best, most), *_, (worst, least) = [*self.roc_auc.items()] * 2  # twice: one class is both
        if len(self.roc_auc) == 1:
            return f"{shortened(best)} is separated from the others with area {most:.3f}"
        return f"{shortened(best)} is separated best (area {most:.3f}), {shortened(worst)} worst ({least:.3f})"


class ReliabilityDisplay(Drawn, DrawsEvaluation):
    """Share of correct predictions against predicted probability; `calibrate` brings the curve to the diagonal.

    Parameters
    ----------
    proba, right, share : (m,)
        From `Evaluation.reliability_curve`: mean probability of a bin, share that was right, share of the weight.
    error : float
        The expected calibration error.
    n_rows : float, optional
        Equal rows, by which whiskers are drawn. They are unknown for rows in groups or with several labels, and for
        weights in an evaluation without `interval`.

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure
    line_, diagonal_ : Line2D
    points_ : PathCollection
        Their areas grow with the share of rows in them.
    whiskers_ : LineCollection or None

    Examples
    --------
    >>> import streamnb as snb
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> shown = snb.ReliabilityDisplay.from_estimator(snb.LinearNB("gaussian").fit(X, y), X, y)
    >>> " ".join(shown.ax_.get_title(loc="left").split())  # the title says what is to be seen
    'The model is overconfident: it predicts 98.2 %, 96.0 % are right (larger points: more rows; whiskers: 95 %)'
    """

    _needs = ("probabilities", "reliability")

    def __init__(
        self, proba: np.ndarray, right: np.ndarray, share: np.ndarray, error: float, *, n_rows: float | None = None
    ):
        self.proba, self.right, self.share, self.error, self.n_rows = proba, right, share, error, n_rows

    @classmethod
    def from_evaluation(cls, evaluation: Evaluation, **kwargs: Any) -> Self:
        """Draw the reliability curve of what `snb.evaluate` returned, given proba; keywords are those of `plot`."""
        check_evaluation(evaluation)
        curve = evaluation.reliability_curve()
        rate = rows_per_weight(evaluation)
        n_rows = None if rate is None or evaluation.multilabel else rate * evaluation.weight
        return cls(*curve, error=evaluation.expected_calibration_error(), n_rows=n_rows).plot(**kwargs)

    def plot(self, ax: Any = None, *, interval: float | None = 0.95, **kwargs: Any) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib axes, optional
            New ones unless given.
        interval : float, optional
            Confidence of the whiskers, Wilson's (1927) for the share of each bin, of independent rows; None draws none.
        **kwargs
            Properties of the curve.
        """
        ax = self._begun(ax)
        (self.diagonal_,) = ax.plot([0.0, 1.0], [0.0, 1.0], **QUIET)
        ax.annotate("perfectly calibrated", (0.03, 0.03), (8, 0), textcoords="offset points", va="top", color="0.4")
        style = {"color": COLOURS[0], "linewidth": 1.0, "label": f"calibration error {self.error:.3f}"}
        (self.line_,) = ax.plot(self.proba, self.right, **{**style, **kwargs})
        share = np.asarray(self.share, dtype=np.float64)
        sizes = 12.0 + 220.0 * share / max(float(share.max(initial=0.0)), np.finfo(float).tiny)
        self.points_ = ax.scatter(self.proba, self.right, sizes, color=self.line_.get_color(), zorder=3)
        self.whiskers_ = None
        if interval is not None and self.n_rows is not None:
            low, high = share_interval(np.clip(self.right, 0.0, 1.0), share * self.n_rows, given_level(interval))
            self.whiskers_ = ax.vlines(self.proba, low, high, color=self.line_.get_color(), linewidth=1.2, zorder=2)
        ax.set(xlim=(0.0, 1.04), ylim=(-0.04, 1.04))
        ax.set(xlabel="probability that the model gave", ylabel="share that was right")
        set_title(ax, self._finding(interval if self.whiskers_ else None))
        return self

    def _finding(self, interval: float | None) -> str:
        """Whether the predicted probabilities are too high or too low on average."""
        mean, right = (float(np.average(x, weights=self.share)) for x in (self.proba, self.right))
        meaning = "larger points: more rows" + (f"; whiskers: {100 * interval:.4g} %" if interval else "")
        way = "overconfident" if mean > right + 0.01 else "underconfident" if mean < right - 0.01 else "calibrated"
        return f"The model is {way}: it predicts {100 * mean:.1f} %, {100 * right:.1f} % are right\n({meaning})"


class ConfusionMatrixDisplay(DrawsEvaluation, metrics.ConfusionMatrixDisplay):
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

    _needs = ("confusion",)

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


# ---- predicted numbers -----------------------------------------------------------------------------------------------

KINDS = "predicted", "errors"
TAIL = 0.005  # share of the rows at each end that axes leave out
UNEQUAL = 1.5  # errors of high and of low predictions that differ by this factor are pointed out
TENTHS = "lowest", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth"
WIDE = 100.0  # the largest over the smallest number, from which an axis is logarithmic


class _OfNumbers(Drawn):
    """How displays are made from evaluations of regressions."""

    def __init__(self, evaluation: RegressionEvaluation):
        if not isinstance(evaluation, RegressionEvaluation):
            what = type(evaluation).__name__
            raise TypeError(
                f"evaluation is of type {what}; it should be what snb.evaluate(model, X, y) returns for a regression"
            )
        self.evaluation = evaluation

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: Any = None, sample_weight: Any = None, **kwargs: Any) -> Self:
        """Evaluate a fitted regression on rows of any kind, in one read, and draw; keywords are those of `plot`."""
        return cls(estimator.evaluate(X, y, sample_weight)).plot(**kwargs)

    @classmethod
    def from_evaluation(cls, evaluation: RegressionEvaluation, **kwargs: Any) -> Self:
        """Draw what `snb.evaluate` returned for a regression; keywords are those of `plot`."""
        return cls(evaluation).plot(**kwargs)

    def plot(self, **kwargs: Any) -> Self:
        """Draw."""
        raise NotImplementedError


class PredictionErrorDisplay(_OfNumbers):
    """True numbers against predicted ones, or their differences, of a sample of up to 1,000 different rows.

    Parameters
    ----------
    evaluation : RegressionEvaluation

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure
    points_ : Line2D
        A point for each row, or for several equal rows, which the title counts.
    line_ : Line2D
        Where predictions are right.

    Examples
    --------
    >>> import streamnb as snb
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> shown = snb.PredictionErrorDisplay.from_estimator(snb.Ridge().fit(X[::2], y[::2]), X[1::2], y[1::2])
    >>> " ".join(shown.ax_.get_title(loc="left").split())  # the title says what is to be seen
    'Half of the rows are off by 45.39 or less, one in ten by more than 90.54'
    """

    def plot(self, ax: Any = None, *, kind: str = "predicted", **kwargs: Any) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib axes, optional
            New ones unless given.
        kind : {"predicted", "errors"}
            True numbers against predictions, or true less predicted against predictions.
        **kwargs
            Properties of the points.
        """
        arguments.one_of("kind", kind, KINDS)
        (true, predicted), weight = self.evaluation.sample.T, self.evaluation.sample_weight
        ax = self._begun(ax, properties=kwargs)
        errors = true - predicted
        x_ends = _ends(predicted)
        both = np.append(true, predicted)
        wide = kind == "predicted" and both.min(initial=1.0) > 0.0 and _ends(both)[1] > WIDE * _ends(both)[0]
        style = {**line_style(0), "linestyle": "none", "marker": "o", "markersize": 2.5, "alpha": 0.4}
        values = true if kind == "predicted" else errors
        n_rows = self.evaluation.n_rows
        label = "a row" if len(true) == n_rows else f"{len(true):,} different ones of {n_rows:,} rows"
        (self.points_,) = ax.plot(predicted, values, **{**style, "label": label, **kwargs})
        ends = np.array(_ends(both) if kind == "predicted" else x_ends)
        right = ends if kind == "predicted" else np.zeros(2)
        (self.line_,) = ax.plot(ends, right, color="0.5", linestyle="--", label="right")
        if wide:
            ax.set(xscale="log", yscale="log")
        ax.set(xlim=ends, ylim=ends if kind == "predicted" else _ends(errors))
        ax.set(xlabel="predicted", ylabel="true" if kind == "predicted" else "true less predicted")
        for axis in (ax.xaxis, ax.yaxis):
            number_axis(axis)
        set_title(ax, _sizes(errors, weight) if kind == "predicted" else _spread(errors, predicted, weight))
        legend_beside(ax, [self.points_, self.line_])
        return self


def _ends(values: np.ndarray) -> tuple[float, float]:
    """The ends of an axis, without the tails of the values."""
    finite = values[np.isfinite(values)]
    low, high = np.quantile(finite, [TAIL, 1.0 - TAIL]).tolist() if len(finite) else (0.0, 1.0)
    return (low, high) if high > low else (low - 0.5, low + 0.5)


def weighted_quantiles(values: np.ndarray, weight: np.ndarray, shares: list[float]) -> list[float]:
    """Quantiles of weighted values; zeros of no values."""
    if not len(values):
        return [0.0] * len(shares)
    if (weight == weight[0]).all():
        return np.quantile(values, shares).tolist()
    return np.quantile(values, shares, weights=weight, method="inverted_cdf").tolist()


def _sizes(errors: np.ndarray, weight: np.ndarray) -> str:
    """How large errors are, in a sentence."""
    half, most = weighted_quantiles(np.abs(errors), weight, [0.5, 0.9])
    return f"Half of the rows are off by {number_text(half)} or less, one in ten by more than {number_text(most)}"


def _spread(errors: np.ndarray, predicted: np.ndarray, weight: np.ndarray) -> str:
    """Whether errors depend on the prediction, in a sentence."""
    low, high = weighted_quantiles(predicted, weight, [1.0 / 3.0, 2.0 / 3.0])
    of_low, of_high = (
        weighted_quantiles(np.abs(errors[some]), weight[some], [0.5])[0]
        for some in (predicted <= low, predicted >= high)
    )
    if not min(of_low, of_high) > 0.0 or max(of_low, of_high) < UNEQUAL * min(of_low, of_high):
        return "Errors are about as large for low as for high predictions"
    larger = "high" if of_high > of_low else "low"
    times = max(of_low, of_high) / min(of_low, of_high)
    return f"Errors of the third of {larger} predictions are {times:.1f} times those of the opposite third"


class DecileDisplay(_OfNumbers):
    """Mean true and predicted number of each tenth of the rows, by rising prediction: calibration and lift.

    Parameters
    ----------
    evaluation : RegressionEvaluation

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure
    true_, predicted_ : Line2D

    Examples
    --------
    >>> import streamnb as snb
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> shown = snb.DecileDisplay.from_estimator(snb.Ridge().fit(X[::2], y[::2]), X[1::2], y[1::2])
    >>> " ".join(shown.ax_.get_title(loc="left").split())
    'The fifth tenth is furthest off, too high: 152.5 predicted on average, 97.14 true'
    """

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib axes, optional
            New ones unless given.
        **kwargs
            Properties of the line of true numbers.
        """
        ax = self._begun(ax, properties=kwargs)
        deciles = self.evaluation.deciles
        tenth = np.arange(1, len(deciles) + 1)
        marks = {"marker": "o", "markersize": 5.0}
        (self.true_,) = ax.plot(tenth, deciles["true"], **{**line_style(0), **marks, "label": "true", **kwargs})
        style = {**line_style(1), "linestyle": "--", "marker": "s", "markersize": 4.0, "label": "predicted"}
        (self.predicted_,) = ax.plot(tenth, deciles["predicted"], **style)
        ax.set(xlabel="tenth of the rows, by rising prediction", ylabel="mean", xticks=tenth)
        number_axis(ax.yaxis)
        set_title(ax, _calibration(deciles["true"].to_numpy(), deciles["predicted"].to_numpy()))
        legend_beside(ax, [self.true_, self.predicted_])
        return self


def _calibration(true: np.ndarray, predicted: np.ndarray) -> str:
    """Where the means differ most, in a sentence."""
    worst = int(np.argmax(np.abs(true - predicted)))
    where = "highest" if worst == len(true) - 1 else TENTHS[worst]
    too = "low" if true[worst] > predicted[worst] else "high"
    return (
        f"The {where} tenth is furthest off, too {too}: {number_text(predicted[worst])} predicted on average, "
        f"{number_text(true[worst])} true"
    )
