"""Finds the class with the highest score, of hundreds or thousands, without the scores of all.

Neighbouring classes, such as the species of a genus, often have much the same weights. So rows are first scored by the
largest weight of each feature in each tile of classes. Where values are above 0, no class of a tile scores more than
that, in floating point either: sums of larger numbers in the same order are never rounded to smaller ones. Then only
tiles whose bound reaches the best score so far are looked through.
"""

from itertools import pairwise

import numpy as np

from streamnb.models.sparse_weights import linear_scores
from streamnb.rows.chunk import Chunk

TILE = 16  # classes under one bound
MANY = 16 * TILE  # classes from which on bounds pay
OPEN = 0.25  # share of tiles to look through above which all scores take no longer
TRIED = 16  # rows that show whether bounds help
BOUNDS = 1 << 22  # held at once


class ClassTiles:
    """Weights (n_features, K) and intercepts (K,), with the largest of each tile of classes."""

    def __init__(self, weights: np.ndarray, intercept: np.ndarray):
        starts = np.arange(0, len(intercept), TILE)
        self._of_classes, self._n = (weights, intercept), len(starts)
        self._largest = np.maximum.reduceat(weights, starts, axis=1), np.maximum.reduceat(intercept, starts)

    def top_classes(self, chunk: Chunk) -> np.ndarray | None:
        """The first class with the highest score of each row; None if bounds are unsafe or do not help."""
        if not chunk.stored.min(initial=1.0) > 0.0:
            return None
        top, step = [], max(BOUNDS // self._n, 1)
        for start, stop in pairwise([0, *range(TRIED, chunk.shape[0], step), chunk.shape[0]]):
            of_rows = self._top_classes(chunk.of_rows(start, stop))
            if of_rows is None:
                return None
            top.append(of_rows)
        return np.concatenate(top)

    def _top_classes(self, chunk: Chunk) -> np.ndarray | None:
        bounds = linear_scores(chunk, *self._largest)
        if not np.isfinite(bounds).all():  # some weights may be infinite, and scores NaN
            return None
        likeliest = np.zeros(bounds.shape, np.bool_)
        likeliest[np.arange(len(bounds)), bounds.argmax(axis=1)] = True
        best, top = np.full(len(bounds), -np.inf), np.zeros(len(bounds), np.intp)
        self._look_through(chunk, likeliest, best, top)
        still_open = (bounds >= best[:, None]) & ~likeliest
        if still_open.mean() > OPEN:
            return None
        self._look_through(chunk, still_open, best, top)
        return top

    def _look_through(self, chunk: Chunk, tiles: np.ndarray, best: np.ndarray, top: np.ndarray) -> None:
        """Replace the best score of each row and its class by better ones of its `tiles`, (n_rows, n_tiles) bool."""
        for tile in np.flatnonzero(tiles.any(axis=0)).tolist():
            rows, first = np.flatnonzero(tiles[:, tile]), tile * TILE
            scores = linear_scores(chunk.picked(rows), *(part[..., first : first + TILE] for part in self._of_classes))
            of_tile = scores.argmax(axis=1)
            score, classes = scores[np.arange(len(rows)), of_tile], first + of_tile
            better = (score > best[rows]) | ((score == best[rows]) & (classes < top[rows]))
            best[rows[better]], top[rows[better]] = score[better], classes[better]
