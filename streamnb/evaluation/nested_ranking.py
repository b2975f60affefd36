"""The order of scores by models of which each has the features of the one before it, and some more."""

from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from streamnb.evaluation.score_order import Histogram, Ranking
from streamnb.kernels import nested


class Steps(NamedTuple):
    """Scores of rows by G models, where they change: from a model on, row rows[t] has scores[t].

    Those of model g end at ends[g], and begin where those of the model before it end; those of model 0 are all rows.
    """

    ends: np.ndarray
    rows: np.ndarray
    scores: np.ndarray

    @classmethod
    def of(cls, scores: np.ndarray) -> "Steps":
        """Of all scores (n, G)."""
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
    """One column of scores of each of G nested models, as a `Ranking` of one label.

    The histograms have one grid of bins for all models, and are kept as differences from one model to the next: a row
    then costs as much as it has features, not as there are models.
    """

    nested = True

    def __init__(self, *, exact_rows: int, n_bins: int, n_models: int):
        options: Any = {"multilabel": True, "pairs": False, "exact_rows": exact_rows, "n_bins": n_bins}
        super().__init__(1, n_models=n_models, **options)
        self._blocks: list[Any] = []  # steps, labels, weights

    def add(self, scores: np.ndarray, labels: np.ndarray, weight: np.ndarray) -> None:
        self.add_steps(Steps.of(scores[:, 0, : self._n_models]), labels, weight)

    def add_steps(self, steps: Steps, labels: np.ndarray, weight: np.ndarray) -> None:
        """Add rows with these scores, not NaN; labels (n, 1), positive weights (n,)."""
        self.__dict__.pop("_of_models", None)
        self.n_rows += len(weight)
        if self.is_exact and self.n_rows <= self.exact_rows:  # copies: the caller may fill the same buffers again
            self._blocks.append((Steps(*(part.copy() for part in steps)), labels, weight))
        else:
            self._count(self._spill(), steps, labels, weight)

    def _count(self, histogram: Histogram, steps: Any, labels: np.ndarray, weight: np.ndarray) -> None:
        low, high = steps.scores.min(), steps.scores.max()
        if not np.isfinite([low, high]).all():
            finite = steps.scores[np.isfinite(steps.scores)]
            low, high = finite.min(initial=np.inf), finite.max(initial=-np.inf)
        histogram.widen(np.full(self._n_models, low), np.full(self._n_models, high))
        bins = np.empty((2, len(weight)), np.int32)
        nested.count(*steps, labels[:, 0], weight, histogram.shift[0], histogram.first[0], bins, histogram.table)

    def __add__(self, other: "Ranking") -> "Ranking":
        total = super().__add__(other)
        total.__dict__.pop("_of_models", None)
        return total

    @cached_property
    def _of_models(self) -> list[np.ndarray]:
        """The histograms of all models, (G, bins, groups), or the scores of each block, (n, G)."""
        if self._histogram is None:
            return [steps.of_all() for steps, _, _ in self._blocks]
        return [self._histogram.table.cumsum(axis=0)]

    def of_model(self, model: int) -> Ranking:
        one = Ranking(1, multilabel=True, pairs=False, exact_rows=self.exact_rows, n_bins=self.n_bins)
        one.n_rows, columns = self.n_rows, slice(model, model + 1)
        if self._histogram is not None:
            one._histogram = self._histogram.with_table(self._of_models[0]).of_columns(columns)
        else:
            blocks = zip(self._of_models, self._blocks, strict=True)
            one._blocks = [(scores[:, columns], labels, weight) for scores, (_, labels, weight) in blocks]
        return one

    def to_state(self) -> dict[str, Any]:
        blocks = [[steps.of_all(), labels, weight] for steps, labels, weight in self._blocks]
        return {**super().to_state(), "blocks": blocks}

    def restore(self, state: dict[str, Any]) -> None:
        super().restore(state)
        self._blocks = [(Steps.of(scores), labels, weight) for scores, labels, weight in self._blocks]
