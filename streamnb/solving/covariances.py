"""Class covariances from sums of products, shrunk at every grid point, and bases for distances by them."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import compress
from typing import NamedTuple

import numpy as np

from streamnb.core.threads import one_thread
from streamnb.problem.points import LEDOIT_WOLF, Point
from streamnb.solving import ledoit_wolf
from streamnb.solving.tridiagonal import factors, ratios, turned
from streamnb.stats.class_stats import ClassStats
from streamnb.stats.dense_tables import PooledTable
from streamnb.stats.second_moments import CONSTANT, scatter, scatter_of_all

SINGULAR = 1e-13  # relative to the largest eigenvalue, for each feature
FACTORS = 128  # rows for which factors cost as much as eigenvalues, for a point and a product of two features
STEEP = 1e-7  # ratio of eigenvalues below which features of small scale would lose digits


class Basis(NamedTuple):
    """Axes in which the covariances of some grid points are diagonal.

    (x - mu_y)' Sigma_y^-1 (x - mu_y) is the sum of squares of ``z = (x - mu_y) @ axes[y]`` times ``inverse[y, :, p]``;
    with `lower` that of ``y_j = z_j + lower[y, j, p] y_(j-1)``.
    """

    points: list[int]  # the P points of the grid
    axes: np.ndarray  # (K, n, n), (1, n, n) if all classes share one covariance
    inverse: np.ndarray  # (K or 1, n, P)
    log_dets: np.ndarray  # (K or 1, P)
    lower: np.ndarray | None = None  # (K, n, P)


@dataclass(frozen=True, eq=False)
class Covariances:
    """Means and covariances of classes, from statistics with products of features.

    Attributes
    ----------
    means : (K, n_features)
        0 for classes without rows.
    kept : (n,) numbers of the features that are not constant
    """

    stats: ClassStats

    @cached_property
    def seen(self) -> np.ndarray:
        """True for classes with rows, (K,)."""
        return self.stats.weight > 0.0

    @cached_property
    def means(self) -> np.ndarray:
        return self.stats.sum / np.where(self.seen, self.stats.weight, 1.0)[:, None]

    @cached_property
    def centre(self) -> np.ndarray:
        """The mean of all rows, (n_features,)."""
        return self.stats.weight @ self.means / self.stats.weight.sum()

    @cached_property
    def own(self) -> np.ndarray:
        """Covariances of each class about its mean, (K, n_features, n_features)."""
        if isinstance(self.stats.table("gram"), PooledTable):
            raise ValueError(
                "these statistics hold products of all classes together, which have no covariance of each; scan with "
                "pooled=False, or take covariance='pooled'"
            )
        return scatter(self.stats) / np.where(self.seen, self.stats.weight, 1.0)[:, None, None]

    @cached_property
    def _own_kept(self) -> np.ndarray:
        """The same for the kept features; a class without rows gets the pooled covariance."""
        found = self.own[:, self.kept[:, None], self.kept]
        found[~self.seen] = self.common[np.ix_(self.kept, self.kept)]
        return found

    @cached_property
    def common(self) -> np.ndarray:
        """The pooled covariance within classes, (n_features, n_features)."""
        weight = self.stats.weight
        if not isinstance(self.stats.table("gram"), PooledTable):
            return np.tensordot(weight, self.own, 1) / weight.sum()
        apart = self.means[self.seen] - self.centre
        return (scatter_of_all(self.stats) - (apart * weight[self.seen, None]).T @ apart) / weight.sum()

    @cached_property
    def kept(self) -> np.ndarray:
        weight = self.stats.weight
        within = self.common.diagonal()
        between = weight @ (np.where(self.seen[:, None], self.means - self.centre, 0.0) ** 2) / weight.sum()
        squares = between + within + self.centre**2
        return np.flatnonzero(between + np.maximum(within, 0.0) > CONSTANT * squares)

    def bases(self, points: tuple[Point, ...], factored: bool = False) -> Iterator[Basis]:
        """Return bases for all points; points with the same a share one.

        If `factored`, covariances may be tridiagonal in these axes where that is faster.
        """
        for a in dict.fromkeys(a for a, _ in points):
            numbers = [i for i, point in enumerate(points) if point[0] == a]
            with one_thread():
                matrices = self._mixed(a)
                g = [self._spheres(a) if points[i][1] == LEDOIT_WOLF else points[i][1] for i in numbers]
                each = np.stack([np.broadcast_to(v, len(matrices)) for v in g], axis=1)
                # of few rows, factors for each row cost less than eigenvalues
                few = bool(len(g) * self.stats.n_rows < FACTORS * len(self.kept) ** 2)
                yield from _bases(matrices, numbers, each, factored and a < 1.0 and few)

    def _mixed(self, a: float) -> np.ndarray:
        """Return (1 - a) own + a pooled for the kept features, (K or 1, n, n)."""
        kept = np.ix_(self.kept, self.kept)
        common = self.common[kept]
        if a == 1.0:
            return common[None]
        return (1.0 - a) * self._own_kept + a * common

    def _spheres(self, a: float) -> np.ndarray:
        """Return the Ledoit-Wolf shrinkage, (K or 1,); a class without rows gets that of all rows."""
        kept, weight = np.ix_(self.kept, self.kept), self.stats.weight
        fourth = ledoit_wolf.fourth_powers(self.stats)
        common = ledoit_wolf.intensity(self.common[kept], fourth.sum(axis=0)[kept], weight.sum())
        if a == 1.0:
            return np.array([common])
        each = zip(self.own, fourth, weight, self.seen, strict=True)
        return np.array([ledoit_wolf.intensity(m[kept], f[kept], w) if seen else common for m, f, w, seen in each])

    def refuse_singular(self, point: Point) -> None:
        """Raise an error that names the singular covariance and the shrinkage that would help."""
        a, g = point
        which, more = "pooled over the classes", ""
        why = "features are functions of others within the classes, or there are fewer rows than features"
        if a < 1.0:
            matrices = self._mixed(a)
            k = next(k for k, m in enumerate(matrices) if np.isnan(_of_correlations(m[None], [0]).inverse).any())
            n_rows, n = int(self.stats.rows[k]), len(self.kept)
            more = ", or a larger a, which takes more of the covariance of all classes"
            which = f"of class {self.stats.classes[k].item()!r}"
            why = f"it has {n_rows:,} {'row' if n_rows == 1 else 'rows'} for {n:,} features, or some depend on others"
        raise ValueError(
            f"the covariance {which} has no inverse: {why}; shrinkage={(a, g)!r} should have a larger g, such as "
            f"({a:g}, 0.01){more}"
        )


def _bases(matrices: np.ndarray, numbers: list[int], g: np.ndarray, factored: bool) -> Iterator[Basis]:
    """Return bases of matrices (K, n, n) for points with g (K, P); tridiagonal ones if `factored` allows."""
    n = matrices.shape[1]
    if n == 0:  # all features are constant
        yield Basis(numbers, matrices, np.zeros((len(matrices), 0, g.shape[1])), np.zeros(g.shape))
        return
    regular = (g > max(STEEP, SINGULAR * n * n)).all(axis=0)  # invertible whatever the eigenvalues are
    if (matrices.trace(axis1=1, axis2=2) <= 0.0).any():
        regular[:] = False
    if len(numbers) == 1 and regular.all() and (alone := _of_one(matrices, numbers, g)) is not None:
        yield alone
        return
    if factored:
        axes, diagonals, off_diagonals = turned(matrices)
        if not regular.all() and not (ratios(diagonals, off_diagonals) < STEEP).any():
            regular[:] = True
        lower, inverse = factors(diagonals, off_diagonals, g[:, regular])
        if not ((inverse > 0.0) & (inverse < np.inf)).all():  # rounding made the matrix indefinite
            regular[:] = False
        if regular.any():
            yield Basis(list(compress(numbers, regular)), axes, inverse, -np.log(inverse).sum(axis=1), lower)
        numbers, g = list(compress(numbers, ~regular)), g[:, ~regular]
        if not numbers:
            return
    values, axes = np.linalg.eigh(matrices)
    values = np.maximum(values, 0.0)
    plain = (g == 0.0).all(axis=0)
    if plain.any() and (values[:, 0] < STEEP * values[:, -1]).any():  # scales differ: correlations keep more digits
        yield _of_correlations(matrices, [i for i, p in zip(numbers, plain, strict=True) if p])
        numbers, g = [i for i, p in zip(numbers, plain, strict=True) if not p], g[:, ~plain]
    if not numbers:
        return
    shrunk = values[:, :, None] * (1.0 - g[:, None]) + g[:, None] * values.mean(axis=1)[:, None, None]
    usable = (shrunk > SINGULAR * n * shrunk.max(axis=1, keepdims=True)).all(axis=(0, 1))
    with np.errstate(divide="ignore"):
        inverse = np.where(usable, 1.0 / shrunk, np.nan)
        yield Basis(numbers, axes, inverse, np.log(shrunk).sum(axis=1))


def _of_one(matrices: np.ndarray, numbers: list[int], g: np.ndarray) -> Basis | None:
    """Return the basis of one point by Cholesky factors, at a fifth of the cost of eigenvectors; None if singular."""
    n = matrices.shape[1]
    shrunk = (1.0 - g[:, :, None]) * matrices
    shrunk[:, range(n), range(n)] += g * matrices.trace(axis1=1, axis2=2)[:, None] / n
    try:
        inverse = np.linalg.inv(np.linalg.cholesky(shrunk))
    except np.linalg.LinAlgError:  # rounding made the matrix indefinite
        return None
    log_dets = -2.0 * np.log(inverse.diagonal(axis1=1, axis2=2)).sum(axis=1)
    return Basis(numbers, inverse.transpose(0, 2, 1), np.ones((len(matrices), n, 1)), log_dets[:, None])


def _of_correlations(matrices: np.ndarray, numbers: list[int]) -> Basis:
    """Return the basis for g = 0 by correlations; inverses are NaN for singular matrices."""
    n = matrices.shape[1]
    axes, inverse, log_dets = np.zeros_like(matrices), np.full((len(matrices), n), np.nan), np.zeros(len(matrices))
    for k, matrix in enumerate(matrices):
        sizes = np.sqrt(np.maximum(matrix.diagonal(), 0.0))
        if not (sizes > 0.0).all():
            continue
        values, axes[k] = np.linalg.eigh(matrix / sizes / sizes[:, None])
        axes[k] /= sizes[:, None]
        if values[0] > SINGULAR * n * values[-1]:
            inverse[k], log_dets[k] = 1.0 / values, np.log(values).sum() + 2.0 * np.log(sizes).sum()
    if np.isnan(inverse).any():
        inverse[:] = np.nan
    return Basis(
        numbers, axes, np.repeat(inverse[:, :, None], len(numbers), 2), np.repeat(log_dets[:, None], len(numbers), 1)
    )
