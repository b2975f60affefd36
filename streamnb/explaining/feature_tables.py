"""Tables of features: the strongest of each class, contrasts of two classes, and contributions to a row's score."""

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from streamnb.core import arguments
from streamnb.core.frames import pandas_for
from streamnb.explaining.weights import class_weights, difference
from streamnb.models.linear import LinearModel
from streamnb.passes.answering import answer
from streamnb.rows.chunk import Chunk
from streamnb.rows.source import Source


def strongest_features(model: LinearModel, names: Any, n_features: int, positive: bool = False) -> Any:
    """A data frame of the features of each class with the largest weights, in absolute value or only positive ones."""
    n_features = arguments.positive_integer("n_features", n_features)
    names = names_of(names, model.n_features)
    found = [
        listed(label, names, weights, weights if positive else abs(weights), n_features)
        for label, weights in class_weights(model)
    ]
    return frame_of(("class", "feature", "weight"), (row for some in found for row in some))


def contrasting_features(model: LinearModel, names: Any, class_: Any, against: Any, n_features: int) -> Any:
    """A data frame of the features that favour one class over another, and of those that favour the other."""
    n_features = arguments.positive_integer("n_features", n_features)
    names = names_of(names, model.n_features)
    weights, _ = difference(model, class_, against)
    rows = [
        *listed(class_, names, weights, weights, n_features),
        *listed(against, names, weights, -weights, n_features),
    ]
    return frame_of(("class", "feature", "weight"), rows)


def contributions(model: LinearModel, names: Any, rows: Source, class_: Any, against: Any) -> Any:
    """A data frame of the contributions of the features of one row to a score, the largest first, and the intercept.

    Raises
    ------
    ValueError
        There are several rows, or none; the scores are not sums over features.
    """
    if model.curves is not None or model.second is not None:
        raise ValueError(
            "explain is of scores that are sums of weights times features; these go through the curves of isotonic "
            "calibration, or are of Beta features, which have two weights each"
        )
    names = names_of(names, model.n_features)
    values = row_of(partial(values_of, model), rows, model.n_features)[None]
    if class_ is None:
        class_, against = _decided(model, values, against)
    weights, intercept = difference(model, class_, against)
    added = values[0] * weights
    order = np.argsort(-abs(added), kind="stable")
    order = order[added[order] != 0.0]
    rest = zip(names[order].tolist(), values[0, order].tolist(), weights[order].tolist(), strict=True)
    table = [("(intercept)", 1.0, intercept, intercept), *((*one, one[1] * one[2]) for one in rest)]
    frame = frame_of(("feature", "value", "weight", "contribution"), table)
    frame.attrs |= {"class": class_, "against": against, "score": float(intercept + added.sum())}
    return frame


def row_of(function: Any, rows: Source, n_features: int) -> np.ndarray:
    """Apply a function to the only row, (n_features,)."""
    if rows.n_rows not in (1, None):
        raise ValueError(f"X has {rows.n_rows:,} rows; explain is of one, such as X[[0]]")
    values = np.asarray(answer(function, rows, n_features, np.dtype(np.float64)))
    if len(values) != 1:
        raise ValueError(f"X has {len(values):,} rows; explain is of one")
    return values[0]


def values_of(model: LinearModel, chunk: Chunk, survey: Any) -> np.ndarray:
    """The values that weights are multiplied by, (n_rows, n_features)."""
    matrix: Any = model.prepared(chunk, survey).to_matrix()
    values = (matrix.toarray() if sp.issparse(matrix) else matrix) + model.absent
    return values if model.scale is None else values * model.scale


def _decided(model: LinearModel, values: np.ndarray, against: Any) -> tuple[Any, Any]:
    """The class with the highest score; where it has no weights of its own, against the second highest."""
    coef = model.coef_
    margins = (coef @ values.T).T + model.intercept_ if sp.issparse(coef) else values @ coef.T + model.intercept_
    labels = model.classes_.tolist()
    scores = model.scheme.class_scores(np.asarray(margins))
    if scores.ndim == 1:
        return labels[int(scores[0] > 0)], against
    if model.scheme.width(len(labels)) != len(labels):
        labels = model.scheme.row_names(model.classes_)
    best, second = (labels[k] for k in np.argsort(-scores[0], kind="stable")[:2].repeat(2)[[0, -1]])
    pairs = model.scheme.name == "ovo" or best not in model.scheme.row_names(model.classes_)
    return best, second if pairs and against is None else against


def names_of(names: Any, n_features: int) -> np.ndarray:
    """Names of the features, or their numbers where there are no names."""
    return np.asarray(np.arange(n_features) if names is None else names, object)


def listed(label: Any, names: np.ndarray, weights: np.ndarray, by: np.ndarray, n: int) -> Iterator[tuple[Any, ...]]:
    """Rows (label, name, weight) of the n features that rank highest `by` some numbers, if these are above 0."""
    best = np.argsort(-by, kind="stable")[:n]
    best = best[by[best] > 0.0]
    return zip([label] * len(best), names[best].tolist(), weights[best].tolist(), strict=True)


def frame_of(columns: tuple[str, ...], rows: Iterable[tuple[Any, ...]]) -> Any:
    """A data frame of rows."""
    return pandas_for("a table of features").DataFrame(list(rows), columns=list(columns))
