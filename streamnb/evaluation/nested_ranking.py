"""The order of scores by models of which each has the features of the one before it, and some more."""

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from streamnb.evaluation.score_order import Histogram, Ranking
from streamnb.kernels import nested


class Steps(NamedTuple):
    """Scores of rows by G models, where they change: scores[t] from model points[t] on.

    Those of row i end at ends[i], and begin where those of the row before it end, at model 0.
    """

    ends: np.ndarray
    points: np.ndarray
    scores: np.ndarray

    @classmethod
    def of(cls, scores: np.ndarray) -> "Steps":
        """Of all scores (n, G)."""
        n_rows, n_points = scores.shape
        points = np.tile(np.arange(n_points, dtype=np.int32), n_rows)
        return cls(n_points * np.arange(1, n_rows + 1), points, scores.reshape(-1))

    def of_all(self, n_points: int) -> np.ndarray:
        """All scores, (n, G)."""
        stops = np.append(self.points[1:], 0)
        stops[stops == 0] = n_points
        return np.repeat(self.scores, stops - self.points).reshape(len(self.ends), n_points)


class NestedRanking(Ranking):
    """One column of scores of each of G nested models, as a `Ranking` of one label.

    The histograms have one grid of bins for all models, and are kept as differences from one model to the next: a row
    then costs as much as it has features, not as there are models.
    """

    def __init__(self, *, exact_rows: int, n_bins: int, n_models: int):
        options: Any = {"multilabel": True, "pairs": False, "exact_rows": exact_rows, "n_bins": n_bins}
        super().__init__(1, n_models=n_models, **options)
        self._blocks: list[Any] = []  # steps, labels, weights

    @property
    def _shape(self) -> tuple[int, int]:
        return 1, self._n_groups * self._n_models

    def add(self, scores: np.ndarray, labels: np.ndarray, weight: np.ndarray) -> None:
        self.add_steps(Steps.of(scores[:, 0, : self._n_models].copy()), labels, weight)

    def add_steps(self, steps: Steps, labels: np.ndarray, weight: np.ndarray) -> None:
        """Add rows with these scores, not NaN; labels (n, 1), positive weights (n,)."""
        self.__dict__.pop("_of_models", None)
        self.n_rows += len(weight)
        self._blocks.append((steps, labels, weight))
        if not self.is_exact or self.n_rows > self.exact_rows:
            self._spill()

    def _count(self, histogram: Histogram, steps: Any, labels: np.ndarray, weight: np.ndarray) -> None:
        low, high = steps.scores.min(), steps.scores.max()
        if not np.isfinite([low, high]).all():
            finite = steps.scores[np.isfinite(steps.scores)]
            low, high = finite.min(initial=np.inf), finite.max(initial=-np.inf)
        histogram.widen(np.array([low]), np.array([high]))
        table = histogram.table.reshape(-1, self._n_groups, self._n_models)
        nested.count(*steps, labels[:, 0], weight, histogram.shift[0], histogram.first[0], table)

    def __add__(self, other: "Ranking") -> "Ranking":
        total = super().__add__(other)
        total.__dict__.pop("_of_models", None)
        return total

    @cached_property
    def _of_models(self) -> list[np.ndarray]:
        """The histogram of each model, (G, bins, groups), or the scores of each block, (n, G)."""
        if self._histogram is None:
            return [steps.of_all(self._n_models) for steps, _, _ in self._blocks]
        table = self._histogram.table.reshape(-1, self._n_groups, self._n_models)
        return [np.ascontiguousarray(np.moveaxis(table.cumsum(axis=2), 2, 0))]

    def of_model(self, model: int) -> Ranking:
        one = Ranking(1, multilabel=True, pairs=False, exact_rows=self.exact_rows, n_bins=self.n_bins)
        one.n_rows, columns = self.n_rows, slice(model, model + 1)
        if self._histogram is not None:
            one._histogram = self._histogram.with_table(self._of_models[0][columns])
        else:
            blocks = zip(self._of_models, self._blocks, strict=True)
            one._blocks = [(scores[:, columns], labels, weight) for scores, (_, labels, weight) in blocks]
        return one

    def to_state(self) -> dict[str, Any]:
        blocks = [[steps.of_all(self._n_models), labels, weight] for steps, labels, weight in self._blocks]
        return {**super().to_state(), "blocks": blocks}

    def restore(self, state: dict[str, Any]) -> None:
        super().restore(state)
        self._blocks = [(Steps.of(scores), labels, weight) for scores, labels, weight in self._blocks]
