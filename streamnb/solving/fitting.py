"""Trains weights by L-BFGS from a start that one scan provides."""

import time
from collections.abc import Callable, Generator, Mapping
from copy import copy
from dataclasses import replace
from typing import Any, Self

import numpy as np

from streamnb.core import memory
from streamnb.passes.passes import Pass
from streamnb.solving.coordinates import CentredFeatures
from streamnb.solving.data import TrainingData
from streamnb.solving.descent import PAIRS, Descent, Diagonal, Memory, Penalties, Visit
from streamnb.solving.method import Method, Reads, Trained, Trainer
from streamnb.solving.objectives import Objective, Softmax, softmax_of
from streamnb.solving.reading import ReadSums, power_above
from streamnb.solving.row_path import RowPathTrainer
from streamnb.solving.sampled_curvature import SampledCurvature, Sampling, TrainingSample
from streamnb.stats.class_stats import ClassStats

STEP_LENGTHS = 2.0 ** np.arange(-6.0, 4.0)  # of the first step, all compared in one read
START_LENGTHS = np.array([0.01, 0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.7, 1.0, 1.4, 2.0, 4.0])  # towards start weights
MOST_WEIGHTS = 1 << 22  # with more of them, steps on a sample cost as much as reads of all rows
SPARSE = 0.1  # share of values that are not 0
CONSTANT = 1e-28  # share of the mean square; a smaller variance is rounding
LARGEST_NORM = 1e4  # of weights without a penalty, for features scaled to variance 1
MANY = 10_000  # rows, of which each read takes time
LEAST_GAIN = 3e-5  # what a step should gain for each of them; less with the square of a tolerance below USUAL
USUAL = 1e-4
SLACK = 1.001  # factor on an objective that allows for rounding


class DescentMethod(Method):
    """A loss that L-BFGS minimises, or its orthant-wise form where l1 is above 0.

    Parameters
    ----------
    objective_of : callable
        Returns the loss, given the statistics.
    """

    n_arrays = 2 * PAIRS + 15
    starts: "Mapping[int | None, DescentTrainer] | None" = None

    def __init__(self, objective_of: Callable[[ClassStats], Objective]):
        self._objective_of = objective_of

    def comparing(self, starts: "Mapping[int | None, DescentTrainer]") -> Self:
        """The method for models without each fold, which start from the outcomes of others of another l2, if any."""
        comparing = copy(self)
        comparing.starts = starts
        return comparing

    def objective(self, stats: ClassStats) -> Objective:
        return self._objective_of(stats)

    def samples(self, data: TrainingData, point: dict[str, Any]) -> bool:
        """Where the penalty is smooth, and less curved than the loss: else the diagonal says it all."""
        if data.task.weights.size > MOST_WEIGHTS * (2 if self.sampling(data).ascent else 1):
            return False
        scale = 1.0 if data.scale is None else data.scale
        spread = (data.sums.spread * scale**2).max(initial=0.0)
        loss = spread * data.task.objective.curvature(data.sums.share).max()
        return bool(point["l1"] == 0.0 < point["l2"] < loss)

    def sampling(self, data: TrainingData) -> Sampling:
        """All rows, where they are sparse and not too many, as steps in their duals are cheap."""
        ascent = isinstance(data.task.objective, Softmax) and data.sums.filled < SPARSE
        return Sampling(share=1.0, ascent=True) if ascent else Sampling()

    def judged_in_memory(self, n_classes: int, point: dict[str, Any]) -> bool:
        is_softmax = self._objective_of is softmax_of and n_classes > 2
        return self.starts is None and is_softmax and point["l1"] == 0.0 < point["l2"]

    def trainer(self, data: TrainingData, point: dict[str, Any], tol: float, max_passes: int) -> Trainer:
        if data.path is not None:
            return RowPathTrainer(data, point["l2"])
        penalties, other = Penalties(point["l2"], point["l1"]), (self.starts or {}).get(data.outside)
        trainer = DescentTrainer(data, penalties, tol, max_passes, other=other)
        trainer.lends = self.starts is not None
        return trainer


class DescentTrainer(Trainer):
    """Descends until the norm of the gradient is at most `tol` times that at the start, or all reads are used.

    Of many rows, also until another step is expected to gain little.

    Parameters
    ----------
    data : TrainingData
        With start weights, the first read compares points on the line to these.
    penalties : Penalties
    tol : float
    max_passes : int
    coordinates : CentredFeatures, optional
        The coordinates in which weights are trained.
    other : DescentTrainer, optional
        Of a model of the same rows with another l2, from whose end this one goes on. It ends once a step should gain
        little even where rows are few, and its weights are judged at the end alone.

    Attributes
    ----------
    lends : bool
        Whether others may start from this one, which is its outcome.
    """

    lends = False

    def __init__(
        self,
        data: TrainingData,
        penalties: Penalties,
        tol: float,
        max_passes: int,
        coordinates: CentredFeatures | None = None,
        other: "DescentTrainer | None" = None,
    ):
        super().__init__(data)
        self._other = other
        self._penalties, self._tol, self._max_passes = penalties, tol, max_passes
        self._start_weights = data.start
        self._at = CentredFeatures(data.sums, data.scale) if coordinates is None else coordinates
        self._sums = self._at.sums
        self._memory = Memory(_diagonal(self._at, data.task.objective, penalties))
        self._sample = data.sample
        self._largest, self._n_judged = np.zeros(0), 0
        self._descent: Descent | None = None
        self.objectives = self.history["objective"]

    @property
    def reached(self) -> int:  # type: ignore[override]
        return 0 if self._descent is None else self._descent.visit.number

    @property
    def so_far(self) -> Trained | None:
        return None if self._descent is None else self._ended(self._descent.visit.point, False, 1.0)

    def reads(self) -> Reads:
        start = self._start()
        first = self._memory.length(start.steepest)
        if first == 0.0:  # the gradient is 0: no feature depends on the class, or l1 outweighs all of them
            yield self.judged(self._at.for_rows(start.point))
            return self._ended(start.point, True, 0.0)
        if self._other is not None:
            visit = self._from_other(self._other)
        else:
            if self._sample is not None:
                step, point = None, self._sampled(self._sample, start)
            elif self._start_weights is None:
                step = yield from self._searched(start, self._memory.direction(start.steepest), STEP_LENGTHS)
            else:
                towards = self._at.from_model(self._start_weights) - start.point
                step = yield from self._searched(start, towards, START_LENGTHS)
            point = point if step is None else start.point + step
            if self._max_passes == 1:
                yield self.judged(self._at.for_rows(point))
                return self._ended(point, False, 1.0)
            visit = yield from self._read(point, start.objective)
            if step is not None:
                self._memory.remember(step, start.gradient, visit.gradient)
            elif visit.objective > start.objective:  # the sample is of other rows
                visit, self._memory.sampled = start, None
            del point, step
        descending = self._descended(visit, self._tol * first)
        del start, visit  # which may be large, unlike what is still needed
        descent = yield from descending
        if descent.arrived:
            self._check_optimum(descent.visit)
        found = descent.visit.point
        if self._other is not None:
            if descent.settled:  # another step gains little: no read sees how much
                found = found + descent.descent_direction(descent.visit)
            yield self.judged(self._at.for_rows(found))
        return self._ended(found, descent.arrived, self._memory.length(descent.visit.steepest) / first)

    def _from_other(self, other: "DescentTrainer") -> Visit:
        """The end of another model, whose history goes on; its steps tell of the curvature here, too."""
        assert other._descent is not None
        end, penalties = other._descent.visit, Penalties(self._penalties.l2 - other._penalties.l2, 0.0)
        self._memory.take_over(other._memory, penalties)
        for name, column in other.history.items():
            self.history[name] += column
        self._max_passes += self.n_passes
        gradient = penalties.smooth_gradient(end.point, end.gradient.copy())
        return Visit(end.point, end.objective + penalties.value(end.point).sum(), gradient, gradient)

    def _descended(self, visit: Visit, target: float) -> Generator[Any, Any, Descent]:
        """Descend from an evaluated point until the norm of the gradient is at most `target`, or all reads are used."""
        weight, penalised = self._sums.weight, self._penalties.l2 > 0.0
        gain = LEAST_GAIN * min(self._tol / USUAL, 1.0) ** 2
        least = gain * weight if penalised and (weight >= MANY or self._other is not None) else 0.0
        self._descent = descent = Descent(self._memory, self._penalties, target, visit, least)
        del visit
        yield from descent.run(self._read, lambda: self.n_passes < self._max_passes)
        return descent

    def _ended(self, point: np.ndarray, converged: bool, left: float) -> Trained:
        return self.trained(self._at.of_model(point), converged, left, self if self.lends else None)

    def _check_optimum(self, visit: Visit, arrived: bool = True) -> None:
        """Raise where no optimum exists: without a penalty, weights of separable rows grow without bound."""
        if self._penalties.l2 > 0.0 or self._penalties.l1 > 0.0 or self.task.objective.bounded:
            return
        spread = self._at.spread[:-1] / self._sums.weight
        length = float(np.sqrt((visit.point[:-1] ** 2 * spread).sum()))  # for features scaled to variance 1
        parting = self._sums.parting() if arrived else None
        if arrived and self.task.objective.separated(self._largest, self._sums.share):
            why = "are separable, all of them on their right side"
        elif parting is not None:
            why = f"are separable in part: feature {parting[0]} is 0 in all rows of one side, and never below 0"
        elif length > LARGEST_NORM:
            why = "are separable, or features nearly the same"
        else:
            return
        norm = float(np.sqrt((visit.point[:-1] ** 2).sum()))
        raise ValueError(
            f"l2=0 and the rows {why}: at weights of norm {norm:.3g} longer ones still fit them better, without end; "
            "give l2 above 0, or max_passes that end sooner"
        )

    # ---- the start, from the scan ------------------------------------------------------------------------------------

    def _start(self) -> Visit:
        """The point where weights are 0 and intercepts are the best ones."""
        sums, objective = self._sums, self.task.objective
        point = np.zeros(self._memory.diagonal.shape)
        point[-1] = objective.intercepts(sums.share)
        gradient = np.zeros(point.shape)
        np.multiply(sums.whole[:, None], sums.share, out=gradient[:-1])
        gradient[:-1] -= sums.own
        gradient *= objective.slope * self._at.factors
        value = float(objective.at_start(sums).sum())
        return Visit(point, value, gradient, self._penalties.steepest(point, gradient))

    def _sampled(self, sample: TrainingSample, start: Visit) -> np.ndarray:
        """The optimum of a sample that was read once, whose curvature stands for that of all rows."""
        memory, objective, class_weight = self._memory, self.task.objective, self.task.class_weight
        curvature = SampledCurvature(sample, objective, class_weight, self._at, self._penalties, memory.diagonal)
        point = curvature.optimum(start.point)
        memory.sampled = curvature if objective.twice_differentiable else None
        self.note(start.objective, memory.length(start.steepest), sample.seconds)
        return point

    # ---- reads -------------------------------------------------------------------------------------------------------

    def _searched(self, start: Visit, step: np.ndarray, lengths: np.ndarray) -> Generator[Any, Any, np.ndarray]:
        """The step times the best of these lengths, found in one read, for each row of weights that has its own loss.

        From weights of 0, no step along the negative gradient leaves its orthant.
        """
        objective = self.task.objective
        along = {"step": self._at.for_rows(step), "lengths": lengths}
        sums, seconds = yield from self._run(start.point, start.objective, **along)
        penalties = np.array([self._penalties.value(length * step) for length in lengths])
        objectives = sums.losses + (penalties if objective.of_rows else penalties.sum(axis=1, keepdims=True))
        best, at_start = objectives.argmin(axis=0), objective.at_start(self._sums)
        least = objectives[best, np.arange(len(best))]
        self.note(float(np.minimum(least, at_start).sum()), self._memory.length(start.steepest), seconds)
        return np.where(least < at_start, lengths[best], 0.0) * step

    def _read(self, point: np.ndarray, most: float) -> Generator[Any, Any, Visit]:
        """The objective and its gradient at a point; an objective above `most` need not be exact."""
        sums, seconds = yield from self._run(point, most, judged=point)
        self._largest = sums.largest
        gradient = self._penalties.smooth_gradient(point, self._at.gradient(sums.gradient))
        value = float(sums.losses.sum() + self._penalties.value(point).sum())
        visit = Visit(point, value, gradient, self._penalties.steepest(point, gradient), self._n_judged)
        self._n_judged += 1
        self._check_optimum(visit, arrived=False)
        self.note(value, self._memory.length(visit.steepest), seconds)
        return visit

    def _run(
        self, point: np.ndarray, most: float, judged: np.ndarray | None = None, per: Any = None, **along: Any
    ) -> Generator[Any, Any, tuple[ReadSums, float]]:
        """The sums of a read and its seconds; the same read judges the weights `judged`.

        Rows of weights are divided by `per`, powers of two.
        """
        began, most = time.perf_counter(), most * SLACK
        grid = self._at.rounding(self.task.objective, most)
        memory.return_freed(point.nbytes)
        weights = self._at.for_rows(point)
        if per is not None:
            weights /= per
        task = replace(self.task, weights=weights, grid=grid, top=float(power_above(most)), **along)
        passes = [Pass(task, without=self.fold)]
        if judged is not None and self._other is None:
            passes += self.judged(weights if judged is point else self._at.for_rows(judged))
        totals = yield passes
        return totals[0], time.perf_counter() - began


def _diagonal(at: CentredFeatures, objective: Objective, penalties: Penalties) -> Diagonal:
    """l2 + q_j v_k, q the weighted sums of squares about the means; constant features and empty classes stay at 0."""
    spread = np.where(at.spread > CONSTANT * at.squares, at.spread, np.inf)[:, 0]
    curvature = np.where(objective.trained(at.sums.share), objective.curvature(at.sums.share), np.inf)
    penalty = np.append(np.full(len(spread) - 1, penalties.l2), 0.0)
    return Diagonal(spread, curvature, penalty, balanced=not objective.of_rows and penalties.l1 == 0.0)
