"""Small tables for users: pandas frames, plain text and notebook HTML."""

import sys
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

import numpy as np


def pandas_for(what: str) -> Any:
    """Import pandas, or raise an error that says what needs it and how to install it."""
    try:
        import pandas
    except ImportError as error:
        raise ImportError(f"{what} needs pandas: pip install pandas") from error
    return pandas


def plain_column(column: Any) -> Any:
    """A column of pandas without types of its own: intervals are strings, and periods the time at which they begin."""
    kind = str(getattr(column.dtype, "categories", column).dtype).lower()
    if kind.startswith("sparse"):
        return column.sparse.to_dense()
    if kind.startswith("period") and hasattr(column, "dt"):
        return column.dt.to_timestamp()
    if not kind.startswith(("interval", "period")):
        return column
    categories = column.astype("category")
    return getattr(categories, "cat", categories).rename_categories(str)


def prints(show: bool | None) -> bool:
    """Return `show`; None means True except in a notebook, which shows the value of a cell as HTML."""
    if show is not None:
        return bool(show)
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return not hasattr(shell, "kernel")


def aligned(table: Sequence[Sequence[str]]) -> list[str]:
    """Rows of cells as lines of text, the first column aligned left, the others right."""
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    return ["  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]).rstrip() for row in table]


def html(table: Sequence[Sequence[str]], notes: Iterable[str], caption: str = "") -> str:
    """Rows of cells, the header first, as an HTML table with notes below it."""
    head, *rows = ([escape(cell) for cell in row] for row in table)
    lines = [f"<tr>{''.join(f'<th>{cell}</th>' for cell in head)}</tr>"]
    lines += [f"<tr><th>{row[0]}</th>{''.join(f'<td>{cell}</td>' for cell in row[1:])}</tr>" for row in rows]
    above = f"<caption>{escape(caption)}</caption>" if caption else ""
    return f"<table>{above}{''.join(lines)}</table>{''.join(f'<p>{escape(note)}</p>' for note in notes)}"


def table(caption: str, rows: Iterable[tuple[str, str]]) -> str:
    """Names and values as an HTML table of two columns, the values aligned right."""
    lines = "".join(
        f'<tr><th style="text-align:left">{escape(name)}</th><td style="text-align:right">{escape(value)}</td></tr>'
        for name, value in rows
    )
    caption = f'<caption style="text-align:left;caption-side:top">{escape(caption)}</caption>'
    return f"<table>{caption}<tbody>{lines}</tbody></table>"


def said(model: Any, X: Any, proba: bool, scores: bool) -> dict[str, np.ndarray]:
    """What a model says of rows: labels, and probabilities and scores if wanted; or the numbers that it predicts."""
    if not hasattr(model, "classes_"):
        if proba or scores:
            raise ValueError(f"proba and scores are of classes, and {type(model).__name__} predicts numbers")
        found = np.asarray(model.predict(X))
        return {"prediction": found} if found.ndim == 1 else {f"prediction_{k}": one for k, one in enumerate(found.T)}
    columns = _labels(model.predict(X), model.classes_)
    for wanted, prefix, method in ((proba, "p", "predict_proba"), (scores, "score", "decision_function")):
        if wanted:
            columns |= _named_columns(prefix, getattr(model, method)(X), model.classes_)
    return columns


def _labels(found: Any, classes: np.ndarray) -> dict[str, np.ndarray]:
    """Labels as a column, or an indicator as one for each label."""
    found, classes = np.asarray(found), whole(classes)
    return {"label": whole(found)} if found.ndim == 1 else {str(label): found[:, k] for k, label in enumerate(classes)}


def whole(labels: np.ndarray) -> np.ndarray:
    """Labels as integers where they are floats, as in svmlight files, so that they are written as 1, not 1.0."""
    return labels.astype(np.int64) if labels.dtype.kind == "f" else labels


def _named_columns(prefix: str, found: Any, classes: np.ndarray) -> dict[str, np.ndarray]:
    """Scores as a column, or as one for each class."""
    found = np.asarray(found)
    if found.ndim == 1:
        return {prefix: found}
    return {f"{prefix}_{label}": found[:, k] for k, label in enumerate(whole(classes)[-found.shape[1] :])}
