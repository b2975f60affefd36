"""Penalties and the number of reads chosen together: all models of all folds are trained in the same reads.

A read brings every open model one step, and judges the weights that it has come to on the rows of its fold. So the
score is known after every read, and reads are a hyperparameter like the penalties: ending early regularises, too.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from streamnb.core import memory, messages
from streamnb.evaluation.scorers import Scorer, check_scorer
from streamnb.passes.options import RunOptions
from streamnb.passes.report import Report
from streamnb.passes.run import run
from streamnb.rows.source import Source
from streamnb.selection.cross_validation import check_sheet
from streamnb.selection.grid_scores import GridScores, check_defined, scored
from streamnb.selection.shared_reads import Asked, Judge, SharedRead, likes_of
from streamnb.stats.class_stats import ClassStats
from streamnb.training.fitting import Reads, Trainer, check_rows, options_of
from streamnb.training.reading import ReadSums, n_used

PATIENCE = 5  # reads at least without a better score on its fold, after which a model is left where it is
DIGITS = 12  # of scores: what is beyond may depend on the order in which weights were added up


@dataclass(frozen=True)
class Turns:
    """How many models there are, and how many of them are read for at a time.

    Attributes
    ----------
    n_models : int
    model_bytes : int
        Memory of one open model.
    at_once : int
    """

    n_models: int
    model_bytes: int
    at_once: int

    @classmethod
    def of(
        cls,
        n_models: int,
        n_features: int,
        n_rows: int,
        held: int,
        options: RunOptions,
        n_used: int | None = None,
        beside: int = 0,
    ) -> "Turns":
        """For weights (n_features, n_rows), of which each open model has one array for reads, and one of sums a thread.

        And one of the sums of these threads. Beside these it has `held` arrays of those features that are used; and all
        models together have `beside` bytes.
        """
        of_rows = (2 + options.threads) * (n_features + 1)
        model_bytes = 8 * n_rows * (of_rows + held * ((n_features if n_used is None else n_used) + 1))
        at_once = min(max((memory.allowed(options.memory_limit) - beside) // model_bytes, 1), n_models)
        return cls(n_models, model_bytes, at_once)

    @property
    def n_groups(self) -> int:
        return -(-self.n_models // self.at_once)

    def check(self, options: RunOptions) -> None:
        """Refuse models of which not even one fits into memory."""
        if self.model_bytes > (limit := memory.allowed(options.memory_limit)):
            cure = "give a larger memory_limit, or fewer features (snb.FeatureSelector)"
            memory.refuse("a model of the grid", self.model_bytes, limit, cure)

    def announce(self, max_passes: int) -> None:
        """Say beforehand that not all models fit into memory."""
        if self.n_groups > 1:
            messages.warn(
                f"{self.n_models} models take {memory.size(self.n_models * self.model_bytes)}, more than memory_limit "
                f"allows beside the sums of the scan: they go in {self.n_groups} groups of {self.at_once}, one after "
                f"the other, each of which reads the rows up to {max_passes} times; a larger memory_limit, or fewer "
                "penalties or folds, read them less often"
            )


class Contender:
    """A model on its way: a point of the grid of penalties, without the rows of a fold.

    Attributes
    ----------
    asks : Asked or None
        What it asks of the next read; None once it is closed.
    scores : list, for the weights that were judged, of (value, (K,) or None, error or None) by each scorer
    used : list of (R + 1,), how many of these were not 0 in each row, and how many features in any
    course : list of int
        After each read, which of these weights the model was.
    objectives : list of float, after each read
    outcome : what its trainer tells of it in the end
    """

    def __init__(self, fold: int, point: int, trainer: Trainer, reads: Reads):
        self.fold, self.point, self.task = fold, point, trainer.task
        self._open: tuple[Trainer, Reads] | None = (trainer, reads)
        self.asks: Asked | None = None
        self.scores: list[list[tuple[float, Any, Any]]] = []
        self.used: list[np.ndarray] = []
        self.course: list[int] = []
        self.objectives: list[float] = []
        self.outcome: Any = None

    def note(self, sums: ReadSums | None) -> None:
        """Take what models share from what was read."""
        if self._open is not None:
            self._open[0].note(sums)

    def hurry(self) -> None:
        """Ask to be judged soon."""
        if self._open is not None:
            self._open[0].hurry()

    def go_on(self, sums: ReadSums | None) -> None:
        """Take a step by what was read, and ask for the next read; what has come to its end lets its memory go."""
        assert self._open is not None
        trainer, reads = self._open
        try:
            self.asks = Asked(self.fold, *reads.send(sums))  # None, to begin with
        except StopIteration:
            self.asks = None
        for objective in trainer.objectives[len(self.course) :]:
            self.course.append(trainer.reached)
            self.objectives.append(objective)
        if self.asks is None or self._gains_nothing():
            self.leave()
        elif self.asks.judged is not None:
            self.used.append(n_used(self.asks.judged))

    def leave(self) -> None:
        """Let it be what it has come to."""
        if self._open is not None:
            self.outcome = self._open[0].outcome
        self.asks = self._open = None

    def after(self, n_reads: int) -> int:
        """Which of the weights that were judged the model was after so many reads."""
        reached = self.course[min(n_reads, len(self.course)) - 1] if self.course else 0
        return min(reached, len(self.scores) - 1)

    def _gains_nothing(self) -> bool:
        """Whether its score has not risen for long; one that its fold cannot tell has no say."""
        values = [self.scores[at][0][0] for at in self.course if at < len(self.scores)]
        defined = [value for value in values if not np.isnan(value)]
        best = int(np.argmax(defined)) if defined else 0
        return len(defined) - 1 - best >= max(PATIENCE, best // 2)  # slow ones rest for longer before they rise


@dataclass(frozen=True, eq=False)
class PenaltySearch:
    """Penalties and numbers of reads to choose from, and how they are judged.

    Attributes
    ----------
    grid : points of penalties by name, such as {"l2": 1.0}
    stats : ClassStats, with the folds
    trainer : callable
        What trains without the rows of a fold at a point of the grid, and its reads.
    judge, scorer
    """

    grid: Sequence[dict[str, Any]]
    stats: ClassStats
    trainer: Callable[[int, dict[str, Any]], tuple[Trainer, Reads]]
    judge: Judge
    scorer: Scorer

    def run(
        self,
        rows: Source,
        options: RunOptions,
        turns: Turns,
        folds: Sequence[int] | None = None,
        over: Callable[[], bool] | None = None,
    ) -> tuple[list[Contender], Report]:
        """The models of all penalties, of some folds where they are named, each judged after every read.

        Where time is `over`, models are left where they are, once they can be judged. A checkpoint is a folder, with a
        file for each read.
        """
        models = f"{turns.n_models} models of {len(self.judge.classes)} classes"
        check_sheet(turns.n_models, models, self.stats, self.scorer, options.memory_limit, turns.at_once)
        check_scorer(self.scorer, self.judge.evaluation(1).of_point(0))
        folds = range(len(self.stats.folds)) if folds is None else folds
        every = [(fold, point) for point in range(len(self.grid)) for fold in folds]
        done, report = [], Report()
        with ThreadPoolExecutor(options.threads, "streamnb-train") as pool:
            for number, first in enumerate(range(0, len(every), turns.at_once), 1):
                asked = every[first : first + turns.at_once]
                group = [Contender(fold, point, *self.trainer(fold, self.grid[point])) for fold, point in asked]
                report = report + self._train(group, rows, options, f"folds-{number:02}", pool, over or _never)
                done.extend(group)
        return done, report

    def _train(
        self,
        group: list[Contender],
        rows: Source,
        options: RunOptions,
        name: str,
        pool: ThreadPoolExecutor,
        over: Callable[[], bool],
    ) -> Report:
        """Read until no model of the group asks for more, or time is over."""
        report, left, sums, number = Report(), group, [None] * len(group), 0
        likes = likes_of({contender.fold: contender.task for contender in group})
        assert self.stats.folding is not None
        while True:
            for contender, own in zip(left, sums, strict=True):
                contender.note(own)
            list(pool.map(Contender.go_on, left, sums))
            if over():
                for contender in left:
                    contender.hurry()
                if all(contender.scores for contender in left):
                    for contender in left:
                        contender.leave()
                    return report
            left = [contender for contender in left if contender.asks is not None]
            if not left:
                return report
            number += 1
            asked = tuple(contender.asks for contender in left if contender.asks is not None)
            task = SharedRead(asked, self.stats.folding, self.judge, group[0].task, self._title(number, left), likes)
            total, more = run(task, rows, options_of(options, f"{name}-read-{number:03}"))
            check_rows(number, total.rows.tolist(), [part.n_rows for part in self.stats.folds])
            for fold, evaluation in enumerate(total.judged):
                self._note([left[i] for i in task.judged(fold)], evaluation)
            sums, report = total.sums, report + more

    def _note(self, judged: list[Contender], evaluation: Any) -> None:
        """Keep the scores of the models of a fold."""
        if not judged:
            return
        for contender in judged:
            contender.scores.append([])
        for scorer in self.scorer.each:
            values, per_class, errors = scored(replace(scorer, others=()), evaluation, len(judged))
            for i, contender in enumerate(judged):
                of_classes, error = (None if part is None else part[i] for part in (per_class, errors))
                contender.scores[-1].append((float(np.round(values[i], DIGITS)), of_classes, error))

    def _title(self, number: int, left: list[Contender]) -> str:
        """What the progress bar says: of the best penalty the mean score and objective so far."""
        title = f"read {number} of {len(left)} models"
        known: dict[int, list[tuple[float, float]]] = {}
        for contender in left:
            if contender.course and contender.scores:
                score = contender.scores[contender.after(number - 1)][0][0]
                known.setdefault(contender.point, []).append((score, contender.objectives[-1]))
        if not known:
            return title
        score, objective = max((np.mean(of_point, axis=0) for of_point in known.values()), key=lambda pair: pair[0])
        return f"{title}, {self.scorer.name} {score:.4f}, objective {objective:.4g}"

    def scores(self, done: Sequence[Contender]) -> GridScores:
        """The scores of each penalty after each read, up to the last of its models, in the folds of these."""
        grid, found, used = [], [], []
        for number, point in enumerate(self.grid):
            models = sorted((one for one in done if one.point == number), key=lambda contender: contender.fold)
            for n_reads in range(1, max(1, *(len(model.course) for model in models)) + 1):
                at = [model.after(n_reads) for model in models]
                grid.append({**point, "max_passes": n_reads})
                found.append([model.scores[i] for model, i in zip(models, at, strict=True)])
                used.append(np.mean([model.used[i] for model, i in zip(models, at, strict=True)], axis=0))
        n_used, classes, scheme = np.rint(used).astype(np.int64), self.judge.classes, self.judge.scheme
        n_features = scheme.of_each_class(n_used[:, :-1], n_used[:, -1], len(classes))
        each = {}
        for k, scorer in enumerate(self.scorer.each):
            values, per_class, errors = ([[score[k][i] for score in splits] for splits in found] for i in range(3))
            check_defined(scorer, scores := np.array(values))
            kept = None if per_class[0][0] is None else np.array(per_class)
            bounds = None if errors[0][0] is None or not np.any(errors) else np.array(errors)
            each[scorer.name] = GridScores(grid, scores, kept, n_used[:, -1], n_features, classes, bounds)
        first = each[self.scorer.name]
        return replace(first, named=each) if self.scorer.others else first


def _never() -> bool:
    """Time that is not short."""
    return False


def chosen(scores: GridScores, rule: str) -> int:
    """The point chosen: of those good enough by the rule, that with the fewest features and components, least C, reads.

    Of the best points, where several are, it is the best by the other scorings in turn that come first.
    """
    enough = np.flatnonzero(scores.mean >= scores.least(rule))
    for other in list((scores.named or {}).values())[1:] if rule == "best" else []:
        mean = np.nan_to_num(other.mean[enough], nan=-np.inf)
        enough = enough[mean == mean.max()]
    reads = np.array([scores.grid[i]["max_passes"] for i in enough.tolist()])
    n_components, C = (
        np.array([scores.grid[i].get(name, 0) for i in enough.tolist()]) for name in ("n_components", "C")
    )
    return int(enough[np.lexsort([-scores.mean[enough], reads, C, n_components, scores.n_features[enough]])[0]])


def course_of(scores: GridScores, point: int) -> np.ndarray:
    """The mean score after each read up to that of a point, by its penalty."""
    n_reads = scores.grid[point]["max_passes"]
    return scores.mean[point + 1 - n_reads : point + 1]
