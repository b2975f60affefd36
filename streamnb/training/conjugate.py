"""Solves least squares by conjugate gradients, or from sums of products.

M. R. Hestenes and E. Stiefel, Methods of conjugate gradients for solving linear systems, J. Res. NBS 49 (1952). One
read advances all rows of weights. Their systems share one matrix, so that each row moves to the best point in the span
of all directions, not only along its own: D. P. O'Leary, The block conjugate gradient algorithm and related methods,
Linear Algebra Appl. 29 (1980). With many classes this halves the number of reads.
"""

from collections.abc import Callable, Generator
from typing import Any

import numpy as np

from streamnb.core.blas import one_thread
from streamnb.core.threads import in_order
from streamnb.kernels.directions import lengths
from streamnb.solving.least_squares import LeastSquaresPath
from streamnb.stats.class_stats import ClassStats
from streamnb.training.coordinates import CentredFeatures
from streamnb.training.data import TrainingData
from streamnb.training.descent import Penalties, pieces
from streamnb.training.fitting import DescentTrainer
from streamnb.training.method import Method, Reads, Trained, Trainer
from streamnb.training.objectives import LeastSquares, Objective
from streamnb.training.reading import FactoredWeights, JudgedWeights, ReadTask, power_above

ROUNDING = 1e-20  # share of a sum of squares that rounding of the scores may add to the sum about the mean
UNIT_LOSS = 0.5  # the largest loss along a direction of length 1
BLOCK_SIZE = 64  # rows of weights that share directions: combining those of all would take longer than the read
INDEPENDENT = 1e-10  # share of the largest curvature; a unit direction with less is a combination of the others


class Directions:
    """Directions (n, R), and their products with the matrix of the system, (n, R).

    Several threads work on pieces of the rows; the results of the pieces are added in order.
    """

    def __init__(self, step: np.ndarray, product: np.ndarray, n_threads: int = 1):
        self._step, self._product, self._n_threads = step, product, n_threads
        self._pieces = list(pieces(len(step)))
        self._blocks = [slice(first, first + BLOCK_SIZE) for first in range(0, step.shape[1], BLOCK_SIZE)]
        with one_thread():
            self._inverses = [_inverse(curvatures) for curvatures in self._inner(step, product)]

    def minimise(self, point: np.ndarray, residual: np.ndarray) -> float:
        """Minimise over these directions: move point and residual in place, and return the fall of the objective."""
        with one_thread():
            slopes = self._inner(self._step, residual)
            far = [inverse @ slope for inverse, slope in zip(self._inverses, slopes, strict=True)]

            def move(rows: slice) -> None:
                for some, moves in zip(self._blocks, far, strict=True):
                    point[rows, some] += self._step[rows, some] @ moves
                    residual[rows, some] -= self._product[rows, some] @ moves

            self._each(move)
        return 0.5 * sum(float((moves * slope).sum()) for moves, slope in zip(far, slopes, strict=True))

    def conjugate(self, step: np.ndarray) -> np.ndarray:
        """Make other directions conjugate to these, in place."""
        with one_thread():
            shares = self._inner(self._product, step)
            back = [inverse @ share for inverse, share in zip(self._inverses, shares, strict=True)]

            def turn(rows: slice) -> None:
                for some, turns in zip(self._blocks, back, strict=True):
                    step[rows, some] -= self._step[rows, some] @ turns

            self._each(turn)
        return step

    def _inner(self, left: np.ndarray, right: np.ndarray) -> list[np.ndarray]:
        """left' right for each block of rows of weights that share directions."""
        parts = self._each(lambda rows: [left[rows, some].T @ right[rows, some] for some in self._blocks])
        return [sum(of_pieces) for of_pieces in zip(*parts, strict=True)]

    def _each(self, work: Callable[[slice], Any]) -> list[Any]:
        return list(in_order(work, self._pieces, self._n_threads))


def _inverse(curvatures: np.ndarray) -> np.ndarray:
    """The pseudo-inverse of the curvatures between directions, without those that are combinations of others."""
    own = curvatures.diagonal()
    unit = np.divide(1.0, np.sqrt(np.abs(own)), out=np.zeros(len(own)), where=own > 0.0)
    values, axes = np.linalg.eigh(0.5 * (curvatures + curvatures.T) * np.outer(unit, unit))
    distinct = values > INDEPENDENT * values[-1]
    axes = unit[:, None] * axes[:, distinct]
    return axes / values[distinct] @ axes.T


class LeastSquaresMethod(Method):
    """Least squares on class indicators, by conjugate gradients, or without a read where the scan sums `products`."""

    n_arrays = 10
    scoring_reads = 1

    def __init__(self, products: bool):
        self.products, self.narrows = products, not products

    def objective(self, stats: ClassStats) -> Objective:
        return LeastSquares()

    def solved(self, data: TrainingData, stats: ClassStats, step: Any, limit: int | None) -> LeastSquaresPath | None:
        return LeastSquaresPath(stats, data.scale) if self.products else None

    def trainer(self, data: TrainingData, point: dict[str, Any], tol: float, max_passes: int) -> Trainer:
        if not self.products:
            return ConjugateGradients(data, Penalties(point["l2"], 0.0), tol, max_passes)
        weights, used = np.vstack(data.solved.weights(point["l2"])), CentredFeatures(data.sums, data.scale)
        return Solved(data.task, weights, weights * used.of_all(used.factors))


class Solved(Trainer):
    """Weights that are known without a read, and the weights to judge, which apply to unscaled rows."""

    def __init__(self, task: ReadTask, weights: JudgedWeights, judged: JudgedWeights):
        self.task, self._weights, self._judged = task, weights, judged

    def reads(self) -> Reads:
        yield None, self._judged
        weights = self._weights.expanded() if isinstance(self._weights, FactoredWeights) else self._weights
        return Trained(weights, True, 0.0, {name: np.zeros(0) for name in ("objective", "gradient_norm", "seconds")})


class ConjugateGradients(DescentTrainer):
    """Solves (G + l2 I) W = T, where G are the second moments about the means and T follows from the scan.

    Stops when the norm of the residual is at most `tol` times that at the start. The directions of the first read lead
    to the start weights, if there are any.
    """

    @property
    def reached(self) -> int:  # type: ignore[override]
        return self.n_passes

    def reads(self) -> Reads:
        start, scale = self._start(), self._root_frequencies() * self._memory.scale
        point, objective = start.point, start.objective
        residual = np.negative(start.gradient, out=start.gradient)
        first = left = self._memory.length(residual)
        if self._start_weights is None:
            step = scale * residual
        else:
            step = self._at.from_model(self._start_weights)
            step[-1] = 0.0  # features are centred: the intercepts of the start are best for any weights
        while left > self._tol * first and self.n_passes < self._max_passes:
            product, seconds = yield from self._product(step, point)
            directions = Directions(step, product, self.n_threads)
            objective -= directions.minimise(point, residual)
            left = self._memory.length(residual)
            self._note(objective, left, seconds)
            if left > self._tol * first and self.n_passes < self._max_passes:
                step = directions.conjugate(scale * residual)
        yield None, self._at.for_rows(point) if self.judges else None
        return self._ended(point, left <= self._tol * first, left / first if first > 0.0 else 0.0)

    def _root_frequencies(self) -> np.ndarray:
        """Roots of the shares of rows in which each feature is not 0, (n_features + 1, 1).

        A gradient divided by the curvature would give a feature of one or two rows as large a step as a feature of
        many. These factors do not depend on the units of the features, and are nearly equal where no value is 0.
        """
        rows = np.append(self._sums.magnitudes**2 / self._sums.squares, self._sums.weight)
        return np.sqrt(rows / self._sums.weight)[:, None]

    def _product(self, step: np.ndarray, point: np.ndarray) -> Generator[Any, Any, tuple[np.ndarray, float]]:
        """(G + l2 I) times a direction, (n_features + 1, R), and the seconds of the read.

        By Minkowski's inequality the root of sum_i w_i s_i^2 is at most sum_j abs(step_j) times the root of G_jj. Each
        column is divided by a power of two above this bound, which is exact, so that all reads use the same grid.
        """
        reach = np.empty(step.shape[1])
        lengths(step, np.sqrt(self._at.spread + ROUNDING * self._at.squares)[:, 0], reach)
        powers = np.where(reach > 0.0, power_above(reach), 1.0)
        sums, seconds = yield from self._run(step, UNIT_LOSS, judged=point, per=powers)
        product = self._at.gradient(sums.gradient)
        product *= powers
        product[-1] = 0.0
        return self._penalties.smooth_gradient(step, product), seconds
