"""What all pictures share: axes, colours, names of features and of rows of weights."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from streamnb.estimators.linear_nb import LinearNB
from streamnb.model import LinearModel
from streamnb.penalties import Penalty
from streamnb.schemes import Scheme

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")  # Okabe and Ito: safe for the colour-blind
DASHES = ("-", "--", ":", "-.")
QUIET = {"color": "0.78", "linewidth": 0.7, "zorder": 1}  # of lines without a name


def axes(ax: Any, size: tuple[float, float] = (6.4, 4.8)) -> Any:
    """The axes to draw on, new ones unless given."""
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError("pictures need matplotlib: pip install streamnb[plot]") from error
    return pyplot.subplots(figsize=size, layout="constrained")[1] if ax is None else ax


def log_axis(ax: Any, values: np.ndarray) -> None:
    """Make x logarithmic, with a place at the left for 0 where that is one of the values."""
    from matplotlib import ticker

    positive = values[values > 0.0]
    if not positive.size:
        return
    low, high = float(positive.min()), float(positive.max())
    decades = np.log10(high / low)
    few = decades < 2.5
    if (values == 0.0).any():
        ax.set_xscale("symlog", linthresh=low, linscale=max(0.1, 0.12 * decades))
        ax.xaxis.set_major_locator(ticker.FixedLocator([0.0, *_round_numbers(low, high, few)]))
    elif few:
        ax.set_xscale("log")
        ax.xaxis.set_major_locator(ticker.FixedLocator(_round_numbers(low, high, few)))
    else:
        ax.set_xscale("log")
    ax.xaxis.set_minor_formatter(ticker.NullFormatter())
    ax.xaxis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{value:,.6g}"))


def _round_numbers(low: float, high: float, few: bool) -> list[float]:
    """Powers of ten from low to high; 2 and 5 times these too where they are few."""
    powers = 10.0 ** np.arange(np.floor(np.log10(low)), np.ceil(np.log10(high)) + 1)
    numbers = np.outer(powers, [1.0, 2.0, 5.0] if few else [1.0]).ravel()
    return numbers[(numbers >= 0.999 * low) & (numbers <= 1.001 * high)].tolist() or [low]


def beside(ax: Any, handles: Sequence[Any], title: str | None = None) -> None:
    """A legend at the right of the axes, where it hides nothing."""
    if handles:
        ax.legend(handles=handles, title=title, loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)


def line_style(number: int) -> dict[str, Any]:
    """Colour and dashes of one of many lines."""
    return {"color": COLOURS[number % len(COLOURS)], "linestyle": DASHES[number // len(COLOURS) % len(DASHES)]}


def feature_names_of(given: Any, source: Any, n_features: int) -> np.ndarray:
    """Names of features, as given, as fitted, or x0, x1, .., (n_features,)."""
    if given is None:
        given = getattr(source, "feature_names_in_", None)
    if given is None:
        return np.array([f"x{j}" for j in range(n_features)], dtype=object)
    names = np.asarray(given, dtype=object)
    if names.shape != (n_features,):
        raise ValueError(f"feature_names has shape {names.shape}; it should have one name a feature: ({n_features},)")
    return names


def row_of(scheme: Scheme, classes: np.ndarray, class_: Any) -> tuple[int, Any]:
    """Number and name of the row of coef_ that is asked for; the only one need not be named."""
    names = scheme.row_names(classes)
    if class_ is None and len(names) == 1:
        return 0, names[0]
    wanted = tuple(class_) if isinstance(class_, list) else class_
    found = [row for row, name in enumerate(names) if name == wanted]
    if not found:
        shown = ", ".join(map(repr, names[:20])) + (", .." if len(names) > 20 else "")
        raise ValueError(f"class_={class_!r} has no row of weights; it should be one of {shown}")
    return found[0], names[found[0]]


def title_of(name: Any) -> str:
    """What a row of weights stands for."""
    return f"{name[1]} against {name[0]}" if isinstance(name, tuple) else f"class {name}"


def model_of(estimator: Any) -> LinearModel:
    """The weights of something fitted."""
    if isinstance(estimator, LinearNB):
        check_is_fitted(estimator, "stats_")
        return estimator._fitted("coef_")
    if isinstance(estimator, LinearModel):
        return estimator
    raise TypeError(
        f"estimator={estimator!r} should be a fitted snb.LinearNB or LinearNBCV, or a model of a path: one with coef_"
    )


def tau_name(kind: str, penalty: Penalty | None) -> str:
    """What the axis of a kind of penalty says."""
    parts = penalty.parts if penalty else ()
    scale = next((getattr(part, "scale", None) for part in parts if part.kind == kind), None)
    names = {
        "l1": "tau of L1 (threshold on " + ("the z-score)" if scale == "score" else "class sums)"),
        "l2": "tau of L2",
        "top_k": "k of TopK (features kept in a row of weights)",
        "decorrelation": "tau of Decorrelation" + (" (share of the curvature)" if scale == "curvature" else ""),
        "separable": "tau of Separable",
        "n_features": "features with any weight",
    }
    return names[kind]
