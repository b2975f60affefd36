"""Scores rows by all models of a grid of shrinkages, with decisions in single precision where rounding allows."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from streamnb.core import memory, persistence
from streamnb.core.memory import aligned
from streamnb.core.threads import one_thread
from streamnb.kernels import quadratic_forms as forms
from streamnb.kernels.quadratic_forms import DIRECTIONS, TILE_BYTES
from streamnb.models.grid_weights import DOUBLE, SINGLE
from streamnb.problem.schemes import top_class
from streamnb.rows.row_blocks import Chunk, CSRChunk
from streamnb.solving.normal_models import Basis, CovariancePath

TILE, SCREENED = 256, 4096  # rows scored, or decided, at once
CURE = "use fewer shrinkages, folds or features, or covariance='pooled'"
UNIT = 2.0**-24  # unit roundoff of single precision
LARGEST, LONGEST = 2.0**50, 2.0**30  # weights and lengths of rows whose squares do not overflow in single precision
FLATTEST = 1e-8  # smallest eigenvalue of correlations by whose root rows are divided


class CovarianceModels:
    """All models of a `CovariancePath`, like `GridModels` for a `WeightPath`.

    Models with the same a share the directions onto which rows are projected; all their g cost one product more.

    Parameters
    ----------
    path : CovariancePath
    decisions : bool
        Whether only decisions are needed: single precision is then enough for most rows.

    Attributes
    ----------
    singular : (G,) bool
        Points where a covariance has no inverse, so that margins are meaningless.
    """

    apart = None
    by_columns = False

    def __init__(self, path: CovariancePath, decisions: bool = False):
        self.shell, known = path.shell(), path.covariances
        self.shape = len(path), path.n_rows
        self._kept, self._centre = known.kept, known.centre[known.kept]
        n_classes, n = len(known.means), len(known.kept)
        needed = (12 if decisions else 8) * len({a for a, _ in path.points}) * n_classes * n**2
        memory.check(f"directions of {len(path)} shrinkages of {n_classes} classes", needed, None, CURE)
        self.decider = self if decisions else None
        self._parts: list[Scores] = []
        self.singular = np.zeros(len(path), bool)
        with one_thread():
            self._inward, outward = inward(known.common[np.ix_(known.kept, known.kept)])
            about = known.means[:, known.kept] - self._centre, path.log_priors
            for basis in known.bases(path.points, factored=True):
                self._parts.append(Scores.of(basis, *about, outward if decisions else None))
                self.singular[basis.points] = np.isnan(basis.inverse).any(axis=(0, 1))

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays kept for scoring."""
        return sum(array.nbytes for part in self._parts for array in part.form.arrays)

    def digest(self) -> str:
        """A digest that identifies these models."""
        return persistence.digest([self.shell, *(array for part in self._parts for array in part.form.arrays)])

    def buffer(self, n_rows: int) -> np.ndarray:
        """A reusable buffer for the margins of so many rows."""
        return np.zeros((n_rows, self.shape[1], DOUBLE.padded(self.shape[0])))

    def margins(self, chunk: Chunk, rows: np.ndarray, buffer: np.ndarray) -> np.ndarray:
        """Margins of some rows of a prepared block, (len(rows), R, width), of which the first G columns are points."""
        out = buffer[: len(rows)]
        for some, x in self._centred(chunk, rows, TILE):
            for part in self._parts:
                joint = part.scores(x)
                out[some, :, part.points] = joint if self.shape[1] > 1 else joint[:, 1:] - joint[:, :1]
        return out

    def decide(self, chunk: Chunk, rows: np.ndarray, screened: bool) -> np.ndarray:
        """The class with the highest score, the first of several, of some rows at each point, (len(rows), G) padded."""
        n_points, n_classes = self.shape[0], len(self.shell.classes_)
        decided = np.empty((len(rows), SINGLE.padded(n_points)), np.min_scalar_type(n_classes - 1))
        for some, x in self._centred(chunk, rows, SCREENED):
            with one_thread():
                y = ScreenedRows.of(x @ self._inward)
            for part in self._parts:
                if part.screen is None:
                    for first in range(0, len(x), TILE):  # scores stay in the cache
                        tile = slice(some.start + first, min(some.start + first + TILE, some.stop))
                        decided[tile, part.points] = top_class(part.scores(x[first : first + TILE]))
                    continue
                found, certain = part.screen.decided(y)
                again = np.flatnonzero(~certain)
                if len(again):
                    found[again] = top_class(part.scores(x[again]))
                decided[some, part.points] = found
        return decided

    def _centred(self, chunk: Chunk, rows: np.ndarray, n: int) -> Iterator[tuple[slice, np.ndarray]]:
        """Batches of rows, as slices and as values minus the mean of all rows, with a final column of ones."""
        matrix = chunk.to_matrix()
        for first in range(0, len(rows), n):
            some = slice(first, min(first + n, len(rows)))
            values = matrix[rows[some]]
            x = np.ones((some.stop - first, len(self._kept) + 1))
            full = values.toarray() if isinstance(chunk, CSRChunk) else values
            np.subtract(full[:, self._kept], self._centre, out=x[:, :-1])
            yield some, x


# ---- scores at points that share directions --------------------------------------------------------------------------


def columns_of(points: list[int]) -> Any:
    """The points as a slice, which is faster, where they are consecutive, otherwise as an array."""
    first, last = points[0], points[-1] + 1
    return slice(first, last) if points == list(range(first, last)) else np.array(points)


def padded(n: int) -> int:
    """The number of directions, padded to a multiple of DIRECTIONS."""
    return -(-n // DIRECTIONS) * DIRECTIONS


@dataclass(frozen=True, eq=False)
class Form:
    """Parameters of the scores of K classes at P points, laid out for `kernels.quadratic_forms`.

    Attributes
    ----------
    side : (K, m, n + 1)
        Multiplied with centred rows, which end with a 1: the directions of each class, each followed by minus the
        coordinate of the class mean, padded with zeros. Where all classes share one covariance, so that scores are
        linear, the weights to subtract from `offsets`, for each point.
    lower, inverse : (K, P, m)
        Of the factorisation in these directions. Without one `lower` is (K, 0, m) and `inverse` has padded points;
        where scores are linear both are empty.
    offsets : (K, P)
    """

    side: np.ndarray
    lower: np.ndarray
    inverse: np.ndarray
    offsets: np.ndarray

    @classmethod
    def of(cls, basis: Basis, apart: np.ndarray, log_priors: np.ndarray) -> "Form":
        """The form for class means (K, n) minus the mean of all rows."""
        (n_classes, n), n_points = apart.shape, len(basis.points)
        inverse = np.nan_to_num(basis.inverse)
        if len(basis.axes) == 1:
            side, none = np.zeros((n_classes, padded(n_points), n + 1)), np.zeros((n_classes, 0, padded(n_points)))
            means = apart @ basis.axes[0]
            slopes = means[:, :, None] * inverse[0]  # (K, n, P)
            side[:, :n_points, :n] = -np.tensordot(slopes, basis.axes[0], (1, 1))
            side[:, :n_points, n] = np.einsum("kj,kjp->kp", means, slopes) / 2.0
            return cls(side, none, none, np.repeat(log_priors[:, None], n_points, 1))
        m, lone = padded(n), basis.lower is None
        side, lower = np.zeros((n_classes, m, n + 1)), np.zeros((n_classes, 0 if lone else n_points, m))
        side[:, :n, :n] = basis.axes.transpose(0, 2, 1)
        side[:, :n, n] = -(basis.axes.transpose(0, 2, 1) @ apart[:, :, None])[:, :, 0]
        weights = np.zeros((n_classes, padded(n_points) if lone else n_points, m))
        weights[:, :n_points, :n] = inverse.transpose(0, 2, 1) / 2.0
        if basis.lower is not None:
            lower[:, :, :n] = basis.lower.transpose(0, 2, 1)
        return cls(side, lower, weights, log_priors[:, None] - np.nan_to_num(basis.log_dets) / 2.0)

    @property
    def linear(self) -> bool:
        return self.inverse.shape[1] == 0

    @property
    def arrays(self) -> tuple[np.ndarray, ...]:
        """All arrays, in the order of the arguments of kernels."""
        return self.side, self.lower, self.inverse, self.offsets

    def buffers(self) -> tuple[np.ndarray, ...]:
        """Scratch arrays for the kernels."""
        m, lanes = self.side.shape[1], TILE_BYTES // self.side.itemsize
        return tuple(aligned(n, lanes, self.side.dtype) for n in (m, m if self.linear else self.inverse.shape[1]))


@dataclass(frozen=True, eq=False)
class Scores:
    """Scores at points that share directions.

    Attributes
    ----------
    points : the P points of the grid
    form : Form
    screen : Screen or None
    """

    points: Any
    form: Form
    screen: "Screen | None" = None

    @classmethod
    def of(cls, basis: Basis, apart: np.ndarray, log_priors: np.ndarray, outward: np.ndarray | None) -> "Scores":
        """For class means (K, n) minus the mean of all rows; `outward` inverts the transformation of screened rows."""
        form = Form.of(basis, apart, log_priors)
        return cls(columns_of(basis.points), form, None if outward is None else Screen.of(form, outward))

    def scores(self, x: np.ndarray) -> np.ndarray:
        """ln P(y) + ln p(x | y) up to a constant of each row, (n_rows, K, P)."""
        out = np.empty((len(x), *self.form.offsets.shape))
        forms.score(in_tiles(x, np.float64), *self.form.arrays, self.form.buffers(), out)
        return out


@dataclass(frozen=True, eq=False)
class Screen:
    """Scores in single precision, with a bound on rounding errors.

    A sum of n products is off by less than (n + 2) u of the product of the lengths of both factors, to first order in
    u = 2^-24 (Higham 2002, section 3.1); the bound is twice that. Rows are screened in coordinates in which the pooled
    covariance is the identity, and directions have length 1, so that lengths are small whatever the scales of features.
    Factors ``y_j = z_j + l_j y_(j-1)``, where rounding adds 3 u of y_j and 2 u of z_j, amplify errors as computed by
    `kernels.quadratic_forms.growth`. If a root of h is off by r, h is off by at most ``1.5 sqrt(h) r + r^2``, and
    ``2 sqrt(h) <= h / c + c``; c is a typical root for rows of the class.
    """

    form: Form
    bounds: np.ndarray  # (5, K, P), the coefficients of `kernels.quadratic_forms.rank_lanes`

    @classmethod
    def of(cls, form: Form, outward: np.ndarray) -> "Screen | None":
        """The screen of a form in double precision; None where single precision would overflow."""
        n = form.side.shape[2]
        side = (form.side.reshape(-1, n) @ outward.T).reshape(form.side.shape)
        lengths, share = np.sqrt(np.einsum("kmn,kmn->km", side, side)), 2.0 * UNIT * (n + 7)
        bounds, finite = np.zeros((5, *form.offsets.shape)), np.where(np.isfinite(form.offsets), abs(form.offsets), 0.0)
        bounds[4] = 4.0 * UNIT * finite
        if form.linear:
            bounds[0] = share * lengths[:, : finite.shape[1]]
            return cls._held([side, form.lower, form.inverse, form.offsets, bounds], lengths, finite)
        lengths[lengths == 0.0] = 1.0  # directions without variance
        side /= lengths[:, :, None]
        inverse, lower = form.inverse * (lengths**2)[:, None], form.lower / lengths[:, None]
        lower[:, :, 1:] *= lengths[:, None, :-1]
        of_ones, of_own = np.zeros((2, *finite.shape))
        if lower.size:
            forms.growth(lower, inverse, of_ones, of_own)
        else:
            of_ones = inverse[:, : finite.shape[1]].sum(axis=2)
        reach, own, root = share * np.sqrt(2.0 * of_ones), 3.0 * UNIT * np.sqrt(of_own), np.sqrt(n / 2.0)
        bounds[:4] = 0.75 * root * reach, reach**2, 0.75 / root * reach, share + 2.0 * own * (1.0 + own)
        return cls._held([side, lower, inverse, form.offsets, bounds], inverse, abs(lower), of_ones, of_own, finite)

    @classmethod
    def _held(cls, parts: list[np.ndarray], *sizes: np.ndarray) -> "Screen | None":
        if not max(size.max(initial=0.0) for size in sizes) < LARGEST:  # also for NaN
            return None
        single = [part.astype(np.float32) for part in parts]
        return cls(Form(*single[:4]), single[4])

    def decided(self, rows: "ScreenedRows") -> tuple[np.ndarray, np.ndarray]:
        """The best class at each point, (n_rows, P), and whether it is certain at all points, (n_rows,)."""
        n_rows, n_points = len(rows.near), self.form.offsets.shape[1]
        numbers, certain = np.empty((n_rows, n_points), np.int32), np.empty(n_rows, bool)
        best = aligned(4 * n_points, rows.tiles.shape[2], np.float32)
        forms.decide(rows.tiles, rows.sizes, self.form.arrays, self.bounds, self.form.buffers(), best, numbers, certain)
        return numbers, certain & rows.near


class ScreenedRows(NamedTuple):
    """Rows in tiles of single precision, their lengths, and which of them do not overflow."""

    tiles: np.ndarray  # (n_tiles, n + 1, lanes)
    sizes: np.ndarray  # (n_tiles, lanes)
    near: np.ndarray  # (n_rows,)

    @classmethod
    def of(cls, y: np.ndarray) -> "ScreenedRows":
        """Tiles of rows that were transformed by `inward`."""
        lengths = np.sqrt(np.einsum("ij,ij->i", y, y))
        near = lengths < LONGEST
        if not near.all():
            y, lengths = np.where(near[:, None], y, 0.0), np.where(near, lengths, 0.0)
        sizes = in_tiles(lengths[:, None], np.float32)[:, 0]
        return cls(in_tiles(y, np.float32), sizes, near)


def in_tiles(x: np.ndarray, dtype: Any) -> np.ndarray:
    """Rows (n_rows, n) in tiles (n_tiles, n, lanes), the last padded with zeros."""
    lanes, (n_rows, n) = TILE_BYTES // np.dtype(dtype).itemsize, x.shape
    whole, n_tiles = n_rows // lanes, -(-n_rows // lanes)
    out = aligned(n_tiles * n, lanes, dtype).reshape(n_tiles, n, lanes)
    out[:whole] = x[: whole * lanes].reshape(whole, lanes, n).transpose(0, 2, 1)
    out[whole:, :, n_rows - whole * lanes :] = 0.0
    out[whole:, :, : n_rows - whole * lanes] = x[whole * lanes :].T
    return out


def inward(common: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A matrix that whitens features of this covariance, and its inverse, each extended for the final 1."""
    sizes, n = np.sqrt(common.diagonal()), len(common)
    sizes = np.where(sizes > 0.0, sizes, 1.0)
    values, axes = np.linalg.eigh(common / sizes / sizes[:, None])
    roots = np.sqrt(np.maximum(values, FLATTEST * n))
    there, back = np.eye(n + 1), np.eye(n + 1)
    there[:n, :n] = axes / sizes[:, None] / roots
    back[:n, :n] = (axes * sizes[:, None] * roots).T
    return there, back
