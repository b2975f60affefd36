"""Ridge regression on class indicators from sums of products, for any number of penalties."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from streamnb.core.threads import one_thread
from streamnb.stats.class_stats import ClassStats
from streamnb.stats.second_moments import scatter_of_varying
from streamnb.stats.totals import whole


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
