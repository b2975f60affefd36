"""Exports a model as JSON that a few lines of any language can predict with; see docs/export.md."""

import json
from typing import Any

import numpy as np

from streamnb.models.portable import PortableModel
from streamnb.models.steps import ColumnSums, Indicators, RowStep

VERSION = 1


def json_bytes(model: PortableModel) -> bytes:
    """The file as bytes: for each class its non-zero weights and their columns."""
    data, rows, ends = (part.tolist() for part in model.sparse_weights)
    labels, intercepts = model.classes_.tolist(), model.intercept_.tolist()
    classes = [
        {"class": label, "intercept": intercept, "columns": rows[first:last], "weights": data[first:last]}
        for label, intercept, first, last in zip(labels, intercepts, ends[:-1], ends[1:], strict=True)
    ]
    content = {
        "format": "streamnb linear model",
        "version": VERSION,
        "n_features": model.n_features_in_,
        "feature_names": None if model.feature_names_in_ is None else list(map(str, model.feature_names_in_)),
        "steps": [_step(step) for step in model.steps],
        "n_columns": model.weights.shape[0],
        "scores": classes,
        "probabilities": model.probabilities,
        "multilabel": model.multilabel,
        **({} if model.reference is None else {"reference": model.reference}),
    }
    return json.dumps(content, allow_nan=False).encode()


def _step(step: RowStep) -> dict[str, Any]:
    if isinstance(step.value, Indicators):
        return {"do": step.do, "columns": [_indicator(step.value, n) for n in range(step.value.n_columns)]}
    value = step.value.parts if isinstance(step.value, ColumnSums) else step.value
    value = value.tolist() if isinstance(value, np.ndarray) else value
    columns = None if step.columns is None else step.columns.tolist()
    parts = {"do": step.do, "value": value, "columns": columns}
    return {name: part for name, part in parts.items() if part is not None}


def _indicator(indicators: Indicators, n: int) -> dict[str, Any]:
    """One column; infinite bounds, which JSON does not have, are left out."""
    column: dict[str, Any] = {"of": int(indicators.feature[n])}
    if indicators.missing[n] or indicators.as_is[n]:
        return column | ({"missing": True} if indicators.missing[n] else {"as_is": True})
    bounds = ("above", float(indicators.low[n])), ("up_to", float(indicators.high[n]))
    return column | {name: value for name, value in bounds if np.isfinite(value)}
