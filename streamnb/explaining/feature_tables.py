"""Tables of features: the strongest of each class, contrasts of two classes, and contributions to a row's score."""

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from streamnb.core import arguments
from streamnb.core.frames import pandas_for
from streamnb.explaining.normals import normals_of
from streamnb.explaining.weights import class_weights, difference, row_score
from streamnb.models.linear import LinearModel
from streamnb.passes.answering import answer
from streamnb.rows.row_blocks import Chunk
from streamnb.rows.source import Source


def strongest_features(model: LinearModel, names: Any, n_features: int, positive: bool = False) -> Any:
    """A data frame of the features of each class with the largest weights, in absolute value or only positive ones.

    Weights are compared per standard deviation of their features where that is known. Those of features of normal
    classes are their divergences from the other classes.
    """
    n_features, normals = arguments.positive_integer("n_features", n_features), normals_of(model)
    names = names_of(names, model.n_features)
    each, scale = class_weights(model), model.deviations
    if normals is not None:
        each, scale = normals.class_divergences(), None
    rows: list[tuple[Any, ...]] = []
    for label, weights in each:
        size = weights if scale is None else weights * scale
        rows += _listed(label, names, weights, size if positive else abs(size), n_features, scale)
    return frame_of(_columns(scale), rows)


def contrasting_features(model: LinearModel, names: Any, class_: Any, against: Any, n_features: int) -> Any:
    """A data frame of the features that favour one class over another, and of those that favour the other."""
    n_features, normals = arguments.positive_integer("n_features", n_features), normals_of(model)
    names = names_of(names, model.n_features)
    if normals is None:
        here = there = difference(model, class_, against)[0]
        scale = model.deviations
    else:
        (here, there), scale = normals.contrast(class_, against), None
    by = np.ones(len(here)) if scale is None else scale
    rows = [*_listed(class_, names, here, here * by, n_features, scale)]
    rows += _listed(against, names, there, -there * by, n_features, scale)
    return frame_of(_columns(scale), rows)


def contributions(model: LinearModel, names: Any, rows: Source, class_: Any, against: Any) -> Any:
    """A data frame of the contributions of the features of one row to a score, the largest first, and the intercept.

    Raises
    ------
    ValueError
        There are several rows, or none; the scores are not sums over features.
    """
    if model.curves is not None or model.second is not None:
        raise ValueError(
            "explain is of scores that are sums over features; these go through the curves of isotonic calibration, or "
            "are of Beta features, which have two weights each"
        )
    names, normals = names_of(names, model.n_features), normals_of(model)
    values = row_of(partial(_values, model), rows, model.n_features)
    score = row_score(model, values, class_, against) if normals is None else normals.row_score(values, class_, against)
    order = np.argsort(-abs(score.parts), kind="stable")
    order = order[score.parts[order] != 0.0]
    columns = (each[order].tolist() for each in (names, values, score.factors, score.parts))
    of_intercept = score.intercept if score.column == "weight" else np.nan
    table = [("(intercept)", 1.0, of_intercept, score.intercept), *zip(*columns, strict=True)]
    frame = frame_of(("feature", "value", score.column, "contribution"), table)
    total = float(score.intercept + score.parts.sum())
    frame.attrs |= {"class": score.class_, "against": score.against, "score": total}
    return frame


def row_of(function: Any, rows: Source, n_features: int) -> np.ndarray:
    """Apply a function to the only row, (n_features,)."""
    if rows.n_rows not in (1, None):
        raise ValueError(f"X has {rows.n_rows:,} rows; explain is of one, such as X[[0]]")
    values = np.asarray(answer(function, rows, n_features, np.dtype(np.float64)))
    if len(values) != 1:
        raise ValueError(f"X has {len(values):,} rows; explain is of one")
    return values[0]


def _values(model: LinearModel, chunk: Chunk, survey: Any) -> np.ndarray:
    """The values that weights are multiplied by, (n_rows, n_features)."""
    matrix: Any = model.prepared(chunk, survey).to_matrix()
    values = (matrix.toarray() if sp.issparse(matrix) else matrix) + model.absent
    return values if model.scale is None else values * model.scale


def names_of(names: Any, n_features: int) -> np.ndarray:
    """Names of the features, or their numbers where there are no names."""
    return np.asarray(np.arange(n_features) if names is None else names, object)


def _listed(
    label: Any, names: np.ndarray, weights: np.ndarray, by: np.ndarray, n: int, scale: np.ndarray | None
) -> Iterator[tuple[Any, ...]]:
    """Rows of the n features that rank highest `by` some numbers, if these are above 0: the cells of `_columns`."""
    best = np.argsort(-by, kind="stable")[:n]
    best = best[by[best] > 0.0]
    cells = [names[best].tolist(), weights[best].tolist()]
    if scale is not None:
        cells.append((weights * scale)[best].tolist())
    return zip([label] * len(best), *cells, strict=True)


def _columns(scale: np.ndarray | None) -> tuple[str, ...]:
    columns = "class", "feature", "weight"
    return columns if scale is None else (*columns, "per_deviation")


def frame_of(columns: tuple[str, ...], rows: Iterable[tuple[Any, ...]]) -> Any:
    """A data frame of rows."""
    return pandas_for("a table of features").DataFrame(list(rows), columns=list(columns))
