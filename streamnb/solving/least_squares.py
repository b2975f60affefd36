"""Ridge regression on class indicators from sums of products, and the principal directions of the label matrix."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, eigh
from scipy.sparse.linalg import LinearOperator, eigsh

from streamnb.core import memory
from streamnb.core.threads import one_thread
from streamnb.stats.class_stats import ClassStats
from streamnb.stats.moment_sums import LABELS
from streamnb.stats.second_moments import scatter_of_varying
from streamnb.stats.tables import as_scipy
from streamnb.stats.totals import whole

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
