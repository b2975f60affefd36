"""What is counted of judged predictions of numbers: how much errors vary, deciles, and prediction intervals."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from operator import add
from typing import Annotated, Any, Self

import numpy as np

from streamnb.core import persistence, row_checks
from streamnb.estimators.newton import Exposed
from streamnb.estimators.target_sums import targets_of
from streamnb.evaluation.breakdowns import pooled
from streamnb.evaluation.estimates import clustered, quantile, wilson
from streamnb.evaluation.score_order import Histogram
from streamnb.evaluation.slices import Slices, Slicing
from streamnb.evaluation.tallied import buckets_of, check_level
from streamnb.evaluation.tallies import BUCKETS, WEIGHTS, ContentSample, add_weights, some_of
from streamnb.models.linear import linear_scores
from streamnb.passes.contract import Report
from streamnb.passes.statistic import Mergeable, Statistic, added
from streamnb.problem.losses import Loss, QuantileLoss, TweedieLoss
from streamnb.rows.boundary import checked
from streamnb.rows.row_blocks import Block
from streamnb.rows.splits import Folding
from streamnb.stats.row_means import RowMeans

RESIDUAL_BINS = 4096


@persistence.register
@dataclass(frozen=True, eq=False)
class Residuals(persistence.Parameters):
    """The distribution of residuals of held-out rows, divided by the deviation of the family at the prediction.

    Attributes
    ----------
    lower, upper : (n_levels,), rising
        The ends of bins of residuals.
    weight : (n_levels,)
        Of the rows in each bin.
    power : float
        The deviation of a row is its mean to the power of half of this.
    """

    lower: Annotated[np.ndarray, "f8[n_levels]"]
    upper: Annotated[np.ndarray, "f8[n_levels]"]
    weight: Annotated[np.ndarray, "f8[n_levels]"]
    power: float

    @property
    def most(self) -> float:
        """The largest level of which the rows are enough for an interval."""
        return float(1.0 - 2.0 / (self.weight.sum() + 1.0))

    def ends(self, level: float) -> tuple[float, float]:
        """The residuals between which a further row lies with this probability, and as often below them as above.

        Of n rows, the further one is equally likely to have each of n + 1 ranks (Vovk, Gammerman and Shafer 2005).
        """
        up_to, tail = np.cumsum(self.weight), 0.5 * (1.0 - level)
        rank = (up_to[-1] + 1.0) * tail * (1.0 + 1e-12)
        if rank < 1.0:
            raise ValueError(
                f"interval={level:g} needs {1.0 / tail - 1.0:,.0f} held-out rows at least, and the model was judged "
                f"on {up_to[-1]:,.0f}: use a smaller interval, or calibrate the model with more rows"
            )
        low = self.lower[np.searchsorted(up_to, np.floor(rank))]
        from_top = np.cumsum(self.weight[::-1])
        high = self.upper[::-1][np.searchsorted(from_top, np.floor(rank))]
        return float(low), float(high)

    def intervals(self, interval: float) -> Callable[[np.ndarray], np.ndarray]:
        """What adds the ends of intervals of this confidence to predictions."""
        level = check_level(interval)
        assert level is not None
        return partial(self.around, ends=self.ends(level))

    def around(self, mean: np.ndarray, ends: tuple[float, float]) -> np.ndarray:
        """Predictions (n,), lower and upper ends, (n, 3)."""
        unit = deviations(mean, self.power)
        low, high = np.minimum(mean + ends[0] * unit, mean), np.maximum(mean + ends[1] * unit, mean)
        return np.column_stack([mean, np.maximum(low, 0.0) if self.power else low, high])


def check_one_target(n_targets: int) -> None:
    """Refuse intervals of several targets."""
    if n_targets > 1:
        raise ValueError(f"the model predicts {n_targets} targets, and intervals are of one: fit a model for each")


def deviations(mean: np.ndarray, power: float) -> np.ndarray:
    """Standard deviations of rows with these means but for a factor, of a family with the variance mean^power."""
    return np.maximum(mean, np.finfo(float).tiny) ** (0.5 * power) if power else np.ones_like(mean)


@dataclass(eq=False)
class HeldOutResiduals(Statistic):
    """Residuals of rows, each predicted by the model of its fold or, if there is no folding, by the only model.

    Parameters
    ----------
    loss : Loss
    offset : bool
        Whether y has a second column, of offsets.
    folding : Folding or None
    weights : (n_features + 1, n_folds or 1), intercepts last
    """

    loss: Loss
    offset: bool
    folding: Folding | None
    weights: np.ndarray
    counts: Annotated[Histogram, add]
    title = "residuals"

    @classmethod
    def asked(cls, loss: Loss, offset: bool, folding: Folding | None, weights: np.ndarray) -> Self:
        """The residuals of no rows."""
        return cls(loss, offset, folding, np.ascontiguousarray(weights), Histogram(1, 1, RESIDUAL_BINS))

    def add_block(self, block: Block) -> None:
        chunk, table = checked(block)[0], targets_of(block)
        if table.shape[1] - self.offset != 1:
            raise ValueError(f"y has {table.shape[1]} columns; intervals are of models of one target")
        weight = block.weights
        self.loss.check(table[:, 0], weight, block.first_row)
        scores = linear_scores(chunk, self.weights[:-1], self.weights[-1])
        own = np.zeros(block.n_rows, np.int64)
        if self.folding is not None:
            own = self.folding.numbers(block.first_row, block.n_rows, block.split, 0)
        mean = self.loss.mean(scores[np.arange(len(own)), own] + (table[:, 1] if self.offset else 0.0))
        self.add_predicted(table[:, 0], mean, weight)

    def add_predicted(self, y: np.ndarray, mean: np.ndarray, weight: np.ndarray) -> None:
        """Add targets and their held-out predictions, (n_rows,)."""
        residuals, counted = (y - mean) / deviations(mean, self.loss.power), weight > 0.0
        groups = np.zeros((int(counted.sum()), 1), np.int64)
        self.counts.add(residuals[counted][:, None, None], groups, weight[counted])

    def ended(self, report: Report) -> Self:
        row_checks.check_min_size(report.rows, 1)
        row_checks.check_total_weight(float(self.counts.counts(0).sum()))
        return self

    def found(self) -> Residuals:
        """Their distribution."""
        weight = self.counts.counts(0)[:, 0]
        lower, upper = self.counts.edges(0)
        filled = weight > 0.0
        return Residuals(lower[filled], upper[filled], weight[filled], self.loss.power)

    def about(self) -> dict[str, str]:
        known = {"the loss": repr(self.loss), "offset": repr(self.offset), "folding": repr(self.folding)}
        return {"the task": type(self).__name__, **known, "weights": persistence.digest(self.weights)}


# ---- errors ----------------------------------------------------------------------------------------------------------

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
    loss : Loss
    level : float or None
        Confidence of intervals of metrics, if there are any.
    levels : tuple of float
        Of the intervals of predictions whose coverage is counted.
    """

    loss: Loss
    level: float | None
    levels: tuple[float, ...]
    n_rows: Annotated[int, np.add]
    means: Annotated[RowMeans, added]  # of values; of rows in groups, by bucket
    products: Annotated[RowMeans | None, added]  # of pairs of values of independent rows
    weights: Annotated[RowMeans, added]
    covered: Annotated[RowMeans, added]
    by_mean: Annotated[Histogram | None, added]  # weights, and parts of targets and predictions above and below 0
    sample: Annotated[ContentSample | None, added]
    by_target: Annotated[Histogram | None, added]  # of quantiles: weights, and targets above and below 0

    @classmethod
    def asked(
        cls,
        loss: Loss,
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
            by_target=Histogram(1, 3, N_BINS) if isinstance(loss, QuantileLoss) else None,
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
        target, predicted = rows.values[:, VALUES.index("target")], rows.mean * rows.exposure
        if self.by_target is not None:
            _count(self.by_target, target, [np.ones_like(target), *_parts(target)], rows.weight)
        if self.by_mean is not None and self.sample is not None:
            _count(self.by_mean, rows.mean, [rows.exposure, *_parts(target), *_parts(predicted)], rows.weight)
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
        found = dict(zip(METRICS, _metrics(means, self.loss, self._variance()).tolist(), strict=True))
        if self.by_target is not None:
            found["d2"] = _explained(means[PAIRED.index("loss")], self._least_of_constants(self.by_target))
        return found

    def _least_of_constants(self, by_target: Histogram) -> float:
        """The least mean loss of a constant prediction: exact at the edges of bins, of which the best is taken."""
        weight, high, low = by_target.counts(0).T
        edges, at = by_target.edges(0)[0], weight > 0.0
        of_bins = np.column_stack([weight, high - low])
        below = np.cumsum(of_bins, axis=0) - of_bins
        edges, (n_below, below), (n_all, total) = edges[at], below[at].T, of_bins.sum(axis=0)
        too_low, too_high = self.loss.values(np.array([0.0, 1.0]), np.array([1.0, 0.0]))
        loss = too_low * ((total - below) - edges * (n_all - n_below)) + too_high * (edges * n_below - below)
        return float(loss.min() / n_all)

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
        if self.by_target is not None and metric == "d2":  # which is no function of means
            return np.nan, np.nan
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
        return np.column_stack([weight, high - low, predicted_high - predicted_low])[weight > 0.0]

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


def _parts(values: np.ndarray) -> list[np.ndarray]:
    """The parts above and below 0 of values, as weights of rows are never below."""
    return [np.maximum(sign * values, 0.0) for sign in (1.0, -1.0)]


def _count(histogram: Histogram, scores: np.ndarray, groups: list[np.ndarray], weight: np.ndarray) -> None:
    """Count values of rows, (n,) for each group, by their scores."""
    values, n_groups = (np.column_stack(groups) * weight[:, None]).ravel(), len(groups)
    some = values > 0.0
    scores, of_group = np.repeat(scores, n_groups)[some], np.tile(np.arange(n_groups), len(weight))[some]
    histogram.add(scores[:, None, None], of_group[:, None], values[some])


def _metrics(means: np.ndarray, loss: Loss, variance: float | None = None) -> np.ndarray:
    """The `METRICS`, with the variance of the targets where it is known better than from means of their squares."""
    error, absolute, square, target, squared, of_loss, exposed_target, saturated, exposed = means
    with np.errstate(all="ignore"):
        mean = np.array([exposed_target / exposed])
        of_mean = saturated + exposed * (loss.values(loss.linked(mean), mean) - loss.saturated(mean))[0]
        r2 = _explained(square, squared - target**2 if variance is None else variance)
        return np.array([r2, np.sqrt(square), absolute, error, _explained(of_loss, of_mean), 2.0 * of_loss])


def _explained(left: float, whole: float) -> float:
    """The share of a sum that is not left; 1 or 0 of nothing."""
    if whole > 0.0:
        return 1.0 - left / whole
    return float(left <= 0.0)


def _slope(means: np.ndarray, column: int, deviation: float, metric: int, loss: Loss) -> float:
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
    loss : Loss
        Of the model.
    judge : Loss
        Whose losses are summed.
    offset : bool
        Whether y has a further column, of offsets.
    residuals : Residuals or None
        Of held-out rows, by which predictions have intervals.
    tallies : list of NumberTallies
        Of each target.
    """

    weights: np.ndarray
    loss: Loss
    judge: Loss
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
        loss: Loss,
        offset: bool = False,
        *,
        judge: Loss | None = None,
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
            slices = Slices(slicing, NumberTallies.asked(judge, level or LEVELS[-1], grouped=grouped))
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
            judge = TweedieLoss(self.judge.power) if self.judge.power else self.judge
            losses = rows.factor * judge.values(mean, rows.y)
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
        bucket = None
        if self.grouped:
            split = block.split
            assert split is not None
            bucket = buckets_of(split if split.dtype.names is None else split["groups"], block.n_rows)
        return NumberRows(np.array(values).T, block.weights, mean, exposure, np.hstack(covered), bucket)

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
