"""Scores of normal rows at points of a grid that share directions, and decisions by them, in single precision first."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from streamnb.kernels.judge import top_class
from streamnb.solving.covariances import Basis

AT_ONCE = 1 << 19  # numbers that are squared
UNIT = 2.0**-24  # of rounding in single precision
LARGEST, LONGEST = 2.0**50, 2.0**30  # weights, and rows, whose squares do not overflow there
FLATTEST = 1e-8  # eigenvalue of correlations that rows are divided by


def columns_of(points: list[int]) -> Any:
    """Those points as a slice, which is faster, where they follow each other."""
    first, last = points[0], points[-1] + 1
    return slice(first, last) if points == list(range(first, last)) else np.array(points)


@dataclass(frozen=True, eq=False)
class LinearScores:
    """Scores where all classes have one covariance, of rows less their mean and with a 1 behind.

    Attributes
    ----------
    points : P of the grid
    weights : (n + 1, K, P)
    """

    points: Any
    weights: np.ndarray
    screen = None

    @property
    def n_points(self) -> int:
        return self.weights.shape[2]

    @classmethod
    def of(cls, basis: Basis, apart: np.ndarray, log_priors: np.ndarray) -> "LinearScores":
        """From the means of classes (K, n), less that of all."""
        means, (axes,) = apart @ basis.axes[0], basis.axes
        slopes = means[:, :, None] * np.nan_to_num(basis.inverse[0])  # (K, n, P)
        weights = np.empty((len(axes) + 1, len(apart), slopes.shape[2]))
        weights[:-1] = np.tensordot(axes, slopes, (1, 1))
        weights[-1] = log_priors[:, None] - np.einsum("kj,kjp->kp", means, slopes) / 2.0
        return cls(columns_of(basis.points), weights)

    @property
    def arrays(self) -> tuple[np.ndarray, ...]:
        """What they are made of."""
        return (self.weights,)

    def scores(self, x: np.ndarray) -> np.ndarray:
        """ln P(y) + ln p(x | y) up to what is the row's, (n_rows, K, P)."""
        return (x @ self.weights.reshape(x.shape[1], -1)).reshape(len(x), *self.weights.shape[1:])


@dataclass(frozen=True, eq=False)
class QuadraticScores:
    """Scores of classes with covariances of their own.

    Attributes
    ----------
    points : P of the grid
    side : (K * n, n + 1)
        What rows less their mean, a 1 behind, are multiplied by: directions of all classes, behind each the place of
        its class with the sign turned.
    weights : (K, P, n)
        Of the squares.
    offsets : (K, P)
    screen : Screen or None
    """

    points: Any
    side: np.ndarray
    weights: np.ndarray
    offsets: np.ndarray
    screen: "Screen | None" = None

    @classmethod
    def of(cls, basis: Basis, apart: np.ndarray, log_priors: np.ndarray, outward: np.ndarray | None) -> Any:
        """From the means of classes (K, n), less that of all; `outward` undoes what rows are screened in."""
        (n_classes, n), axes = apart.shape, basis.axes
        side = np.empty((n_classes, n, n + 1))
        side[:, :, :-1] = axes.transpose(0, 2, 1)
        side[:, :, -1] = -np.einsum("kj,kjm->km", apart, axes)
        offsets = log_priors[:, None] - np.nan_to_num(basis.log_dets) / 2.0
        known = np.nan_to_num(np.ascontiguousarray(basis.inverse.transpose(0, 2, 1))) / -2.0, offsets
        screen = None if outward is None else Screen.of(side @ outward.T, *known)
        return cls(columns_of(basis.points), side.reshape(-1, n + 1), *known, screen)

    @property
    def n_points(self) -> int:
        return self.weights.shape[1]

    @property
    def arrays(self) -> tuple[np.ndarray, ...]:
        """What they are made of."""
        return self.side, self.weights, self.offsets

    def scores(self, x: np.ndarray) -> np.ndarray:
        """ln P(y) + ln p(x | y) up to what is the row's, (n_rows, K, P)."""
        out = _weighted_squares(x, self.side, self.weights)
        out += self.offsets[:, :, None]
        return out.transpose(2, 0, 1)


@dataclass(frozen=True, eq=False)
class Screen:
    """The same in single precision, with a bound on what rounding does.

    A sum of n products is off by less than (n + 2) u of the product of the lengths of both factors, to first order in
    u = 2^-24 (Higham 2002, section 3.1), of which twice as much is allowed for. Rows are screened in directions in
    which the classes together vary alike, and rows of `side` have length 1: lengths are small whatever scales are.
    """

    side: np.ndarray  # (K * n, n + 1)
    weights: np.ndarray  # (K, P, n), of squares, which then come to half of a distance
    offsets: np.ndarray  # (K, P)
    reach: np.ndarray  # (K, P): a square root of a distance is off by so much of the length of the row
    slack: np.ndarray  # (K, P), by which a score is off whatever the row
    share: float  # of a distance that it is off by

    @classmethod
    def of(cls, side: np.ndarray, weights: np.ndarray, offsets: np.ndarray) -> "Screen | None":
        """Of what makes up the scores in double precision; None where single precision could not hold it."""
        lengths, n = np.sqrt((side**2).sum(axis=2)), side.shape[1]
        squares = -weights * (lengths**2)[:, None]
        finite = np.where(np.isfinite(offsets), offsets, 0.0)
        if not (squares.max(initial=0.0) < LARGEST and np.abs(finite).max() < LARGEST):
            return None
        share = 2.0 * UNIT * (n + 8)
        reach, slack = share * np.sqrt(2.0 * squares.sum(axis=2)), 4.0 * UNIT * np.abs(finite)
        lengths[lengths == 0.0] = 1.0  # of directions in which no row lies
        held = (side / lengths[:, :, None]).reshape(-1, n + 1), squares, offsets, reach, slack
        single = [part.astype(np.float32) for part in held]
        return cls(single[0], single[1], single[2], single[3], single[4], share)

    def decided(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The class of the highest score at each point, (n_rows, P), and the rows for which all are certain."""
        lengths = np.sqrt(np.einsum("ij,ij->i", y, y))
        near = lengths < LONGEST
        half = _weighted_squares((y * near[:, None]).astype(np.float32), self.side, self.weights)
        off = self.reach[:, :, None] * np.where(near, lengths, 0.0).astype(np.float32)
        off *= np.sqrt(half) * np.float32(1.5) + off
        off += half * np.float32(self.share)
        off += self.slack[:, :, None]
        np.subtract(self.offsets[:, :, None], half, out=half)
        least = (half - off).max(axis=0)
        half += off
        may_be = (half >= least).reshape(len(half), -1).astype(np.float32)
        asked = np.stack([np.ones(len(half)), np.arange(len(half))]).astype(np.float32)
        counts, numbers = (asked @ may_be).reshape(2, *least.shape)
        return numbers.T, (counts == 1.0).all(axis=0) & near


def _weighted_squares(x: np.ndarray, side: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Sums of weighted squares of x @ side.T, (K, P, n_rows)."""
    n_classes, n_points, n = weights.shape
    out = np.empty((n_classes, n_points, len(x)), x.dtype)
    step = max(AT_ONCE // (len(x) * max(n, 1)), 1)
    for first in range(0, n_classes, step):
        some = slice(first, first + step)
        z = side[n * first : n * (first + step)] @ x.T
        z *= z
        np.matmul(weights[some], z.reshape(len(out[some]), n, len(x)), out=out[some])
    return out


def top(scores: np.ndarray) -> np.ndarray:
    """The first class of the highest score at each point, (n_rows, P)."""
    out = np.empty((len(scores), scores.shape[2]), np.int64)
    top_class(np.ascontiguousarray(scores), out)
    return out


def inward(common: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A matrix that makes features with this covariance vary alike, and one that undoes it, each with room for a 1."""
    sizes, n = np.sqrt(common.diagonal()), len(common)
    sizes = np.where(sizes > 0.0, sizes, 1.0)
    values, axes = np.linalg.eigh(common / sizes / sizes[:, None])
    roots = np.sqrt(np.maximum(values, FLATTEST * n))
    there, back = np.eye(n + 1), np.eye(n + 1)
    there[:n, :n] = axes / sizes[:, None] / roots
    back[:n, :n] = (axes * sizes[:, None] * roots).T
    return there, back
