"""Displays the features with the largest weights as bars, or all weights as an image."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from streamnb.core import arguments
from streamnb.estimators.feature_tables import comparable, of_row, unit_of
from streamnb.plotting.drawing import (
    COLOURS,
    axes,
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


class TellingFeaturesDisplay:
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
        What the numbers are, such as "weight per standard deviation".

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
    'x1 speaks most for class 0, x2 most against it'
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
        estimator : LinearNB, LinearNBCV, SoftmaxRegression or the like, or a model of a path
        class_ : label, or list of labels, optional
            Whose weights; (earlier, later) labels for scheme="ovo". All rows of `coef_` unless given, up to 12.
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
            The class has no row of weights, or the pixels of `image_shape` are not as many as the features.
        """
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

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw on `ax`, new ones unless given; keywords are those of the bars, or of `imshow`."""
        self.bars_, self.image_ = [], None
        if self.image_shape is not None:
            return self._plot_images(ax, self.image_shape, kwargs)
        n_lines = sum(len(weights) for _, _, weights in self.groups) + len(self.groups)
        self.ax_ = ax = axes(ax, (6.4, max(2.4, 1.2 + 0.21 * n_lines)))
        self.figure_ = ax.figure
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
            return _for_and_against("What speaks for each class", coloured)
        _, features, weights = self.groups[0]
        if not one:
            return f"{shortened(features[int(np.argmax(np.abs(weights)))])} matters most"
        if not len(weights):
            return f"No feature has a weight for {one}"
        findings = []
        if weights.max() > 0.0:
            findings.append(f"{shortened(features[int(np.argmax(weights))])} speaks most for {one}")
        if weights.min() < 0.0:
            against = shortened(features[int(np.argmin(weights))])
            findings.append(f"{against} most against it" if findings else f"{against} speaks most against {one}")
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
        self.ax_ = ax = axes(ax, (1.0 + 1.5 * across, 0.8 + 1.5 * down * rows / columns))
        self.figure_ = ax.figure
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
        set_title(ax, _for_and_against("Pixels that speak for a class", coloured="cmap" not in kwargs))
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
