"""Models of normal rows: covariances of classes, shrunk at every point of a grid, or variances of each class."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import compress
from operator import index
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg.lapack import dorgqr, dsterf, dsytrd

from streamnb.core import arguments, messages, persistence
from streamnb.core.threads import one_thread
from streamnb.encoding.learning import check_applied
from streamnb.models.linear import LinearModel
from streamnb.models.quadratic import CovarianceModel, QuadraticModel
from streamnb.problem.families import Gaussian
from streamnb.problem.family import Family
from streamnb.problem.points import LEDOIT_WOLF, Point
from streamnb.problem.schemes import Scheme, as_scheme
from streamnb.problem.smoothing import log_class_priors
from streamnb.stats.class_stats import ClassStats
from streamnb.stats.second_moments import CONSTANT, scatter, scatter_of_all, unpacked
from streamnb.stats.tables import PooledTable

LOST = 1e10  # ratio of the terms to the fourth powers about the mean at which digits no longer suffice
BLOCK = 32  # columns per block of reflections
SINGULAR = 1e-13  # relative to the largest eigenvalue, for each feature
FACTORS = 128  # rows for which factors cost as much as eigenvalues, for a point and a product of two features
STEEP = 1e-7  # ratio of eigenvalues below which features of small scale would lose digits


def fourth_powers(stats: ClassStats, together: bool = False) -> np.ndarray:
    """Return sums of ``w (x_i - m_i)^2 (x_j - m_j)^2`` about the mean m of each class, or of all rows, (K or 1, n, n).

    The statistics need the moments "sum" and "gram_sq".
    """
    table = stats.table("gram_sq")
    if isinstance(table, PooledTable):
        raise ValueError("shrinkage by Ledoit and Wolf needs products of each class; scan with pooled=False")
    sums, weight = (_long(stats.tables[name].dense()) for name in ("sum", "weight"))
    products = _long(table)
    if together:
        sums, weight, products = (part.sum(axis=0, keepdims=True) for part in (sums, weight, products))
    found = np.zeros((len(sums), stats.n_features, stats.n_features))
    for k in np.flatnonzero(weight[:, 0] > 0.0):
        found[k] = _about_mean(sums[k], weight[k, 0], unpacked(products[k]))
    return found


def _long(table: Any) -> np.ndarray:
    """Return sums in extended precision."""
    total = table.hi.astype(np.longdouble)
    return total if table.lo is None else total + table.lo.astype(np.longdouble).sum(axis=0)


def _about_mean(total: np.ndarray, weight: np.floating, products: np.ndarray) -> np.ndarray:
    n, mean = len(total), total / weight
    plain, mixed, squares = products[:n, :n], products[n:, :n], products[n:, n:]  # x_i x_j, x_i^2 x_j, x_i^2 x_j^2
    one_side = mean**2 * plain.diagonal()[:, None] - 2.0 * mean * mixed - 2.0 * np.outer(mean, mean**2) * total[:, None]
    both = 4.0 * np.outer(mean, mean) * plain + np.outer(mean**2, mean**2) * weight
    found = squares + one_side + one_side.T + both
    if (squares.diagonal() > LOST * found.diagonal())[found.diagonal() > 0.0].any():
        raise ValueError(
            "columns lie so far from 0, relative to their spread, that sums of fourth powers leave no digits for "
            "shrinkage by Ledoit and Wolf; subtract a constant from these columns, or give shrinkage as a number"
        )
    return np.maximum(found, 0.0).astype(np.float64)


def intensity(covariance: np.ndarray, fourth: np.ndarray, weight: float) -> float:
    """Return g of ``(1 - g) S + g (tr S / n) I`` with the least expected distance from the true covariance.

    ``g = min(b, d) / d``, ``d = |S - (tr S / n) I|^2``, ``b = sum_i |x_i x_i' - S|^2 / N^2`` of rows about their mean
    (Ledoit and Wolf 2004, A well-conditioned estimator for large-dimensional covariance matrices).
    """
    n = len(covariance)
    if n < 2 or weight <= 0.0:
        return 0.0
    squares = (covariance**2).sum()
    distance = squares - covariance.trace() ** 2 / n
    noise = min((fourth.sum() / weight - squares) / weight, distance)
    return float(noise / distance) if noise > 0.0 else 0.0


def drawn(covariance: np.ndarray, g: float) -> np.ndarray:
    """Return (1 - g) S + g (tr S / n) I."""
    return (1.0 - g) * covariance + g * covariance.trace() / len(covariance) * np.eye(len(covariance))


def shrunk(stats: ClassStats, covariances: np.ndarray, shrinkage: Any, together: bool = False) -> np.ndarray:
    """Shrink covariances of the classes (K, n, n), or of all rows `together` (1, n, n), as scikit-learn does.

    A number is g; "auto" computes g for columns scaled to variance 1; None and "empirical" do not shrink.
    """
    if shrinkage is None or shrinkage == "empirical":
        return covariances
    if shrinkage != "auto":
        return np.stack([drawn(own, shrinkage) for own in covariances])
    weights, found = stats.weight.sum(keepdims=True) if together else stats.weight, []
    for own, fourth, weight in zip(covariances, fourth_powers(stats, together), weights, strict=True):
        sizes = np.sqrt(np.maximum(own.diagonal(), 0.0))
        sizes[sizes == 0.0] = 1.0
        scales = np.outer(sizes, sizes)
        standard = own / scales
        found.append(drawn(standard, intensity(standard, fourth / scales**2, weight)) * scales)
    return np.stack(found)


def turned(matrices: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return Q, diagonals and off-diagonals of T = Q' M Q for matrices M (K, n, n): (K, n, n), (K, n) and (K, n - 1).

    Householder reflections cost a tenth of eigenvectors; a third for large matrices.
    """
    n_classes, n, _ = matrices.shape
    axes, diagonals, off_diagonals = np.zeros_like(matrices), np.empty((n_classes, n)), np.empty((n_classes, n - 1))
    axes[:, 0, 0] = 1.0
    for k, matrix in enumerate(matrices):
        reflections, diagonals[k], off_diagonals[k], scales, _ = dsytrd(matrix.T, lower=1, lwork=BLOCK * n)
        axes[k, 1:, 1:] = dorgqr(reflections[1:, :-1], scales, lwork=BLOCK * n)[0]
    return axes, diagonals, off_diagonals


def ratios(diagonals: np.ndarray, off_diagonals: np.ndarray) -> np.ndarray:
    """Return the ratio of the smallest to the largest eigenvalue, (K,); 0 if none is positive."""
    if diagonals.shape[1] == 1:
        return np.where(diagonals[:, 0] > 0.0, 1.0, 0.0)
    values = [dsterf(*pair)[0] for pair in zip(diagonals, off_diagonals, strict=True)]
    return np.array([own[0] / own[-1] if own[-1] > 0.0 else 0.0 for own in values])


def factors(diagonals: np.ndarray, off_diagonals: np.ndarray, g: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return off-diagonals of -L, and 1 / D, (K, n, P): ``(1 - g) T + g (tr T / n) I = L D L'`` at points g (K, P)."""
    n, less, more = diagonals.shape[1], 1.0 - g, g * diagonals.mean(axis=1, keepdims=True)
    lower, inverse = np.zeros((2, n, *g.shape))
    with np.errstate(divide="ignore", invalid="ignore"):
        np.divide(1.0, less * diagonals[:, :1] + more, out=inverse[0])
        for j in range(1, n):
            beside = less * off_diagonals[:, j - 1, None]
            np.multiply(beside, inverse[j - 1], out=lower[j])
            np.divide(1.0, less * diagonals[:, j, None] + more - lower[j] * beside, out=inverse[j])
    return -lower.transpose(1, 0, 2), inverse.transpose(1, 0, 2)


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
                "pooled=False, or use covariance='pooled'"
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
        fourth = fourth_powers(self.stats)
        common = intensity(self.common[kept], fourth.sum(axis=0)[kept], weight.sum())
        if a == 1.0:
            return np.array([common])
        each = zip(self.own, fourth, weight, self.seen, strict=True)
        return np.array([intensity(m[kept], f[kept], w) if seen else common for m, f, w, seen in each])

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


def is_own(family: Family) -> bool:
    """Return whether each class has its own variances; raise an error if other families are mixed in."""
    own = [isinstance(member, Gaussian) and member.covariance == "own" for member in family.members]
    if any(own) and family.members != (family,):
        raise ValueError(f"family={family!r} mixes linear scores and quadratic ones: covariance='own' stands alone")
    return any(own)


class QuadraticPath:
    """The one model of Gaussian features with variances of each class, with the interface of `WeightPath`.

    Attributes
    ----------
    grid : list with one empty point
    n_features, n_features_per_class, saturated, residuals
        As for a `WeightPath` of one point; no feature is left out.
    """

    penalty = None

    def __init__(self, stats: ClassStats, family: Any, scheme: Scheme, options: dict[str, Any]):
        self._stats, self._family, self._scheme = stats, family, scheme
        self._log_priors = log_class_priors(options.get("priors"), stats, options.get("estimate", "posterior_mean"))
        self.grid: list[dict[str, Any]] = [{}]
        self.n_rows = scheme.n_rows(len(stats.classes))
        self.n_features = np.array([stats.n_features])
        self.n_features_per_class = np.full((1, self.n_rows), stats.n_features)
        self.saturated, self.residuals = np.zeros(1, np.int64), np.zeros(1)

    def __len__(self) -> int:
        return 1

    def __repr__(self) -> str:
        return f"<QuadraticPath: 1 model of {self._family!r}>"

    def __getitem__(self, i: int) -> QuadraticModel:
        if not -1 <= i < 1:
            raise IndexError(f"the path has 1 point; {i} is not one of them")
        stats = self._stats
        weight = stats.weight
        share = weight / weight.sum()
        counts = np.where(weight > 0, weight, 1.0)[:, None]
        means, within = stats.sum / counts, stats.scatter() / counts
        largest = float((share @ (within + (means - share @ means) ** 2)).max())
        variance = within + self._family.var_smoothing * largest
        common = {"classes_": stats.classes, "scheme": self._scheme, "options": stats.options}
        common["privacy_"] = stats.privacy
        return QuadraticModel.of(means, variance, self._log_priors, largest, **common)

    def shell(self) -> QuadraticModel:
        """Return the model."""
        return self[0]

    @property
    def intercepts(self) -> np.ndarray:
        """Intercepts of the model, (K,)."""
        return self[0].intercept_

    def breakpoints(self, *_: Any) -> np.ndarray:
        """Raise an error: no tau leaves a feature out."""
        raise ValueError("weights, and rankings or plots of them, need linear scores; use family='gaussian'")

    weights = by_columns = breakpoints


@persistence.register
class CovariancePath:
    """The models of all shrinkages (a, g) of a `Gaussian` with covariances; none is kept.

    Attributes
    ----------
    grid : list of dict
        The points, such as ``{"a": 0.2, "g": 0.01}``, with the "map" of the columns if the family has one.
    n_features, n_features_per_class : (G,) and (G, R) int
        Number of features that are not constant.
    """

    penalty = None

    def __init__(self, stats: ClassStats, family: Family, scheme: Scheme, priors: Any, options: dict[str, Any]):
        self.stats, self.family, self.scheme, self.asked = stats, family, scheme, options
        self.points = family.points
        mapped = {"map": family.map_names[0]} if family.map_names else {}
        self.grid: list[dict[str, Any]] = [{**mapped, "a": a, "g": g} for a, g in self.points]
        self.covariances, self.n_rows = Covariances(stats), scheme.n_rows(len(stats.classes))
        self.log_priors = log_class_priors(priors, stats, options.get("estimate", "posterior_mean"))

    def __len__(self) -> int:
        return len(self.grid)

    def __repr__(self) -> str:
        return f"<CovariancePath: {len(self):,} models of {self.family!r}, {self.scheme.name}>"

    @property
    def n_features(self) -> np.ndarray:
        return np.full(len(self), len(self.covariances.kept))

    @property
    def n_features_per_class(self) -> np.ndarray:
        return np.full((len(self), self.n_rows), len(self.covariances.kept))

    @property
    def saturated(self) -> np.ndarray:
        """0 for every point, as no branch of solutions ends."""
        return np.zeros(len(self), np.int64)

    def shell(self) -> LinearModel:
        """Return a model without weights: the transforms of rows and the meaning of scores."""
        nothing = np.zeros((self.stats.n_features, 0))
        return LinearModel(self.stats.classes, nothing, np.zeros(0), self.scheme, self.stats.options)

    def __getitem__(self, i: int) -> CovarianceModel:
        point = self.points[index(i)]
        (basis,) = self.covariances.bases((point,))
        if np.isnan(basis.inverse).any():
            self.covariances.refuse_singular(point)
        return self._model(basis)

    def _model(self, basis: Basis) -> CovarianceModel:
        known, n_classes = self.covariances, len(self.stats.classes)
        kept, n = known.kept, self.stats.n_features
        roots = np.zeros((len(basis.axes), n, n))
        roots[:, kept[:, None], kept] = basis.axes * np.sqrt(basis.inverse[:, None, :, 0])
        log_dets = np.broadcast_to(basis.log_dets[:, 0], n_classes).copy()
        offsets = self.log_priors - log_dets / 2.0
        linear = len(roots) == 1
        weights, halves = _at_point(known.means, known.centre, roots[0], n_classes == 2)
        weights[:, ~known.seen if n_classes > 2 else np.full(1, not known.seen.all())] = 0.0
        intercept = offsets if n_classes > 2 else np.array([_difference(*offsets[::-1])])
        if linear:
            intercept = intercept - np.where(np.isfinite(intercept), halves, 0.0)
        return CovarianceModel(
            self.stats.classes,
            weights if linear else np.zeros_like(weights),
            intercept,
            self.scheme,
            self.stats.options,
            privacy_=self.stats.privacy,
            means=known.means,
            roots=roots,
            log_dets=log_dets,
        )

    def save(self, path: Any) -> None:
        """Write statistics and family to one file, from which `snb.load` makes the same models."""
        persistence.save(path, self)

    def _to_state(self) -> dict[str, Any]:
        options = {"priors": self.asked.get("priors"), "estimate": self.asked.get("estimate", "posterior_mean")}
        return {"stats": self.stats, "family": self.family, **options}

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> Any:
        kinds = {"stats": ClassStats, "family": Family, "priors": Any, "estimate": Any}
        stats, family, priors, estimate = persistence.parts(cls, state, **kinds)
        if not family.covariant:
            raise ValueError("a path of covariances should have a family with covariances")
        options = {"priors": priors, "estimate": estimate}
        return covariance_path(stats, family, as_scheme("joint", stats.classes, None, stats.multilabel), options)


def _at_point(means: np.ndarray, centre: np.ndarray, root: np.ndarray, two: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return weights (n_features, R) for one covariance, and half their products with sums of means, (R,)."""
    apart = means[1:] - means[:1] if two else means - centre
    sums = means[1:] + means[:1] if two else means + centre
    weights = root @ (apart @ root).T
    return np.ascontiguousarray(weights), np.einsum("kj,jk->k", sums, weights) / 2.0


def _difference(a: float, b: float) -> float:
    """Return a - b, where either may be -inf."""
    return 0.0 if a == b else float(a - b)


def covariance_path(stats: ClassStats, family: Family, scheme: Scheme, options: dict[str, Any]) -> CovariancePath:
    """Return the path of a family with covariances; raise an error for options that do not apply to these."""
    if len(family.map_names) > 1:
        n_maps = len(family.map_names)
        raise ValueError(f"family={family!r} has {n_maps} maps, and statistics are of one; give one of them")
    if family.map_names:
        check_applied(family.map_names, stats.options.learned)
    arguments.one_of("estimate", options.get("estimate", "posterior_mean"), ["posterior_mean", "mle"])
    missing = [moment for moment in family.moments if moment not in stats.moments]
    if missing:
        stats.table(missing[0])  # raises the error
    if (stats.weight > 0.0).sum() < 2:
        raise ValueError(f"y holds rows of one class only, {messages.listed(stats.classes[stats.weight > 0.0])}")
    return CovariancePath(stats, family, scheme, options.get("priors"), options)
