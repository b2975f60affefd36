"""Models of a path whose rows of weights are asked apart, each about the rows of its own two groups."""

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from streamnb.core.memory import aligned
from streamnb.evaluation.nested_ranking import Steps
from streamnb.evaluation.reference_evaluation import AskedRows, JudgedRows, ReferenceEvaluation
from streamnb.kernels import nested
from streamnb.models.grid_weights import DOUBLE, GridWeights
from streamnb.rows.chunk import Chunk, ColumnForm

AT_ONCE = 1 << 18  # scores that stay in the cache until they are judged
ROWS_AT_ONCE = 1 << 14  # of nested models; fewer than 2^16
FEW_POINTS = 8  # that are scored in less time than their steps are found


class ModelsApart:
    """Models of R rows of weights at G points, whose scores of a row of weights are asked alone."""

    nested = False

    def __init__(self, nbytes: int):
        self.nbytes = nbytes

    def judge(self, evaluation: ReferenceEvaluation, chunk: Chunk, judged: JudgedRows) -> None:
        """Have an evaluation judge some rows of a prepared block."""
        raise NotImplementedError


class TablesApart(ModelsApart):
    """A layout of weights for each row of these."""

    def __init__(self, weights: list[GridWeights], intercepts: np.ndarray):
        super().__init__(sum(of_row.nbytes for of_row in weights))
        self._weights = weights
        self._intercepts = np.zeros((len(weights), DOUBLE.room(len(intercepts))))
        self._intercepts[:, : len(intercepts)] = intercepts.T

    def judge(self, evaluation: ReferenceEvaluation, chunk: Chunk, judged: JudgedRows) -> None:
        arrays, weight, width = judged.together(chunk), judged.weights, self._intercepts.shape[1]
        step = max(AT_ONCE // width, 1)
        room = aligned(min(step, len(weight)), width)
        for one in judged.asked(evaluation):
            every, sides = one.rows, one.sides
            for first in range(0, len(every), step):
                some = slice(first, first + step)
                rows = every[some]
                scores = room[: len(rows)]
                scores[:] = self._intercepts[one.row]
                self._weights[one.row].add_sparse(arrays._replace(rows=rows), scores)
                evaluation.add_row(one.row, scores, sides[some], weight[rows])


class SinglesApart(ModelsApart):
    """One model of each row of weights: rows are scored by all of them at once, whoever is asked about which."""

    def __init__(self, weights: GridWeights, intercepts: np.ndarray):
        super().__init__(weights.nbytes)
        self._weights = weights
        self._intercepts = np.zeros(DOUBLE.room(len(intercepts)))
        self._intercepts[: len(intercepts)] = intercepts

    def judge(self, evaluation: ReferenceEvaluation, chunk: Chunk, judged: JudgedRows) -> None:
        weight = judged.weights
        scores = aligned(len(weight), len(self._intercepts))
        scores[:] = self._intercepts
        self._weights.add_sparse(judged.together(chunk), scores)
        of_each = np.ascontiguousarray(scores.T)
        for one in judged.asked(evaluation):
            rows = one.rows
            evaluation.add_row(one.row, of_each[one.row, rows][:, None], one.sides, weight[rows])


class Entering(NamedTuple):
    """The features of one row of weights in the order in which they come in, how many each of G points has; weights."""

    order: np.ndarray
    n_in: np.ndarray
    weights: np.ndarray

    @classmethod
    def of(cls, enters: np.ndarray, weights: np.ndarray, n_points: int) -> "Entering":
        """Where each feature comes in, at point G none, (n,)."""
        order = np.argsort(enters, kind="stable")
        n_in = np.searchsorted(enters[order], np.arange(n_points), side="right")
        return cls(order, n_in, weights)

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in self)

    def steps(self, some: ColumnForm, others: ColumnForm, n_some: int, n_others: int, room: "StepsRoom") -> Steps:
        """The scores of so many rows and of others, which lie where there is room for them."""
        n_rows = n_some + n_others
        rows, scores = room.of(len(some.values) + len(others.values) + n_rows + 1)
        ends = np.empty(len(self.n_in), np.int64)
        nested.walk(some, others, n_some, *self, np.zeros(n_rows), np.zeros(n_rows, np.int32), ends, rows, scores)
        return Steps(ends, rows[: ends[-1]], scores[: ends[-1]])


class StepsRoom:
    """Where the steps of some rows lie, again and again: new memory costs as much as they do."""

    def __init__(self) -> None:
        self._rows, self._scores = np.empty(0, np.int32), np.empty(0)

    def of(self, n_steps: int) -> tuple[np.ndarray, np.ndarray]:
        """For so many steps at least."""
        if n_steps > len(self._rows):
            self._rows, self._scores = np.empty(n_steps + n_steps // 4, np.int32), np.empty(n_steps + n_steps // 4)
        return self._rows, self._scores


class NestedApart(ModelsApart):
    """Each model has the features of the one before it, with the same weights.

    Scores are without intercepts, which change no order of the rows by one model, and are summed in the order in which
    features come in: so a row's score is the same number by all models between two of its features.
    """

    nested = True

    def __init__(self, entering: list[Entering]):
        super().__init__(sum(of_row.nbytes for of_row in entering))
        self._entering = entering

    def judge(self, evaluation: ReferenceEvaluation, chunk: Chunk, judged: JudgedRows) -> None:
        arrays, weight = judged.together(chunk), judged.weights

        def turned(rows: np.ndarray) -> tuple[np.ndarray, ColumnForm]:
            return rows, arrays._replace(rows=rows).columns(chunk.shape[1])

        def parts(rows: np.ndarray) -> Iterator[tuple[np.ndarray, ColumnForm]]:
            return (turned(rows[first : first + ROWS_AT_ONCE]) for first in range(0, len(rows), ROWS_AT_ONCE))

        nothing = turned(np.arange(0))
        reference, of_reference, room = None, [], StepsRoom()
        for one in judged.asked(evaluation):
            if one.reference is not reference:  # which it is for few rows of weights, or one
                reference, of_reference = one.reference, list(parts(one.reference))
            for (some, columns), (own, more) in zip_longest(of_reference, parts(one.own), fillvalue=nothing):
                steps = self._entering[one.row].steps(columns, more, len(some), len(own), room)
                few = AskedRows(one.row, own, some)
                evaluation.add_row(one.row, steps, few.sides, weight[few.rows])


def of_blocks(found: Sequence[sp.csr_array], intercepts: np.ndarray, most_bytes: int) -> ModelsApart | None:
    """Models of weights (features, G * R), one block of features after the other, and intercepts (G, R).

    None where they take more than so many bytes.
    """
    n_points, n_rows = intercepts.shape
    parts = [entries_of(block, n_points, n_rows) for block in found] if n_points > FEW_POINTS else [None]
    if np.isfinite(intercepts).all() and all(parts):
        of_rows = zip(*(np.hstack(blocks) for blocks in zip(*parts, strict=True)), strict=True)
        return NestedApart([Entering.of(enters, weights, n_points) for enters, weights in of_rows])
    if n_points == 1:
        together = GridWeights.within(most_bytes, found, 1)  # of which each row of weights is as another point
        return None if together is None else SinglesApart(together, intercepts[0])
    tables = []
    for row in range(n_rows):
        of_row = GridWeights.within(most_bytes // n_rows, [block[:, row::n_rows] for block in found], 1)
        if of_row is None:
            return None
        tables.append(of_row)
    return TablesApart(tables, intercepts)


def entries_of(block: sp.csr_array, n_points: int, n_rows: int) -> tuple[np.ndarray, np.ndarray] | None:
    """At which of G points each feature of a block comes into each row of weights, G for none, and its weight, (R, n).

    None if some weight does not stay from then on as it is.
    """
    feature = np.repeat(np.arange(block.shape[0]), np.diff(block.indptr))
    point, row = np.divmod(block.indices, n_rows)
    cell = row * np.intp(block.shape[0]) + feature
    enters, weights = np.full(n_rows * block.shape[0], n_points, np.int32), np.zeros(n_rows * block.shape[0])
    enters[cell[::-1]], weights[cell[::-1]] = point[::-1], block.data[::-1]  # the first of each cell comes last
    n_stored = np.bincount(cell, minlength=len(enters))
    if (block.data != weights[cell]).any() or (n_stored != n_points - enters).any():
        return None
    shape = n_rows, block.shape[0]
    return enters.reshape(shape), weights.reshape(shape)
