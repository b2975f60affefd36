"""Writes the facts and pictures of a model as one page of HTML."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from pathlib import Path
from typing import Any

from streamnb.plotting.svg import WIDTH
from streamnb.reporting.facts import CutOff, CutOffs, Facts, Share, number, share
from streamnb.reporting.pictures import Picture

HERE = Path(__file__).parent
HEADLINE = "accuracy", "balanced_accuracy", "roc_auc", "expected_calibration_error", "r2", "rmse", "mae"
SECTIONS = "judged", "slices", "features", "choice"  # with pictures
ROWS = 12  # of a table of thresholds


def page(facts: Facts, pictures: dict[str, list[Picture]]) -> str:
    """The page; every text from data is escaped.

    Raises
    ------
    ImportError
        Jinja2 is not installed.
    """
    template = _template()  # first, since it tells what is not installed
    from markupsafe import Markup

    style, script = ((HERE / name).read_text("utf-8") for name in ("page.css", "page.js"))
    sections = {name: [_with_svg(one) for one in pictures.get(name, ())] for name in SECTIONS}
    metrics = () if facts.judged is None else facts.judged.metrics
    return template.render(
        facts=facts,
        described=facts.described,
        judged=facts.judged,
        headline=[one for key in HEADLINE for one in metrics if one.key == key],
        verdict=_verdict(facts),
        guessed=any(one.guess is not None for one in metrics),
        compared=any(one.other is not None for one in metrics),
        pictures=sections,
        style=Markup(style),
        script=Markup(script),
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        thresholds=thresholds(facts),
        few=few,
    )


@cache
def _template() -> Any:
    try:
        from jinja2 import Environment, FileSystemLoader, StrictUndefined
    except ImportError as error:
        raise ImportError("a report needs Jinja2 and matplotlib: pip install streamnb[report]") from error
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, loader=FileSystemLoader(HERE), trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {"number": number, "share": share, "decimal": decimal, "chance": chance}
    return environment.get_template("page.html")


def _with_svg(picture: Picture) -> dict[str, Any]:
    """A picture for the template; its SVG comes from us, and its description is escaped."""
    from markupsafe import Markup, escape

    drawing = picture.drawing
    width = float(drawing.svg.split('viewBox="0 0 ')[1].split()[0])
    kind = "stretch" if width <= WIDTH + 1 else "wide"
    tag = f'<svg class="{kind}" role="img" aria-label="{escape(picture.description)}" '
    return {"heading": picture.heading, "drawing": drawing, "svg": Markup(drawing.svg.replace("<svg ", tag, 1))}


def _verdict(facts: Facts) -> str:
    """How good the model is, in a sentence."""
    judged = facts.judged
    right = None if judged is None else next((one for one in judged.metrics if one.key == "accuracy"), None)
    if judged is None or right is None:
        return ""
    sentence = f"It is right for {share(right.value)} of {judged.n_rows:,} rows"
    if judged.n_unknown:
        sentence += f" whose labels it knows; {judged.n_unknown:,} others are left out"
    if right.low is not None and judged.interval is not None:
        sentence += f" ({share(right.low)} to {share(right.high)} with {100.0 * judged.interval:.3g} % confidence)"
    if right.guess is None:
        return f"{sentence}."
    return f"{sentence}. Always naming the most frequent class would be right for {share(right.guess)}."


def few(given: CutOffs) -> list[CutOff]:
    """Some thresholds of a class for a table, and the model's own decision."""
    step = max(len(given.points) // ROWS, 1)
    return [one for at, one in enumerate(given.points) if at % step == step - 1 or at == given.own]


def thresholds(facts: Facts) -> list[dict[str, Any]]:
    """The thresholds of each class as the script of the page reads them."""
    if facts.judged is None:
        return []
    fields = "score", "probability", "kept", "precision", "recall", "false_alarms", "misses"
    return [
        {
            "label": one.label,
            "own": one.own,
            "points": [[_rounded(getattr(point, name)) for name in fields] for point in one.points],
        }
        for one in facts.judged.thresholds
    ]


def _rounded(value: float | None) -> float | None:
    return None if value is None or abs(value) == float("inf") else float(f"{value:.6g}")


def chance(value: float) -> str:
    """A probability as a percentage."""
    return "> 99.9 %" if value > 0.999 else "< 0.1 %" if value < 0.001 else share(value)


def decimal(value: float | None) -> str:
    """A number with three decimals, or a share as a percentage."""
    if value is None or value != value or isinstance(value, Share):
        return share(value)
    return f"{value:.3f}".replace("-", "−")
