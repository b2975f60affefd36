"""Displays the paths of weights along a penalty, of classifiers and of regressions."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import add
from typing import Any, Self

import numpy as np

from streamnb.core import arguments
from streamnb.estimators.chosen import ElasticNetCV
from streamnb.estimators.classifier import family_of_columns
from streamnb.estimators.feature_tables import PER_DEVIATION
from streamnb.estimators.linear_nb import LinearNB, solved_from
from streamnb.estimators.regressor import deviations_of_columns
from streamnb.problem.families import as_family
from streamnb.problem.penalties import L1, Penalty, as_penalty
from streamnb.reporting.drawing import (
    Drawn,
    axes,
    check_fitted,
    check_line_properties,
    feature_names_of,
    figure_of_panels,
    label_ends,
    label_starts,
    log_axis,
    panels,
    point_text,
    row_of,
    set_figure_title,
    set_title,
    shortened,
    style_of,
    tau_name,
    title_of,
)
from streamnb.solving.weight_paths import WeightPath, weight_path

MOST_FEATURES = 200  # lines of a path; more cannot be distinguished
MOST_PANELS = 12
_OPTIONS = "scheme", "reference", "smoothing", "priors", "idf", "estimate", "feature_weight"  # of `solve`
RULES = {"best": "the least error", "one_se": "within a standard error of the least"}


class RegularizationPathDisplay(Drawn):
    """Weights of the features in one row of `coef_` against tau; a panel for each value of other taus that vary.

    Parameters
    ----------
    tau : (G,)
        Ascending.
    weights : (G, m), or (P, G, m) of P panels
        Weights of the m features drawn, the strongest first.
    feature_names : (m,)
    breakpoints : (m,), optional
        The tau at which each weight becomes zero.
    class_ : label or pair of labels, optional
        The class or pair of classes of the row.
    tau_name : str
        Label of the axis of tau.
    chosen : float, optional
        The tau of the fitted model.
    panel_names : (P,), optional
        The other taus, where several vary.

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure
        The first axes where there are several panels.
    lines_ : (m,) or (P * m,) list of Line2D
        Panel by panel.
    breakpoints_ : Line2D or None
        Marks of the breakpoints, on the line of weight zero.

    Examples
    --------
    >>> import streamnb as snb
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> stats = snb.scan(X, y, moments=["sum", "sum_sq"])
    >>> shown = snb.RegularizationPathDisplay.from_stats(stats, "gaussian", class_=0)
    >>> print(shown.ax_.get_title(loc="left"))  # the title says what is to be seen
    x2 stays longest of 4 features with a weight for class 0
    """

    def __init__(
        self,
        tau: np.ndarray,
        weights: np.ndarray,
        *,
        feature_names: Sequence[str],
        breakpoints: np.ndarray | None = None,
        class_: Any = None,
        tau_name: str = "tau",
        chosen: float | None = None,
        panel_names: Sequence[str] = (),
    ):
        self.tau, self.weights, self.feature_names, self.panel_names = tau, weights, feature_names, panel_names
        self.breakpoints, self.class_, self.tau_name, self.chosen = breakpoints, class_, tau_name, chosen

    @classmethod
    def from_path(
        cls, path: WeightPath, class_: Any = None, *, feature_names: Any = None, ax: Any = None, **kwargs: Any
    ) -> Self:
        """Draw a path returned by `solve`, at the points of its grid.

        Parameters
        ----------
        path : WeightPath
            The tau that has the most values is on the axis; each value of the others, up to 12, has a panel.
        class_ : label, optional
            The class whose weights are drawn; (earlier, later) labels for scheme="ovo". Not needed for two classes.
        feature_names : (n_features,), optional
        ax : matplotlib axes, optional
        **kwargs
            Passed to `plot`.

        Raises
        ------
        ValueError, TypeError
            No tau of the path varies, it has too many panels or several for the given axes, or the class has no row of
            weights.
        """
        if not isinstance(path, WeightPath):
            raise TypeError(f"path={path!r} should be a WeightPath, as snb.solve returns it")
        return cls._of(path, class_, feature_names, None, None).plot(ax, **kwargs)

    @classmethod
    def from_stats(
        cls,
        stats: Any,
        family: Any = "poisson",
        penalty: Penalty | None = None,
        class_: Any = None,
        *,
        feature_names: Any = None,
        ax: Any = None,
        n_named: int = 8,
        **options: Any,
    ) -> Self:
        """Solve a path and draw it, without reading data.

        Parameters
        ----------
        stats, family, penalty
            As for `solve`. An L1 whose tau is None, or no penalty (``L1(scale="score")``), takes a fine grid that
            holds the breakpoints too, so that the lines bend where they should.
        class_, feature_names, ax
            As for `from_path`.
        n_named : int
            As for `plot`.
        **options
            Those of `solve`: scheme, reference, smoothing, priors, idf, estimate.
        """
        penalty = as_penalty(penalty) or L1(scale="score")
        path = weight_path(stats, family, _with_fine_grid(penalty, stats, family, class_, options, []), **options)
        return cls._of(path, class_, feature_names, None, None).plot(ax, n_named=n_named)

    @classmethod
    def from_estimator(
        cls, estimator: Any, class_: Any = None, *, feature_names: Any = None, ax: Any = None, **kwargs: Any
    ) -> Self:
        """Draw the L1 path through a fitted model, with the tau of the model, without reading data.

        Parameters
        ----------
        estimator : LinearNB or LinearNBCV
            Other parts of its penalty stay as they are; without L1 the model is where the path starts.
        class_, feature_names, ax, **kwargs
            As for `from_path`.
        """
        check_fitted(estimator, LinearNB, "a fitted snb.LinearNB or LinearNBCV, with its statistics", "stats_")
        problem, stats = solved_from(estimator)
        given, l1 = problem["penalty"], _l1_of(problem["penalty"])
        others = [part for part in (given.parts if given else ()) if part is not l1]
        penalty = reduce(add, [L1(scale=l1.scale if l1 else "score"), *others])
        options = {name: problem[name] for name in _OPTIONS}
        family = family_of_columns(estimator, as_family(problem["family"]))
        chosen = float(l1.tau[0]) if l1 else None
        penalty = _with_fine_grid(penalty, stats, family, class_, options, [chosen or 0.0])
        path = weight_path(stats, family, penalty, **options)
        return cls._of(path, class_, feature_names, estimator, chosen).plot(ax, **kwargs)

    @classmethod
    def _of(cls, path: WeightPath, class_: Any, names: Any, source: Any, chosen: float | None) -> Self:
        kind, tau, at = _panels_of(path.grid)
        shell = path.shell()
        row, class_ = row_of(shell.scheme, shell.classes_, class_)
        names = feature_names_of(names, source, shell.n_features)
        l1 = _l1_of(path.penalty)
        breaks = path.breakpoints(l1.scale if l1 else "score", row)  # "score" ranks the features that stay longest
        ends = {point for points in at.values() for point in (points[0], points[-1])}  # TopK starts with the fewest
        active = np.any([path.weights(point, row=row) != 0.0 for point in ends], axis=0)
        columns = np.argsort(-np.where(active, breaks, -1.0), kind="stable")
        columns = columns[: min(np.count_nonzero(active), MOST_FEATURES)]
        weights = np.array([[path.weights(point, columns, row) for point in points] for points in at.values()])
        apart = np.abs(tau[:, None] - breaks[columns]) > 1e-9 * breaks[columns]
        exact = kind == "l1" and ((weights != 0.0) == (tau[:, None] < breaks[columns]))[:, apart].all()
        return cls(
            tau,
            weights if len(at) > 1 else weights[0],
            feature_names=names[columns],
            breakpoints=breaks[columns] if exact else None,
            class_=class_,
            tau_name=tau_name(kind, path.penalty),
            chosen=chosen,
            panel_names=list(at) if len(at) > 1 else (),
        )

    def plot(self, ax: Any = None, *, n_named: int = 8, **kwargs: Any) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib axes, optional
            New ones unless given.
        n_named : int
            Number of features with a colour and a name: those that L1 would keep longest.
        **kwargs
            Properties of the lines.
        """
        check_line_properties(kwargs)
        if ax is not None and self.panel_names:
            raise ValueError(f"ax={ax!r}: there are {len(self.panel_names)} panels, which have axes of their own")
        grid = panels(self.panel_names) if self.panel_names else [axes(ax, (8.0, 4.8))]
        self.ax_ = grid[0]
        n_named = arguments.whole_number("n_named", n_named)
        self.lines_, self.breakpoints_ = list[Any](), None
        weights = self.weights if self.panel_names else np.asarray(self.weights)[None]
        for each, table in zip(grid, weights, strict=True):
            handles = self._plot_panel(each, table, n_named, kwargs)
        log_axis(self.ax_, np.append(self.tau, [] if self.chosen is None else self.chosen))
        if handles:
            grid[-1].legend(handles=handles, fontsize="small")
        finding = f"No feature has a weight for {title_of(self.class_)}"
        if len(self.feature_names):
            stays = f"{shortened(self.feature_names[0])} stays longest of {len(self.feature_names):,} features"
            finding = f"{stays} with a weight for {title_of(self.class_)}"
        y_name = f"weight for {title_of(self.class_)}"
        if not self.panel_names:
            label_starts(self.ax_, self.lines_[:n_named])
            self.ax_.set(xlabel=self.tau_name, ylabel=y_name)
            set_title(self.ax_, finding)
            return self
        self._name_panels(grid, n_named)
        self.figure_.supxlabel(self.tau_name, fontsize="medium")
        self.figure_.supylabel(y_name, fontsize="medium")
        set_figure_title(self.figure_, finding)
        return self

    def _name_panels(self, grid: Sequence[Any], n_named: int) -> None:
        """Label lines beside the panels at the left, whose colours apply to all, and ticks of y at the right."""
        m = len(self.feature_names)
        for i, ax in enumerate(grid):
            place = ax.get_subplotspec()
            ax.yaxis.tick_right()
            ax.tick_params(labelright=place.is_last_col() or i == len(grid) - 1, labelleft=False)
            if place.is_first_col():
                label_starts(ax, self.lines_[i * m : i * m + min(n_named, m)])

    def _plot_panel(self, ax: Any, weights: np.ndarray, n_named: int, kwargs: dict[str, Any]) -> list[Any]:
        """Draw the lines of one panel and the breakpoints; return the handles of its legend."""
        for k, name in enumerate(self.feature_names):
            self.lines_ += ax.plot(self.tau, weights[:, k], **{**style_of(k, range(n_named), name), **kwargs})
        ax.axhline(0.0, color="0.3", linewidth=0.8, zorder=1.5)
        handles: list[Any] = []
        if self.breakpoints is not None:
            inside = self.breakpoints[(self.breakpoints >= self.tau[0]) & (self.breakpoints <= self.tau[-1])]
            marks = {"color": "0.3", "markersize": 7, "markeredgewidth": 0.8, "label": "a feature leaves"}
            (self.breakpoints_,) = ax.plot(inside, np.zeros(len(inside)), "|", **marks)
            handles.append(self.breakpoints_)
        if self.chosen is not None:
            style = {"color": "k", "linestyle": "--", "linewidth": 1}
            handles.append(ax.axvline(self.chosen, label=f"chosen: {self.chosen:.3g}", **style))
        return handles


def _l1_of(penalty: Penalty | None) -> L1 | None:
    """The L1 part of a penalty."""
    return next((part for part in (penalty.parts if penalty else ()) if part.kind == "l1"), None)


def _panels_of(grid: Sequence[dict[str, float]]) -> tuple[str, np.ndarray, dict[str, list[int]]]:
    """The kind of penalty with the most taus, its taus, and the points of the grid for each value of the other taus."""
    numbers = {kind: len({point[kind] for point in grid}) for kind in grid[0]}
    varied = sorted((kind for kind in numbers if numbers[kind] > 1), key=lambda kind: -numbers[kind])
    if not varied:
        raise ValueError("the path has one point; give a penalty a grid of taus")
    at: dict[str, list[int]] = {}
    for i, point in enumerate(grid):
        at.setdefault(point_text({kind: point[kind] for kind in varied[1:]}), []).append(i)
    if len(at) > MOST_PANELS:
        raise ValueError(
            f"the path has {len(at)} combinations of {' and '.join(varied[1:])}, each of which has a panel; give it "
            f"{MOST_PANELS} at most"
        )
    first = next(iter(at.values()))
    return varied[0], np.array([grid[i][varied[0]] for i in first], dtype=np.float64), at


def _with_fine_grid(
    penalty: Penalty, stats: Any, family: Any, class_: Any, options: dict[str, Any], more: list[float]
) -> Penalty:
    """The penalty with taus for an L1 without any: evenly on a log axis, all breakpoints of the row, and `more`."""
    free = _l1_of(penalty)
    if free is None or free.tau is not None:
        return penalty
    path = weight_path(stats, family, free.with_taus([0.0]), **options)
    shell = path.shell()
    breaks = np.sort(path.breakpoints(free.scale, row_of(shell.scheme, shell.classes_, class_)[0]))[::-1]
    top = breaks[0] if breaks[0] > 0.0 else 1.0
    breaks = breaks[:MOST_FEATURES]
    low = max(0.7 * breaks[breaks > 0.0].min(initial=top), 1e-3 * top)
    taus = [*np.geomspace(low, 1.1 * top, 60), *breaks[breaks > low], *more]
    if min(more, default=low) < low:
        taus += np.linspace(min(more), low, 8).tolist()
    return reduce(add, [part.with_taus(taus) if part is free else part for part in penalty.parts])


class RegressionPathDisplay(Drawn):
    """Weights of a regression along alpha, and its mean squared error on held-out rows with one standard error.

    Alpha falls from left to right, so that features enter on the way.

    Parameters
    ----------
    alphas : (n_alphas,)
    coefs : (n_features, n_alphas)
    mse : (n_alphas, n_folds)
    chosen : float
        The alpha that was chosen, one of `alphas`.
    feature_names : sequence of str, optional
    rule : {"best", "one_se"}
    unit : str
        The unit of `coefs`. `from_estimator` draws weights per standard deviation of their features.

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure
        The axes with the weights.
    errors_ax_ : matplotlib axes
    lines_ : list of Line2D
        A line of weights for each feature.
    errors_ : ErrorbarContainer
        Mean squared errors, with bars of one standard error over folds.
    chosen_ : list of Line2D
        The chosen alpha in both axes.

    Examples
    --------
    >>> import streamnb as snb
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = snb.ElasticNetCV(l1_ratio=1.0, rule="one_se").fit(X, y)
    >>> shown = snb.RegressionPathDisplay.from_estimator(model)
    >>> print(shown.ax_.get_title(loc="left"))  # the title says what is to be seen
    Largest weights: bmi, s5, bp
    """

    def __init__(
        self,
        alphas: np.ndarray,
        coefs: np.ndarray,
        mse: np.ndarray,
        *,
        chosen: float,
        feature_names: Sequence[Any] | None = None,
        rule: str = "best",
        unit: str = "weight",
    ):
        order = np.argsort(-np.asarray(alphas), kind="stable")
        self.alphas, self.coefs, self.mse = (
            np.asarray(alphas)[order],
            np.asarray(coefs)[:, order],
            np.asarray(mse)[order],
        )
        self.feature_names = feature_names_of(feature_names, None, len(self.coefs))
        self.chosen, self.rule, self.unit = float(chosen), arguments.one_of("rule", rule, [*RULES]), unit

    @classmethod
    def from_estimator(cls, estimator: Any, target: int = 0, *, ax: Any = None, **kwargs: Any) -> Self:
        """Draw the path from which `ElasticNetCV` chose, for the chosen `l1_ratio` if there are several.

        Parameters
        ----------
        estimator : ElasticNetCV
            Fitted.
        target : int
            The index of the target whose weights are drawn; errors are those of all targets.
        ax : pair of matplotlib axes, optional
        **kwargs
            Passed to `plot`.
        """
        check_fitted(estimator, ElasticNetCV, "a fitted snb.ElasticNetCV")
        coefs, alphas, mse = estimator.coefs_path_, estimator.alphas_, estimator.mse_path_
        n_targets = 1 if coefs.ndim == 2 else len(coefs)
        if arguments.whole_number("target", target) >= n_targets:
            raise ValueError(f"target={target} should be below {n_targets}, the number of targets")
        if alphas.ndim > 1:
            at = [float(ratio) for ratio in estimator.l1_ratio].index(estimator.l1_ratio_)
            alphas, mse = alphas[at], mse[at]
        names = feature_names_of(None, estimator, estimator.n_features_in_)
        known: dict[str, Any] = {"chosen": estimator.alpha_, "feature_names": names, "rule": estimator.rule}
        deviations = deviations_of_columns(estimator)
        assert deviations is not None  # of an ElasticNetCV, which has sums
        per_deviation = (coefs if coefs.ndim == 2 else coefs[target]) * deviations[:, None]
        return cls(alphas, per_deviation, mse, unit=PER_DEVIATION, **known).plot(ax, **kwargs)

    def plot(self, ax: Any = None, *, n_named: int = 8, **kwargs: Any) -> Self:
        """Draw.

        Parameters
        ----------
        ax : pair of matplotlib axes, optional
            New ones unless given: for the weights, and for the errors.
        n_named : int
            Number of features with a name and a colour: those with the largest weights at the chosen alpha.
        **kwargs
            Properties of the lines of weights.
        """
        check_line_properties(kwargs)
        arguments.whole_number("n_named", n_named)
        if ax is None:
            ax = figure_of_panels(2, (10.4, 4.4))
        if np.size(ax) != 2:
            raise TypeError("ax should be two axes of matplotlib, for the weights and for the errors")
        self.ax_, self.errors_ax_ = (axes(one) for one in np.ravel(ax))
        at = int(np.abs(self.alphas - self.chosen).argmin())
        size = np.abs(self.coefs[:, at])
        strongest = np.lexsort((-np.abs(self.coefs).max(axis=1), -size))[: min(n_named, len(size))].tolist()
        self.lines_ = []
        for j, weights in enumerate(self.coefs):
            style = style_of(j, strongest, self.feature_names[j])
            self.lines_ += self.ax_.plot(self.alphas, weights, **{**style, **kwargs})
        n_folds = self.mse.shape[1]
        spread = self.mse.std(axis=1, ddof=1) / np.sqrt(n_folds) if n_folds > 1 else np.zeros(len(self.mse))
        style = {"color": "#0072B2", "ecolor": "0.7", "marker": "o", "markersize": 3.0, "linewidth": 1.2}
        self.errors_ = self.errors_ax_.errorbar(self.alphas, self.mse.mean(axis=1), spread, **style)
        self.chosen_ = [one.axvline(self.alphas[at], color="0.3", linestyle=":") for one in (self.ax_, self.errors_ax_)]
        for one in (self.ax_, self.errors_ax_):
            log_axis(one, self.alphas)
            one.invert_xaxis()
            one.set_xlabel("alpha (dotted: chosen)")
        self.ax_.set_ylabel(self.unit)
        self.errors_ax_.set_ylabel("mean squared error\n(bars: one standard error over folds)")
        label_ends(self.ax_, [self.lines_[j] for j in strongest])
        first = ", ".join(shortened(self.feature_names[j]) for j in strongest[:3] if size[j] > 0.0)
        set_title(self.ax_, f"Largest weights: {first}" if first else "No feature has a weight")
        error = self.mse[at].mean()
        set_title(self.errors_ax_, f"alpha = {self.alphas[at]:.3g}, {RULES[self.rule]}: {error:.4g}")
        return self
