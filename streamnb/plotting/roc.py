"""ROC curves, magnified where they differ."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from streamnb.core import arguments
from streamnb.core.types import PerRow, Rows
from streamnb.evaluation.differences import given_level
from streamnb.evaluation.evaluation import Evaluation
from streamnb.evaluation.intervals import rows_per_weight
from streamnb.evaluation.tallied import ranking
from streamnb.plotting.drawing import (
    QUIET,
    axes,
    check_line_properties,
    legend_beside,
    line_style,
    set_title,
    share_interval,
    shortened,
)
from streamnb.plotting.scores import check_evaluation, evaluation

MOST_BANDS = 3  # curves with bands, which would cover each other if there were more
MOST_CURVES = 100  # ROC curves; more cannot be distinguished


class RocDisplay:
    """ROC curve of each class against the others, their mean, and chance.

    Parameters
    ----------
    curves : dict of label to ((m,) false, (m,) true positive rates)
        The curves drawn: of more than 100 classes 100, evenly spaced from the worst to the best.
    roc_auc : dict of label to float
        Areas of all classes that have rows, the best first.
    mean : ((m,), (m,)), optional
        False, and mean true positive rates over all classes.
    error : float
        Bound on the error of the areas; 0 where they are exact.
    n_rows : dict of label to (float, float), optional
        Equal rows of a class and others, by which bands are drawn. They are not known of rows in groups, and of weights
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
    def from_estimator(
        cls, estimator: Any, X: Rows, y: PerRow = None, *, sample_weight: PerRow = None, ax: Any = None, **kwargs: Any
    ) -> Self:
        """Score rows in one read, and draw.

        Parameters
        ----------
        estimator : a fitted classifier of streamnb, a model of a path, or a pipeline that ends in a classifier
        X, y, sample_weight
            Any input that `fit` takes.
        ax : matplotlib axes, optional
        **kwargs
            Passed to `plot`.
        """
        return cls.from_evaluation(evaluation(estimator, X, y, sample_weight, "ranking"), ax=ax, **kwargs)

    @classmethod
    def from_evaluation(cls, evaluation: Evaluation, *, ax: Any = None, **kwargs: Any) -> Self:
        """Draw what `snb.evaluate` returned, given scores or probabilities.

        Raises
        ------
        ValueError
            The evaluation keeps no ranking, or no class has both rows of its own and others.
        """
        check_evaluation(evaluation)
        binary = evaluation.n_classes == 2 and not evaluation.multilabel
        areas = evaluation.roc_auc(average=None)
        order = np.argsort(-areas, kind="stable")
        order = np.array([1]) if binary else order
        order = order[~np.isnan(areas[order])]
        rate = rows_per_weight(evaluation)
        if not len(order):
            raise ValueError("no class has both rows of its own and others, so there is no ROC curve")
        drawn = set(order[np.linspace(0, len(order) - 1, min(len(order), MOST_CURVES)).round().astype(int)].tolist())
        at, total, curves, n_rows = np.linspace(0.0, 1.0, 1001), 0.0, {}, {}
        labels = evaluation.classes.tolist()
        for k in order.tolist():
            false, true, _ = evaluation.roc_curve(evaluation.classes[k])
            total = total + np.interp(at, false, true)
            if k in drawn:
                curves[labels[k]] = false, true
                levels = ranking(evaluation).levels(k)
                n_rows[labels[k]] = (rate or 0.0) * float(levels.own.sum()), (rate or 0.0) * float(levels.rest.sum())
        mean = None if binary else (np.append(0.0, at), np.append(0.0, total / len(order)))
        roc_auc = {labels[k]: float(areas[k]) for k in order}
        found = cls(curves, roc_auc, mean=mean, error=evaluation.roc_auc_error, n_rows=n_rows if rate else None)
        return found.plot(ax, **kwargs)

    def plot(
        self, ax: Any = None, *, n_named: int = 6, zoom: bool = True, interval: float | None = 0.95, **kwargs: Any
    ) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib axes, optional
            New ones unless given.
        n_named : int
            Number of classes with a colour and a name; of more classes, the best and the worst have them.
        zoom : bool
            Magnify the corner where the curves differ, if they reach nearly all rows of a class early.
        interval : float, optional
            Confidence of the bands: at each threshold the two rates lie in them together. They are Wilson's (1927), for
            independent rows, and drawn for up to three curves; None draws none.
        **kwargs
            Properties of the curves.
        """
        check_line_properties(kwargs)
        self.ax_ = ax = axes(ax, (7.4, 4.8))
        self.figure_, self.lines_, self.bands_ = ax.figure, {}, {}
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
        found = [float(np.interp(0.02 * right, *curve)) for curve in self.curves.values()]
        return right, max(np.floor(10.0 * min(found)) / 10.0 - 0.1, 0.0)

    def _finding(self) -> str:
        """The classes that are separated best and worst."""
        (best, most), *_, (worst, least) = [*self.roc_auc.items()] * 2  # twice: one class is both
        if len(self.roc_auc) == 1:
            return f"{shortened(best)} is separated from the others with area {most:.3f}"
        return f"{shortened(best)} is separated best (area {most:.3f}), {shortened(worst)} worst ({least:.3f})"
