"""Shared drawing helpers: axes, colours, and names of features and rows of weights."""

import re
from collections.abc import Collection, Sequence
from textwrap import wrap
from typing import Any

import numpy as np
from sklearn.isotonic import IsotonicRegression
from sklearn.utils.validation import check_is_fitted

from streamnb.estimators.classifier import explained_model
from streamnb.estimators.linear_nb import LinearNB
from streamnb.estimators.preparation import names_of_columns
from streamnb.estimators.trained import TrainedClassifier
from streamnb.evaluation.estimates import Estimate
from streamnb.evaluation.evaluation import Evaluation
from streamnb.evaluation.tallied import is_binary
from streamnb.models.linear import LinearModel
from streamnb.problem.penalties import Penalty
from streamnb.problem.schemes import Scheme

BIN = re.compile(r" in \((-inf|-?[\d.]+(?:e[-+]\d+)?), (inf|-?[\d.]+(?:e[-+]\d+)?)[\])]")
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")  # Okabe and Ito: safe for the colour-blind
COUNTED = "components", "k of TopK", "features with", "reads of"  # labels of axes of whole numbers start like this
DASHES = ("-", "--", ":", "-.")
QUIET = {"color": "0.78", "linewidth": 0.7, "zorder": 1}  # style of lines without a name


def _subplots(*shape: int, **kwargs: Any) -> Any:
    """New axes in a figure whose layout leaves space for labels beside them."""
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError("pictures need matplotlib: pip install streamnb[plot]") from error
    return pyplot.subplots(*shape, layout="compressed", **kwargs)[1]


def axes(ax: Any, size: tuple[float, float] = (6.4, 4.8)) -> Any:
    """The axes to draw on, new ones unless given."""
    if ax is None:
        return _subplots(figsize=size)
    from matplotlib.axes import Axes

    if not isinstance(ax, Axes):
        one = "; of an array of axes give one, such as axes[0]" if isinstance(ax, np.ndarray) else ""
        raise TypeError(f"ax is of type {type(ax).__name__}; it should be axes of matplotlib{one}")
    return ax


class Drawn:
    """A display that is drawn on axes of matplotlib."""

    ax_: Any

    @property
    def figure_(self) -> Any:
        """The figure of the axes."""
        return self.ax_.figure

    def _begun(self, ax: Any, size: tuple[float, float] = (6.4, 4.8), properties: Collection[str] = ()) -> Any:
        """The axes to draw on, new ones of this size unless given; refuse keywords that are no properties of lines."""
        check_line_properties(properties)
        self.ax_ = axes(ax, size)
        return self.ax_


def check_line_properties(given: Collection[str]) -> None:
    """Refuse keywords that are not properties of lines."""
    if not given:
        return
    from matplotlib.artist import ArtistInspector
    from matplotlib.lines import Line2D

    inspector = ArtistInspector(Line2D)
    known = {*inspector.get_setters(), *(alias for names in inspector.aliasd.values() for alias in names)}
    if unknown := [name for name in given if name not in known]:
        raise TypeError(f"{unknown[0]}= is no argument of this display, nor a property of its lines (Line2D)")


def panels(names: Sequence[str]) -> list[Any]:
    """A grid of new axes with shared scales, one for each name, which is its title."""
    down = -(-len(names) // 4)
    across = -(-len(names) // down)
    grid = _grid(len(names), across, (1.2 + 2.6 * across, 1.0 + 2.4 * down), sharex=True, sharey=True)
    for ax, name in zip(grid, names, strict=True):
        ax.set_title(name, fontsize="small")
    for ax in grid[-across:]:  # nothing below them
        ax.tick_params(labelbottom=True)
    return grid


def figure_of_panels(number: int, figsize: tuple[float, float] | None) -> list[Any]:
    """New axes with scales of their own, at most three in a row."""
    across = min(number, 3)
    return _grid(number, across, figsize or (4.2 * across, 3.2 * -(-number // across)))


def _grid(number: int, across: int, figsize: tuple[float, float], **shared: bool) -> list[Any]:
    """New axes in rows of `across` each."""
    grid = _subplots(-(-number // across), across, figsize=figsize, squeeze=False, **shared).ravel()
    for empty in grid[number:]:
        empty.remove()
    return grid[:number].tolist()


def log_axis(ax: Any, values: np.ndarray, whole: bool = False) -> None:
    """Make the x axis logarithmic for these values, `whole` numbers or any; a value of 0 is shown at the left."""
    from matplotlib import ticker

    positive = values[values > 0.0]
    if not positive.size:
        return
    low, high = float(positive.min()), float(positive.max())
    decades = max(float(np.log10(high / low)), 0.1)
    margin = 10.0 ** (0.04 * decades)
    if (values == 0.0).any():
        ax.set_xscale("symlog", linthresh=low, linscale=0.15 * decades)
        ax.set_xlim(-0.25 * low, high * margin)
        ax.xaxis.set_major_locator(ticker.FixedLocator([0.0, *_round_numbers(low, high, whole)]))
        ax.xaxis.set_minor_locator(ticker.NullLocator())  # they would suggest that the part next to 0 is logarithmic
    else:
        ax.set_xscale("log")
        ax.set_xlim(low / margin, high * margin)
        ax.xaxis.set_major_locator(ticker.FixedLocator(_round_numbers(low, high, whole)))
        ax.xaxis.set_minor_formatter(ticker.NullFormatter())
    ax.xaxis.set_major_formatter(ticker.FuncFormatter(lambda value, _: _tick_text(value)))


def _round_numbers(low: float, high: float, whole: bool) -> list[float]:
    """At most about ten round numbers from low to high, as even on a log axis as possible."""
    from matplotlib import ticker

    if low == high:
        return [low]
    decades = np.log10(high / low)
    if decades < 0.8:
        numbers = np.asarray(ticker.MaxNLocator(5, integer=whole).tick_values(low, high))
    else:
        step = max(int(decades) // 8 + 1, 1)
        powers = 10.0 ** np.arange(np.floor(np.log10(low)), np.ceil(np.log10(high)) + 1)[::step]
        numbers = np.outer(powers, [1.0, 2.0, 5.0] if decades < 2.5 else [1.0]).ravel()
    return numbers[(numbers >= 0.999 * low) & (numbers <= 1.001 * high)].tolist() or [low]


def _tick_text(value: float) -> str:
    """The text of a tick; a power of ten where it is far from 1."""
    if value == 0.0 or 1e-3 <= value < 1e6:
        return f"{value:,.6g}"
    mantissa, power = f"{value:.3e}".split("e")
    times = "" if float(mantissa) == 1.0 else rf"{float(mantissa):g}\times"
    return f"${times}10^{{{int(power)}}}$"


def number_text(value: float) -> str:
    """A number of any size as text of about four digits, with a power of ten only where it is far from 1."""
    size = abs(value)
    if size >= 1e9 or 0.0 < size < 1e-3:
        text = f"{value:.3g}"
    else:
        text = f"{value:,.0f}" if size >= 1000.0 else f"{value:,.4g}"
    return text.replace("-", "−")


def number_axis(axis: Any) -> None:
    """Write the ticks of an axis of matplotlib, a few of them, as `number_text` does."""
    from matplotlib import ticker

    if axis.get_scale() == "linear":
        axis.set_major_locator(ticker.MaxNLocator(4))
        axis.set_major_formatter(ticker.FuncFormatter(lambda value, _: number_text(value)))


def spread(places: np.ndarray, gap: float) -> np.ndarray:
    """The nearest positions, in the same order, that are at least `gap` apart."""
    if not len(places):
        return places
    order = np.argsort(places, kind="stable")
    steps = gap * np.arange(len(places))
    moved = np.empty(len(places))
    moved[order] = IsotonicRegression().fit_transform(steps, places[order] - steps) + steps
    return moved


def label_starts(ax: Any, lines: Sequence[Any]) -> None:
    """Label lines at their start, left of the axes; the ticks of y move to the right."""
    ax.yaxis.tick_right()
    ax.yaxis.set_label_position("right")
    _label(ax, lines, 0, (-0.015, "right"))


def label_ends(ax: Any, lines: Sequence[Any]) -> None:
    """Label lines at their end, right of the axes, in place of earlier labels there."""
    for text in [text for text in ax.texts if text.get_gid() == "line end"]:
        text.remove()
    _label(ax, lines, -1, (1.015, "left"))
    if ax.figure.get_layout_engine() is None:
        _shrink_for_labels(ax)


def _shrink_for_labels(ax: Any) -> None:
    """Make axes narrower where labels would run over the edge of the figure or into the next axes."""
    figure, box = ax.figure, ax.get_window_extent()
    names = [text.get_window_extent() for text in ax.texts if text.get_gid() == "line end"]
    others = [other.get_tightbbox() for other in figure.axes if other.get_window_extent().x0 >= box.x1]
    ends = [other.x0 for other in others if other is not None and other.y0 < box.y1 and other.y1 > box.y0]
    margin, place = 0.05 * figure.dpi, ax.get_position()
    excess = max([name.x1 + margin - min([figure.bbox.x1, *ends]) for name in names], default=0.0)
    before = max(figure.bbox.x0 + margin - ax.get_tightbbox().x0, 0.0) / figure.bbox.width
    width = max(place.width - max(excess, 0.0) / figure.bbox.width - before, 0.3 * place.width)
    ax.set_position([place.x0 + before, place.y0, width, place.height])


def _label(ax: Any, lines: Sequence[Any], point: int, side: tuple[float, str]) -> None:
    """Label lines beside the axes, in their colours, as near to the height of one of their points as space allows."""
    low, high = ax.get_ylim()
    at = np.array([line.get_ydata()[point] for line in lines], dtype=np.float64)
    gap = 0.17 * ax.figure.dpi / ax.get_window_extent().height * (high - low)  # a line of text, .17 inches
    for line, place in zip(lines, spread(at, gap).tolist(), strict=True):
        style = {"color": line.get_color(), "ha": side[1], "va": "center", "fontsize": "small", "gid": "line end"}
        where = {"xycoords": ("axes fraction", "data"), "annotation_clip": False}
        ax.annotate(line.get_label(), (side[0], place), **where, **style)


def scoring_label(scoring: str) -> str:
    """The label of an axis for a metric."""
    labels = {
        "roc_auc": "area under the ROC curve",
        "neg_log_loss": "mean log likelihood of the true class",
        "accuracy_and_roc_auc": "mean of accuracy and area under the ROC curve",
        "roc_auc_reference": "area under the ROC curve against the reference",
    }
    return labels.get(scoring, scoring.replace("_", " "))


def scoring_name(estimator: Any) -> str:
    """The label of an axis for the metric by which an estimator chose."""
    scoring = getattr(estimator, "scoring", "score")
    scoring = scoring[0] if isinstance(scoring, list | tuple) else scoring
    return scoring_label(scoring) if isinstance(scoring, str) else getattr(scoring, "__name__", "score")


def set_title(ax: Any, finding: str) -> None:
    """Set the title, a sentence on what the picture shows, wrapped to the width of the axes."""
    ax.set_title(_wrapped(finding, ax), loc="left", fontsize="medium")


def set_figure_title(figure: Any, finding: str) -> None:
    """Set the title of a figure of several panels."""
    figure.suptitle(_wrapped(finding, figure), x=0.01, ha="left", fontsize="medium")


def _wrapped(finding: str, width: Any) -> str:
    """Wrap text to the width of axes or of a figure."""
    letters = max(int(10.0 * width.get_window_extent().width / width.figure.dpi), 20)
    whole = re.sub(r"\[[^]]*\]", lambda interval: interval[0].replace(" ", "\N{NO-BREAK SPACE}"), finding)
    return "\n".join(line for part in whole.split("\n") for line in wrap(part, letters))


def legend_beside(ax: Any, handles: Sequence[Any], title: str | None = None) -> None:
    """Draw a legend at the right of the axes, where it hides nothing."""
    style = {"handles": handles, "title": title, "frameon": False, "alignment": "left", "fontsize": "small"}
    if ax.figure.get_layout_engine() is not None and len(ax.figure.axes) == 1:
        for legend in ax.figure.legends:  # from an earlier drawing on these axes
            legend.remove()
        ax.figure.legend(loc="outside right upper", **style)  # the layout leaves space for it
    else:
        ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), **style)


def share_interval(shares: np.ndarray, n_rows: Any, level: float) -> tuple[np.ndarray, np.ndarray]:
    """Wilson's interval (1927) of shares of `n_rows` independent rows."""
    return Estimate(shares, shares * (1.0 - shares) / n_rows, np.broadcast_to(n_rows, np.shape(shares))).bounds(level)


def line_style(number: int) -> dict[str, Any]:
    """Colour and dashes of the line with this number."""
    return {"color": COLOURS[number % len(COLOURS)], "linestyle": DASHES[number // len(COLOURS) % len(DASHES)]}


def style_of(number: int, named: Sequence[int], name: Any) -> dict[str, Any]:
    """Colour, dashes and label of a line; grey and without a label unless it is one of the named."""
    if number not in named:
        return {**QUIET, "label": "_"}
    return {**line_style(named.index(number)), "label": shortened(name)}


def feature_names_of(given: Any, source: Any, n_features: int) -> np.ndarray:
    """Names of features, (n_features,): as given, else as in the fit, else x0, x1, .."""
    if given is None:
        given = names_of_columns(source)
    if given is None:
        return np.array([f"x{j}" for j in range(n_features)], dtype=object)
    names = np.asarray(given, dtype=object)
    if names.shape != (n_features,):
        raise ValueError(f"feature_names has shape {names.shape}; it should have one name a feature: ({n_features},)")
    return names


def shortened(name: Any, most: int = 32) -> str:
    """A name with bins in words, cut to some characters, in which a dollar sign does not begin a formula."""
    text = with_bins_in_words(" ".join(str(name).split("\n")))
    return (text if len(text) <= most else text[: most - 1] + "…").replace("$", r"\$")


def on_lines(name: Any, width: int = 19) -> str:
    """A shortened name on lines that leave space for a picture beside them."""
    return "\n".join(wrap(shortened(name, 48), width))


def with_bins_in_words(name: str) -> str:
    """A name whose bin, such as (1.5, 2.5], is written as its values."""
    return BIN.sub(_bin_in_words, name)


def _bin_in_words(found: re.Match[str]) -> str:
    """A bin as its values: those of whole numbers end between two of them, such as (1.5, 2.5] for 2."""
    low, high = map(float, found.groups())
    whole = all(end % 1.0 == 0.5 for end in (low, high) if np.isfinite(end))
    low, high = (low + 0.5, high - 0.5) if whole else (low, high)
    first, last = plain_numbers([low, high])
    if low == high:
        return f" {first}"
    if not np.isfinite(low):
        return f" up to {last}"
    if not np.isfinite(high):
        return f" {'from' if whole else 'above'} {first}"
    return f" {first} to {last}"


def plain_numbers(values: Sequence[float]) -> list[str]:
    """Numbers as text, with commas where one of them is 10,000 or more, so that years have none."""
    large = any(1e4 <= abs(value) < 1e15 for value in values)
    return [f"{value:,.0f}" if large and abs(value) >= 1e3 else f"{value:g}" for value in values]


def strongest(weights: np.ndarray, n: int) -> np.ndarray:
    """The numbers of up to n features, those with the largest weights; those of weight zero are left out.

    Weights should be in one unit: per standard deviation, where features have units of their own.
    """
    best = np.argsort(-np.abs(weights), kind="stable")[:n]
    return best[weights[best] != 0.0]


def row_of(scheme: Scheme, classes: np.ndarray, class_: Any) -> tuple[int, Any]:
    """Index and name of the row of coef_ of a class; None stands for the only row."""
    names = scheme.row_names(classes)
    if class_ is None and len(names) == 1:
        return 0, names[0]
    wanted = tuple(class_) if isinstance(class_, list) else class_
    rows = [row for row, name in enumerate(names) if name == wanted]
    if not rows:
        shown = ", ".join(map(repr, names[:20])) + (", .." if len(names) > 20 else "")
        raise ValueError(f"class_={class_!r} has no row of weights; it should be one of {shown}")
    return rows[0], names[rows[0]]


def title_of(name: Any) -> str:
    """The title of a row of weights: its class, or its pair of classes."""
    if isinstance(name, tuple):
        return f"{name[1]} against {name[0]}"
    return str(name) if str(name).lower().startswith("class") else f"class {name}"


def check_fitted(estimator: Any, kinds: Any, should: str, attribute: str | None = None) -> None:
    """Refuse an estimator of another kind, or one that is not fitted."""
    if not isinstance(estimator, kinds):
        raise TypeError(f"estimator={estimator!r} should be {should}")
    check_is_fitted(estimator, attribute)


def check_evaluation(evaluation: Any) -> None:
    """Refuse objects that are not an `Evaluation`."""
    if not isinstance(evaluation, Evaluation):
        raise TypeError(
            f"evaluation is of type {type(evaluation).__name__}; it should be what snb.evaluate(y_true, ..) returns"
        )


def classes_by_area(evaluation: Evaluation, areas: np.ndarray) -> list[int]:
    """The classes that have a ROC curve, those with the largest areas first; of two classes the positive one."""
    order = np.array([evaluation.positive]) if is_binary(evaluation) else np.argsort(-areas, kind="stable")
    return order[~np.isnan(areas[order])].tolist()


def model_of(estimator: Any) -> LinearModel:
    """The linear model of a fitted estimator."""
    if isinstance(estimator, LinearModel):
        return estimator
    should = "a fitted snb.LinearNB, SoftmaxRegression or the like, or a model of a path: one with coef_"
    check_fitted(estimator, (LinearNB, TrainedClassifier), should)
    return explained_model(estimator)


def tau_name(kind: str, penalty: Penalty | None) -> str:
    """The label of the axis of a kind of penalty."""
    parts = penalty.parts if penalty else ()
    scale = next((getattr(part, "scale", None) for part in parts if part.kind == kind), None)
    names = {
        "l1": "tau of L1 (threshold on " + ("the z-score)" if scale == "score" else "class sums)"),
        "l2": "tau of L2",
        "top_k": "k of TopK (features kept in a row of weights)",
        "decorrelation": "tau of Decorrelation" + (" (share of the curvature)" if scale == "curvature" else ""),
        "separable": "tau of Separable",
        "n_features": "features with any weight",
        "n_components": "components",
        "C": "C (strength of the losses)",
    }
    return names.get(kind, kind)


def point_text(point: dict[str, Any]) -> str:
    """A point of a grid as text."""
    return ", ".join(
        f"{kind} = {tau}" if isinstance(tau, dict) else f"{kind} = {tau:,.4g}" for kind, tau in point.items()
    )
