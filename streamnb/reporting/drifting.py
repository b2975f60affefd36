"""Compares the rows that a model was judged on with a second set of rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from streamnb.estimators.drifting import Drift
from streamnb.evaluation.evaluation import Evaluation
from streamnb.reporting.facts import FactTable, Share, shown

MOST_COLUMNS = 1000
MOST_CLASSES = 20


def drift_tables(model: Any, X: Any, other: Any, evaluations: Sequence[Evaluation]) -> tuple[FactTable, ...]:
    """How other rows differ from X: columns, values that the model does not know, classes and scores.

    Raises
    ------
    TypeError
        The model is none of streamnb, which tells how rows become columns.
    """
    if not hasattr(model, "drift"):
        raise TypeError(f"against goes with a fitted model of streamnb, and model is of type {type(model).__name__}")
    found: Drift = model.drift(other, before=X)
    tables = _columns(found), _unseen(found), _classes(evaluations), _scores(found)
    return tuple(table for table in tables if table.rows)


def _columns(found: Drift) -> FactTable:
    rows = tuple(
        (
            *(shown(row["column"]), round(float(row["psi"]), 3), "yes" if row["moved"] else ""),
            *(shown(row["change"]), *(_as_share(row["change"], row[name]) for name in ("before", "after"))),
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


def _as_share(what: str, value: float) -> float:
    """A number of a column as it is, any other as a share of the rows."""
    return value if what in ("mean", "deviation") else Share(value)


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


def _classes(evaluations: Sequence[Evaluation]) -> FactTable:
    """The classes whose shares differ most, and by how much."""
    return FactTable(
        "True classes", ("class", "rows judged", "second set", "in standard errors"), tuple(_shares(evaluations))
    )


def _shares(evaluations: Sequence[Evaluation]) -> Iterator[tuple[Any, ...]]:
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
