"""Trains corrections to naive Bayes on bins.

K. Larsen, Generalized naive Bayes classifiers, SIGKDD Explorations 7 (2005). Features are indicators of bins, one of
each group in a row. The corrections of a group have the weighted mean 0 over the rows, as those of centred indicators
do; the part common to all of them belongs to the intercept.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from streamnb.encoding.bins import BinEdges
from streamnb.solving.coordinates import CentredFeatures
from streamnb.solving.data import TrainingData
from streamnb.solving.descent import STALLED, Penalties
from streamnb.solving.fitting import DescentMethod, DescentTrainer
from streamnb.solving.method import Reads, Trainer
from streamnb.solving.objectives import Objective, RowSums
from streamnb.stats.class_stats import ClassStats


class WholePenalties(Penalties):
    """l2 / 2 times the squares of all weights, including the intercepts, which are corrections as well."""

    def value(self, point: np.ndarray) -> np.ndarray:
        return 0.5 * self.l2 * (point * point).sum(axis=0)

    def smooth_gradient(self, point: np.ndarray, of_loss: np.ndarray) -> np.ndarray:
        return of_loss + self.l2 * point


def bayes_weights(sums: RowSums, firsts: np.ndarray, smoothing: float, joint: bool) -> np.ndarray:
    """Naive Bayes weights of bins, (n_columns + 1, R): log probabilities of a class where `joint`, else its log-odds.

    ln (S_jb + a) / (N + a B_j) for bin b of feature j, which has B_j bins, with N rows in the class.
    """
    widths = np.repeat(np.diff(firsts), np.diff(firsts))[:, None]
    own = sums.own
    of_class = _log_probabilities(own, sums.own_weight, widths, smoothing)
    if joint:
        return of_class
    rest = sums.whole[:, None] - own, sums.weight - sums.own_weight
    return of_class - _log_probabilities(*rest, widths, smoothing)


def _log_probabilities(sums: np.ndarray, weight: np.ndarray, widths: np.ndarray, smoothing: float) -> np.ndarray:
    with np.errstate(divide="ignore"):
        return np.vstack([np.log((sums + smoothing) / (weight + smoothing * widths)), np.log(weight)])


class CorrectionsMethod(DescentMethod):
    """Corrections to naive Bayes with this `smoothing`, on the bins learned from the rows."""

    narrows = False  # empty bins are corrected together with the others of their feature

    def __init__(self, objective_of: Callable[[ClassStats], Objective], smoothing: float):
        super().__init__(objective_of)
        self._smoothing = smoothing

    def samples(self, data: TrainingData, point: dict[str, Any]) -> bool:
        return False  # naive Bayes is the start

    def solved(self, data: TrainingData, stats: ClassStats, step: Any, limit: int | None) -> "Corrections":
        assert isinstance(step, BinEdges)
        joint = not data.task.objective.of_rows
        return Corrections(data.sums, bayes_weights(data.sums, step.firsts, float(self._smoothing), joint), step.firsts)

    def trainer(self, data: TrainingData, point: dict[str, Any], tol: float, max_passes: int) -> Trainer:
        return CorrectionTrainer(data, WholePenalties(point["l2"], 0.0), tol, max_passes)


class Corrections(CentredFeatures):
    """Corrections to the weights of another model, with mean 0 over the rows for each feature.

    Parameters
    ----------
    sums : RowSums
    offset : (n_columns + 1, R)
        The weights that are corrected.
    firsts : (n_features + 1,)
        The first column of each group, then the number of columns.
    """

    def __init__(self, sums: RowSums, offset: np.ndarray, firsts: np.ndarray):
        super().__init__(sums, used=np.arange(len(sums.squares)))
        self.offset, self._firsts = offset, firsts
        squares = np.add.reduceat(sums.whole**2, firsts[:-1])
        self._normal = sums.whole / np.sqrt(np.repeat(np.where(squares > 0.0, squares, 1.0), np.diff(firsts)))

    def for_rows(self, point: np.ndarray) -> np.ndarray:
        return self.offset + self._projected(point)  # components outside the space of corrections have no effect

    def of_model(self, point: np.ndarray) -> np.ndarray:
        return self.for_rows(point)

    def gradient(self, of_rows: np.ndarray) -> np.ndarray:
        return self._projected(of_rows)

    def _projected(self, values: np.ndarray) -> np.ndarray:
        """Values of bins and intercepts, without the parts along the row counts of the bins of each feature."""
        projected, normal = values.copy(), self._normal[:, None]
        along = np.add.reduceat(normal * values[:-1], self._firsts[:-1], axis=0)
        projected[:-1] -= normal * np.repeat(along, np.diff(self._firsts), axis=0)
        return projected


class CorrectionTrainer(DescentTrainer):
    """Descends on corrections from 0; the first read computes the gradient there."""

    def __init__(self, data: TrainingData, penalties: Penalties, tol: float, max_passes: int):
        super().__init__(data, penalties, tol, max_passes, data.solved)
        self._offset = data.solved.offset
        self._memory.diagonal.penalty[-1] = penalties.l2  # intercepts are penalised as well

    def reads(self) -> Reads:
        visit = yield from self._read(np.zeros(self._memory.diagonal.shape), self.most())
        first = self._memory.length(visit.steepest)
        rounding = float(np.sqrt(2.0 * STALLED * visit.objective))  # a large l2 leaves almost nothing to gain
        descent = yield from self._descended(visit, max(self._tol * first, rounding))
        left = self._memory.length(descent.visit.steepest)
        return self._ended(descent.visit.point, descent.arrived, left / first if first > 0.0 else 0.0)

    def most(self) -> float:
        """An upper bound of the loss of naive Bayes, as if each row lay in the worst bin of every feature."""
        finite = np.where(np.isfinite(self._offset), self._offset, 0.0)
        if self.task.objective.of_rows:
            span = np.abs(finite).sum(axis=1)
        else:
            span = finite.max(axis=1) - finite.min(axis=1)
        counts = np.append(self._sums.whole, self._sums.weight)
        return float((span * counts).sum()) + self._sums.weight * np.log(2.0) * finite.shape[1]
