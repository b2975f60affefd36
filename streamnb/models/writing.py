"""Writes models and regressions to files of other programs: a table says which goes into which format."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from streamnb.core import persistence
from streamnb.core.stored_files import replacing
from streamnb.encoding.plain_steps import ColumnSums, Indicators, RowStep
from streamnb.models.as_onnx import Graph, check_size, onnx_bytes, scores_of_rows, scores_of_tables
from streamnb.models.as_python import python_of_classifier, python_of_regression
from streamnb.models.as_sql import Scoring, sql_of_classifier, sql_of_regression
from streamnb.models.portable import PortableModel, PortableRegression
from streamnb.models.score_tables import NumberCodes, ScoreTables, score_tables

VERSION = 1
CURE = "save(path) and snb.load keep what makes the columns"


def json_bytes(model: PortableModel) -> bytes:
    """The file as bytes: for each class its non-zero weights and their columns, or tables of scores."""
    if model.encoding is not None:
        content = {
            "format": "streamnb model of a table",
            "version": VERSION,
            "classes": model.classes_.tolist(),
            "probabilities": model.probabilities,
            "multilabel": model.multilabel,
            "reference": model.reference,
            **tables_of(model).plain(),
        }
        return json.dumps(content, allow_nan=False).encode()
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


def regression_bytes(regression: PortableRegression) -> bytes:
    """The file as bytes: a list of weights for each target, or tables of scores."""
    model = regression.linear
    content: dict[str, Any] = {"format": "streamnb regression", "version": VERSION}
    if model.encoding is not None:
        content |= {"format": "streamnb regression of a table", **tables_of(model).plain()}
    else:
        names = model.feature_names_in_
        content["feature_names"] = None if names is None else list(map(str, names))
        content |= {"weights": model.weights.T.tolist(), "intercepts": model.intercept_.tolist()}
    if model.encoding is None and model.steps:
        content |= {"n_features": model.n_features_in_, "steps": [_step(step) for step in model.steps]}
    if regression.link != "identity":
        content["link"] = regression.link
    return json.dumps(content, allow_nan=False).encode()


def regression_onnx(regression: PortableRegression) -> bytes:
    """The file as bytes; rows, or columns of a table, as files of classifiers have them.

    Raises
    ------
    ImportError
        onnx is not installed.
    ValueError
        The weights do not fit into a file of this format.
    """
    graph, model = Graph(), regression.linear
    check_size(model.weights.nbytes, "export to .json, or save(path)")
    tables = tables_of(model) if model.encoding is not None else None
    predictions = scores_of_rows(graph, model) if tables is None else scores_of_tables(graph, tables)
    if regression.link != "identity":
        predictions = graph.add("Exp", [predictions])
    n_targets = len(model.intercept_)
    if n_targets == 1:  # predictions have the shape of those of the model
        predictions = graph.add("Squeeze", [predictions, graph.constant(np.array([1]))])
    shape = [n_targets] if n_targets > 1 else []
    return graph.finished((predictions, "predictions", graph.onnx.TensorProto.DOUBLE, shape))


def sklearn_regression(regression: PortableRegression) -> Any:
    """A fitted estimator of scikit-learn's.

    Raises
    ------
    ValueError
        A column of a table is not one of complete numbers; the message names it. Or there are steps.
    """
    model = regression.linear
    if model.steps and model.encoding is None:
        raise ValueError("steps and cells of terms have no transformer of scikit-learn's; export to .onnx or .json")
    from sklearn.linear_model import GammaRegressor, LinearRegression, PoissonRegressor, TweedieRegressor

    names: Any = model.feature_names_in_
    weights = model.weights
    if model.encoding is not None:
        weights, names = _weights_of_numbers(tables_of(model))
    one, fitted = len(model.intercept_) == 1, LinearRegression()
    power, link = regression.power, regression.link
    if (power, link) != (0.0, "identity"):
        of_power = {1.0: PoissonRegressor(), 2.0: GammaRegressor()} if link == "log" else {}
        fitted = of_power.get(power, TweedieRegressor(power=power, link=link))
        fitted.fit([[0.0]], [1.0])  # which sets the loss that its predict needs
    fitted.coef_ = weights[:, 0].copy() if one else np.ascontiguousarray(weights.T)
    fitted.intercept_ = float(model.intercept_[0]) if one else model.intercept_.copy()
    fitted.n_features_in_ = len(weights)
    if names is not None:
        fitted.feature_names_in_ = np.asarray(names, object)
    return fitted


def _weights_of_numbers(tables: ScoreTables) -> tuple[np.ndarray, list[str]]:
    """The weights of a table's columns, in the order of the file, and their names."""
    if tables.features:
        of = tables.features[0]
        name = of.column if isinstance(of, NumberCodes) else of.part.columns[0]
        raise ValueError(f"column {name!r} is not one of complete numbers, as scikit-learn takes; {CURE}")
    weights = {number.column: of_targets for number, of_targets in tables.numbers.items()}
    absent = np.zeros(len(tables.intercept))
    return np.array([weights.get(name, absent) for name in tables.names]), tables.names


def names_of(names: Any, n_features: int) -> list[str]:
    """The names of the columns of rows: x0, x1, .. for those without, as scikit-learn names them."""
    return [f"x{j}" for j in range(n_features)] if names is None else list(map(str, names))


def tables_of(model: PortableModel) -> ScoreTables:
    """A model as tables of scores."""
    names = names_of(model.feature_names_in_, model.n_features_in_)
    return score_tables(model.encoding, names, model.steps, model.weights, model.intercept_, CURE)


FORMATS: dict[str, Callable[[PortableModel], bytes]] = {
    ".onnx": lambda model: onnx_bytes(model, None if model.encoding is None else tables_of(model)),
    ".json": json_bytes,
    ".py": lambda model: python_of_classifier(model, tables_of(model)),
}
OF_REGRESSIONS: dict[str, Callable[[PortableRegression], bytes]] = {
    ".onnx": regression_onnx,
    ".json": regression_bytes,
    ".py": lambda model: python_of_regression(tables_of(model.linear), model.link),
}


def scoring_of(dialect: str | None, table: str, keep: Sequence[str] | None) -> Scoring | None:
    """How an .sql file scores; None without a dialect, which other files do not need."""
    if not isinstance(table, str) or not all(table.split(".")):
        raise ValueError(f"table={table!r} should be the name of a table, such as 'flights' or 'schema.flights'")
    if isinstance(keep, str):
        raise TypeError(f"keep={keep!r} should be a list of the names of columns, such as [{keep!r}]")
    if dialect is not None:
        return Scoring(dialect, table, keep)
    if table != "rows" or keep is not None:
        raise ValueError(f"table={table!r} and keep={keep!r} belong to dialect=, such as 'postgres', and to .sql files")
    return None


def write(
    path: Any, portable: Callable[[], PortableModel | PortableRegression], scoring: Scoring | None = None
) -> None:
    """Write a model in the format that the ending of a path or URL names; if that fails, nothing is written.

    `portable` returns the model, once the path is known to be right; `scoring` says how an .sql file scores.
    """
    file = persistence.check_place("path", path)
    ending = Path(file).suffix
    if ending not in (*FORMATS, ".sql"):
        raise ValueError(f"path={str(file)!r} should end with one of {', '.join(FORMATS)}, .sql")
    if (ending == ".sql") != (scoring is not None):
        raise ValueError(f"path={str(file)!r}: an .sql file needs dialect=, such as 'postgres', and no other file does")
    model = portable()
    if isinstance(model, PortableModel):
        written = FORMATS[ending](model) if scoring is None else sql_of_classifier(model, tables_of(model), scoring)
    elif scoring is None:
        written = OF_REGRESSIONS[ending](model)
    else:
        written = sql_of_regression(tables_of(model.linear), scoring, model.link)
    with replacing(file) as out:
        out.write(written)
