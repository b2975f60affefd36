"""Markers of classes, and predictions written to AnnData."""

from __future__ import annotations

from typing import Any

import numpy as np

from streamnb.estimators.preparation import names_of_columns
from streamnb.explaining.feature_tables import strongest_features
from streamnb.rows.matrices import made_by


def markers(self: Any, n_features: int = 10) -> Any:
    """The features with the strongest evidence for each class against the others.

    Parameters
    ----------
    n_features : int
        The largest number of features per class.

    Returns
    -------
    pandas.DataFrame
        As from `top_features`, but only weights above 0, largest first.

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
    return strongest_features(self._explained(), names_of_columns(self), n_features, positive=True)


def annotate(self: Any, adata: Any, key: str = "predicted") -> Any:
    """Add columns to `obs` of an AnnData object: the predicted class of each cell and its probability.

    Parameters
    ----------
    adata : AnnData
        With the fitted features, in `X` or the layer of `fit`; in memory or backed by its file, which is not changed.
    key : str
        Name of the column of labels, a categorical of all classes; probabilities, if the model has any, are in
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
