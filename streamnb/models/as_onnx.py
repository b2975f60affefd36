"""Exports a model as an ONNX graph: float32 rows or the columns of a table in, labels and probabilities out.

Arithmetic is in float64.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from streamnb.core import memory
from streamnb.encoding.plain_steps import Indicators, RowStep
from streamnb.models.portable import PortableModel
from streamnb.models.score_tables import CategoryCodes, NumberCodes, ScoreTables, steps_of_codes
from streamnb.rows.table_columns import (
    BOOLEAN,
    DATE,
    DURATION,
    INSTANT,
    NUMBER,
    PAIR_SEPARATOR,
    TIME,
    WEEKDAYS,
    of_float,
)

OPSET, OPSET_OF_ML = 17, 2
IR_VERSION = 8  # of the same time as the opset, so that older runtimes read it
BEYOND = np.finfo(np.float64).max  # in place of infinite bounds, as some runtimes take finite constants only
AS_NUMBERS = NUMBER, BOOLEAN, DURATION, TIME  # kinds of columns whose values are given as float64
NO_DATE = int(np.iinfo(np.int64).min)  # what NumPy makes of NaT
MISSING = "None", "nan", "NaN", "<NA>"  # how runtimes write what is no string, unless it is a category
OUTPUTS = "labels", "probabilities", "scores", "predictions"
TAKES = {
    **dict.fromkeys(AS_NUMBERS, "a number, NaN if it is missing; durations and times of day in seconds"),
    **dict.fromkeys((DATE, INSTANT), f"seconds since 1970 on the local clock, {NO_DATE} if it is missing"),
}
LARGEST = 2**31 - 2**20  # bytes of weights: a protocol buffer holds 2 GiB, and the rest needs some space


def onnx_bytes(model: PortableModel, tables: ScoreTables | None) -> bytes:
    """The file as bytes; `tables` are those of a model of the columns of a table.

    Raises
    ------
    ImportError
        onnx is not installed.
    ValueError
        The graph does not fit into a file of this format, or a category is a number that its type cannot represent.
    """
    graph, n_classes = Graph(), len(model.classes_)
    scores = scores_of_rows(graph, model) if tables is None else scores_of_tables(graph, tables)
    kinds = graph.onnx.TensorProto
    kind = kinds.INT64 if model.multilabel or model.classes_.dtype.kind != "U" else kinds.STRING
    labels = _labels(graph, scores, model), "labels", kind, [n_classes] if model.multilabel else []
    if model.probabilities is None:
        width = n_classes - (model.reference is not None)
        second = _without_reference(graph, scores, model), "scores", kinds.DOUBLE, [width]
    else:
        second = _probabilities(graph, scores, model), "probabilities", kinds.DOUBLE, [n_classes]
    return graph.finished(labels, second)


def scores_of_rows(graph: Graph, model: PortableModel) -> str:
    """Add the scores of rows of numbers, (n_rows, K)."""
    cure = "export to .json, which leaves out weights of 0, or save(path, stats=False)"
    check_size(8 * model.weights.shape[0] * model.weights.shape[1], cure)
    _check_categories(model)
    x, width = graph.rows(model.n_features_in_), model.n_features_in_
    for step in model.steps:
        x, width = _apply(graph, x, step, width), step.width(width)
    weights = model.weights.toarray() if sp.issparse(model.weights) else model.weights
    return graph.add("Add", [graph.add("MatMul", [x, graph.constant(weights)]), graph.constant(model.intercept_)])


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
        self.onnx, self.nodes, self.constants, self.inputs = onnx, list[Any](), list[Any](), list[Any]()

    def add(self, kind: str, inputs: Sequence[str], **attributes: Any) -> str:
        """Add a node and return the name of its output, which no column has."""
        name = f"node {len(self.nodes)}"
        self.nodes.append(self.onnx.helper.make_node(kind, inputs, [name], **attributes))
        return name

    def constant(self, values: Any) -> str:
        """Add a constant array of numbers or strings and return its name."""
        name, values = f"constant {len(self.constants)}", np.asarray(values)
        array = values.astype(object) if values.dtype.kind == "U" else np.ascontiguousarray(values)
        self.constants.append(self.onnx.numpy_helper.from_array(array.reshape(values.shape), name))
        return name

    def add_input(self, name: str, kind: int, width: int, takes: str = "") -> None:
        """Add an input of the graph, (n_rows, width)."""
        value = self.onnx.helper.make_tensor_value_info(name, kind, ["n_rows", width], takes)
        self.inputs.append(value)

    def rows(self, n_features: int) -> str:
        """The input "rows", float32, in float64."""
        self.add_input("rows", self.onnx.TensorProto.FLOAT, n_features)
        return self.add("Cast", ["rows"], to=self.onnx.TensorProto.DOUBLE)

    def indicator(self, condition: str) -> str:
        """1.0 where a condition holds, else 0.0."""
        return self.add("Cast", [condition], to=self.onnx.TensorProto.DOUBLE)

    def finished(self, *outputs: tuple[str, str, Any, list[int]]) -> bytes:
        """The file as bytes; each output has a node, a public name, an ONNX type, and its shape beside the rows."""
        helper = self.onnx.helper
        for node, name, *_ in outputs:
            self.nodes.append(helper.make_node("Identity", [node], [name]))
        made = [helper.make_tensor_value_info(name, kind, ["n_rows", *shape]) for _, name, kind, shape in outputs]
        graph = helper.make_graph(self.nodes, "streamnb", self.inputs, made, self.constants)
        opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid("ai.onnx.ml", OPSET_OF_ML)]
        whole = helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION, producer_name="streamnb")
        self.onnx.checker.check_model(whole)
        return whole.SerializeToString()


# ---- rows of numbers -------------------------------------------------------------------------------------------------


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
    return graph.add("ReduceSum", [x, graph.constant([1])], keepdims=1)


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


# ---- tables ----------------------------------------------------------------------------------------------------------


def scores_of_tables(graph: Graph, tables: ScoreTables) -> str:
    """Add an input for each column of a table, and the scores of its rows, (n_rows, K)."""
    n_scores = sum(one.size for one in (*tables.tables.values(), *tables.pairs.values()))
    check_size(8 * n_scores, "save(path, stats=False)")
    kinds = graph.onnx.TensorProto
    for name, kind in tables.kinds.items():
        if name in ("", *OUTPUTS):
            raise ValueError(f"column {name!r} has a name that no input of an .onnx file can have; rename it")
        dtype = kinds.DOUBLE if kind in AS_NUMBERS else kinds.INT64 if kind in (DATE, INSTANT) else kinds.STRING
        graph.add_input(name, dtype, 1, TAKES.get(kind or "", "a string, 'None' or 'nan' if it is missing"))
    shape = graph.add("Shape", [tables.names[0]])  # (n_rows, 1)
    found = [graph.add("Expand", [graph.constant(tables.intercept[None]), shape])]
    if tables.used:
        found += _scores_of_codes(graph, tables)
    for functions in dict.fromkeys(number.functions for number in tables.numbers):
        weights = {number: one for number, one in tables.numbers.items() if number.functions == functions}
        x = graph.add("Concat", [number.column for number in weights], axis=1)
        medians = graph.constant([number.median for number in weights])
        x = graph.add("Where", [graph.add("IsNaN", [x]), medians, x])
        for do, value in functions:
            x = NODES[do](graph, x, value)
        found.append(graph.add("MatMul", [x, graph.constant(np.array([*weights.values()]))]))
    return graph.add("Sum", found)


def _scores_of_codes(graph: Graph, tables: ScoreTables) -> Iterator[str]:
    """Yield the sums of the scores of single codes and of pairs, (n_rows, K)."""
    numbers = {f: of for f in tables.used if isinstance(of := tables.features[f], NumberCodes)}
    others = [feature for feature in tables.used if feature not in numbers]
    parts = [_codes_of_numbers(graph, [*numbers.values()])] if numbers else []
    parts += [_category(graph, tables, tables.features[feature]) for feature in others]
    codes, axis = graph.add("Concat", parts, axis=1), graph.constant([1])
    place_of = {feature: n for n, feature in enumerate([*numbers, *others])}
    if tables.tables:
        scores = _looked_up(graph, codes, [place_of[feature] for feature in tables.tables], [*tables.tables.values()])
        yield graph.add("ReduceSum", [scores, axis], keepdims=0)
    if tables.pairs:
        compact = [steps_of_codes(of_pair) for of_pair in tables.pairs.values()]
        cells = [table.reshape(-1, table.shape[2]) for _, _, table in compact]
        firsts = np.cumsum([0, *map(len, cells[:-1])])
        rows = [first + row * table.shape[1] for first, (row, _, table) in zip(firsts, compact, strict=True)]
        row = _looked_up(graph, codes, [place_of[first] for first, _ in tables.pairs], rows)
        columns = [column for _, column, _ in compact]
        column = _looked_up(graph, codes, [place_of[second] for _, second in tables.pairs], columns)
        place = graph.add("Add", [row, column])
        scores = graph.add("Gather", [graph.constant(np.concatenate(cells)), place])
        yield graph.add("ReduceSum", [scores, axis], keepdims=0)


def _looked_up(graph: Graph, codes: str, which: list[int], tables: list[np.ndarray]) -> str:
    """The entries of tables, which are stacked, for some columns of codes, (n_rows, n_tables, ..)."""
    firsts = np.cumsum([0, *map(len, tables[:-1])])
    chosen = graph.add("Gather", [codes, graph.constant(which)], axis=1)
    place = graph.add("Add", [chosen, graph.constant(firsts)])
    return graph.add("Gather", [graph.constant(np.concatenate(tables)), place])


def _codes_of_numbers(graph: Graph, numbers: list[Any]) -> str:
    """The codes of numbers, (n_rows, n_numbers)."""
    n_edges = np.array([len(of.edges) for of in numbers])
    edges = np.full((len(numbers), n_edges.max()), BEYOND)
    for of_number, of in zip(edges, numbers, strict=True):
        of_number[: len(of.edges)] = of.edges
    x = graph.add("Concat", [of.column for of in numbers], axis=1)
    above = graph.add("Greater", [graph.add("Unsqueeze", [x, graph.constant([2])]), graph.constant(edges)])
    above = graph.add("Cast", [above], to=graph.onnx.TensorProto.INT64)
    count = graph.add("ReduceSum", [above, graph.constant([2])], keepdims=0)
    return graph.add("Where", [graph.add("IsNaN", [x]), graph.constant(n_edges + 1), count])


def _category(graph: Graph, tables: ScoreTables, of: Any) -> str:
    """The code of a category or of a pair of categories, (n_rows, 1)."""
    if len(of.part.columns) == 1:
        return _level(graph, of, tables.kinds[of.part.columns[0]], of.part.columns[0], of.values)
    pairs = [value.split(PAIR_SEPARATOR) for value in of.values]
    first, second = ({one: n for n, one in enumerate(dict.fromkeys(pair[k] for pair in pairs))} for k in (0, 1))
    table = np.full((len(first) + 2, len(second) + 2), len(pairs))
    table[-1], table[:, -1] = len(pairs) + 1, len(pairs) + 1
    for code, (one, other) in enumerate(pairs):
        table[first[one], second[other]] = code
    sides = zip(of.part.columns, (first, second), strict=True)
    codes = [_level(graph, of, tables.kinds[name], name, tuple(values)) for name, values in sides]
    row = graph.add("Mul", [codes[0], graph.constant(table.shape[1])])
    return graph.add("Gather", [graph.constant(table.reshape(-1)), graph.add("Add", [row, codes[1]])])


def _level(graph: Graph, of: CategoryCodes, kind: str | None, name: str, values: tuple[str, ...]) -> str:
    """The place of a column's value among some, then one for others, then one for missing values, (n_rows, 1)."""
    n, part = len(values), of.part.date_part
    if kind in AS_NUMBERS:
        x, missing, numbers = name, graph.add("IsNaN", [name]), np.array(values, np.float64)
        lost = [value for value, number in zip(values, numbers.tolist(), strict=True) if of_float(number) != value]
        if lost:
            raise ValueError(f"column {name!r} has the category {lost[0]}, which is no float64; give strings")
    elif part is not None:
        x, missing = _part_of_date(graph, name, part), graph.add("Equal", [name, graph.constant(NO_DATE)])
        numbers = np.array([WEEKDAYS.index(one) if part == "weekday" else int(one) for one in values], np.int64)
    else:
        spelt = dict.fromkeys(MISSING, n + 1) | replace(of, values=values).spelt
        attributes = {"keys_strings": [*spelt], "values_int64s": [*spelt.values()], "default_int64": n}
        return graph.add("LabelEncoder", [name], domain="ai.onnx.ml", **attributes)
    equal = graph.add("Cast", [graph.add("Equal", [x, graph.constant(numbers)])], to=graph.onnx.TensorProto.INT64)
    back = graph.add("Mul", [equal, graph.constant(np.arange(n) - n)])
    place = graph.add("Add", [graph.add("ReduceSum", [back, graph.constant([1])]), graph.constant(n)])
    return graph.add("Where", [missing, graph.constant(n + 1), place])


def _part_of_date(graph: Graph, seconds: str, part: str) -> str:
    """A part of a date as a number, days of the week from 0, Monday; by Hinnant's `civil_from_days`."""

    def op(kind: str, x: str, y: str | int) -> str:
        return graph.add(kind, [x, y if isinstance(y, str) else graph.constant(y)])

    second = op("Mod", seconds, 86_400)
    if part == "hour":
        return op("Div", second, 3600)
    days = op("Div", op("Sub", seconds, second), 86_400)
    if part == "weekday":
        return op("Mod", op("Add", days, 3), 7)
    days = op("Add", days, 719_468)  # since 1 March of the year 0, when leap days are at the ends of years
    era, day = op("Div", days, 146_097), op("Mod", days, 146_097)  # of 400 years
    leap_days = op("Sub", op("Add", op("Div", day, 1460), op("Div", day, 146_096)), op("Div", day, 36_524))
    year = op("Div", op("Sub", day, leap_days), 365)
    before = op("Sub", op("Add", op("Mul", year, 365), op("Div", year, 4)), op("Div", year, 100))
    month = op("Div", op("Add", op("Mul", op("Sub", day, before), 5), 2), 153)  # from 0, March
    if part == "month":
        return op("Add", op("Mod", op("Add", month, 2), 12), 1)
    return op("Add", op("Add", year, op("Mul", era, 400)), op("Div", month, 10))


# ---- results ---------------------------------------------------------------------------------------------------------


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
