"""Scores rows by all models of a grid together."""

from collections.abc import Iterator, Sequence
from copy import copy
from itertools import zip_longest
from typing import Any, NamedTuple, cast

import numpy as np
import scipy.sparse as sp

from streamnb.core import persistence
from streamnb.core.memory import aligned, bytes_of
from streamnb.evaluation.evaluation import Evaluation
from streamnb.evaluation.reference import ComparedRows, JudgedRows, Steps
from streamnb.evaluation.tallied import kept
from streamnb.kernels import grid_scores
from streamnb.models.grid_weights import DOUBLE, Decider, GridWeights, Weights, size_of
from streamnb.models.quadratic import QuadraticModel
from streamnb.problem.family import column_blocks
from streamnb.rows.row_blocks import Chunk, ColumnForm
from streamnb.selection.covariance_models import CovarianceModels
from streamnb.solving.normal_models import CovariancePath
from streamnb.solving.weight_paths import WeightPath

MARGINS = 1 << 22  # scored at once where each batch may widen histograms
WITH_ZEROS = 3  # weights laid out with zeros may take so many times the bytes


# ---- scores of all models of a path ----------------------------------------------------------------------------------


class GridModels:
    """All models of a path, which score rows together.

    Parameters
    ----------
    path : WeightPath
        G models of R rows of weights.
    most_bytes : int
        Weights are kept in memory if they take no more.
    decide : bool
        Whether only decisions are needed.
    apart : bool
        Whether each row of weights scores its own rows.
    """

    def __init__(self, path: WeightPath, most_bytes: int, decide: bool, apart: bool = False):
        self.shell = path.shell()
        n_points, n_rows, n_features = len(path), path.n_rows, self.shell.n_features
        self.shape = n_points, n_rows
        intercepts = np.tile(path.intercepts, (n_points, 1))
        found: list[sp.csr_array] = []
        n_bytes = 0
        entering = None
        if apart:
            entering = nested_of(path)
        every = column_blocks(n_features, max(MARGINS // (n_points * n_rows), 1))
        for columns in every if entering is None else ():
            weights, shifts = path.grid_weights(columns)
            intercepts += shifts
            raw = self._raw(weights, columns)
            if self.shell.absent[columns].any():
                intercepts += (self.shell.absent[columns] @ raw).reshape(self.shape)
            n_bytes += raw.data.nbytes + raw.indices.nbytes
            found = [*found, raw] if n_bytes <= most_bytes else []
        self._intercepts = np.zeros((n_rows, DOUBLE.padded(n_points)))
        self._intercepts[:, :n_points] = intercepts.T
        of_classes = None
        if decide and found:
            of_classes = self.shell.scheme.judged_by(len(self.shell.classes_))
        most_bytes *= WITH_ZEROS
        self.decider = None if of_classes is None else Decider.of(most_bytes, found, intercepts.T, of_classes)
        self.apart = of_blocks(found, intercepts, most_bytes) if apart and found else entering
        self._weights = None
        if found and self.decider is None and self.apart is None:
            self._weights = GridWeights.within(most_bytes, found, n_rows)
        self._path = path if self.by_columns else None  # with its statistics
        self.singular = np.zeros(n_points, bool)

    @classmethod
    def joined(cls, several: "Sequence[GridModels]") -> "GridModels":
        """The models of several grids, each with weights in tables by row of weights, as one."""
        joined = copy(several[0])
        joined.shape = sum(models.shape[0] for models in several), several[0].shape[1]
        joined.singular = np.concatenate([models.singular for models in several])
        joined._intercepts = np.hstack([models._intercepts for models in several])
        joined.apart = TablesApart.joined([cast(TablesApart, models.apart) for models in several])
        return joined

    @property
    def nbytes(self) -> int:
        """Bytes of the weights kept in memory."""
        ready = self.apart or (self._weights if self.decider is None else self.decider.weights)
        if ready is None:
            return 0
        return ready.nbytes

    @property
    def by_columns(self) -> bool:
        """Whether weights are computed for the columns of each block."""
        return self._weights is None and self.decider is None and self.apart is None

    def digest(self) -> str:
        """A digest that identifies these models, from settings and intercepts, which depend on every weight."""
        weights = self.apart.entering if isinstance(self.apart, NestedApart) else []
        return persistence.digest([self.shell, self._intercepts, *map(list, weights)])

    def _raw(self, weights: sp.csr_array, columns: Any) -> sp.csr_array:
        """Weights of rows that are not scaled by idf, (n_columns, G * R)."""
        if self.shell.scale is None:
            return weights
        scale = np.repeat(self.shell.scale[columns], np.diff(weights.indptr))
        return sp.csr_array((weights.data * scale, weights.indices, weights.indptr), shape=weights.shape)

    def buffer(self, n_rows: int) -> np.ndarray:
        """A reusable buffer for the margins of so many rows, as allocation takes longer than they do."""
        return aligned(n_rows, self._intercepts.size)

    def margins(self, chunk: Chunk, rows: np.ndarray, buffer: np.ndarray) -> np.ndarray:
        """Margins of some rows of a prepared block, (len(rows), R, width), of which the first G columns are points."""
        flat = buffer[: len(rows)]
        flat[:] = self._intercepts.reshape(-1)
        if self._weights is not None:
            self._weights.add_scores(chunk, rows, flat)
            return flat.reshape(len(rows), *self._intercepts.shape)
        chunk, every = chunk.picked(rows), np.arange(len(rows))
        columns, step = chunk.used_columns(), max(MARGINS // flat.shape[1], 1)
        for first in range(0, len(columns), step):
            some = columns[first : first + step]
            weights, _ = self._path.grid_weights(some)  # type: ignore[union-attr]
            ready = GridWeights.in_units([self._raw(weights, some)], self.shape[1])  # the same bits in any block
            ready.add_scores(chunk.of_columns(some), every, flat)
        return flat.reshape(len(rows), *self._intercepts.shape)


class QuadraticGrid(GridModels):
    """The single model of Gaussian features with variances of each class, in the place of a grid."""

    def __init__(self, model: QuadraticModel):
        self.shell: Any = model
        self.decider = self.apart = None
        self.shape, self.singular = (1, model.scheme.n_rows(len(model.classes_))), np.zeros(1, bool)

    @property
    def nbytes(self) -> int:
        return self.shell.weights.nbytes + self.shell.halves.nbytes

    @property
    def by_columns(self) -> bool:
        return False

    def digest(self) -> str:
        return persistence.digest([self.shell.weights, self.shell.halves, self.shell.intercept_])

    def buffer(self, n_rows: int) -> np.ndarray:
        return np.zeros((n_rows, self.shape[1], DOUBLE.padded(1)))

    def margins(self, chunk: Chunk, rows: np.ndarray, buffer: np.ndarray) -> np.ndarray:
        buffer[: len(rows), :, 0] = self.shell.margins_of(chunk.picked(rows))
        return buffer[: len(rows)]


def of_path(path: Any, most_bytes: int, needs: frozenset[str]) -> "GridModels | CovarianceModels":
    """The models of a path, linear or quadratic, prepared for the needs of an evaluation."""
    if isinstance(path, CovariancePath):
        return CovarianceModels(path, bool(needs) and needs <= {"hits", "confusion"})
    shell = path.shell()
    if isinstance(shell, QuadraticModel):
        return QuadraticGrid(shell)
    return GridModels(path, most_bytes, bool(needs) and needs <= {"hits", "confusion"}, "reference" in needs)


# ---- models of several paths that score rows together ----------------------------------------------------------------


Grids = tuple[GridModels | CovarianceModels, ...]  # the models of each split


def groups_of(grids: Sequence[Grids]) -> list[list[int]]:
    """Groups of candidate numbers whose models score rows together: those in tables that prepare rows equally."""
    groups: dict[Any, list[int]] = {}
    for number, models in enumerate(grids):
        in_tables = all(isinstance(one.apart, TablesApart) for one in models)
        groups.setdefault(rows_of(models[0].shell) if in_tables else number, []).append(number)
    return list(groups.values())


def of_group(grids: Sequence[Grids]) -> Grids:
    """The models of a group as one candidate: joined where they are in tables, otherwise of its only candidate.

    One split may have tables where another has nested models, if a class has no rows in it.
    """
    of_splits = zip(*grids, strict=True)
    return tuple(GridModels.joined(some) if isinstance(some[0].apart, TablesApart) else some[0] for some in of_splits)


def of_each(judged: Sequence[Any], groups: Sequence[Sequence[int]], grids: Sequence[Grids]) -> list[Any]:
    """The evaluations of each candidate, split off those of the groups."""
    found: dict[int, Any] = {}
    for of_group, group in zip(judged, groups, strict=False):
        ends = np.cumsum([grids[number][0].shape[0] for number in group])
        for number, end in zip(group, ends.tolist(), strict=True):
            first = end - grids[number][0].shape[0]
            found[number] = of_group if len(group) == 1 else [one.of_models(first, end) for one in of_group]
    return [found[number] for number in range(len(grids))]


def rows_of(shell: Any) -> Any:
    """A key that is equal for models that prepare rows in the same way."""
    columns = [None if some is None else some.tobytes() for some in shell.moments.values()]
    return shell.options, shell.n_features, *shell.moments, *columns


# ---- each row of weights scores the rows of its own two classes ------------------------------------------------------


AT_ONCE = 1 << 18  # scores that stay in the cache until they are judged
ROWS_AT_ONCE = 1 << 14  # of nested models; must be below 2^16
FEW_POINTS = 8  # up to so many points are scored faster than their steps are found


class TablesApart:
    """Weights (features, G * R) in consecutive blocks of features, and intercepts (G, R).

    Before scoring, weights are laid out in one table for each row of weights, together with those of other grids, so
    that each row is read once for all grids.
    """

    def __init__(self, blocks: Weights, intercepts: np.ndarray):
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

    def judge(self, evaluation: Evaluation, chunk: Chunk, judged: JudgedRows) -> None:
        """Add scores of some rows of a prepared block to an evaluation."""
        arrays, width = judged.together(chunk), self._intercepts.shape[1]
        rankings = kept(evaluation, "reference", "ranking")
        for one in judged.compared(evaluation):
            rows, weight = arrays._replace(rows=one.rows), judged.weights[one.rows]
            ranking = rankings[one.row]
            intercepts, table = self._intercepts[one.row], self._tables[one.row]
            histogram = ranking.counting(len(weight))
            whole = None
            if histogram is not None:
                whole = histogram.weights(weight)
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
                evaluation.add_compared(one.row, scores, one.sides[some], weight[some])


class InOrder(NamedTuple):
    """The order in which features enter one row of weights, their number at each of G points, and the weights."""

    order: np.ndarray
    n_in: np.ndarray
    weights: np.ndarray

    @classmethod
    def of(cls, enters: np.ndarray, weights: np.ndarray, n_points: int) -> "InOrder":
        """From the point at which each feature enters, (n,), G for those that never do."""
        order = np.argsort(enters, kind="stable")
        return cls(order, np.searchsorted(enters[order], np.arange(n_points), side="right"), weights)

    def steps(self, some: ColumnForm, others: ColumnForm, n_some: int, n_others: int, buffer: "StepsBuffer") -> Steps:
        """The steps of the scores of two groups of rows, written to the buffer."""
        n_rows = n_some + n_others
        rows, scores = buffer.of(len(some.values) + len(others.values) + n_rows + 1)
        ends = np.empty(len(self.n_in), np.int64)
        grid_scores.walk(some, others, n_some, *self, np.zeros(n_rows), np.zeros(n_rows, np.int32), ends, rows, scores)
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
        self.nbytes = bytes_of(entering)
        self.entering = entering

    def judge(self, evaluation: Evaluation, chunk: Chunk, judged: JudgedRows) -> None:
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
                evaluation.add_compared(one.row, steps, few.sides, weight[few.rows])


def nested_of(path: WeightPath) -> NestedApart | None:
    """The models of a path if they are nested and there are more than a few points, otherwise None."""
    found = None
    if len(path) > FEW_POINTS:
        found = path.entering()
    if found is None or not np.isfinite(path.intercepts).all() or not np.isfinite(found.weights).all():
        return None
    scale = path.shell().scale
    weights = found.weights if scale is None else found.weights * scale
    return NestedApart([InOrder.of(*of_row, len(path)) for of_row in zip(found.points, weights, strict=True)])


def of_blocks(found: Weights, intercepts: np.ndarray, most_bytes: int) -> TablesApart | None:
    """Models of weights (features, G * R) in consecutive blocks of features, and intercepts (G, R).

    None where the tables would take more than `most_bytes`.
    """
    n_rows = intercepts.shape[1]
    for row in range(n_rows):
        if size_of([block[:, row::n_rows] for block in found], 1) > most_bytes // n_rows:
            return None
    return TablesApart(found, intercepts)
