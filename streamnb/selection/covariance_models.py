"""All models of a grid of shrinkages, which score rows together."""

from typing import Any

import numpy as np

from streamnb.core import memory, persistence
from streamnb.core.blas import one_thread
from streamnb.models.covariance import tiles
from streamnb.models.grid_weights import DOUBLE
from streamnb.rows.chunk import Chunk
from streamnb.solving.covariance_path import CovariancePath

AT_ONCE = 1 << 19  # numbers that are squared
CURE = "take fewer shrinkages, folds or features, or covariance='pooled'"


class CovarianceModels:
    """All models of a `CovariancePath`, as `GridModels` are those of a `WeightPath`.

    Models with the same a share the directions in which rows are taken, and those of all g cost a product more.

    Attributes
    ----------
    singular : (G,) bool
        Points where a covariance has no inverse: their margins are 0.
    """

    decider = apart = None
    by_columns = False

    def __init__(self, path: CovariancePath):
        self.shell, known = path.shell(), path.covariances
        self.shape = len(path), path.n_rows
        self._kept, self._centre, self._log_priors = known.kept, known.centre[known.kept], path.log_priors
        self._apart = known.means[:, known.kept] - self._centre
        needed = 8 * len({a for a, _ in path.points}) * len(known.means) * len(known.kept) ** 2
        if needed > (limit := memory.allowed(None)):
            memory.refuse(f"directions of {len(path)} shrinkages of {len(known.means)} classes", needed, limit, CURE)
        self._bases = list(known.bases(path.points))
        self._side_by_side = {
            basis.points[0]: (
                np.ascontiguousarray(basis.axes.transpose(1, 0, 2).reshape(len(known.kept), -1)),
                np.einsum("kj,kjm->km", self._apart, basis.axes).reshape(-1),
            )
            for basis in self._bases
            if len(basis.axes) > 1
        }
        self.singular = np.zeros(len(path), bool)
        for basis in self._bases:
            self.singular[basis.points] = np.isnan(basis.inverse).any(axis=(0, 1))

    @property
    def nbytes(self) -> int:
        """Of what is kept ready."""
        return sum(part.nbytes for basis in self._bases for part in basis[1:])

    def digest(self) -> str:
        """Tells these models from others."""
        arrays = [part for basis in self._bases for part in basis[1:]]
        return persistence.digest([self.shell, self._log_priors, self._apart, *arrays])

    def room(self, n_rows: int) -> np.ndarray:
        """Where margins of so many rows find room, again and again."""
        return np.zeros((n_rows, self.shape[1], DOUBLE.room(self.shape[0])))

    def margins(self, chunk: Chunk, rows: np.ndarray, room: np.ndarray) -> np.ndarray:
        """Margins of some rows of a prepared block, (len(rows), R, width): the first G of these are those of points."""
        (n_points, n_rows), out = self.shape, room[: len(rows)]
        with one_thread():
            for some, x in tiles(chunk, rows):
                joint = self._joint(x[:, self._kept] - self._centre)[: some.stop - some.start]
                out[some, :, :n_points] = joint if n_rows > 1 else joint[:, 1:] - joint[:, :1]
        return out

    def _joint(self, x: np.ndarray) -> np.ndarray:
        """ln P(y) + ln p(x | y) of rows less the mean of all, up to what is the row's, (n_rows, K, G)."""
        joint = np.empty((len(x), len(self._apart), self.shape[0]))
        for basis in self._bases:
            of_points = self._linear(x, basis) if len(basis.axes) == 1 else self._quadratic(x, basis)
            joint[:, :, basis.points] = of_points
        joint[:, :, self.singular] = 0.0
        joint += self._log_priors[:, None]
        return joint

    def _linear(self, x: np.ndarray, basis: Any) -> np.ndarray:
        z, means = x @ basis.axes[0], self._apart @ basis.axes[0]
        weights = means[:, :, None] * basis.inverse[0]  # (K, n, P)
        scores = z @ weights.transpose(1, 0, 2).reshape(len(basis.axes[0]), -1)
        return scores.reshape(len(x), *weights.shape[::2]) - np.einsum("kj,kjp->kp", means, weights) / 2.0

    def _quadratic(self, x: np.ndarray, basis: Any) -> np.ndarray:
        (n_classes, n), (axes, middles) = self._apart.shape, self._side_by_side[basis.points[0]]
        out = np.empty((n_classes, len(x), len(basis.points)))
        step = max(AT_ONCE // x.size, 1)
        for first in range(0, n_classes, step):
            some = slice(first, first + step)
            columns = slice(n * first, n * (first + step))
            z = x @ axes[:, columns]
            z -= middles[columns]
            z *= z
            np.matmul(z.reshape(len(x), -1, n).transpose(1, 0, 2), basis.inverse[some], out=out[some])
        out += basis.log_dets[:, None]
        out /= -2.0
        return out.transpose(1, 0, 2)
