"""Scores rows against a reference: each row of weights scores only the rows of its own two classes."""

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from streamnb.evaluation.reference_evaluation import ComparedRows, JudgedRows, ReferenceEvaluation, Steps
from streamnb.kernels import nested
from streamnb.models.grid_weights import DOUBLE, GridWeights, size_of
from streamnb.rows.chunk import Chunk, ColumnForm
from streamnb.solving.weight_paths import WeightPath

AT_ONCE = 1 << 18  # scores that stay in the cache until they are judged
ROWS_AT_ONCE = 1 << 14  # of nested models; must be below 2^16
FEW_POINTS = 8  # up to so many points are scored faster than their steps are found


class TablesApart:
    """Weights (features, G * R) in consecutive blocks of features, and intercepts (G, R).

    Before scoring, weights are laid out in one table for each row of weights, together with those of other grids, so
    that each row is read once for all grids.
    """

    def __init__(self, blocks: Sequence[sp.csr_array], intercepts: np.ndarray):
        self.nbytes = sum(block.data.nbytes + block.indices.nbytes for block in blocks)
        self._blocks, self._intercepts = blocks, intercepts
        self._tables: list[GridWeights] = []

    @classmethod
    def joined(cls, several: Sequence["TablesApart"]) -> "TablesApart":
        """The models of several grids, laid out in tables."""
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
        """Add scores of some rows of a prepared block to an evaluation."""
        arrays, width = judged.together(chunk), self._intercepts.shape[1]
        for one in judged.compared(evaluation):
            rows, weight = arrays._replace(rows=one.rows), judged.weights[one.rows]
            ranking = evaluation.ranking(one.row)
            intercepts, table = self._intercepts[one.row], self._tables[one.row]
            histogram = ranking.counting(len(weight))
            whole = None if histogram is None else histogram.weights(weight)
            if histogram is not None and whole is not None and whole.dtype == np.int32:
                counted = histogram.bounds, histogram.table, histogram.buffers(1, width)
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
    """The order in which features enter one row of weights, their number at each of G points, and the weights."""

    order: np.ndarray
    n_in: np.ndarray
    weights: np.ndarray

    @classmethod
    def of(cls, enters: np.ndarray, weights: np.ndarray, n_points: int) -> "InOrder":
        """From the point at which each feature enters, (n,), G for those that never do."""
        order = np.argsort(enters, kind="stable")
        n_in = np.searchsorted(enters[order], np.arange(n_points), side="right")
        return cls(order, n_in, weights)

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in self)

    def steps(self, some: ColumnForm, others: ColumnForm, n_some: int, n_others: int, buffer: "StepsBuffer") -> Steps:
        """The steps of the scores of two groups of rows, written to the buffer."""
        n_rows = n_some + n_others
        rows, scores = buffer.of(len(some.values) + len(others.values) + n_rows + 1)
        ends = np.empty(len(self.n_in), np.int64)
        nested.walk(some, others, n_some, *self, np.zeros(n_rows), np.zeros(n_rows, np.int32), ends, rows, scores)
        return Steps(ends, rows[: ends[-1]], scores[: ends[-1]])


class StepsBuffer:
    """A reusable buffer for steps, as allocation takes as long as their computation."""

    def __init__(self) -> None:
        self._rows, self._scores = np.empty(0, np.int32), np.empty(0)

    def of(self, n_steps: int) -> tuple[np.ndarray, np.ndarray]:
        """Arrays for at least so many steps."""
        if n_steps > len(self._rows):
            self._rows, self._scores = np.empty(n_steps + n_steps // 4, np.int32), np.empty(n_steps + n_steps // 4)
        return self._rows, self._scores


class NestedApart:
    """Nested models: each adds features to the one before it, with the same weights.

    Scores leave out intercepts, which do not change the order of rows by one model, and are summed in the order in
    which features enter. So the score of a row stays the same number until a model adds one of its features.
    """

    def __init__(self, entering: list[InOrder]):
        self.nbytes = sum(of_row.nbytes for of_row in entering)
        self.entering = entering

    def judge(self, evaluation: ReferenceEvaluation, chunk: Chunk, judged: JudgedRows) -> None:
        """Add scores of some rows of a prepared block to an evaluation, as steps."""
        arrays, weight = judged.together(chunk), judged.weights

        def by_columns(rows: np.ndarray) -> tuple[np.ndarray, ColumnForm]:
            return rows, arrays._replace(rows=rows).columns(chunk.shape[1])

        def parts(rows: np.ndarray) -> Iterator[tuple[np.ndarray, ColumnForm]]:
            return (by_columns(rows[first : first + ROWS_AT_ONCE]) for first in range(0, len(rows), ROWS_AT_ONCE))

        empty = by_columns(np.arange(0))
        reference, of_reference, buffer = None, [], StepsBuffer()
        for one in judged.compared(evaluation):
            if one.reference is not reference:  # most rows of weights share one array
                reference, of_reference = one.reference, list(parts(one.reference))
            for (some, columns), (own, more) in zip_longest(of_reference, parts(one.own), fillvalue=empty):
                steps = self.entering[one.row].steps(columns, more, len(some), len(own), buffer)
                few = ComparedRows(one.row, own, some)
                evaluation.add_row(one.row, steps, few.sides, weight[few.rows])


def nested_of(path: WeightPath) -> NestedApart | None:
    """The models of a path if they are nested and there are more than a few points, otherwise None."""
    found = path.entering() if len(path) > FEW_POINTS else None
    if found is None or not np.isfinite(path.intercepts).all() or not np.isfinite(found.weights).all():
        return None
    scale = path.shell().scale
    weights = found.weights if scale is None else found.weights * scale
    return NestedApart([InOrder.of(*of_row, len(path)) for of_row in zip(found.points, weights, strict=True)])


def of_blocks(found: Sequence[sp.csr_array], intercepts: np.ndarray, most_bytes: int) -> TablesApart | None:
    """Models of weights (features, G * R) in consecutive blocks of features, and intercepts (G, R).

    None where the tables would take more than `most_bytes`.
    """
    n_rows = intercepts.shape[1]
    for row in range(n_rows):
        if size_of([block[:, row::n_rows] for block in found], 1) > most_bytes // n_rows:
            return None
    return TablesApart(found, intercepts)
