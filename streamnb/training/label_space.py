"""Least squares to the main components of labels, in the form in which models of rows are trained and judged.

With the axes V of the labels (`LabelAxes`) the weights are ``W = A V``, A (n_features, M) those of the components
``V y``: as least squares is linear in what it goes to, ``A = W_all V'``, W_all the weights for each label by itself.
"""

from collections.abc import Generator
from dataclasses import replace
from typing import Any

import numpy as np

from streamnb.core.blas import one_thread
from streamnb.solving.label_axes import LabelAxes
from streamnb.training.conjugate import ConjugateGradients
from streamnb.training.descent import Penalties, Visit
from streamnb.training.fitting import Reads, Trained, Trainer
from streamnb.training.objectives import RowSums
from streamnb.training.reading import FactoredWeights, JudgedWeights, ReadTask


def of_labels(weights: np.ndarray, axes: LabelAxes) -> JudgedWeights:
    """Weights of all labels, of those of their components (n_features + 1, M): a product where that is smaller."""
    product = FactoredWeights(weights, axes.axes, axes.base)
    return product if len(axes.scatter) < len(axes.base) else product.expanded()


class ComponentsByProducts(Trainer):
    """Where conjugate gradients to the components would end, as sums of products tell it.

    Parameters
    ----------
    weights : (n_features + 1, M)
        Of the components, as rows want them that were scaled.
    """

    held = 3  # the weights of all labels, of components, and those judged

    def __init__(self, task: ReadTask, weights: np.ndarray, scale: Any, axes: LabelAxes):
        self.task, self._weights, self._axes = task, weights, axes
        self._scale = np.ones(1) if scale is None else np.append(scale, 1.0)[:, None]
        self._history, self._descent = {name: [] for name in ("objective", "gradient_norm", "seconds")}, None

    def reads(self, tol: float, max_passes: int, towards: np.ndarray | None = None) -> Reads:
        """None but that which judges."""
        yield None, of_labels(self._weights * self._scale, self._axes)
        weights = FactoredWeights(self._weights, self._axes.axes, self._axes.base).expanded()
        return Trained(weights, True, 0.0, {name: np.array(column) for name, column in self._history.items()})


class ComponentsByGradients(ConjugateGradients):
    """Conjugate gradients to the components of labels: a read brings all of them a step."""

    def __init__(self, task: ReadTask, sums: RowSums, scale: Any, penalties: Penalties, axes: LabelAxes):
        with one_thread():
            own = (sums.own - np.outer(sums.whole, sums.share)) @ axes.axes.T
        n_axes = len(axes.scatter)
        of_components = replace(sums, own=own, own_weight=np.full(n_axes, sums.weight))
        start = replace(task, weights=np.zeros((len(task.weights), n_axes)))
        super().__init__(start, of_components, scale, penalties)
        self._axes = axes

    def _start(self) -> Visit:
        """Weights of 0; components are about their means, and have no intercepts there."""
        point, gradient = np.zeros((2, *self._memory.scale.shape))
        gradient[:-1] = -self.task.objective.slope * self._sums.own
        gradient *= self._factors
        return Visit(point, 2.0 * float(self._axes.scatter.sum()), gradient, gradient)

    def reads(self, tol: float, max_passes: int, towards: np.ndarray | None = None) -> Generator[Any, Any, Trained]:
        """As conjugate gradients; judged are, and in the end there are, the weights of all labels."""
        inner, sums = super().reads(tol, max_passes), None
        while True:
            try:
                task, judged = inner.send(sums)
            except StopIteration as end:
                whole = FactoredWeights(end.value.weights, self._axes.axes, self._axes.base)
                return replace(end.value, weights=whole.expanded())
            sums = yield task, of_labels(judged, self._axes) if isinstance(judged, np.ndarray) else None
