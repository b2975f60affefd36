"""What is counted of judged predictions of numbers: how much errors vary, deciles of predictions, and intervals."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Annotated, Any, Self

import numpy as np

from streamnb.core import row_checks
from streamnb.evaluation.breakdowns import pooled
from streamnb.evaluation.estimates import clustered, quantile, wilson
from streamnb.evaluation.score_order import Histogram
from streamnb.evaluation.slices import Slices, Slicing
from streamnb.evaluation.tallied import buckets_of
from streamnb.evaluation.tallies import BUCKETS, WEIGHTS, ContentSample, add_weights, some_of
from streamnb.fits.statistic import Mergeable, Statistic, added
from streamnb.models.linear import linear_scores
from streamnb.passes.contract import Report
from streamnb.problem.losses import TweedieLoss
from streamnb.regression.conformal import Residuals
from streamnb.regression.newton import Exposed
from streamnb.regression.target_sums import targets_of
from streamnb.rows.boundary import checked
from streamnb.rows.row_blocks import Block
from streamnb.stats.row_means import RowMeans

PAIRED = "error", "absolute", "square", "target", "target^2", "loss", "exposed target", "saturated", "exposed"
VALUES = *PAIRED, "rounded", "infinite"  # what squares of targets lack, and which losses are infinite
PAIRS = np.triu_indices(len(PAIRED))
CONSTANT = 1e-30  # share of the squares of targets that rounding may leave of no variance
METRICS = "r2", "rmse", "mae", "mean_error", "d2", "mean_deviance"
OF_SLICES = "rmse", "mae", "mean_error", "r2"
LEVELS = 0.5, 0.8, 0.9, 0.95  # of intervals whose coverage is counted
N_BINS, N_DECILES, SAMPLED = 1 << 14, 10, 1000
STEP = 1e-4  # of numerical derivatives, in standard deviations


@dataclass(frozen=True, eq=False)
class NumberRows:
    """Judged rows.

    Attributes
    ----------
    values : (n, n_values)
        The `VALUES` of each row.
    weight : (n,)
    mean : (n,)
        The prediction for one unit of exposure.
    exposure : (n,)
    covered : (n, 2 n_levels)
        For each level, whether the interval holds the target, and how wide it is.
    bucket : (n,) int or None
        Of the group of each row.
    """

    values: np.ndarray
    weight: np.ndarray
    mean: np.ndarray
    exposure: np.ndarray
    covered: np.ndarray
    bucket: np.ndarray | None = None


@dataclass(eq=False)
class NumberTallies(Mergeable):
    """Judged predictions of numbers, in fixed memory.

    Parameters
    ----------
    loss : TweedieLoss
    level : float or None
        Confidence of intervals of metrics, if there are any.
    levels : tuple of float
        Of the intervals of predictions whose coverage is counted.
    """

    loss: TweedieLoss
    level: float | None
    levels: tuple[float, ...]
    n_rows: Annotated[int, np.add]
    means: Annotated[RowMeans, added]  # of values; of rows in groups, by bucket
    products: Annotated[RowMeans | None, added]  # of pairs of values of independent rows
    weights: Annotated[RowMeans, added]
    covered: Annotated[RowMeans, added]
    by_mean: Annotated[Histogram | None, added]  # weights, and parts of targets and predictions above and below 0
    sample: Annotated[ContentSample | None, added]

    @classmethod
    def asked(
        cls,
        loss: TweedieLoss,
        level: float | None = None,
        levels: tuple[float, ...] = (),
        grouped: bool = False,
        whole: bool = False,
    ) -> Self:
        """The tallies of no rows; `whole` with what only all rows of an evaluation have."""
        return cls(
            loss=loss,
            level=level,
            levels=levels,
            n_rows=0,
            means=RowMeans.of_values(VALUES, BUCKETS if grouped else 1),
            products=None if grouped or level is None else RowMeans.of_values(map(str, range(len(PAIRS[0])))),
            weights=RowMeans.of_values(WEIGHTS),
            covered=RowMeans.of_values(f"{what} {each}" for each in levels for what in ("share", "width")),
            by_mean=Histogram(1, 5, N_BINS) if whole else None,
            sample=ContentSample(SAMPLED, {"rows": np.zeros((0, 2))}) if whole else None,
        )

    def add_rows(self, rows: NumberRows) -> None:
        """Add rows of positive weight."""
        self.n_rows += len(rows.weight)
        add_weights(self.weights, rows.weight)
        self.means.add(list(rows.values.T), rows.weight, rows.bucket)
        if self.levels:
            self.covered.add(list(rows.covered.T), rows.weight)
        if self.products is not None:
            with np.errstate(all="ignore"):
                products = rows.values[:, PAIRS[0]] * rows.values[:, PAIRS[1]]
            self.products.add(list(products.T), rows.weight)
        if self.by_mean is not None and self.sample is not None:
            target, predicted = rows.values[:, VALUES.index("target")], rows.mean * rows.exposure
            parts = [np.maximum(sign * each, 0.0) for each in (target, predicted) for sign in (1.0, -1.0)]
            weight = np.column_stack([rows.exposure, *parts]) * rows.weight[:, None]
            scores, groups = np.repeat(rows.mean, 5), np.tile(np.arange(5), len(rows.mean))
            some = weight.ravel() > 0.0
            self.by_mean.add(scores[some][:, None, None], groups[some][:, None], weight.ravel()[some])
            self.sample.add({"rows": np.column_stack([target, predicted])}, rows.weight)

    @property
    def grouped(self) -> bool:
        """Whether rows are in groups, within which they are not independent."""
        return self.means.pairs.shape[1] > 1

    @property
    def n_buckets(self) -> int:
        """The buckets of groups that have rows."""
        return int(np.count_nonzero(self.means.sums[:, -1]))

    # ---- metrics -----------------------------------------------------------------------------------------------------

    def metrics(self) -> dict[str, float]:
        """Metrics from the means."""
        means = np.array([self.means.mean(name) for name in PAIRED])
        if self.means.mean("infinite") > 0.0:
            means[PAIRED.index("loss")] = np.inf
        return dict(zip(METRICS, _metrics(means, self.loss, self._variance()).tolist(), strict=True))

    def _variance(self) -> float:
        """That of the targets, from exact sums, as their squares may be much larger."""
        places = [*map(VALUES.index, ("target", "target^2", "rounded")), -1]
        sums = self.means.pairs[:, :, places]
        if not np.isfinite(sums).all():
            return np.inf
        target, square, rounded, weight = (sum(map(Fraction, part.flat)) for part in np.moveaxis(sums, 2, 0))
        variance = (square + rounded) / weight - (target / weight) ** 2
        if variance > CONSTANT * square / weight:
            return float(variance)
        return 0.0

    @property
    def n_effective(self) -> float:
        """The rows of equal weight that tell as much (Kish 1965); whole weights are numbers of rows."""
        weights = self.weights
        if weights.mean("fractional") == 0.0:
            return weights.weight
        return weights.weight / weights.mean("squared")

    def interval(self, metric: str) -> tuple[float, float]:
        """The normal interval of a metric, whose variance follows from those of the means (delta method)."""
        if self.level is None:
            raise ValueError("this evaluation was made without intervals; give interval=0.95 where it is made")
        if metric not in METRICS:
            raise ValueError(f"there is no interval of {metric!r}; it should be one of {', '.join(METRICS)}")
        means, at = np.array([self.means.mean(name) for name in PAIRED]), METRICS.index(metric)
        n, covariance = self.n_effective, np.zeros((len(PAIRED), len(PAIRED)))
        if self.products is not None:
            covariance[PAIRS] = [self.products.mean(name) for name in self.products.names]
            with np.errstate(all="ignore"):
                covariance = np.triu(covariance) + np.triu(covariance, 1).T - np.outer(means, means)
            deviations = np.sqrt(np.maximum(np.diagonal(covariance), 0.0))
        else:
            by_bucket = self.means.sums
            away = by_bucket[:, : len(PAIRED)] - by_bucket[:, -1:] * means
            deviations = np.sqrt(np.square(away).sum(axis=0)) / self.means.weight
        slopes = np.array([_slope(means, j, deviations[j], at, self.loss) for j in range(len(PAIRED))])
        used = np.flatnonzero(slopes)
        with np.errstate(all="ignore"):
            if self.products is not None:
                variance, df = slopes[used] @ covariance[np.ix_(used, used)] @ slopes[used] / (n - 1.0), n - 1.0
            else:
                variance, _, df = clustered(away[:, used] @ slopes[used] / self.means.weight)
            half = quantile(self.level, df) * np.sqrt(np.maximum(variance, 0.0))
        value = self.metrics()[metric]
        lowest, highest = (-np.inf, 1.0) if metric in ("r2", "d2") else (0.0, np.inf)
        if metric == "mean_error":
            lowest = -np.inf
        return float(np.maximum(value - half, lowest)), float(np.minimum(value + half, highest))

    def coverage(self) -> Iterator[tuple[float, ...]]:
        """Of each level of intervals: the share of rows inside with the ends of its interval, and the mean width.

        The ends are NaN for rows in groups.
        """
        for level in self.levels:
            share = self.covered.mean(f"share {level}")
            n = np.nan
            if not self.grouped:
                n = self.n_effective
            low, high = wilson(share, n, quantile(self.level or 0.95))
            yield level, share, float(low), float(high), self.covered.mean(f"width {level}")

    # ---- by prediction -----------------------------------------------------------------------------------------------

    def _levels(self) -> np.ndarray:
        """Exposed weight, targets and predictions of rows by rising prediction, (n_levels, 3)."""
        assert self.by_mean is not None
        weight, high, low, predicted_high, predicted_low = self.by_mean.counts(0).T
        table = np.column_stack([weight, high - low, predicted_high - predicted_low])
        return table[weight > 0.0]

    def deciles(self) -> np.ndarray:
        """Tenths of the rows by rising prediction: exposed weight, means of predictions and targets, lift, (n, 4)."""
        table = self._levels()
        up_to = np.cumsum(table[:, 0])
        of_decile = ((up_to - 0.5 * table[:, 0]) / up_to[-1] * N_DECILES).astype(np.int64)
        sums = np.stack([np.bincount(of_decile, column, N_DECILES) for column in table.T], axis=1)
        sums = sums[sums[:, 0] > 0.0]
        weight, targets, predicted = sums.T
        whole = targets.sum() / weight.sum()
        lift = targets / weight / whole if whole > 0.0 else np.full(len(weight), np.nan)
        return np.column_stack([weight, predicted / weight, targets / weight, lift])

    def gini(self) -> float:
        """Twice the area between the diagonal and the share of the targets that rows below a prediction have."""
        assert self.by_mean is not None
        table = self._levels()
        if self.by_mean.counts(0)[:, 2].any() or not table[:, 1].sum() > 0.0:
            return np.nan
        share, targets = (np.append(0.0, np.cumsum(part) / part.sum()) for part in table[:, :2].T)
        return round(float(1.0 - np.trapezoid(targets, share) * 2.0), 12)  # of equal predictions it is 0


def _metrics(means: np.ndarray, loss: TweedieLoss, variance: float | None = None) -> np.ndarray:
    """The `METRICS`, with the variance of the targets where it is known better than from means of their squares."""
    error, absolute, square, target, squared, of_loss, exposed_target, saturated, exposed = means
    with np.errstate(all="ignore"):
        mean = np.array([exposed_target / exposed])
        of_mean = saturated + exposed * (loss.values(loss.linked(mean), mean) - loss.saturated(mean))[0]
        r2 = _explained(square, squared - target**2 if variance is None else variance)
        d2 = _explained(of_loss, of_mean)
        return np.array([r2, np.sqrt(square), absolute, error, d2, 2.0 * of_loss])


def _explained(left: float, whole: float) -> float:
    """The share of a sum that is not left; 1 or 0 of nothing."""
    if whole > 0.0:
        return 1.0 - left / whole
    return float(left <= 0.0)


def _slope(means: np.ndarray, column: int, deviation: float, metric: int, loss: TweedieLoss) -> float:
    """The derivative of a metric by a mean."""
    step = STEP * deviation
    if not step > 0.0:
        return 0.0
    ends = [_metrics(means + sign * step * np.eye(len(means))[column], loss)[metric] for sign in (1.0, -1.0)]
    return float((ends[0] - ends[1]) / (2.0 * step))


@dataclass(eq=False)
class JudgedNumbers(Statistic):
    """Tallies of the predictions of a model, of all rows and of slices.

    Parameters
    ----------
    weights : (n_features + 1, n_targets), intercept last
    loss : TweedieLoss
        Of the model.
    judge : TweedieLoss
        Whose losses are summed.
    offset : bool
        Whether y has a further column, of offsets.
    residuals : Residuals or None
        Of held-out rows, by which predictions have intervals.
    tallies : list of NumberTallies
        Of each target.
    """

    weights: np.ndarray
    loss: TweedieLoss
    judge: TweedieLoss
    offset: bool
    residuals: Residuals | None
    grouped: bool
    slicing: Slicing | None
    n_rows: Annotated[int, np.add]
    tallies: Annotated[list[NumberTallies], added]
    slices: Annotated[Slices | None, added]
    title = "evaluate"

    @classmethod
    def asked(
        cls,
        weights: np.ndarray,
        loss: TweedieLoss,
        offset: bool = False,
        *,
        judge: TweedieLoss | None = None,
        residuals: Residuals | None = None,
        level: float | None = None,
        grouped: bool = False,
        slicing: Slicing | None = None,
        whole: bool = False,
    ) -> Self:
        """The tallies of no rows: metrics alone unless `whole`."""
        if judge is None:
            judge = loss
        most = 0.0
        if residuals is not None and whole:
            most = residuals.most
        levels = tuple(each for each in LEVELS if each <= most)
        slices = None
        if slicing is not None:
            slices = Slices(slicing, NumberTallies.asked(judge, level or LEVELS[-1]))
        tallies = [NumberTallies.asked(judge, level, levels, grouped, whole) for _ in weights.T]
        weights = np.ascontiguousarray(weights)
        return cls(weights, loss, judge, offset, residuals, grouped, slicing, 0, tallies, slices)

    def add_block(self, block: Block) -> None:
        chunk, table = checked(block)[0], targets_of(block)
        if table.shape[1] - self.offset != len(self.tallies):
            raise ValueError(f"y has {table.shape[1]} columns, and the model predicts {len(self.tallies)} targets")
        self.n_rows += block.n_rows
        scores = linear_scores(chunk, self.weights[:-1], self.weights[-1])
        for place, tallies in enumerate(self.tallies):
            y = table if self.offset else table[:, [place]]
            judged = self._judged(replace(block, y=y), scores[:, place], tallies.levels)
            some = judged.weight > 0.0
            if not some.all():
                judged = some_of(judged, some)
            tallies.add_rows(judged)
        if self.slices is not None and self.slicing is not None:
            self.slices.add(judged, self.slicing.taken(block.split, block.n_rows)[some])

    def _judged(self, block: Block, scores: np.ndarray, levels: tuple[float, ...]) -> NumberRows:
        """The rows of a block with their linear predictors for one target."""
        rows, y = Exposed.of(self.judge, self.offset, block), targets_of(block)
        target, mean, exposure = y[:, 0], self.loss.mean(scores), np.ones(block.n_rows)
        if self.judge == self.loss:
            losses = rows.factor * self.loss.values(scores, rows.y)
        else:
            losses = rows.factor * replace(self.judge, link="identity").values(mean, rows.y)
        predicted = self.loss.mean(scores + y[:, 1]) if self.offset else mean
        if self.offset and self.loss.link == "log":
            exposure = np.exp(y[:, 1])
        elif self.offset:
            mean = predicted
        error, infinite = target - predicted, np.isinf(losses)
        square, rounded = exact_square(target)
        values = [error, np.abs(error), error * error, target, square, np.where(infinite, 0.0, losses)]
        values += [rows.factor * rows.y, rows.factor * self.judge.saturated(rows.y), rows.factor, rounded, infinite]
        covered = [np.zeros((block.n_rows, 0))]
        for level in levels:
            assert self.residuals is not None
            _, low, high = self.residuals.around(predicted, self.residuals.ends(level)).T
            covered.append(np.column_stack([(low <= target) & (target <= high), high - low]))
        weight = np.ones(block.n_rows) if block.weight is None else np.asarray(block.weight, np.float64)
        bucket = None
        if self.grouped:
            split = block.split
            assert split is not None
            bucket = buckets_of(split if split.dtype.names is None else split["groups"], block.n_rows)
        return NumberRows(np.array(values).T, weight, mean, exposure, np.hstack(covered), bucket)

    def ended(self, report: Report) -> Self:
        row_checks.check_min_size(report.rows, 1)
        row_checks.check_total_weight(self.tallies[0].means.weight)
        return self


def exact_square(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Squares, and what rounding takes from them (Dekker 1971); 0 beyond the range in which halves can be squared."""
    square = values * values
    with np.errstate(over="ignore", invalid="ignore"):
        shifted = values * (2.0**27 + 1.0)
        upper = shifted - (shifted - values)
        lower = values - upper
        rounded = ((upper * upper - square) + 2.0 * upper * lower) + lower * lower
    return square, np.where(np.isfinite(rounded), rounded, 0.0)


def sliced(slices: Slices, whole: dict[str, float]) -> Iterator[tuple[Any, ...]]:
    """The rows of a table of slices, as `Evaluation.slices` has them."""
    for column, evaluations in slices.each():
        for value, one in pooled(evaluations, slices.slicing.min_rows):
            found = one.metrics()
            for metric in OF_SLICES:
                low, high = one.interval(metric)
                error, gap = 0.5 * (high - low) / quantile(one.level), found[metric] - whole[metric]
                gap = {"r2": gap, "mean_error": -abs(gap)}.get(metric, -gap)
                standardized = np.nan
                if error > 0.0:
                    standardized = gap / error
                numbers = found[metric], low, high, whole[metric], standardized
                yield (column.name, value, one.n_rows, metric, *numbers)
