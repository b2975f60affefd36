"""Intervals of estimated values, from their variances."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtri, stdtrit

from streamnb.evaluation.spread import GroupSpread, RowSpread
from streamnb.evaluation.tallied import Tallied, kept

_ROUNDED = 1e-12  # relative rounding error of sums that are 0
_SYMMETRIC = 1e-6  # skewness that makes no difference


@dataclass(frozen=True)
class Estimate:
    """Values with their variances, one number each or one a class.

    Attributes
    ----------
    value, variance : float or (K,)
    n_rows : float or (K,)
        Equal rows behind a value; they say how sure it is where the variance is 0, as of a share of 0 or 1.
    low, high : float
        Least and largest possible value.
    df : float or (K,)
        Degrees of freedom of the variance; infinite for the counts of independent rows.
    skewness : float or None
        Of the estimate of a mean loss; None for others.
    is_share : bool
        Whether the variance is that of a share of rows. Others are estimated, and too small now and then if rows are
        few: one of them is then taken for a share, ``p (1 - p) / (n (n + 4))`` (as Agresti and Coull add four rows).
    """

    value: Any
    variance: Any
    n_rows: Any = np.inf
    low: float = 0.0
    high: float = 1.0
    df: Any = np.inf
    skewness: float | None = None
    is_share: bool = True

    def bounds(self, level: float) -> tuple[Any, Any]:
        """Wilson's interval of a share with this variance, in place of that of a share of rows.

        With p the value, scaled to [0, 1], and v its variance, a share of ``n = p (1 - p) / v`` rows would be as sure;
        the interval holds all shares that a score test does not refuse (Wilson 1927). Losses have the
        normal interval, corrected for skewness (Hall 1992).
        """
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            found = (self._wilson if self.skewness is None else self._hall)(quantile(level, self.df))
        return tuple(float(end) if np.ndim(end) == 0 else end for end in found)  # type: ignore[return-value]

    def _wilson(self, q: Any) -> tuple[Any, Any]:
        width = self.high - self.low
        p, v = (np.asarray(self.value) - self.low) / width, np.asarray(self.variance) / width**2
        p = np.clip(p, 0.0, 1.0)
        if not self.is_share:
            v = v + p * (1.0 - p) / (self.n_rows * (self.n_rows + 4.0))
        n = np.where(v > 0.0, p * (1.0 - p) / v, self.n_rows)
        n = np.where(n > 0.0, n, self.n_rows)
        centre = (p + q**2 / (2.0 * n)) / (1.0 + q**2 / n)
        half = q / (1.0 + q**2 / n) * np.sqrt(p * (1.0 - p) / n + q**2 / (4.0 * n**2))
        low, high = np.minimum(centre - half, p), np.maximum(centre + half, p)
        return self.low + width * np.maximum(low, 0.0), self.low + width * np.minimum(high, 1.0)

    def _hall(self, q: Any) -> tuple[Any, Any]:
        error, a = np.sqrt(self.variance), self.skewness or 0.0
        more, less = q, -q
        if abs(a) > _SYMMETRIC:
            more, less = (3.0 / a * (np.cbrt(1.0 + a * (x - a / 6.0)) - 1.0) for x in (q, -q))
        low, high = self.value - more * error, self.value - less * error
        return np.maximum(low, self.low), np.minimum(high, self.high)


def quantile(level: float, df: Any = np.inf) -> Any:
    """The quantile of Student's t, or of the normal distribution, that leaves half of the rest above it."""
    df, upto = np.asarray(df, np.float64), 0.5 + 0.5 * level
    return np.where(np.isinf(df), ndtri(upto), stdtrit(np.where(df > 0.0, df, np.nan), upto))


def spread_of(judged: Tallied) -> RowSpread | GroupSpread:
    """What intervals are computed from; refuse evaluations that were made without."""
    if judged.level is None:
        raise ValueError("this evaluation was made without intervals; give interval=0.95 where it is made")
    return kept(judged, "spread", "spread")


def per_weight(judged: Tallied) -> float:
    """Equal rows for each unit of weight: 1 for whole weights."""
    n_rows = spread_of(judged).weights.n_rows
    return n_rows / judged.weight if judged.weight > 0.0 else np.nan


def clustered(sums: np.ndarray) -> tuple[Any, Any, Any]:
    """Variance, buckets and degrees of freedom of an estimate, from what each bucket adds to it, (buckets, ..)."""
    size = np.abs(sums)
    n = (size > _ROUNDED * np.maximum(size.max(axis=0), 0.01)).sum(axis=0).astype(np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.square(sums).sum(axis=0) * np.where(n > 1.0, n / (n - 1.0), np.nan), n, n - 1.0


def filled_buckets(spread: GroupSpread) -> int:
    """The number of buckets with rows."""
    return int(np.count_nonzero(spread.total.sums[:, -1]))
