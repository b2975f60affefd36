"""Weights that are mostly zero: how they are saved, and which rows they score sooner when they are laid out in full."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from streamnb.core import arguments, memory, persistence
from streamnb.core.csr import sound_csr

FEW_WEIGHTS = 1 / 4  # that are not zero: by themselves, with their places, these take less than half of the room
QUICK_WEIGHTS = 1 / 20  # that are not zero: of fewer, each is found sooner than those that are zero are multiplied
IN_FULL = 1 << 28  # bytes of weights that are laid out for dense rows, all of whose features are to be multiplied
_INDEX = ["i4", "i8"]


def quicker_in_full(weights: sp.csr_array, dense_rows: bool) -> bool:
    """Whether sparse weights (n_features, R) score rows sooner once laid out in full, to the same bits."""
    n_bytes = 8 * weights.shape[0] * weights.shape[1]
    if weights.nnz >= QUICK_WEIGHTS * weights.shape[0] * weights.shape[1]:
        return n_bytes <= IN_FULL or n_bytes <= memory.allowed(None)
    return dense_rows and n_bytes <= IN_FULL


def stored(weights: Any) -> Any:
    """Weights (n_features, R) as they are saved: all of them, or those that are not zero where these are few."""
    if sp.issparse(weights):
        return _parts(weights)
    kept = weights.view(np.int64).T != 0  # -0.0 is kept, too
    if np.count_nonzero(kept) > FEW_WEIGHTS * kept.size:
        return weights
    rows, columns = np.nonzero(kept)
    return {"coef": _parts(sp.csr_array((weights.T[kept], (rows, columns)), shape=kept.shape))}


def _parts(matrix: Any) -> list[Any]:
    return [matrix.data, matrix.indices, matrix.indptr, list(matrix.shape)]


def of_stored(saved: Any) -> Any:
    """Weights (n_features, R) as `stored` left them: dense if they were, as long as that fits into memory."""
    if isinstance(saved, np.ndarray):
        return persistence.array("weights", saved, ["f8"], (None, None))
    coef = _of_parts(saved["coef"] if isinstance(saved, dict) else saved)
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


def _of_parts(saved: Any) -> sp.csr_array:
    data, indices, indptr, shape = saved
    for name, values, dtypes in (("data", data, ["f8"]), ("indices", indices, _INDEX), ("indptr", indptr, _INDEX)):
        persistence.array(name, values, dtypes, (None,))
    shape = [arguments.whole_number("shape", n) for n in shape]
    return sound_csr(sp.csr_array((data, indices, indptr), shape=shape), "weights")
