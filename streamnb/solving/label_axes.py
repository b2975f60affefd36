"""The principal directions of the label matrix."""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh
from scipy.sparse.linalg import LinearOperator, eigsh

from streamnb.core import memory
from streamnb.core.threads import one_thread
from streamnb.stats.class_stats import ClassStats
from streamnb.stats.moments import LABELS
from streamnb.stats.sparse_tables import as_scipy

CONSTANT = 1e-12  # relative to its weight: a label that varies less is in all rows or in none

FEW = 10  # ratio of labels to axes from which on axes are computed iteratively


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
