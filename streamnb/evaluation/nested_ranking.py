"""Ranks rows by nested models, each of which adds features to the one before it."""

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from streamnb.core import row_checks
from streamnb.evaluation.score_order import Histogram, Ranking
from streamnb.kernels import nested, ranks
from streamnb.kernels.lanes import LANES


class Steps(NamedTuple):
    """Changes of the scores of rows over G models: row rows[t] has scores[t] from a model on.

    The steps of model g end at ends[g] and begin where those of the previous model end; model 0 has one for every row.
    """

    ends: np.ndarray
    rows: np.ndarray
    scores: np.ndarray

    @classmethod
    def of(cls, scores: np.ndarray) -> "Steps":
        """The steps of all scores (n, G), without leaving out unchanged ones."""
        n_rows, n_points = scores.shape
        rows = np.tile(np.arange(n_rows, dtype=np.int32), n_points)
        return cls(n_rows * np.arange(1, n_points + 1), rows, scores.T.flatten())

    def of_all(self) -> np.ndarray:
        """All scores, (n, G)."""
        scores = np.empty((self.ends[0], len(self.ends)))
        for model, (begin, end) in enumerate(pairwise([0, *self.ends.tolist()])):
            scores[:, model] = scores[:, max(model - 1, 0)]
            scores[self.rows[begin:end], model] = self.scores[begin:end]
        return scores


class NestedRanking(Ranking):
    """One column of scores for each of G nested models, as a `Ranking` of one label.

    The histograms share one grid of bins, so that a row whose score a model leaves unchanged stays in its bin.
    """

    def __init__(self, *, exact_rows: int, n_bins: int, n_models: int):
        options: Any = {"multilabel": True, "pairs": False, "exact_rows": exact_rows, "n_bins": n_bins}
        super().__init__(1, n_models=n_models, **options)

    def add_steps(self, steps: Steps, labels: np.ndarray, weight: np.ndarray) -> None:
        """Add rows with these scores; labels (n, 1), positive weights (n,)."""
        histogram = self.counting(len(weight))
        whole = None if histogram is None else histogram.weights(weight)
        if histogram is None or whole is None or whole.dtype != np.int32:
            scores = row_checks.check_scores(steps.of_all(), len(weight), self._n_models)
            self.add(scores[:, None], labels, weight)
            return
        self.n_rows += len(weight)
        self._widen(histogram, steps.scores)
        shift, first = histogram.shift[0], histogram.first[0]
        n_used = int(histogram.high[0] >> shift) - first + 1 if histogram.low[0] <= histogram.high[0] else 0
        bins, close = np.empty((2, len(weight)), np.int32), np.zeros(2 * (n_used + 2), np.int32)
        nested.count(*steps, labels[:, 0], whole, shift, first, bins, close, histogram.table)

    def _fill(self, histogram: Histogram, scores: np.ndarray, groups: np.ndarray, weight: np.ndarray) -> None:
        self._widen(histogram, scores[:, :, : self._n_models])
        super()._fill(histogram, scores, groups, weight)

    def _widen(self, histogram: Histogram, scores: np.ndarray) -> None:
        """Widen the shared bins to cover these scores."""
        flat = np.ascontiguousarray(scores).reshape(-1)
        whole, low, high = len(flat) - len(flat) % LANES, np.empty((2, LANES)), np.empty((2, LANES))
        rest = np.resize(flat[whole:], (int(whole < len(flat)), LANES))
        parts = flat[:whole].reshape(-1, LANES), rest
        for part, least, most in zip(parts, low, high, strict=True):
            if ranks.extremes(part, least, most):
                row_checks.check_scores(flat, len(flat), 1)  # reports where a NaN is
        histogram.widen(np.full(self._n_models, low.min()), np.full(self._n_models, high.max()))
