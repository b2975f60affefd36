"""Trains additive models of sampled rows side by side: all folds, classes and penalties in each read of the rows.

The prior of a term is a tree: a step differs from the coarser one that it is part of by a normal deviation, whose
variance is the square of a factor over l2. A row has one column of each term, so second derivatives within a term are
diagonal, and its weights given the others follow from two passes over the tree. That is how the gradient is
preconditioned; descent goes along conjugate gradients, by Newton's step in the scores along them.

The model of all rows is trained in the same way: the gradient of all rows at a point, less that of the sample, is added
to the loss of the sample, whose minimum is the next point (Shamir, Srebro, Zhang, ICML 2014). Columns that the sample
has too few rows of are held back by the curvature that it lacks.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from streamnb.additive.losses import LaneRows, TermLosses
from streamnb.encoding.terms import TermColumns
from streamnb.kernels import terms as kernels
from streamnb.kernels.descent import add_intercepts
from streamnb.kernels.lanes import LANES

MOST_READS = 30
LEAST_GAIN = 3e-5  # what a step should gain for each row
SHORTER = 8  # attempts with shorter steps
ROUNDING = 1e-12  # share of the objective by which it may rise
TINY = 1e-300
N_ARRAYS, N_TREES, N_SCORES = 14, 3, 5  # as large as the weights of all lanes, as their steps, and as their scores


@dataclass(frozen=True, eq=False)
class TermWeights:
    """Weights (n_columns + 1, R) of a model, intercepts last, and what the prior pulls them by, its gradient."""

    weights: np.ndarray
    pulls: np.ndarray

    def towards(self, other: "TermWeights", share: float) -> "TermWeights":
        """The point after this share of the way to another one."""
        weights = self.weights + share * (other.weights - self.weights)
        return TermWeights(weights, self.pulls + share * (other.pulls - self.pulls))

    @property
    def penalty(self) -> float:
        return 0.5 * float(np.einsum("ij,ij->", self.weights, self.pulls))


class AllRows(NamedTuple):
    """The gradient (n_columns + 1, R) of the losses of all rows at a point, and the weights of the rows of columns."""

    gradient: np.ndarray
    counts: np.ndarray


@dataclass(frozen=True, eq=False)
class LaneModel:
    """A model to train: the fold that is left out, the variance of each step about its parent, and where to start.

    With `all_rows`, the sampled rows stand for these.
    """

    fold: int
    variance: np.ndarray
    start: TermWeights | None
    all_rows: AllRows | None = None


@dataclass(frozen=True, eq=False)
class TermRows:
    """Sampled rows by the columns of their terms.

    Attributes
    ----------
    columns : TermColumns
    parents, leaves
        As `TermLayers.tree`.
    places : (n_terms, n_rows) int32
        The column of each term; the number of columns where a row has none.
    losses : TermLosses
    targets, weight, fold : (n_rows,)
    """

    columns: TermColumns
    parents: np.ndarray
    leaves: np.ndarray
    places: np.ndarray
    losses: TermLosses
    targets: np.ndarray
    weight: np.ndarray
    fold: np.ndarray

    @property
    def width(self) -> int:
        """The lanes of a model, R."""
        return self.losses.width

    @cached_property
    def counts(self) -> np.ndarray:
        """The weight of the rows of each column, (n_columns,)."""
        found = sum(np.bincount(of_term, self.weight, len(self.leaves) + 1) for of_term in self.places)
        return np.asarray(found)[:-1]

    def scores(self, weights: np.ndarray, some: Any = slice(None)) -> np.ndarray:
        """The scores of all rows, or of some, under weights (n_columns + 1, L), L a multiple of LANES."""
        places, table = np.ascontiguousarray(self.places[:, some]), weights.copy()
        table[-1] = 0.0
        out = np.broadcast_to(weights[-1], (places.shape[1], weights.shape[1])).copy()
        kernels.score_terms(places, table.reshape(-1, LANES), out)
        return out

    def held_out(self, weights: Mapping[int, np.ndarray]) -> np.ndarray:
        """The scores of each row by the weights (n_columns + 1, R) without its fold, (n_rows, R)."""
        found = np.zeros((len(self.weight), self.width))
        for fold, of_fold in weights.items():
            rows = np.flatnonzero(self.fold == fold)
            found[rows] = self.scores(lanes_of([of_fold]), rows)[:, : self.width]
        return found

    def without_terms(self, intercepts: np.ndarray) -> TermWeights:
        """The weights of a model of intercepts alone."""
        zero = np.zeros((len(self.leaves) + 1, self.width))
        weights = zero.copy()
        weights[-1] = intercepts
        return TermWeights(weights, zero)


def lanes_of(values: Sequence[np.ndarray]) -> np.ndarray:
    """Arrays (n, R) of some models side by side, (n, L), with zeros in lanes of no model."""
    found = np.concatenate(values, axis=1)
    return np.pad(found, ((0, 0), (0, -found.shape[1] % LANES)))


def bytes_of_models(n_models: int, width: int, n_rows: int, n_columns: int, n_steps: int) -> int:
    """Memory for models of so many rows, columns and steps that are trained together, with R = `width`."""
    of_lane = N_ARRAYS * n_columns + N_TREES * n_steps + N_SCORES * n_rows
    return 8 * of_lane * (-(-n_models * width // LANES) * LANES)


class TermDescent:
    """Trains models of the same rows and terms together; each has the same bits whatever others are beside it.

    Attributes
    ----------
    weights, pulls : (n_columns + 1, L)
        Those of all models so far, as of `TermWeights`, side by side.
    scores : (n_rows, L)
        Of all rows.
    """

    def __init__(self, rows: TermRows, models: Sequence[LaneModel]):
        self._rows, width, n_models = rows, rows.width, len(models)
        n_lanes = -(-n_models * width // LANES) * LANES
        self._of_lane = np.minimum(np.arange(n_lanes) // width, n_models - 1)  # further lanes repeat the last model
        self._first = np.arange(n_models) * width
        folds = np.array([model.fold for model in models], np.int64)
        self._others = LaneRows(rows.targets, rows.weight, rows.fold, folds[self._of_lane])
        self._n_rows, intercepts = rows.losses.intercepts(rows.targets, rows.weight, rows.fold, folds)
        self._variance = np.stack([model.variance for model in models], axis=1)[:, self._of_lane]
        self._nodes, self._shrink = np.empty_like(self._variance), np.empty_like(self._variance)
        starts = [
            rows.without_terms(one) if model.start is None else model.start
            for model, one in zip(models, intercepts, strict=True)
        ]
        self.weights, self.pulls = (lanes_of([getattr(one, name) for one in starts]) for name in ("weights", "pulls"))
        self.scores = rows.scores(self.weights)
        self._slopes, self._work = np.empty_like(self.scores), np.empty_like(self.scores)
        self._objective = self._losses(np.zeros_like(self.scores), np.zeros(n_models))
        self._objective += 0.5 * self._dots(self.weights, self.pulls)
        rows.losses.curvatures(self.scores, self._slopes, self._others, self._work)
        self._curvature, self._gradient = self._sums(self._work), self._sums(self._slopes)
        self._lacking: np.ndarray | None = None  # curvature of all rows that the sample lacks
        if models[0].all_rows is not None:
            self._stand_for(models[0].all_rows)
        kernels.divide_by_prior(rows.parents, rows.leaves, self._variance, self._curvature[:-1], self._shrink)
        self._gradient += self.pulls

    def _stand_for(self, all_rows: AllRows) -> None:
        """Correct the loss of the sample of the only model, so that its gradient at the start is that of all rows."""
        width, counts = self._rows.width, self._rows.counts
        mean = self._curvature[-1] / self._n_rows[0]
        per_row = np.divide(
            self._curvature[:-1], counts[:, None], out=np.tile(mean, (len(counts), 1)), where=counts[:, None] > 0.0
        )
        self._lacking = np.zeros_like(self._curvature)
        self._lacking[:-1] = per_row * np.maximum(all_rows.counts - counts, 0.0)[:, None]
        self._curvature += self._lacking
        self._tilt = lanes_of([all_rows.gradient]) - self._gradient
        self._tilt[:, width:] = 0.0
        self._gradient += self._tilt

    def expected_gain(self) -> float:
        """About what descent of the first model gains from its start, as a share of what gains are compared with."""
        steepest, _ = self._preconditioned()
        square = self._dots(self._gradient, steepest, intercepts=True)
        size = self._rows.losses.size(self._objective, self._n_rows)
        return max(-0.5 * float(square[0] / size[0]), 0.0)

    def trained(self, least_gain: float | None = None, most_reads: int | None = None) -> list[TermWeights]:
        """Train until another step gains little, and return the weights of each model."""
        rows, objective = self._rows, self._objective
        least_gain = LEAST_GAIN if least_gain is None else least_gain
        self._penalty = 0.5 * self._dots(self.weights, self.pulls)
        done, along, pull = objective < 0.0, np.zeros_like(self.weights), np.zeros_like(self.weights)
        last, last_square = along, np.full(len(self._first), -np.inf)
        for _ in range(MOST_READS if most_reads is None else most_reads):
            steepest, pull_there = self._preconditioned()
            square = self._dots(self._gradient, steepest, intercepts=True)
            kept = (square - self._dots(self._gradient, last, intercepts=True)) / last_square  # Polak and Ribiere 1969
            kept = self._of_lanes(np.where(last_square < 0.0, np.maximum(kept, 0.0), 0.0))
            along, pull = along * kept, pull * kept
            along += steepest
            pull += pull_there
            last, last_square = steepest, np.minimum(square, -TINY)
            gain = self._stepped(along, pull, self._dots(self._gradient, along, intercepts=True), objective, done)
            objective = objective - gain
            done |= gain <= least_gain * rows.losses.size(objective, self._n_rows)
            if done.all():
                break
            self._gradient = self._sums(self._slopes)
            self._gradient += self.pulls
            if self._lacking is not None:
                self._gradient += self._tilt
        self.pulls[:-1][self._variance[rows.leaves] == 0.0] = 0.0  # of terms that a model lacks
        first = self._first.tolist()
        each = [slice(lane, lane + rows.width) for lane in first]
        return [TermWeights(self.weights[:, lanes].copy(), self.pulls[:, lanes].copy()) for lanes in each]

    def _stepped(
        self, along: np.ndarray, pull: np.ndarray, slope: np.ndarray, objective: np.ndarray, done: np.ndarray
    ) -> np.ndarray:
        """Go along a direction by Newton's step in its length, or less where losses rise; returns what that gains."""
        step, curved = self._rows.scores(along), np.zeros(len(self._of_lane))
        self._rows.losses.curve(self.scores, self._slopes, step, self._others, curved)
        of_prior, cross = self._dots(along, pull), self._dots(self.weights, pull)
        if self._lacking is not None:
            held_back = self._lacking * along
            of_prior += self._dots(along, held_back)
            cross += self._dots(self._tilt, along, intercepts=True)
        curve = curved[self._first] + of_prior
        moves = ~done & (curve > 0.0)
        length = np.where(moves, -slope, 0.0) / np.where(moves, curve, 1.0)
        for _ in range(SHORTER):
            of_penalty = self._penalty + length * (cross + 0.5 * length * of_prior)
            reached = self._losses(step, length) + of_penalty
            worse = moves & ~(reached <= objective + ROUNDING * np.abs(objective))
            if not worse.any():
                break
            length = np.where(worse, 0.25 * length, length)
        by = self._of_lanes(length)
        for values, change in ((self.weights, along), (self.pulls, pull), (self.scores, step)):
            values += by * change
        if self._lacking is not None:
            self._tilt += by * held_back
        self._penalty = of_penalty
        return np.where(moves, objective - reached, 0.0)

    def _losses(self, step: np.ndarray, length: np.ndarray) -> np.ndarray:
        """The losses of each model at scores a step of this length further; keeps their slopes."""
        losses, lengths = np.zeros(len(self._of_lane)), self._of_lanes(length)
        self._rows.losses.add(self.scores, step, lengths, self._others, self._slopes, self._work, losses)
        return losses[self._first]

    def _sums(self, values: np.ndarray) -> np.ndarray:
        """The sums of values of rows (n_rows, L) over the rows of each column, and last over all rows."""
        total = np.zeros((len(self._rows.leaves) + 1, values.shape[1]))
        kernels.add_terms(self._rows.places, values.reshape(-1, LANES), total)
        total[-1] = 0.0  # of terms that rows lack
        add_intercepts(values, np.zeros(values.shape[1]), total[-1])
        return total

    def _preconditioned(self) -> tuple[np.ndarray, np.ndarray]:
        """The step of weights where each term and the intercept are solved alone, and how it changes the pull.

        Terms are about their means, so that they are independent of the intercept.
        """
        rows, gradient, curvature = self._rows, self._gradient, self._curvature
        slope, whole = gradient[-1], curvature[-1]
        per_row = np.divide(1.0, whole, out=np.zeros_like(whole), where=whole > 0.0)
        means = curvature[:-1] * per_row
        right = means * slope
        right -= gradient[:-1]
        kernels.solve_tree(rows.parents, rows.leaves, self._variance, self._shrink, right, self._nodes)
        step, pull, at_means = np.empty_like(gradient), np.zeros_like(gradient), np.zeros_like(slope)
        step[:-1] = self._nodes[rows.leaves]
        kernels.add_dots(means, step[:-1], at_means)
        step[-1] = -slope * per_row - at_means
        np.multiply(curvature[:-1], step[:-1], out=means)
        np.subtract(right, means, out=pull[:-1])
        return step, pull

    def _dots(self, a: np.ndarray, b: np.ndarray, intercepts: bool = False) -> np.ndarray:
        """The inner product of each model, (n_models,)."""
        found, last = np.zeros(a.shape[1]), len(a) if intercepts else len(a) - 1
        kernels.add_dots(a[:last], b[:last], found)
        return found[: len(self._first) * self._rows.width].reshape(len(self._first), -1).sum(axis=1)

    def _of_lanes(self, of_models: np.ndarray) -> np.ndarray:
        """Values of models for each of their lanes, and 0 for lanes of no model."""
        found = of_models[self._of_lane]
        found[len(of_models) * self._rows.width :] = 0.0
        return found
