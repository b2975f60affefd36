"""Variances of means over rows: accuracy, losses, metrics of sets of labels, calibration error."""

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from streamnb.evaluation import metrics
from streamnb.evaluation.estimates import Estimate, clustered, filled_buckets, per_weight, quantile, spread_of
from streamnb.evaluation.spread import GroupSpread
from streamnb.evaluation.tallied import Tallied, is_binary, kept, losses
from streamnb.evaluation.tallies import BINS, ratio
from streamnb.stats.row_means import RowMeans


def accuracy(judged: Tallied) -> Estimate:
    """The share of rows that are right."""
    return of_rows(judged, metrics.accuracy(judged), "decisions", "right")


def of_rows(judged: Tallied, value: float, tally: str, name: str) -> Estimate:
    """The estimate of the mean of a value of each row, from 0 to 1."""
    means: RowMeans = getattr(kept(judged, tally, tally), "means", kept(judged, tally, tally))
    spread = spread_of(judged)
    if isinstance(spread, GroupSpread):
        variance, n, df = clustered(_of_buckets(spread, means, value, tally, name))
        n_buckets = filled_buckets(spread)
        return Estimate(value, variance if n else 0.0, n_buckets, df=df if n else n_buckets - 1)
    n_rows = means.weight * per_weight(judged)
    square = spread.squares[tally].mean(name) if tally in spread.squares else value  # the square of 0 or 1
    return Estimate(value, max(square - value**2, 0.0) / n_rows if n_rows > 0.0 else np.nan, n_rows)


def _of_buckets(spread: GroupSpread, means: RowMeans, value: float, tally: str, name: str) -> np.ndarray:
    """What the rows of each bucket add to a mean."""
    sums = spread.sums[tally].sums
    return ratio(sums[:, means.place(name)] - value * sums[:, -1], np.full(len(sums), means.weight))


def loss(judged: Tallied, name: str) -> Estimate:
    """The estimate of a mean loss, with its skewness: rows that are surely wrong are few, and lose much."""
    means, spread = losses(judged), spread_of(judged)
    value = means.mean(name)
    high = np.inf if name == "log_loss" else 1.0 if is_binary(judged) or judged.multilabel else 2.0
    if isinstance(spread, GroupSpread):
        added = _of_buckets(spread, means, value, "losses", name)
        variance, n, df = clustered(added)
        skewness = float(ratio((added**3).sum(), np.square(added).sum() ** 1.5))
        n_buckets = filled_buckets(spread)
        df = df if n else n_buckets - 1  # otherwise no bucket differs from another
        return Estimate(value, variance if n else 0.0, n_buckets, high=high, df=df, skewness=skewness)
    n_rows = means.weight * per_weight(judged)
    square, cube = (powers["losses"].mean(name) for powers in (spread.squares, spread.cubes))
    spent = max(square - value**2, 0.0)
    third = cube - 3.0 * value * square + 2.0 * value**3
    with np.errstate(divide="ignore", invalid="ignore"):
        skewness = float(np.float64(third) / spent**1.5 / np.sqrt(n_rows)) if spent > 0.0 else 0.0
        variance = np.float64(spent) / (n_rows - 1.0) if n_rows >= 2.0 else np.nan
    return Estimate(value, variance, n_rows, high=high, df=n_rows - 1.0, skewness=skewness)


@dataclass(frozen=True)
class CalibrationEstimate:
    """The estimate of a sum over bins of distances, which chance makes larger than it is.

    A distance d that is known with an error of variance v is on average the mean of a folded normal distribution. The
    interval holds all multiples of the distances found whose sum would be expected to lie as near the one found as it
    does.

    Attributes
    ----------
    distances, variances : (BINS,)
    together : float
        Variance of the sum, over that of independent bins.
    df : float
    n_rows : float
        Rows or groups; they say how sure the sum is where all variances are 0.
    """

    distances: np.ndarray
    variances: np.ndarray
    together: float
    df: float = np.inf
    n_rows: float = np.nan

    @property
    def value(self) -> float:
        """The sum of the distances."""
        return float(self.distances.sum())

    def bounds(self, level: float) -> tuple[float, float]:
        """The smallest and the largest sum that fit the one found."""
        if not np.nansum(self.variances) > 0.0:
            return Estimate(self.value, 0.0, self.n_rows, df=self.df).bounds(level)
        q, error = float(quantile(level, self.df)), np.sqrt(np.maximum(self.variances, np.finfo(float).tiny))
        times = np.concatenate([[0.0], np.geomspace(1e-3, 1e3, 200)])
        size = times[:, None] * self.distances / error
        mean = error * (np.sqrt(2.0 / np.pi) * np.exp(-0.5 * size**2) + size * (1.0 - 2.0 * ndtr(-size)))
        spent = np.maximum((error * size) ** 2 + error**2 - mean**2, 0.0).sum(axis=1) * max(self.together, 1.0)
        expected = mean.sum(axis=1)
        ends = (expected + sign * q * np.sqrt(spent) for sign in (1.0, -1.0))
        low, high = (np.interp(self.value, np.maximum.accumulate(end), times) for end in ends)
        return float(low * self.value), min(float(high * self.value), 1.0)


def expected_calibration_error(judged: Tallied) -> CalibrationEstimate:
    """The sum over bins of the distance between correctness and probability."""
    spread = spread_of(judged)
    share, proba, right = metrics.reliability_sums(judged)
    excess = right - proba
    sign = np.sign(excess)
    weight = kept(judged, "reliability", "reliability").weight
    expected = proba * (1.0 - ratio(proba, share))  # variance of rows that are right as often as their bin says
    if isinstance(spread, GroupSpread):
        sums = spread.sums["reliability"].sums.reshape(-1, BINS, 2)
        added = sums[:, :, 0] - excess * sums[:, :, 1].sum(axis=1, keepdims=True)
        added = ratio(added, np.full(added.shape, weight))
        variance, n_buckets, df = clustered(added @ sign)
        variances = np.square(added).sum(axis=0) * float(ratio(n_buckets, df))
        n_rows: float = filled_buckets(spread)
        df = df if n_buckets else n_rows - 1  # otherwise no bucket differs from another
    else:
        sums = spread.squares["reliability"].sums
        squares = (sums[0, :-1] if judged.multilabel else sums[:, 0]) / max(weight, 1e-300)
        df = np.inf
        n_rows = max(weight * per_weight(judged), 1e-300) if weight > 0.0 else np.nan
        a, b = np.triu_indices(BINS)
        products = squares if judged.multilabel else np.where(a == b, squares[a], 0.0)
        variances = np.maximum(products[a == b] - excess**2, 0.0) / n_rows
        signed = np.where(a == b, 1.0, 2.0) * sign[a] * sign[b] @ products - (excess @ sign) ** 2
        variance = signed / n_rows
    together = float(ratio(np.array(variance), np.nansum(variances)))
    if not spread.grouped:
        n_predictions = n_rows * (judged.n_classes if judged.multilabel else 1)
        variances = np.maximum(variances, expected / n_predictions)
    variances = np.where(weight > 0.0, variances, np.nan)
    return CalibrationEstimate(np.abs(excess), variances, together, float(df), n_rows if weight > 0.0 else np.nan)
