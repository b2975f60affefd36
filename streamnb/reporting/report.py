"""`report`: writes one page of HTML that shows a model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from streamnb.core import persistence
from streamnb.core.label_checks import NO_LABELS
from streamnb.core.replacing import replacing
from streamnb.core.types import PerRow, Rows
from streamnb.evaluation.evaluating import evaluate
from streamnb.evaluation.evaluation import Evaluation
from streamnb.passes.report import Report
from streamnb.regression.errors import RegressionEvaluation
from streamnb.reporting.describing import compared, described
from streamnb.reporting.facts import Facts, FactTable, Performance
from streamnb.reporting.judging import judged, judged_numbers
from streamnb.reporting.page import page
from streamnb.reporting.pictures import pictures
from streamnb.rows.table_opening import is_table, open_tables


@dataclass(frozen=True)
class Choice:
    """How a model was chosen among others: a table of them, and a function that draws them on axes."""

    table: FactTable
    draw: Callable[[Any], Any] | None = None


def report(
    model: Any,
    X: Rows | None = None,
    y: PerRow = None,
    path: Any = "report.html",
    *,
    sample_weight: PerRow = None,
    force: bool = False,
) -> None:
    """Write one page of HTML that shows a model, and how good it is on labelled rows.

    The page is one file without anything from elsewhere: it can be sent by mail, read on a telephone and printed. It
    says what the model was learned from, how good it is, where it is wrong, what a threshold would change, what the
    model looks at, and how it was chosen and made. The rows are read once, as by `evaluate`.

    Parameters
    ----------
    model : fitted model
        Any classifier or regression of streamnb, the model of a path or a file, or the result of `snb.search`, whose
        candidates are shown with its best model.
    X, y, sample_weight
        As in `snb.evaluate`. Without labels the page shows the model alone.
    path : path
        Of the page, in a folder that is there.
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
    """
    if not hasattr(type(model), "predict") and hasattr(type(model), "report"):  # the result of a search
        model.report(path, X, y, sample_weight=sample_weight, force=force)
        return
    write_report(model, (X, y, sample_weight), path, force=force)


def write_report(
    model: Any, given: tuple[Any, Any, Any], path: Any, *, force: bool, choice: Choice | None = None, file: str = ""
) -> None:
    """Write the page of a model; `given` are X, y and weights, `file` where the model can be loaded from."""
    if not hasattr(type(model), "predict"):
        raise TypeError(
            f"model is of type {type(model).__name__}; it should be a fitted model, or the result of a search"
        )
    place = new_page(path, force)
    facts = Facts(
        described(model, given[1], None if choice is None else choice.table, file or "model.snb"),
        _judged(model, *given),
    )
    _write(page(facts, pictures(model, facts, None if choice is None else choice.draw)), place)


def write_tables(title: str, choice: FactTable, passes: Report, path: Any, force: bool) -> None:
    """Write the page of a comparison, which has no model."""
    place = new_page(path, force)
    facts = Facts(compared(title, choice, passes), None)
    _write(page(facts, {}), place)


def _write(text: str, place: Path) -> None:
    with replacing(place) as out:
        out.write(text.encode("utf-8", "xmlcharrefreplace"))


def new_page(path: Any, force: bool) -> Path:
    """The path of a new page, in a folder that is there; a file may be there with `force`."""
    file = persistence.check_path("path", path)
    folder = file.absolute().parent
    if not folder.is_dir():
        raise FileNotFoundError(f"path={str(file)!r}: there is no folder {str(folder)!r}; make it first")
    if file.is_dir():
        raise IsADirectoryError(f"path={str(file)!r} is a folder; give the name of a file, such as 'report.html'")
    if file.exists() and not force:
        raise FileExistsError(f"path={str(file)!r} is there already; give another name, or force=True to replace it")
    return file


def _judged(model: Any, X: Any, y: Any, sample_weight: Any) -> Performance | None:
    """How good the model is, None for rows without labels."""
    if X is None or (y is None and not _may_have_labels(model, X)):
        return None
    try:
        found = _evaluated(model, X, y, sample_weight)
    except ValueError as error:
        if y is None and str(error).startswith(NO_LABELS):
            return None
        raise
    return judged_numbers(found) if isinstance(found, RegressionEvaluation) else judged(found)


def _may_have_labels(model: Any, X: Any) -> bool:
    """Whether rows may have labels beside them; a table has them in the column of the rows that were fitted."""
    name = getattr(getattr(model, "encoding_", None), "y", None)
    return name is None or not is_table(X) or name in open_tables(X, [], 1).schema.names


def _evaluated(model: Any, X: Any, y: Any, sample_weight: Any) -> Evaluation | RegressionEvaluation:
    """The evaluation of a model of streamnb, or of another one by what it predicts."""
    module = type(model).__module__.split(".")[0]
    if module == "streamnb" or not hasattr(model, "classes_"):
        return evaluate(model, X, y, sample_weight=sample_weight)
    scores = {"proba": model.predict_proba(X)} if hasattr(model, "predict_proba") else {}
    return evaluate(y, model.predict(X), classes=model.classes_, sample_weight=sample_weight, **scores)
