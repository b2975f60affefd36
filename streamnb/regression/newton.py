"""Newton's method for models side by side: each read moves all of them, whatever their penalties and folds.

Models of one penalty share the curvature at the mean of their linear predictors: without a fold it differs by little
but its size, so that steps remain almost those of Newton (Fisher scoring where a loss is not convex: McCullagh and
Nelder 1989, section 2.5). Means of the scan are the start.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.linalg import lapack, solve_triangular

from streamnb.core import memory
from streamnb.core.threads import one_thread
from streamnb.fits.fit import Fit
from streamnb.fits.passes import Pass
from streamnb.problem.losses import slopes_bound
from streamnb.regression.exposed import CurvedSums, ExposedSums, LossTotals
from streamnb.selection.folded_scan import check_same_folds
from streamnb.stats.second_moments import CONSTANT
from streamnb.training.learner import check_rows
from streamnb.training.reading import power_above

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
        self.kept = np.flatnonzero(spread > CONSTANT * moments.squares)
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
        factors: dict[tuple[int, float], Any] = {}
        weight = self.totals(None).exposed
        for model, number in zip(models, numbers, strict=True):
            group = int(groups[number])
            of_folds = found.losses[:, number]
            inside = 0.0 if model.fold is None else float(of_folds[model.fold])
            loss = float(np.delete(of_folds, model.fold).sum() if model.fold is not None else of_folds.sum())
            if not self._accepted(model, loss, found.gradient[:, number]):
                continue
            model.held_out = inside
            key = group, model.alpha
            if key not in factors:
                strength = model.alpha * self.totals(None).weight
                factors[key] = self._factor(found.curvature[:, :, group], asked.every, strength)
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

    def _factor(self, triangle: np.ndarray, every: int, strength: float) -> tuple[Any, float]:
        """What solves the Newton equations of a group at a strength, and the sum of curvatures.

        Columns are centred and scaled first, by sums that are in units of powers of two.
        """
        kept, n = self.kept, len(self.kept)
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
