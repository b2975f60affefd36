"""Approximates a loss by a sample of its rows, so that L-BFGS needs fewer reads of all of them.

The optimum of the sample is the start, and its curvature takes the place of the diagonal that L-BFGS begins from:
R. Byrd, G. Chin, W. Neveitt, J. Nocedal, On the use of stochastic Hessian information in optimization methods for
machine learning, SIAM J. Optim. 21 (2011). Gradients are of all rows, so that the weights converge to the same optimum.
"""

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import pairwise
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.sparse as sp

from streamnb.core.threads import check_n_threads, in_order
from streamnb.kernels.descent import add_multiple, ascend_rows
from streamnb.kernels.lanes import LANES
from streamnb.kernels.row_values import scattered_bits
from streamnb.passes.contract import Reading, ReadRequest, Report, RunOptions
from streamnb.rows.boundary import as_chunk
from streamnb.rows.preparing import RowOptions
from streamnb.rows.row_blocks import Chunk, CSRChunk
from streamnb.solving.coordinates import CentredFeatures
from streamnb.solving.data import TrainingRows
from streamnb.solving.descent import Descent, Diagonal, Memory, Penalties, Visit, dot, pieces
from streamnb.solving.objectives import Objective
from streamnb.solving.reading import CACHED_SCORES, MIN_ROWS, RowBatch, add_products, scores_of
from streamnb.stats.class_stats import ClassStats
from streamnb.stats.row_sample import SampledRows, SampleTask

LEAST_ROWS = 1000
MOST_BYTES = 64 << 20
VALUE_BYTES = 16  # of a sparse value with its column
MOST_SCORES = 1 << 22
CACHED_VALUES = 1 << 16  # of dense rows, so that their sums need no new memory
OPTIMUM = 0.01  # the norm of the gradient at the optimum of the sample, as a share of that at the start
STEPS_TO_OPTIMUM = 15
ACCURACY = 0.1  # of a direction: the residual as a share of the gradient
MOST_COLUMNS = 0.8  # share of the columns, above which sampled rows keep all of them
PRODUCTS = 5  # with the curvature, for a direction
TINY = np.finfo(float).tiny
CONSTANT_FEATURE = 0.3  # the square of the feature of intercepts, as a share of those of all others together
MOST_TURNS = 16
LEAST_OF_TURN = 1e-3  # of a turn over all rows, for each row; others then gain more
GROUPS = 8  # of sampled rows, which threads share
LEAST_OF_GROUP = 1 << 12  # scores, for which a thread pays
DAMPING = 0.5, 4.0  # bounds of the factor from the sampled curvature to that of the last step


class Sampling(NamedTuple):
    """How a sample is drawn and used.

    Attributes
    ----------
    share : float
        The share of the rows.
    ascent : bool
        Whether the optimum of the sample is found by steps in the duals of its rows, which is for softmax.
    """

    share: float = 0.25
    ascent: bool = False


@dataclass(frozen=True, eq=False)
class TrainingSample:
    """A sample of prepared rows, a chunk whatever their blocks were, and the seconds that it took.

    `features` are the indices of the columns
    that the rows have, where others were left out; `ascent` is as for `Sampling`,
    `complete` whether these are all rows, and `n_threads` how many work on them.
    """

    rows: SampledRows
    batches: list[RowBatch]  # of their values; labels and weights are those of `rows`
    seconds: float
    features: np.ndarray | None = None
    ascent: bool = False
    complete: bool = False
    n_threads: int = 1

    @classmethod
    def of(
        cls,
        stats: ClassStats,
        rows: TrainingRows,
        options: RunOptions,
        row_bytes: float,
        how: Sampling,
    ) -> Reading[tuple[Self, Report]]:
        """A sample of the rows of these statistics, drawn in one read, and the report of it."""
        n_values = row_bytes / (8 if rows.read.dtype is None else rows.read.dtype.itemsize)
        row_bytes = VALUE_BYTES * n_values
        most = min(MOST_BYTES / max(row_bytes, 1.0), MOST_SCORES / len(stats.classes))
        size = int(max(min(max(how.share * stats.n_rows, LEAST_ROWS), most), 1.0))
        prepared = rows.options if rows.features is None else RowOptions()
        missing = rows.step is not None
        task = SampleTask(
            stats.classes, stats.folding, size, each=1, options=prepared, missing=missing, n_rows=stats.n_rows
        )
        sample, report = yield ReadRequest(task, rows.read, options)
        drawn = sample.drawn(weighed=False)
        drawn = replace(drawn, X=sp.csr_array(drawn.X)) if how.ascent else drawn  # sparse, in whatever form they came
        features, chunk = columns_in_use(as_chunk(drawn.X)[0])
        drawn, complete = replace(drawn, X=chunk), how.ascent and len(drawn.weight) == stats.n_rows
        batches = batches_of(chunk, drawn.labels.shape[1])
        n_threads = check_n_threads(options.n_threads)
        return cls(drawn, batches, report.seconds, features, how.ascent, complete, n_threads), report

    def outside(self, fold: int) -> Self:
        """The same rows, with weight 0 for those of a fold."""
        weight = np.where(self.rows.fold == fold, 0.0, self.rows.weight)
        return replace(self, rows=replace(self.rows, weight=weight))


def columns_in_use(chunk: Chunk) -> tuple[np.ndarray | None, Chunk]:
    """The columns that rows have, and the rows of only these; None and the same rows if these are most.

    A quarter of all texts has half of their words, and tables of weights are then half as large.
    """
    if isinstance(chunk, CSRChunk):
        features = np.unique(chunk.indices[chunk.data != 0])
    else:
        features = np.flatnonzero(chunk.values.any(axis=0))
    if len(features) > MOST_COLUMNS * chunk.shape[1]:
        return None, chunk
    return features, chunk.of_columns(features)


def batches_of(chunk: Chunk, n_classes: int) -> list[RowBatch]:
    """The values of rows in batches whose scores stay in the cache."""
    most = max(CACHED_SCORES[1] // n_classes, MIN_ROWS)
    chunks = ((where, chunk.of_rows(where.start, where.stop)) for where in pieces(chunk.shape[0], most))
    return [RowBatch(where, part, None, np.empty(0), np.empty(0), shared=True) for where, part in chunks]


def groups_of(batches: list[RowBatch], n_features: int, n_models: int) -> list[list[RowBatch]]:
    """Groups of consecutive batches, each for a thread, the same for sparse and dense rows.

    There is one where rows are few, or columns so many that sums take longer to add up than rows to visit.
    """
    n_rows = batches[-1].where.stop
    n_groups = min(GROUPS, len(batches), n_rows // max(n_features, 1), n_rows * n_models // LEAST_OF_GROUP)
    if n_groups < 2:
        return [batches]
    edges = [len(batches) * k // n_groups for k in range(n_groups + 1)]
    return [batches[first:last] for first, last in pairwise(edges)]


class SampledCurvature:
    """The curvature of a loss and its penalty, from sampled rows exactly and from all other rows by its diagonal.

    Weights of columns that no sampled row has are divided by the diagonal alone.

    Parameters
    ----------
    sample : TrainingSample
    objective : Objective
    class_weight : (K,), optional
    at : CentredFeatures
    penalties : Penalties
        Without l1.
    diagonal : Diagonal
        About the curvature of all rows.
    """

    def __init__(
        self,
        sample: TrainingSample,
        objective: Objective,
        class_weight: np.ndarray | None,
        at: CentredFeatures,
        penalties: Penalties,
        diagonal: Diagonal,
    ):
        self._sample, self._objective, self._of_all, self._penalties = sample, objective, at, penalties
        self._places = slice(None) if sample.features is None else at.places(sample.features)
        self._at = at if sample.features is None else at.of_columns(sample.features)
        self._others = np.ones(len(diagonal.spread), bool)  # weights of columns that no sampled row has
        self._others[self._places] = False
        labels, self._weight, self._n_features = sample.rows.labels, sample.rows.weight, sample.rows.X.shape[1]
        self._targets = objective.sampled_targets(labels, len(diagonal.curvature))
        if class_weight is not None:
            self._weight = self._weight * (labels @ class_weight)
        self._diagonal, self._trained = diagonal, np.isfinite(diagonal.curvature)
        sums, squares = weighted_sums(sample.batches, self._weight, self._n_features)
        self._rest = np.maximum(self._at.spread - self._spread(sums, squares), 0.0)
        self._groups = groups_of(sample.batches, self._n_features, len(self._trained))
        self._hessian = np.zeros((0, 0), np.float32)
        self._mean = np.zeros(0)  # second derivatives of the loss in the scores, over the sampled rows
        self.damping, self.complete = 1.0, sample.complete

    def _spread(self, sums: np.ndarray, squares: np.ndarray) -> np.ndarray:
        """Sums of squares of the sampled features about the means of all rows, like `at.spread`."""
        at, weight = self._at, self._weight
        kept = at.kept[:-1]
        sums, squares = sums[kept, None], squares[kept, None]
        factors = at.factors[:-1]
        about = squares * factors**2 - 2.0 * at.means * sums * factors + weight.sum() * at.means**2
        return np.append(np.maximum(about, 0.0), weight.sum())[:, None]

    def optimum(self, start: np.ndarray) -> np.ndarray:
        """About the optimum of the sampled rows alone, with the whole penalty, from weights of 0."""
        if self._sample.ascent:
            return self._ascended(start)
        memory = Memory(self._diagonal.of_rows(self._places))
        visit = self._visit(start[self._places])
        descent = Descent(memory, self._penalties, OPTIMUM * memory.length(visit.gradient), visit)
        steps = iter(range(STEPS_TO_OPTIMUM))
        for _ in descent.run(self._read, lambda: next(steps, None) is not None):
            raise AssertionError("sampled rows are in memory")
        point = start.copy()
        point[self._places] = descent.visit.point
        return point

    def _ascended(self, start: np.ndarray) -> np.ndarray:
        """The same by steps in the duals of rows, of which ten are as far as a hundred along gradients."""
        seen = np.flatnonzero(self._trained)
        factors = self._at.of_all(self._at.factors[:, 0])
        chunk = self._sample.rows.X
        values = (chunk.data * factors[chunk.indices]).astype(np.float32)
        rows = sp.csr_array((values, chunk.indices, chunk.indptr.astype(np.int32)), chunk.shape)
        codes = np.searchsorted(seen, self._targets)
        weights = Ascent.of(rows, codes, start[-1, seen]).ascended(rows, self._weight / self._penalties.l2)
        of_classes = self._at.from_model(weights)
        of_classes[np.isinf(self._diagonal.spread[self._places])] = 0.0
        point = start.copy()
        in_sample = point[self._places]
        in_sample[:, seen] = of_classes
        point[self._places] = in_sample
        return point

    def move_to(self, point: np.ndarray) -> None:
        """Take the curvature at this point."""
        in_sample = point[self._places]
        if self._others.any():  # sampled rows have none of the other columns, but are centred like all rows
            in_sample[-1] -= np.einsum("j,jk->k", self._of_all.means[:, 0] * self._others[:-1], point[:-1])
        self._hessian = np.empty((len(self._weight), len(self._trained)), np.float32)
        weights = self._at.apart_for_rows(in_sample)

        def of_group(batches: list[RowBatch]) -> np.ndarray:
            total = np.zeros(len(self._trained))
            for rows in batches:
                where = rows.where
                hessian = self._objective.hessian(scores_of_batch(rows, *weights), self._targets[where])
                total += np.einsum("i,ij->j", self._weight[where], self._objective.hessian_diagonal(hessian))
                self._hessian[where] = hessian
            return total

        total = reduce(np.add, in_order(of_group, self._groups, self._sample.n_threads))
        self._mean = total / max(self._weight.sum(), TINY)
        self._diagonal = replace(self._diagonal, curvature=np.where(self._trained, self._mean, np.inf))

    def times(self, step: np.ndarray) -> np.ndarray:
        """The product of the curvature of the sampled columns and a step in their weights."""
        weights = self._at.apart_for_rows(step)
        product, penalty = self._back(lambda rows: self._product(rows, weights)), self._diagonal.penalty[self._places]
        for rows in pieces(len(product)):
            product[rows] += (self._rest[rows] * self._mean + penalty[rows, None]) * step[rows]
        return product

    def _product(self, rows: RowBatch, weights: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
        """How the slopes of a batch change along weights."""
        return self._objective.hessian_product(self._hessian[rows.where], scores_of_batch(rows, *weights))

    def solve(self, gradient: np.ndarray) -> np.ndarray:
        """About the inverse of the curvature times a gradient, which is overwritten."""
        if self._others.any():
            step = self._diagonal.divide(gradient)
            step[self._places] = self._solved(gradient[self._places])
        else:
            step = self._solved(gradient)
        step /= self.damping
        self._hessian = np.zeros((0, 0), np.float32)  # of another point next time
        for rows in self._sample.batches:
            rows.kept.clear()  # so that reads can use the memory
        return step

    def _solved(self, gradient: np.ndarray) -> np.ndarray:
        """The same for the sampled columns, by preconditioned conjugate gradients."""
        diagonal = self._diagonal.of_rows(self._places)
        step, left, along = np.zeros_like(gradient), gradient, diagonal.divide(gradient)
        size = dot(left, along)
        enough = ACCURACY**2 * size
        for _ in range(PRODUCTS):
            if size <= enough:
                break
            product = self.times(along)
            length = size / dot(along, product)
            add_multiple(step.reshape(-1), length, along.reshape(-1))
            add_multiple(left.reshape(-1), -length, product.reshape(-1))
            scaled = diagonal.divide(left, out=product)
            before, size = size, dot(left, scaled)
            add_multiple(scaled.reshape(-1), size / before, along.reshape(-1))
            along = scaled
            del product, scaled
        return step

    def fit_damping(self, step: np.ndarray, curvature: float) -> None:
        """Let the curvature along a step be that of all rows."""
        in_sample = step[self._places]
        along = dot(in_sample, self.times(in_sample))
        if self._others.any():
            spread = self._of_all.spread[:, 0] * self._others
            along += float(np.einsum("j,jk,jk->k", spread, step, step) @ self._mean)
            along += self._penalties.l2 * float(np.einsum("j,jk,jk->", self._others.astype(float), step, step))
        self.damping = float(np.clip(curvature / along, *DAMPING))

    def _back(self, slopes: Callable[[RowBatch], np.ndarray]) -> np.ndarray:
        """The gradient, given the slopes of the losses in the scores of a batch."""
        exact = np.zeros(self._n_features)  # no grid, as the order of rows is always the same

        def of_group(batches: list[RowBatch]) -> np.ndarray:
            gradient = np.zeros((self._n_features + 1, len(self._trained)))
            for rows in batches:
                weighed = slopes(rows) * self._weight[rows.where, None]
                gradient[-1] += weighed.sum(axis=0)
                add_products(rows.chunk, rows.columns(gradient, cached=0), weighed, exact, gradient[:-1])
            return gradient

        return self._at.gradient(reduce(np.add, in_order(of_group, self._groups, self._sample.n_threads)))

    def _visit(self, point: np.ndarray) -> Visit:
        weights, values = self._at.apart_for_rows(point), np.zeros(len(self._weight))

        def slopes(rows: RowBatch) -> np.ndarray:
            residual, losses = self._objective.losses(scores_of_batch(rows, *weights), self._targets[rows.where])
            weight = self._weight[rows.where]
            values[rows.where] = weight * np.where(weight > 0.0, losses.sum(axis=1), 0.0)
            return residual

        gradient = self._penalties.smooth_gradient(point, self._back(slopes))
        return Visit(point, float(values.sum() + self._penalties.value(point).sum()), gradient, gradient)

    def _read(self, point: np.ndarray, most: float) -> Generator[Any, Any, Visit]:
        return self._visit(point)
        yield


@dataclass(eq=False)
class Ascent:
    """Steps in the duals of sparse rows, in float32 and in an order of their own each time.

    Intercepts are weights of a feature that is the same in all rows, whose penalty is on the distance from those given.

    Attributes
    ----------
    codes : (n,)
    start : (K,)
        The intercepts given.
    square : float
        Of that feature.
    duals : (n, K) float32
        The probabilities of rows so far, from which others may go on under another penalty.
    """

    codes: np.ndarray
    start: np.ndarray
    square: float
    duals: np.ndarray

    @classmethod
    def of(cls, rows: sp.csr_array, codes: np.ndarray, start: np.ndarray) -> Self:
        """At weights of 0."""
        square = CONSTANT_FEATURE * float(np.einsum("i,i->", rows.data, rows.data, dtype=np.float64))
        duals = np.zeros((len(codes), len(start)), np.float32)
        duals[np.arange(len(codes)), codes] = 1.0
        return cls(codes, start, square / max(len(codes), 1), duals)

    def ascended(
        self, rows: sp.csr_array, weight: np.ndarray, least: float = LEAST_OF_TURN, most_turns: int = MOST_TURNS
    ) -> np.ndarray:
        """Weights (n_features + 1, K) once a turn gains at most `least` for each row.

        `weight` are those of rows divided by l2.
        """
        n_rows, n_classes = self.duals.shape
        weights = np.zeros((rows.shape[1], -(-n_classes // LANES) * LANES), np.float32)
        moved = np.zeros(weights.shape[1])
        moved[:n_classes] = self.start
        pulls = -self.duals
        pulls[np.arange(n_rows), self.codes] += 1.0
        if pulls.any():
            pulls *= weight[:, None].astype(np.float32)
            weights[:, :n_classes] = rows.T @ pulls
            moved[:n_classes] += self.square * pulls.sum(axis=0, dtype=np.float64)
        gain, scores, (new, push) = np.zeros(1), np.zeros(weights.shape[1], np.float32), np.zeros((2, n_classes))
        for turn in range(most_turns):
            order, before = order_of(n_rows, turn), gain[0]
            ascend_rows(
                *(rows.data, rows.indices, rows.indptr, order, weight, self.square, weights, moved, self.duals),
                *(scores, new, push, gain),
            )
            if gain[0] - before <= least * weight.sum():
                break
        return np.vstack([weights[:, :n_classes], moved[:n_classes]])


def order_of(n_rows: int, turn: int) -> np.ndarray:
    """The numbers of rows in an order that depends on the turn alone."""
    keys = np.arange(n_rows, dtype=np.uint64) + np.uint64(turn << 40)
    return np.argsort(scattered_bits(keys))


def weighted_sums(batches: Sequence[RowBatch], weight: np.ndarray, n_features: int) -> tuple[np.ndarray, np.ndarray]:
    """Of each feature the weighted sums of values and squares, each (n_features,)."""
    sums, squares = np.zeros((2, n_features))
    for rows in batches:
        chunk, row_weight = rows.chunk, weight[rows.where]
        if isinstance(chunk, CSRChunk):
            values = chunk.data.astype(np.float64)
            weighted = np.repeat(row_weight, np.diff(chunk.indptr)) * values
            for total, part in ((sums, weighted), (squares, weighted * values)):
                total += np.bincount(chunk.indices, part, n_features)
            continue
        for piece in pieces(len(row_weight), max(CACHED_VALUES // max(n_features, 1), 1)):
            values = chunk.values[piece].astype(np.float64)
            sums += np.einsum("i,ij->j", row_weight[piece], values)
            squares += np.einsum("i,ij,ij->j", row_weight[piece], values, values)
    return sums, squares


def scores_of_batch(rows: RowBatch, weights: np.ndarray, intercepts: np.ndarray) -> np.ndarray:
    """Scores of the rows of a batch, whose values by column are kept."""
    return scores_of(rows.chunk, weights, intercepts, rows.columns(weights, cached=0))
