"""Weights, dense or sparse: scores of rows, how weights are scaled and saved, and when dense ones score faster."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from streamnb.core import memory, persistence
from streamnb.core.csr import of_saved_parts, saved_parts
from streamnb.rows.chunk import Chunk

FEW_WEIGHTS = 1 / 4  # share of nonzero weights below which these with their places take less than half the space
QUICK_WEIGHTS = 1 / 20  # share of nonzero weights below which sparse weights score faster
IN_FULL = 1 << 28  # bytes up to which weights are made dense for dense rows


def quicker_in_full(weights: sp.csr_array, dense_rows: bool) -> bool:
    """Return whether sparse weights (n_features, R) score rows faster once dense, to the same bits."""
    n_bytes = 8 * weights.shape[0] * weights.shape[1]
    if weights.nnz >= QUICK_WEIGHTS * weights.shape[0] * weights.shape[1]:
        return n_bytes <= IN_FULL or n_bytes <= memory.allowed(None)
    return dense_rows and n_bytes <= IN_FULL


def linear_scores(chunk: Chunk, weights: np.ndarray, intercepts: np.ndarray) -> np.ndarray:
    """Return the scores of rows under dense weights (n_features, R), (n_rows, R); intercepts are added last."""
    scores = np.zeros((chunk.shape[0], weights.shape[1]))
    chunk.add_scores(weights, scores)
    scores += intercepts
    return scores


def scaled(weights: Any, factors: np.ndarray | None) -> Any:
    """Return weights (n_features, R) times a factor of each feature, such as idf; sparse ones stay sparse."""
    if factors is None:
        return weights
    return sp.diags_array(factors) @ weights if sp.issparse(weights) else weights * factors[:, None]


def stored(weights: Any) -> Any:
    """Return weights (n_features, R) as they are saved: all, or only the nonzero ones if these are few."""
    if sp.issparse(weights):
        return saved_parts(weights)
    kept = weights.view(np.int64).T != 0  # -0.0 is kept, too
    if np.count_nonzero(kept) > FEW_WEIGHTS * kept.size:
        return weights
    rows, columns = np.nonzero(kept)
    return {"coef": saved_parts(sp.csr_array((weights.T[kept], (rows, columns)), shape=kept.shape))}


def of_stored(saved: Any) -> Any:
    """Restore weights (n_features, R) from `stored`: dense if they were dense and fit into memory."""
    if isinstance(saved, np.ndarray):
        return persistence.array("weights", saved, ["f8"], (None, None))
    coef = of_saved_parts(saved["coef"] if isinstance(saved, dict) else saved, "weights")
    persistence.array("weights", coef.data, ["f8"], (None,))
    if not isinstance(saved, dict):
        return coef
    limit = memory.allowed(None)
    if 8 * coef.shape[1] > limit:
        raise MemoryError(f"coef_ has {coef.shape[1]:,} columns, more than half of the free memory could hold")
    if 8 * coef.shape[0] * coef.shape[1] > limit:
        return sp.csr_array(coef.T)
    weights = np.zeros(coef.shape[::-1])
    weights[coef.indices, np.repeat(np.arange(coef.shape[0]), np.diff(coef.indptr))] = coef.data
    return weights
