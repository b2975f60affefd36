"""Least squares by conjugate gradients: each read brings the product of the second moments with one direction.

M. R. Hestenes and E. Stiefel, Methods of conjugate gradients for solving linear systems, J. Res. NBS 49 (1952), with
the diagonal of the system as the preconditioner. Each row of weights has a system of its own with the same matrix, and
all of them go together in one read.
"""

from collections.abc import Generator
from typing import Any

import numpy as np

from streamnb.training.fitting import Reads, Trainer
from streamnb.training.reading import power_above

ROUNDING = 1e-20  # of a sum of squares, what rounding of scores may add to one about the mean
UNIT = 0.5  # the largest loss along a direction of length 1


class ConjugateGradients(Trainer):
    """Solves (G + l2 I) W = T, where G are the second moments about the means and T follows from the scan."""

    held = 10
    judged_later = 1

    @property
    def reached(self) -> int:
        return self.n_passes

    def reads(self, tol: float, max_passes: int, towards: np.ndarray | None = None) -> Reads:
        """Go on until the residual is no longer than `tol` times that of the start.

        `towards` are weights of another model: the first read goes the best part of the line to these, for each row of
        weights by itself.
        """
        start = self._start()
        point, residual, objective = start.point, -start.gradient, start.objective
        step = self._memory.scaled(residual)
        length = (residual * step).sum(axis=0)
        first = left = self._memory.length(residual)
        if towards is not None:
            step, length = self._about_means(towards[self._kept]), np.full(len(length), np.inf)
            step[-1] = 0.0  # about the means, the intercepts of the start are the best ones for any weights
        while left > tol * first and self.n_passes < max_passes:
            product, seconds = yield from self._product(step, point)
            slope, curvature = (residual * step).sum(axis=0), (step * product).sum(axis=0)
            far = np.divide(slope, curvature, out=np.zeros_like(slope), where=curvature > 0.0)
            point, residual = point + far * step, residual - far * product
            objective -= 0.5 * float((far * slope).sum())
            left = self._memory.length(residual)
            self._note(objective, left, seconds)
            scaled = self._memory.scaled(residual)
            before, length = length, (residual * scaled).sum(axis=0)
            step = scaled + np.divide(length, before, out=np.zeros_like(length), where=before > 0.0) * step
        yield None, self._of_raw_rows(point)
        return self._ended(point, left <= tol * first, left / first if first > 0.0 else 0.0)

    def _product(self, step: np.ndarray, point: np.ndarray) -> Generator[Any, Any, tuple[np.ndarray, float]]:
        """(G + l2 I) times a direction, (n_features + 1, R), and the seconds of the read.

        By Minkowski the root of sum_i w_i s_i^2 is at most sum_j abs(step_j) times the root of G_jj: each column is
        divided by a power of two above that, which changes no bit, and then the grid is the same in all reads.
        """
        reach = (np.abs(step) * np.sqrt(self._spread + ROUNDING * self._squares)).sum(axis=0)
        powers = np.where(reach > 0.0, power_above(reach), 1.0)
        sums, seconds = yield from self._run(step / powers, UNIT, judged=point)
        product = self._gradient(sums) * powers
        product[-1] = 0.0
        return self._penalties.smooth_gradient(step, product), seconds
