"""Explains the prediction of one row by its features."""

from __future__ import annotations

from typing import Any

import numpy as np

from streamnb.core.frames import pandas_for
from streamnb.core.types import Rows
from streamnb.passes.answering import answer


def explain(self: Any, X: Rows) -> Any:
    """Explain the prediction of one row by the contribution of each feature.

    Parameters
    ----------
    X : (1, n_features)
        One row, in any form that `predict` takes.

    Returns
    -------
    pandas.DataFrame
        With the columns "feature", "value", "weight" and "contribution" (and "target" where there are several);
        "(intercept)" first, then the largest contributions. They add up to the prediction.
    """
    pd, rows = pandas_for("explain"), self._opened(X)
    values = np.asarray(answer(_values, rows, rows.n_features, np.dtype(np.float64)))
    if len(values) != 1:
        raise ValueError(f"X has {len(values)} rows; explain takes one")
    weights, intercepts = self._weights
    names = np.array(["(intercept)", *(self._name_of(j) for j in range(len(weights)))], object)
    frames = []
    for k in range(weights.shape[1]):
        parts = values[0] * weights[:, k]
        order = np.argsort(-np.abs(parts), kind="stable")
        at = np.append(0, 1 + order)
        found, own = np.append(1.0, values[0]), np.append(intercepts[k], weights[:, k])
        frame = pd.DataFrame({"feature": names[at], "value": found[at], "weight": own[at]})
        frame["contribution"] = frame["value"] * frame["weight"]
        frames.append(frame if weights.shape[1] == 1 else frame.assign(target=k))
    return pd.concat(frames, ignore_index=True)


def _values(chunk: Any, survey: Any) -> np.ndarray:
    matrix = chunk.to_matrix()
    return matrix.toarray() if hasattr(matrix, "toarray") else np.asarray(matrix, np.float64)
