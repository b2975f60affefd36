"""Weights by several reads of the rows: what one scan tells, a search along it, then descent.

Descent goes in weights of features about their means, so that an intercept has nothing to do with them: rows come as
they are, and b = b' - W m is what they are given. That alone saves most of the reads where features are all positive.
"""

import time
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from streamnb.core import memory, persistence
from streamnb.kernels.directions import about_means, of_rows
from streamnb.passes.options import RunOptions
from streamnb.passes.report import Report
from streamnb.passes.run import run
from streamnb.rows.source import Source
from streamnb.training.descent import PAIRS, Descent, Memory, Penalties, Visit
from streamnb.training.objectives import RowSums
from streamnb.training.reading import JudgedWeights, ReadSums, ReadTask, power_above

LENGTHS = 2.0 ** np.arange(-6.0, 4.0)  # of the first step, compared by its read
TOWARDS = np.array([0.01, 0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.7, 1.0, 1.4, 2.0, 4.0])  # of one towards another model
CONSTANT = 1e-28  # of its mean square, a variance that is rounding
LONGEST = 1e4  # weights without penalty, of features of variance 1
SLACK = 1.001  # above an objective, for what may come of rounding


@dataclass(frozen=True, eq=False)
class Trained:
    """Weights (n_features + 1, R), intercepts last, and how they were found; `history` has a value a read.

    `left` is the gradient there, in parts of that of the start.
    """

    weights: np.ndarray
    converged: bool
    left: float
    history: dict[str, np.ndarray]
    report: Report = field(default_factory=Report)


Reads = Generator[tuple[ReadTask | None, JudgedWeights | None], Any, Trained]  # it is sent ReadSums, None to begin with


class Trainer:
    """Asks for reads of the rows until the gradient is none, or all reads are spent.

    What it asks, a task, may be read beside those of other models; see `train`. Beside it are weights to judge on rows
    held back, as rows want them that were not scaled, or None; where there is no task, that is all.

    Parameters
    ----------
    task : ReadTask
        What is read of rows; its weights are those of the start, 0.
    sums : RowSums
        Of the same rows, as the scan left them.
    scale : (n_features,), optional
        What features are multiplied by (idf).
    penalties : Penalties
    """

    held = 2 * PAIRS + 9  # arrays as large as the weights
    judged_later = 0  # reads that judge only, what the last one led to
    n_threads = 1  # that may work between reads
    judges = True  # False where nobody asks for weights that are judged with each read
    outcome: Any = None  # what is to be known of a model that has ended, beside its weights

    def __init__(self, task: ReadTask, sums: RowSums, scale: Any, penalties: Penalties):
        self.task, self._penalties = task, penalties
        used = self._used(sums)
        self._sums = sums = sums.of_features(used)
        factors = np.ones(len(used)) if scale is None else scale[used]
        self._kept = np.append(used, len(task.weights) - 1)  # rows of weights; others stay 0
        self._factors = np.append(factors, 1.0)[:, None]  # of features, and of the intercept
        self._means = sums.whole[:, None] / sums.weight * self._factors[:-1]
        self._squares = np.append(sums.squares, sums.weight)[:, None] * self._factors**2
        self._spread = np.append(sums.spread, sums.weight)[:, None] * self._factors**2  # about the means
        self._memory = Memory(self._inverse_curvature(), not task.objective.of_rows and penalties.l1 == 0.0)
        self._largest, self._n_judged = np.zeros(0), 0
        self._descent: Descent | None = None
        self._history: dict[str, list[float]] = {"objective": [], "gradient_norm": [], "seconds": []}

    def _used(self, sums: RowSums) -> np.ndarray:
        """Which features are trained: any row has them."""
        return np.flatnonzero(sums.squares > 0.0)

    @property
    def n_passes(self) -> int:
        """Reads so far."""
        return len(self._history["seconds"])

    @property
    def objectives(self) -> list[float]:
        """What the objective came to in each read."""
        return self._history["objective"]

    @property
    def reached(self) -> int:
        """Which of the weights that were to be judged are those of the model, as it is after `n_passes`."""
        return 0 if self._descent is None else self._descent.visit.number

    def note(self, sums: Any) -> None:
        """Take what models of the same rows share from what was read, before any of them goes on: here nothing."""

    def hurry(self) -> None:
        """Ask to be judged soon, for time is over: here every read but the first judges."""

    def reads(self, tol: float, max_passes: int, towards: np.ndarray | None = None) -> Reads:
        """Descend until the gradient is no longer than `tol` times that of the start.

        `towards` are weights of another model, (n_features + 1, R): the first read compares steps on the line to these.
        """
        start = self._start()
        first = self._memory.length(start.steepest)
        if first == 0.0:  # no feature tells anything, or none enough for l1
            yield None, self._of_raw_rows(start.point)
            return self._ended(start.point, True, 0.0)
        if towards is None:
            step = yield from self._searched(start, self._memory.direction(start.steepest), LENGTHS)
        else:
            step = yield from self._searched(start, self._about_means(towards[self._kept]) - start.point, TOWARDS)
        if max_passes == 1:
            yield None, self._of_raw_rows(start.point + step)
            return self._ended(start.point + step, False, 1.0)
        visit = yield from self._read(start.point + step, start.objective)
        self._memory.remember(step, visit.gradient - start.gradient)
        self._descent = descent = Descent(self._memory, self._penalties, tol * first, visit)
        yield from descent.run(self._read, lambda: self.n_passes < max_passes)
        visit = descent.visit
        if descent.arrived:
            self._check_optimum(visit)
        return self._ended(visit.point, descent.arrived, self._memory.length(visit.steepest) / first)

    def _ended(self, point: np.ndarray, converged: bool, left: float) -> Trained:
        history = {name: np.array(column) for name, column in self._history.items()}
        return Trained(self._of_all(self._of_rows(point)), converged, left, history)

    def _check_optimum(self, visit: Visit, arrived: bool = True) -> None:
        """Refuse weights that are long for want of an optimum: those without penalty that rows ask to be longer."""
        if self._penalties.l2 > 0.0 or self._penalties.l1 > 0.0 or self.task.objective.bounded:
            return
        spread = self._spread[:-1] / self._sums.weight
        length = float(np.sqrt((visit.point[:-1] ** 2 * spread).sum()))  # of features of variance 1
        parting = self._sums.parting() if arrived else None
        if arrived and self.task.objective.separated(self._largest, self._sums.share):
            why = "are separable, all of them on their right side"
        elif parting is not None:
            why = f"are separable in part: feature {parting[0]} is 0 in all rows of one side, and never below 0"
        elif length > LONGEST:
            why = "are separable, or features nearly the same"
        else:
            return
        norm = float(np.sqrt((visit.point[:-1] ** 2).sum()))
        raise ValueError(
            f"l2=0 and the rows {why}: at weights of norm {norm:.3g} longer ones still fit them better, without end; "
            "give l2 above 0, or max_passes that end sooner"
        )

    # ---- what the scan tells -----------------------------------------------------------------------------------------

    def _inverse_curvature(self) -> np.ndarray:
        """1 / (l2 + q_j v_k), q the weighted sums of squares about the means; 0 for constants and absent classes."""
        below = self._spread * self.task.objective.curvature(self._sums.share)
        below[:-1] += self._penalties.l2
        known = (self._spread > CONSTANT * self._squares) & (self._sums.share > 0.0)
        return np.divide(1.0, below, out=np.zeros_like(below), where=known)

    def _start(self) -> Visit:
        """Weights of 0, with the best intercepts."""
        sums, objective = self._sums, self.task.objective
        point = np.zeros(self._memory.scale.shape)
        point[-1] = objective.intercepts(sums.share)
        gradient = np.zeros(point.shape)
        np.multiply(sums.whole[:, None], sums.share, out=gradient[:-1])
        gradient[:-1] -= sums.own
        gradient *= objective.slope * self._factors
        value = float(objective.at_start(sums).sum())
        return Visit(point, value, gradient, self._penalties.steepest(point, gradient))

    # ---- reads -------------------------------------------------------------------------------------------------------

    def _searched(self, start: Visit, step: np.ndarray, lengths: np.ndarray) -> Generator[Any, Any, np.ndarray]:
        """The best of these lengths of a step, by one read; rows of weights with losses of their own by themselves.

        From weights of 0 no step against the steepest gradient leaves its orthant.
        """
        objective = self.task.objective
        along = {"step": self._of_raw_rows(step), "lengths": lengths}
        sums, seconds = yield from self._run(start.point, start.objective, **along)
        pulls = np.array([self._penalties.value(length * step) for length in lengths])
        found = sums.losses + (pulls if objective.of_rows else pulls.sum(axis=1, keepdims=True))
        best, at_start = found.argmin(axis=0), objective.at_start(self._sums)
        least = found[best, np.arange(len(best))]
        self._note(float(np.minimum(least, at_start).sum()), self._memory.length(start.steepest), seconds)
        return np.where(least < at_start, lengths[best], 0.0) * step

    def _read(self, point: np.ndarray, most: float) -> Generator[Any, Any, Visit]:
        """The objective and its gradient at a point; what is above `most` need not be known."""
        sums, seconds = yield from self._run(point, most, judged=point)
        self._largest = sums.largest
        gradient = self._penalties.smooth_gradient(point, self._gradient(sums))
        value = float(sums.losses.sum() + self._penalties.value(point).sum())
        visit = Visit(point, value, gradient, self._penalties.steepest(point, gradient), self._n_judged)
        self._n_judged += 1
        self._check_optimum(visit, arrived=False)
        self._note(value, self._memory.length(visit.steepest), seconds)
        return visit

    def _gradient(self, sums: ReadSums) -> np.ndarray:
        """That of the loss, in weights of features about their means."""
        whole = len(self._kept) == len(sums.gradient)
        gradient = sums.gradient if whole else sums.gradient[self._kept]
        about_means(gradient, self._factors[:, 0], self._means[:, 0])
        return gradient

    def _of_rows(self, point: np.ndarray) -> np.ndarray:
        """Weights of features that are not about their means."""
        weights = point.copy()
        weights[-1] -= self._at_means(point)
        return weights

    def _about_means(self, weights: np.ndarray) -> np.ndarray:
        """The inverse of `_of_rows`."""
        point = weights.copy()
        point[-1] += self._at_means(weights)
        return point

    def _at_means(self, weights: np.ndarray) -> np.ndarray:
        """Scores of the means of all features, without the intercepts."""
        return np.einsum("i,ij->j", self._means[:, 0], weights[:-1])

    def _run(
        self, point: np.ndarray, most: float, judged: np.ndarray | None = None, per: Any = None, **along: Any
    ) -> Generator[Any, Any, tuple[ReadSums, float]]:
        """What a read leaves, and its seconds; in it the weights `judged` are judged, too.

        Rows of weights are divided by `per`, powers of two.
        """
        began, most = time.perf_counter(), most * SLACK
        grid = self._of_all(power_above(self.task.objective.bounds(self._sums, most)))
        weights = self._of_raw_rows(point)
        if per is not None:
            weights /= per
        task = replace(self.task, weights=weights, grid=grid, top=float(power_above(most)), **along)
        shown = None if judged is None or not self.judges else weights if judged is point else self._of_raw_rows(judged)
        sums = yield task, shown
        return sums, time.perf_counter() - began

    def _of_raw_rows(self, point: np.ndarray) -> np.ndarray:
        """Weights of all features, which are neither about their means nor scaled."""
        weights = np.empty(point.shape)
        of_rows(np.ascontiguousarray(point), self._factors[:, 0], self._means[:, 0], weights)
        return self._of_all(weights)

    def _of_all(self, values: np.ndarray) -> np.ndarray:
        """With 0 for features that no row has."""
        if len(values) == len(self.task.weights):
            return values
        out = np.zeros((len(self.task.weights), *values.shape[1:]))
        out[self._kept] = values
        return out

    def _note(self, *row: float) -> None:
        for column, value in zip(self._history.values(), row, strict=True):
            column.append(value)


def train(reads: Reads, rows: Source, options: RunOptions, n_rows: int) -> Trained:
    """Read what one model asks for, until it is there; a checkpoint is a folder, with a file for each read.

    `n_rows` are those of the scan.
    """
    report, sums, number = Report(), None, 0
    while True:
        try:
            task, _ = reads.send(sums)  # None, to begin with
        except StopIteration as end:
            return replace(end.value, report=report)
        if task is not None:
            number += 1
            sums, more = run(task, rows, options_of(options, f"read-{number:03}"))
            check_rows(number, [sums.rows], [n_rows])
            report = report + more


def check_rows(number: int, found: Sequence[int], before: Sequence[int]) -> None:
    """Refuse a stream that gives other rows in a read than in the scan: numbers of these, of each fold."""
    if list(found) != list(before):
        of_folds = [f", {list(numbers)} in the folds," if len(numbers) > 1 else "" for numbers in (found, before)]
        raise ValueError(
            f"X gave {sum(found)} rows in read {number}{of_folds[0]} and {sum(before)} in the scan{of_folds[1][:-1]}; "
            "a callable should return a fresh iterator of the same rows, in the same order, each time"
        )


def options_of(options: RunOptions, name: str) -> RunOptions:
    """The options of one pass of several, whose checkpoint is a file of that name in the folder of all."""
    return options if options.checkpoint is None else replace(options, checkpoint=options.checkpoint / f"{name}.snb")


def checkpoint_folder(given: Any) -> Path | None:
    """The folder for the checkpoints of several passes, made if it is not there."""
    if given is None:
        return None
    folder = persistence.check_path("checkpoint", given)
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"checkpoint={str(folder)!r} is a file; several reads keep a folder: name another")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def check_memory(n_features: int, n_rows: int, held: int, limit: int | None) -> None:
    """Refuse weights (n_features, n_rows) of which so many arrays would take too much."""
    needed, may = 8.0 * held * (n_features + 1) * n_rows, memory.allowed(limit)
    if needed > may:
        what = f"descent on {n_rows:,} x {n_features:,} weights"
        memory.refuse(what, needed, may, "give a larger memory_limit, or fewer features (snb.FeatureSelector)")
