"""Variances of means over rows: accuracy, losses, metrics of sets of labels, calibration error."""

import numpy as np

from streamnb.evaluation import metrics
from streamnb.evaluation.estimates import Estimate, clustered, filled_buckets, per_weight, spread_of
from streamnb.evaluation.spread import GroupSpread
from streamnb.evaluation.tallied import Tallied, kept
from streamnb.evaluation.tallies import BINS, ratio
from streamnb.stats.row_means import RowMeans


def accuracy(judged: Tallied) -> Estimate:
    """The share of rows that are right."""
    return of_rows(judged, metrics.accuracy(judged), "decisions", "right")


def of_rows(judged: Tallied, value: float, tally: str, name: str, high: float = 1.0) -> Estimate:
    """The estimate of the mean of a value of each row."""
    means: RowMeans = getattr(kept(judged, tally, tally), "means", kept(judged, tally, tally))
    spread, rate = spread_of(judged), per_weight(judged)
    if isinstance(spread, GroupSpread):
        sums = spread.sums[tally].sums
        added = sums[:, means.place(name)] - value * sums[:, -1]
        variance, n, df = clustered(added / means.weight if means.weight > 0.0 else added)
        n_buckets = filled_buckets(spread)
        return Estimate(value, variance if n else 0.0, n_buckets, high=high, df=df if n else n_buckets - 1)
    n_rows = means.weight * rate
    square = spread.squares[tally].mean(name) if tally in spread.squares else value  # the square of 0 or 1
    return Estimate(value, max(square - value**2, 0.0) / n_rows if n_rows > 0.0 else np.nan, n_rows, high=high)


def log_loss(judged: Tallied) -> Estimate:
    """The mean log loss."""
    return of_rows(judged, metrics.log_loss(judged), "losses", "log_loss", np.inf)


def brier(judged: Tallied) -> Estimate:
    """The mean Brier score."""
    return of_rows(judged, metrics.brier(judged), "losses", "brier", np.inf)


def expected_calibration_error(judged: Tallied) -> Estimate:
    """The sum over bins of the distance between correctness and probability."""
    value, spread = metrics.expected_calibration_error(judged), spread_of(judged)
    _, proba, right = metrics.reliability_sums(judged)
    excess, sign = right - proba, np.sign(right - proba)
    weight = kept(judged, "reliability", "reliability").weight
    if isinstance(spread, GroupSpread):
        sums = spread.sums["reliability"].sums
        of_bucket = sums[:, 0].reshape(-1, BINS) @ sign - value * sums[:, 1].reshape(-1, BINS).sum(axis=1)
        variance, _, df = clustered(ratio(of_bucket, np.full(len(of_bucket), weight)))
        return Estimate(value, variance, filled_buckets(spread), df=df)
    squares = spread.squares["reliability"].sums[0, :-1]
    if judged.multilabel:
        a, b = np.triu_indices(BINS)
        total = float((np.where(a == b, 1.0, 2.0) * sign[a] * sign[b]) @ squares)
    else:
        total = float(squares.sum())
    n_rows = weight * per_weight(judged)
    return Estimate(value, (total / weight - float(excess @ sign) ** 2) / n_rows if weight else np.nan, n_rows)
