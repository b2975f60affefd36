"""Trains least squares on the principal components of labels.

With the axes V of the labels (`LabelAxes`) the weights are ``W = A V``, where A (n_features, M) are the weights of the
components ``V y``. As least squares is linear in its targets, ``A = W_all V'``, with the weights W_all of all labels.
"""

from dataclasses import replace
from functools import cache, partial
from typing import Any

import numpy as np

from streamnb.core import memory
from streamnb.core.blas import one_thread
from streamnb.solving.label_axes import LabelAxes, check_pairs
from streamnb.solving.least_squares import LeastSquaresPath
from streamnb.stats.class_stats import ClassStats
from streamnb.training.conjugate import ConjugateGradients, LeastSquaresMethod, Solved
from streamnb.training.data import TrainingData
from streamnb.training.descent import Penalties, Visit
from streamnb.training.method import Reads, Trainer
from streamnb.training.objectives import Objective
from streamnb.training.reading import FactoredWeights, JudgedWeights

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
        if needed > (may := memory.allowed(limit)):
            what = f"{most:,} components of {n_rows:,} labels, and weights of these by {n_features:,} features,"
            cure = "give a larger memory_limit, or take fewer n_components, labels or features (snb.FeatureSelector)"
            memory.refuse(what, needed, may, cure)

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
        return Solved(data.task, whole, of_labels(weights * scale, axes))


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

    def reads(self) -> Reads:
        """Conjugate gradients, whose judged and final weights are expanded to all labels."""
        inner, sums = super().reads(), None
        while True:
            try:
                task, judged = inner.send(sums)
            except StopIteration as end:
                whole = FactoredWeights(end.value.weights, self._axes.axes, self._axes.base)
                return replace(end.value, weights=whole.expanded())
            sums = yield task, of_labels(judged, self._axes) if isinstance(judged, np.ndarray) else None
