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
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, eigh
from scipy.sparse.linalg import LinearOperator, eigsh

from streamnb.core import memory
from streamnb.core.threads import in_order, one_thread
from streamnb.passes.passes import Pass
from streamnb.solving.coordinates import CentredFeatures
from streamnb.solving.data import TrainingData
from streamnb.solving.descent import Penalties, Visit, pieces
from streamnb.solving.fitting import DescentTrainer
from streamnb.solving.method import Method, Reads, Trainer
from streamnb.solving.objectives import LeastSquares, Objective
from streamnb.solving.reading import FactoredWeights, JudgedWeights, power_above
from streamnb.stats.class_stats import ClassStats
from streamnb.stats.moment_sums import LABELS
from streamnb.stats.second_moments import scatter_of_varying
from streamnb.stats.tables import as_scipy, whole

CONSTANT = 1e-12  # relative to its weight: a label that varies less is in all rows or in none
FEW = 10  # ratio of labels to axes from which on axes are computed iteratively


@dataclass(frozen=True, eq=False)
class LeastSquaresPath:
    r"""``min 1/2 sum_i w_i (W_k x_i + b_k - c_ik)^2 + l2 / 2 \|W_k\|^2`` for every l2, c_ik = 1 or -1.

    ``W = 2 (G - s s' / N + l2 I)^-1 (S - s c' / N)``, ``b = (2 c - N - W s) / N``, from sums of products G and of
    features s of all rows, N their weight, and of those of each class S and c. Subtracting
    the statistics of a fold leaves those of the others, so that models of folds and penalties need no read.

    Parameters
    ----------
    stats : ClassStats
        Statistics with the moments "sum" and "gram", pooled or by class.
    scale : (n_features,), optional
        Factors of the columns.
    """

    stats: ClassStats
    scale: np.ndarray | None = None

    @cached_property
    def _system(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Numbers of varying features, their scatter, and their products with classes, (n, R)."""
        (kept, scatter), total = scatter_of_varying(self._every), whole(self._every.table("sum")).value()[0]
        shares = self._own_weight / self._every.total_weight
        products = 2.0 * (self._own - np.outer(shares, total)).T
        if self.scale is not None:
            products *= self.scale[:, None]
            scatter = scatter * self.scale[kept] * self.scale[kept, None]
        return kept, scatter, products[kept]

    def _solved(self, l2: float) -> np.ndarray:
        """The weights of the varying features, (n, R)."""
        _, scatter, products = self._system
        if l2 > 0.0:
            try:  # in a twentieth of the time of eigenvalues
                return cho_solve(cho_factor(scatter + l2 * np.eye(len(scatter)), overwrite_a=True), products)
            except LinAlgError:  # by rounding, where l2 is very small
                pass
        values, axes = self._decomposed
        if l2 == 0.0 and len(values) and values[0] <= 1e-13 * len(values) * values[-1]:
            raise ValueError(
                "l2=0 leaves weights undetermined, as features are linearly dependent; l2 should be above 0"
            )
        return axes @ ((axes.T @ products) / (values + l2)[:, None])

    @cached_property
    def _decomposed(self) -> tuple[np.ndarray, np.ndarray]:
        """Eigenvalues and axes of the scatter."""
        values, axes = np.linalg.eigh(self._system[1])
        return np.maximum(values, 0.0), axes

    @cached_property
    def mean(self) -> np.ndarray:
        """Mean of all rows, (n_features,)."""
        mean = whole(self._every.table("sum")).value()[0] / self._every.total_weight
        return mean if self.scale is None else mean * self.scale

    @property
    def _every(self) -> ClassStats:
        """Statistics that count each row once."""
        return self.stats if self.stats.every is None else self.stats.every

    @property
    def _rows(self) -> slice:
        """Classes with a row of weights; only the second of two classes."""
        return slice(1 if not self.stats.multilabel and len(self.stats.classes) == 2 else 0, None)

    @property
    def _own(self) -> np.ndarray:
        return self.stats.sum[self._rows]

    @property
    def _own_weight(self) -> np.ndarray:
        return self.stats.weight[self._rows]

    def weights(self, l2: float) -> tuple[np.ndarray, np.ndarray]:
        """Return weights (n_features, R) and intercepts (R,); features that do not vary have weight 0.

        Raises
        ------
        ValueError
            l2 is 0 and features are collinear, so that the weights are not unique.
        """
        kept, _, products = self._system
        weights = np.zeros((self.stats.n_features, products.shape[1]))
        with one_thread():
            weights[kept] = self._solved(l2)
            intercepts = 2.0 * self._own_weight / self._every.total_weight - 1.0 - self.mean @ weights
        return weights, intercepts


@dataclass(frozen=True, eq=False)
class LabelAxes:
    """The top eigenvectors of ``C = Q - c c' / N``, where Q has the weight of the rows with both labels of a pair.

    C is the scatter of the rows of an indicator about their mean; F. Tai and H.-T. Lin, Multilabel classification with
    principal label space transformation, Neural Computation 24 (2012), about the mean.

    Attributes
    ----------
    axes : (M, L), orthonormal, in descending order of variance
    scatter : (M,), eigenvalues
    base : (L,)
        2 c / N - 1, the mean of labels that are 1 or -1.
    """

    axes: np.ndarray
    scatter: np.ndarray
    base: np.ndarray

    @classmethod
    def of(cls, stats: ClassStats, n_axes: int, limit: int | None = None) -> "LabelAxes":
        """Return the first axes of the labels of these rows; few of many by the Lanczos method on a sparse matrix.

        Raises
        ------
        ValueError
            No label varies between rows.
        MemoryError
            All pairs of labels would take more bytes than the limit.
        """
        own, weight, n_labels = stats.weight, stats.total_weight, len(stats.weight)
        if not (own - own * own / weight > CONSTANT * weight).any():
            raise ValueError(
                f"y carries no information: each of its {n_labels} labels is in all of them or in none; a label should "
                "be in some rows"
            )
        check_pairs(n_labels, n_axes, limit)
        pairs = stats.tables[LABELS]
        with one_thread():
            if FEW * n_axes < n_labels:
                together, root = as_scipy(pairs), own / np.sqrt(weight)
                scatter = LinearOperator(
                    (n_labels, n_labels), lambda v: together @ v - root * (root @ v.reshape(-1)), dtype=np.float64
                )
                values, vectors = eigsh(scatter, n_axes, v0=np.sqrt(own))
            else:
                known = n_labels - n_axes, n_labels - 1
                values, vectors = eigh(pairs.dense().value() - np.outer(own, own / weight), subset_by_index=known)
        axes = np.ascontiguousarray(vectors[:, ::-1].T)
        return cls(axes, np.maximum(values[::-1], 0.0), 2.0 * own / weight - 1.0)

    def first(self, n_axes: int) -> "LabelAxes":
        """Return the first `n_axes` axes."""
        return LabelAxes(self.axes[:n_axes], self.scatter[:n_axes], self.base)


def check_pairs(n_labels: int, n_axes: int, limit: int | None) -> None:
    """Raise an error if the axes need all pairs of labels and these would take more bytes than the limit."""
    needed, may = 4 * 8 * n_labels**2, memory.allowed(limit)
    if FEW * n_axes >= n_labels and needed > may:
        what = f"the main components of {n_labels:,} labels, from all pairs of these,"
        few = -(-n_labels // FEW)
        cure = "give a larger memory_limit" + (
            f", or n_components below {few:,}, which take pairs that occur" if few > 1 else ""
        )
        memory.refuse(what, needed, may, cure)


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
            return np.sqrt(self._shares())[:, None] * self._memory.diagonal.divide(residual)
        step = self._memory.diagonal.divide(residual)
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
        roots = np.sqrt(self._at.spread + ROUNDING * self._at.squares)[:, 0]
        reach = np.einsum("jr,j->r", np.abs(step), roots)
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
                "least: use snb.LeastSquaresClassifier for classes"
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
        cure = "give a larger memory_limit, or use fewer n_components, labels or features (snb.FeatureSelector)"
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
        return Solved(data, FactoredWeights(weights, axes.axes, axes.base), of_labels(weights * scale, axes))


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
        sums = replace(sums, cells=own, own_weight=np.full(n_axes, sums.weight))
        task = replace(task, weights=np.zeros((len(task.weights), n_axes)))
        super().__init__(replace(data, task=task, sums=sums), penalties, tol, max_passes)
        self._axes = axes

    def _start(self) -> Visit:
        """The point where weights are 0; components are centred and need no intercepts."""
        point, gradient = np.zeros((2, *self._memory.diagonal.shape))
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
