"""What a classifier says of cells, or of any rows with named features: markers of classes, and columns of AnnData."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from streamnb.core import arguments
from streamnb.rows.matrices import made_by


class AnnotatesCells:
    """A linear classifier that names the features that tell its classes, and writes what it decides into AnnData."""

    classes_: np.ndarray
    coef_: Any
    predict: Any
    _model: Any

    def markers(self, n_features: int = 10) -> Any:
        """The features that speak for each class, most of all against the other classes.

        Parameters
        ----------
        n_features : int
            How many of each class, at most.

        Returns
        -------
        pandas.DataFrame
            With the columns "class", "feature" (its name, or its number) and "weight", a class after the other, the
            largest weight first. The weight is that of a unit of the feature in the score of the class less the mean
            of those in the scores of the other classes, ``w_k - sum_{c != k} w_c / (K - 1)``; for two classes half of
            that, the one of `coef_` or its opposite; for labels of a 2-D y and for scheme="ovr" and "reference" that of
            the class against the rest or the reference. Only weights above 0 are listed.

        Raises
        ------
        ValueError
            scheme="ovo", whose weights are of pairs of classes.

        Examples
        --------
        >>> import numpy as np, streamnb as snb
        >>> X, y = np.array([[3.0, 0.0, 1.0], [0.0, 4.0, 1.0], [2.0, 1.0, 1.0]]), ["B cell", "T cell", "B cell"]
        >>> snb.LinearNB().fit(X, y).markers(1)[["class", "feature"]].values.tolist()
        [['B cell', 0], ['T cell', 1]]
        """
        from pandas import DataFrame

        n_features = arguments.positive_integer("n_features", n_features)
        coef = self.coef_
        coef = sp.csr_array(coef) if sp.issparse(coef) else np.atleast_2d(coef)
        names = np.asarray(getattr(self, "feature_names_in_", np.arange(coef.shape[1])), object)
        if len(names) != coef.shape[1]:  # columns that were made of those of X
            names = np.asarray(getattr(self, "column_names_", np.arange(coef.shape[1])), object)
        found: dict[str, list[Any]] = {"class": [], "feature": [], "weight": []}
        for label, weights in _contrasts(coef, self._model.scheme, self.classes_.tolist()):
            best = np.argsort(-weights, kind="stable")[:n_features]
            best = best[weights[best] > 0.0]
            found["class"] += [label] * len(best)
            found["feature"] += names[best].tolist()
            found["weight"] += weights[best].tolist()
        return DataFrame(found)

    def annotate(self, adata: Any, key: str = "predicted") -> Any:
        """Add columns to `obs` of an AnnData object: the class of each cell, and how probable it is.

        Parameters
        ----------
        adata : AnnData
            With the features that were fitted, in `X` or the layer of `fit`; in memory, or backed by its file, which
            stays as it is.
        key : str
            Of the column of labels, a categorical of all classes; probabilities, where the model has any, are in
            ``key + "_probability"``.

        Returns
        -------
        AnnData
            The same object.
        """
        if not (made_by(adata, "anndata") and hasattr(adata, "obs")):
            raise TypeError(
                f"adata is of type {type(adata).__name__}; it should be an AnnData object, whose obs is written to"
            )
        from pandas import Categorical

        labels = self.predict(adata)
        if np.ndim(labels) != 1:
            raise ValueError("annotate is for one label a row; put each column of predict(adata) into obs by itself")
        proba = self.predict_proba(adata).max(axis=1) if hasattr(self, "predict_proba") else None
        adata.obs[key] = Categorical(labels, categories=self.classes_)
        if proba is not None:
            adata.obs[f"{key}_probability"] = proba
        return adata


def _contrasts(coef: Any, scheme: Any, labels: list[Any]) -> Iterator[tuple[Any, np.ndarray]]:
    """Yield each label and the weights that speak for it, dense."""
    if scheme.name == "ovo" and len(labels) > 2:
        raise ValueError("scheme='ovo' has weights of pairs of classes, and none of a class by itself; see coef_")
    if coef.shape[0] == 1 and len(labels) == 2:
        weights = _dense(coef, 0)
        yield from ((labels[0], -weights), (labels[1], weights))
        return
    if scheme.reference is not None:
        labels = [label for k, label in enumerate(labels) if k != scheme.reference]
    alone = scheme.multilabel or scheme.reference is not None or scheme.name == "ovr"
    total = None if alone else np.asarray(coef.sum(axis=0)).reshape(-1)
    for k, label in enumerate(labels):
        weights = _dense(coef, k)
        yield label, weights if total is None else weights - (total - weights) / (len(labels) - 1)


def _dense(coef: Any, k: int) -> np.ndarray:
    return coef[[k]].toarray().reshape(-1) if sp.issparse(coef) else coef[k]
