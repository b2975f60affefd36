"""Trains models without each fold in reads that they share, to choose penalties and numbers of reads, and to calibrate.

Each read advances every open model by one step and judges its current weights on the rows of its fold. The score is
therefore known after every read, and the number of reads is a hyperparameter like the penalties, as early stopping
regularises.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache, partial
from operator import ne
from typing import Any

import numpy as np

from streamnb.core import memory, messages
from streamnb.core.persistence import described, digest
from streamnb.evaluation.evaluation import Evaluation
from streamnb.evaluation.scorers import Scorer, check_scorer
from streamnb.models.calibrating import (
    AUTO,
    ENOUGH_ROWS,
    LEAST_FOLDS,
    calibrated_out_of_fold,
    check_calibration,
    check_enough_classes,
)
from streamnb.passes.contract import Reading, ReadRequest, Report, RunOptions
from streamnb.passes.fit import Fit
from streamnb.passes.passes import Pass
from streamnb.problem.schemes import Scheme
from streamnb.selection.folded_scan import FoldJudge, ScannedRows, check_sheet
from streamnb.selection.score_table import GridScores, check_defined
from streamnb.solving.data import TrainingData
from streamnb.solving.fitting import MANY, DescentMethod
from streamnb.solving.learner import FittedModel
from streamnb.solving.method import Method, Trained, Trainer
from streamnb.solving.objectives import features_used
from streamnb.solving.reading import (
    WEIGHTS_KEY,
    FactoredWeights,
    JudgedWeights,
    ReadTask,
    SharedRead,
    n_used,
    prepared_alike,
)
from streamnb.solving.row_path import RowPath, RowsInMemory
from streamnb.stats.row_sample import SampleTask, sample_size

DIGITS = 12  # of scores; further digits may depend on the order in which weights were added up
PATIENCE = 5  # a model stops after at least this many reads without a better score on its fold
FEW_SCORES = 1 << 20  # of rows and classes, of which models take less time than Python does between reads
LEAST_POINTS = 3
MOST_WEIGHTS = 1 << 14  # of models that start from others, all of which stay in memory with their steps
ROWS_A_WEIGHT = 10
CLEAR = 2.0  # standard errors; the best of many numbers of reads is often one above


def results_of(scorer: Scorer, evaluation: Evaluation) -> list[tuple[tuple[float, Any, Any], ...]]:
    """For each model (value, (K,) or None, error or None) by each scorer."""
    models, found = evaluation.models, []
    for one in scorer.each:
        values, per_class, errors = one.of_each(evaluation, models)
        if per_class is None:
            per_class = [None] * len(models)
        if errors is None:
            errors = [None] * len(models)
        found.append(zip(np.round(values, DIGITS).tolist(), per_class, errors, strict=True))
    return list(zip(*found, strict=True))


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Weights of a model in training, judged on the rows inside a fold.

    Attributes
    ----------
    weights : JudgedWeights
        (n_features + 1, R), for unscaled rows.
    task : ReadTask
        Prepares the rows.
    judge : FoldJudge
    scheme : Scheme
    factor : float
        Scores are those of the weights times this.
    scorer : Scorer
    """

    weights: JudgedWeights
    task: ReadTask
    judge: FoldJudge
    scheme: Scheme
    factor: float
    scorer: Scorer
    fused = SharedRead

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"scorer": None}  # a user's function, which may not pickle, and which workers do not need

    def evaluation(self, n_models: int) -> Evaluation:
        """An empty, mergeable evaluation."""
        return self.judge.evaluation(self.scheme, n_models)

    def add(self, evaluation: Evaluation, scores: np.ndarray, y: Any, weight: np.ndarray) -> None:
        """Add rows with their scores by all models, (n_rows, R, n_models)."""
        evaluation.add_margins(self.scheme, scores * self.factor, self.judge.labels(y, 0), weight)

    def results(self, evaluation: Evaluation) -> list[tuple[tuple[float, Any, Any], ...]]:
        """For each model (value, (K,) or None, error or None) by each scorer."""
        return results_of(self.scorer, evaluation)

    def about(self) -> dict[str, str]:
        """As of a task, with weights compared by a digest."""
        weights = list(self.weights) if isinstance(self.weights, FactoredWeights) else self.weights
        about = {"scoring": described(sorted(self.judge.needs)), "classes": described(self.judge.classes.tolist())}
        scores = f"{self.factor:g} x what is trained, {self.scheme.name}"
        return about | {"scores": scores, WEIGHTS_KEY: digest(weights)}


@dataclass(eq=False)
class FoldModel:
    """A model of a point of a grid, without the rows of a fold, as it is so far.

    Attributes
    ----------
    fold, point : int, the fold that is left out, and the index of the point
    scores : list, for each judged weights, of (value, (K,) or None, error or None) by each scorer
    used : list of (R + 1,), the nonzero judged weights in each row, then the features with any
    reached : list of int, after each read the index of the model's weights among those judged
    objectives : list of float, after each read
    ended : bool
    trained : Trained or None, the result; None where training was stopped before there was one
    outcome : further results of the method
    """

    fold: int
    point: int
    scores: list[tuple[tuple[float, Any, Any], ...]] = field(default_factory=list)
    used: list[np.ndarray] = field(default_factory=list)
    reached: list[int] = field(default_factory=list)
    objectives: list[float] = field(default_factory=list)
    ended: bool = False
    trained: Trained | None = None
    outcome: Any = None

    def training(self, trainer: Trainer, time_is_up: Callable[[], bool] | None = None) -> Fit[None]:
        """Train the model until its score improves no more, or until `time_is_up` and there is a score."""
        reads, totals = trainer.reads(), None
        while not self.ended:
            try:
                passes = reads.send(totals)  # type: ignore[arg-type]  # None starts a generator
            except StopIteration as end:
                passes, self.ended, self.trained = [], True, end.value
                self.used += [used for used, _ in trainer.results]
                self.scores += [result for _, result in trainer.results]
            for objective in trainer.objectives[len(self.reached) :]:
                self.reached.append(trainer.reached)
                self.objectives.append(objective)
            late = bool(passes) and time_is_up is not None and time_is_up()
            if self._stopped_improving() or (late and self.scores):
                self.ended = True
                self.trained = trainer.so_far if self.trained is None else self.trained
            if late:
                trainer.finish_soon()
            if self.ended:
                break
            self.used += [n_used(each.statistic.weights) for each in passes if each.inside is not None]
            totals = yield passes
            self.scores += [total for each, total in zip(passes, totals, strict=True) if each.inside is not None]
        self.outcome = self.trained and self.trained.outcome

    def after(self, n_reads: int) -> int:
        """The index of the model's weights, among those judged, after `n_reads` reads."""
        reached = 0
        if self.reached:
            reached = self.reached[min(n_reads, len(self.reached)) - 1]
        return min(reached, len(self.scores) - 1)

    def _stopped_improving(self) -> bool:
        """Whether the score has not improved for many reads; undefined scores are ignored."""
        values = [self.scores[at][0][0] for at in self.reached if at < len(self.scores)]
        defined = [value for value in values if not np.isnan(value)]
        best = 0
        if defined:
            best = int(np.argmax(defined))
        return len(defined) - 1 - best >= max(PATIENCE, best // 2)  # slow models may wait longer for an improvement


def title_of(number: int, passes: Sequence[Pass], models: Sequence[FoldModel], scorer: Scorer) -> str:
    """The title of the progress bar, with the mean score and objective of the best point so far."""
    active, known = [model for model in models if not model.ended], dict[int, list[tuple[float, float]]]()
    for model in active:
        if model.reached and model.scores:
            score = model.scores[model.after(number - 1)][0][0]
            known.setdefault(model.point, []).append((score, model.objectives[-1]))
    title = f"read {number}, models: {len(active)}"
    if not known:
        return title
    score, objective = max((np.mean(of_point, axis=0) for of_point in known.values()), key=lambda pair: pair[0])
    return f"{title}, {scorer.name} {score:.4f}, objective {objective:.4g}"


# ---- choosing --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ModelGroups:
    """The number of models, and how many of them train at a time.

    Attributes
    ----------
    n_models : int
    model_bytes : int
        Memory of one open model.
    at_once : int
    together : int
        Models that share what they learn, so that the same ones train at a time whatever the memory.
    """

    n_models: int
    model_bytes: int
    at_once: int
    together: int = 1

    @classmethod
    def of(
        cls,
        method: Method,
        n_models: int,
        n_features: int,
        n_rows: int,
        options: RunOptions,
        n_used: int | None = None,
        beside: int = 0,
        together: int = 1,
    ) -> "ModelGroups":
        """For weights (n_features, n_rows).

        Each open model holds one such array to read with, one of sums per thread, one of their total, and the arrays
        of its method for the features that are used. All models together hold `beside` bytes more.
        """
        of_rows, n_used = (2 + options.threads) * (n_features + 1), n_features if n_used is None else n_used
        model_bytes = 8 * method.n_columns(n_rows) * (of_rows + method.n_arrays * (n_used + 1))
        n_sets = max((memory.allowed(options.memory_limit) - beside) // (model_bytes * together), 1)
        return cls(n_models, model_bytes, min(n_sets * together, n_models), together)

    @property
    def n_groups(self) -> int:
        return -(-self.n_models // self.at_once)

    def planned(self, most_reads: int) -> dict[str, int]:
        """What `snb.plan` says of them, given the largest number of reads."""
        n_bytes = self.n_models * self.model_bytes
        return {"n_models": self.n_models, "model_bytes": n_bytes, "n_groups": self.n_groups, "most_reads": most_reads}

    def check(self, options: RunOptions) -> None:
        """Raise where not even one model, or those that train together, fit into memory."""
        cure = "give a larger memory_limit, or fewer features (snb.FeatureSelector)"
        what = "a model of the grid"
        if self.together > 1:
            what, cure = f"{self.together} models that train together", f"{cure} or points of the grid"
        memory.check(what, self.model_bytes * self.together, options.memory_limit, cure)

    def announce(self, max_passes: int) -> None:
        """Warn that not all models fit into memory."""
        if self.n_groups > 1:
            messages.warn(
                f"{self.n_models} models take {memory.size(self.n_models * self.model_bytes)}, more than memory_limit "
                f"allows beside the sums of the scan: they are trained in {self.n_groups} groups of {self.at_once}, "
                f"each of which reads the rows up to {max_passes} times; a larger memory_limit, or fewer "
                "penalties or folds, read them less often"
            )


def groups_of(scanned: ScannedRows, n_folds: int) -> ModelGroups:
    """The groups in which the models of all points train, each without so many folds."""
    stats, method, options = scanned.stats, scanned.learner.method, scanned.options
    n_features, n_rows, n_points = scanned.shared.n_features, method.n_rows(stats), len(scanned.grid)
    beside = scanned.nbytes + bytes_of_data(n_features, n_rows, len(stats.folds))
    if judged_in_memory(scanned):
        n_models = n_points * n_folds
        return ModelGroups(n_models, 8 * n_features * n_rows, n_models)
    n_used, together = len(features_used(stats)), n_points if method.shares else 1
    return ModelGroups.of(method, n_points * n_folds, n_features, n_rows, options, n_used, beside, together)


def judged_in_memory(scanned: ScannedRows) -> bool:
    """Whether models without each fold are judged from rows in memory, which are fewer than columns."""
    stats, folding, scan = scanned.stats, scanned.stats.folding, scanned.scan_report
    repeated = folding is None or folding.n_splits > folding.n_folds
    if scanned.rests or repeated or scanned.shared.read.sites is not None:
        return False
    n_classes, row_bytes = 0 if stats.multilabel else len(stats.classes), scan.bytes / max(scan.rows, 1)
    sizes = stats.n_rows, len(features_used(stats)), n_classes
    return scanned.learner.judged_in_memory(*sizes, row_bytes, scanned.grid, scanned.options)


def check_models(scanned: ScannedRows) -> None:
    """Raise before training where rows cannot be learned from, or where memory does not suffice."""
    stats, learner, options = scanned.stats, scanned.learner, scanned.options
    groups_of(scanned, len(stats.folds)).check(options)
    if learner.calibration is not None:
        check_calibration(learner.calibration, learner.scheme, len(stats.folds))
        check_enough_classes(learner.calibration, stats)
        learner.check_memory(stats, len(stats.folds), options)
    learner.data(scanned.whole, scanned.rows, options)


def judged_models(
    scanned: ScannedRows,
    scorer: Scorer,
    folds: Sequence[int] | None = None,
    most_reads: int | None = None,
    time_is_up: Callable[[], bool] | None = None,
) -> Reading[tuple[list[FoldModel], Report]]:
    """Models of all points, without each of `folds` or of all folds; and the report.

    They are judged after every read, but for those that start from others, which are judged at their end. Takes at most
    `most_reads` reads in all, whatever the number of groups, or stops once `time_is_up`. A checkpoint is a folder with
    one file per read.
    """
    stats, learner, grid = scanned.stats, scanned.learner, scanned.grid
    n_weights, sites = stats.n_features * learner.method.n_rows(stats), scanned.shared.read.sites
    many = most_reads is None and starts_from_middle(learner.method, grid, stats.n_rows, n_weights)
    if many and sites is None:
        return (yield from _models_from_middle(scanned, scorer, folds, time_is_up))
    if folds is None:
        folds = range(len(stats.folds))
    groups, max_passes = groups_of(scanned, len(folds)), learner.max_passes
    groups.announce(max_passes)
    if most_reads is not None:
        max_passes = min(max_passes, most_reads // groups.n_groups - learner.method.scoring_reads)
        if max_passes < 2:
            raise ValueError(f"{most_reads} reads are too few for models that are trained in {groups.n_groups} groups")
    needs = scorer.needs if learner.scheme == "joint" else scorer.needs - {"probabilities"}
    scheme = learner.scheme_of(stats)
    judge = FoldJudge(stats.classes, needs, len(grid) * len(stats.folds), stats.multilabel)
    held_out = partial(HeldOut, judge=judge, scheme=scheme, factor=learner.factor, scorer=scorer)
    models = f"{groups.n_models} models of {len(stats.classes)} classes"
    check_sheet(groups.n_models, models, stats, scorer, scanned.options.memory_limit, groups.at_once)
    check_scorer(scorer, judge.evaluation(scheme, 1))
    data, found, report = lru_cache(maxsize=1)(scanned.data), list[FoldModel](), Report()  # fold by fold
    if judged_in_memory(scanned):
        given, report = yield from RowsInMemory.read(stats, scanned.shared, scanned.options.of_pass("folds-rows"))
        data = cache(partial(_data_of_path, scanned=scanned, given=given))
    every = [FoldModel(fold, point) for fold in folds for point in range(len(grid))]
    for number, first in enumerate(range(0, len(every), groups.at_once), 1):
        group, fits = every[first : first + groups.at_once], []
        for model in group:
            trainer = learner.trainer(data(model.fold), grid[model.point], max_passes, held_out)
            fits.append(model.training(trainer, time_is_up))
        title = partial(title_of, models=group, scorer=scorer)
        _, more = yield from scanned.train(fits, f"folds-{groups.n_models:02}-{number:02}-read", title)
        report += more
        # memory is for the next group; models that share would be others if trained again by themselves
        if groups.n_groups > 1 and not learner.method.shares:
            for model in group:
                model.trained = None
        found.extend(group)
    return found, report


def starts_from_middle(method: Method, grid: Sequence[dict[str, Any]], n_rows: int, n_weights: int) -> bool:
    """Whether models start from those of the middle point: of many rows, so that fewer reads are hardly ever better."""
    many = n_rows >= max(MANY, ROWS_A_WEIGHT * n_weights) and n_weights <= MOST_WEIGHTS
    return many and _of_l2(method, grid)


def _of_l2(method: Method, grid: Sequence[dict[str, Any]]) -> bool:
    """Whether models of the points, which differ in l2, can start from each other."""
    alike = isinstance(method, DescentMethod) and method.starts is None and not any(point["l1"] for point in grid)
    return alike and len(grid) >= LEAST_POINTS


def _models_from_middle(
    scanned: ScannedRows, scorer: Scorer, folds: Sequence[int] | None, time_is_up: Callable[[], bool] | None
) -> Reading[tuple[list[FoldModel], Report]]:
    """As `judged_models`: those of the middle point, then others, which go on from the ends of these."""
    starts, others = dict[int | None, Any](), [*range(len(scanned.grid))]
    found, report = list[FoldModel](), Report()
    for points in [others.pop(len(others) // 2)], others:
        models, more = yield from judged_models(
            _starting_from(starts, scanned, points), scorer, folds, time_is_up=time_is_up
        )
        for model in models:
            model.point, starts[model.fold] = points[model.point], model.outcome
        found, report = found + models, report + more
    return found, report


def _starting_from(starts: dict[int | None, Any], scanned: ScannedRows, points: Sequence[int]) -> ScannedRows:
    """The rows for models of some points, which start from others."""
    method: Any = scanned.learner.method
    learner = replace(scanned.learner, method=method.comparing(starts))
    return replace(scanned, learner=learner, grid=[scanned.grid[point] for point in points])


def walks_along(scanned: ScannedRows) -> bool:
    """Whether models start from each other one by one: rows are few."""
    few = scanned.stats.n_rows * len(scanned.stats.classes) <= FEW_SCORES
    return few and scanned.shared.read.sites is None and _of_l2(scanned.learner.method, scanned.grid)


def walked_models(
    scanned: ScannedRows,
    scorer: Scorer,
    folds: Sequence[int],
    known: Sequence[FoldModel] = (),
    time_is_up: Callable[[], bool] | None = None,
) -> Reading[tuple[list[FoldModel], Report]]:
    """Models without each of `folds` at some points, from the best one so far on while scores rise; and the report.

    For rows that are cheap to read again, as models of different points do not share reads: each starts from the
    weights of the point before, ends once a step gains little, and is judged at its end. `known` are models of some of
    these folds. Returns the models of points that have all of them.
    """
    grid, report = scanned.grid, Report()
    of_points = [{model.fold: model for model in of_point} for of_point in models_by_point(known, len(grid))]
    starts: dict[int | None, Any] = {}

    def score_of(point: int) -> Reading[float]:
        """The mean score of a point, whose missing models are trained first."""
        nonlocal report
        models = of_points[point]
        missing = [fold for fold in folds if fold not in models]
        if missing:
            alone = _starting_from(starts, scanned, [point])
            found, more = yield from judged_models(alone, scorer, missing, time_is_up=time_is_up)
            report += more
            for model in found:
                model.point, models[model.fold] = point, model
        starts.update({fold: model.outcome for fold, model in models.items()})
        return _mean_score([models[fold] for fold in folds])

    first = best = _middle(of_points)
    highest = yield from score_of(first)
    for step in (1, -1):
        while 0 <= best + step < len(grid):
            score = yield from score_of(best + step)
            if not score > highest:
                break
            best, highest = best + step, score
        if best != first:
            break
    complete = [of_point for of_point in of_points if of_point.keys() >= {*folds}]
    return [model for of_point in complete for model in of_point.values()], report


def _middle(of_points: Sequence[dict[int, FoldModel]]) -> int:
    """The point with the best mean score of those on most folds so far; without any, that in the middle."""
    most = max(map(len, of_points))
    if most == 0:
        return len(of_points) // 2
    means = [_mean_score(models.values()) if len(models) == most else -np.inf for models in of_points]
    return int(np.argmax(means))


def _mean_score(models: Iterable[FoldModel]) -> float:
    """The mean of the scores at the end, of those that are defined; -inf without any."""
    scores = np.array([model.scores[-1][0][0] for model in models])
    defined = scores[~np.isnan(scores)]
    if len(defined):
        return float(defined.mean())
    return -np.inf


def _data_of_path(fold: int, scanned: ScannedRows, given: RowsInMemory) -> TrainingData:
    """The data of the models without a fold, which are trained one after the other."""
    data = scanned.data(fold)
    return replace(data, path=RowPath(given, data))


def fit_chosen(
    scanned: ScannedRows,
    models: Sequence[FoldModel],
    point: dict[str, Any],
    further: bool,
    own: bool = True,
) -> Reading[FittedModel]:
    """The model of all rows at a point, which may start from results of the models without each fold.

    Where these were best after their last read, this one may go `further`: until it converges or for the most reads,
    of which a sample of the rows makes better use. They are its `own` if they were trained on the rows of this scan.
    """
    learner, by_point = scanned.learner, models_by_point(models, len(scanned.grid))
    hyperparameters = {name: value for name, value in point.items() if name != "max_passes"}
    judged, n_reads = by_point[scanned.grid.index(hyperparameters)], point["max_passes"]
    ends = []
    if own and not (learner.idf or isinstance(learner.class_weight, str) or scanned.rests):
        ends = [_outcomes(some) for some in by_point if len(some) == len(scanned.stats.folds)]
    learner = replace(learner, method=learner.method.warm_started(ends))
    at_the_end = n_reads >= max(len(model.reached) for model in judged)
    in_memory = judged_in_memory(scanned)  # to the end, in one read of the rows
    if ((further and at_the_end) or in_memory) and learner.method.final_max_passes(_outcomes(judged)) is None:
        n_reads, learner = learner.max_passes, replace(learner, sampled=True)
    return (yield from fit_at_point(replace(scanned, learner=learner), point, n_reads, judged if own else ()))


def models_by_point(models: Sequence[FoldModel], n_points: int) -> list[list[FoldModel]]:
    """The models of each point of a grid, ordered by fold."""
    ordered = sorted(models, key=lambda model: model.fold)
    return [[model for model in ordered if model.point == point] for point in range(n_points)]


def _outcomes(models: Sequence[FoldModel]) -> list[Any]:
    return [model.outcome for model in models]


def scores_by_reads(scanned: ScannedRows, models: Sequence[FoldModel], scorer: Scorer) -> GridScores:
    """The scores of each penalty after each read, up to the last read of its models, in their folds."""
    points, found, used = [], [], []
    learner, stats = scanned.learner, scanned.stats
    for point, of_point in zip(scanned.grid, models_by_point(models, len(scanned.grid)), strict=True):
        if not of_point:
            continue
        allowed = learner.method.final_max_passes(_outcomes(of_point))
        most = min(max(1, *(len(model.reached) for model in of_point)), learner.max_passes)
        each = max(len(model.scores) for model in of_point) > 1  # else they were judged at the end alone
        for n_reads in range(1 if each else most, most + 1):
            at = [model.after(n_reads) for model in of_point]
            points.append({**point, "max_passes": n_reads if allowed is None else allowed})
            found.append([model.scores[i] for model, i in zip(of_point, at, strict=True)])
            used.append(np.mean([model.used[i] for model, i in zip(of_point, at, strict=True)], axis=0))
    n_used, classes = np.rint(used).astype(np.int64), stats.classes
    n_features = learner.scheme_of(stats).of_each_class(n_used[:, :-1], n_used[:, -1], len(classes))
    by_name = {}
    for k, one in enumerate(scorer.each):
        values, per_class, errors = ([[score[k][i] for score in splits] for splits in found] for i in range(3))
        check_defined(one, scores := np.array(values))
        kept = None
        if per_class[0][0] is not None:
            kept = np.array(per_class)
        bounds = None
        if errors[0][0] is not None and np.any(errors):
            bounds = np.array(errors)
        by_name[one.name] = GridScores(points, scores, kept, n_used[:, -1], n_features, classes, bounds)
    first = by_name[scorer.name]
    if scorer.others:
        return replace(first, named=by_name)
    return first


def bytes_of_data(n_features: int, n_rows: int, n_folds: int) -> int:
    """Bytes of the sums and start weights that the models of each fold share."""
    return 16 * (n_features + 1) * n_rows * n_folds


def chosen(scores: GridScores, rule: str) -> int:
    """The chosen point: among those within the rule, that with the fewest features, then components, C and reads.

    Under the rule "best", fewer reads than the models of a penalty took need a clear gain, and ties are first broken
    by the other scorers, in their order.
    """
    if rule == "best":
        scores = scores.without(~_clear_gains(scores))
    enough = np.flatnonzero(scores.mean >= scores.least(rule))
    for other in list((scores.named or {}).values())[1:] if rule == "best" else []:
        mean = np.nan_to_num(other.mean[enough], nan=-np.inf)
        enough = enough[mean == mean.max()]
    reads = np.array([scores.grid[i]["max_passes"] for i in enough.tolist()])
    n_components, C = (
        np.array([scores.grid[i].get(name, 0) for i in enough.tolist()]) for name in ("n_components", "C")
    )
    return int(enough[np.lexsort([-scores.mean[enough], reads, C, n_components, scores.n_features[enough]])[0]])


def _clear_gains(scores: GridScores) -> np.ndarray:
    """Which points are of the last read of their penalty, or better by more than `CLEAR` standard errors, (G,).

    The error is that of the mean difference over the folds where all scores are defined.
    """
    penalties = [{**point, "max_passes": 0} for point in scores.grid]
    last = np.array([*map(ne, penalties, penalties[1:]), True])
    defined = ~np.isnan(scores.scores).any(axis=0)
    n_folds = np.count_nonzero(defined)
    if n_folds < 2:  # one fold does not tell what is chance
        return last | (n_folds == 0)
    of_last = np.flatnonzero(last)[np.cumsum(np.append(0, last[:-1]))]
    gains = scores.scores[:, defined] - scores.scores[np.ix_(of_last, defined)]
    return last | (gains.mean(axis=1) > CLEAR * gains.std(axis=1, ddof=1) / np.sqrt(n_folds))


def scores_by_read(scores: GridScores, point: int) -> np.ndarray:
    """The mean scores of a point's penalty after each read, up to the reads of the point; NaN where there are none."""
    found = np.full(scores.grid[point]["max_passes"], np.nan)
    for one, score in zip(scores.grid[: point + 1], scores.mean, strict=False):
        if {**one, "max_passes": len(found)} == scores.grid[point]:
            found[one["max_passes"] - 1] = score
    return found


# ---- the model of all rows -------------------------------------------------------------------------------------------


def fit_at_point(
    scanned: ScannedRows, point: dict[str, Any], max_passes: int, models: Sequence[FoldModel] = ()
) -> Reading[FittedModel]:
    """The model of all rows at a point, in at most `max_passes` reads, calibrated if the learner says so.

    It is calibrated on a sample of rows, each scored by a model of the same point that has not seen it. `models` are
    such models without each fold, or without the first of them, if there are any. Others are trained, unless these are
    there, trained to the end in as many reads: of the folds of `models`, if these have rows enough.
    """
    learner, options, calibration = scanned.learner, scanned.options, scanned.learner.calibration
    fitted = yield from learner.fit(scanned.whole, scanned.rows, point, max_passes, options, scanned.scan_report)
    if calibration is None or (calibration == AUTO and len(scanned.stats.folds) < LEAST_FOLDS):
        return fitted
    stats = scanned.stats
    learner = replace(learner, method=learner.method.warm_started(()))  # known results include the fold
    scanned = replace(scanned, learner=learner)
    learner.check_memory(stats, len(stats.folds), options)
    folds = [model.fold for model in models]
    if sum(stats.folds[fold].n_rows for fold in folds) < ENOUGH_ROWS:
        folds = [*range(len(stats.folds))]
    trained = {m.fold: m.trained for m in models if m.trained is not None and len(m.reached) <= max_passes}
    data, report = {fold: scanned.data(fold) for fold in folds}, Report()
    if list(trained) != folds:
        if not models and prepared_alike([own.task for own in data.values()]):  # earlier models had no sample
            sample, report = yield from learner.sample(
                data[0], point, stats, scanned.shared, options, scanned.scan_report, "folds-sample-to-train"
            )
            data = {fold: replace(own, sample=sample and sample.outside(fold)) for fold, own in data.items()}
        reads = {fold: max_passes for fold in data} | {m.fold: min(len(m.reached), max_passes) for m in models}
        fits = [learner.trainer(own, point, reads[fold]).reads() for fold, own in data.items()]
        found, of_reads = yield from scanned.train(fits, "folds-read")
        trained, report = dict(zip(data, found, strict=True)), report + of_reads
    size = sample_size(len(stats.classes), scanned.scan_report.bytes / max(scanned.scan_report.rows, 1))
    task = SampleTask(stats.classes, stats.folding, size, missing=bool(scanned.rests))
    sampled, more = yield ReadRequest(task, scanned.given, options.of_pass("sample"))
    rows = sampled.drawn()
    rows = rows.picked(np.flatnonzero(np.isin(rows.fold, folds)))

    def of_rest(fold: int) -> Any:
        return learner.model(scanned.outside(fold), data[fold], trained[fold])

    model = calibrated_out_of_fold(fitted.model, rows, of_rest, calibration, learner.scheme == "joint")
    report += fitted.report + more
    return replace(fitted, model=model, calibrated=model is not fitted.model, report=report)
