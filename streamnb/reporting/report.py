"""`report`: writes one page of HTML that shows a model."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from streamnb.core import persistence
from streamnb.core.arguments import PerRow, Rows
from streamnb.core.row_checks import NO_LABELS
from streamnb.core.stored_files import replacing
from streamnb.estimators.drifting import Drift
from streamnb.estimators.errors import RegressionEvaluation
from streamnb.evaluation.evaluating import evaluate
from streamnb.evaluation.evaluation import Evaluation
from streamnb.passes.contract import Report
from streamnb.reporting.describing import compared, described
from streamnb.reporting.drawing import with_bins_in_words
from streamnb.reporting.facts import (
    CutOff,
    CutOffs,
    Facts,
    FactTable,
    Metric,
    Performance,
    Share,
    number,
    share,
    shown,
)
from streamnb.reporting.judging import judged, judged_numbers
from streamnb.reporting.pictures import Picture, pictures
from streamnb.reporting.svg import WIDTH
from streamnb.rows.opening import with_labels
from streamnb.rows.table_opening import as_table, is_table, open_tables

HERE = Path(__file__).parent
HEADLINE = "accuracy", "balanced_accuracy", "roc_auc", "expected_calibration_error", "r2", "rmse", "mae"
SECTIONS = "judged", "deciles", "sure", "slices", "features", "choice"  # with pictures
OF_RARE = "recall", "precision", "average_precision"  # in place of shares of all rows, where one class has most rows
FREQUENT = 0.75  # share of the largest class from which on
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
        headline=[one for key in _headline(metrics) for one in metrics if one.key == key],
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


def _headline(metrics: Sequence[Metric]) -> tuple[str, ...]:
    """The metrics on top of the page."""
    accuracy = next((one for one in metrics if one.key == "accuracy"), None)
    of_one = any(one.key == "precision" and "mean of" not in one.name for one in metrics)
    rare = accuracy is not None and accuracy.guess is not None and accuracy.guess >= FREQUENT and of_one
    return ("roc_auc", *OF_RARE, "accuracy") if rare else HEADLINE


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
    sentence = f"{_of_rare_class(judged, right)}It is right for {share(right.value)} of {judged.n_rows:,} rows"
    if judged.n_unknown:
        sentence += f" whose labels it knows; {judged.n_unknown:,} others are left out"
    if right.low is not None and judged.interval is not None:
        sentence += f" ({share(right.low)} to {share(right.high)} with {100.0 * judged.interval:.3g} % confidence)"
    if right.guess is None:
        return f"{sentence}."
    return f"{sentence}. Always predicting the most frequent class would be right for {share(right.guess)}."


def _of_rare_class(judged: Performance, right: Metric) -> str:
    """How well the class that matters is found, where most rows are of the other, so that guesses are right, too."""
    of = {one.key: one for one in judged.metrics}
    if right.guess is None or right.guess < FREQUENT:
        return ""
    if len(judged.curves) != 1 or "precision" not in of:
        found = of.get("balanced_accuracy")
        return "" if found is None else f"It finds {share(found.value)} of the rows of each class on average. "
    one = judged.curves[0]
    sentence = f"It finds {share(of['recall'].value)} of the rows of “{one.label}”, which are {share(one.share)} of all"
    if of["precision"].value > 0.0:
        sentence += f", and {share(of['precision'].value)} of those that it predicts as “{one.label}” are"
    return f"{sentence}. A row of “{one.label}” scores above a row of another class {share(one.roc_auc)} of the time. "


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
        sentence += " Always predicting the mean of these rows would be better."
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
    offset: Any = None


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
    offset: PerRow = None,
    force: bool = False,
) -> None:
    """Write one page of HTML that shows a model, and how good it is on labelled rows.

    The page is one self-contained file: it can be mailed, read on a phone and printed. It says what the model was
    trained on, how good it is and where it is wrong. It shows what a threshold would change, which features matter, and
    how the model was chosen and made. The rows are read once, as by `evaluate`.

    Parameters
    ----------
    model : fitted model
        Any classifier or regression of streamnb, the model of a path or a file, or the result of `snb.search`, whose
        candidates are shown with its best model.
    X, y, sample_weight, groups, by, positive, offset
        As in `snb.evaluate`: rows of one of the `groups` are not independent, and the rows are sliced `by` columns.
        Without labels the page shows the model alone.
    path : path
        Where to write the page: a name that ends in .html, in an existing folder.
    interval : float, optional
        Confidence of the intervals of metrics.
    against : rows, or (rows, labels), optional
        A second set, such as the rows of training or of last month: the page shows which columns have moved, as by
        `drift`, and the metrics on both if it has labels, which may be the column named by `y`. This takes four more
        reads of both sets.
    force : bool
        Replace an existing file.

    Raises
    ------
    FileExistsError, FileNotFoundError
        The file exists already, or the folder does not.
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
    given = RowsToJudge(X, y, sample_weight, interval, groups, by, against, positive, offset)
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
            f"model is of type {what}; it should be a fitted model, or the result of a search: "
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
        raise FileExistsError(f"path={str(file)!r} already exists; give another name, or force=True to replace it")
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
    offset = given.offset if isinstance(given.offset, str) else None
    return RowsToJudge(X, given.y if named else y, positive=given.positive, offset=offset)


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
        options |= {} if given.offset is None else {"offset": given.offset}
        return evaluate(model, X, y, sample_weight=given.sample_weight, **options)
    except ValueError as error:
        if y is None and str(error).startswith(NO_LABELS):
            return None
        raise


# ---- drift -----------------------------------------------------------------------------------------------------------

MOST_COLUMNS = 1000
MOST_CLASSES = 20


def drift_tables(model: Any, X: Any, other: Any, evaluations: Sequence[Evaluation]) -> tuple[FactTable, ...]:
    """How other rows differ from X: columns, values that the model does not know, classes and scores.

    Raises
    ------
    TypeError
        The model is not one of streamnb, which would know how rows become columns.
    """
    if not hasattr(model, "drift"):
        raise TypeError(f"against needs a fitted model of streamnb, and model is of type {type(model).__name__}")
    found: Drift = model.drift(other, before=X)
    classes = FactTable(
        "True classes", ("class", "rows judged", "second set", "in standard errors"), tuple(_shares(evaluations))
    )
    tables = _columns(found), _unseen(found), classes, _scores(found)
    return tuple(table for table in tables if table.rows)


def _columns(found: Drift) -> FactTable:
    rows = tuple(
        (
            *(shown(row["column"]), round(float(row["psi"]), 3), "yes" if row["moved"] else ""),
            *(
                with_bins_in_words(shown(row["change"])),
                *(  # numbers of a column as they are, others as shares of the rows
                    row[name] if row["change"] in ("mean", "deviation") else Share(row[name])
                    for name in ("before", "after")
                ),
            ),
            *(Share(row[name]) for name in ("missing_before", "missing", "new_values")),
        )
        for row in found.columns.head(MOST_COLUMNS).to_dict("records")
    )
    columns = (
        *("column", "stability index", "moved", "what changed most", "rows judged", "second set"),
        *("missing in rows judged", "missing in second set", "new values in second set"),
    )
    note = (
        "The population stability index compares shares of bins, categories and words, or means and deviations of "
        f"numbers. A column has moved if it is above {found.threshold:g} and above what chance gives in one of 1,000."
    )
    if len(found.columns) > MOST_COLUMNS:
        note += f" {MOST_COLUMNS:,} of {len(found.columns):,} columns are listed."
    return FactTable("Columns that differ", columns, rows, note)


def _unseen(found: Drift) -> FactTable:
    columns = found.unseen.head(MOST_COLUMNS).itertuples(index=False, name=None)
    rows = tuple((shown(column), shown(value), *counts) for column, value, *counts in columns)
    note = "" if len(rows) == len(found.unseen) else f"{len(rows):,} of {len(found.unseen):,} are listed."
    return FactTable(
        "Values that the model does not know", ("column", "value", "rows judged", "second set"), rows, note
    )


def _scores(found: Drift) -> FactTable:
    names = [name for name in found.scores if name != "moved"]
    said = {"before": "predicted in rows judged", "after": "predicted in second set", "mean": "mean in second set"}
    said |= {"mean_before": "mean in rows judged", "psi": "stability index"}
    rows = tuple((shown(first), *map(float, rest)) for first, *rest in found.scores[names].to_numpy(object).tolist())
    note = "Shares of predicted classes, and probabilities: means, quantiles in the second set, and whether they moved."
    return FactTable("Predictions", tuple(said.get(name, name) for name in names), rows[:MOST_CLASSES], note)


def _shares(evaluations: Sequence[Evaluation]) -> Iterator[tuple[Any, ...]]:
    """The classes whose shares differ most, and by how much."""
    if len(evaluations) < 2:
        return
    weights = [found.class_weight for found in evaluations]
    old, new = (weight / max(weight.sum(), 1.0) for weight in weights)
    both: np.ndarray = np.sum(weights, axis=0)
    share = both / max(float(both.sum()), 1.0)
    spread = np.sqrt(np.maximum(share * (1.0 - share), np.finfo(float).tiny))
    error = np.sqrt(sum(1.0 / max(float(weight.sum()), 1.0) for weight in weights))
    z = (new - old) / (spread * error)
    for k in np.argsort(-abs(z), kind="stable")[:MOST_CLASSES].tolist():
        yield shown(evaluations[0].classes[k]), Share(old[k]), Share(new[k]), float(z[k])
