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
from typing import Any

import numpy as np
import scipy.sparse as sp

from streamnb.additive.losses import LaneRows, TermLosses
from streamnb.encoding.bins import FINEST, BinEdges, CodedFeatures, TermColumns
from streamnb.kernels import terms as kernels
from streamnb.kernels.descent import add_intercepts
from streamnb.kernels.lanes import LANES

MOST_READS = 30
LEAST_GAIN = 3e-5  # for each row, of what is left to gain in the end
LEAST_STEP = 1e-4  # what a step should gain for each row, of models that are compared
SHORTER = 8  # attempts with shorter steps
ROUNDING = 1e-12  # share of the objective by which it may rise
TINY = 1e-300
N_ARRAYS, N_TREES, N_SCORES = 14, 3, 5  # as large as the weights of all lanes, as their steps, and as their scores
FeaturePair = tuple[int, int]

PAIR_RESOLUTIONS = 4, 8, 16, 32
FINER = -0.5  # power of how many more steps there are than coarsest ones, by which factors fall; chosen on folds
PAIR_FINER = -0.125  # the same, of cells of pairs


# ---- the tree of each term -------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class AdditiveTerms:
    """The terms of an additive model: features and pairs of them, each at several resolutions."""

    coded: CodedFeatures
    resolutions: tuple[int, ...]
    pairs: tuple[FeaturePair, ...] = ()

    def columns(self, base: BinEdges | None = None) -> TermColumns:
        """The step that makes columns of these terms, at the finest resolution of each; with `base`, of numbers."""
        return TermColumns.of(base, self.coded, [(term, resolutions[-1]) for term, resolutions in self._terms])

    @cached_property
    def layers(self) -> "TermLayers":
        """The terms at all of their resolutions."""
        return TermLayers.of(self.columns(), self.coded, [resolutions for _, resolutions in self._terms])

    def factors(self, pair_factor: float) -> np.ndarray:
        """Factors of the steps of layers, whose penalties are divided by their squares.

        The finer the steps, the smaller the expected differences between neighbours.
        """
        layers = self.layers
        alone = layers.terms < self.coded.n_features
        of_terms, power = np.where(alone, 1.0, pair_factor**-0.5), np.where(alone, FINER, PAIR_FINER)
        return np.repeat(of_terms * layers.finer**power, layers.widths)

    @property
    def _terms(self) -> list[tuple[tuple[int, ...], Sequence[int]]]:
        """The features of each term and its resolutions, the finest last."""
        mains = [((j,), self._of_feature(j)) for j in range(self.coded.n_features)]
        return [*mains, *((pair, PAIR_RESOLUTIONS) for pair in self.pairs)]

    def _of_feature(self, feature: int) -> list[int]:
        """The resolutions of a feature that differ; levels have their own alone."""
        if not self.coded.ordered[feature]:
            return [FINEST]
        n_codes = self.coded.firsts[feature + 1] - self.coded.firsts[feature]
        return [*(r for r in self.resolutions if r < n_codes), FINEST]


@dataclass(frozen=True, eq=False)
class TermLayers:
    """Steps at several resolutions, whose scores add up to those of the finest.

    Attributes
    ----------
    terms : (n_layers,) ints
        The number of each layer's term, ascending.
    widths : (n_layers,) ints
        The number of steps of each layer, or of cells of two features.
    parts : (n_columns, n_steps) CSR array
        1 where a column of the finest resolution is part of a step, of as many as its term has layers. Steps are parts
        of those of the coarser layers of their term.
    """

    terms: np.ndarray
    widths: np.ndarray
    parts: sp.csr_array

    @classmethod
    def of(cls, columns: TermColumns, coded: CodedFeatures, resolutions: Sequence[Sequence[int]]) -> "TermLayers":
        """The layers of terms, given their columns at the finest of these resolutions."""
        terms, widths, rows, places, first = [], [], [], [], 0
        for term, (features, sides) in enumerate(zip(columns.features.tolist(), columns.sides, strict=True)):
            of_column = np.arange(columns.starts[term], columns.starts[term + 1])
            layers, parts_of_it = list[tuple[int, np.ndarray]](), of_column - of_column[0]
            for resolution in reversed(resolutions[term]):
                coarse = [coded.steps(j, resolution) for j in features if j >= 0]
                cells = _steps_of_steps(sides[0], coarse[0])
                width = int(coarse[0].max()) + 1
                if len(coarse) > 1:
                    n_second = int(coarse[1].max()) + 1
                    cells = (cells[:, None] * n_second + _steps_of_steps(sides[1], coarse[1])).reshape(-1)
                    width *= n_second
                _, firsts, inverse = np.unique(parts_of_it, return_index=True, return_inverse=True)
                parts_of_it = cells[firsts][inverse]
                layers.append((width, parts_of_it))
            for width, cells in reversed(layers):
                terms.append(term)
                widths.append(width)
                rows.append(of_column)
                places.append(first + cells)
                first += width
        where = np.concatenate(rows), np.concatenate(places)
        parts = sp.csr_array((np.ones(len(where[0])), where), shape=(columns.n_columns, first))
        return cls(np.array(terms), np.array(widths), parts)

    @property
    def finer(self) -> np.ndarray:
        """How many times as many steps each layer has as the coarsest of its term, (n_layers,)."""
        return self.widths / self.widths[np.searchsorted(self.terms, self.terms)]

    @cached_property
    def starts(self) -> np.ndarray:
        """Where the steps of each term start, and where the last one ends, (n_terms + 1,)."""
        return np.append(0, np.cumsum(np.bincount(self.terms, self.widths))).astype(np.int64)

    @cached_property
    def tree(self) -> tuple[np.ndarray, np.ndarray]:
        """The step that each step is part of, -1 for the coarsest, and the finest step of each column."""
        indptr, steps = self.parts.indptr, self.parts.sorted_indices().indices
        parents = np.full(self.parts.shape[1], -1, np.int32)
        parents[steps[1:]] = steps[:-1]
        parents[steps[indptr[:-1]]] = -1
        return parents, steps[indptr[1:] - 1]

    def degrees_of_freedom(self, curvature: np.ndarray, l2: float) -> np.ndarray:
        """About how many free numbers each term has: the sum of h / (h + l2) over its steps.

        `curvature` (n_steps,) is the second derivative of the loss in the weight of each.
        """
        share = np.divide(curvature, curvature + l2, out=np.zeros(len(curvature)), where=curvature > 0.0)
        return np.bincount(np.repeat(self.terms, self.widths), share)


def _steps_of_steps(fine: np.ndarray, coarse: np.ndarray) -> np.ndarray:
    """The coarse step that each fine step is part of."""
    found = np.zeros(int(fine.max()) + 1, np.int64)
    found[fine] = coarse
    return found


# ---- descent ---------------------------------------------------------------------------------------------------------


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


@dataclass(frozen=True, eq=False)
class LaneModel:
    """A model to train: the fold that is left out, the variance of each step about its parent, and where to start."""

    fold: int
    variance: np.ndarray
    start: TermWeights | None


@dataclass(frozen=True, eq=False)
class TermRows:
    """Sampled rows by the columns of their terms.

    Attributes
    ----------
    columns : TermColumns
    layers : TermLayers
    places : (n_terms, n_rows) int32
        The column of each term; the number of columns where a row has none.
    losses : TermLosses
    targets, weight, fold : (n_rows,)
    """

    columns: TermColumns
    layers: TermLayers
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
        found = sum(np.bincount(of_term, self.weight, self.columns.n_columns + 1) for of_term in self.places)
        return np.asarray(found)[:-1]

    def scores(self, weights: np.ndarray, some: Any = slice(None)) -> np.ndarray:
        """The scores of all rows, or of some, under weights (n_columns + 1, L)."""
        places, table = np.ascontiguousarray(self.places[:, some]), weights.copy()
        table[-1] = 0.0
        out = np.broadcast_to(weights[-1], (places.shape[1], weights.shape[1])).copy()
        kernels.score_terms(places, table, out)
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
        zero = np.zeros((self.columns.n_columns + 1, self.width))
        weights = zero.copy()
        weights[-1] = intercepts
        return TermWeights(weights, zero)


def lanes_of(values: Sequence[np.ndarray]) -> np.ndarray:
    """Arrays (n, R) of some models side by side, (n, L), with zeros in lanes of no model."""
    found = np.concatenate(values, axis=1)
    return np.pad(found, ((0, 0), (0, n_lanes_of(found.shape[1]) - found.shape[1])))


def n_lanes_of(n: int) -> int:
    """The lanes of so many rows of weights, L: one, or as many as fill vectors."""
    return n if n == 1 else -(-n // LANES) * LANES


def bytes_of_models(n_models: int, width: int, n_rows: int, n_columns: int, n_steps: int) -> int:
    """Memory for models of so many rows, columns and steps that are trained together, with R = `width`."""
    of_lane = N_ARRAYS * n_columns + N_TREES * n_steps + N_SCORES * n_rows
    return 8 * of_lane * n_lanes_of(n_models * width)


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
        lanes = np.arange(n_lanes_of(n_models * width))
        self._of_lane = np.minimum(lanes // width, n_models - 1)  # further lanes repeat the last model
        self._first = np.arange(n_models) * width
        folds = np.array([model.fold for model in models], np.int64)
        self._others = LaneRows(rows.targets, rows.weight, rows.fold, folds[self._of_lane])
        self._n_rows, intercepts = rows.losses.intercepts(rows.targets, rows.weight, rows.fold, folds)
        self._variance = np.ascontiguousarray(np.stack([model.variance for model in models])[self._of_lane].T)
        self._shrink = np.empty_like(self._variance)
        self._room = np.empty((int(np.diff(rows.layers.starts).max()), len(lanes)))  # of the nodes of one term
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
        self._gradient += self.pulls
        self._lacking: np.ndarray | None = None  # curvature of all rows that the sample lacks
        kernels.divide_by_prior(*rows.layers.tree, self._variance, self._curvature[:-1], self._shrink)

    def correct(self, gradient: np.ndarray, counts: np.ndarray) -> None:
        """Let the sample of the only model stand for all rows, before training.

        Parameters
        ----------
        gradient : (n_columns + 1, R)
            That of the objective at the start, as it should be.
        counts : (n_columns,)
            The weight of all rows of each column.
        """
        rows, own = self._rows, self._rows.counts[:, None]
        mean = np.broadcast_to(self._curvature[-1] / self._n_rows[0], self._curvature[:-1].shape)
        per_row = np.divide(self._curvature[:-1], own, out=mean.copy(), where=own > 0.0)
        self._lacking = np.zeros_like(self._curvature)
        self._lacking[:-1] = per_row * np.maximum(counts[:, None] - own, 0.0)
        self._curvature += self._lacking
        kernels.divide_by_prior(*rows.layers.tree, self._variance, self._curvature[:-1], self._shrink)
        self._tilt = lanes_of([gradient]) - self._gradient
        self._tilt[:, rows.width :] = 0.0
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
        least_gain = LEAST_STEP if least_gain is None else least_gain
        self._penalty = 0.5 * self._dots(self.weights, self.pulls)
        done, along, pull = objective < 0.0, np.zeros_like(self.weights), np.zeros_like(self.weights)
        last, last_square = along, np.full(len(self._first), -np.inf)
        for _ in range(MOST_READS if most_reads is None else most_reads):
            steepest, pull_there = self._preconditioned()
            square = self._dots(self._gradient, steepest, intercepts=True)
            kept = (square - self._dots(self._gradient, last, intercepts=True)) / last_square  # Polak and Ribiere 1969
            kept = self._of_lanes(np.where(last_square < 0.0, np.maximum(kept, 0.0), 0.0))
            kernels.move(along, kept, steepest, np.ones_like(kept))
            kernels.move(pull, kept, pull_there, np.ones_like(kept))
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
        self.pulls[:-1][self._variance[rows.layers.tree[1]] == 0.0] = 0.0  # of terms that a model lacks
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
            kernels.move(values, np.ones_like(by), change, by)
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
        total = np.zeros((self._rows.columns.n_columns + 1, values.shape[1]))
        kernels.add_terms(self._rows.places, values, total)
        total[-1] = 0.0  # of terms that rows lack
        add_intercepts(values, np.zeros(values.shape[1]), total[-1])
        return total

    def _preconditioned(self) -> tuple[np.ndarray, np.ndarray]:
        """The step of weights where each term and the intercept are solved alone, and how it changes the pull.

        Terms are about their means, so that they are independent of the intercept.
        """
        columns, layers, whole = self._rows.columns, self._rows.layers, self._curvature[-1]
        per_row = np.divide(1.0, whole, out=np.zeros_like(whole), where=whole > 0.0)
        step, pull = np.empty_like(self._gradient), np.empty_like(self._gradient)
        kernels.solve_terms(
            columns.starts,
            layers.starts,
            *layers.tree,
            self._variance,
            self._shrink,
            per_row,
            self._curvature,
            self._gradient,
            self._room,
            step,
            pull,
        )
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
