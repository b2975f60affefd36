"""Fits an additive model: codes of features, a choice on a sample of the rows, then the weights of all rows."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.isotonic import IsotonicRegression

from streamnb.additive.choice import ALL, AdditiveChooser, ClassJudge, FoldStage, JudgedPoint, TermJudge
from streamnb.additive.layers import AdditiveTerms
from streamnb.additive.terms import TermTables, of_terms, purified
from streamnb.core import memory
from streamnb.encoding.bins import BinEdges
from streamnb.encoding.learning import StepsOfFolds, prepared
from streamnb.encoding.table_codes import BinCodes, LevelCodes
from streamnb.encoding.table_encoding import TableEncoding
from streamnb.encoding.terms import CodedFeatures, TermColumns, codes_of
from streamnb.evaluation.scorers import Scorer
from streamnb.models.linear import LinearModel
from streamnb.passes.contract import Reading, ReadRequest, RunOptions
from streamnb.rows.preparing import RowOptions
from streamnb.rows.source import Source
from streamnb.scanning.class_scan import ClassScan, folding_of, run_scan
from streamnb.selection.folded_scan import scan_to_train
from streamnb.selection.score_table import EndOfGrid
from streamnb.selection.split_intervals import standard_error
from streamnb.stats.class_stats import ClassStats
from streamnb.stats.row_sample import SampledRows, SampleTask
from streamnb.stats.totals import whole
from streamnb.training.fitting import LayeredMethod
from streamnb.training.learner import FittedModel, Learner
from streamnb.training.objectives import of_rows, softmax_of

SAMPLE = 1 << 16  # rows on which penalties and pairs are chosen
MOST_VALUES = 1 << 25  # of these rows; of more features the sample has fewer rows
LEAST_ROWS = 100
BYTES_OF_VALUE = 64  # of a sampled row and of its codes and indicators, while models are chosen
LEAST_FACTOR = 1.0  # of the penalty of pairs: smaller ones than of features follow from l2
MOST_FURTHER = 8  # penalties beyond the end of the default ones
NUMBERS = 5, 10, 20, 40  # of pairs, for "auto"
MOST_WEIGHTS = 1 << 20  # of the cells of pairs of all classes, for "auto"; each takes some 300 bytes in training
CLEAR = 0.25  # standard errors of the mean difference by which more pairs must be better
OF_EACH_CLASS = 200  # rows of a rare class in the sample, if it has as many
MOST_FEATURES = 200  # whose pairs are ranked; of more, those that matter most alone


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


@dataclass(frozen=True)
class AdditiveRequest:
    """The parameters of the choice and fit of an additive model.

    Attributes
    ----------
    l2, pair_factors : numbers to choose from
    going_on : list of str
        Those of "l2" and "pair_factor" of which further ones are tried where an end is clearly the best.
    interactions : int, "auto" or pairs of names
    resolutions : numbers of steps coarser than the bins, ascending
    monotone : dict of name to 1 or -1
    folds, groups, seed, scorer
        The folds, their groups and seed, and the scores by which points are judged.
    settles : callable, optional
        Whether no other point than the first is tried, given its scores on the folds by each scorer.
    """

    l2: Sequence[float]
    pair_factors: Sequence[float]
    going_on: Sequence[str]
    interactions: Any
    resolutions: Sequence[int]
    monotone: dict[str, int]
    folds: Any
    groups: Any
    seed: int
    scorer: Scorer | None
    settles: Callable[[dict[str, np.ndarray]], bool] | None = None


@dataclass(frozen=True, eq=False)
class FittedTerms:
    """A fitted additive model, the step that makes its columns, and what is known of its terms."""

    fitted: FittedModel
    step: TermColumns
    tables: TermTables
    best: JudgedPoint
    judged: list[JudgedPoint]


def fit_terms(
    learner: Learner,
    coded: CodedRows,
    given: Source,
    request: AdditiveRequest,
    options: RunOptions,
) -> Reading[FittedTerms]:
    """Choose penalties and pairs on a sample of the rows, and train the weights on all of them.

    `given` are the rows before their numbers became codes.
    """
    folding, rows = folding_of(coded.rows, request.folds, request.groups, 1, request.seed)
    scan = ClassScan(("sum",), RowOptions(), folding=folding, memory_limit=options.memory_limit)
    stats, report = yield from run_scan(scan, rows, options.of_pass("codes"))
    _check_classes(stats, request, learner.name)
    size = sample_size(coded)
    each = max(min(OF_EACH_CLASS, size // len(stats.classes)), 1)
    check_sample(coded, min(size + each * len(stats.classes), stats.n_rows), options)
    task = SampleTask(stats.classes, stats.folding, size, each=each, missing=True, n_rows=stats.n_rows)
    sample, more = yield ReadRequest(task, rows, options.of_pass("choice"))
    drawn = sample.drawn()
    drawn = replace(drawn, X=codes_of(drawn.X, coded.firsts))
    del sample  # its codes are kept, in a third of the bytes
    assert request.scorer is not None
    judge = ClassJudge(learner.name, drawn, stats.classes, len(stats.folds), request.scorer)
    choice = chosen_terms(coded, counts_of(stats), drawn, judge, len(stats.folds), request, options)
    del drawn, judge
    found = yield from _of_all_rows(learner, coded, request, choice, given, options)
    return replace(found, fitted=replace(found.fitted, report=report + more + found.fitted.report))


def sample_size(coded: CodedRows) -> int:
    """The number of rows on which penalties and pairs are chosen."""
    return min(SAMPLE, max(MOST_VALUES // len(coded.features), LEAST_ROWS))


def check_sample(coded: CodedRows, n_rows: int, options: RunOptions) -> None:
    """Raise where a sample of so many rows needs more memory than allowed."""
    n_features = len(coded.features)
    what = f"a sample of {n_rows:,} rows of {n_features:,} features"
    needed, cure = BYTES_OF_VALUE * n_rows * n_features, "give a larger memory_limit, or fewer features"
    memory.check(what, needed, options.memory_limit, cure)


@dataclass(frozen=True, eq=False)
class AdditiveChoice:
    """The terms and the point that were chosen, all points judged, and deviations of scores as in `TermTables`.

    `held_out` (n_rows, R) are the scores of the sampled rows by the models without their folds.
    """

    terms: AdditiveTerms
    best: JudgedPoint
    judged: list[JudgedPoint]
    deviations: np.ndarray
    held_out: np.ndarray

    @property
    def factors(self) -> np.ndarray:
        """Factors of the steps of all layers."""
        return self.terms.factors(self.best.point["pair_factor"])

    def freedom(self, curvature: float, counts: np.ndarray) -> np.ndarray:
        """Degrees of freedom of the terms, given the second derivative of a row's loss and the rows of each column."""
        layers = self.terms.layers
        curvatures = curvature * (layers.parts.T @ counts) * self.factors**2
        return layers.degrees_of_freedom(curvatures, self.best.point["l2"])


def chosen_terms(
    coded: CodedRows,
    counts: np.ndarray,
    rows: SampledRows,
    judge: TermJudge,
    n_folds: int,
    request: AdditiveRequest,
    options: RunOptions,
) -> AdditiveChoice:
    """Choose on sampled rows, and free the models that were judged; `counts` are the weights of all codes."""
    features = CodedFeatures(coded.firsts, counts, coded.ordered, coded.missing)
    alone = AdditiveTerms(features, tuple(request.resolutions))
    chooser = AdditiveChooser(alone, rows, n_folds, judge, options.memory_limit)
    judge.check()
    best, stage, judged = choose(chooser, request, coded.features)
    terms = replace(alone, pairs=tuple(stage.pairs[ALL]))
    deviations, held_out = _deviations(terms.columns(), best, stage), stage.rows.held_out(best.weights)
    for point in judged:
        point.weights.clear()
    return AdditiveChoice(terms, best, judged, deviations, held_out)


def _check_classes(stats: ClassStats, request: AdditiveRequest, who: str) -> None:
    """Refuse labels that an additive model has no scores for."""
    if stats.multilabel:
        raise ValueError(
            f"y is an indicator of several labels, and {who} needs one label a row; fit one for each label"
        )
    seen = stats.classes[stats.weight > 0.0].tolist()
    if len(seen) < 2:
        raise ValueError(f"y holds one class only ({seen}); {who} needs at least 2 classes")
    if request.monotone and len(stats.classes) > 2:
        raise ValueError(
            f"monotone={request.monotone} is for two classes, and y has {len(stats.classes)}: no score rises by itself"
        )


def choose(
    chooser: AdditiveChooser, request: AdditiveRequest, features: Sequence[str]
) -> tuple[JudgedPoint, FoldStage, list[JudgedPoint]]:
    """The best point, the models without each fold of its terms, and all points with their scores.

    Penalties are chosen without pairs. Then pairs are added, as many as asked for, or ever more while scores rise.
    """
    stage, middle = chooser.without_pairs, request.l2[len(request.l2) // 2]
    judged = stage.judged([{"l2": middle, "l1": 0.0, "pair_factor": 1.0, "interactions": 0}])
    if request.settles is not None and request.settles(judged[0].each):
        return judged[0], stage, judged
    judged += _other_penalties(request, stage, judged[0])
    best = max(judged, key=lambda point: point.mean)
    automatic, given = request.interactions == "auto", not isinstance(request.interactions, int | str)
    pairs = [(features.index(one), features.index(other)) for one, other in request.interactions] if given else []
    numbers = NUMBERS if automatic else [len(pairs) if given else request.interactions]
    if not any(numbers) or len(features) < 2:
        return _with_penalties_beyond(request, stage, judged, judged)
    n_alone = len(judged)
    if given:
        ranked = dict.fromkeys(range(ALL, chooser.n_folds), pairs)
    else:
        left_out = [features.index(name) for name in request.monotone]
        ranked = chooser.ranked(best, max(numbers), left_out, MOST_FEATURES)
    pair_factors = request.pair_factors
    for number in numbers:
        chosen = {fold: pairs[:number] for fold, pairs in ranked.items()}
        if not any(chosen.values()) or chosen == stage.pairs:
            break
        if automatic and chooser.n_weights(chosen[ALL]) > MOST_WEIGHTS:
            break
        points = [{**best.point, "pair_factor": factor, "interactions": len(chosen[ALL])} for factor in pair_factors]
        with_pairs = FoldStage(chooser, chosen)
        more = with_pairs.judged(points)
        if "pair_factor" in request.going_on and len(points) > 1:
            more = _going_on(with_pairs, more, "pair_factor", LEAST_FACTOR)
        judged, top = judged + more, max(more, key=lambda point: point.mean)
        if automatic and not _clearly_better(top.scores, best.scores):
            break
        best, stage, pair_factors = top, with_pairs, [top.point["pair_factor"]]
    if stage is chooser.without_pairs:
        return _with_penalties_beyond(request, stage, judged[:n_alone], judged)
    more = _other_penalties(request, stage, best)  # pairs may bear a smaller one than features alone
    return _with_penalties_beyond(request, stage, [best, *more], judged + more)


def _other_penalties(request: AdditiveRequest, stage: FoldStage, best: JudgedPoint) -> list[JudgedPoint]:
    """Points that differ from this one in l2: all that were given, or the usual ones as far as scores rise."""
    l2, judged = best.point["l2"], list[JudgedPoint]()
    larger, smaller = sorted(one for one in request.l2 if one > l2), sorted(one for one in request.l2 if one < l2)[::-1]
    last = {True: best.mean, False: best.mean}
    while larger or smaller:
        for point in stage.judged([{**best.point, "l2": side.pop(0)} for side in (larger, smaller) if side]):
            above = point.point["l2"] > l2
            if "l2" in request.going_on and not point.mean > last[above]:
                (larger if above else smaller).clear()
            last[above] = point.mean
            judged.append(point)
    return judged


def _with_penalties_beyond(
    request: AdditiveRequest, stage: FoldStage, along: list[JudgedPoint], judged: list[JudgedPoint]
) -> tuple[JudgedPoint, FoldStage, list[JudgedPoint]]:
    """The best of points `along` that differ in their penalty, which may go on, the stage, and all points judged.

    This comes last: where features say nothing by themselves, their penalty would leave no room for pairs.
    """
    further = _going_on(stage, along, "l2")[len(along) :] if "l2" in request.going_on else []
    return max([*along, *further], key=lambda point: point.mean), stage, judged + further


def _going_on(stage: FoldStage, judged: list[JudgedPoint], name: str, least: float = 0.0) -> list[JudgedPoint]:
    """Points that differ in a penalty, and further ones as long as one is clearly the best, above `least`."""
    for _ in range(MOST_FURTHER):
        best = max(range(len(judged)), key=lambda place: judged[place].mean)
        points, scores = [point.point for point in judged], np.array([point.scores for point in judged])
        end = EndOfGrid.at(points, scores, best, name, (least, np.inf))
        if end is None:
            break
        judged = judged + stage.judged([{**points[best], name: end.further}])
    return judged


def _clearly_better(scores: np.ndarray, than: np.ndarray) -> bool:
    """Whether scores are higher on average, by more than a part of the standard error of the difference."""
    gains = (scores - than)[~np.isnan(scores - than)]
    return bool(len(gains)) and bool(gains.mean() > CLEAR * standard_error(gains))


def _of_all_rows(
    learner: Learner,
    coded: CodedRows,
    request: AdditiveRequest,
    choice: AdditiveChoice,
    given: Source,
    options: RunOptions,
) -> Reading[FittedTerms]:
    """Train the weights of all rows at the best point, and make pure terms at one resolution of them."""
    columns, layers, point = choice.terms.columns(coded.base), choice.terms.layers, choice.best.point
    factors = choice.factors
    method = LayeredMethod(softmax_of, len(columns.features), layers.parts, lambda point: factors)
    learner = replace(learner, method=method)
    rows = prepared(columns, given)  # not kept: codes, which are, take less memory
    plain = replace(options, keeping=None)
    scanned = yield from scan_to_train(learner, RowOptions(), StepsOfFolds(), rows, None, plain)
    fitted = yield from learner.fit(scanned.whole, scanned.rows, point, learner.max_passes, plain, scanned.scan_report)
    counts = counts_of(scanned.stats)
    share = scanned.stats.weight[scanned.stats.weight > 0.0] / scanned.stats.total_weight
    slopes = float((share * (1.0 - share)).mean())  # second derivative of a row's loss, without features
    freedom = choice.freedom(slopes, counts)
    weights, intercept = fitted.model.weights, fitted.model.intercept_
    pure, intercept = pure_terms(coded, columns, weights, intercept, counts, request.monotone)
    possible = np.isfinite(intercept)  # others are classes without rows
    pure = _centred(pure, possible)  # probabilities do not change
    if len(intercept) > 1:
        intercept -= intercept[possible].mean()
    model = LinearModel(fitted.model.classes_, pure, intercept, fitted.model.scheme)
    deviations = _of_classes(choice.deviations, scanned.stats)
    tables = TermTables(coded.features, counts, deviations, freedom)
    fitted = replace(fitted, model=model, report=scanned.report + fitted.report)
    return FittedTerms(fitted, columns, tables, choice.best, choice.judged)


def pure_terms(
    coded: CodedRows,
    columns: TermColumns,
    weights: np.ndarray,
    intercept: np.ndarray,
    counts: np.ndarray,
    monotone: dict[str, int],
) -> tuple[np.ndarray, np.ndarray]:
    """Weights and intercepts of pure terms, of which the monotone ones rise or fall."""
    pure, intercept = purified(columns, weights, intercept, counts)
    for name, direction in monotone.items():
        j = coded.features.index(name)
        first, last = columns.starts[j], columns.starts[j + 1] - int(coded.missing[j])
        pure[first:last] = monotone_steps(pure[first:last], counts[first:last], direction > 0)
    return pure, intercept


def _deviations(columns: TermColumns, best: JudgedPoint, stage: FoldStage) -> np.ndarray:
    """Standard deviations of scores (n_columns, R) over the models without each fold; NaN for too few of them."""
    of_models, own = [], stage.rows.columns
    for fold, weights in best.weights.items():
        pure = of_terms(own, purified(own, weights[:-1], weights[-1], stage.rows.counts)[0], columns)
        lacks = [j >= 0 and (i, j) not in stage.pairs[fold] for i, j in columns.features.tolist()]
        pure[np.repeat(lacks, columns.widths)] = np.nan
        of_models.append(_centred(pure, np.full(pure.shape[1], True)))
    known = np.isfinite(of_models).sum(axis=0)
    mean = np.nansum(of_models, axis=0) / np.maximum(known, 1)
    squares = np.nansum((np.array(of_models) - mean) ** 2, axis=0)
    return np.where(known > 1, np.sqrt(squares / np.maximum(known - 1, 1)), np.nan)


def _of_classes(deviations: np.ndarray, stats: ClassStats) -> np.ndarray:
    """Deviations of the scores of the classes that the sample has, with 0 for classes without rows."""
    seen = stats.weight > 0.0
    if seen.all():
        return deviations
    found = np.zeros((len(deviations), len(seen)))
    found[:, seen] = deviations / 2.0 if deviations.shape[1] == 1 else deviations  # of two classes, w / 2 and -w / 2
    return found


def _centred(scores: np.ndarray, possible: np.ndarray) -> np.ndarray:
    """Scores (n_steps, K) less their mean over the `possible` classes (K,), 0 for others; one score stays as it is."""
    if scores.shape[1] == 1:
        return scores
    return np.where(possible, scores - scores[:, possible].mean(axis=1, keepdims=True), 0.0)


def counts_of(stats: ClassStats) -> np.ndarray:
    """The weight of the rows of each indicator, (n_columns,)."""
    return whole(of_rows(stats).table("sum")).value()[0]


def monotone_steps(scores: np.ndarray, counts: np.ndarray, increasing: bool) -> np.ndarray:
    """The nearest scores (n_steps, 1) that rise or fall, weighted by counts."""
    fit = IsotonicRegression(increasing=increasing)
    return fit.fit_transform(np.arange(len(scores)), scores[:, 0], sample_weight=np.maximum(counts, 1e-9))[:, None]
