"""Trains least squares by conjugate gradients or from sums of products, of classes or of components of labels.

M. R. Hestenes and E. Stiefel, Methods of conjugate gradients for solving linear systems, J. Res. NBS 49 (1952). One
read advances all rows of weights. Their systems share one matrix, so that each row moves to the best point in the span
of all directions, not only along its own: D. P. O'Leary, The block conjugate gradient algorithm and related methods,
Linear Algebra Appl. 29 (1980). With many classes this halves the number of reads.

With the axes V of the labels (`LabelAxes`) the weights of many labels are ``W = A V``, where A (n_features, M) are the
weights of the components ``V y``. As least squares is linear in its targets, ``A = W_all V'``, with the weights W_all
of all labels.
"""

from collections.abc import Callable, Generator
from dataclasses import replace
from functools import cache, partial
from typing import Any

import numpy as np

from streamnb.core import memory
from streamnb.core.threads import in_order, one_thread
from streamnb.fits.passes import Pass
from streamnb.kernels import directions as kernels
from streamnb.solving.least_squares import LabelAxes, LeastSquaresPath, check_pairs
from streamnb.stats.class_stats import ClassStats
from streamnb.training.coordinates import CentredFeatures
from streamnb.training.data import TrainingData
from streamnb.training.descent import Penalties, Visit, pieces
from streamnb.training.fitting import DescentTrainer
from streamnb.training.method import Method, Reads, Trainer
from streamnb.training.objectives import LeastSquares, Objective
from streamnb.training.reading import FactoredWeights, JudgedWeights, power_above

ROUNDING = 1e-20  # share of a sum of squares that rounding of the scores may add to the sum about the mean
UNIT_LOSS = 0.5  # the largest loss along a direction of length 1
BLOCK_SIZE = 64  # rows of weights that share directions: combining those of all would take longer than the read
MANY_READS = 16  # after which features are solved for together, where `products_of` can multiply them
MOST_TOGETHER = 512  # features: their products take about as long as a few dozen reads
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
            lengths = [inverse @ slope for inverse, slope in zip(self._inverses, slopes, strict=True)]
            self._add(point, self._step, lengths)
            self._add(residual, self._product, [-length for length in lengths])
        return 0.5 * sum(float((length * slope).sum()) for length, slope in zip(lengths, slopes, strict=True))

    def conjugate(self, step: np.ndarray) -> np.ndarray:
        """Make other directions conjugate to these, in place."""
        with one_thread():
            shares = self._inner(self._product, step)
            back = [-inverse @ share for inverse, share in zip(self._inverses, shares, strict=True)]
            self._add(step, self._step, back)
        return step

    def _add(self, out: np.ndarray, directions: np.ndarray, factors: list[np.ndarray]) -> None:
        """Add combinations of directions, given the factors of each block of rows of weights."""

        def add(rows: slice) -> None:
            for block, of_block in zip(self._blocks, factors, strict=True):
                out[rows, block] += directions[rows, block] @ of_block

        self._each(add)

    def _inner(self, left: np.ndarray, right: np.ndarray) -> list[np.ndarray]:
        """left' right for each block of rows of weights that share directions."""
        parts = self._each(lambda rows: [left[rows, block].T @ right[rows, block] for block in self._blocks])
        return [sum(of_pieces) for of_pieces in zip(*parts, strict=True)]

    def _each(self, work: Callable[[slice], Any]) -> list[Any]:
        return list(in_order(work, self._pieces, self._n_threads))


def _inverse(curvatures: np.ndarray) -> np.ndarray:
    """The pseudo-inverse of the curvatures between directions, without those that are combinations of others."""
    diagonal = curvatures.diagonal()
    unit = np.divide(1.0, np.sqrt(np.abs(diagonal)), out=np.zeros(len(diagonal)), where=diagonal > 0.0)
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
        return Solved(data, weights, weights * used.of_all(used.factors))


class Solved(Trainer):
    """Weights that are known without a read, and the weights to judge, which apply to unscaled rows."""

    def __init__(self, data: TrainingData, weights: JudgedWeights, judged: JudgedWeights):
        super().__init__(data)
        self._weights, self._judged = weights, judged

    def reads(self) -> Reads:
        yield self.judged(self._judged)
        weights = self._weights.expanded() if isinstance(self._weights, FactoredWeights) else self._weights
        return self.trained(weights, True, 0.0)


class ConjugateGradients(DescentTrainer):
    """Solves (G + l2 I) W = T, where G are the second moments about the means and T follows from the scan.

    Stops when the norm of the residual is at most `tol` times that at the start. The directions of the first read lead
    to the start weights, if there are any.

    Directions from single features need many reads where features nearly depend on each other, such as all values of a
    column. After some reads, the most frequent features are then solved for together where `products_of` is there.
    """

    _together: tuple[np.ndarray, np.ndarray] | None = None  # these features, and the inverse of their curvatures

    @property
    def reached(self) -> int:  # type: ignore[override]
        return self.n_passes

    def reads(self) -> Reads:
        start = self._start()
        point, objective = start.point, start.objective
        residual = np.negative(start.gradient, out=start.gradient)
        first = left = self._memory.length(residual)
        if self._start_weights is None:
            step = self._divided(residual)
        else:
            step = self._at.from_model(self._start_weights)
            step[-1] = 0.0  # features are centred: the intercepts of the start are best for any weights
        while left > self._tol * first and self.n_passes < self._max_passes:
            product, seconds = yield from self._product(step, point)
            directions = Directions(step, product, self.n_threads)
            objective -= directions.minimise(point, residual)
            left = self._memory.length(residual)
            self.note(objective, left, seconds)
            if left > self._tol * first and self.n_passes < self._max_passes:
                if self.n_passes == MANY_READS and self.products_of is not None:
                    self._together = yield from self._most_frequent(self.products_of)
                    step = self._divided(residual)  # other directions than so far: begin anew
                else:
                    step = directions.conjugate(self._divided(residual))
        if self.judge is not None:
            yield self.judged(self._at.for_rows(point))
        return self._ended(point, left <= self._tol * first, left / first if first > 0.0 else 0.0)

    def _divided(self, residual: np.ndarray) -> np.ndarray:
        """A residual divided by the curvature of each feature, or of the most frequent ones together.

        That alone gives a feature of one or two rows as large a step as a feature of many, which takes more reads. So
        steps are also multiplied by the root of the share of rows, until frequent features are solved for.
        """
        if self._together is None:
            return np.sqrt(self._shares())[:, None] * self._memory.scale * residual
        step = self._memory.scale * residual
        features, inverse = self._together
        with one_thread():
            step[features] = inverse @ residual[features]
        return step

    def _shares(self) -> np.ndarray:
        """The share of rows in which each feature is not 0, (n_features + 1,), about, whatever its units."""
        rows = np.append(self._sums.magnitudes**2 / self._sums.squares, self._sums.weight)
        return rows / self._sums.weight

    def _most_frequent(self, products_of: Any) -> Generator[Any, Any, tuple[np.ndarray, np.ndarray]]:
        """The most frequent features that vary, and the inverse of the curvatures between them."""
        frequent = np.sort(np.argsort(-self._shares()[:-1], kind="stable")[:MOST_TOGETHER])
        varies, products = yield from products_of(self._at.kept[frequent])
        features = frequent[varies]
        factors = self._at.factors[features]
        products = products * factors * factors.T
        products[np.diag_indices(len(features))] += self._penalties.l2
        with one_thread():
            return features, _inverse(products)

    def _product(self, step: np.ndarray, point: np.ndarray) -> Generator[Any, Any, tuple[np.ndarray, float]]:
        """(G + l2 I) times a direction, (n_features + 1, R), and the seconds of the read.

        By Minkowski's inequality the root of sum_i w_i s_i^2 is at most sum_j abs(step_j) times the root of G_jj. Each
        column is divided by a power of two above this bound, which is exact, so that all reads use the same grid.
        """
        reach = np.empty(step.shape[1])
        kernels.lengths(step, np.sqrt(self._at.spread + ROUNDING * self._at.squares)[:, 0], reach)
        powers = np.where(reach > 0.0, power_above(reach), 1.0)
        sums, seconds = yield from self._run(step, UNIT_LOSS, judged=point, per=powers)
        product = self._at.gradient(sums.gradient)
        product *= powers
        product[-1] = 0.0
        return self._penalties.smooth_gradient(step, product), seconds


ARRAYS = 13  # as large as the weights of components, during training: those of conjugate gradients, and 3
BEFORE, MEANWHILE = 4, 2  # arrays as large as the weights of all labels: before components are trained, and meanwhile


class LabelSpaceMethod(LeastSquaresMethod):
    """Least squares on components of labels; a point says how many, one of `n_components` (default: all)."""

    labels = True

    def __init__(self, name: str, products: bool, n_components: Any):
        super().__init__(products)
        self._name = name
        self.n_arrays = 3 if products else ARRAYS  # with products: weights of labels, of components, and judged ones
        self._n_components = n_components

    def n_columns(self, n_rows: int) -> int:
        return n_rows if self._n_components is None else int(np.max(self._n_components))

    def objective(self, stats: ClassStats) -> Objective:
        self.check_labels(len(stats.classes) if stats.multilabel else 1)
        return super().objective(stats)

    def check_labels(self, n_labels: int) -> None:
        """Raise where labels are not an indicator, or where there are more components than labels."""
        if n_labels < 2:
            raise ValueError(
                f"y is one label a row; {self._name} is for a 2-D indicator of labels (n_rows, n_labels), two at "
                "least: take snb.LeastSquaresClassifier for classes"
            )
        if (most := self.n_columns(n_labels)) > n_labels:
            raise ValueError(f"n_components={most} is more than the {n_labels} labels of y; give as many at most")

    def check_given(self, y: Any, n_features: int | None, limit: int | None) -> None:
        if (shape := getattr(y, "shape", None)) is None:
            return
        n_labels = shape[1] if len(shape) == 2 else 1
        self.check_labels(n_labels)
        if n_features is not None:
            check_pairs(n_labels, self.n_columns(n_labels), limit)
            self.check_memory(n_features, 0, n_labels, 1, limit)

    def check_memory(self, n_features: int, n_used: int, n_rows: int, n_models: int, limit: int | None) -> None:
        """Raise where the weights of all labels, plus those of components, need more memory than allowed."""
        whole, most = 8.0 * (n_features + 1) * n_rows * n_models, self.n_columns(n_rows)
        of_components = 8.0 * ARRAYS * (n_used + 1) * most * n_models
        needed = self.n_arrays * whole if self.products else max(BEFORE * whole, MEANWHILE * whole + of_components)
        what = f"{most:,} components of {n_rows:,} labels, and weights of these by {n_features:,} features,"
        cure = "give a larger memory_limit, or take fewer n_components, labels or features (snb.FeatureSelector)"
        memory.check(what, needed, limit, cure)

    def solved(self, data: TrainingData, stats: ClassStats, step: Any, limit: int | None) -> Any:
        """The axes of the labels, and a function from l2 to the weights of all components, used with products."""
        axes = LabelAxes.of(stats, self.n_columns(len(stats.classes)), limit)
        return axes, cache(partial(_of_components, super().solved(data, stats, step, limit), axes.axes))

    def trainer(self, data: TrainingData, point: dict[str, Any], tol: float, max_passes: int) -> Trainer:
        n_labels = data.task.weights.shape[1]
        axes, of_components = data.solved
        axes = axes.first(point["n_components"] or n_labels)
        if not self.products:
            return ComponentsByGradients(data, Penalties(point["l2"], 0.0), tol, max_passes, axes)
        weights = of_components(point["l2"])[:, : len(axes.scatter)]
        scale = np.ones(1) if data.scale is None else np.append(data.scale, 1.0)[:, None]
        whole = FactoredWeights(weights, axes.axes, axes.base)
        return Solved(data, whole, of_labels(weights * scale, axes))


def _of_components(path: LeastSquaresPath | None, axes: np.ndarray, l2: float) -> np.ndarray:
    """Weights of components, (n_features + 1, M)."""
    assert path is not None
    weights = path.weights(l2)[0]
    with one_thread():
        of_components = weights @ axes.T
        return np.vstack([of_components, -path.mean @ of_components])


def of_labels(weights: np.ndarray, axes: LabelAxes) -> JudgedWeights:
    """Weights of all labels from those of components, (n_features + 1, M): factored where that is smaller."""
    product = FactoredWeights(weights, axes.axes, axes.base)
    return product if len(axes.scatter) < len(axes.base) else product.expanded()


class ComponentsByGradients(ConjugateGradients):
    """Conjugate gradients on the components of labels; each read advances all of them by one step."""

    def __init__(self, data: TrainingData, penalties: Penalties, tol: float, max_passes: int, axes: LabelAxes):
        sums, task, n_axes = data.sums, data.task, len(axes.scatter)
        with one_thread():
            own = (sums.own - np.outer(sums.whole, sums.share)) @ axes.axes.T
        sums = replace(sums, own=own, own_weight=np.full(n_axes, sums.weight))
        task = replace(task, weights=np.zeros((len(task.weights), n_axes)))
        super().__init__(replace(data, task=task, sums=sums), penalties, tol, max_passes)
        self._axes = axes

    def _start(self) -> Visit:
        """The point where weights are 0; components are centred and need no intercepts."""
        point, gradient = np.zeros((2, *self._memory.scale.shape))
        gradient[:-1] = -self.task.objective.slope * self._sums.own
        gradient *= self._at.factors
        return Visit(point, 2.0 * float(self._axes.scatter.sum()), gradient, gradient)

    def judged(self, weights: Any) -> list[Pass]:
        return super().judged(of_labels(weights, self._axes))

    def reads(self) -> Reads:
        """Conjugate gradients, whose final weights are expanded to all labels."""
        trained = yield from super().reads()
        whole = FactoredWeights(trained.weights, self._axes.axes, self._axes.base)
        return replace(trained, weights=whole.expanded())
