"""Writes models and regressions to files of other programs: a table says which goes into which format."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LinearRegression

from streamnb.core import persistence
from streamnb.core.stored_files import replacing
from streamnb.encoding.table_codes import PlainNumber
from streamnb.export.as_onnx import Graph, check_size, onnx_bytes
from streamnb.export.raw_rows import columns_of_table
from streamnb.models.portable import PortableModel
from streamnb.models.steps import ColumnSums, Indicators, RowStep

VERSION = 1
CURE = "save(path) and snb.load keep what makes the columns"


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


@dataclass(frozen=True, eq=False)
class RegressionWeights:
    """Weights of rows of numbers.

    Attributes
    ----------
    weights : (n_features, n_targets)
    intercepts : (n_targets,)
    names : (n_features,) or None
    """

    weights: np.ndarray
    intercepts: np.ndarray
    names: np.ndarray | None

    def of_columns(self, encoding: Any) -> RegressionWeights:
        """The weights of a table's columns, in the order of the file.

        Raises
        ------
        ValueError
            A column is not one of complete numbers; the message names it.
        """
        if encoding is None:
            return self
        names, places = columns_of_table(encoding, CURE), list[int]()
        for part, code in encoding.coded:
            if not isinstance(code, PlainNumber) or code.missing or part.date_part is not None:
                had = "had missing values" if isinstance(code, PlainNumber) and code.missing else "is not of numbers"
                raise ValueError(f"column {part.label!r} {had}, and rows of exports are complete numbers; {CURE}")
            places.append(names.index(part.columns[0]))
        weights = np.zeros((len(names), len(self.intercepts)))
        weights[places] = self.weights
        return RegressionWeights(weights, self.intercepts, np.array(names, object))


def json_of(model: RegressionWeights) -> bytes:
    """The file as bytes: a list of weights for each target."""
    content = {
        "format": "streamnb regression",
        "version": VERSION,
        "feature_names": None if model.names is None else list(map(str, model.names)),
        "weights": model.weights.T.tolist(),
        "intercepts": model.intercepts.tolist(),
    }
    return json.dumps(content, allow_nan=False).encode()


def onnx_of(model: RegressionWeights) -> bytes:
    """The file as bytes; float32 rows, as files of classifiers have them.

    Raises
    ------
    ImportError
        onnx is not installed.
    ValueError
        The weights do not fit into a file of this format.
    """
    graph = Graph()
    check_size(model.weights.nbytes, "export to .json, or save(path)")
    one = len(model.intercepts) == 1  # predictions have the shape of those of the model
    weights = graph.constant(model.weights[:, 0] if one else model.weights, "weights")
    intercepts = graph.constant(model.intercepts.reshape(() if one else -1), "intercepts")
    predictions = graph.add("Add", [graph.add("MatMul", [graph.numbers(), weights]), intercepts])
    shape = [] if one else [len(model.intercepts)]
    return graph.finished(len(model.weights), (predictions, "predictions", graph.onnx.TensorProto.DOUBLE, shape))


def linear_regression_of(model: RegressionWeights) -> LinearRegression:
    """A fitted estimator of scikit-learn's."""
    one, fitted = len(model.intercepts) == 1, LinearRegression()
    fitted.coef_ = model.weights[:, 0].copy() if one else np.ascontiguousarray(model.weights.T)
    fitted.intercept_ = float(model.intercepts[0]) if one else model.intercepts.copy()
    fitted.n_features_in_ = len(model.weights)
    if model.names is not None:
        fitted.feature_names_in_ = np.asarray(model.names, object)
    return fitted


FORMATS: dict[str, dict[type, Callable[[Any], bytes]]] = {
    ".onnx": {PortableModel: onnx_bytes, RegressionWeights: onnx_of},
    ".json": {PortableModel: json_bytes, RegressionWeights: json_of},
}


def write(path: Any, portable: Callable[[], PortableModel | RegressionWeights]) -> None:
    """Write a model in the format that the ending of a path or URL names; if that fails, nothing is written.

    `portable` returns the model, once the path is known to be right.
    """
    file = persistence.check_place("path", path)
    ending = Path(file).suffix
    if ending not in FORMATS:
        raise ValueError(f"path={str(file)!r} should end with one of {', '.join(FORMATS)}")
    model = portable()
    written = FORMATS[ending][type(model)](model)
    with replacing(file) as out:
        out.write(written)
