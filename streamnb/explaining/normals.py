"""Explains models of normal rows: quadratic scores, feature by feature.

A score is ``ln P(k) - ln det(2 pi Sigma_k) / 2 - d' Sigma_k^-1 d / 2`` with d = x - mu_k. The last term is a sum over
features of ``-d_j (Sigma_k^-1 d)_j / 2``, the partition of the Mahalanobis distance by Garthwaite and Koch (2016),
"Evaluating the contributions of individual variables to a quadratic form". The other terms are the intercept.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from streamnb.explaining.weights import RowScore, number_of
from streamnb.models.linear import LinearModel
from streamnb.models.quadratic import CovarianceModel, QuadraticModel


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
