"""The space of labels: the few directions in which the labels of rows vary most, and with each other."""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh

from streamnb.core.blas import one_thread
from streamnb.stats.class_stats import ClassStats
from streamnb.stats.moments import LABELS

CONSTANT = 1e-12  # of its weight, what a label varies by that is in all rows or in none, but for rounding


@dataclass(frozen=True, eq=False)
class LabelAxes:
    """The top eigenvectors of ``C = Q - c c' / N``, Q the weights of rows that bear each two labels.

    C is the scatter of the rows of an indicator about their mean; F. Tai and H.-T. Lin, Multilabel classification with
    principal label space transformation, Neural Computation 24 (2012), about the mean.

    Attributes
    ----------
    axes : (M, L), orthonormal, those of the largest variance first
    scatter : (M,), eigenvalues
    base : (L,)
        2 c / N - 1, the mean of labels that are 1 or -1.
    """

    axes: np.ndarray
    scatter: np.ndarray
    base: np.ndarray

    @classmethod
    def of(cls, stats: ClassStats, n_axes: int) -> "LabelAxes":
        """So many axes of the labels of these rows.

        Raises
        ------
        ValueError
            No label tells rows apart.
        """
        own, weight = stats.weight, stats.total_weight
        scatter = stats.tables[LABELS].dense().value() - np.outer(own, own / weight)
        n_labels = len(own)
        if not (scatter.diagonal() > CONSTANT * weight).any():
            raise ValueError(
                f"y says nothing of rows: each of its {n_labels} labels is in all of them or in none; a label should "
                "be in some rows"
            )
        with one_thread():
            values, vectors = eigh(scatter, subset_by_index=[n_labels - n_axes, n_labels - 1])
        axes = np.ascontiguousarray(vectors[:, ::-1].T)
        return cls(axes, np.maximum(values[::-1], 0.0), 2.0 * own / weight - 1.0)

    def first(self, n_axes: int) -> "LabelAxes":
        """The first of them."""
        return LabelAxes(self.axes[:n_axes], self.scatter[:n_axes], self.base)
