"""Naive Bayes with a correction of each feature: weights that are added to those of naive Bayes.

K. Larsen, Generalized naive Bayes classifiers, SIGKDD Explorations 7 (2005). Features are indicators of bins, one of
each group in a row. The corrections of a group have the weighted mean 0 over its rows, as centred indicators have them;
what they all have in common is left to the intercept.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from streamnb.training.descent import STALLED, Descent, Penalties
from streamnb.training.fitting import Reads, Trained, Trainer
from streamnb.training.objectives import RowSums


class WholePenalties(Penalties):
    """l2 / 2 of all weights, the intercepts, too: these are corrections as well."""

    def value(self, point: np.ndarray) -> np.ndarray:
        return 0.5 * self.l2 * (point * point).sum(axis=0)

    def smooth_gradient(self, point: np.ndarray, of_loss: np.ndarray) -> np.ndarray:
        return of_loss + self.l2 * point


def bayes_weights(sums: RowSums, firsts: np.ndarray, smoothing: float, joint: bool) -> np.ndarray:
    """Naive Bayes of bins, (n_columns + 1, R): log probabilities of a class where `joint`, else log-odds of its rows.

    ln (S_jb + a) / (N + a B_j) for bin b of feature j, which has B_j of them, and as many rows as N in the class.
    """
    widths = np.repeat(np.diff(firsts), np.diff(firsts))[:, None]
    own = _log_probabilities(sums.own, sums.own_weight, widths, smoothing)
    if joint:
        return own
    others = sums.whole[:, None] - sums.own, sums.weight - sums.own_weight
    return own - _log_probabilities(*others, widths, smoothing)


def _log_probabilities(own: np.ndarray, weight: np.ndarray, widths: np.ndarray, smoothing: float) -> np.ndarray:
    with np.errstate(divide="ignore"):
        return np.vstack([np.log((own + smoothing) / (weight + smoothing * widths)), np.log(weight)])


class CorrectionTrainer(Trainer):
    """Descends on corrections of the weights of another model, from none at all.

    Parameters
    ----------
    task, sums, penalties
        As of `Trainer`.
    offset : (n_columns + 1, R)
        The weights that are corrected.
    firsts : (n_features + 1,)
        The first column of each group, and the number of all.
    """

    def __init__(self, task: Any, sums: RowSums, penalties: Penalties, offset: np.ndarray, firsts: np.ndarray):
        super().__init__(task, sums, None, penalties)
        self._offset, self._firsts = offset, firsts
        widths = np.diff(firsts)
        squares = np.add.reduceat(sums.whole**2, firsts[:-1])
        self._normal = sums.whole / np.sqrt(np.repeat(np.where(squares > 0.0, squares, 1.0), widths))

    def _of_used(self, sums: RowSums) -> RowSums:
        return sums  # bins without rows are corrected with the others of their feature

    def reads(self, tol: float, max_passes: int, towards: np.ndarray | None = None) -> Reads:
        """Descend until the gradient is no longer than `tol` times that of the start; the first read is of that."""
        start = np.zeros(self._offset.shape)
        visit = yield from self._read(start, self._most())
        first = self._memory.length(visit.steepest)
        rounding = float(np.sqrt(2.0 * STALLED * visit.objective))  # where a large l2 leaves next to nothing to fall
        target = max(tol * first, rounding)
        self._descent = descent = Descent(self._memory, self._penalties, target, visit)
        yield from descent.run(self._read, lambda: self.n_passes < max_passes)
        left = self._memory.length(descent.visit.steepest)
        return self._ended(descent.visit.point, descent.arrived, left / first if first > 0.0 else 0.0)

    def _inverse_curvature(self) -> np.ndarray:
        """That of `Trainer`, but that intercepts are penalised, too."""
        scale = super()._inverse_curvature()
        scale[-1] /= 1.0 + self._penalties.l2 * scale[-1]
        return scale

    def _ended(self, point: np.ndarray, converged: bool, left: float) -> Trained:
        return replace(super()._ended(point, converged, left), weights=self._of_raw_rows(point))

    def _most(self) -> float:
        """What the loss of naive Bayes is at most: each row lies in the worst bins of its features."""
        finite = np.where(np.isfinite(self._offset), self._offset, 0.0)
        if self.task.objective.of_rows:
            span = np.abs(finite).sum(axis=1)
        else:
            span = finite.max(axis=1) - finite.min(axis=1)
        counts = np.append(self._sums.whole, self._sums.weight)
        return float((span * counts).sum()) + self._sums.weight * np.log(2.0) * finite.shape[1]

    def _of_rows(self, point: np.ndarray) -> np.ndarray:
        """The corrections, of mean 0 over the rows of each feature: what is not in their space changes nothing."""
        corrections = point.copy()
        corrections[:-1] -= self._across(point[:-1])
        return corrections

    def _of_raw_rows(self, point: np.ndarray) -> np.ndarray:
        return self._offset + self._of_rows(point)

    def _gradient(self, sums: Any) -> np.ndarray:
        gradient = sums.gradient.copy()
        gradient[:-1] -= self._across(gradient[:-1])
        return gradient

    def _across(self, weights: np.ndarray) -> np.ndarray:
        """The part of the weights of each feature that goes along how many rows its bins have."""
        along = np.add.reduceat(self._normal[:, None] * weights, self._firsts[:-1], axis=0)
        return self._normal[:, None] * np.repeat(along, np.diff(self._firsts), axis=0)
