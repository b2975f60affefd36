"""Newton's method for models side by side: each read moves all of them, whatever their penalties and folds.

Models of one penalty share the curvature at the mean of their linear predictors: without a fold it differs by little
but its size, so that steps remain almost those of Newton (Fisher scoring where a loss is not convex: McCullagh and
Nelder 1989, section 2.5). Means of the scan are the start. Offsets are exposures, which weigh rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import sha256
from operator import add
from typing import Annotated, Any, Self

import numpy as np
from scipy.linalg import lapack, solve_triangular

from streamnb.core import memory, row_checks
from streamnb.core.threads import one_thread
from streamnb.fits.fit import Fit
from streamnb.fits.passes import Pass
from streamnb.fits.statistic import Statistic
from streamnb.kernels import descent
from streamnb.models.linear import linear_scores
from streamnb.passes.contract import Report, Wants
from streamnb.problem.losses import TweedieLoss, slopes_bound
from streamnb.regression.target_sums import targets_of
from streamnb.rows.boundary import as_chunk, checked
from streamnb.rows.preparing import RowOptions
from streamnb.rows.row_blocks import Block, Chunk, CSRChunk
from streamnb.rows.splits import Folding, check_n_folds, check_no_empty
from streamnb.selection.folded_scan import check_same_folds
from streamnb.stats.accumulating import Accumulator
from streamnb.stats.class_stats import ClassStats
from streamnb.stats.second_moments import CONSTANT
from streamnb.training.learner import check_rows
from streamnb.training.objectives import MOMENTS, RowSums
from streamnb.training.reading import add_products, power_above

ONE_CLASS = np.zeros(1, np.int64)
CACHED, FEWEST, MOST = 1 << 15, 64, 2048  # scores that stay in the cache, and rows at once
TILE = 2048  # rows


@dataclass(frozen=True, eq=False)
class Exposed:
    """Rows with targets y and weights by which the linear predictor has no offset; see `Loss.absorbed`.

    Attributes
    ----------
    y, weight : (n_rows,)
    factor : (n_rows,)
        What weights were multiplied by.
    """

    y: np.ndarray
    weight: np.ndarray
    factor: np.ndarray

    @classmethod
    def of(cls, loss: TweedieLoss, offset: bool, block: Block) -> Self:
        """The rows of a block, whose y has a second column where there is an `offset`."""
        table = targets_of(block)
        n_targets = table.shape[1] - offset
        if n_targets != 1:
            raise ValueError(
                f"y has {n_targets} columns; a {loss.kind} model predicts one number a row: fit one for each column"
            )
        y, own = table[:, 0], table[:, 1] if offset else None
        loss.check(y, block.weight, block.first_row)
        if own is not None:
            loss.check_offset(own, block.first_row)
        weight = np.ones(len(y)) if block.weight is None else np.asarray(block.weight, np.float64)
        y, factor = loss.absorbed(np.where(weight > 0.0, y, 1.0), np.ones(len(y)), own)
        assert factor is not None
        return cls(y, weight * factor, factor)


@dataclass(frozen=True)
class LossTotals:
    """Weighted sums over rows: of the rows themselves, of exposed weights, targets, constants of losses, and levels."""

    weight: float
    exposed: float
    target: float
    saturated: float
    level: float

    @property
    def mean(self) -> float:
        """The mean target."""
        return self.target / self.exposed

    def loss_at(self, loss: TweedieLoss, s: np.ndarray) -> float:
        """The losses where the linear predictor is s (1,) in all rows."""
        mean = np.array([self.mean])
        of_mean = loss.values(s, mean) - loss.saturated(mean)
        return max(float(self.saturated + self.exposed * of_mean[0]), 0.0)


@dataclass(eq=False)
class ExposedSums(Statistic):
    """Moments of features and of targets, by fold, and the largest absolute value of each feature."""

    loss: TweedieLoss
    offset: bool
    folding: Folding | None
    features: Annotated[Any, add]  # an Accumulator as long as rows are added
    targets: Annotated[Any, add]
    largest: Annotated[np.ndarray, np.maximum]
    title = "scan"

    @classmethod
    def asked(cls, loss: TweedieLoss, offset: bool, folding: Folding | None, limit: int | None) -> Self:
        """The sums of no rows."""
        known: dict[str, Any] = {"folding": folding, "memory_limit": limit}
        features = Accumulator(MOMENTS[:2], RowOptions(), ONE_CLASS, together=MOMENTS[1:2], **known)
        targets = Accumulator(MOMENTS[:1], RowOptions(), ONE_CLASS, **known)
        return cls(loss, offset, folding, features, targets, np.zeros(1))

    def add_block(self, block: Block) -> None:
        (chunk, survey), rows = checked(block), Exposed.of(self.loss, self.offset, block)
        labels = np.zeros(len(rows.y), np.int64)
        self.features.add(chunk, survey, labels, rows.weight, block.split)
        with np.errstate(divide="ignore"):
            beside = self.loss.saturated(rows.y), self.loss.level(rows.y), 1.0 / rows.factor
        columns = np.column_stack([rows.y, *beside])
        self.targets.add(*as_chunk(columns, block.first_row), labels, rows.weight, block.split)
        self.largest = np.maximum(self.largest, _largest(chunk))

    def wants(self, n_rows: int | None, n_features: int | None) -> Wants:
        if n_rows is not None:
            check_n_folds(self.folding, n_rows)
        return Wants()

    def ended(self, report: Report) -> Self:
        row_checks.check_min_size(report.rows, 1)
        row_checks.check_total_weight(self.targets.total_weight)
        if self.folding is not None:
            check_no_empty(self.folding, [part.n_rows for part in self.targets.folds])
        return self

    def about(self) -> dict[str, str]:
        known = {"the loss": repr(self.loss), "offset": repr(self.offset), "folding": repr(self.folding)}
        return {"the task": type(self).__name__, **known}

    @cached_property
    def moments(self) -> RowSums:
        """Of the features over all rows."""
        return RowSums.of(self.features)

    def varying(self, without: int | None, about_means: bool) -> np.ndarray:
        """Numbers of the features that are not the same in all rows, or in those outside a fold; else, not 0."""
        moments = self.moments if without is None else RowSums.of(self.features.without_fold(without))
        spread = moments.spread if about_means else moments.squares
        return np.flatnonzero(spread > CONSTANT * moments.squares)

    def totals(self, without: int | None = None) -> LossTotals:
        """The totals over all rows, or those outside a fold."""
        stats: ClassStats = self.targets if without is None else self.targets.without_fold(without)
        target, saturated, level, weight = stats.table("sum").value()[0].tolist()
        return LossTotals(weight, stats.total_weight, target, saturated, level)


def _largest(chunk: Chunk) -> np.ndarray:
    """The largest absolute value of each column, (n_features,)."""
    if not isinstance(chunk, CSRChunk):
        return np.abs(chunk.values).max(axis=0, initial=0.0).astype(np.float64)
    largest = np.zeros(chunk.shape[1])
    np.maximum.at(largest, chunk.indices, np.abs(chunk.data).astype(np.float64))
    return largest


@dataclass(eq=False)
class CurvedSums(Statistic):
    """Losses of models side by side, their gradients, and curvatures of groups of models: sums of one read.

    Parameters
    ----------
    loss, offset, folding
        As of `ExposedSums`.
    weights : (n_features + 1, n_models), intercepts last
    folds : (n_models,) int
        The fold that each model leaves out, -1 for none.
    groups : (n_models,) int
        The group of each; the curvature of a group is that at the mean of its linear predictors.
    unit : (n_features + 1,)
        Powers of two above the absolute values of features and, last, of 1.
    bound : float
        A power of two above the weighted sum of slopes, and of curvatures.
    top : float
        A power of two above the losses that matter, of all rows together.
    every : int
        Curvatures are of every so many tiles of 2,048 rows alone.

    Attributes
    ----------
    losses : (n_folds, n_models)
        On the rows of each fold, or of all rows; capped at multiples of `top`.
    gradient : (n_features + 1, n_models)
        Of the loss of the rows outside the fold of each model.
    curvature : (n_features + 1, n_features + 1, n_groups)
        Sums of products of features, weighted by second derivatives, in units of `unit`; the lower triangle.
    rows : (n_folds,)
    """

    loss: TweedieLoss
    offset: bool
    folding: Folding | None
    weights: np.ndarray
    folds: np.ndarray
    groups: np.ndarray
    unit: np.ndarray
    bound: float
    top: float
    every: int
    losses: Annotated[np.ndarray, np.add]
    gradient: Annotated[np.ndarray, np.add]
    curvature: Annotated[np.ndarray, np.add]
    rows: Annotated[np.ndarray, np.add]
    title = "read"

    @classmethod
    def asked(cls, sums: ExposedSums, n_groups: int, **how: Any) -> Self:
        """The sums of no rows, for weights and what else `how` gives."""
        n, n_models = how["weights"].shape
        n_folds = 1 if sums.folding is None else sums.folding.n_folds
        empty = np.zeros((n_folds, n_models)), np.zeros((n, n_models)), np.zeros((n, n, n_groups)), np.zeros(n_folds)
        losses, gradient, curvature, rows = empty
        fields: dict[str, Any] = {"losses": losses, "gradient": gradient, "curvature": curvature, "rows": rows}
        return cls(sums.loss, sums.offset, sums.folding, **how, **fields)

    def ended(self, report: Report) -> Self:
        return self

    def about(self) -> dict[str, str]:
        digest = sha256()
        for array in (self.weights, self.folds, self.groups, self.unit, np.array([self.bound, self.top, self.every])):
            digest.update(np.ascontiguousarray(array).tobytes())
        known = {"the loss": repr(self.loss), "offset": repr(self.offset), "folding": repr(self.folding)}
        return {"the task": type(self).__name__, **known, "weights": digest.hexdigest()[:16]}

    def add_block(self, block: Block) -> None:
        chunk, rows = checked(block)[0], Exposed.of(self.loss, self.offset, block)
        row_checks.check_n_features(chunk.shape[1], len(self.weights) - 1, "the scan")
        splits = np.zeros(block.n_rows, np.int64)
        if self.folding is not None:
            splits = self.folding.numbers(block.first_row, block.n_rows, block.split, 0)
        self.rows += np.bincount(splits, minlength=len(self.rows))
        at_once = min(max(CACHED // self.weights.shape[1], FEWEST), MOST)
        for first in range(0, block.n_rows, at_once):
            where = slice(first, min(first + at_once, block.n_rows))
            some = replace(rows, y=rows.y[where], weight=rows.weight[where])
            self._add_some(chunk.of_rows(where.start, where.stop), some, splits[where])

    def _add_some(self, chunk: Chunk, rows: Exposed, splits: np.ndarray) -> None:
        scores = linear_scores(chunk, self.weights[:-1], self.weights[-1])
        losses, slopes = self.loss.evaluated(scores, rows.y[:, None])
        descent.weigh_folds(losses, slopes, rows.weight, splits, self.folds, self.top, self.losses)
        grids = 3.0 * self.bound * self.unit
        descent.add_intercepts(slopes, np.full(slopes.shape[1], grids[-1]), self.gradient[-1])
        add_products(chunk, None, slopes, grids[:-1], self.gradient)
        self._add_curvature(chunk, rows, scores)

    def _add_curvature(self, chunk: Chunk, rows: Exposed, scores: np.ndarray) -> None:
        sampled = np.arange(chunk.first_row, chunk.first_row + len(scores)) // TILE % self.every == 0
        if not sampled.any():
            return
        n_groups = self.curvature.shape[2]
        means = np.column_stack([scores[:, self.groups == group].mean(axis=1) for group in range(n_groups)])
        weight, curvatures = rows.weight[:, None], self.loss.curvatures(means, rows.y[:, None])
        curvatures, grid = np.where((weight > 0.0) & sampled[:, None], weight * curvatures, 0.0), 3.0 * self.bound
        if isinstance(chunk, CSRChunk):
            inverse = 1.0 / self.unit
            descent.add_pairs_csr(chunk.data, chunk.indices, chunk.indptr, inverse, curvatures, grid, self.curvature)
            return
        values = np.column_stack([chunk.values, np.ones(len(rows.y))]) / self.unit
        for group in range(n_groups):
            products = np.zeros((len(self.unit), len(self.unit)))
            descent.add_pairs_dense(values, np.ascontiguousarray(curvatures[:, group]), grid, products)
            self.curvature[:, :, group] += products


MOST_GROUPS = 4  # of models, each with a curvature of its own
SUFFICIENT_DECREASE = 1e-4  # share of the decrease that the gradient predicts (Armijo)
STALLED = 1e-11  # share of the objective; smaller changes are rounding
LONGEST = 3.0  # root mean square of the change of linear predictors in one step, of losses that grow exponentially
SHORTER = 0.25
BACKTRACKS = 16
SAMPLED, FEWEST_SAMPLED = 128, 1 << 14  # rows for each column whose curvatures stand for those of all, and at least
LEAST = 0.25  # share of the mean curvature that a column has
ROOM = 2.0**8  # of losses on rows of a fold, in units of those of the other rows
ROUGH = 2.0**16  # of slopes that no bound is known for, in units of those at the mean


@dataclass(eq=False)
class Model:
    """A model in training.

    Attributes
    ----------
    alpha : float
    fold : int or None
        The fold that is left out.
    weights : (n_features + 1,), intercept last
    start : float
        The losses of its rows for a constant prediction.
    objective, loss : float
        At `weights`: the objective, and the losses of its rows.
    held_out : float
        The losses of the rows of its fold.
    gradient, step : (n_features + 1,)
    length : float
        The norm of the gradient in units of the curvature; half its square is about the decrease still possible.
    first : float
        That at the start.
    share : float
        Of the next step.
    """

    alpha: float
    fold: int | None
    weights: np.ndarray
    start: float
    objective: float = np.inf
    loss: float = 0.0
    held_out: float = np.nan
    gradient: np.ndarray = field(default_factory=lambda: np.zeros(0))
    step: np.ndarray = field(default_factory=lambda: np.zeros(0))
    length: float = np.inf
    first: float = 0.0
    share: float = 1.0
    n_shorter: int = 0
    converged: bool = False
    ended: bool = False

    @property
    def tried(self) -> np.ndarray:
        """The weights that the next read evaluates."""
        return self.weights + self.share * self.step if len(self.step) else self.weights

    @property
    def left(self) -> float:
        """The norm of the gradient, relative to that at the start."""
        return self.length / self.first if self.first else 0.0


class Newton:
    """Trains models of the rows of a scan.

    Parameters
    ----------
    sums : ExposedSums
    intercept, standardize : bool
        With `standardize`, weights of features other than indicators are penalised in units of the deviations.
    tol : float
        A model has converged when the norm of its gradient is at most this, relative to the start.
    memory_limit : int, optional

    Attributes
    ----------
    kept : ints
        The features that vary.
    dependent : ints
        Those that depended on others in the last read, whose weights stay as they are.
    n_reads : int
    """

    def __init__(self, sums: ExposedSums, intercept: bool, standardize: bool, tol: float, memory_limit: int | None):
        self.sums, self.loss, self.tol = sums, sums.loss, tol
        self._intercept, self._limit = intercept, memory_limit
        moments = sums.moments
        n, weight = len(moments.whole), moments.weight
        spread = moments.spread if intercept else moments.squares
        self.kept = sums.varying(None, intercept)
        self._kept: dict[int | None, np.ndarray] = {None: self.kept}
        deviations = np.sqrt(spread / weight)
        indicators = (moments.whole == moments.squares) & (sums.largest == 1.0)
        self._scale = np.where(indicators | (deviations == 0.0), 1.0, deviations) if standardize else np.ones(n)
        self.means = moments.whole / weight if intercept else np.zeros(n)
        self.variances = np.square(deviations[self.kept] / self._scale[self.kept])
        self._unit = np.append(power_above(np.where(sums.largest > 0.0, sums.largest, 0.5)), 1.0)
        self._totals: dict[int | None, LossTotals] = {None: sums.totals()}
        self.n_reads, self.dependent = 0, np.zeros(0, int)
        memory.check(
            f"products of {n:,} columns",
            8.0 * 3.0 * (n + 1) ** 2,
            memory_limit,
            "give a larger memory_limit, or fewer columns (snb.FeatureSelector)",
        )

    def totals(self, fold: int | None) -> LossTotals:
        """The totals outside a fold."""
        if fold not in self._totals:
            self._totals[fold] = self.sums.totals(fold)
        return self._totals[fold]

    def kept_outside(self, fold: int | None) -> np.ndarray:
        """Numbers of the features that vary outside a fold; weights of others stay 0, as if the intercept had them."""
        if fold not in self._kept:
            self._kept[fold] = self.sums.varying(fold, self._intercept)
        return self._kept[fold]

    def weight_of(self, fold: int | None) -> float:
        """The weight of the rows of a fold."""
        return float(self.totals(None).weight - self.totals(fold).weight)

    @property
    def unit(self) -> float:
        """The mean curvature of a weight where all others are 0, per weight of the rows."""
        totals = self.totals(None)
        mean = np.array([totals.mean])
        curvature = self.loss.curvatures(self.loss.linked(mean), mean)[0] * totals.exposed / totals.weight
        return float(curvature * self.variances.mean()) if len(self.variances) else float(curvature)

    def model(self, alpha: float, fold: int | None = None, near: Sequence[Model] = ()) -> Model:
        """A model to train, from the mean of its rows or between those `near` it."""
        totals = self.totals(fold)
        if not totals.exposed > 0.0:
            raise ValueError(f"the rows outside fold {fold} have no weight; take fewer folds, or another seed")
        if self.loss.power and not totals.mean > 0.0:
            where = "" if fold is None else f" outside fold {fold}"
            raise ValueError(
                f"y is 0 in all rows{where}, so that no finite weights are the best; "
                + ("there is nothing to learn" if fold is None else "take fewer folds, or another seed")
            )
        start = self.loss.linked(np.array([totals.mean])) if self._intercept else np.zeros(1)
        model = Model(alpha, fold, np.append(np.zeros(len(self._unit) - 1), start), totals.loss_at(self.loss, start))
        if near:
            model.weights = np.mean([each.weights for each in near], axis=0)
            model.first = max(each.first for each in near)
        return model

    def penalty(self, model: Model, weights: np.ndarray) -> float:
        """alpha / 2 times the squares of weights, for the weight of the rows of a model."""
        squares = np.square(weights[:-1] * self._scale).sum()
        return 0.5 * model.alpha * self.totals(model.fold).weight * float(squares)

    def train(self, models: Sequence[Model], max_passes: int) -> Fit[None]:
        """Read until all models have converged or stalled, at most `max_passes` times."""
        for _ in range(max_passes):
            active = [model for model in models if not model.ended]
            if not active:
                return
            yield from self._read(active)

    # ---- one read ----------------------------------------------------------------------------------------------------

    def _read(self, models: Sequence[Model]) -> Fit[None]:
        """Evaluate all models where they are to go next, and find their next steps."""
        columns = [(model.fold, model.tried.tobytes()) for model in models]
        places = {key: place for place, key in enumerate(dict.fromkeys(columns))}
        numbers = [places[key] for key in columns]  # models that begin at one point share what is evaluated there
        distinct = [models[numbers.index(place)] for place in places.values()]
        groups = self._groups(distinct)
        losses = max(max(model.loss, model.start) for model in models)
        level = self.totals(None).level
        most = slopes_bound(2.0 * losses, level) * (1.0 if self._bounded else ROUGH)
        asked = CurvedSums.asked(
            self.sums,
            int(groups.max()) + 1,
            weights=np.column_stack([model.tried for model in distinct]),
            folds=np.array([-1 if model.fold is None else model.fold for model in distinct]),
            groups=groups,
            unit=self._unit,
            bound=float(power_above(most)),
            top=float(power_above(ROOM * (losses + level))),
            every=self._every(len(distinct)),
        )
        (found,) = yield [Pass(asked)]
        self.n_reads += 1
        check_rows(self.n_reads, found.rows, self.sums.targets.n_rows)
        if self.sums.folding is not None:
            check_same_folds(found.rows, np.array([part.n_rows for part in self.sums.targets.folds]))
        factors: dict[tuple[int, float, bytes], Any] = {}
        weight = self.totals(None).exposed
        for model, number in zip(models, numbers, strict=True):
            group = int(groups[number])
            of_folds = found.losses[:, number]
            inside = 0.0 if model.fold is None else float(of_folds[model.fold])
            loss = float(np.delete(of_folds, model.fold).sum() if model.fold is not None else of_folds.sum())
            if not self._accepted(model, loss, found.gradient[:, number]):
                continue
            model.held_out = inside
            kept = self.kept_outside(model.fold)
            key = group, model.alpha, kept.tobytes()
            if key not in factors:
                strength = model.alpha * self.totals(None).weight
                factors[key] = self._factor(found.curvature[:, :, group], kept, asked.every, strength)
            self._turn(model, factors[key], self.totals(model.fold).exposed / weight)

    @property
    def _bounded(self) -> bool:
        return self.loss.link == "log" or self.loss.power == 0.0

    def _every(self, n_models: int) -> int:
        """Curvatures of a model alone are of all rows; of many, which are only compared, of a sample."""
        n_sampled = max(SAMPLED * len(self._unit), FEWEST_SAMPLED)
        return max(self.sums.targets.n_rows // n_sampled, 1) if n_models > 1 else 1

    def _groups(self, models: Sequence[Model]) -> np.ndarray:
        """The group of each model: one for each penalty, or several of them next to each other."""
        penalties = np.unique([model.alpha for model in models])
        table = 8.0 * len(self._unit) ** 2
        fits = int(memory.allowed(self._limit) / (4.0 * table))
        n_groups = max(min(MOST_GROUPS, fits, len(penalties)), 1) if len(models[0].step) else 1
        of_penalty = np.arange(len(penalties)) * n_groups // len(penalties)
        return of_penalty[np.searchsorted(penalties, [model.alpha for model in models])]

    def _accepted(self, model: Model, loss: float, of_loss: np.ndarray) -> bool:
        """Move a model to where it was evaluated, unless that is worse: then its step is shortened."""
        tried = model.tried
        objective = loss + self.penalty(model, tried)
        gradient = of_loss.copy()
        gradient[:-1] += model.alpha * self.totals(model.fold).weight * self._scale**2 * tried[:-1]
        if len(model.step):
            promised = model.share * float(model.gradient @ model.step)
            change = objective - model.objective
            worse = not change <= SUFFICIENT_DECREASE * promised
            if worse and not abs(change) <= STALLED * (abs(objective) + self.totals(model.fold).level):
                model.n_shorter += 1
                model.share *= SHORTER
                model.ended = model.n_shorter > BACKTRACKS
                return False
        model.weights, model.objective, model.loss, model.gradient = tried, objective, loss, gradient
        model.n_shorter = 0
        return True

    def _turn(self, model: Model, factor: Any, share: float) -> None:
        """Find the next step of a model, or end it."""
        before, (solve, curvature) = model.length, factor
        model.step = -solve(model.gradient) / share
        square = max(-float(model.gradient @ model.step), 0.0)
        model.length = float(np.sqrt(square))
        model.first = model.first or model.length
        level = self.totals(model.fold).level + model.objective
        rounded = square <= STALLED**2 * level
        if rounded or model.length <= self.tol * model.first:
            model.weights, model.converged, model.ended = model.weights + model.step, True, True
            return
        model.ended = before <= 1e-6 * model.first and model.length >= before  # only rounding is left
        model.converged = model.ended
        model.share = 1.0
        if self.loss.link == "log":
            change = model.length / np.sqrt(max(curvature * share, np.finfo(float).tiny))
            model.share = min(1.0, LONGEST / change) if change > 0.0 else 1.0

    def _factor(self, triangle: np.ndarray, kept: np.ndarray, every: int, strength: float) -> tuple[Any, float]:
        """What solves the Newton equations of a group at a strength, and the sum of curvatures.

        Columns are centred and scaled first, by sums that are in units of powers of two.
        """
        n = len(kept)
        curvature = np.tril(triangle) + np.tril(triangle, -1).T
        curvature *= every * np.outer(self._unit, self._unit)
        total = float(curvature[-1, -1])
        if every > 1:  # columns that the sample lacks
            least = LEAST * total * self.sums.moments.squares / self.sums.moments.weight
            at = np.arange(len(least))
            curvature[at, at] = np.maximum(curvature[at, at], least)
        of_ones, products = curvature[-1, kept], curvature[np.ix_(kept, kept)]
        means = of_ones / total if self._intercept and total > 0.0 else np.zeros(n)
        products -= np.outer(means, of_ones)
        products[np.diag_indices(n)] += strength * self._scale[kept] ** 2
        diagonal = np.diagonal(products).copy()
        unit = np.where(diagonal > 0.0, 1.0 / np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0)), 0.0)
        products *= np.outer(unit, unit)
        with one_thread():
            factor, order, rank, _ = lapack.dpstrf(products, lower=1, tol=n * 2.0**-48) if n else (products, [], 0, 0)
        order = np.asarray(order, int) - 1
        self.dependent = kept[order[rank:]]
        order, factor = order[:rank], np.tril(factor)[:rank, :rank]

        def solve(gradient: np.ndarray) -> np.ndarray:
            right = (gradient[kept] - means * gradient[-1]) * unit
            step = np.zeros(len(gradient))
            if rank:
                with one_thread():
                    half = solve_triangular(factor, right[order], lower=True)
                    step[kept[order]] = unit[order] * solve_triangular(factor, half, lower=True, trans=1)
            if self._intercept and total > 0.0:
                step[-1] = gradient[-1] / total - means @ step[kept]
            return step

        return solve, total
