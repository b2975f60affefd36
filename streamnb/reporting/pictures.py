"""Pictures of the facts on a page, as SVG."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from streamnb.additive.model import AdditiveModel
from streamnb.estimators.errors import RegressionEvaluation
from streamnb.estimators.linear_nb_cv import LinearNBCV
from streamnb.estimators.trained import TrainedClassifierCV
from streamnb.estimators.tree_nb import TreeNB
from streamnb.reporting.describing import EACH
from streamnb.reporting.drawing import line_style, number_axis, on_lines, shortened
from streamnb.reporting.evaluations import (
    DecileDisplay,
    PredictionErrorDisplay,
    ReliabilityDisplay,
    RocDisplay,
    weighted_quantiles,
)
from streamnb.reporting.facts import ClassCurves, Facts, Performance, SlicedMetrics, number, share
from streamnb.reporting.forest import SlicesDisplay
from streamnb.reporting.scores import ScoreDisplay
from streamnb.reporting.svg import WIDTH, Drawing, drawn
from streamnb.reporting.telling import TellingFeaturesDisplay, TreeDisplay
from streamnb.reporting.terms import AdditiveDisplay

MOST_SLICES = 20
MOST_TERMS = 6
MOST_DRAWN = 15  # features of a picture
MOST_GROUPS = 4  # classes of a picture of features
N_BARS = 30  # of a distribution of errors
MOST_BRANCHES = 40  # features of a tree


@dataclass(frozen=True)
class Picture:
    """A picture on the page: its heading, what it shows for those who cannot see it, and its drawing."""

    heading: str
    description: str
    drawing: Drawing


def pictures(model: Any, facts: Facts, draw_choice: Any = None) -> dict[str, list[Picture]]:
    """The pictures of each section of the page; `draw_choice` draws the candidates of a search on axes."""
    by_section: dict[str, list[Picture]] = {"judged": [], "deciles": [], "features": [], "choice": []}
    if facts.judged is not None:
        by_section["judged"] = list(_of_judged(facts.judged))
        if facts.judged.numbers is not None:
            by_section |= _of_numbers(facts.judged.numbers)
        if facts.judged.slices is not None:
            by_section["slices"] = [_of_slices(facts.judged.slices)]
    by_section["features"] = list(_of_features(model, facts))
    if draw_choice is not None and facts.described.choice is not None:
        n = len(facts.described.choice.rows)
        drawing = drawn(draw_choice, "candidates", height=90 + 34 * n, width=520)
        by_section["choice"] = [Picture("Candidates", "The score of each candidate, and of each fold.", drawing)]
    elif isinstance(model, LinearNBCV | TrainedClassifierCV) and not isinstance(model, AdditiveModel):
        drawing = drawn(lambda ax: ScoreDisplay.from_estimator(model, ax=ax, label=None), "grid", 300)
        by_section["choice"] = [
            Picture("Scores along the grid", "Held-out scores along the grid of penalties.", drawing)
        ]
    return by_section


# ---- how good --------------------------------------------------------------------------------------------------------


def _of_judged(judged: Performance) -> Iterator[Picture]:
    if judged.curves:
        names = ", ".join(f"{one.label}: area {one.roc_auc:.3f}" for one in judged.curves)
        rates = {one.label: (np.append(0.0, one.others), np.append(0.0, one.found)) for one in judged.curves}
        n_rows = {one.label: (one.share * judged.weight, (1.0 - one.share) * judged.weight) for one in judged.curves}
        roc = RocDisplay(rates, judged.areas, n_rows=n_rows if judged.independent else None)
        yield Picture("ROC curve", f"ROC curves. {names}.", drawn(lambda ax: roc.plot(ax, zoom=False), "roc", 290))
        names = ", ".join(f"{one.label}: average precision {one.average_precision:.3f}" for one in judged.curves)
        drawing = drawn(lambda ax: _precision_recall(ax, judged), "precision", 290)
        yield Picture("Precision and recall", f"Precision against recall. {names}.", drawing)
    if judged.reliability is not None and judged.calibration_error is not None:
        text = "; ".join(f"predicted {p:.0%}, right {r:.0%}" for p, r, _ in zip(*judged.reliability, strict=True))
        n_equal = judged.weight if judged.independent else None
        diagram = ReliabilityDisplay(*judged.reliability, error=judged.calibration_error, n_rows=n_equal)
        drawing = drawn(diagram.plot, "reliability", 290)
        yield Picture("Reliability", f"Predicted probability against share that was right: {text}.", drawing)
    if judged.curves:
        worst = min(judged.curves, key=lambda one: one.roc_auc)
        drawing = drawn(lambda ax: _distributions(ax, worst), "scores", 290)
        text = f"Distribution of scores of rows of {worst.label}, and of other rows."
        yield Picture(f"Scores for “{worst.label}”", text, drawing)


def _of_numbers(found: RegressionEvaluation) -> dict[str, list[Picture]]:
    """Predictions against true numbers, and their errors, by section."""
    display = PredictionErrorDisplay(found)
    text = f"R² {found.r2:.3f}, mean absolute error {number(found.mae)}."
    true = drawn(display.plot, "true", 290)
    errors = drawn(lambda ax: display.plot(ax, kind="errors"), "errors", 290)
    sizes = drawn(lambda ax: _errors(ax, found), "residuals", 250)
    tenths = drawn(DecileDisplay(found).plot, "deciles", 290)
    return {
        "judged": [
            Picture("True and predicted numbers", f"True numbers against predicted ones. {text}", true),
            Picture("Errors", f"True numbers less predicted ones, against the prediction. {text}", errors),
        ],
        "sure": [Picture("How large errors are", "The distribution of errors.", sizes)],
        "deciles": [Picture("True and predicted means", "Means of each tenth: see the table.", tenths)],
    }


def _errors(ax: Any, found: RegressionEvaluation) -> None:
    """How errors are distributed."""
    errors, weight = found.sample[:, 0] - found.sample[:, 1], found.sample_weight
    low, high = weighted_quantiles(errors, weight, [0.005, 0.995])
    ends = np.linspace(low, high, N_BARS + 1) if high > low else np.linspace(low - 0.5, low + 0.5, N_BARS + 1)
    heights = np.histogram(np.clip(errors, low, high), ends, weights=weight)[0] / weight.sum()
    ax.stairs(heights, ends, fill=True, color=line_style(0)["color"], alpha=0.6)
    ax.axvline(0.0, color="0.5", linestyle="--")
    ax.set(xlabel="true less predicted", ylabel="share of the rows", xlim=ends[[0, -1]])
    number_axis(ax.xaxis)
    low_share, high_share = (share(float(np.average(sign * errors > 0.0, weights=weight))) for sign in (1.0, -1.0))
    ax.set_title(f"{low_share} of the predictions are too low, {high_share} too high", loc="left")


def _precision_recall(ax: Any, judged: Performance) -> None:
    for at, one in enumerate(judged.curves):
        own, rest = one.share * one.found, (1.0 - one.share) * one.others
        precision = own / (own + rest)
        name = f"{shortened(one.label)} ({one.average_precision:.3f})"
        style = {**line_style(at), "drawstyle": "steps-pre", "label": name}
        ax.plot(np.append(0.0, one.found), np.append(precision[0], precision), **style)
    if len(judged.curves) == 1:
        share = judged.curves[0].share
        ax.axhline(share, color="0.5", linestyle=":", label=f"guesses ({share:.3f})")
    ax.set(xlabel="recall: share of the class found", ylabel="precision: share right", xlim=(-0.01, 1.01))
    ax.set_ylim(-0.01, 1.01)
    best, worst = (end(judged.curves, key=lambda one: one.average_precision) for end in (max, min))
    finding = f"{shortened(best.label)} has average precision {best.average_precision:.3f}"
    if worst is not best:
        finding = f"{finding}, {shortened(worst.label)} {worst.average_precision:.3f}"
    ax.set_title(finding, loc="left")
    ax.legend()


def _distributions(ax: Any, curves: ClassCurves) -> None:
    """How scores of the rows of a class, and of the others, are distributed."""
    for at, (heights, name) in enumerate(((curves.own, shortened(curves.label)), (curves.rest, "others"))):
        style = line_style(at)
        ax.stairs(heights, curves.ends, fill=True, alpha=0.25, color=style["color"])
        ax.stairs(heights, curves.ends, color=style["color"], linestyle=("-", "--")[at], linewidth=1.5, label=name)
    what = "probability" if curves.of_probabilities else "score"
    ax.set(xlabel=f"{what} of {shortened(curves.label)}", ylabel="share of the rows", xlim=curves.ends[[0, -1]])
    ax.set_ylim(bottom=0.0)
    ax.set_title("Rows of the class, and others: the less they overlap, the better", loc="left")
    ax.legend()


def _of_slices(slices: SlicedMetrics) -> Picture:
    """Intervals of the first metric in each slice, beside that of all rows."""
    rows, metric, whole = slices.rows[:MOST_SLICES], slices.metrics[0], slices.whole[0]
    names, columns = [f"{one.column} = {one.value}" for one in rows], {one.column for one in rows}
    lines = [on_lines(name if len(columns) > 1 else one.value) for name, one in zip(names, rows, strict=True)]
    numbers = np.array([one.numbers[0] for one in rows]).T
    first = f"{shortened(names[0], 60)} is most clearly worse than all rows"
    if numbers[1, 0] <= whole <= numbers[2, 0]:
        first = "No slice is clearly worse than all rows"
    finding = f"{first}, which have {number(whole)} (dotted). Intervals that do not reach that are orange."

    def draw(ax: Any) -> None:
        display.plot(ax)
        number_axis(ax.xaxis)
        for text in [*ax.texts]:  # numbers, which the table has
            text.remove()

    display = SlicesDisplay(lines, *numbers, line=whole, axis=metric, finding=finding)
    text = "; ".join(f"{name}: {number(value)}" for name, value in zip(names, numbers[0], strict=True))
    heading = f"{metric[:1].upper()}{metric[1:]} {f'by {columns.pop()}' if len(columns) == 1 else 'of slices'}"
    return Picture(heading, f"{heading}. {text}.", drawn(draw, "slices", 90 + 22 * _n_lines(lines)))


# ---- what it looks at ------------------------------------------------------------------------------------------------


def _of_features(model: Any, facts: Facts) -> Iterator[Picture]:
    described = facts.described
    if isinstance(model, AdditiveModel):
        for at, name in enumerate(model.terms_["name"].head(MOST_TERMS)):
            heading = " and ".join(name) if isinstance(name, tuple) else str(name)
            yield Picture(heading, f"What {heading} adds to the score.", drawn(_term(model, name), f"term{at}"))
        return
    if described.weights:
        groups = _groups(described.weights)
        lines = sum(len(weights) for _, _, weights in groups) + len(groups)
        wide = max((len(shortened(name)) for _, names, _ in groups for name in names), default=0) > 22
        display = TellingFeaturesDisplay(groups, unit=described.unit)
        drawing = drawn(display.plot, "features", 90 + 18 * lines, 520 if wide else WIDTH)
        texts = [
            ", ".join(f"{one} {number(weight)}" for one, weight in zip(features, weights, strict=True))
            for _, features, weights in groups
        ]
        if getattr(model, "classes_", None) is None:
            yield Picture("What raises a prediction, and lowers it", f"{texts[0]}.", drawing)
        else:
            text = "; ".join(f"{name}: {text}" for (name, _, _), text in zip(groups, texts, strict=True))
            largest = described.unit.replace("weight", "Largest weights")
            yield Picture("Evidence for and against a class", f"{largest}. {text}.", drawing)
    if isinstance(model, TreeNB) and model.n_features_in_ <= MOST_BRANCHES:
        drawing = drawn(
            lambda ax: TreeDisplay.from_estimator(model, ax=ax), "tree", 60 + 22 * model.n_features_in_, 520
        )
        yield Picture("Which column depends on which", "The tree of columns.", drawing)


def _groups(weights: Any) -> list[tuple[str, tuple[str, ...], np.ndarray]]:
    """The classes and features of a picture."""
    n = MOST_DRAWN if len(weights) == 1 else EACH // 2
    return [(name, features[:n], np.asarray(values[:n])) for name, features, values in weights[:MOST_GROUPS]]


def _n_lines(names: Iterable[str]) -> int:
    """How many lines of text names take, those of several lines with a gap."""
    return sum(name.count("\n") + 1 for name in names)


def _term(model: AdditiveModel, name: Any) -> Any:
    """A function that draws a term in a figure of its own."""
    levels = [] if isinstance(name, tuple) or "level" not in (table := model.term(name)) else table["level"]
    size = WIDTH / 72.0, max(250, 90 + 16 * _n_lines(map(on_lines, levels))) / 72.0

    def draw(_: Any) -> AdditiveDisplay:
        display = AdditiveDisplay.from_estimator(model, [name], figsize=size)
        (ax, *_) = display.axes_
        ax.set_title("")
        if not isinstance(name, tuple) and not ax.get_xlabel():
            ax.set_xlabel(shortened(name))
        return display

    return draw
