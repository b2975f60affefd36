"""Scores rows against a reference: each row of weights scores the rows of its own two classes alone."""

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from streamnb.evaluation.nested_ranking import Steps
from streamnb.evaluation.reference_evaluation import AskedRows, JudgedRows, ReferenceEvaluation
from streamnb.kernels import nested
from streamnb.models.grid_weights import DOUBLE, GridWeights, size_of
from streamnb.rows.chunk import Chunk, ColumnForm
from streamnb.solving.weight_paths import WeightPath

AT_ONCE = 1 << 18  # scores that stay in the cache until they are judged
ROWS_AT_ONCE = 1 << 14  # of nested models; fewer than 2^16
FEW_POINTS = 8  # that are scored in less time than their steps are found


class TablesApart:
    """Weights (features, G * R), one block of features after the other, and intercepts (G, R).

    Before rows are judged they are laid out in a table for each row of weights: together with those of other grids, so
    that each row is looked at once for all.
    """

    def __init__(self, blocks: Sequence[sp.csr_array], intercepts: np.ndarray):
        self.nbytes = sum(block.data.nbytes + block.indices.nbytes for block in blocks)
        self._blocks, self._intercepts = blocks, intercepts
        self._tables: list[GridWeights] = []

    @classmethod
    def joined(cls, several: Sequence["TablesApart"]) -> "TablesApart":
        """The models of several grids, laid out."""
        blocks, intercepts = several[0]._blocks, np.vstack([one._intercepts for one in several])
        if len(several) > 1:
            blocks = [sp.hstack([sp.vstack(one._blocks, format="csr") for one in several], format="csr")]
        n_rows = intercepts.shape[1]
        joined = cls([], np.zeros((n_rows, DOUBLE.padded(len(intercepts)))))
        joined._intercepts[:, : len(intercepts)] = intercepts.T
        joined._tables = [GridWeights.of([block[:, row::n_rows] for block in blocks], 1) for row in range(n_rows)]
        joined.nbytes = sum(of_row.nbytes for of_row in joined._tables)
        return joined

    def judge(self, evaluation: ReferenceEvaluation, chunk: Chunk, judged: JudgedRows) -> None:
        """Have an evaluation judge some rows of a prepared block."""
        arrays, width = judged.together(chunk), self._intercepts.shape[1]
        for one in judged.asked(evaluation):
            rows, weight = arrays._replace(rows=one.rows), judged.weights[one.rows]
            ranking = evaluation.ranking(one.row)
            intercepts, table = self._intercepts[one.row], self._tables[one.row]
            histogram = ranking.counting(len(weight))
            whole = None if histogram is None else histogram.weights(weight)
            if histogram is not None and whole is not None and whole.dtype == np.int32:
                counted = histogram.bounds, histogram.table, histogram.room(1, width)
                if not table.count_sparse(rows, intercepts, one.sides, whole, counted):
                    ranking.n_rows += len(weight)
                    continue
            step = max(AT_ONCE // width, 1)
            for first in range(0, len(weight), step):
                some = slice(first, first + step)
                scores = np.tile(intercepts, (len(weight[some]), 1))
                table.add_sparse(rows._replace(rows=rows.rows[some]), scores)
                evaluation.add_row(one.row, scores, one.sides[some], weight[some])


class InOrder(NamedTuple):
    """The features of one row of weights in the order in which they come in, how many each of G points has; weights."""

    order: np.ndarray
    n_in: np.ndarray
    weights: np.ndarray

    @classmethod
    def of(cls, enters: np.ndarray, weights: np.ndarray, n_points: int) -> "InOrder":
        """Where each feature comes in, at point G none, (n,)."""
        order = np.argsort(enters, kind="stable")
        n_in = np.searchsorted(enters[order], np.arange(n_points), side="right")
        return cls(order, n_in, weights)

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in self)

    def steps(self, some: ColumnForm, others: ColumnForm, n_some: int, n_others: int, buffer: "StepsBuffer") -> Steps:
        """The scores of so many rows and of others, which lie in the buffer."""
        n_rows = n_some + n_others
        rows, scores = buffer.of(len(some.values) + len(others.values) + n_rows + 1)
        ends = np.empty(len(self.n_in), np.int64)
        nested.walk(some, others, n_some, *self, np.zeros(n_rows), np.zeros(n_rows, np.int32), ends, rows, scores)
        return Steps(ends, rows[: ends[-1]], scores[: ends[-1]])


class StepsBuffer:
    """For the steps of some rows, to be used again and again: new memory costs as much as they do."""

    def __init__(self) -> None:
        self._rows, self._scores = np.empty(0, np.int32), np.empty(0)

    def of(self, n_steps: int) -> tuple[np.ndarray, np.ndarray]:
        """For so many steps at least."""
        if n_steps > len(self._rows):
            self._rows, self._scores = np.empty(n_steps + n_steps // 4, np.int32), np.empty(n_steps + n_steps // 4)
        return self._rows, self._scores


class NestedApart:
    """Each model has the features of the one before it, with the same weights.

    Scores are without intercepts, which change no order of the rows by one model, and are summed in the order in which
    features come in: so a row's score is the same number by all models between two of its features.
    """

    def __init__(self, entering: list[InOrder]):
        self.nbytes = sum(of_row.nbytes for of_row in entering)
        self.entering = entering

    def judge(self, evaluation: ReferenceEvaluation, chunk: Chunk, judged: JudgedRows) -> None:
        """The same, a step of a row's scores at a time."""
        arrays, weight = judged.together(chunk), judged.weights

        def turned(rows: np.ndarray) -> tuple[np.ndarray, ColumnForm]:
            return rows, arrays._replace(rows=rows).columns(chunk.shape[1])

        def parts(rows: np.ndarray) -> Iterator[tuple[np.ndarray, ColumnForm]]:
            return (turned(rows[first : first + ROWS_AT_ONCE]) for first in range(0, len(rows), ROWS_AT_ONCE))

        nothing = turned(np.arange(0))
        reference, of_reference, buffer = None, [], StepsBuffer()
        for one in judged.asked(evaluation):
            if one.reference is not reference:  # which it is for few rows of weights, or one
                reference, of_reference = one.reference, list(parts(one.reference))
            for (some, columns), (own, more) in zip_longest(of_reference, parts(one.own), fillvalue=nothing):
                steps = self.entering[one.row].steps(columns, more, len(some), len(own), buffer)
                few = AskedRows(one.row, own, some)
                evaluation.add_row(one.row, steps, few.sides, weight[few.rows])


def nested_of(path: WeightPath) -> NestedApart | None:
    """The models of a path each of which has the features of the one before it, if these are many."""
    found = path.entering() if len(path) > FEW_POINTS else None
    if found is None or not np.isfinite(path.intercepts).all() or not np.isfinite(found.weights).all():
        return None
    scale = path.shell().scale
    weights = found.weights if scale is None else found.weights * scale
    return NestedApart([InOrder.of(*of_row, len(path)) for of_row in zip(found.points, weights, strict=True)])


def of_blocks(found: Sequence[sp.csr_array], intercepts: np.ndarray, most_bytes: int) -> TablesApart | None:
    """Models of weights (features, G * R), one block of features after the other, and intercepts (G, R).

    None where they take more than so many bytes.
    """
    n_rows = intercepts.shape[1]
    for row in range(n_rows):
        if size_of([block[:, row::n_rows] for block in found], 1) > most_bytes // n_rows:
            return None
    return TablesApart(found, intercepts)
