"""A model as JSON that a few lines of NumPy, or of any language, predict with; see docs/export.md."""

import json
from typing import Any

import numpy as np
import scipy.sparse as sp

from streamnb.encoding.bins import BinEdges
from streamnb.export.portable import Portable, RowStep

VERSION = 1


def as_json(model: Portable) -> dict[str, Any]:
    """What the file holds.

    Weights are listed class by class, those that are not zero with their columns.
    """
    weights = sp.csc_array(model.weights)
    ends = weights.indptr.tolist()
    classes = [
        {
            "class": label,
            "intercept": float(intercept),
            "columns": weights.indices[first:last].tolist(),
            "weights": weights.data[first:last].tolist(),
        }
        for label, intercept, first, last in zip(model.classes, model.intercept, ends[:-1], ends[1:], strict=True)
    ]
    return {
        "format": "streamnb linear model",
        "version": VERSION,
        "n_features": model.n_features,
        "feature_names": model.names,
        "steps": [_step(step) for step in model.steps],
        "n_columns": weights.shape[0],
        "scores": classes,
        "probabilities": model.probabilities,
        "multilabel": model.multilabel,
    }


def json_bytes(model: Portable) -> bytes:
    """The file."""
    return json.dumps(as_json(model), allow_nan=False).encode()


def _step(step: RowStep) -> dict[str, Any]:
    value = step.value
    if isinstance(value, BinEdges):
        return {"do": "bins", "edges": [edges.tolist() for edges in value.edges], "missing": value.missing.tolist()}
    value = value.tolist() if isinstance(value, np.ndarray) else value
    columns = None if step.columns is None else step.columns.tolist()
    return {
        name: given for name, given in (("do", step.do), ("value", value), ("columns", columns)) if given is not None
    }
