"""Exports a regression's weights: JSON, an ONNX graph with float64 arithmetic, and scikit-learn's LinearRegression."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.linear_model import LinearRegression

from streamnb.encoding.table_codes import PlainNumber
from streamnb.export.as_onnx import Graph, check_size
from streamnb.export.raw_rows import columns_of_table

VERSION = 1
CURE = "save(path) and snb.load keep what makes the columns"


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
