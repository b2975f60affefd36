"""Displays features: those with the largest weights as bars, all weights as an image, and the tree of features."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from streamnb.core import arguments
from streamnb.estimators.feature_tables import PER_DEVIATION, comparable, of_row, unit_of
from streamnb.estimators.regressor import LinearRegressor, deviations_of_columns
from streamnb.estimators.tree_nb import TreeNB
from streamnb.reporting.drawing import (
    COLOURS,
    Drawn,
    check_fitted,
    feature_names_of,
    model_of,
    number_axis,
    row_of,
    set_title,
    shortened,
    strongest,
    title_of,
)

MOST_GROUPS = 12  # rows of weights that are shown with class_=None
_FOR, _AGAINST = "blue", "orange"  # the first two of COLOURS


class TellingFeaturesDisplay(Drawn):
    """The largest weights of one or several classes as bars, or all weights as images where features are pixels.

    Where features have units of their own, and their deviations are known, weights are drawn per standard deviation.

    Parameters
    ----------
    groups : list of (name, (m,) feature names, (m,) weights)
        The weights of each row of `coef_` that is shown, the largest in absolute value first. The name of a regression
        is "".
    image_shape : (height, width), optional
        Draw the weights of a group, one for each pixel, as an image.
    unit : str
        The unit of the numbers, such as "weight per standard deviation".

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure
    bars_ : list of BarContainer
        One for each group: from the feature with the largest weight to the one with the smallest.
    image_ : AxesImage or None
        All groups side by side.

    Examples
    --------
    >>> import streamnb as snb
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> shown = snb.TellingFeaturesDisplay.from_estimator(snb.LinearNB("gaussian").fit(X, y), [0])
    >>> " ".join(shown.ax_.get_title(loc="left").split())  # the title says what is to be seen
    'x1 is the strongest evidence for class 0, x2 against it'
    """

    def __init__(
        self,
        groups: Sequence[tuple[Any, Sequence[str], np.ndarray]],
        image_shape: tuple[int, int] | None = None,
        unit: str = "weight",
    ):
        self.groups, self.image_shape, self.unit = groups, image_shape, unit

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        class_: Any = None,
        *,
        n_features: int | None = None,
        image_shape: tuple[int, int] | None = None,
        feature_names: Any = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the features with the largest absolute weights; features of weight zero are left out.

        Parameters
        ----------
        estimator : LinearNB, LinearNBCV, SoftmaxRegression or the like, a model of a path, or a regression
        class_ : label, or list of labels, optional
            Classes to draw; (earlier, later) labels for scheme="ovo"; the index of a target for a regression of
            several. All rows of `coef_` unless given, up to 12; the first target.
        n_features : int, optional
            Features per class: 15 for one class and 4 for several unless given.
        image_shape : (height, width), optional
            Draw an image of all weights for each class, whose features are the pixels row by row, in place of bars.
        feature_names : (n_features_in,), optional
        ax : matplotlib axes, optional
        **kwargs
            Properties of the bars, or of `imshow`.

        Raises
        ------
        ValueError
            The class has no row of weights, or `image_shape` does not have one pixel per feature.
        """
        if isinstance(estimator, LinearRegressor):
            return cls._of_regression(estimator, class_, n_features, image_shape, feature_names).plot(ax, **kwargs)
        model = model_of(estimator)
        labels = class_ if isinstance(class_, (list, np.ndarray)) else [class_]
        if class_ is None:
            labels = model.scheme.row_names(model.classes_)
            if len(labels) > MOST_GROUPS:
                all_rows = f"class_=None shows all rows of weights, but there are {len(labels)}"
                raise ValueError(f"{all_rows}; name up to {MOST_GROUPS}")
        rows = [row_of(model.scheme, model.classes_, label) for label in labels]
        n_features = (15 if len(rows) == 1 else 4) if n_features is None else n_features
        n_features = arguments.positive_integer("n_features", n_features)
        names = feature_names_of(feature_names, estimator, model.n_features)
        groups: list[tuple[Any, Sequence[str], np.ndarray]] = []
        for row, name in rows:
            weights = comparable(model, of_row(model, row))
            shown: Any = slice(None) if image_shape is not None else strongest(weights, n_features)
            groups.append((name, names[shown].tolist(), weights[shown]))
        return cls(groups, _image_shape(image_shape, model.n_features), unit_of(model)).plot(ax, **kwargs)

    @classmethod
    def _of_regression(
        cls, estimator: LinearRegressor, target: Any, n_features: int | None, image_shape: Any, feature_names: Any
    ) -> Self:
        """The features of a regression, or of one of its targets."""
        check_is_fitted(estimator)
        coef = np.atleast_2d(estimator.coef_)
        at = arguments.whole_number("class_", 0 if target is None else target)
        if at >= len(coef):
            raise ValueError(f"class_={target!r} should be the number of a target, below {len(coef)}")
        weights, deviations = coef[at], deviations_of_columns(estimator)
        weights = weights if deviations is None else weights * deviations
        names = feature_names_of(feature_names, estimator, len(weights))
        shown: Any = slice(None)
        if image_shape is None:
            shown = strongest(weights, arguments.positive_integer("n_features", n_features or 15))
        unit = "weight" if deviations is None else PER_DEVIATION
        unit = unit if len(coef) == 1 else f"{unit} for target {at}"
        return cls([("", names[shown].tolist(), weights[shown])], _image_shape(image_shape, len(weights)), unit)

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw on `ax`, new ones unless given; keywords are those of the bars, or of `imshow`."""
        self.bars_, self.image_ = [], None
        if self.image_shape is not None:
            return self._plot_images(ax, self.image_shape, kwargs)
        n_lines = sum(len(weights) for _, _, weights in self.groups) + len(self.groups)
        ax = self._begun(ax, (6.4, max(2.4, 1.2 + 0.21 * n_lines)))
        ticks: list[float] = []
        names: list[str] = []
        top = 0
        for name, features, weights in self.groups:
            places, order = top + np.arange(len(weights)), np.argsort(-weights, kind="stable")
            features, weights = [features[i] for i in order], weights[order]
            colours = np.where(weights > 0.0, COLOURS[0], COLOURS[1]).tolist()
            self.bars_.append(ax.barh(places, weights, **{"color": colours, "height": 0.75, **kwargs}))
            if len(self.groups) > 1:
                middle = top + 0.5 * max(len(weights) - 1, 0)
                ax.annotate(title_of(name), (1.01, middle), xycoords=("axes fraction", "data"), va="center")
            ticks, names, top = [*ticks, *places], [*names, *features], top + len(weights) + 1
        ax.axvline(0.0, color="0.3", linewidth=0.8)
        ax.set_yticks(ticks, [shortened(name) for name in names])
        ax.set_ylim(max(top - 1.4, 0.6), -0.6)  # the largest on top
        ax.use_sticky_edges = False  # a margin beside bars that all point to one side
        ax.margins(x=0.05)
        alone = self.groups[0][0] if len(self.groups) == 1 else ""
        one = "" if alone == "" else title_of(alone)
        ax.set_xlabel(f"{self.unit} for {one}" if one else self.unit)
        number_axis(ax.xaxis)
        set_title(ax, self._finding(one, coloured="color" not in kwargs))
        return self

    def _finding(self, one: str, coloured: bool) -> str:
        """The strongest features of a single class; for several classes, the meaning of the default colours."""
        if len(self.groups) > 1:
            return _for_and_against("Evidence for each class", coloured)
        _, features, weights = self.groups[0]
        if not len(weights):
            return f"No feature has a weight for {one}" if one else "No feature has a weight"
        if not one:
            return f"{shortened(features[int(np.argmax(np.abs(weights)))])} matters most"
        findings = []
        if weights.max() > 0.0:
            findings.append(f"{shortened(features[int(np.argmax(weights))])} is the strongest evidence for {one}")
        if weights.min() < 0.0:
            against = shortened(features[int(np.argmin(weights))])
            findings.append(f"{against} against it" if findings else f"{against} is the strongest against {one}")
        return ",\n".join(findings)

    def _plot_images(self, ax: Any, shape: tuple[int, int], kwargs: dict[str, Any]) -> Self:
        """Draw all images in one, with margins between them and their names above."""
        from matplotlib.colors import LinearSegmentedColormap

        height, width = shape
        across = min(len(self.groups), 5)
        down = -(-len(self.groups) // across)
        above, aside = max(0.24 * height, 1.0), max(0.1 * width, 1.0)
        rows, columns = int(height + np.ceil(above)), int(width + np.ceil(aside))
        whole = np.full((down * rows, across * columns - int(np.ceil(aside))), np.nan)
        ax = self._begun(ax, (1.0 + 1.5 * across, 0.8 + 1.5 * down * rows / columns))
        for i, (name, _, weights) in enumerate(self.groups):
            top, left = i // across * rows + rows - height, i % across * columns
            whole[top : top + height, left : left + width] = np.asarray(weights).reshape(shape)
            ax.text(left + 0.5 * width - 0.5, top - 0.7, shortened(title_of(name)), ha="center", va="bottom")
        largest = float(np.nanmax(np.abs(whole))) or 1.0
        colours = LinearSegmentedColormap.from_list("for_and_against", [COLOURS[1], "0.95", COLOURS[0]])
        style = {"cmap": colours, "vmin": -largest, "vmax": largest, "interpolation": "nearest"}
        self.image_ = ax.imshow(whole, **{**style, **kwargs})
        ax.set_axis_off()
        ax.figure.colorbar(self.image_, ax=ax, shrink=0.8, label=self.unit)
        set_title(ax, _for_and_against("Pixels that favour a class", coloured="cmap" not in kwargs))
        return self


def _for_and_against(what: str, coloured: bool) -> str:
    """A title that names the two colours, unless the user has chosen others."""
    return f"{what} ({_FOR})\nand against it ({_AGAINST})" if coloured else f"{what} and against it"


def _image_shape(given: Any, n_features: int) -> tuple[int, int] | None:
    """Return (height, width) if their product is the number of features."""
    if given is None:
        return None
    sides = tuple(given) if np.iterable(given) else (given,)
    whole = len(sides) == 2 and all(isinstance(side, int | np.integer) and side > 0 for side in sides)
    if not whole or sides[0] * sides[1] != n_features:
        raise ValueError(f"image_shape={given!r} should be (height, width) of {n_features:,} pixels, one a feature")
    return int(sides[0]), int(sides[1])


# ---- the tree of features --------------------------------------------------------------------------------------------

STEP, WIDTH, BESIDE = 0.45, 12.0, 2.7  # inches: of a step to the right, of all steps at most, and of names
WIDEST = 4.0  # line width, in points, of the edge with the most information


class TreeDisplay(Drawn):
    """The tree of features, its root on top; wider edges mean more mutual information between their ends.

    Where the model has several trees, the largest comes first; isolated features are at the bottom.

    Parameters
    ----------
    names : (n_features,) str
    parents : (n_features,) int
        The parent of each feature, -1 of roots, -2 of features that are not drawn.
    information : (n_features,) float
        Mutual information of each feature and its parent, given the class, in nats.

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure
    edges_ : LineCollection
    labels_ : list of Text, of the features that are drawn

    Examples
    --------
    >>> import streamnb as snb
    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]] * 10, [0, 1, 1, 0] * 10
    >>> display = snb.TreeDisplay.from_estimator(snb.TreeNB().fit(X, y), feature_names=["snow", "wind"])
    >>> [label.get_text() for label in display.labels_]
    ['snow', 'wind']
    """

    def __init__(self, names: Sequence[Any], parents: np.ndarray, information: np.ndarray):
        self.names, self.parents, self.information = list(names), np.asarray(parents), np.asarray(information)

    @classmethod
    def from_estimator(cls, estimator: Any, *, feature_names: Any = None, ax: Any = None, **kwargs: Any) -> Self:
        """Draw the tree of a fitted model.

        Parameters
        ----------
        estimator : TreeNB
        feature_names : (`n_features_in_`,), optional
        ax : matplotlib axes, optional
        **kwargs
            Properties of the edges.
        """
        check_fitted(estimator, TreeNB, "a fitted snb.TreeNB, which has a tree", "stats_")
        names = getattr(estimator, "feature_names_in_", None) if feature_names is None else feature_names
        names = feature_names_of(names, None, estimator.n_features_in_)
        information = np.zeros(len(names))
        information[estimator.parents_ >= 0] = estimator.edges_["information"]
        return cls(names.tolist(), estimator.parents_, information).plot(ax, **kwargs)

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw on `ax`, new ones unless given; keywords are those of the edges."""
        depth, height = self._places()
        drawn = np.flatnonzero(self.parents > -2)
        deepest = float(depth[drawn].max())
        step = min(STEP, WIDTH / max(deepest, 1.0))
        size = 0.9 + BESIDE + step * deepest, 1.0 + 0.24 * (float(height[drawn].max()) + 1.0)
        ax = self._begun(ax, size)
        from matplotlib.collections import LineCollection

        children = np.flatnonzero(self.parents >= 0)
        ends = np.stack([depth, height], axis=-1)
        shared = self.information[children]
        widths = 0.4 + WIDEST * shared / max(float(shared.max(initial=0.0)), np.finfo(float).tiny)
        parents = self.parents[children]
        corners = np.stack([depth[parents], height[children]], axis=-1)
        lines = np.stack([ends[parents], corners, ends[children]], axis=1)
        self.edges_ = LineCollection(list(lines), **{"linewidths": widths, "colors": COLOURS[0], "zorder": 1, **kwargs})
        ax.add_collection(self.edges_)
        ax.scatter(*ends[drawn].T, 14.0, color=COLOURS[0], zorder=2)
        style = {"xytext": (6, 0), "textcoords": "offset points", "va": "center", "fontsize": "small"}
        self.labels_ = [ax.annotate(shortened(self.names[j]), ends[j], **style) for j in drawn]
        ax.set(xlim=(-0.3, deepest + BESIDE / step), ylim=(height[drawn].max() + 0.6, -0.6))
        ax.set_axis_off()
        if len(children):
            most = children[np.argmax(shared)]
            pair = f"{shortened(self.names[self.parents[most]])} and {shortened(self.names[most])}"
            set_title(ax, f"{pair} share most information, given the class (thicker lines: more)")
        else:
            set_title(ax, "no feature depends on another, given the class")
        return self

    def _places(self) -> tuple[np.ndarray, np.ndarray]:
        """Column and line of each feature; its column is one to the right of its parent's.

        The child with the most descendants comes last.
        """
        parents, below = self.parents, np.ones(len(self.parents))
        depth, height = np.zeros((2, len(parents)))
        while (deeper := np.where(parents >= 0, depth[parents] + 1.0, 0.0)).max(initial=0.0) > depth.max(initial=0.0):
            depth = deeper
        for j in np.argsort(-depth, kind="stable").tolist():  # each before its parent
            if parents[j] >= 0:
                below[parents[j]] += below[j]
        number = np.arange(len(parents))
        sign = np.where(depth > 0.0, 1.0, -1.0)  # the largest tree comes first
        order = np.lexsort((sign * number, sign * below, depth))
        lines = {-1: 0.0}  # below each feature that is placed, the next free line
        for j in order[parents[order] >= -1].tolist():
            height[j] = lines[int(parents[j])]
            lines[int(parents[j])] += below[j]
            lines[j] = height[j] + 1.0
        return depth, height
