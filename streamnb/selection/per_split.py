"""Procedure 7.1 of Shishkova 2016: the number of features is chosen in each split, then averaged."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from streamnb.problem.penalties import TopK

SLACK = 0.01  # a score less than this below the best one of its split is good enough


def features_per_split(scores: np.ndarray, k: np.ndarray) -> int | None:
    """How many features: in each split s the smallest k with scores[k, s] > max_k scores[k, s] - 0.01, then their mean.

    Parameters
    ----------
    scores : (G, S)
        NaN where a split has no score; a split without any has no k.
    k : (G,) int
        Numbers of features, each once.

    Returns
    -------
    int or None
        The mean, halves rounded up: a number that need not be on the grid. None where no split has a score.
    """
    order = np.argsort(k)
    defined = ~np.isnan(scores).all(axis=0)
    if not defined.any():
        return None
    scores = scores[np.ix_(order, np.flatnonzero(defined))]
    enough = scores > np.nanmax(scores, axis=0) - SLACK
    chosen = k[order][enough.argmax(axis=0)]
    return int((2 * chosen.sum() + len(chosen)) // (2 * len(chosen)))


def points_alike(grid: Sequence[dict[str, Any]], point: int) -> tuple[np.ndarray, np.ndarray]:
    """The points that differ from one in the number of features alone, and these numbers."""
    rest = [{kind: tau for kind, tau in other.items() if kind != TopK.kind} for other in grid]
    alike = np.flatnonzero([one == rest[int(point)] for one in rest])
    return alike, np.array([grid[i][TopK.kind] for i in alike.tolist()])


def nearest(k: np.ndarray, wanted: int) -> int:
    """Where the number nearest to the one that is wanted stands; of two the lower."""
    return int(np.lexsort([k, np.abs(k - wanted)])[0])
