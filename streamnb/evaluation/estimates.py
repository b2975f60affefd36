"""Estimates of metrics of judged rows, with their variances: of means over rows, and of decisions."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import ndtr, ndtri, stdtrit

from streamnb.evaluation import metrics
from streamnb.evaluation.tallied import Tallied, check_intervals, decisions, is_binary, kept, losses
from streamnb.evaluation.tallies import BIN_PAIRS, BINS, LARGEST_LOG_LOSS, OUTCOMES, ContentSample, ratio
from streamnb.stats.row_means import RowMeans

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
        few: one of them is then taken for a share, ``p (1 - p) / (n (n + 4))`` (as Agresti and Coull add four rows),
        and neither end is further from 0 or 1 than if the value were 0 or 1.
    of_wrong_row : float, optional
        The loss that a row may have though none of the sample has it; None where rows show how much they vary.
    unseen_df : float or (K,)
        Degrees of freedom where no row shows a variance: of groups, by their number.
    """

    value: Any
    variance: Any
    n_rows: Any = np.inf
    low: float = 0.0
    high: float = 1.0
    df: Any = np.inf
    skewness: float | None = None
    is_share: bool = True
    of_wrong_row: float | None = None
    unseen_df: Any = np.inf

    def bounds(self, level: float) -> tuple[Any, Any]:
        """Wilson's interval of a share with this variance, in place of that of a share of rows.

        With p the value, scaled to [0, 1], and v its variance, a share of ``n = p (1 - p) / v`` rows would be as sure;
        the interval holds all shares that a score test does not refuse (Wilson 1927). Losses have the
        normal interval, corrected for skewness (Hall 1992).
        """
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            ends = self._wilson(level) if self.skewness is None else self._hall(level)
        return tuple(float(end) if np.ndim(end) == 0 else end for end in ends)  # type: ignore[return-value]

    def _wilson(self, level: float) -> tuple[Any, Any]:
        width = self.high - self.low
        p, v = (np.asarray(self.value) - self.low) / width, np.asarray(self.variance) / width**2
        p = np.clip(p, 0.0, 1.0)
        q, surest = quantile(level, self.df), quantile(level, self.unseen_df)
        if self.is_share:
            low, high = wilson(p, self._as_many(p, v), q)
        else:
            v = v + p * (1.0 - p) / (self.n_rows * (self.n_rows + 4.0))
            low, high = wilson(p, self._as_many(p, v), np.where(p * (1.0 - p) > 0.0, q, surest))
            of_1, _ = wilson(1.0, np.asarray(self.n_rows, np.float64), surest)
            low, high = np.minimum(low, of_1), np.maximum(high, 1.0 - of_1)
        return self.low + width * low, self.low + width * high

    def _as_many(self, p: Any, v: Any) -> Any:
        """The rows of a share that is as sure."""
        n = np.where(v > 0.0, p * (1.0 - p) / v, self.n_rows)
        return np.where(n > 0.0, n, self.n_rows)

    def _hall(self, level: float) -> tuple[Any, Any]:
        q, error, a = quantile(level, self.df), np.sqrt(self.variance), self.skewness or 0.0
        more, less = q, -q
        if abs(a) > _SYMMETRIC:
            more, less = (3.0 / a * (np.cbrt(1.0 + a * (x - a / 6.0)) - 1.0) for x in (q, -q))
        ends = self.value - more * error, self.value - less * error
        if self.of_wrong_row is not None:
            ends = widened(ends, self.value, self.of_wrong_row, self.n_rows, quantile(level, self.unseen_df))
        return np.maximum(ends[0], self.low), np.minimum(ends[1], self.high)


def wilson(p: Any, n: Any, q: Any) -> tuple[Any, Any]:
    """The ends of Wilson's interval (1927) of a share p of n rows, q the quantile."""
    centre = (p + q**2 / (2.0 * n)) / (1.0 + q**2 / n)
    half = q / (1.0 + q**2 / n) * np.sqrt(p * (1.0 - p) / n + q**2 / (4.0 * n**2))
    return np.maximum(np.minimum(centre - half, p), 0.0), np.minimum(np.maximum(centre + half, p), 1.0)


def widened(ends: tuple[Any, Any], value: float, most: float, n_rows: float, q: Any) -> tuple[Any, Any]:
    """Ends of an interval of a mean, that hold what it would be if a share of rows added `most`, and others nothing.

    With ``x = n p (1 - p)``, about as many rows as add something, the share is as sure as one of ``n (1 + x^3)`` rows:
    while nearly all rows are alike, no more than a row tells what others may add, and soon they show it themselves.
    """
    p = min(value / most, 1.0)
    low, high = wilson(p, n_rows * (1.0 + (n_rows * p * (1.0 - p)) ** 3), q)
    return np.minimum(ends[0], most * low), np.maximum(ends[1], most * high)


def quantile(level: float, df: Any = np.inf) -> Any:
    """The quantile of Student's t, or of the normal distribution, that leaves half of the rest above it."""
    df, upto = np.asarray(df, np.float64), 0.5 + 0.5 * level
    return np.where(np.isinf(df), ndtri(upto), stdtrit(np.where(df > 0.0, df, np.nan), upto))


def has_whole_weights(judged: Tallied) -> bool:
    """Whether all weights are whole, so that each says how many equal rows there are."""
    return check_intervals(judged).mean("fractional") == 0.0


def effective_rows(judged: Tallied) -> float:
    """Kish's effective sample size (1965): the sum of whole weights, ``(sum w)^2 / sum w^2`` of others."""
    weights = check_intervals(judged)
    if has_whole_weights(judged):
        return weights.weight
    return weights.weight / weights.mean("squared")


def per_weight(judged: Tallied) -> float:
    """Equal rows for each unit of weight: 1 for whole weights."""
    if judged.weight > 0.0:
        return effective_rows(judged) / judged.weight
    return np.nan


def clustered(sums: np.ndarray) -> tuple[Any, Any, Any]:
    """Variance, buckets and degrees of freedom of an estimate, from what each bucket adds to it, (buckets, ..)."""
    size = np.abs(sums)
    n = (size > _ROUNDED * np.maximum(size.max(axis=0), 0.01)).sum(axis=0).astype(np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.square(sums).sum(axis=0) * np.where(n > 1.0, n / (n - 1.0), np.nan), n, n - 1.0


def weight_of_buckets(judged: Tallied) -> np.ndarray:
    """The weight of the rows of each bucket of groups."""
    return kept(judged, "total", "total").sums[:, -1]


def filled_buckets(judged: Tallied) -> int:
    """The number of buckets with rows."""
    return int(np.count_nonzero(weight_of_buckets(judged)))


def of_buckets(judged: Tallied, value: Any, added: np.ndarray, **options: Any) -> Estimate:
    """The estimate of a value, or of one a class, from what each bucket of groups adds to it, (buckets, ..)."""
    variance, n, df = clustered(added)
    n_buckets = filled_buckets(judged)
    several = n > 1.0
    if n_buckets > 1:  # one bucket that differs from the others, by the bins of scores, or none
        of_one = np.where(n > 0.0, np.square(added).sum(axis=0) * n_buckets / (n_buckets - 1.0), 0.0)
        variance = np.where(several, variance, of_one)
    df = np.where(several, df, n_buckets - 1)
    return Estimate(value, variance, n_buckets, df=df, unseen_df=n_buckets - 1, **options)


def sampled_rows(judged: Tallied) -> ContentSample:
    """The sample of rows, for metrics that need one."""
    return kept(judged, "sample", "sample").prune()


# ---- means over rows -------------------------------------------------------------------------------------------------


def of_rows(judged: Tallied, value: float, tally: str, name: str) -> Estimate:
    """The estimate of the mean of a value of each row, from 0 to 1."""
    means: RowMeans = getattr(kept(judged, tally, tally), "means", kept(judged, tally, tally))
    if judged.is_grouped:
        return of_buckets(judged, value, _added_to_mean(means, value, name))
    n_rows, is_share = means.weight * per_weight(judged), means.n_powers == 1
    square = value if is_share else means.mean(name, 2)  # the square of 0 or 1
    variance = np.nan
    if n_rows > 0.0:
        variance = max(square - value**2, 0.0) / n_rows
    return Estimate(value, variance, n_rows, is_share=is_share)


def _added_to_mean(means: RowMeans, value: float, name: str) -> np.ndarray:
    """What the rows of each bucket add to a mean."""
    sums = means.sums
    return ratio(sums[:, means.place(name)] - value * sums[:, -1], np.full(len(sums), means.weight))


def loss(judged: Tallied, name: str) -> Estimate:
    """The estimate of a mean loss, with its skewness: rows that are surely wrong are few, and lose much."""
    means = losses(judged)
    value = means.mean(name)
    high = 2.0
    if is_binary(judged) or judged.multilabel:
        high = 1.0
    wrong = high
    if name == "log_loss":
        high = LARGEST_LOG_LOSS
        with np.errstate(divide="ignore"):  # of a row as sure as rows with this mean are, and twice the mean at least
            wrong = float(min(max(-np.log(-np.expm1(-value)), 2.0 * value), high))
    if judged.is_grouped:
        added = _added_to_mean(means, value, name)
        skewness = float(ratio((added**3).sum(), np.square(added).sum() ** 1.5))
        found = of_buckets(judged, value, added, high=high, skewness=skewness)
        if found.variance > 0.0:
            return found
        return replace(found, of_wrong_row=wrong)
    n_rows = means.weight * per_weight(judged)
    square, cube = means.mean(name, 2), means.mean(name, 3)
    spent = max(square - value**2, 0.0)
    third = cube - 3.0 * value * square + 2.0 * value**3
    with np.errstate(divide="ignore", invalid="ignore"):
        skewness = 0.0
        if spent > 0.0:
            skewness = float(np.float64(third) / spent**1.5 / np.sqrt(n_rows))
        variance = np.nan
        if n_rows >= 2.0:
            variance = np.float64(spent) / (n_rows - 1.0)
    return Estimate(value, variance, n_rows, high=high, df=n_rows - 1.0, skewness=skewness, of_wrong_row=wrong)


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
        with np.errstate(over="ignore"):
            normal = np.exp(-0.5 * size**2)
        mean = error * (np.sqrt(2.0 / np.pi) * normal + size * (1.0 - 2.0 * ndtr(-size)))
        spent = np.maximum((error * size) ** 2 + error**2 - mean**2, 0.0).sum(axis=1) * max(self.together, 1.0)
        expected = mean.sum(axis=1)
        ends = (expected + sign * q * np.sqrt(spent) for sign in (1.0, -1.0))
        low, high = (np.interp(self.value, np.maximum.accumulate(end), times) for end in ends)
        low, high = widened((low * self.value, high * self.value), self.value, 1.0, self.n_rows, q)
        return float(low), min(float(high), 1.0)


def expected_calibration_error(judged: Tallied) -> CalibrationEstimate:
    """The sum over bins of the distance between correctness and probability."""
    share, proba, right = metrics.reliability_sums(judged)
    excess = right - proba
    sign = np.sign(excess)
    means = kept(judged, "reliability", "reliability")
    weight = means.weight
    expected = proba * (1.0 - ratio(proba, share))  # variance of rows that are right as often as their bin says
    if judged.is_grouped:
        of_proba, of_right, weights = means.sums.reshape(-1, BINS, 3).transpose(2, 0, 1)
        added = of_right - of_proba - excess * weights.sum(axis=1, keepdims=True)
        added = ratio(added, np.full(added.shape, weight))
        variance, n_buckets, df = clustered(added @ sign)
        variances = np.square(added).sum(axis=0) * float(ratio(n_buckets, df))
        n_rows: float = filled_buckets(judged)
        df = df if n_buckets else n_rows - 1  # otherwise no bucket differs from another
    else:
        if judged.multilabel:
            sums = kept(judged, "excess", "excess").sums[0, :-1]
        else:
            sums = means.sums[:, means.place("square")]
        squares = sums / max(weight, 1e-300)
        df = np.inf
        n_rows = np.nan
        if weight > 0.0:
            n_rows = max(weight * per_weight(judged), 1e-300)
        a, b = BIN_PAIRS
        products = squares if judged.multilabel else np.where(a == b, squares[a], 0.0)
        variances = np.maximum(products[a == b] - excess**2, 0.0) / n_rows
        signed = np.where(a == b, 1.0, 2.0) * sign[a] * sign[b] @ products - (excess @ sign) ** 2
        variance = signed / n_rows
    together = float(ratio(np.array(variance), np.nansum(variances)))
    if not judged.is_grouped:
        n_predictions = n_rows * (judged.n_classes if judged.multilabel else 1)
        variances = np.maximum(variances, expected / n_predictions)
    variances = np.where(weight > 0.0, variances, np.nan)
    return CalibrationEstimate(np.abs(excess), variances, together, float(df), n_rows if weight > 0.0 else np.nan)


# ---- metrics of decisions --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Gradient:
    """What one row adds to a metric.

    A row of class i that is predicted as j adds ``[i = j] hit_i + true_i + predicted_j + sum_k row_k``; its square,
    averaged over rows, is the variance of the metric (delta method). With several labels a row, it adds this for all
    of them.

    Attributes
    ----------
    hit, true, predicted, row : (K,)
    """

    hit: np.ndarray
    true: np.ndarray
    predicted: np.ndarray
    row: np.ndarray

    def cells(self) -> tuple[np.ndarray, ...]:
        """What a row adds for one class that is hit, missed, wrongly predicted, or neither, each (K,)."""
        return (
            self.hit + self.true + self.predicted + self.row,
            self.true + self.row,
            self.predicted + self.row,
            self.row,
        )

    def scaled(self, factor: Any) -> "Gradient":
        """The gradient of a multiple of the metric, or of multiples for each class."""
        return Gradient(factor * self.hit, factor * self.true, factor * self.predicted, factor * self.row)


def estimate(
    judged: Tallied, value: float, gradient: Gradient, n_rows: float, low: float = 0.0, is_share: bool = False
) -> Estimate:
    """The estimate of one number."""
    if judged.is_grouped:
        hit, true, predicted = map(decisions(judged).by_bucket, OUTCOMES)
        sums = hit @ gradient.hit + true @ gradient.true + predicted @ gradient.predicted
        sums += weight_of_buckets(judged) * gradient.row.sum()
        return of_buckets(judged, value, sums, low=low)
    added = _squares_of_labels(judged, gradient) if judged.multilabel else _squares(judged, gradient)
    rate = per_weight(judged)
    return Estimate(value, max(added, 0.0) / rate, n_rows * rate, low, is_share=is_share)


def estimates(judged: Tallied, values: np.ndarray, gradient: Gradient, n_rows: np.ndarray) -> Estimate:
    """The estimates of a value for each class, of which each depends on the counts of that class alone."""
    rate = per_weight(judged)
    values = np.where(n_rows > 0.0, values, np.nan)
    if judged.is_grouped:
        hit, true, predicted = map(decisions(judged).by_bucket, OUTCOMES)
        sums = hit * gradient.hit + true * gradient.true + predicted * gradient.predicted
        return of_buckets(judged, values, sums + weight_of_buckets(judged)[:, None] * gradient.row)
    added = sum(n * np.square(cell) for n, cell in zip(_cells(judged), gradient.cells(), strict=True))
    return Estimate(values, added / rate, n_rows * rate)


def _cells(judged: Tallied) -> tuple[np.ndarray, ...]:
    """Weight of the rows of each class that are hit, missed, wrongly predicted, or neither."""
    tally = decisions(judged)
    return tally.hit, tally.missed, tally.wrong, judged.weight - tally.hit - tally.missed - tally.wrong


def _squares(judged: Tallied, gradient: Gradient) -> float:
    """The sum over rows with one label each of the square of what each adds."""
    tally, c = decisions(judged), gradient.row.sum()
    hit, of_true = gradient.hit + gradient.true + gradient.predicted + c, gradient.true + c
    squares = tally.hit @ hit**2 + tally.missed @ of_true**2
    squares += tally.wrong @ gradient.predicted**2 + 2.0 * c * (tally.wrong @ gradient.predicted)
    if gradient.true.any() and gradient.predicted.any():
        squares += 2.0 * _pairs(judged, gradient)
    return float(squares)


def _pairs(judged: Tallied, gradient: Gradient) -> float:
    """The sum over wrong decisions of ``true_i predicted_j``: from the table, or from a sample of the rows."""
    tally = decisions(judged)
    if tally.table is not None:
        return float(gradient.true @ (tally.table - np.diag(np.diag(tally.table))) @ gradient.predicted)
    if judged.n_classes == 2:
        return float(tally.missed @ (gradient.true * gradient.predicted[::-1]))
    sample = sampled_rows(judged)
    true, predicted = sample.parts["labels"], sample.parts["predicted"]
    added = np.where(true != predicted, gradient.true[true] * gradient.predicted[predicted], 0.0)
    return sample.scaled_sum(added, tally.true.sum())


def _squares_of_labels(judged: Tallied, gradient: Gradient) -> float:
    """The same of rows with several labels: exact for each label; how labels go together, from a sample of the rows."""
    cells = gradient.cells()
    squares = float(sum(n @ np.square(cell) for n, cell in zip(_cells(judged), cells, strict=True)))
    sample = sampled_rows(judged)
    true, predicted = (sp.csr_array(sample.parts[name], dtype=np.float64) for name in ("labels", "predicted"))
    hit = true.multiply(predicted).tocsr()
    added = hit @ gradient.hit + true @ gradient.true + predicted @ gradient.predicted + gradient.row.sum()
    of_hit, of_missed, of_wrong, of_none = map(np.square, cells)
    alone = hit @ (of_hit - of_missed - of_wrong + of_none) + true @ (of_missed - of_none)
    alone += predicted @ (of_wrong - of_none) + of_none.sum()
    return squares + sample.scaled_sum(added**2 - alone, judged.weight)


# ---- metrics ---------------------------------------------------------------------------------------------------------


def rate(judged: Tallied, kind: str, average: str | None, beta: float = 1.0) -> Estimate:
    """A rate of decisions: `precision`, `recall`, `specificity` or `f_score`."""
    value = metrics.rate(judged, kind, average, beta)
    tally, K = decisions(judged), judged.n_classes
    counts = np.stack([tally.hit, tally.true, tally.predicted, np.full(K, judged.weight)])
    if average == "micro":
        counts = counts.sum(axis=1, keepdims=True)
    over, under = np.array(metrics.parts_of_rate(kind, beta, *np.eye(4)))  # the coefficient of each count
    n_rows = under @ counts
    values = ratio(over @ counts, n_rows)
    parts = (ratio(o - values * u, n_rows) for o, u in zip(over, under, strict=True))
    hit, true, predicted, row = (np.broadcast_to(part, K) for part in parts)
    gradient = Gradient(hit, true, predicted, row)
    if kind == "f_score":
        n_rows = n_rows / (1.0 + beta**2)
    if average is None:
        return estimates(judged, value, gradient, n_rows)
    if average == "micro":
        return estimate(judged, value, gradient, float(n_rows[0]), is_share=True)
    if average == "binary":
        one = np.arange(2) == judged.positive
        return estimate(judged, value, gradient.scaled(one), float(n_rows[judged.positive]), is_share=kind != "f_score")
    if average == "weighted" and tally.true.any():
        share = tally.true / tally.true.sum()
        gradient = gradient.scaled(share)
        of_share = (values - value) / tally.true.sum()
        gradient = Gradient(gradient.hit, gradient.true + of_share, gradient.predicted, gradient.row)
    else:
        occurs = metrics.occurring(judged)
        share = ratio(occurs.astype(np.float64), np.full(K, float(occurs.sum())))
        gradient = gradient.scaled(share)
    return estimate(judged, value, gradient, _together(share, n_rows))


def _together(share: np.ndarray, n_rows: np.ndarray) -> float:
    """The rows of a share as sure as a mean of shares of so many rows."""
    defined = (share > 0.0) & (n_rows > 0.0)
    if defined.any():
        return float(1.0 / (share[defined] ** 2 / n_rows[defined]).sum())
    return 0.0


def balanced_accuracy(judged: Tallied) -> Estimate:
    """Mean recall over the classes that have rows."""
    tally = decisions(judged)
    occurs = tally.true > 0.0
    share = occurs / max(occurs.sum(), 1)
    recall = ratio(tally.hit, tally.true)
    zero, hit = np.zeros(judged.n_classes), ratio(share, tally.true)
    gradient = Gradient(hit, -recall * hit, zero, zero)
    return estimate(judged, metrics.balanced_accuracy(judged), gradient, _together(share, tally.true))


def matthews_corrcoef(judged: Tallied) -> Estimate:
    """The derivative of ``(h W - t p) / sqrt((W^2 - t t) (W^2 - p p))`` with respect to the counts of each row."""
    value = metrics.matthews_corrcoef(judged)
    right, true, predicted, whole = metrics.shares(judged, "matthews_corrcoef")
    a, b = whole**2 - true @ true, whole**2 - predicted @ predicted
    root = np.inf
    if a * b > 0.0:
        root = np.sqrt(a * b)
    by_true = -predicted / root + value * ratio(true, np.full(true.shape, a))
    by_predicted = -true / root + value * ratio(predicted, np.full(true.shape, b))
    by_row = right / root - value * whole * float(ratio(np.ones(2), np.array([a, b])).sum())
    return _of_agreement(judged, value, whole / root, by_true, by_predicted, by_row)


def cohen_kappa(judged: Tallied) -> Estimate:
    """The derivative of ``(h W - t p) / (W^2 - t p)`` likewise."""
    value = metrics.cohen_kappa(judged)
    right, true, predicted, whole = metrics.shares(judged, "cohen_kappa")
    under = whole**2 - true @ predicted
    if not under > 0.0:
        under = np.inf
    by_true, by_predicted = (-(1.0 - value) * other / under for other in (predicted, true))
    return _of_agreement(judged, value, whole / under, by_true, by_predicted, (right - 2.0 * value * whole) / under)


def _of_agreement(judged: Tallied, value: float, hit: float, true: Any, predicted: Any, row: float) -> Estimate:
    K = judged.n_classes
    every_row = np.where(np.arange(K) == 0, row, 0.0)  # once a row, whichever class it stands with
    gradient = Gradient(np.full(K, hit), true, predicted, every_row)
    return estimate(judged, value, gradient, judged.weight, low=-1.0)
