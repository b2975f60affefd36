"""The weights of a linear model as evidence for a class, or for one class against another."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from streamnb.core import messages
from streamnb.models.linear import LinearModel
from streamnb.problem.schemes import TwoClasses


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
    one, other = number_of(model, "class_", class_), number_of(model, "against", against)
    if one == other:
        return np.zeros(model.n_features), 0.0
    labels = model.classes_.tolist()
    row = model.scheme.row_names(model.classes_).index((labels[min(one, other)], labels[max(one, other)]))
    sign = 1.0 if one > other else -1.0
    return sign * of_row(model, row), sign * float(model.intercept_[row])


def _check_rows(model: LinearModel) -> None:
    if model.scheme.name == "ovo":
        raise ValueError(
            "scheme='ovo' has weights of pairs of classes, and none of a class by itself; contrast(class_, against) "
            "and explain(row, class_, against) are of a pair"
        )
