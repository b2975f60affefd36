"""Exports a regression's weights: JSON, an ONNX graph with float64 arithmetic, and scikit-learn's LinearRegression."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.linear_model import LinearRegression

from streamnb.encoding.table_codes import PlainNumber
from streamnb.encoding.table_encoding import TableEncoding
from streamnb.export.as_onnx import IR_VERSION, OPSET, check_size

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
        if not isinstance(encoding, TableEncoding) or encoding.texts:
            raise ValueError(f"the columns are made of texts, and rows of exports are numbers; {CURE}")
        names, places = list(encoding.columns), list[int]()
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
    try:
        from onnx import TensorProto, checker, helper, numpy_helper
    except ImportError as error:
        raise ImportError("export to .onnx needs onnx: pip install streamnb[onnx]") from error
    check_size(model.weights.nbytes, "export to .json, or save(path)")
    one = len(model.intercepts) == 1  # predictions have the shape of those of the model
    weights = model.weights[:, 0] if one else model.weights
    shape: list[str | int | None] = ["n_rows"] if one else ["n_rows", len(model.intercepts)]
    intercepts = model.intercepts.reshape(() if one else -1)
    constants = {"weights": np.ascontiguousarray(weights), "intercepts": intercepts}
    nodes = [
        helper.make_node("Cast", ["rows"], ["numbers"], to=TensorProto.DOUBLE),
        helper.make_node("MatMul", ["numbers", "weights"], ["products"]),
        helper.make_node("Add", ["products", "intercepts"], ["predictions"]),
    ]
    rows = helper.make_tensor_value_info("rows", TensorProto.FLOAT, ["n_rows", len(model.weights)])
    made = helper.make_tensor_value_info("predictions", TensorProto.DOUBLE, shape)
    stored = [numpy_helper.from_array(values, name) for name, values in constants.items()]
    graph = helper.make_graph(nodes, "streamnb", [rows], [made], stored)
    opsets = [helper.make_opsetid("", OPSET)]
    whole = helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION, producer_name="streamnb")
    checker.check_model(whole)
    return whole.SerializeToString()


def linear_regression_of(model: RegressionWeights) -> LinearRegression:
    """A fitted estimator of scikit-learn's."""
    one, fitted = len(model.intercepts) == 1, LinearRegression()
    fitted.coef_ = model.weights[:, 0].copy() if one else np.ascontiguousarray(model.weights.T)
    fitted.intercept_ = float(model.intercepts[0]) if one else model.intercepts.copy()
    fitted.n_features_in_ = len(model.weights)
    if model.names is not None:
        fitted.feature_names_in_ = np.asarray(model.names, object)
    return fitted
