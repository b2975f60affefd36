"""Models of a path whose rows of weights are asked apart, each about the rows of its own two groups."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from streamnb.core.memory import aligned
from streamnb.evaluation.nested_ranking import Steps
from streamnb.evaluation.reference_evaluation import ReferenceEvaluation
from streamnb.kernels import nested
from streamnb.models.grid_weights import DOUBLE, GridWeights
from streamnb.rows.chunk import Chunk, SparseRows

AT_ONCE = 1 << 18  # scores that stay in the cache until they are judged
ROWS_AT_ONCE = 1 << 13  # of nested models, whose scores are few
FEW_POINTS = 8  # that are scored in less time than their steps are found


class ModelsApart:
    """Models of R rows of weights at G points, whose scores of a row of weights are asked alone."""

    nested = False

    def __init__(self, step: int, nbytes: int):
        self.step, self.nbytes = step, nbytes

    def room(self, n_rows: int) -> np.ndarray:
        """Where scores of so many rows find room, again and again."""
        return np.zeros((n_rows, 0))

    def scores(self, row: int, rows: SparseRows, room: np.ndarray) -> np.ndarray | Steps:
        """Of some rows of data, by row `row` of weights."""
        raise NotImplementedError

    def judge(self, evaluation: ReferenceEvaluation, chunk: Chunk, rows: np.ndarray, labels: Any, weight: Any) -> None:
        """Have an evaluation judge some rows of a prepared block, with their labels and weights."""
        room = self.room(min(self.step, len(rows)))
        for first in range(0, len(rows), self.step):
            for some, arrays in chunk.sparse(rows[first : first + self.step]):
                at = slice(first + some.start, first + some.stop)
                of_rows = weight[at]
                for row, asked, sides in evaluation.asked(labels[at], of_rows):
                    scores = self.scores(row, arrays._replace(rows=arrays.rows[asked]), room)
                    evaluation.add_row(row, scores, sides, of_rows[asked])


class TablesApart(ModelsApart):
    """A layout of weights for each row of these."""

    def __init__(self, weights: list[GridWeights], intercepts: np.ndarray):
        width = DOUBLE.room(len(intercepts))
        super().__init__(max(AT_ONCE // width, 1), sum(of_row.nbytes for of_row in weights))
        self._weights = weights
        self._intercepts = np.zeros((len(weights), width))
        self._intercepts[:, : len(intercepts)] = intercepts.T

    def room(self, n_rows: int) -> np.ndarray:
        return aligned(n_rows, self._intercepts.shape[1])

    def scores(self, row: int, rows: SparseRows, room: np.ndarray) -> np.ndarray:
        out = room[: len(rows.rows)]
        out[:] = self._intercepts[row]
        self._weights[row].add_sparse(rows, out)
        return out


@dataclass(frozen=True, eq=False)
class Entering:
    """At which of G points each feature comes into each row of weights, G for none, and with what weight, (R, n)."""

    enters: np.ndarray
    weights: np.ndarray


class NestedApart(ModelsApart):
    """Each model has the features of the one before it, with the same weights.

    Scores are without intercepts, which change no order of the rows by one model, and are summed in the order in which
    features come in: so a row's score is the same number by all models between two of its features.
    """

    nested = True

    def __init__(self, n_points: int, entries: Entering):
        super().__init__(ROWS_AT_ONCE, entries.enters.nbytes + entries.weights.nbytes)
        self._n_points, self._entries = n_points, entries

    def scores(self, row: int, rows: SparseRows, room: np.ndarray) -> Steps:
        most = int((rows.indptr[rows.rows + 1] - rows.indptr[rows.rows]).sum()) + len(rows.rows) + 1
        ends, points, scores = np.empty(len(rows.rows), np.int64), np.empty(most, np.int32), np.empty(most)
        added = np.zeros(self._n_points + 1)
        marks = np.zeros(self._n_points // nested.WORD + 1, np.int64)
        enters, weights = self._entries.enters[row], self._entries.weights[row]
        nested.walk(*rows, enters, weights, added, marks, ends, points, scores)
        used = int(ends[-1])
        return Steps(ends, points[:used], scores[:used])


def of_blocks(found: Sequence[sp.csr_array], intercepts: np.ndarray, most_bytes: int) -> ModelsApart | None:
    """Models of weights (features, G * R), one block of features after the other, and intercepts (G, R).

    None where they take more than so many bytes.
    """
    n_points, n_rows = intercepts.shape
    parts = [entries_of(block, n_points, n_rows) for block in found] if n_points > FEW_POINTS else [None]
    if np.isfinite(intercepts).all() and all(parts):
        enters, weights = (np.hstack([getattr(part, name) for part in parts]) for name in ("enters", "weights"))
        return NestedApart(n_points, Entering(enters, weights))
    tables = []
    for row in range(n_rows):
        of_row = GridWeights.within(most_bytes // n_rows, [block[:, row::n_rows] for block in found], 1)
        if of_row is None:
            return None
        tables.append(of_row)
    return TablesApart(tables, intercepts)


def entries_of(block: sp.csr_array, n_points: int, n_rows: int) -> Entering | None:
    """Where features come in, if all those of a block of weights stay from then on as they are, else None."""
    feature = np.repeat(np.arange(block.shape[0]), np.diff(block.indptr))
    point, row = np.divmod(block.indices.astype(np.int64), n_rows)
    cell = row * block.shape[0] + feature
    enters, weights = np.full(n_rows * block.shape[0], n_points, np.int32), np.zeros(n_rows * block.shape[0])
    enters[cell[::-1]], weights[cell[::-1]] = point[::-1], block.data[::-1]  # the first of each cell comes last
    n_stored = np.bincount(cell, minlength=len(enters))
    if (block.data != weights[cell]).any() or (n_stored != n_points - enters).any():
        return None
    shape = n_rows, block.shape[0]
    return Entering(enters.reshape(shape), weights.reshape(shape))
