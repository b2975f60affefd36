"""Explains models of normal rows: quadratic scores, feature by feature.

A score is ``ln P(k) - ln det(2 pi Sigma_k) / 2 - d' Sigma_k^-1 d / 2`` with d = x - mu_k. The last term is a sum over
features of ``-d_j (Sigma_k^-1 d)_j / 2``, the partition of the Mahalanobis distance by Garthwaite and Koch (2016),
"Evaluating the contributions of individual variables to a quadratic form". The other terms are the intercept.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from streamnb.core import arguments
from streamnb.explaining.feature_tables import frame_of, listed, names_of, row_of, values_of
from streamnb.explaining.weights import number_of
from streamnb.models.covariance import CovarianceModel
from streamnb.models.linear import LinearModel
from streamnb.models.quadratic import QuadraticModel

COLUMNS = "feature", "value", "mean", "contribution"


@dataclass(frozen=True)
class Normals:
    """Means and variances of the classes, (K, n_features), and the precisions that scores multiply, or their diagonals.

    Precisions are the inverses of the covariances, times the factor of a calibration.
    """

    means: np.ndarray
    variances: np.ndarray
    precisions: np.ndarray
    intercepts: np.ndarray

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
        found = 0.5 * (ratio + (self.means[k] - self.means) ** 2 / variances - 1.0 - np.log(ratio))
        return np.where(varies, found, 0.0)


def normals_of(model: LinearModel) -> Normals | None:
    """The normal distributions of a model with quadratic scores; None for other models."""
    intercepts = model.intercept_ if len(model.intercept_) > 1 else np.append(0.0, model.intercept_)
    if isinstance(model, QuadraticModel):
        precisions = 2.0 * model.halves.T
        return Normals(model.weights.T, 1.0 / precisions, precisions, intercepts)
    if isinstance(model, CovarianceModel) and model.quadratic:
        precisions = model.roots @ model.roots.transpose(0, 2, 1)
        kept, variances = np.flatnonzero(model.roots[0].any(axis=1)), np.zeros(model.means.shape)
        covariances = np.linalg.inv(precisions[:, kept][:, :, kept])
        variances[:, kept] = np.diagonal(covariances, axis1=1, axis2=2)
        return Normals(model.means, variances, model.factor * precisions, intercepts)
    return None


def strongest_features(model: LinearModel, names: Any, n_features: int) -> Any:
    """A data frame of the features of each class that diverge most from those of the other classes."""
    n_features, normals = arguments.positive_integer("n_features", n_features), normals_of(model)
    assert normals is not None
    names, labels = names_of(names, model.n_features), model.classes_.tolist()
    rows: list[tuple[Any, ...]] = []
    for k, label in enumerate(labels):
        mean = normals.divergences(k).sum(axis=0) / (len(labels) - 1)
        rows += listed(label, names, mean, mean, n_features)
    return frame_of(("class", "feature", "weight"), rows)


def contrasting_features(model: LinearModel, names: Any, class_: Any, against: Any, n_features: int) -> Any:
    """A data frame of the features that best separate rows of one class from another, for each of the two."""
    n_features, normals = arguments.positive_integer("n_features", n_features), normals_of(model)
    assert normals is not None
    names = names_of(names, model.n_features)
    k, other = number_of(model, "class_", class_), number_of(model, "against", against)
    here, there = normals.divergences(k)[other], normals.divergences(other)[k]
    rows = [*listed(class_, names, here, here, n_features), *listed(against, names, -there, there, n_features)]
    return frame_of(("class", "feature", "weight"), rows)


def contributions(model: LinearModel, names: Any, rows: Any, class_: Any, against: Any) -> Any:
    """A data frame of the contributions of the features of one row to a score, the largest first, and the intercept."""
    normals = normals_of(model)
    assert normals is not None
    if model.curves is not None:
        raise ValueError("explain is of scores that are sums over features; these go through isotonic calibration")
    x, names = row_of(partial(values_of, model), rows, model.n_features), names_of(names, model.n_features)
    every = [normals.parts(k, x) for k in range(len(model.classes_))]
    scores = normals.intercepts + [one.sum() for one in every]
    k = int(np.argmax(scores)) if class_ is None else number_of(model, "class_", class_)
    if against is None and len(model.classes_) == 2:  # the score of two classes is a difference
        against = model.classes_.tolist()[1 - k]
    added, intercept = every[k], float(normals.intercepts[k])
    if against is not None:
        other = number_of(model, "against", against)
        added, intercept = added - every[other], intercept - float(normals.intercepts[other])
    order = np.argsort(-abs(added), kind="stable")
    order = order[added[order] != 0.0]
    columns = (each[order].tolist() for each in (names, x, normals.means[k], added))
    frame = frame_of(COLUMNS, [("(intercept)", 1.0, np.nan, intercept), *zip(*columns, strict=True)])
    score = float(intercept + added.sum())
    frame.attrs |= {"class": model.classes_.tolist()[k], "against": against, "score": score}
    return frame
