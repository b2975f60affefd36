"""Fits additive models of numbers: a choice on a sample of the rows, then the weights of all rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from operator import add
from typing import Annotated, Any, Self

import numpy as np

from streamnb.additive.choice import JudgedPoint, NumberJudge, TermJudge
from streamnb.additive.fit import (
    AdditiveChoice,
    AdditiveRequest,
    CodedRows,
    check_sample,
    chosen_terms,
    pure_terms,
    sample_size,
)
from streamnb.additive.losses import NumberLosses
from streamnb.additive.terms import TermTables
from streamnb.encoding.learning import prepared
from streamnb.encoding.terms import TermColumns, codes_of
from streamnb.fits.passes import StatisticTask
from streamnb.fits.statistic import Statistic
from streamnb.passes.contract import Reading, ReadRequest, Report, RunOptions
from streamnb.problem.losses import TweedieLoss, slopes_bound
from streamnb.regression.conformal import HeldOutResiduals, Residuals
from streamnb.regression.newton import ONE_CLASS, Exposed, ExposedSums, LossTotals
from streamnb.rows.boundary import as_chunk, checked
from streamnb.rows.preparing import RowOptions
from streamnb.rows.row_blocks import Block
from streamnb.rows.source import Source
from streamnb.scanning.class_scan import folding_of
from streamnb.stats.accumulating import Accumulator
from streamnb.stats.class_stats import ClassStats
from streamnb.stats.row_sample import SampledRows, SampleTask
from streamnb.stats.totals import by_column
from streamnb.training.coordinates import LayeredSums
from streamnb.training.data import TrainingData, TrainingRows
from streamnb.training.fitting import LayeredMethod
from streamnb.training.learner import train_alone
from streamnb.training.method import Trained
from streamnb.training.objectives import Objective, RowSums
from streamnb.training.reading import ReadTask
from streamnb.training.sampled_curvature import TrainingSample, batches_of

NumberScoring = tuple[Callable[..., list[float]], list[str]]  # a function of predictions, and names of its scores
SIGNS = np.arange(2)  # of targets below and above the mean
CONSTANT = 1e-24  # deviance, in units of that of a prediction of twice the mean; less is rounding
LEAST_LEVEL = 1e-3  # of losses at the optimum
CURVED = 1 << 22  # values of the rows whose curvature stands for that of all


@dataclass(frozen=True)
class Targets:
    """Numbers to predict, and what is known of them.

    Attributes
    ----------
    loss : TweedieLoss
    offset : bool
        Whether y has offsets beside it.
    totals : LossTotals
        Of y as it is given.
    unit : float
        The mean deviance of a constant prediction, in units of which losses are trained and judged, so that those of y
        and of exposures do not matter.
    centre, scale : float
        Linear predictors times the scale, plus the centre, are those of y as it is given.
    """

    loss: TweedieLoss
    offset: bool
    totals: LossTotals
    unit: float = 1.0
    centre: float = 0.0
    scale: float = 1.0

    @property
    def exposure(self) -> float:
        """The mean of what the weights of rows were multiplied by."""
        return self.totals.exposed / self.totals.weight

    @property
    def mean(self) -> float:
        """The mean target."""
        return (self.totals.mean - self.centre) / self.scale

    @property
    def middle(self) -> np.ndarray:
        """The linear predictor of the mean, (1,)."""
        return self.loss.linked(np.array([self.mean]))

    def of_rows(self, block: Block) -> tuple[np.ndarray, np.ndarray]:
        """The targets of a block and weights, of mean 1 if rows have no others, by which scores have no offset."""
        rows = Exposed.of(self.loss, self.offset, block)
        return (rows.y - self.centre) / self.scale, rows.weight / self.exposure

    def check(self) -> None:
        """Raise where all targets are 0, and the logarithm of their mean is not finite."""
        if self.loss.link == "log" and not self.totals.mean > 0.0:
            raise ValueError(
                f"y is 0 in every row, so that the mean of a {self.loss.kind} model has no finite logarithm; take rows "
                "with other targets, or loss='squared'"
            )

    def in_units_of(self, rows: SampledRows) -> Self:
        """The same in units of the deviance of a constant prediction, by sampled rows; of squares, y is standardised.

        Where y is constant, its units stay.
        """
        y, mean = rows.labels.data, self.totals.mean
        losses = float(rows.weight @ self.loss.values(self.middle, y))
        unit = 2.0 * losses / float(rows.weight.sum())
        if not unit > CONSTANT * abs(mean) ** (2.0 - self.loss.power):
            unit = 1.0
        if self.loss.link == "identity":
            return replace(self, centre=mean, scale=float(np.sqrt(unit)))
        return replace(self, unit=unit)

    def losses_of(self, rows: SampledRows) -> NumberLosses:
        y = (rows.labels.data - self.centre) / self.scale
        return NumberLosses(self.loss, self.unit, y)

    def residuals_of(self, rows: SampledRows, scores: np.ndarray) -> Residuals:
        """The distribution of residuals of sampled rows, given their held-out scores, (n_rows,)."""
        held_out = HeldOutResiduals.asked(self.loss, False, None, np.zeros((1, 1)))
        mean = self.loss.mean(scores * self.scale + self.centre)
        held_out.add_predicted(rows.labels.data, mean, rows.weight)
        return held_out.found()


@dataclass(frozen=True, eq=False)
class ScoredNumbers(TermJudge):
    """Judges predicted numbers by scores of a search.

    Attributes
    ----------
    rows : SampledRows
    losses : NumberLosses
    targets : Targets
    scored : callable
        Returns scores, given predictions, targets and weights of rows.
    names : list of str
        Of the scores, of which the first chooses.
    """

    rows: SampledRows
    losses: NumberLosses
    targets: Targets
    scored: Callable[..., list[float]]
    names: list[str]

    def scores(self, scores: np.ndarray, some: np.ndarray) -> list[float]:
        predicted = self.targets.loss.mean(scores[:, 0]) * self.targets.scale + self.targets.centre
        return self.scored(predicted, self.rows.labels.data[some], self.rows.weight[some])


@dataclass(frozen=True)
class NumberObjective(Objective):
    """The loss of targets, of one row of weights; `share` is the mean of the targets.

    Attributes
    ----------
    start : float
        The losses of all rows where the prediction is the mean.
    level : float
        The share of the deviance that is not explained.
    """

    targeted: Targets
    start: float
    level: float = 1.0
    bounded = True

    @property
    def slope(self) -> float:  # type: ignore[override]
        loss, mean = self.targeted.loss, self.targeted.mean
        return (1.0 if loss.link == "identity" else mean ** (1.0 - loss.power)) / self.targeted.unit

    def intercepts(self, share: np.ndarray) -> np.ndarray:
        return self.targeted.loss.linked(share)

    def at_start(self, sums: RowSums) -> np.ndarray:
        return np.array([self.start])

    def curvature(self, share: np.ndarray) -> np.ndarray:
        return self.targeted.loss.curvatures(self.intercepts(share), share) / self.targeted.unit

    def trained(self, share: np.ndarray) -> np.ndarray:
        return np.ones(len(share), bool)

    def rows(self, block: Block, classes: np.ndarray) -> tuple[Any, np.ndarray, np.ndarray]:
        y, weight = self.targeted.of_rows(block)
        return y, y[:, None], weight

    def losses(self, scores: np.ndarray, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        losses, slopes = self.targeted.loss.evaluated(scores, targets)
        return slopes / self.targeted.unit, np.maximum(losses, 0.0) / self.targeted.unit

    def sampled_targets(self, labels: Any, n_rows: int) -> np.ndarray:
        return labels.data[:, None]

    def hessian(self, scores: np.ndarray, targets: np.ndarray) -> np.ndarray:
        return self.targeted.loss.curvatures(scores, targets) / self.targeted.unit

    def bounds(self, sums: RowSums, most: float) -> np.ndarray:
        unit, columns = self.targeted.unit, np.append(sums.squares, sums.weight)
        if self.targeted.loss.link == "identity":  # by Cauchy and Schwarz, of squares
            return np.sqrt(2.0 * most / unit) * np.sqrt(columns)
        level = self.targeted.totals.level / self.targeted.exposure
        return np.full(len(columns), slopes_bound(most * unit, level) / unit)

    def separated(self, largest: np.ndarray, share: np.ndarray) -> bool:
        return False


@dataclass(eq=False)
class TermSums(Statistic):
    """The weights of the rows of each column, targets about their mean, summed by column, and losses at the mean."""

    targets: Targets
    columns: Annotated[Any, add]  # an Accumulator as long as rows are added
    about_mean: Annotated[Any, add]
    losses: Annotated[Any, add]
    title = "scan"

    @classmethod
    def asked(cls, targets: Targets, limit: int | None) -> Self:
        """The sums of no rows."""
        of_rows, losses = (Accumulator(("sum",), RowOptions(), ONE_CLASS, memory_limit=limit) for _ in range(2))
        about_mean = Accumulator(("sum",), RowOptions(), SIGNS, memory_limit=limit)
        return cls(targets, of_rows, about_mean, losses)

    def add_block(self, block: Block) -> None:
        (chunk, survey), (y, weight) = checked(block), self.targets.of_rows(block)
        labels, about = np.zeros(len(y), np.int64), y - self.targets.mean
        self.columns.add(chunk, survey, labels, weight)
        self.about_mean.add(chunk, survey, (about > 0.0).astype(np.int64), weight * np.abs(about))
        losses = self.targets.loss.values(self.targets.middle, y)[:, None]
        self.losses.add(*as_chunk(losses, block.first_row), labels, weight)

    def ended(self, report: Report) -> Self:
        return self

    def about(self) -> dict[str, str]:
        return {"the task": type(self).__name__, "targets": repr(self.targets)}

    @property
    def of_columns(self) -> RowSums:
        """Sums for training, of targets in place of the rows of a class."""
        sums, mean = RowSums.of(self.columns), self.targets.mean
        below, above = by_column(self.about_mean.table("sum")).T
        own = sums.whole * mean + (above - below)
        return replace(sums, own=own[:, None], own_weight=np.array([sums.weight * mean]))

    @property
    def objective(self) -> NumberObjective:
        losses = float(self.losses.table("sum").value()[0, 0])
        return NumberObjective(self.targets, losses / self.targets.unit)


@dataclass(frozen=True, eq=False)
class FittedNumbers:
    """A fitted additive model of numbers: columns of terms with weights (n_columns, 1), and what is known of both.

    `residuals` are those of held-out rows; None where they have offsets, which a sample does not keep.
    """

    step: TermColumns
    weights: np.ndarray
    intercept: float
    tables: TermTables
    best: JudgedPoint
    judged: list[JudgedPoint]
    trained: Trained
    report: Report
    residuals: Residuals | None = None


def fit_numbers(
    loss: TweedieLoss,
    offset: bool,
    coded: CodedRows,
    given: Source,
    request: AdditiveRequest,
    method: tuple[float, int],
    options: RunOptions,
    scoring: NumberScoring | None = None,
) -> Reading[FittedNumbers]:
    """Choose penalties and pairs on a sample of the rows, and train the weights on all of them.

    `given` are the rows before their numbers became codes; `method` has the tolerance and the largest number of reads,
    and `scoring` the scores to choose by in place of the deviance that is explained.
    """
    folding, rows = folding_of(coded.rows, request.folds, request.groups, 1, request.seed)
    asked = ExposedSums.asked(loss, offset, folding, options.memory_limit)
    sums, report = yield ReadRequest(StatisticTask(asked), rows, options.of_pass("codes"))
    targets = Targets(loss, offset, sums.totals())
    targets.check()
    drawn, of_sample = yield from _sampled(sums.targets, coded, targets, rows, options)
    targets = targets.in_units_of(drawn)
    losses, n_folds = targets.losses_of(drawn), len(sums.targets.folds)
    judge: TermJudge = NumberJudge(drawn, losses)
    if scoring is not None:
        judge = ScoredNumbers(drawn, losses, targets, *scoring)
    choice = chosen_terms(coded, sums.moments.whole, drawn, judge, n_folds, request, options)
    residuals = None if offset else targets.residuals_of(drawn, choice.held_out[:, 0])
    del drawn, judge
    found = yield from _of_all_rows(targets, coded, request, choice, given, method, options)
    return replace(found, report=report + of_sample + found.report, residuals=residuals)


def _sampled(
    stats: ClassStats, coded: CodedRows, targets: Targets, rows: Source, options: RunOptions
) -> Reading[tuple[SampledRows, Report]]:
    """A sample of the rows, with codes of features."""
    size, n_rows = sample_size(coded), stats.n_rows
    check_sample(coded, min(size, n_rows), options)
    task = SampleTask(ONE_CLASS, stats.folding, size, each=1, missing=True, n_rows=n_rows, targets=targets)
    sample, report = yield ReadRequest(task, rows, options.of_pass("choice"))
    drawn = sample.drawn()
    return replace(drawn, X=codes_of(drawn.X, coded.firsts)), report


def _of_all_rows(
    targets: Targets,
    coded: CodedRows,
    request: AdditiveRequest,
    choice: AdditiveChoice,
    given: Source,
    method: tuple[float, int],
    options: RunOptions,
) -> Reading[FittedNumbers]:
    """Train the weights of all rows at the best point, and make pure terms at one resolution of them."""
    columns, layers, (tol, max_passes) = choice.terms.columns(coded.base), choice.terms.layers, method
    rows, options = prepared(columns, given), replace(options, keeping=None)  # codes, which are kept, take less memory
    asked = TermSums.asked(targets, options.memory_limit)
    sums, report = yield ReadRequest(StatisticTask(asked), rows, options.of_pass("scan"))
    objective = replace(sums.objective, level=min(max(1.0 - choice.best.mean, LEAST_LEVEL), 1.0))
    of_columns, n_rows = sums.of_columns, sums.columns.n_rows
    factors, layered = choice.factors, LayeredSums.of(of_columns, layers.parts)
    how = LayeredMethod(lambda stats: objective, len(columns.features), layers.parts, lambda point: factors)
    how.check_memory(columns.n_columns, layers.parts.shape[1], 1, 1, options.memory_limit)
    read = ReadTask.at_zero(objective, RowOptions(), ONE_CLASS, (columns.n_columns, 1))
    data = TrainingData(read, of_columns, solved=layered)
    if how.samples(data, choice.best.point) and rows.sites is None:
        size = min(CURVED // len(columns.features), n_rows)
        task = SampleTask(ONE_CLASS, None, size, each=1, n_rows=n_rows, targets=targets)
        sample, more = yield ReadRequest(task, rows, options.of_pass("sample-to-train"))
        drawn, report = sample.drawn(weighed=False), report + more
        drawn = replace(drawn, weight=drawn.weight * (of_columns.weight / drawn.weight.sum()))
        products = how.sampling(data).products
        data = replace(data, sample=TrainingSample(drawn, batches_of(drawn), more.seconds, products))
        del sample, drawn
    trainer = how.trainer(data, choice.best.point, tol, max_passes)
    del data
    training = TrainingRows(rows, columns.n_columns, RowOptions())
    trained, of_reads = yield from train_alone(trainer, training, n_rows, options, products=False)
    counts, intercept = of_columns.whole, trained.weights[-1]
    weights, intercept = pure_terms(coded, columns, trained.weights[:-1], intercept, counts, request.monotone)
    curvature = float(objective.curvature(np.array([targets.mean]))[0])
    deviations, scale = choice.deviations * targets.scale, targets.scale
    tables = TermTables(coded.features, counts, deviations, choice.freedom(curvature, counts))
    weights, intercept = weights * scale, float(intercept[0]) * scale + targets.centre
    return FittedNumbers(columns, weights, intercept, tables, choice.best, choice.judged, trained, report + of_reads)
