"""Tables of features as evidence: the strongest of each class, contrasts of two classes, contributions to scores."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.special import expit

from streamnb.core import arguments, messages
from streamnb.core.frames import pandas_for
from streamnb.models.linear import LinearModel
from streamnb.models.quadratic import CovarianceModel, QuadraticModel
from streamnb.passes.answering import answer
from streamnb.problem.schemes import TwoClasses
from streamnb.rows.row_blocks import Chunk
from streamnb.rows.source import Source

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


@dataclass(frozen=True)
class Normals:
    """The normal distributions of the classes of a model.

    Attributes
    ----------
    model : LinearModel
    means, variances : (K, n_features)
    precisions : (K, n_features, n_features) or (K, n_features)
        Inverses of the covariances, times the factor of a calibration, or their diagonals.
    intercepts : (K,)
    """

    model: LinearModel
    means: np.ndarray
    variances: np.ndarray
    precisions: np.ndarray
    intercepts: np.ndarray

    def class_divergences(self) -> Iterator[tuple[Any, np.ndarray]]:
        """Yield each class and the mean divergence of each feature from the same feature of the other classes."""
        labels = self.model.classes_.tolist()
        for k, label in enumerate(labels):
            yield label, self.divergences(k).sum(axis=0) / (len(labels) - 1)

    def contrast(self, class_: Any, against: Any) -> tuple[np.ndarray, np.ndarray]:
        """The divergences of a class from another, and of the other from it with a minus, (n_features,) each."""
        k, other = number_of(self.model, "class_", class_), number_of(self.model, "against", against)
        return self.divergences(k)[other], -self.divergences(other)[k]

    def row_score(self, x: np.ndarray, class_: Any, against: Any) -> RowScore:
        """The score of a row for a class, the best one by default, or the difference from the score of another."""
        labels = self.model.classes_.tolist()
        of_classes = [self.parts(k, x) for k in range(len(labels))]
        scores = self.intercepts + [parts.sum() for parts in of_classes]
        k = int(np.argmax(scores)) if class_ is None else number_of(self.model, "class_", class_)
        if against is None and len(labels) == 2:  # the score of two classes is a difference
            against = labels[1 - k]
        parts, intercept = of_classes[k], float(self.intercepts[k])
        if against is not None:
            other = number_of(self.model, "against", against)
            parts, intercept = parts - of_classes[other], intercept - float(self.intercepts[other])
        return RowScore(labels[k], against, "mean", self.means[k], parts, intercept)

    def parts(self, k: int, x: np.ndarray) -> np.ndarray:
        """The contribution of each feature of a row to the score of a class, (n_features,)."""
        d, inverse = x - self.means[k], self.precisions[k]
        return -0.5 * d * (inverse @ d if inverse.ndim == 2 else inverse * d)

    def divergences(self, k: int) -> np.ndarray:
        """The divergence of each feature of a class, by itself, from the same feature of each class, (K, n_features).

        ``ln(s_c / s_k) + (s_k^2 + (mu_k - mu_c)^2) / (2 s_c^2) - 1 / 2``: the mean of ln p_k(x_j) - ln p_c(x_j) over
        rows of class k (Kullback and Leibler 1951); 0 for features that do not vary.
        """
        varies = (self.variances > 0.0).all(axis=0)
        variances = np.where(varies, self.variances, 1.0)
        ratio = variances[k] / variances
        divergences = 0.5 * (ratio + (self.means[k] - self.means) ** 2 / variances - 1.0 - np.log(ratio))
        return np.where(varies, np.maximum(divergences, 0.0), 0.0)  # rounding may leave less than 0


def normals_of(model: LinearModel) -> Normals | None:
    """The normal distributions of a model with quadratic scores; None for other models."""
    intercepts = model.intercept_ if len(model.intercept_) > 1 else np.append(0.0, model.intercept_)
    if isinstance(model, QuadraticModel):
        precisions = 2.0 * model.halves.T
        return Normals(model, model.weights.T, 1.0 / precisions, precisions, intercepts)
    if isinstance(model, CovarianceModel) and model.quadratic:
        precisions = model.roots @ model.roots.transpose(0, 2, 1)
        kept, variances = np.flatnonzero(model.roots[0].any(axis=1)), np.zeros(model.means.shape)
        covariances = np.linalg.inv(precisions[:, kept][:, :, kept])
        variances[:, kept] = np.diagonal(covariances, axis1=1, axis2=2)
        return Normals(model, model.means, variances, model.factor * precisions, intercepts)
    return None


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


def contributions(
    model: LinearModel, names: Any, rows: Source, class_: Any, against: Any, own: Source | None = None
) -> Any:
    """A data frame of the contributions of the features of one row to a score, the largest first, and the intercept.

    `own` has the row before a map was applied to its columns, if one was.

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
    values, given = np.split(row_of(partial(_values, model), rows, 2 * model.n_features), 2)
    given = given if own is None else row_of(dense_values, own, model.n_features)
    score = row_score(model, values, class_, against) if normals is None else normals.row_score(values, class_, against)
    order = np.argsort(-abs(score.parts), kind="stable")
    order = order[score.parts[order] != 0.0]
    factors = score.factors
    if normals is None and model.scale is not None and np.allclose(given * model.scale, values, atol=0.0):
        values, factors = given, factors * model.scale  # weights of values in the units of the rows
    columns = {"value": np.append(1.0, given[order]), "transformed": np.append(1.0, values[order])}
    if np.allclose(given, values, atol=0.0):
        del columns["transformed"]
    of_intercept = score.intercept if score.column == "weight" else np.nan
    columns |= {score.column: np.append(of_intercept, factors[order])}
    columns |= {"contribution": np.append(score.intercept, score.parts[order])}
    if _are_log_odds(model, score):
        columns["probability"] = expit(np.cumsum(columns["contribution"]))
    frame = pandas_for("explain").DataFrame({"feature": np.append("(intercept)", names[order]), **columns})
    frame["class"] = score.class_
    total = float(score.intercept + score.parts.sum())
    frame.attrs |= {"class": score.class_, "against": score.against, "score": total}
    return frame


def _are_log_odds(model: LinearModel, score: RowScore) -> bool:
    """Whether a score is that of the log-odds of a class, against the other one or the named one."""
    scheme = model.scheme
    if not scheme.has_probabilities:
        return False
    return isinstance(scheme, TwoClasses) or (scheme.name == "joint" and score.against is not None)


def row_of(function: Any, rows: Source, n_features: int) -> np.ndarray:
    """Apply a function to the only row, (n_features,)."""
    if rows.n_rows not in (1, None):
        raise ValueError(f"X has {rows.n_rows:,} rows; explain is of one, such as X[[0]]")
    values = np.asarray(answer(function, rows, n_features, np.dtype(np.float64)))
    if len(values) != 1:
        raise ValueError(f"X has {len(values):,} rows; explain is of one")
    return values[0]


def dense_values(chunk: Chunk, survey: Any) -> np.ndarray:
    """The values of a checked block as a dense array."""
    matrix: Any = chunk.to_matrix()
    return matrix.toarray() if sp.issparse(matrix) else np.asarray(matrix, np.float64)


def _values(model: LinearModel, chunk: Chunk, survey: Any) -> np.ndarray:
    """The values that weights are multiplied by, and those of the rows if each has a column, (n_rows, 2 n_features)."""
    values, given = dense_values(model.prepared(chunk, survey), survey), dense_values(chunk, survey)
    values = values + model.absent
    values = values if model.scale is None else values * model.scale
    return np.hstack([values, given if given.shape == values.shape else values])


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
