"""Compares the rows that a model was judged on with a second set of rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from streamnb.estimators.classifier import Classifier, model_and_rows
from streamnb.estimators.preparation import names_of_columns
from streamnb.evaluation.evaluation import Evaluation
from streamnb.passes.contract import RunOptions
from streamnb.passes.run import run
from streamnb.reporting.facts import FactTable, column_name, shown
from streamnb.rows.preparing import RowOptions
from streamnb.rows.source import Source
from streamnb.scanning.class_scan import ClassScan, ScanOfAll
from streamnb.stats.class_stats import ClassStats

SUMS = ScanOfAll(ClassScan(("sum", "sum_sq"), RowOptions()), "columns")
MOST_COLUMNS = 50


def drift(model: Any, X: Any, other: Any, evaluations: Sequence[Evaluation]) -> FactTable:
    """The columns whose means differ most between X and other rows, and shares of classes where these are known.

    Raises
    ------
    TypeError
        The model is no classifier of streamnb, which tells how rows become columns.
    """
    if not isinstance(model, Classifier):
        raise TypeError(f"against goes with a classifier of streamnb, and model is of type {type(model).__name__}")
    here, there = (_sums(model, rows) for rows in (X, other))
    names = names_of_columns(model)
    names = names if names is not None and len(names) == here.n_features else None
    differences = here.drift(there, MOST_COLUMNS, feature_names=names)
    error = np.sqrt(1.0 / here.total_weight + 1.0 / there.total_weight)
    rows = [*_classes(evaluations)]
    for feature, old, new, z in differences[["feature", "old", "new", "z"]].itertuples(index=False, name=None):
        rows.append((column_name(feature), old, new, z * error, z))
    note = (
        "Means of the columns of the model. The difference is in standard deviations of the column; "
        "beyond two standard errors it is unlikely to be chance, unless there are many columns."
    )
    columns = ("column", "rows judged", "second set", "difference", "in standard errors")
    return FactTable("Columns that differ", columns, tuple(rows), note)


def _sums(model: Classifier, X: Any) -> ClassStats:
    rows: Source = model_and_rows(model, X, labelled=False)[1]
    return run(SUMS, rows, RunOptions())[0]


def _classes(evaluations: Sequence[Evaluation]) -> Iterator[tuple[Any, ...]]:
    """The classes whose shares differ most, and by how much."""
    if len(evaluations) < 2:
        return
    weights = [found.class_weight for found in evaluations]
    old, new = (weight / max(weight.sum(), 1.0) for weight in weights)
    both: np.ndarray = np.sum(weights, axis=0)
    share = both / max(float(both.sum()), 1.0)
    spread = np.sqrt(np.maximum(share * (1.0 - share), np.finfo(float).tiny))
    error = np.sqrt(sum(1.0 / max(float(weight.sum()), 1.0) for weight in weights))
    gap = (new - old) / spread
    for k in np.argsort(-abs(gap), kind="stable")[:10].tolist():
        name = f"share of “{shown(evaluations[0].classes[k])}”"
        yield name, float(old[k]), float(new[k]), float(gap[k]), float(gap[k] / error)
