"""Fits an additive model: codes of features, a choice on a sample of the rows, then the weights of all rows."""

import time
from dataclasses import dataclass, replace
from functools import partial
from operator import add
from typing import Annotated, Any, NamedTuple, Self

import numpy as np
from sklearn.isotonic import IsotonicRegression

from streamnb.additive.choice import (
    ALL,
    AdditiveChooser,
    AdditiveRequest,
    FoldStage,
    JudgedPoint,
    choose,
    deviations_of,
    point_of,
)
from streamnb.additive.descent import (
    LEAST_GAIN,
    ROUNDING,
    SHORTER,
    AdditiveTerms,
    LaneModel,
    TermDescent,
    TermLayers,
    TermRows,
    TermWeights,
    bytes_of_models,
    lanes_of,
)
from streamnb.additive.losses import (
    ClassJudge,
    ClassLosses,
    NumberJudge,
    NumberLosses,
    NumberScoring,
    TermJudge,
    TermLosses,
)
from streamnb.additive.terms import TermTables, purified
from streamnb.core import memory, persistence, row_checks
from streamnb.encoding.bins import BinEdges, CodedFeatures, TermColumns, codes_of
from streamnb.encoding.learning import prepared
from streamnb.encoding.table_codes import BinCodes, LevelCodes
from streamnb.encoding.table_encoding import TableEncoding
from streamnb.estimators.judged import Residuals
from streamnb.estimators.newton import ONE_CLASS, ExposedSums
from streamnb.evaluation.scorers import Scorer
from streamnb.kernels import descent
from streamnb.kernels import terms as kernels
from streamnb.passes.contract import Reading, ReadRequest, Report, RunOptions
from streamnb.passes.fit import Fit, reads_of
from streamnb.passes.passes import Pass, StatisticTask
from streamnb.passes.statistic import Statistic
from streamnb.rows.boundary import checked
from streamnb.rows.preparing import RowOptions
from streamnb.rows.row_blocks import Block
from streamnb.rows.source import Source
from streamnb.scanning.class_scan import ClassScan, folding_of, run_scan
from streamnb.solving.fitting import USUAL
from streamnb.solving.learner import check_seen
from streamnb.solving.objectives import of_rows
from streamnb.solving.reading import WEIGHTS_KEY, power_above
from streamnb.stats.class_stats import ClassStats
from streamnb.stats.row_sample import RowSample, SampleTask
from streamnb.stats.tables import whole

SAMPLE = 1 << 16  # rows on which penalties and pairs are chosen
MOST_VALUES = 1 << 25  # of these rows; of more features the sample has fewer rows
LEAST_ROWS = 100
BYTES_OF_VALUE = 64  # of a sampled row and of its codes and indicators, while models are chosen
TRAINED_VALUES = 1 << 23  # columns of terms of the rows that stand for all rows in training
TRAINED_ROWS = 1 << 18
TRAINED_SCORES = 1 << 23  # of these rows; of more classes there are fewer rows, but for those of the choice
OF_EACH_CLASS = 200  # rows of a rare class in the sample, if it has as many
OF_SAMPLE = 0.1  # what the last step on a complete sample gains, as a share of what is left to gain in the end
OF_EXPECTED = 0.02  # the same of other samples, as a share of what is left before
READS_OF_SAMPLE = 500
HEADROOM = 2.0  # for losses that rise
ALL_ROWS = 1.0 - 1e-9  # the share of the weight of all rows that a sample of all of them has


@dataclass(frozen=True, eq=False)
class CodedRows:
    """Rows as indicators of codes, one of each feature, and how they are made.

    Attributes
    ----------
    rows : Source
    base : BinEdges or None
        The bins of numbers; None where an encoding makes codes of the columns of a table.
    features : list of str
    firsts, ordered, missing
        As in `CodedFeatures`.
    """

    rows: Source
    base: BinEdges | None
    features: list[str]
    firsts: np.ndarray
    ordered: np.ndarray
    missing: np.ndarray

    @classmethod
    def of_numbers(cls, rows: Source, base: BinEdges, names: Any) -> "CodedRows":
        """Rows of numbers, each as its bin."""
        features = [f"x{j}" for j in range(base.n_features)] if names is None else list(names)
        of_rows = prepared(base, rows)
        return cls(of_rows, base, features, base.firsts, np.ones(len(features), bool), base.missing)

    @classmethod
    def of_table(cls, rows: Source, encoding: TableEncoding) -> "CodedRows":
        """Rows of a table, each column as a bin or level."""
        codes: list[Any] = [code for _, code in encoding.coded]
        features = [part.label if len(part.columns) == 1 else " x ".join(part.columns) for part, _ in encoding.coded]
        for name, code in zip(features, codes, strict=True):
            if not isinstance(code, BinCodes | LevelCodes):
                raise ValueError(
                    f"column {name!r} is hashed or a number as it is, and additive models have a score for each bin "
                    "and each level; open the table with bins= and a larger min_count=, or leave the column out with "
                    "columns="
                )
        if encoding.texts:
            raise ValueError(
                f"column {encoding.texts[0][0]!r} is a text, and additive models have a score for each bin and each "
                "level; leave it out with columns="
            )
        ordered = np.array([isinstance(code, BinCodes) for code in codes])
        missing = [code.edges.missing[0] if isinstance(code, BinCodes) else code.missing for code in codes]
        firsts = np.concatenate([[0], np.cumsum([code.n_columns for code in codes])])
        return cls(rows, None, features, firsts, ordered, np.array(missing, bool))


class TrainedTerms(NamedTuple):
    """The weights of all rows, and how training ended.

    Attributes
    ----------
    weights : (n_columns + 1, R)
    counts : (n_columns,)
        The weight of the rows of each column.
    history : dict of arrays
        The objective, the norm of its gradient and the seconds of each read.
    converged : bool
    left : float
        The norm of the last gradient, as a share of that where weights are 0.
    """

    weights: np.ndarray
    counts: np.ndarray
    history: dict[str, np.ndarray]
    converged: bool
    left: float


@dataclass(frozen=True, eq=False)
class FittedTerms:
    """A fitted additive model, the step that makes its columns, and what is known of its terms.

    Attributes
    ----------
    step : TermColumns
    weights, intercept : (n_columns, R), (R,)
    tables : TermTables
    best, judged : JudgedPoint, list of them
    losses : TermLosses
    trained : TrainedTerms
    report : Report
    residuals : Residuals, optional
        Those of held-out rows of numbers; None where they have offsets, which a sample does not keep.
    """

    step: TermColumns
    weights: np.ndarray
    intercept: np.ndarray
    tables: TermTables
    best: JudgedPoint
    judged: list[JudgedPoint]
    losses: Any
    trained: TrainedTerms
    report: Report
    residuals: Residuals | None = None


@dataclass(frozen=True, eq=False)
class ChosenTerms:
    """The best point of an additive model, and what is needed to train its weights, should no other model be better.

    Attributes
    ----------
    coded, given : CodedRows, Source
        The rows, and those before their numbers became codes.
    counts : (n_codes,)
        The weight of the rows with each code.
    stats : ClassStats
    sample : RowSample
        The rows to train on.
    judge : TermJudge
    request, options : AdditiveRequest, RunOptions
    stage : FoldStage
        The models of folds at the best point.
    best, judged : JudgedPoint, list of them
    report : Report
        Of the reads to choose.
    """

    coded: CodedRows
    given: Source
    counts: np.ndarray
    stats: ClassStats
    sample: RowSample
    judge: TermJudge
    request: AdditiveRequest
    options: RunOptions
    stage: FoldStage
    best: JudgedPoint
    judged: list[JudgedPoint]
    report: Report

    @property
    def n_features(self) -> int:
        """Of the rows that the model takes."""
        return self.stage.terms.columns(self.coded.base).n_features

    def trained(self) -> Reading[FittedTerms]:
        """Train the weights of all rows at the best point, and make pure terms of them."""
        coded, judge, point, pairs = self.coded, self.judge, self.best.point, self.stage.pairs
        stage = replace(self.stage, pairs=dict.fromkeys(pairs, pairs[ALL]))
        terms, losses, columns = stage.terms, judge.losses, stage.terms.columns(coded.base)
        deviations = deviations_of(columns, self.best, self.stage)
        held_out = self.stage.rows.held_out(self.best.weights)
        for one in self.judged:
            one.weights.clear()
        weight = float(self.counts[: coded.firsts[1]].sum())
        rows, share = self._rows(columns, terms.layers, weight)
        most = most_rows(columns, coded.firsts, self.counts, weight)
        model, plain = stage.model(point, ALL), replace(self.options, keeping=None)
        training = trained_terms(rows, model, columns, most, self.request, share > ALL_ROWS)
        trained, of_training = yield from reads_of(training, self.given, plain)
        of_columns, intercept = trained.counts, trained.weights[-1]
        weights, intercept = purified(columns, trained.weights[:-1], intercept, of_columns)
        for name, direction in self.request.monotone.items():
            j = coded.features.index(name)
            steps = slice(columns.starts[j], columns.starts[j + 1] - int(coded.missing[j]))
            weights[steps] = monotone_steps(weights[steps], of_columns[steps], direction > 0)
        residuals = None
        if isinstance(judge, NumberJudge):
            intercept = intercept + judge.shift(held_out)
            residuals = judge.residuals(held_out)
        curvatures = losses.curvature() * (terms.layers.parts.T @ of_columns) * terms.factors(point["pair_factor"]) ** 2
        freedom = terms.layers.degrees_of_freedom(curvatures, point["l2"])
        tables = TermTables(coded.features, of_columns, deviations, freedom, self.stats.n_rows)
        reads = self.report + of_training
        return FittedTerms(
            columns, weights, intercept, tables, self.best, self.judged, losses, trained, reads, residuals
        )

    def _rows(self, columns: TermColumns, layers: TermLayers, weight: float) -> tuple[TermRows, float]:
        """The sampled rows by the columns of terms, with the `weight` of all rows, and their share of it."""
        losses, n_terms = self.judge.losses, len(columns.features)
        of_scores = max(TRAINED_SCORES // losses.width, sample_size(self.coded))
        drawn = self.sample.smaller(min(TRAINED_VALUES // n_terms, TRAINED_ROWS, of_scores)).drawn()
        n_rows = len(drawn.weight)
        needed = bytes_of_models(1, losses.width, n_rows, *layers.parts.shape) + 8 * n_rows * n_terms
        what = f"training an additive model of {n_terms:,} terms with {n_rows:,} sampled rows"
        memory.check(what, needed, self.options.memory_limit, "give a larger memory_limit, or fewer features")
        share = float(drawn.weight.sum()) / weight
        places, targets = columns.places_of(drawn.X, columns.n_columns), losses.sampled(drawn)
        return TermRows(columns, layers, places, losses, targets, drawn.weight / share, drawn.fold), share


def choose_classes(
    name: str, coded: CodedRows, given: Source, request: AdditiveRequest, scorer: Scorer, options: RunOptions
) -> Reading[ChosenTerms]:
    """Choose penalties and pairs on a sample of the rows.

    `name` is that of the estimator, for messages; `given` are the rows before their numbers became codes.
    """
    folding, rows = folding_of(coded.rows, request.folds, request.groups, 1, request.seed)
    scan = ClassScan(("sum",), RowOptions(), folding=folding, memory_limit=options.memory_limit)
    stats, report = yield from run_scan(scan, rows, options.of_pass("codes"))
    _check_classes(stats, request, name)
    losses, n_classes = ClassLosses(stats.classes, stats.weight), len(stats.classes)
    each = max(min(OF_EACH_CLASS, sample_size(coded) // n_classes), 1)
    counts = whole(of_rows(stats).table("sum")).value()[0]
    sample, of_sample = yield from _sampled(coded, stats, rows, each * n_classes, options, stats.classes, each=each)
    drawn = sample.smaller(sample_size(coded)).drawn()
    judge = ClassJudge(name, drawn, losses, len(stats.folds), scorer)
    judge.check()
    return _chosen(coded, given, counts, stats, sample, judge, request, options, report + of_sample)


def choose_numbers(
    losses: NumberLosses,
    coded: CodedRows,
    given: Source,
    request: AdditiveRequest,
    scoring: NumberScoring | None,
    options: RunOptions,
) -> Reading[ChosenTerms]:
    """The same of numbers; `scoring` has the scores to choose by in place of the deviance that is explained."""
    folding, rows = folding_of(coded.rows, request.folds, request.groups, 1, request.seed)
    asked = ExposedSums.asked(losses.loss, losses.offset, folding, options.memory_limit)
    sums, report = yield ReadRequest(StatisticTask(asked), rows, options.of_pass("codes"))
    losses, stats = replace(losses, totals=sums.totals()), sums.targets
    losses.check()
    sample, of_sample = yield from _sampled(coded, stats, rows, 0, options, ONE_CLASS, each=1, targets=losses)
    drawn = sample.smaller(sample_size(coded)).drawn()
    losses = losses.in_units_of(drawn)
    counts, judge = sums.moments.whole / losses.exposure, NumberJudge(drawn, losses, scoring)
    return _chosen(coded, given, counts, stats, sample, judge, request, options, report + of_sample)


# ---- the sample ------------------------------------------------------------------------------------------------------


def sample_size(coded: CodedRows) -> int:
    """The number of rows on which penalties and pairs are chosen."""
    return min(SAMPLE, max(MOST_VALUES // len(coded.features), LEAST_ROWS))


def _sampled(
    coded: CodedRows, stats: ClassStats, rows: Source, more: int, options: RunOptions, classes: np.ndarray, **how: Any
) -> Reading[tuple[RowSample, Report]]:
    """A sample of the rows to train on, with codes of features, and `more` of rare classes to choose on."""
    size, n_features = sample_size(coded), len(coded.features)
    n_rows = min(size + more, stats.n_rows)
    what = f"a sample of {n_rows:,} rows of {n_features:,} features"
    needed, cure = BYTES_OF_VALUE * n_rows * n_features, "give a larger memory_limit, or fewer features"
    memory.check(what, needed, options.memory_limit, cure)
    size = max(size, min(TRAINED_VALUES // n_features, TRAINED_ROWS))
    how |= {"n_rows": stats.n_rows, "mean_weight": stats.total_weight / stats.n_rows}
    task = SampleTask(classes, stats.folding, size, missing=True, **how)
    sample, report = yield ReadRequest(task, rows, options.of_pass("choice"))
    return sample.mapped(partial(codes_of, firsts=coded.firsts)), report  # codes take a third of the bytes


def _check_classes(stats: ClassStats, request: AdditiveRequest, who: str) -> None:
    """Refuse labels that an additive model has no scores for."""
    if stats.multilabel:
        raise ValueError(
            f"y is an indicator of several labels, and {who} needs one label a row; fit one for each label"
        )
    seen = stats.classes[stats.weight > 0.0]
    check_seen(seen.tolist(), who, None)
    row_checks.warn_of_measured(seen, len(seen), stats.n_rows)
    if request.monotone and len(stats.classes) > 2:
        raise ValueError(f"monotone={request.monotone} needs two classes, and y has {len(stats.classes)}")


# ---- the weights of all rows -----------------------------------------------------------------------------------------


@dataclass(eq=False)
class TermSums(Statistic):
    """The losses of rows under weights of terms, their gradient, and the weights of the rows of each column.

    Parameters
    ----------
    losses : TermLosses
    columns : TermColumns
    weights : (n_columns + 1, R), intercepts last
    grid : (n_columns + 2, 1 + R)
        Powers of two above the sums, on which what is added is rounded, so that sums do not depend on the order.
    top : float
        A power of two above the losses that matter.

    Attributes
    ----------
    sums : (n_columns + 2, 1 + R)
        The weight of the rows, then the slopes of their losses, of each column, of all rows and of absent columns.
    loss : float
    """

    losses: TermLosses
    columns: TermColumns
    weights: np.ndarray
    grid: np.ndarray
    top: float
    sums: Annotated[np.ndarray, np.add]
    loss: Annotated[float, add] = 0.0
    title = "read"

    @classmethod
    def asked(cls, losses: TermLosses, columns: TermColumns, weights: np.ndarray, most: np.ndarray, top: float) -> Self:
        """The sums of no rows, given the `most_rows` of a column, and a loss that is above that of all rows."""
        bounds = np.repeat(losses.bounds(most, top)[:, None], losses.width, axis=1)
        grid = power_above(np.column_stack([most, bounds]))
        return cls(losses, columns, weights, grid, float(power_above(top)), np.zeros(grid.shape))

    def add_block(self, block: Block) -> None:
        (chunk, _), n_columns, width = checked(block, missing=True), self.columns.n_columns, self.losses.width
        places = self.columns.places_of(self.columns.codes(chunk), n_columns + 1)
        targets, weight = self.losses.of_rows(block)
        table = lanes_of([np.pad(self.weights, ((0, 1), (0, 0)))])
        scores = np.broadcast_to(table[n_columns], (block.n_rows, table.shape[1])).copy()
        kernels.score_terms(places, table, scores)
        slopes, losses = self.losses.evaluated(np.ascontiguousarray(scores[:, :width]), targets)
        counted = np.where(weight > 0.0, weight, 0.0)[:, None]
        total, largest = np.zeros((2, 1, 1))
        descent.add_losses(losses[:, None], slopes[:, None], counted, np.array([self.top]), total, largest)
        self.loss += float(total[0, 0])
        values = np.column_stack([counted, slopes])
        kernels.sum_terms(places, values, 3.0 * self.grid, self.sums)
        descent.add_intercepts(values, 3.0 * self.grid[n_columns], self.sums[n_columns])

    def ended(self, report: Report) -> Self:
        return self

    def about(self) -> dict[str, str]:
        known = {"the task": type(self).__name__, "losses": repr(self.losses), "terms": repr(self.columns)}
        return known | {WEIGHTS_KEY: persistence.digest(self.weights)}

    def objective(self, at: TermWeights) -> float:
        """The losses, as far as they matter, and the penalty."""
        return min(self.loss, 2.0 * self.top) + at.penalty


def most_rows(columns: TermColumns, firsts: np.ndarray, counts: np.ndarray, weight: float) -> np.ndarray:
    """The most rows that each column of terms can have, then twice the `weight` of all rows, (n_columns + 2,).

    Those of a cell of a pair are at most those of the steps of either feature.
    """
    found = [np.repeat(weight, 2)]
    for features, sides in zip(columns.features.tolist(), columns.sides, strict=True):
        i, j = features
        first = np.bincount(sides[0], counts[firsts[i] : firsts[i + 1]])
        if j >= 0:
            second = np.bincount(sides[1], counts[firsts[j] : firsts[j + 1]])
            first = np.minimum.outer(first, second).reshape(-1)
        found.insert(-1, first)
    return np.concatenate(found)


def trained_terms(
    rows: TermRows, model: LaneModel, columns: TermColumns, most: np.ndarray, request: AdditiveRequest, complete: bool
) -> Fit[TrainedTerms]:
    """Train a model of all rows by reads that say how the sampled `rows` differ from them.

    The first read is at the optimum of the sample where it is `complete`, else at the start of the model. A read that
    finds a larger objective is followed by one on the way to it, and later steps on the sample are held back more.
    Training ends where more would gain little for each row.
    """
    losses, history = rows.losses, list[tuple[float, float, float]]()
    least = max(LEAST_GAIN * min(request.tol / USUAL, 1.0) ** 2, ROUNDING)
    cold = TermDescent(rows, [replace(model, start=None)])
    expected = at_start = cold.expected_gain()
    goal = model.start
    point, value, shorter = rows.without_terms(cold.weights[-1, : losses.width]), losses.at_start(), 0
    held_back = 1.0
    top = HEADROOM * value
    if complete or goal is None:  # from the start, so that weights do not depend on the folds
        (goal,) = cold.trained(OF_SAMPLE * least, READS_OF_SAMPLE)
    del cold
    while True:
        began = time.perf_counter()
        asked = TermSums.asked(losses, columns, goal.weights, most, top)
        (sums,) = yield [Pass(StatisticTask(asked))]
        objective, seconds = sums.objective(goal), time.perf_counter() - began
        rises = not objective <= value + ROUNDING * abs(value)
        if rises and shorter < SHORTER and len(history) + 1 < request.max_passes:
            history.append((objective, np.sqrt(expected), seconds))
            goal, shorter, held_back = point.towards(goal, 0.25), shorter + 1, 2.0 * held_back
            continue
        point, value, shorter, counts = goal, objective, 0, sums.sums[:-2, 0]
        sample = TermDescent(rows, [replace(model, start=point)])
        sample.correct(sums.sums[:-1, 1:] + point.pulls, held_back * counts)
        expected = sample.expected_gain()
        history.append((objective, np.sqrt(expected), seconds))
        converged = expected <= least
        if converged or len(history) >= request.max_passes:
            break
        (goal,) = sample.trained(OF_EXPECTED * expected, READS_OF_SAMPLE)
        del sample
    columns_of_history = zip(("objective", "gradient_norm", "seconds"), np.array(history).T, strict=True)
    left = np.sqrt(expected / at_start) if at_start > 0.0 else 0.0
    return TrainedTerms(point.weights, counts, dict(columns_of_history), converged, left)


def _chosen(
    coded: CodedRows,
    given: Source,
    counts: np.ndarray,
    stats: ClassStats,
    sample: RowSample,
    judge: TermJudge,
    request: AdditiveRequest,
    options: RunOptions,
    report: Report,
) -> ChosenTerms:
    """Choose on sampled rows, given attributes of `ChosenTerms`."""
    request = request.of_rows(judge.rows.weight)
    features = CodedFeatures(coded.firsts, counts, coded.ordered, coded.missing)
    alone = AdditiveTerms(features, tuple(request.resolutions))
    chooser = AdditiveChooser(alone, len(stats.folds), judge, options.memory_limit)
    if isinstance(judge, NumberJudge) and judge.losses.of_quantile:
        judge = _sharpened(chooser, judge, request)
        chooser = replace(chooser, judge=judge)
    best, stage, judged = choose(chooser, request, coded.features)
    return ChosenTerms(coded, given, counts, stats, sample, judge, request, options, stage, best, judged, report)


def _sharpened(chooser: AdditiveChooser, judge: NumberJudge, request: AdditiveRequest) -> NumberJudge:
    """A judge whose smooth loss suits the residuals of models of single features."""
    stage = chooser.without_pairs
    (middle,) = stage.judged([point_of(request)])
    return judge.sharpened(stage.rows.held_out(middle.weights))


def monotone_steps(scores: np.ndarray, counts: np.ndarray, increasing: bool) -> np.ndarray:
    """The nearest scores (n_steps, 1) that rise or fall, weighted by counts."""
    fit = IsotonicRegression(increasing=increasing)
    return fit.fit_transform(np.arange(len(scores)), scores[:, 0], sample_weight=np.maximum(counts, 1e-9))[:, None]
