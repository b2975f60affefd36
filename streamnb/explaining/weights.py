"""The weights of a linear model as evidence for a class, or for one class against another."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from streamnb.core import messages
from streamnb.models.linear import LinearModel
from streamnb.problem.schemes import TwoClasses

PER_DEVIATION = "weight per standard deviation"


def class_weights(model: LinearModel) -> Iterator[tuple[Any, np.ndarray]]:
    """Yield each class and the weights (n_features,) that favour it over the others.

    ``w_k - sum_{c != k} w_c / (K - 1)``. For two classes half of that: the one row of weights or its opposite. Under
    "ovr" and "reference", and for labels, the row itself, which already compares with the rest or the reference.
    """
    scheme, labels = model.scheme, model.classes_.tolist()
    _check_rows(model)
    if isinstance(scheme, TwoClasses):
        weights = of_row(model, 0)
        yield from ((labels[0], -weights), (labels[1], weights))
        return
    alone = scheme.multilabel or scheme.reference is not None or scheme.name == "ovr"
    total = None if alone else np.asarray(model.coef_.sum(axis=0)).reshape(-1)
    for row, label in enumerate(scheme.row_names(model.classes_)):
        weights = of_row(model, row)
        yield label, weights if total is None else weights - (total - weights) / (len(labels) - 1)


def comparable(model: LinearModel, weights: np.ndarray) -> np.ndarray:
    """Weights (n_features,) in one unit: per standard deviation of their features, where that is known."""
    return weights if model.deviations is None else weights * model.deviations


def unit_of(model: Any) -> str:
    """The unit of `comparable` weights."""
    return "weight" if getattr(model, "deviations", None) is None else PER_DEVIATION


def difference(model: LinearModel, class_: Any, against: Any = None) -> tuple[np.ndarray, float]:
    """Weights (n_features,) and intercept of the score of a class, or of its score less that of another class."""
    if against is None:
        _check_rows(model)
        return _score(model, "class_", class_)
    if model.scheme.name == "ovo":
        return _pair(model, class_, against)
    (weights, intercept), (others, less) = _score(model, "class_", class_), _score(model, "against", against)
    if isinstance(model.scheme, TwoClasses):  # the score of the first class is the other's opposite
        return (weights, intercept) if class_ != against else (0.0 * weights, 0.0)
    return weights - others, intercept - less


class RowScore(NamedTuple):
    """The score of a row: an intercept and a part for each feature.

    Attributes
    ----------
    class_, against : labels
    column : {"weight", "mean"}
        The name of `factors`: weights, or the means of the class.
    factors, parts : (n_features,)
    intercept : float
    """

    class_: Any
    against: Any
    column: str
    factors: np.ndarray
    parts: np.ndarray
    intercept: float


def row_score(model: LinearModel, values: np.ndarray, class_: Any, against: Any) -> RowScore:
    """The score of a row for a class, the best one by default, or the difference from the score of another."""
    if class_ is None:
        class_, against = _decided(model, values, against)
    weights, intercept = difference(model, class_, against)
    return RowScore(class_, against, "weight", weights, values * weights, intercept)


def _decided(model: LinearModel, values: np.ndarray, against: Any) -> tuple[Any, Any]:
    """The class with the highest score; where it has no weights of its own, against the second highest."""
    margins = values[None] @ model.coef_.T + model.intercept_
    labels = model.classes_.tolist()
    scores = model.scheme.class_scores(margins)
    if scores.ndim == 1:
        return labels[int(scores[0] > 0)], against
    if model.scheme.width(len(labels)) != len(labels):
        labels = model.scheme.row_names(model.classes_)
    best, second = (labels[k] for k in np.argsort(-scores[0], kind="stable")[:2].repeat(2)[[0, -1]])
    pairs = model.scheme.name == "ovo" or best not in model.scheme.row_names(model.classes_)
    return best, second if pairs and against is None else against


def number_of(model: LinearModel, name: str, label: Any) -> int:
    """The index of a class that was given as the argument `name`."""
    at = np.flatnonzero([label == known for known in model.classes_.tolist()])
    if not len(at):
        raise ValueError(f"{name}={label!r} is not a class; it should be one of {messages.listed(model.classes_)}")
    return int(at[0])


def of_row(model: LinearModel, row: int) -> np.ndarray:
    """A row of coef_ as a dense array."""
    coef = model.coef_
    return sp.csr_array(coef[[row]]).toarray().reshape(-1) if sp.issparse(coef) else coef[row]


def _score(model: LinearModel, name: str, label: Any) -> tuple[np.ndarray, float]:
    k = number_of(model, name, label)
    if isinstance(model.scheme, TwoClasses):
        sign = 1.0 if k else -1.0
        return sign * of_row(model, 0), sign * float(model.intercept_[0])
    rows = model.scheme.row_names(model.classes_)
    if label not in rows:  # the reference, which scores 0
        return np.zeros(model.n_features), 0.0
    row = rows.index(label)
    return of_row(model, row), float(model.intercept_[row])


def _pair(model: LinearModel, class_: Any, against: Any) -> tuple[np.ndarray, float]:
    first, other = number_of(model, "class_", class_), number_of(model, "against", against)
    if first == other:
        return np.zeros(model.n_features), 0.0
    labels = model.classes_.tolist()
    row = model.scheme.row_names(model.classes_).index((labels[min(first, other)], labels[max(first, other)]))
    sign = 1.0 if first > other else -1.0
    return sign * of_row(model, row), sign * float(model.intercept_[row])


def _check_rows(model: LinearModel) -> None:
    if model.scheme.name == "ovo":
        raise ValueError(
            "scheme='ovo' has weights of pairs of classes, and none of a class by itself; contrast(class_, against) "
            "and explain(row, class_, against) are of a pair"
        )
