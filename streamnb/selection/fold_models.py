"""Trains models without each fold in reads that they share, and calibrates by them."""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Any

import numpy as np

from streamnb.core.descriptions import described
from streamnb.evaluation.scorers import Scorer
from streamnb.fits.statistic import added
from streamnb.models.calibrating import AUTO
from streamnb.passes.contract import PassTask, Wants
from streamnb.passes.report import Report
from streamnb.passes.run import run
from streamnb.problem.schemes import Scheme
from streamnb.rows.block import Block
from streamnb.selection.fold_judge import FoldJudge
from streamnb.selection.folded_scan import ScannedRows
from streamnb.selection.out_of_fold import ENOUGH_ROWS, LEAST_FOLDS, calibrated_out_of_fold
from streamnb.selection.score_table import points_of, scored
from streamnb.stats.class_stats import ClassStats
from streamnb.stats.row_sample import SampleTask, sample_size
from streamnb.training.learner import FittedModel, Learner
from streamnb.training.method import Trained, Trainer
from streamnb.training.reading import (
    WEIGHTS_KEY,
    FactoredWeights,
    JudgedWeights,
    ReadSums,
    ReadTask,
    RowBatch,
    judged_scores,
    n_used,
)

BLOCK_BYTES = 32 << 20  # of rows; larger blocks bring the weights of all models into the cache less often
DIGITS = 12  # of scores; further digits may depend on the order in which weights were added up
PATIENCE = 5  # a model stops after at least this many reads without a better score on its fold


# ---- reads that models share -----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ReadRequest:
    """A model's request for a read: sums over the rows outside its fold, and weights to judge on the rows inside.

    Weights (n_features + 1, R) apply to unscaled rows. Either may be None.
    """

    fold: int
    read: ReadTask | None
    judged: JudgedWeights | None


@dataclass(eq=False)
class SharedSums:
    """The sums of each model, an evaluation for each fold or None, and the number of rows in each fold, (n_folds,)."""

    sums: list[ReadSums | None]
    judged: list[Any]
    rows: np.ndarray

    @property
    def nbytes(self) -> int:
        return sum(sums.nbytes for sums in self.sums if sums is not None)

    def finish(self) -> "SharedSums":
        return self

    def __add__(self, other: "SharedSums") -> "SharedSums":
        return SharedSums(added(self.sums, other.sums), added(self.judged, other.judged), self.rows + other.rows)

    def arrays(self) -> dict[str, Any]:
        sums = [None if sums is None else sums.arrays() for sums in self.sums]
        return {"sums": sums, "judged": self.judged, "rows": self.rows}


@dataclass(frozen=True, eq=False)
class SharedRead(PassTask):
    """Gives every row to all models, which learn from it or are judged on it.

    `template` is a read of the same rows, which defines how they are prepared, once for all models. Where preparation
    was learned outside each fold, `templates` has one for the models of each fold. Judged scores, of `scheme`, are
    `factor` times those of the trained weights.
    """

    models: tuple[ReadRequest, ...]
    judge: FoldJudge
    scheme: Scheme
    template: ReadTask
    title: str = "read"
    templates: Mapping[int, ReadTask] = field(default_factory=dict)
    factor: float = 1.0
    most_bytes = 1 << 62  # each thread has tables for all models; their memory was checked before

    def partial(self) -> SharedSums:
        sums = [None if model.read is None else model.read.partial() for model in self.models]
        counts = [len(self.judged(fold)) for fold in range(self.judge.folding.n_folds)]
        judged = [self.judge.evaluation(self.scheme, n_points) if n_points else None for n_points in counts]
        return SharedSums(sums, judged, np.zeros(self.judge.folding.n_folds, np.int64))

    def judged(self, fold: int) -> list[int]:
        """Indices of the models that are judged on the rows of a fold, in the order of its evaluation."""
        return [i for i, model in enumerate(self.models) if model.fold == fold and model.judged is not None]

    def wants(self, n_rows: int | None, n_features: int | None) -> Wants:
        return Wants(block_bytes=min(len(self.models) * self.template.weights.nbytes, BLOCK_BYTES))

    def add(self, partial: SharedSums, block: Block) -> None:
        """Add one block of rows."""
        folds = self.judge.folding.numbers(block.first_row, block.n_rows, block.split, 0)
        partial.rows += np.bincount(folds, minlength=self.judge.folding.n_folds)
        labels = self.judge.labels(block.y, block.first_row)
        for template, of_folds in self._templates():
            for rows in template.batches(block, shared=len(self.models) > 2):
                for fold in of_folds:
                    self._add(partial, rows, labels[rows.where], fold, folds[rows.where] == fold)

    def _templates(self) -> list[tuple[ReadTask, list[int]]]:
        """Reads that define how rows are prepared, each with the folds that it serves."""
        folds = sorted({model.fold for model in self.models})
        return [(self.templates[fold], [fold]) for fold in folds] if self.templates else [(self.template, folds)]

    def _add(self, partial: SharedSums, rows: RowBatch, labels: Any, fold: int, held: np.ndarray) -> None:
        """Add a batch of rows to the sums of a fold's models; held-out rows have weight 0 in the sums."""
        others, own = replace(rows, weight=np.where(held, 0.0, rows.weight)), np.flatnonzero(held)
        margins = []
        for model, sums in zip(self.models, partial.sums, strict=True):
            if model.fold != fold:
                continue
            scores = None
            if model.read is not None and sums is not None:
                scores = model.read.add_rows(sums, others)
                scores = scores if model.judged is model.read.weights else None
            if model.judged is not None:
                margins.append(judged_scores(rows.chunk.picked(own), model.judged) if scores is None else scores[own])
        if margins and own.size:
            scores = np.stack(margins, axis=2) * self.factor
            partial.judged[fold].add(self.scheme, scores, labels[own], rows.weight[own])

    # ---- in a checkpoint ---------------------------------------------------------------------------------------------

    def about(self) -> dict[str, str]:
        """As for any task, with models compared by a digest."""
        digest = sha256()
        for model in self.models:
            digest.update(described((model.fold, None if model.read is None else model.read.about())).encode())
            parts = model.judged if isinstance(model.judged, FactoredWeights) else (model.judged,)
            for part in parts:
                digest.update(b"" if part is None else np.ascontiguousarray(part).tobytes())
        about = {"the task": self.name, "folding": described(self.judge.folding), **self.template.about()}
        judge = {"scoring": described(sorted(self.judge.needs)), "classes": described(self.judge.classes.tolist())}
        judge |= {"scores": f"{self.factor:g} x what is trained, {self.scheme.name}"}
        models = {"models": f"{len(self.models)}", f"{WEIGHTS_KEY} of the models": digest.hexdigest()[:16]}
        ways = [(fold, self.templates[fold].options) for fold in sorted(self.templates)]
        return about | judge | models | ({"ways": described(ways)} if ways else {})

    def total(self, arrays: Mapping[str, Any]) -> SharedSums:
        sums = [None if sums is None else ReadSums(**sums) for sums in arrays["sums"]]
        return SharedSums(sums, list(arrays["judged"]), arrays["rows"])


def templates_of(tasks: Mapping[int, ReadTask]) -> Mapping[int, ReadTask]:
    """The reads of each fold, or empty where all prepare the rows in the same way."""
    first, *others = (task.options for task in tasks.values())
    return {} if all(options is first or options == first for options in others) else tasks


# ---- models in training ----------------------------------------------------------------------------------------------


class FoldModel:
    """A model in training: a point of a grid, without the rows of a fold.

    Attributes
    ----------
    request : ReadRequest or None, its request for the next read; None once it has finished
    scores : list, for each judged weights, of (value, (K,) or None, error or None) by each scorer
    used : list of (R + 1,), the nonzero judged weights in each row, then the features with any
    reached : list of int, after each read the index of the model's weights among those judged
    objectives : list of float, after each read
    trained : Trained or None, the result; None where training was stopped before there was one
    outcome : further results of the method
    """

    def __init__(self, fold: int, point: int, trainer: Trainer):
        self.fold, self.point, self.task = fold, point, trainer.task
        self.trainer: Any = trainer
        self._reads: Any = trainer.reads()
        self.request: ReadRequest | None = None
        self.scores: list[list[tuple[float, Any, Any]]] = []
        self.used: list[np.ndarray] = []
        self.reached: list[int] = []
        self.objectives: list[float] = []
        self.trained: Trained | None = None
        self.outcome: Any = None

    def advance(self, sums: ReadSums | None) -> None:
        """Advance by one read, and request the next one; a finished model frees its memory."""
        judges = self.trainer.judges
        try:
            task, judged = self._reads.send(sums)  # None at first
            while task is None and not judges:
                task, _ = self._reads.send(None)
            self.request = ReadRequest(self.fold, task, judged if judges else None)
        except StopIteration as end:
            self.request, self.trained = None, end.value
        for objective in self.trainer.objectives[len(self.reached) :]:
            self.reached.append(self.trainer.reached)
            self.objectives.append(objective)
        if self.request is None or self._stopped_improving():
            self.stop()
        elif self.request.judged is not None:
            self.used.append(n_used(self.request.judged))

    def stop(self) -> None:
        """Stop training, keep the weights so far, and free other memory."""
        self.trained = self.trainer.so_far if self.trained is None else self.trained
        self.outcome, self.request = self.trained and self.trained.outcome, None
        self.trainer = self._reads = None

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


def judge_of(learner: Learner, stats: ClassStats, scorer: Scorer | None, n_models: int) -> FoldJudge:
    """The judge of a learner's models, `n_models` of all folds, for a scorer; without one, it only counts rows."""
    assert stats.folding is not None
    needs: frozenset[str] = frozenset() if scorer is None else scorer.needs
    needs = needs if learner.scheme == "joint" else needs - {"probabilities"}
    return FoldJudge(stats.classes, stats.folding, needs, n_models, stats.multilabel)


def train_together(
    learner: Learner,
    models: list[FoldModel],
    scanned: ScannedRows,
    name: str,
    scorer: Scorer | None = None,
    judge: FoldJudge | None = None,
    time_is_up: Callable[[], bool] | None = None,
) -> Report:
    """Read rows with folds for all models until none requests another read; each is judged if there is a scorer.

    Once `time_is_up`, models stop as soon as they can be judged. A checkpoint is a folder with one file per read.
    """
    report, active, sums, number = Report(), models, [None] * len(models), 0
    templates = templates_of({model.fold: model.task for model in models})
    stats, options = scanned.stats, scanned.options
    judge = judge or judge_of(learner, stats, None, len(models))
    task = SharedRead((), judge, learner.scheme_of(stats), models[0].task, templates=templates, factor=learner.factor)
    with ThreadPoolExecutor(options.threads, "streamnb-train") as pool:
        while True:
            for model, own in zip(active, sums, strict=True):
                model.trainer.share(own)
            list(pool.map(FoldModel.advance, active, sums))
            active = [model for model in active if model.request is not None]
            if time_is_up is not None and time_is_up():
                can_be_judged = all(model.scores for model in active)
                for model in active:
                    model.stop() if can_be_judged else model.trainer.finish_soon()
                active = [] if can_be_judged else active
            if not active:
                return report
            number += 1
            requests = tuple(model.request for model in active if model.request is not None)
            task = replace(task, models=requests, title=_title(number, active, scorer))
            total, more = run(task, scanned.shared.read, options.of_pass(f"{name}-{number:03}"))
            judge.check(total.rows, stats)
            for fold, evaluation in enumerate(total.judged):
                if scorer is not None and (judged := [active[i] for i in task.judged(fold)]):
                    _keep_scores(judged, evaluation, scorer)
            sums, report = total.sums, report + more


def _keep_scores(judged: Sequence[FoldModel], evaluation: Any, scorer: Scorer) -> None:
    """Store the scores of a fold's models in a read."""
    points = points_of(evaluation, len(judged))
    for model in judged:
        model.scores.append([])
    for one in scorer.each:
        values, per_class, errors = scored(replace(one, others=()), evaluation, points)
        for i, model in enumerate(judged):
            of_classes, error = (None if part is None else part[i] for part in (per_class, errors))
            model.scores[-1].append((float(np.round(values[i], DIGITS)), of_classes, error))


def _title(number: int, models: Sequence[FoldModel], scorer: Scorer | None) -> str:
    """The title of the progress bar, with the mean score and objective of the best point so far."""
    title = f"read {number} of {len(models)} models"
    known: dict[int, list[tuple[float, float]]] = {}
    for model in models:
        if model.reached and model.scores:
            score = model.scores[model.after(number - 1)][0][0]
            known.setdefault(model.point, []).append((score, model.objectives[-1]))
    if scorer is None or not known:
        return title
    score, objective = max((np.mean(of_point, axis=0) for of_point in known.values()), key=lambda pair: pair[0])
    return f"{title}, {scorer.name} {score:.4f}, objective {objective:.4g}"


def fit_at_point(
    learner: Learner, scanned: ScannedRows, point: dict[str, Any], max_passes: int, models: Sequence[FoldModel] = ()
) -> FittedModel:
    """The model of all rows at a point, in at most `max_passes` reads, calibrated if the learner says so.

    `models` are those of the same point without each fold, or without the first of them, if there are any.
    """
    fitted = learner.fit(scanned.of_folds.whole, scanned.rows, point, max_passes, scanned.options, scanned.scan_report)
    if learner.calibration is None or (learner.calibration == AUTO and len(scanned.stats.folds) < LEAST_FOLDS):
        return fitted
    return _calibrated(learner, fitted, scanned, point, max_passes, models)


def _calibrated(
    learner: Learner,
    fitted: FittedModel,
    scanned: ScannedRows,
    point: dict[str, Any],
    max_passes: int,
    models: Sequence[FoldModel],
) -> FittedModel:
    """The model calibrated on a sample of rows, each scored by a model of the same point that has not seen it.

    These models are trained unless they are there, trained to the end in as many reads: of the folds of `models`, if
    these have rows enough.
    """
    of_folds, stats, options = scanned.of_folds, scanned.stats, scanned.options
    learner = replace(learner, method=learner.method.warm_started(()))  # known results include the fold
    learner.check_memory(stats, len(stats.folds), options)
    folds = [model.fold for model in models]
    if sum(stats.folds[fold].n_rows for fold in folds) < ENOUGH_ROWS:
        folds = [*range(len(stats.folds))]
    served = [model.fold for model in models if model.trained and len(model.reached) <= max_passes] == folds
    others = {fold: of_folds.outside(fold) for fold in folds}
    data = {fold: learner.data(rest, scanned.shared, options, fold) for fold, rest in others.items()}
    report = Report()
    if not served:
        if not (models or templates_of({fold: own.task for fold, own in data.items()})):  # earlier ones had no sample
            how = options, scanned.scan_report, "folds-sample-to-train"
            sample, report = learner.sample(data[0], point, stats, scanned.shared, *how)
            data = {fold: replace(own, sample=sample and sample.outside(fold)) for fold, own in data.items()}
        reads = {fold: max_passes for fold in data} | {m.fold: min(len(m.reached), max_passes) for m in models}
        trainers = [learner.trainer(own, point, reads[fold], judges=False) for fold, own in data.items()]
        models = [FoldModel(fold, 0, trainer) for fold, trainer in zip(data, trainers, strict=True)]
        report = report + train_together(learner, models, scanned, "folds-read")
    size = sample_size(len(stats.classes), scanned.scan_report.bytes / max(scanned.scan_report.rows, 1))
    task = SampleTask(stats.classes, stats.folding, size, missing=bool(of_folds.rests))
    sampled, more = run(task, scanned.given, options.of_pass("sample"))
    rows, trained = sampled.drawn(), {model.fold: model.trained for model in models}
    rows = rows.picked(np.flatnonzero(np.isin(rows.fold, [*trained])))

    def of_rest(fold: int) -> Any:
        own = trained[fold]
        assert own is not None
        return learner.model(others[fold], data[fold], own)

    assert learner.calibration is not None
    proper = learner.scheme == "joint"
    model = calibrated_out_of_fold(fitted.model, rows, of_rest, learner.calibration, proper)
    is_calibrated = model is not fitted.model
    return replace(fitted, model=model, calibrated=is_calibrated, report=fitted.report + report + more)
