"""Exports a model as an ONNX graph: float32 rows in, labels and probabilities out, float64 arithmetic."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from streamnb.core import memory
from streamnb.models.portable import PortableModel
from streamnb.models.steps import Indicators, RowStep

OPSET = 17
IR_VERSION = 8  # of the same time as the opset, so that older runtimes read it
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
    try:
        import onnx
    except ImportError as error:
        raise ImportError("export to .onnx needs onnx: pip install streamnb[onnx]") from error
    cure = "export to .json, which leaves out weights of 0, or save(path, stats=False)"
    check_size(8 * model.weights.shape[0] * model.weights.shape[1], cure)
    _check_categories(model)
    graph = _Graph(onnx)
    x, width = graph.add("Cast", ["rows"], to=onnx.TensorProto.DOUBLE), model.n_features_in_
    for step in model.steps:
        x, width = _apply(graph, x, step, width), step.width(width)
    weights = model.weights.toarray() if sp.issparse(model.weights) else model.weights
    scores = graph.add("Add", [graph.add("MatMul", [x, graph.constant(weights)]), graph.constant(model.intercept_)])
    labels = _labels(graph, scores, model)
    if model.probabilities is None:
        second = _without_reference(graph, scores, model), "scores"
    else:
        second = _probabilities(graph, scores, model), "probabilities"
    outputs = [(labels, "labels"), second]
    return graph.model(model, outputs).SerializeToString()


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


class _Graph:
    """Nodes and constants of a graph, named by number."""

    def __init__(self, onnx: Any):
        self.onnx, self.nodes, self.constants = onnx, list[Any](), list[Any]()

    def add(self, kind: str, inputs: Sequence[str], **attributes: Any) -> str:
        """Add a node and return the name of its output."""
        name = f"n{len(self.nodes)}"
        self.nodes.append(self.onnx.helper.make_node(kind, inputs, [name], **attributes))
        return name

    def constant(self, values: Any) -> str:
        """Add a constant array of numbers or strings and return its name."""
        name = f"c{len(self.constants)}"
        values = np.asarray(values)
        array = values.astype(object) if values.dtype.kind == "U" else np.ascontiguousarray(values)
        self.constants.append(self.onnx.numpy_helper.from_array(array.reshape(values.shape), name))
        return name

    def number(self, condition: str) -> str:
        """1.0 where a condition holds, else 0.0."""
        return self.add("Cast", [condition], to=self.onnx.TensorProto.DOUBLE)

    def model(self, model: PortableModel, outputs: list[tuple[str, str]]) -> Any:
        """The whole model, with its inputs and outputs."""
        helper, kinds = self.onnx.helper, self.onnx.TensorProto
        for name, public in outputs:
            self.nodes.append(helper.make_node("Identity", [name], [public]))
        n_classes = len(model.classes_)
        integer = model.multilabel or model.classes_.dtype.kind != "U"
        shape = ["n_rows", n_classes] if model.multilabel else ["n_rows"]
        rows = helper.make_tensor_value_info("rows", kinds.FLOAT, ["n_rows", model.n_features_in_])
        width = n_classes - (outputs[1][1] == "scores" and model.reference is not None)
        made = [
            helper.make_tensor_value_info(outputs[0][1], kinds.INT64 if integer else kinds.STRING, shape),
            helper.make_tensor_value_info(outputs[1][1], kinds.DOUBLE, ["n_rows", width]),
        ]
        graph = helper.make_graph(self.nodes, "streamnb", [rows], made, self.constants)
        opsets = [helper.make_opsetid("", OPSET)]
        whole = helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION, producer_name="streamnb")
        self.onnx.checker.check_model(whole)
        return whole


def _apply(graph: _Graph, x: str, step: RowStep, width: int) -> str:
    """Add a step to rows of this width, and return the name of its output."""
    done = _indicators(graph, x, step.value) if isinstance(step.value, Indicators) else _values(graph, x, step, width)
    if step.columns is None:
        return done
    chosen = np.zeros(width, bool)
    chosen[step.columns] = True
    return graph.add("Where", [graph.constant(chosen), done, x])


def _values(graph: _Graph, x: str, step: RowStep, width: int) -> str:
    if step.do == "products":
        one, other = (graph.add("Gather", [x, graph.constant(columns)], axis=1) for columns in step.value.T)
        return graph.add("Concat", [x, graph.add("Mul", [one, other])], axis=1)
    if step.do == "sums":
        parts = np.zeros((width, step.value.n_columns - width))
        parts[*step.value.parts.T] = 1.0
        return graph.add("Concat", [x, graph.add("MatMul", [x, graph.constant(parts)])], axis=1)
    if step.do == "log1p":
        return graph.add("Log", [graph.add("Add", [x, graph.constant(1.0)])])
    if step.do == "sqrt":
        return graph.add("Sqrt", [x])
    if step.do == "binary":
        return graph.number(graph.add("Not", [graph.add("Equal", [x, graph.constant(0.0)])]))
    if step.do == "scale":
        return graph.add("Mul", [x, graph.constant(step.value)])
    if step.do == "above":
        return graph.number(graph.add("Greater", [x, graph.constant(float(step.value))]))
    if step.do == "log":
        return graph.add("Log", [x])
    if step.do == "distance":
        return graph.add("Abs", [graph.add("Sub", [x, graph.constant(float(step.value))])])
    return _normalized(graph, x, step)


def _normalized(graph: _Graph, x: str, step: RowStep) -> str:
    """Rows divided by their norms; rows of norm 0 stay as they are."""
    terms = graph.add("Abs", [x]) if step.do == "l1" else graph.add("Mul", [x, x])
    norm = graph.add("ReduceSum", [terms, graph.constant(np.array([1]))], keepdims=1)
    norm = norm if step.do == "l1" else graph.add("Sqrt", [norm])
    zero = graph.add("Equal", [norm, graph.constant(0.0)])
    divided = graph.add("Div", [x, graph.add("Where", [zero, graph.constant(1.0), norm])])
    return divided if step.value == 1.0 else graph.add("Mul", [divided, graph.constant(step.value)])


def _indicators(graph: _Graph, x: str, columns: Indicators) -> str:
    x = graph.add("Gather", [x, graph.constant(columns.feature)], axis=1)
    above = graph.add("Greater", [x, graph.constant(columns.low)])
    inside = graph.add("And", [above, graph.add("LessOrEqual", [x, graph.constant(columns.high)])])
    if columns.missing.any():
        gaps = graph.add("And", [graph.add("IsNaN", [x]), graph.constant(columns.missing)])
        inside = graph.add("Or", [inside, gaps])
    found = graph.number(inside)
    return graph.add("Where", [graph.constant(columns.as_is), x, found]) if columns.as_is.any() else found


def _labels(graph: _Graph, scores: str, model: PortableModel) -> str:
    if model.multilabel:
        above = graph.add("Greater", [scores, graph.constant(0.0)])
        return graph.add("Cast", [above], to=graph.onnx.TensorProto.INT64)
    best = graph.add("ArgMax", [scores], axis=1, keepdims=0)
    classes = model.classes_ if model.classes_.dtype.kind == "U" else model.classes_.astype(np.int64)
    return graph.add("Gather", [graph.constant(classes), best])


def _without_reference(graph: _Graph, scores: str, model: PortableModel) -> str:
    if model.reference is None:
        return scores
    others = np.delete(np.arange(len(model.classes_)), model.reference)
    return graph.add("Gather", [scores, graph.constant(others)], axis=1)


def _probabilities(graph: _Graph, scores: str, model: PortableModel) -> str:
    if model.probabilities == "softmax":
        return graph.add("Softmax", [scores], axis=1)
    if model.reference is not None:  # the lower the highest score of the others, the likelier the reference
        highest = graph.add("ReduceMax", [_without_reference(graph, scores, model)], axes=[1], keepdims=1)
        chosen = graph.constant(np.arange(len(model.classes_)) == model.reference)
        scores = graph.add("Where", [chosen, graph.add("Neg", [highest]), scores])
    shares = graph.add("Sigmoid", [scores])
    if model.probabilities != "ovr":
        return shares
    total = graph.add("ReduceSum", [shares, graph.constant(np.array([1]))], keepdims=1)
    return graph.add("Div", [shares, total])
