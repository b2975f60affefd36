"""Models that are judged without each fold, from sparse rows in memory, by steps in the duals of the rows.

The models of a fold start from each other, from the strongest penalty on. Scores of the rows of the fold are known
without a read.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from streamnb.core import memory
from streamnb.passes.contract import Reading, ReadRequest, Report, RunOptions
from streamnb.passes.fit import Fit
from streamnb.rows.preparing import RowOptions
from streamnb.solving.data import TrainingData, TrainingRows
from streamnb.solving.method import Trainer
from streamnb.solving.sampled_curvature import MOST_BYTES, VALUE_BYTES, Ascent
from streamnb.stats.class_stats import ClassStats
from streamnb.stats.row_sample import SampledRows, SampleTask

LEAST_WEIGHTS = 1 << 20  # of a model, whose tables then take longer than the rows
AT_ONCE = 5  # models in training: one of each fold
LEAST_OF_TURN = 2e-5  # of a turn over all rows, for each row: scores of weak penalties change long after the loss
MOST_TURNS = 32


@dataclass(frozen=True, eq=False)
class RowsInMemory:
    """All rows, ordered by key, with their labels, weights and folds; their values X are sparse, in float32."""

    rows: SampledRows
    X: sp.csr_array

    @staticmethod
    def suit(n_rows: int, n_features: int, n_classes: int, row_bytes: float, options: RunOptions) -> bool:
        """Whether rows are few beside the weights of a model, and fit into memory."""
        n_weights = n_features * n_classes
        few = n_rows <= n_features and n_weights >= LEAST_WEIGHTS
        n_bytes = VALUE_BYTES * row_bytes * n_rows / 8  # of values that take 8 bytes as they are read, or fewer
        most = memory.allowed(options.memory_limit) / 4
        return few and n_bytes <= MOST_BYTES and n_bytes + 8.0 * AT_ONCE * n_weights <= most

    @classmethod
    def read(cls, stats: ClassStats, rows: TrainingRows, options: RunOptions) -> Reading[tuple[Self, Report]]:
        """The rows of these statistics, from one read."""
        prepared, missing = rows.options if rows.features is None else RowOptions(), rows.step is not None
        task = SampleTask(stats.classes, stats.folding, stats.n_rows, each=1, options=prepared, missing=missing)
        sample, report = yield ReadRequest(task, rows.read, options)
        drawn = sample.drawn(weighed=False)
        return cls(drawn, sp.csr_array(drawn.X).astype(np.float32)), report


class RowPath:
    """The models of all penalties, in their order, without the rows of a fold.

    Parameters
    ----------
    given : RowsInMemory
    data : TrainingData
        Of the rows outside the fold.

    Attributes
    ----------
    n_asked, n_done : int
        Models that have a trainer, and those that are trained.
    """

    def __init__(self, given: RowsInMemory, data: TrainingData):
        self.given, self._data = given, data
        self.n_asked = self.n_done = 0
        self._ascent: Ascent | None = None

    def trained(self, l2: float) -> tuple[np.ndarray, np.ndarray]:
        """The scores of the rows of the fold, (n, K), by the model of the next penalty, and the numbers of its weights.

        These are as `reading.n_used`.
        """
        data, rows, X = self._data, self.given.rows, self.given.X
        sums, task = data.sums, data.task
        factors = np.ones(X.shape[1], np.float32) if data.scale is None else data.scale.astype(np.float32)
        scaled = sp.csr_array((X.data * factors[X.indices], X.indices, X.indptr), X.shape)
        own, seen = rows.fold == data.outside, np.flatnonzero(sums.share > 0.0)
        weight = np.where(own, 0.0, rows.weight)
        if task.class_weight is not None:
            weight *= task.class_weight[rows.labels.indices]
        if self._ascent is None:
            codes = np.searchsorted(seen, rows.labels.indices).clip(0, len(seen) - 1)  # others have a weight of 0
            self._ascent = Ascent.of(scaled, codes, task.objective.intercepts(sums.share)[seen])
        weights = self._ascent.ascended(scaled, weight / l2, LEAST_OF_TURN, MOST_TURNS)
        self.n_done += 1
        scores = np.full((np.count_nonzero(own), len(sums.share)), -np.inf)
        scores[:, seen] = scaled[np.flatnonzero(own)] @ weights[:-1] + weights[-1]
        n_used = np.where(np.append(sums.share > 0.0, True), np.count_nonzero(sums.squares > 0.0), 0)
        return scores, n_used


class RowPathTrainer(Trainer):
    """Judges the next model of a path without a read of the rows, and computes no weights for all rows."""

    def __init__(self, data: TrainingData, l2: float):
        super().__init__(data)
        self._path: Any = data.path
        self._l2, self.objectives = l2, self.history["objective"]
        self._place = self._path.n_asked
        self._path.n_asked += 1

    def reads(self) -> Fit[Any]:  # of no result, as the model is only judged
        assert self.judge is not None
        while self._path.n_done < self._place:
            yield []
        began = time.perf_counter()
        scores, n_used = self._path.trained(self._l2)
        rows = self._path.given.rows
        own = np.flatnonzero(rows.fold == self.fold)
        held = self.judge(self.task.weights, self.task)  # these are 0; the scores are known
        evaluation = held.evaluation(1)
        held.add(evaluation, scores[:, :, None], self.task.classes[rows.labels.indices[own]], rows.weight[own])
        self.results.append((n_used, held.results(evaluation)[0]))
        self.note(np.nan, np.nan, time.perf_counter() - began)
        return None
