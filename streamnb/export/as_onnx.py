"""Exports a model as an ONNX graph: float32 rows in, labels and probabilities out, float64 arithmetic."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from streamnb.core import memory
from streamnb.models.portable import PortableModel
from streamnb.models.steps import Indicators, RowStep

OPSET = 17
IR_VERSION = 8  # of the same time as the opset, so that older runtimes read it
BEYOND = np.finfo(np.float64).max  # in place of infinite bounds, as some runtimes take finite constants only
LARGEST = 2**31 - 2**20  # bytes of weights: a protocol buffer holds 2 GiB, and the rest needs some space


def onnx_bytes(model: PortableModel) -> bytes:
    """The file as bytes.

    Raises
    ------
    ImportError
        onnx is not installed.
    ValueError
        The graph does not fit into a file of this format, or a category is a number that float32 cannot represent.
    """
    graph, (n_columns, n_classes) = Graph(), model.weights.shape
    cure = "export to .json, which leaves out weights of 0, or save(path, stats=False)"
    check_size(8 * n_columns * n_classes, cure)
    _check_categories(model)
    x, width = graph.numbers(), model.n_features_in_
    for step in model.steps:
        x, width = _apply(graph, x, step, width), step.width(width)
    weights = model.weights.toarray() if sp.issparse(model.weights) else model.weights
    scores = graph.add("Add", [graph.add("MatMul", [x, graph.constant(weights)]), graph.constant(model.intercept_)])
    kinds = graph.onnx.TensorProto
    kind = kinds.INT64 if model.multilabel or model.classes_.dtype.kind != "U" else kinds.STRING
    labels = _labels(graph, scores, model), "labels", kind, [n_classes] if model.multilabel else []
    if model.probabilities is None:
        width = n_classes - (model.reference is not None)
        second = _without_reference(graph, scores, model), "scores", kinds.DOUBLE, [width]
    else:
        second = _probabilities(graph, scores, model), "probabilities", kinds.DOUBLE, [n_classes]
    return graph.finished(model.n_features_in_, labels, second)


def check_size(n_bytes: int, cure: str) -> None:
    """Refuse weights that do not fit into a file."""
    if n_bytes > LARGEST:
        raise ValueError(f"the weights take {memory.size(n_bytes)}, and an .onnx file holds 2 GiB; {cure}")


def _check_categories(model: PortableModel) -> None:
    """Refuse categories that float32 rounds: 16777217 becomes 16777216, and 0.1 becomes 0.10000000149."""
    for step in model.steps:
        if isinstance(step.value, Indicators):
            low, high = step.value.low, step.value.high
            of_one_number = np.isfinite(high) & (np.nextafter(high, -np.inf) == low)
            with np.errstate(over="ignore"):
                lost = np.flatnonzero(of_one_number & (high.astype(np.float32) != high))
            if lost.size:
                feature = int(step.value.feature[lost[0]])
                name = feature if model.feature_names_in_ is None else model.feature_names_in_[feature]
                raise ValueError(
                    f"column {name!r} has the category {high[lost[0]]:.17g}, which is no float32, and rows of an .onnx "
                    "file are; number the categories 0, 1, .. beforehand, or export to .json"
                )


class Graph:
    """Nodes and constants of a graph, named by number."""

    def __init__(self) -> None:
        try:
            import onnx
        except ImportError as error:
            raise ImportError("export to .onnx needs onnx: pip install streamnb[onnx]") from error
        self.onnx, self.nodes, self.constants = onnx, list[Any](), list[Any]()

    def add(self, kind: str, inputs: Sequence[str], **attributes: Any) -> str:
        """Add a node and return the name of its output."""
        name = f"n{len(self.nodes)}"
        self.nodes.append(self.onnx.helper.make_node(kind, inputs, [name], **attributes))
        return name

    def constant(self, values: Any, name: str | None = None) -> str:
        """Add a constant array of numbers or strings and return its name."""
        name = f"c{len(self.constants)}" if name is None else name
        values = np.asarray(values)
        array = values.astype(object) if values.dtype.kind == "U" else np.ascontiguousarray(values)
        self.constants.append(self.onnx.numpy_helper.from_array(array.reshape(values.shape), name))
        return name

    def numbers(self) -> str:
        """The rows in float64."""
        return self.add("Cast", ["rows"], to=self.onnx.TensorProto.DOUBLE)

    def indicator(self, condition: str) -> str:
        """1.0 where a condition holds, else 0.0."""
        return self.add("Cast", [condition], to=self.onnx.TensorProto.DOUBLE)

    def finished(self, n_features: int, *outputs: tuple[str, str, Any, list[int]]) -> bytes:
        """The file as bytes; each output has a node, a public name, an ONNX type, and its shape beside the rows."""
        helper = self.onnx.helper
        for node, name, *_ in outputs:
            self.nodes.append(helper.make_node("Identity", [node], [name]))
        rows = helper.make_tensor_value_info("rows", self.onnx.TensorProto.FLOAT, ["n_rows", n_features])
        made = [helper.make_tensor_value_info(name, kind, ["n_rows", *shape]) for _, name, kind, shape in outputs]
        graph = helper.make_graph(self.nodes, "streamnb", [rows], made, self.constants)
        opsets = [helper.make_opsetid("", OPSET)]
        whole = helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION, producer_name="streamnb")
        self.onnx.checker.check_model(whole)
        return whole.SerializeToString()


def _apply(graph: Graph, x: str, step: RowStep, width: int) -> str:
    """Add a step to rows of this width, and return the name of its output."""
    if step.do == "sums":
        parts = np.zeros((width, step.value.n_columns - width))
        parts[*step.value.parts.T] = 1.0
        return graph.add("Concat", [x, graph.add("MatMul", [x, graph.constant(parts)])], axis=1)
    done = NODES[step.do](graph, x, step.value)
    if step.columns is None:
        return done
    chosen = np.zeros(width, bool)
    chosen[step.columns] = True
    return graph.add("Where", [graph.constant(chosen), done, x])


def _products(graph: Graph, x: str, pairs: np.ndarray) -> str:
    """The columns, and behind them the product of each pair."""
    one, other = (graph.add("Gather", [x, graph.constant(columns)], axis=1) for columns in pairs.T)
    return graph.add("Concat", [x, graph.add("Mul", [one, other])], axis=1)


def _divided(graph: Graph, x: str, norm: str, length: float) -> str:
    """Rows divided by their norms, times a length; rows of norm 0 stay as they are."""
    zero = graph.add("Equal", [norm, graph.constant(0.0)])
    divided = graph.add("Div", [x, graph.add("Where", [zero, graph.constant(1.0), norm])])
    return divided if length == 1.0 else graph.add("Mul", [divided, graph.constant(length)])


def _sum_of_rows(graph: Graph, x: str) -> str:
    return graph.add("ReduceSum", [x, graph.constant(np.array([1]))], keepdims=1)


def _indicators(graph: Graph, x: str, columns: Indicators) -> str:
    x = graph.add("Gather", [x, graph.constant(columns.feature)], axis=1)
    low, high = (np.clip(bounds, -BEYOND, BEYOND) for bounds in (columns.low, columns.high))
    above = graph.add("Greater", [x, graph.constant(low)])
    inside = graph.add("And", [above, graph.add("LessOrEqual", [x, graph.constant(high)])])
    if columns.missing.any():
        gaps = graph.add("And", [graph.add("IsNaN", [x]), graph.constant(columns.missing)])
        inside = graph.add("Or", [inside, gaps])
    made = graph.indicator(inside)
    return graph.add("Where", [graph.constant(columns.as_is), x, made]) if columns.as_is.any() else made


NODES: dict[str, Callable[[Graph, str, Any], str]] = {  # what each step of a `RowStep` adds, but for "sums"
    "binary": lambda graph, x, _: graph.indicator(graph.add("Not", [graph.add("Equal", [x, graph.constant(0.0)])])),
    "log1p": lambda graph, x, _: graph.add("Log", [graph.add("Add", [x, graph.constant(1.0)])]),
    "sqrt": lambda graph, x, _: graph.add("Sqrt", [x]),
    "l1": lambda graph, x, length: _divided(graph, x, _sum_of_rows(graph, graph.add("Abs", [x])), length),
    "l2": lambda graph, x, length: _divided(
        graph, x, graph.add("Sqrt", [_sum_of_rows(graph, graph.add("Mul", [x, x]))]), length
    ),
    "scale": lambda graph, x, factors: graph.add("Mul", [x, graph.constant(factors)]),
    "above": lambda graph, x, value: graph.indicator(graph.add("Greater", [x, graph.constant(float(value))])),
    "log": lambda graph, x, _: graph.add("Log", [x]),
    "distance": lambda graph, x, value: graph.add("Abs", [graph.add("Sub", [x, graph.constant(float(value))])]),
    "indicators": _indicators,
    "products": _products,
}


def _labels(graph: Graph, scores: str, model: PortableModel) -> str:
    if model.multilabel:
        above = graph.add("Greater", [scores, graph.constant(0.0)])
        return graph.add("Cast", [above], to=graph.onnx.TensorProto.INT64)
    best = graph.add("ArgMax", [scores], axis=1, keepdims=0)
    classes = model.classes_ if model.classes_.dtype.kind == "U" else model.classes_.astype(np.int64)
    return graph.add("Gather", [graph.constant(classes), best])


def _without_reference(graph: Graph, scores: str, model: PortableModel) -> str:
    if model.reference is None:
        return scores
    others = np.delete(np.arange(len(model.classes_)), model.reference)
    return graph.add("Gather", [scores, graph.constant(others)], axis=1)


def _probabilities(graph: Graph, scores: str, model: PortableModel) -> str:
    if model.probabilities == "softmax":
        return graph.add("Softmax", [scores], axis=1)
    if model.reference is not None:  # the lower the highest score of the others, the likelier the reference
        highest = graph.add("ReduceMax", [_without_reference(graph, scores, model)], axes=[1], keepdims=1)
        chosen = graph.constant(np.arange(len(model.classes_)) == model.reference)
        scores = graph.add("Where", [chosen, graph.add("Neg", [highest]), scores])
    shares = graph.add("Sigmoid", [scores])
    return shares if model.probabilities != "ovr" else graph.add("Div", [shares, _sum_of_rows(graph, shares)])
