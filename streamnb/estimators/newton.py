"""Newton's method for models side by side: each read moves all of them, whatever their penalties and folds.

Models share the curvature at the mean of their linear predictors: without a fold, or at another penalty, it differs by
little but its size, and along the last steps it is known, so that steps remain almost those of Newton (Fisher scoring
where a loss is not convex: McCullagh and Nelder 1989, section 2.5). Means of the scan are the
start. Offsets are exposures, which weigh rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from operator import add
from typing import Annotated, Any, Self

import numpy as np
from scipy.linalg import lapack, solve_triangular

from streamnb.core import memory, row_checks
from streamnb.core.persistence import shown
from streamnb.core.threads import one_thread
from streamnb.estimators.target_sums import targets_of
from streamnb.kernels import descent
from streamnb.models.linear import linear_scores
from streamnb.passes.contract import Report, Wants
from streamnb.passes.fit import Fit
from streamnb.passes.passes import Pass
from streamnb.passes.statistic import Statistic
from streamnb.problem.losses import Loss, slopes_bound
from streamnb.rows.boundary import as_chunk, checked
from streamnb.rows.preparing import RowOptions
from streamnb.rows.row_blocks import Block, Chunk, CSRChunk, frozen
from streamnb.rows.splits import Folding, check_n_folds, check_no_empty
from streamnb.solving.objectives import MOMENTS, RowSums
from streamnb.solving.reading import add_products, power_above
from streamnb.stats.accumulating import Accumulator
from streamnb.stats.class_stats import ClassStats
from streamnb.stats.second_moments import CONSTANT

ONE_CLASS = np.zeros(1, np.int64)
CACHED, FEWEST, MOST = 1 << 15, 64, 2048  # scores that stay in the cache, and rows at once
TILE = 2048  # rows
ASKED = "loss", "offset", "folding", "weights", "folds", "unit", "bound", "top", "step", "every", "limits"  # of a read
AT_ONCE = 512  # rows whose factors stay in the cache
ONE, WHOLE = 2.0**52, 3.0 * 2.0**51  # of curvatures of all rows; and adding it rounds to whole numbers
SCATTERED = 16  # a product of two stored values takes as long as this many by BLAS


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
    def of(cls, loss: Loss, offset: bool, block: Block) -> Self:
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
        weight = block.weights
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

    def loss_at(self, loss: Loss, s: np.ndarray) -> float:
        """The losses where the linear predictor is s (1,) in all rows."""
        mean = np.array([self.mean])
        of_mean = loss.values(s, mean) - loss.saturated(mean)
        return max(float(self.saturated + self.exposed * of_mean[0]), 0.0)


@dataclass(eq=False)
class ExposedSums(Statistic):
    """Moments of features and of targets, by fold, and the largest absolute value of each feature."""

    loss: Loss
    offset: bool
    folding: Folding | None
    features: Annotated[Any, add]  # an Accumulator as long as rows are added
    targets: Annotated[Any, add]
    largest: Annotated[np.ndarray, np.maximum]
    title = "scan"

    @classmethod
    def asked(cls, loss: Loss, offset: bool, folding: Folding | None, limit: int | None) -> Self:
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
        return {name: shown(getattr(self, name)) for name in ASKED[:3]}

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


def _carried(total: np.ndarray) -> np.ndarray:
    """Whole numbers and what is left of them, with the latter brought below 1."""
    whole = np.floor(total[1])
    total[0] += whole
    total[1] -= whole
    return total


def _sum_of_parts(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return _carried(a + b)


@dataclass(eq=False)
class CurvedSums(Statistic):
    """Losses of models side by side, their gradients, and their curvature: sums of one read.

    Parameters
    ----------
    loss, offset, folding
        As of `ExposedSums`.
    weights : (n_features + 1, n_models), intercepts last
    folds : (n_models,) int
        The fold that each model leaves out, -1 for none.
    unit : (n_features + 1,)
        Powers of two above the absolute values of features and, last, of 1.
    bound : float
        A power of four above the weighted sum of slopes, and of curvatures.
    top : float
        A power of two above the losses that matter, of all rows together.
    step : float
        A power of two, at most 1, of which the factors of curvatures are multiples; see `_add_squares`.
    every : int
        The curvature is of every so many tiles of 2,048 rows alone, and of rows with values beyond `limits`.
    limits : (n_features,)
        Of absolute values; inf where no value is beyond it.

    Attributes
    ----------
    losses : (n_folds, n_models)
        On the rows of each fold, or of all rows; capped at multiples of `top`.
    gradient : (n_features + 1, n_models)
        Of the loss of the rows outside the fold of each model.
    curvature : (2, n_features + 1, n_features + 1)
        Sums of products of features, weighted by second derivatives at the mean of the linear predictors, in units of
        `unit` and of ``bound / ONE``: whole numbers, and what is left of them; the lower triangle.
    """

    loss: Loss
    offset: bool
    folding: Folding | None
    weights: np.ndarray
    folds: np.ndarray
    unit: np.ndarray
    bound: float
    top: float
    step: float
    every: int
    limits: np.ndarray
    losses: Annotated[np.ndarray, np.add]
    gradient: Annotated[np.ndarray, np.add]
    curvature: Annotated[np.ndarray, _sum_of_parts]
    title = "read"

    @classmethod
    def asked(cls, sums: ExposedSums, **how: Any) -> Self:
        """The sums of no rows, for weights and what else `how` gives."""
        n, n_models = how["weights"].shape
        n_folds = 1 if sums.folding is None else sums.folding.n_folds
        how["losses"], how["gradient"] = np.zeros((n_folds, n_models)), np.zeros((n, n_models))
        return cls(sums.loss, sums.offset, sums.folding, curvature=np.zeros((2, n, n)), **how)

    def about(self) -> dict[str, str]:
        return {name: shown(getattr(self, name)) for name in ASKED}

    def add_block(self, block: Block) -> None:
        chunk, rows = checked(block)[0], Exposed.of(self.loss, self.offset, block)
        row_checks.check_n_features(chunk.shape[1], len(self.weights) - 1, "the scan")
        splits = np.zeros(block.n_rows, np.int64)
        if self.folding is not None:
            splits = self.folding.numbers(block.first_row, block.n_rows, block.split, 0)
        at_once = min(max(CACHED // self.weights.shape[1], FEWEST), MOST)
        for first in range(0, block.n_rows, at_once):
            stop = min(first + at_once, block.n_rows)
            some = rows.y[first:stop], rows.weight[first:stop], splits[first:stop]
            self._add_some(chunk.of_rows(first, stop), *some)

    def _add_some(self, chunk: Chunk, y: np.ndarray, weight: np.ndarray, splits: np.ndarray) -> None:
        scores = linear_scores(chunk, self.weights[:-1], self.weights[-1])
        losses, slopes = self.loss.evaluated(scores, y[:, None])
        descent.weigh_folds(losses, slopes, weight, splits, self.folds, self.top, self.losses)
        grids = 3.0 * self.bound * self.unit
        descent.add_intercepts(slopes, np.full(slopes.shape[1], grids[-1]), self.gradient[-1])
        add_products(chunk, None, slopes, grids[:-1], self.gradient)
        self._add_curvature(chunk, y, weight, scores)

    def _add_curvature(self, chunk: Chunk, y: np.ndarray, weight: np.ndarray, scores: np.ndarray) -> None:
        numbers = np.arange(chunk.first_row, chunk.first_row + len(scores))
        share = (numbers // TILE % self.every == 0).astype(np.float64)
        if np.isfinite(self.limits).any():
            beyond = np.abs(chunk.stored) > self.limits[chunk.columns_at(np.arange(len(chunk.stored)))]
            places = np.flatnonzero(beyond) + chunk.row_ends[0]
            share[np.searchsorted(chunk.row_ends, places, side="right") - 1] = 1.0 / self.every
        if not share.any():
            return
        curvatures = np.fmin(weight * self.loss.curvatures(scores.mean(axis=1), y), self.bound)
        curvatures *= np.where(weight > 0.0, share * (ONE / self.bound), 0.0)
        if isinstance(chunk, CSRChunk):
            few = SCATTERED * np.square(np.diff(chunk.indptr).astype(np.float64)) < len(self.unit) ** 2
            arrays = chunk.data, chunk.indices, chunk.indptr, 1.0 / self.unit, np.where(few, curvatures, 0.0)
            descent.add_pairs_csr(*arrays, WHOLE, np.empty(len(self.unit)), self.curvature[0])
            others = np.flatnonzero(~few)
            if not len(others):
                return
            values, curvatures = chunk.picked(others).to_matrix().toarray(), curvatures[others]
        else:
            values = chunk.values
        roots = np.sqrt(curvatures)
        for first in range(0, len(values), AT_ONCE):
            some = frozen(values[first : first + AT_ONCE].astype(np.float64, copy=False))
            factors = np.empty((len(some), len(self.unit)))
            descent.weigh_rows(some, 1.0 / self.unit, roots[first : first + AT_ONCE], WHOLE * self.step, factors)
            self._add_squares(factors)

    def _add_squares(self, factors: np.ndarray) -> None:
        """Add the products of columns of factors, multiples of `step`, without rounding.

        The squares of a column add up to at most `ONE` over all rows. Where those of these rows are below 2^53 squared
        steps, BLAS is exact in any order (by Cauchy and Schwarz, for all pairs). Else the factors are cut in two.
        """
        with one_thread():
            parts = [factors.T @ factors]
            if not parts[0].diagonal().max() < 2.0**53 * self.step**2:
                high = np.rint(factors)
                low = factors - high
                across = high.T @ low
                parts = [high.T @ high, across, across.T, low.T @ low]
        for part in parts:
            whole = np.floor(part)
            self.curvature[0] += whole
            self.curvature[1] += part - whole
        _carried(self.curvature)


MOST_CHANGES = 4  # by which steps are corrected
SUFFICIENT_DECREASE = 1e-4  # share of the decrease that the gradient predicts (Armijo)
STALLED = 1e-11  # share of the objective; smaller changes are rounding
LONGEST = 3.0  # change of linear predictors in one step by any value of a column, of losses that grow exponentially
SHORTER = 0.25
BACKTRACKS = 16
SAMPLED, FEWEST_SAMPLED = 128, 1 << 14  # rows for each column whose curvatures stand for those of all, and at least
FEW = 32  # of these bear at least so much of the squares of a column; larger values bear it for themselves alone
ROOM = 2.0**8  # of losses on rows of a fold, in units of those of the other rows
NOISE = 2.0**-30  # the largest share of a column that depends on others by rounding
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
    changes : list of pairs
        The last steps, and how the gradient changed along them, of models whose curvature is that of others, too.
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
    changes: list[tuple[np.ndarray, np.ndarray]] = field(default_factory=list)
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
    samples : bool
        Whether rows may be sampled by their number; at several sites it is that at each.

    Attributes
    ----------
    dependent : ints
        Those that depended on others in the last read, whose weights stay as they are.
    n_reads : int
    """

    def __init__(
        self,
        sums: ExposedSums,
        intercept: bool,
        standardize: bool,
        tol: float,
        memory_limit: int | None,
        samples: bool = True,
    ):
        self.sums, self.loss, self.tol, self._samples = sums, sums.loss, tol, samples
        self._intercept, self._limit = intercept, memory_limit
        moments = sums.moments
        n, weight = len(moments.whole), moments.weight
        spread = moments.spread if intercept else moments.squares
        self._kept: dict[int | None, np.ndarray] = {}
        kept = self.kept_outside(None)
        deviations = np.sqrt(spread / weight)
        indicators = (moments.whole == moments.squares) & (sums.largest == 1.0)
        self._scale = np.where(indicators | (deviations == 0.0), 1.0, deviations) if standardize else np.ones(n)
        self.means = moments.whole / weight if intercept else np.zeros(n)
        growth = 2.0 - self.loss.power  # of the logarithm of losses by that of means
        self._reach = np.maximum(growth * (sums.largest - np.abs(self.means)), 0.0)  # of values beyond their mean
        self.variances = np.square(deviations[kept] / self._scale[kept])
        self._unit = np.append(power_above(np.where(sums.largest > 0.0, sums.largest, 0.5)), 1.0)
        self._totals: dict[int | None, LossTotals] = {}
        self.totals(None)  # raises where there is nothing to learn
        self.n_reads, self.dependent = 0, np.zeros(0, int)
        memory.check(
            f"products of {n:,} columns",
            8.0 * 4.0 * (n + 1) ** 2,
            memory_limit,
            "give a larger memory_limit, or fewer columns (snb.FeatureSelector)",
        )

    def totals(self, fold: int | None) -> LossTotals:
        """The totals outside a fold, or of all rows; raises where they say that there is nothing to learn."""
        if fold in self._totals:
            return self._totals[fold]
        totals = self.sums.totals(fold)
        if not totals.exposed > 0.0:
            raise ValueError(f"the rows outside fold {fold} have no weight; use fewer folds, or another seed")
        if self.loss.power and not totals.mean > 0.0:
            where = "" if fold is None else f" outside fold {fold}"
            raise ValueError(
                f"y is 0 in all rows{where}, so no finite weights are optimal; "
                + ("there is nothing to learn" if fold is None else "use fewer folds, or another seed")
            )
        self._totals[fold] = totals
        return totals

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
        places = dict[Any, int]()  # models that begin at one point share what is evaluated there
        numbers = [places.setdefault((model.fold, model.tried.tobytes()), len(places)) for model in models]
        distinct = [models[numbers.index(place)] for place in places.values()]
        losses = max(max(model.loss, model.start) for model in models)
        level = self.totals(None).level
        rough = 1.0 if self.loss.link == "log" or self.loss.power == 0.0 else ROUGH
        half = float(power_above(np.sqrt(slopes_bound(2.0 * losses, level) * rough)))
        n_tiles = self.sums.targets.n_rows / TILE
        every = self._every(len(distinct))
        moments, n_sampled = self.sums.moments, self.sums.targets.n_rows / every
        limits = np.sqrt(moments.squares / moments.weight * n_sampled / FEW)
        asked = CurvedSums.asked(
            self.sums,
            weights=np.column_stack([model.tried for model in distinct]),
            folds=np.array([-1 if model.fold is None else model.fold for model in distinct]),
            unit=self._unit,
            bound=half**2,
            top=float(power_above(ROOM * (losses + level))),
            step=1.0 / float(power_above(np.sqrt(max(n_tiles * rough, 0.5)))),
            every=every,
            limits=np.where(self.sums.largest > limits, limits, np.inf),
        )
        (found,) = yield [Pass(asked)]
        self.n_reads += 1
        factors: dict[tuple[float, bytes], Any] = {}
        weight = self.totals(None).exposed
        for model, number in zip(models, numbers, strict=True):
            of_folds = found.losses[:, number]
            inside = 0.0 if model.fold is None else float(of_folds[model.fold])
            loss = float(np.delete(of_folds, model.fold).sum() if model.fold is not None else of_folds.sum())
            if not self._accepted(model, loss, found.gradient[:, number]):
                continue
            model.held_out = inside
            kept = self.kept_outside(model.fold)
            key = model.alpha, kept.tobytes()
            if key not in factors:
                strength = model.alpha * self.totals(None).weight
                factors[key] = self._factor(found, kept, strength)
            self._turn(model, factors[key], self.totals(model.fold).exposed / weight)

    @property
    def _noise(self) -> float:
        """The share of an objective by which the rounding of its rows may change it."""
        return max(STALLED, ROOM * 2.0**-50 * np.sqrt(self.sums.targets.n_rows))

    def _every(self, n_models: int) -> int:
        """Curvatures of a model alone are of all rows; of many, which are only compared, of a sample."""
        n_sampled = max(SAMPLED * len(self._unit), FEWEST_SAMPLED)
        return max(self.sums.targets.n_rows // n_sampled, 1) if n_models > 1 and self._samples else 1

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
            if worse and not abs(change) <= self._noise * (abs(objective) + self.totals(model.fold).level):
                model.n_shorter += 1
                model.share *= SHORTER
                model.ended = model.n_shorter > BACKTRACKS
                return False
        if len(model.step) and model.fold is not None:
            moved, turned = tried - model.weights, gradient - model.gradient
            if moved @ turned > 0.0:
                model.changes = [*model.changes, (moved, turned)][-MOST_CHANGES:]
        model.weights, model.objective, model.loss, model.gradient = tried, objective, loss, gradient
        model.n_shorter = 0
        return True

    def _turn(self, model: Model, factor: Any, share: float) -> None:
        """Find the next step of a model, or end it."""
        before, (solve, curvature) = model.length, factor
        model.step = _corrected(model, lambda gradient: solve(gradient) / share)
        square = max(-float(model.gradient @ model.step), float(model.gradient @ solve(model.gradient)) / share, 0.0)
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
            mean_change = model.length / np.sqrt(max(curvature * share, np.finfo(float).tiny))
            change = np.max(np.abs(model.step[:-1]) * self._reach, initial=mean_change)
            model.share = float(LONGEST / max(change, LONGEST))

    def _factor(self, found: CurvedSums, kept: np.ndarray, strength: float) -> tuple[Any, float]:
        """What solves the Newton equations at a strength, and the sum of curvatures.

        Columns are centred and scaled first, by sums that are in units of powers of two.
        """
        n, every, triangle = len(kept), found.every, found.curvature.sum(axis=0)
        curvature = np.tril(triangle) + np.tril(triangle, -1).T
        curvature *= every * found.bound / ONE * np.outer(self._unit, self._unit)
        total = float(curvature[-1, -1])
        of_ones, products = curvature[-1, kept], curvature[np.ix_(kept, kept)]
        means = of_ones / total if self._intercept and total > 0.0 else np.zeros(n)
        products -= np.outer(means, of_ones)
        products[np.diag_indices(n)] += strength * self._scale[kept] ** 2
        diagonal = np.diagonal(products).copy()
        unit = np.where(diagonal > 0.0, 1.0 / np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0)), 0.0)
        products *= np.outer(unit, unit)
        rounded = found.step**2 * found.bound / ONE * np.square(self._unit[kept] * unit)
        noise = self.sums.targets.n_rows * float(rounded.max(initial=0.0))
        tol = max(n * 2.0**-48, min(noise, NOISE))
        with one_thread():
            factor, order, rank, _ = lapack.dpstrf(products, lower=1, tol=tol) if n else (products, [], 0, 0)
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


def _corrected(model: Model, solve: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """Newton's step by a curvature that is about that of the model, corrected along its last steps (L-BFGS).

    Few rows of large values, which a sample lacks or a fold has, can bear most of the curvature of a column.
    """
    left, rates = model.gradient.copy(), list[float]()
    for step, change in reversed(model.changes):
        rates.append(float(step @ left) / float(step @ change))
        left -= rates[-1] * change
    found = solve(left)
    for (step, change), rate in zip(model.changes, reversed(rates), strict=True):
        found += (rate - float(change @ found) / float(step @ change)) * step
    return -found
