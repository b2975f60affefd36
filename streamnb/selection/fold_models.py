"""Trains models without each fold in reads that they share, and calibrates by them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Any

import numpy as np

from streamnb.core.descriptions import described
from streamnb.evaluation.scorers import Scorer
from streamnb.fits.fit import Fit
from streamnb.fits.passes import Pass
from streamnb.models.calibrating import AUTO
from streamnb.passes.contract import Reading, ReadRequest, Report
from streamnb.problem.schemes import Scheme
from streamnb.selection.fold_judge import FoldJudge
from streamnb.selection.folded_scan import ScannedRows
from streamnb.selection.out_of_fold import ENOUGH_ROWS, LEAST_FOLDS, calibrated_out_of_fold
from streamnb.selection.score_table import points_of, scored
from streamnb.stats.row_sample import SampleTask, sample_size
from streamnb.training.learner import FittedModel
from streamnb.training.method import Trained, Trainer
from streamnb.training.reading import (
    WEIGHTS_KEY,
    FactoredWeights,
    JudgedWeights,
    ReadTask,
    SharedRead,
    n_used,
    prepared_alike,
)

DIGITS = 12  # of scores; further digits may depend on the order in which weights were added up
PATIENCE = 5  # a model stops after at least this many reads without a better score on its fold


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

    def evaluation(self, n_models: int) -> Any:
        """An empty, mergeable evaluation."""
        return self.judge.evaluation(self.scheme, n_models)

    def add(self, evaluation: Any, scores: np.ndarray, y: Any, weight: np.ndarray) -> None:
        """Add rows with their scores by all models, (n_rows, R, n_models)."""
        evaluation.add(self.scheme, scores * self.factor, self.judge.labels(y, 0), weight)

    def results(self, evaluation: Any, n_models: int) -> list[tuple[tuple[float, Any, Any], ...]]:
        """For each model (value, (K,) or None, error or None) by each scorer."""
        points, found = points_of(evaluation, n_models), []
        for one in self.scorer.each:
            values, per_class, errors = scored(replace(one, others=()), evaluation, points)
            if per_class is None:
                per_class = [None] * n_models
            if errors is None:
                errors = [None] * n_models
            found.append(zip(np.round(values, DIGITS).tolist(), per_class, errors, strict=True))
        return list(zip(*found, strict=True))

    def about(self) -> dict[str, str]:
        """As of a task, with weights compared by a digest."""
        digest = sha256()
        for part in self.weights if isinstance(self.weights, FactoredWeights) else (self.weights,):
            digest.update(np.ascontiguousarray(part).tobytes())
        about = {"scoring": described(sorted(self.judge.needs)), "classes": described(self.judge.classes.tolist())}
        scores = f"{self.factor:g} x what is trained, {self.scheme.name}"
        return about | {"scores": scores, WEIGHTS_KEY: digest.hexdigest()[:16]}


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
        reached = self.reached[min(n_reads, len(self.reached)) - 1] if self.reached else 0
        return min(reached, len(self.scores) - 1)

    def _stopped_improving(self) -> bool:
        """Whether the score has not improved for many reads; undefined scores are ignored."""
        values = [self.scores[at][0][0] for at in self.reached if at < len(self.scores)]
        defined = [value for value in values if not np.isnan(value)]
        best = int(np.argmax(defined)) if defined else 0
        return len(defined) - 1 - best >= max(PATIENCE, best // 2)  # slow models may wait longer for an improvement


def title_of(number: int, passes: Sequence[Pass], models: Sequence[FoldModel], scorer: Scorer) -> str:
    """The title of the progress bar, with the mean score and objective of the best point so far."""
    n_active, known = 0, dict[int, list[tuple[float, float]]]()
    for model in models:
        n_active += not model.ended
        if model.reached and model.scores and not model.ended:
            score = model.scores[model.after(number - 1)][0][0]
            known.setdefault(model.point, []).append((score, model.objectives[-1]))
    title = f"read {number} of {n_active} models"
    if not known:
        return title
    score, objective = max((np.mean(of_point, axis=0) for of_point in known.values()), key=lambda pair: pair[0])
    return f"{title}, {scorer.name} {score:.4f}, objective {objective:.4g}"


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
