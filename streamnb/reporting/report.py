"""`report`: writes one page of HTML that shows a model."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from streamnb.core import persistence
from streamnb.core.arguments import PerRow, Rows
from streamnb.core.row_checks import NO_LABELS
from streamnb.core.stored_files import replacing
from streamnb.evaluation.evaluating import evaluate
from streamnb.evaluation.evaluation import Evaluation
from streamnb.passes.contract import Report
from streamnb.plotting.svg import WIDTH
from streamnb.regression.errors import RegressionEvaluation
from streamnb.reporting.describing import compared, described
from streamnb.reporting.drifting import drift_tables
from streamnb.reporting.facts import CutOff, CutOffs, Facts, FactTable, Performance, Share, number, share
from streamnb.reporting.judging import judged, judged_numbers
from streamnb.reporting.pictures import Picture, pictures
from streamnb.rows.opening import with_labels
from streamnb.rows.table_opening import as_table, is_table, open_tables

HERE = Path(__file__).parent
HEADLINE = "accuracy", "balanced_accuracy", "roc_auc", "expected_calibration_error", "r2", "rmse", "mae"
SECTIONS = "judged", "deciles", "sure", "slices", "features", "choice"  # with pictures
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
    if judged is not None and judged.numbers is not None:
        return _verdict_of_numbers(judged)
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


def _verdict_of_numbers(judged: Performance) -> str:
    """How good predictions of numbers are, in two sentences."""
    of = {one.key: one for one in judged.metrics}
    off, kind = of["mae"], "deviance" if "d2" in of else "variance"
    sentence = f"Predictions are off by {decimal(off.value)} on average"
    if off.low is not None and judged.interval is not None:
        sentence += f" ({decimal(off.low)} to {decimal(off.high)} with {100.0 * judged.interval:.3g} % confidence)"
    explained = of.get("d2", of["r2"]).value
    sentence += f", and explain {share(explained)} of the {kind} of {judged.n_rows:,} rows."
    if explained <= 0.0:
        sentence += " The mean of these rows, said for each of them, would be better."
    return sentence


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
    return number(value) if abs(value) >= 100.0 else f"{value:.3f}".replace("-", "−")


@dataclass(frozen=True)
class Choice:
    """How a model was chosen among others: a table of them, and a function that draws them on axes."""

    table: FactTable
    draw: Callable[[Any], Any] | None = None


@dataclass(frozen=True)
class RowsToJudge:
    """The rows that a model is judged on, and how; the arguments of `report`."""

    X: Any = None
    y: Any = None
    sample_weight: Any = None
    interval: float | None = None
    groups: Any = None
    by: Any = None
    against: Any = None
    positive: Any = None


def report(
    model: Any,
    X: Rows | None = None,
    y: PerRow = None,
    path: Any = "report.html",
    *,
    sample_weight: PerRow = None,
    interval: float | None = 0.95,
    groups: PerRow = None,
    by: Any = None,
    against: Any = None,
    positive: Any = None,
    force: bool = False,
) -> None:
    """Write one page of HTML that shows a model, and how good it is on labelled rows.

    The page is one file without anything from elsewhere: it can be sent by mail, read on a telephone and printed. It
    says what the model was learned from, how good it is and where it is wrong. It shows what a threshold would change,
    what the model looks at, and how it was chosen and made. The rows are read once, as by `evaluate`.

    Parameters
    ----------
    model : fitted model
        Any classifier or regression of streamnb, the model of a path or a file, or the result of `snb.search`, whose
        candidates are shown with its best model.
    X, y, sample_weight, groups, by, positive
        As in `snb.evaluate`: rows of one of the `groups` are not independent, and the rows are sliced `by` columns.
        Without labels the page shows the model alone.
    path : path
        Of the page, a name that ends with .html, in a folder that is there.
    interval : float, optional
        Confidence of the intervals of metrics.
    against : rows, or (rows, labels), optional
        A second set, such as the rows of training or of last month: the page shows which columns have moved, as by
        `drift`, and the metrics on both if it has labels, which `y` names if that is a name. Both sets are read four
        times more for this.
    force : bool
        Replace a file that is there.

    Raises
    ------
    FileExistsError, FileNotFoundError
        There is such a file already, or no such folder.
    ValueError, TypeError
        As by `snb.evaluate`.
    ImportError
        Jinja2 or matplotlib is not installed: ``pip install streamnb[report]``.

    Examples
    --------
    >>> import streamnb as snb
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = snb.LinearNB("gaussian").fit(X[::2], y[::2])
    >>> snb.report(model, X[1::2], y[1::2], "report.html", force=True)
    >>> with open("report.html", encoding="utf-8") as page:
    ...     "It is right for" in page.read()
    True
    """
    given = RowsToJudge(X, y, sample_weight, interval, groups, by, against, positive)
    if not hasattr(type(model), "predict") and hasattr(type(model), "report"):  # the result of a search
        model.report(path, **vars(given), force=force)
        return
    write_report(model, given, path, force=force)


def write_report(
    model: Any, given: RowsToJudge, path: Any, *, force: bool, choice: Choice | None = None, file: str = "model.snb"
) -> None:
    """Write the page of a model; `file` is the file that it can be loaded from."""
    if not hasattr(type(model), "predict"):
        what = type(model).__name__
        raise TypeError(
            f"model is of type {what}; it should be a fitted model, or the result of a search, as of rows: "
            "snb.search(X, y).report(path)"
        )
    place = new_page(path, force)
    performance, differences = _judged(model, given)
    table, draw = (None, None) if choice is None else (choice.table, choice.draw)
    facts = Facts(described(model, given.y, table, file), performance, differences)
    _write(page(facts, pictures(model, facts, draw)), place)


def write_tables(title: str, choice: FactTable, passes: Report, path: Any, force: bool) -> None:
    """Write the page of a comparison, which has no model."""
    place = new_page(path, force)
    facts = Facts(compared(title, choice, passes), None)
    _write(page(facts, {}), place)


def _write(text: str, place: Path) -> None:
    with replacing(place) as out:
        out.write(text.encode("utf-8", "xmlcharrefreplace"))


def new_page(path: Any, force: bool) -> Path:
    """The path of a new page in an existing folder; with `force` the file may exist."""
    file = persistence.check_path("path", path)
    if file.suffix.lower() not in (".html", ".htm") and not file.is_dir():
        raise ValueError(f"path={str(file)!r} should end with .html: a report is a page, which browsers print as PDF")
    folder = file.absolute().parent
    if not folder.is_dir():
        raise FileNotFoundError(f"path={str(file)!r}: there is no folder {str(folder)!r}; make it first")
    if file.is_dir():
        raise IsADirectoryError(f"path={str(file)!r} is a folder; give the name of a file, such as 'report.html'")
    if file.exists() and not force:
        raise FileExistsError(f"path={str(file)!r} is there already; give another name, or force=True to replace it")
    return file


def _judged(model: Any, given: RowsToJudge) -> tuple[Performance | None, tuple[FactTable, ...]]:
    """How good the model is, None for rows without labels, and what differs from the second set, if there is one."""
    takes_tables = hasattr(model, "feature_names_in_") and not hasattr(getattr(model, "encoding_", None), "ngrams")
    given = replace(given, X=as_table(given.X, takes_tables or isinstance(given.y, str)))  # it is read several times
    found = _evaluated(model, given)
    if given.against is None:
        return _facts_of(found, None), ()
    if given.X is None:
        raise ValueError("against is a second set of rows, which X is compared with, and there is no X")
    second = _second(given)
    other = _evaluated(model, second)
    both = [one for one in (found, other) if isinstance(one, Evaluation)]
    here, there = (one.X if one.y is None else with_labels(one.X, one.y)[0] for one in (given, second))
    return _facts_of(found, other), drift_tables(model, here, there, both)


def _facts_of(found: Any, other: Any) -> Performance | None:
    if isinstance(found, RegressionEvaluation):
        return judged_numbers(found, other)
    return None if found is None else judged(found, other)


def _second(given: RowsToJudge) -> RowsToJudge:
    """The second set, with its labels if it has some."""
    X, y = given.against if isinstance(given.against, tuple) else (given.against, None)
    named = isinstance(given.y, str) and y is None
    X = as_table(X, named)
    if named and hasattr(X, "columns") and given.y not in X.columns:
        named = False
    return RowsToJudge(X, given.y if named else y, positive=given.positive)


def _may_have_labels(model: Any, X: Any) -> bool:
    """Whether rows may come with labels; a table does if it has the column of labels that the model was fitted with."""
    name = getattr(getattr(model, "encoding_", None), "y", None)
    return name is None or not is_table(X) or name in open_tables(X, {}, 1).schema.names


def _evaluated(model: Any, given: RowsToJudge) -> Evaluation | RegressionEvaluation | None:
    """The evaluation of a model on rows, None if they have no labels."""
    X, y = given.X, given.y
    if X is None or (y is None and not _may_have_labels(model, X)):
        return None
    options = {"interval": given.interval, "groups": given.groups, "by": given.by, "positive": given.positive}
    if type(model).__module__.split(".")[0] != "streamnb":  # another estimator, by what it predicts
        if not hasattr(model, "classes_"):
            raise TypeError(
                f"{type(model).__name__} predicts numbers; pages of numbers are of models of streamnb: fit one, such "
                "as by snb.search(X, y, task='regression')"
            )
        proba = {"proba": model.predict_proba(X)} if hasattr(model, "predict_proba") else {}
        given_classes = {"classes": model.classes_, "sample_weight": given.sample_weight}
        return evaluate(y, model.predict(X), **given_classes, **proba, **options)
    try:
        if np.size(getattr(model, "intercept_", 0.0)) > 1 and not hasattr(model, "classes_"):
            options = {}  # which are of one target
        return evaluate(model, X, y, sample_weight=given.sample_weight, **options)
    except ValueError as error:
        if y is None and str(error).startswith(NO_LABELS):
            return None
        raise
